//! The profile of a Java program: which methods were called how often, from where, and what they
//! cost.
//!
//! A [`Profile`] holds one calling-context tree for each thread, as the tracker measured it: exact
//! counts, and raw times, which include the cost of the probes. [`figures`](mod@analysis::figures)
//! computes the corrected times that users see. All formats in [`mod@format`] use these times, so they
//! agree.
//!
//! The crate does I/O only through the [`Write`](std::io::Write) that the caller passes. It starts
//! no thread and knows nothing about JVMs.
//!
//! # Example
//!
//! A snapshot of the tracker becomes a table:
//!
//! ```
//! use loadhook_profile::format::{Format, Options};
//! use loadhook_profile::{Method, Symbols, snapshot::Decoder};
//!
//! let mut symbols = Symbols::default();
//! symbols.define(0, Method::new("com.example.Main", "main", "([Ljava/lang/String;)V"));
//!
//! let mut decoder = Decoder::default();
//! // Version 2, exact, wall clock, started at 0, ran 3 ms, 4,096 bytes, no overflow, free probes.
//! decoder.push(&[1, 2, 1, 0, 0, 3_000_000, 4096, 0, 0, 0, 0])?;
//! // Thread 1, live, four bytes of name: "main".
//! decoder.push(&[2, 1, 0, 4, 0x6d61_696e_0000_0000])?;
//! // A root: method 0, one call, which was timed and took 2 ms, none of them in callees; no ticks.
//! decoder.push(&[3, -1, 0, 1, 1, 2_000_000, 2_000_000, 0, 0, 0, 0])?;
//! decoder.push(&[4])?;
//! let profile = symbols.profile(decoder.finish()?);
//!
//! let mut table = Vec::new();
//! Format::Table.write(&profile, &Options::default(), &mut table)?;
//! let table = String::from_utf8(table)?;
//! assert!(table.contains("com.example.Main.main"), "{table}");
//!
//! let mut file = Vec::new();
//! loadhook_profile::format::pprof::write(&profile, &mut file)?;
//! assert_eq!(loadhook_profile::format::pprof::read(&file[..])?, profile);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod analysis;
pub mod format;
pub mod gc_events;
pub mod model;
mod number_hash;
pub mod snapshot;

pub use analysis::{Measure, MergeError, merge, since};
pub use model::{
    Allocations, Amount, Clock, Engine, Frame, GcPauses, Header, Holder, InlinedMethod, JitCode,
    JitMethod, LatencyRange, LockWait, Locks, LocksBuilder, Method, MethodCalls, NOT_ENDED, Node,
    ProbeCosts, Profile, SampledNode, Sampling, Seen, Site, ThreadKind, ThreadTree, Timing,
    WaitKind, Waiting, sampled_tree,
};
pub use number_hash::{NumberHasher, NumberMap};
pub use snapshot::{AllocationSite, SiteBytes, Symbols};
