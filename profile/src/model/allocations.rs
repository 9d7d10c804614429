//! Allocations by site, and the objects that are still alive.

use std::sync::Arc;

/// The allocations of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocations {
    /// The kind of allocations that were recorded.
    pub seen: Seen,
    /// True if objects were followed until they were collected, so [`Site::live`] is known.
    pub live: bool,
    /// The calling contexts of the sites; callers come before their callees.
    pub frames: Vec<Frame>,
    /// The sites: each combination of place, type and thread occurs once. In merged profiles,
    /// objects of unknown size have a separate site.
    pub sites: Vec<Site>,
}

impl Allocations {
    /// Returns the way in which the allocations were recorded.
    pub(crate) fn recording(&self) -> Recording {
        Recording {
            seen: self.seen,
            live: self.live,
        }
    }

    /// Returns a site's frames, innermost first.
    pub(crate) fn path(&self, site: &Site) -> impl Iterator<Item = &Frame> {
        path(&self.frames, site.frame)
    }
}

/// Returns the frames of a calling context, innermost first.
pub(super) fn path(frames: &[Frame], innermost: Option<u32>) -> impl Iterator<Item = &Frame> {
    let frame = |at: u32| &frames[at as usize];
    std::iter::successors(innermost.map(frame), move |inner| inner.parent.map(frame))
}

/// The way in which allocations were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// The same as [`Allocations::seen`].
    pub(crate) seen: Seen,
    /// The same as [`Allocations::live`].
    pub(crate) live: bool,
}

impl Recording {
    /// Returns the mode as the option `--alloc` names it.
    pub(crate) fn mode(self) -> &'static str {
        match (self.seen, self.live) {
            (Seen::Exact, _) => "exact",
            (Seen::All, _) => "live=exact",
            (Seen::Sampled { .. }, true) => "live",
            (Seen::Sampled { .. }, false) => "sampled",
        }
    }
}

/// The kind of allocations that were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// Every allocation by an instruction of an instrumented class. Numbers are exact.
    #[default]
    Exact,
    /// Every allocation, also by native code and the JVM itself. Numbers are exact.
    All,
    /// Samples of all allocations, also by native code and the JVM. Numbers are estimates.
    Sampled {
        /// Mean distance between samples, in bytes.
        interval: u64,
    },
}

impl Seen {
    /// Returns whether `self` and `other` are the same kind of recording, so that their numbers can be added and
    /// compared.
    pub(crate) fn is_alike(self, other: Seen) -> bool {
        self == other || self.is_sampled() && other.is_sampled()
    }

    pub(crate) fn is_sampled(self) -> bool {
        matches!(self, Seen::Sampled { .. })
    }
}

/// A call, or the instruction that allocates: a place in a method, called from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Index of the caller's frame, lower than this frame's index.
    pub parent: Option<u32>,
    /// Index into [`Profile::methods`](crate::Profile::methods).
    pub method: u32,
    /// The line in the method's source file.
    pub line: Option<u32>,
    /// The offset in the method's original code, as in the class file.
    pub bci: Option<u16>,
}

/// The objects of one type that one instruction allocated in one calling context.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Index into [`Profile::threads`](crate::Profile::threads).
    pub thread: u32,
    /// Index into [`Allocations::frames`]; `None` if no Java method was running.
    pub frame: Option<u32>,
    /// The type as Java writes it: `java.lang.String`, `int[][]`.
    pub type_name: Arc<str>,
    /// All objects that the site allocated.
    pub allocated: Amount,
    /// The objects of the site that were alive at the last collection.
    pub live: Amount,
    /// The mean number of collections that the live objects have survived.
    pub live_age: f64,
}

/// Objects and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Number of objects. With samples it is an estimate: each sample counts with the inverse of
    /// its probability.
    pub objects: f64,
    /// The size of the objects in the heap, headers and alignment included;
    /// `None` if it is unknown, as for an unloaded class.
    pub bytes: Option<f64>,
    /// Variance of the estimate `objects`; 0 if all objects were recorded.
    pub objects_variance: f64,
    /// Variance of the estimate `bytes`.
    pub bytes_variance: f64,
}

impl Site {
    /// Adds the amounts of another site of the same place and type.
    pub(crate) fn add(&mut self, other: &Site) {
        let ages = self.live_age * self.live.objects + other.live_age * other.live.objects;
        self.allocated.add(&other.allocated);
        self.live.add(&other.live);
        if self.live.objects > 0.0 {
            self.live_age = ages / self.live.objects;
        }
    }
}

impl Amount {
    /// Adds another amount; unknown bytes add nothing.
    pub(crate) fn add(&mut self, other: &Amount) {
        self.objects += other.objects;
        self.bytes = match (self.bytes, other.bytes) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.objects_variance += other.objects_variance;
        self.bytes_variance += other.bytes_variance;
    }
}
