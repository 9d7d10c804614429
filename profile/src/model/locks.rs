//! Waits of threads for each other.

use std::collections::HashMap;
use std::sync::Arc;

use super::allocations::Frame;

/// The waits of threads for each other during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locks {
    /// The calling contexts of threads that waited, and of threads that held a monitor or lock; callers come
    /// before their callees.
    pub frames: Vec<Frame>,
    /// The waits. Waits that differ only in number and time are merged into one.
    pub waits: Vec<LockWait>,
}

/// The waits of a thread in one calling context for objects of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct LockWait {
    /// The kind of the waits.
    pub kind: WaitKind,
    /// Index into [`Profile::threads`](crate::Profile::threads).
    pub thread: u32,
    /// The class of the monitor's object, of the lock, or of another object that the thread parked for; empty if there
    /// was no object.
    pub class: Arc<str>,
    /// Index into [`Locks::frames`]; `None` if no Java method was running.
    pub frame: Option<u32>,
    /// The thread that had the monitor or lock when the wait began; `None` if it is not known.
    pub holder: Option<Holder>,
    /// Number of waits.
    pub count: u64,
    /// Time of all these waits, in nanoseconds.
    pub ns: u64,
}

/// A thread that held a monitor or lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The name of the thread, with each run of digits as `#`.
    pub thread: Arc<str>,
    /// Index into [`Locks::frames`] of the place where the thread was; `None` if that is not known.
    pub frame: Option<u32>,
}

/// The kind of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// The thread waited to enter a monitor that another thread owned.
    Monitor,
    /// The thread was parked for a lock or semaphore of `java.util.concurrent`.
    Lock,
    /// The thread was in `Object.wait`.
    Notification,
    /// The thread was parked for anything else, for example for a condition, a result or work.
    Park,
}

impl WaitKind {
    /// All kinds.
    pub const ALL: [WaitKind; 4] = [
        WaitKind::Monitor,
        WaitKind::Lock,
        WaitKind::Notification,
        WaitKind::Park,
    ];

    /// Returns the word for the kind in tables and files.
    pub fn as_str(self) -> &'static str {
        match self {
            WaitKind::Monitor => "monitor",
            WaitKind::Lock => "lock",
            WaitKind::Notification => "wait",
            WaitKind::Park => "park",
        }
    }

    /// Returns whether the thread waited for something that another thread held, and not for an event.
    pub fn is_contention(self) -> bool {
        matches!(self, WaitKind::Monitor | WaitKind::Lock)
    }
}

impl Locks {
    /// Returns the frames of a calling context, innermost first.
    pub(crate) fn path(&self, innermost: Option<u32>) -> impl Iterator<Item = &Frame> {
        super::allocations::path(&self.frames, innermost)
    }

    /// Returns the contended waits.
    pub(crate) fn contentions(&self) -> impl Iterator<Item = &LockWait> {
        self.waits.iter().filter(|wait| wait.kind.is_contention())
    }
}

/// The parts of a wait that distinguish it from others.
pub(crate) type WaitKey = (WaitKind, u32, Arc<str>, Option<u32>, Option<Holder>);

impl LockWait {
    pub(crate) fn key(&self) -> WaitKey {
        let (class, holder) = (self.class.clone(), self.holder.clone());
        (self.kind, self.thread, class, self.frame, holder)
    }
}

/// A builder of [`Locks`]. Equal frames are stored once, and waits that differ only in number and time become
/// one.
#[derive(Default)]
pub struct LocksBuilder {
    locks: Locks,
    frames: HashMap<Frame, u32>,
    waits: HashMap<WaitKey, usize>,
}

impl LocksBuilder {
    /// Returns the index of a frame in [`Locks::frames`], after adding the frame if it is new.
    pub fn frame(&mut self, frame: Frame) -> u32 {
        let frames = &mut self.locks.frames;
        *self.frames.entry(frame).or_insert_with(|| {
            frames.push(frame);
            frames.len() as u32 - 1
        })
    }

    /// Adds a stack of methods and lines, outermost first. Returns the index of its innermost
    /// frame.
    pub fn stack(&mut self, stack: impl Iterator<Item = (u32, Option<u32>)>) -> Option<u32> {
        let mut innermost = None;
        for (method, line) in stack {
            innermost = Some(self.frame(Frame {
                parent: innermost,
                method,
                line,
                bci: None,
            }));
        }
        innermost
    }

    /// Adds a wait.
    pub fn add(&mut self, wait: LockWait) {
        let waits = &mut self.locks.waits;
        match self.waits.get(&wait.key()) {
            Some(at) => {
                let sum = &mut waits[*at];
                sum.count = sum.count.saturating_add(wait.count);
                sum.ns = sum.ns.saturating_add(wait.ns);
            }
            None => {
                self.waits.insert(wait.key(), waits.len());
                waits.push(wait);
            }
        }
    }

    /// Adds all waits of `other`. `threads` and `methods` give the new index for each thread and method of the
    /// profile that `other` is from.
    pub(crate) fn add_all(&mut self, other: &Locks, threads: &[u32], methods: &[u32]) {
        let mut places: Vec<u32> = Vec::with_capacity(other.frames.len());
        for frame in &other.frames {
            let place = self.frame(Frame {
                parent: frame.parent.map(|parent| places[parent as usize]),
                method: methods[frame.method as usize],
                ..*frame
            });
            places.push(place);
        }
        let place = |frame: Option<u32>| frame.map(|frame| places[frame as usize]);
        for wait in &other.waits {
            self.add(LockWait {
                thread: threads[wait.thread as usize],
                frame: place(wait.frame),
                holder: wait.holder.clone().map(|holder| Holder {
                    frame: place(holder.frame),
                    ..holder
                }),
                ..wait.clone()
            });
        }
    }

    /// Returns the locks.
    #[must_use]
    pub fn finish(self) -> Locks {
        self.locks
    }
}
