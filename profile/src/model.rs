//! The profile as measured: methods, threads, their calling-context trees.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::allocation::Allocations;

/// What a run of a program cost, call by call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// How and when it was measured.
    pub header: Header,
    /// The methods that [`Node::method`] points into, each once.
    pub methods: Vec<Method>,
    /// The threads, in no particular order.
    pub threads: Vec<ThreadTree>,
    /// Who allocated what, if that was asked for.
    pub allocations: Option<Allocations>,
}

/// When a call's time is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// Long calls always, short hot ones on a random sample.
    #[default]
    Adaptive,
    /// Every call.
    Exact,
    /// Never: calls are counted, all times are zero.
    Count,
}

/// Which clock measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Elapsed time, waiting included.
    #[default]
    Wall,
    /// The thread's own processor time.
    Cpu,
}

/// How and when a profile was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// When a call's time was taken.
    pub timing: Timing,
    /// The clock.
    pub clock: Clock,
    /// Start of the measurement, milliseconds since 1970 (UTC).
    pub start_epoch_millis: i64,
    /// Wall time from start to snapshot, in nanoseconds; of merged profiles the
    /// sum over the processes.
    pub duration_ns: u64,
    /// Memory the tracker held in the program's heap, in bytes.
    pub tracker_bytes: u64,
    /// Calls counted in an overflow node because the tree was full.
    pub overflowed_calls: u64,
    /// What the probes cost, calibrated in the measured JVM.
    pub probe: ProbeCosts,
    /// The program's command line; empty if unknown.
    pub command: String,
    /// The JVM's name and version; empty if unknown.
    pub jvm: String,
    /// The version of Loadhook that measured; empty if unknown.
    pub version: String,
    /// What the measured process is called, and no other one; several profiles
    /// of one are its parts. Empty if unknown, or of several.
    pub process: String,
    /// How many methods were not instrumented, by reason.
    pub left_alone: BTreeMap<String, u64>,
    /// Patterns that no class matched, or those with `::` no method.
    pub unmatched: Vec<String>,
    /// Whether the program had not ended when this was written: a killed one leaves such a
    /// profile. Of merged profiles, whether one of them had not.
    pub not_ended: bool,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
    /// The methods that were not instrumented, if their names were kept:
    /// `reason: class.method descriptor`, without the blank. A last line may say
    /// how many more there are.
    pub explained: Vec<String>,
}

/// What [`Header::not_ended`] says.
pub const NOT_ENDED: &str = "the program was still running when this profile was written";

/// What one probe pair costs, in picoseconds.
///
/// `inside_ps` of a timed call falls between its two readings of the clock,
/// hence into its own measured time. In [`Timing::Exact`] it adds `outside_ps`
/// to its caller besides, and that is all. Else any call adds `outside_ps`
/// to its caller, and a timed one two clock reads, of which `inside_ps` is a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeCosts {
    /// The part of a timed call's probe inside its own measured interval.
    pub inside_ps: u64,
    /// Entry and exit of one call: in [`Timing::Exact`] all but `inside_ps`,
    /// else without clock reads.
    pub outside_ps: u64,
    /// One reading of the clock.
    pub clock_read_ps: u64,
}

/// A method, identified by all fields but `file`, `line` and `loaders`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// The class loader's name: `""` for the bootstrap loader, else whatever
    /// the agent calls it; distinct loaders have distinct names.
    pub loader: Arc<str>,
    /// The class, in dotted form: `java.util.Map$Entry`.
    pub class: Arc<str>,
    /// The method's name as in the class file: `<init>` for constructors.
    pub name: Arc<str>,
    /// The descriptor (JVMS §4.3.3): `(Ljava/lang/String;)V`.
    pub descriptor: Arc<str>,
    /// The `SourceFile` attribute.
    pub file: Option<Arc<str>>,
    /// The first line of the method's code.
    pub line: Option<u32>,
    /// How many class loaders had a copy of the class; `loader` is the first.
    pub loaders: u32,
}

/// What the calls of one thread, or of several merged, cost.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadTree {
    /// `Thread.getName()`, or the group's name.
    pub name: Arc<str>,
    /// `Thread.threadId()`; `None` for merged threads.
    pub id: Option<u64>,
    /// Which threads these are.
    pub kind: ThreadKind,
    /// Processor time from the first call on, in nanoseconds. `None` where it is unknown:
    /// of virtual threads, without an agent, and with the CPU clock, which times by it.
    pub cpu_ns: Option<u64>,
    /// The calling-context tree; parents come before their children.
    pub nodes: Vec<Node>,
}

/// Which threads a tree stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadKind {
    /// One platform thread, alive at the snapshot.
    #[default]
    Platform,
    /// The virtual threads alive at the snapshot.
    Virtual,
    /// Threads that had ended.
    Ended,
}

/// One method in one calling context.
///
/// Recursion is folded: a method already on the path goes back to its node. So
/// no method has itself as an ancestor, and a node's calls can come from below.
///
/// Times are raw nanoseconds, probe costs included; of sampled calls each
/// counts with the inverse of its probability. [`crate::figures`] corrects them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Node {
    /// Index of the caller's node in the same tree, lower than this node's.
    pub parent: Option<u32>,
    /// Index into [`Profile::methods`].
    pub method: u32,
    /// Calls, exact.
    pub calls: u64,
    /// How many of them were timed.
    pub timed: u64,
    /// Duration of all calls, recursive ones counted each.
    pub all_ns: u64,
    /// Duration of the calls that found this node not yet on the path.
    pub outermost_ns: u64,
    /// Duration of the calls made from here, recursive ones included.
    pub child_ns: u64,
    /// Variance of `all_ns` as an estimate, in ns²; 0 where every call was timed.
    pub variance: f64,
    /// The node's own time as ticks tell it, which sample the method on top about every
    /// millisecond; 0 in all nodes of a thread where nobody ticked.
    pub ticked_ns: u64,
    /// Variance of `ticked_ns` as an estimate, in ns².
    pub ticked_variance: f64,
}

impl Method {
    /// A method of the bootstrap loader, without file and line.
    pub fn new(class: &str, name: &str, descriptor: &str) -> Method {
        Method {
            loader: "".into(),
            class: class.into(),
            name: name.into(),
            descriptor: descriptor.into(),
            file: None,
            line: None,
            loaders: 1,
        }
    }

    /// Stands for a type that was allocated, where trees of calls have types as the innermost callees.
    pub(crate) fn of_type(name: &str) -> Method {
        Method::new(name, "", "")
    }

    /// Stands for all methods called where the tree was full.
    pub fn overflow() -> Method {
        Method::new("(tree full)", "", "")
    }

    /// Stands for a method whose id has no definition.
    pub fn unknown(id: u32) -> Method {
        Method::new("(unknown)", &format!("method{id}"), "")
    }

    /// What identifies the method across JVMs: loader, class, name, descriptor.
    pub fn key(&self) -> (&str, &str, &str, &str) {
        (&self.loader, &self.class, &self.name, &self.descriptor)
    }
}

impl Header {
    /// The notes, and before them what other fields say in a sentence.
    pub(crate) fn all_notes(&self) -> impl Iterator<Item = &str> {
        let not_ended = self.not_ended.then_some(NOT_ENDED);
        not_ended
            .into_iter()
            .chain(self.notes.iter().map(String::as_str))
    }
}

impl Profile {
    /// Whether any call was counted.
    pub fn has_calls(&self) -> bool {
        self.threads.iter().any(|thread| !thread.nodes.is_empty())
    }

    /// All calls in all threads.
    pub fn calls(&self) -> u64 {
        let nodes = self.threads.iter().flat_map(|thread| &thread.nodes);
        nodes.fold(0, |sum, node| sum.saturating_add(node.calls))
    }
}

impl Timing {
    /// As in options and files: `adaptive`, `exact`, `count`.
    pub fn as_str(self) -> &'static str {
        match self {
            Timing::Adaptive => "adaptive",
            Timing::Exact => "exact",
            Timing::Count => "count",
        }
    }
}

impl Clock {
    /// As in options and files: `wall`, `cpu`.
    pub fn as_str(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Cpu => "cpu",
        }
    }
}

impl ThreadKind {
    /// As in files: `platform`, `virtual`, `ended`.
    pub fn as_str(self) -> &'static str {
        match self {
            ThreadKind::Platform => "platform",
            ThreadKind::Virtual => "virtual",
            ThreadKind::Ended => "ended",
        }
    }
}
