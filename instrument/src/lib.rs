//! Instruments classes according to the user's settings. The agent and the offline rewriter share
//! this crate.
//!
//! A [`Selection`] has the user's patterns, which choose methods, and the probes that these methods get.
//! Trivial methods are not timed, but their calls can be counted. An [`Instrumenter`] rewrites
//! classes by one selection, on any number of threads, and records the patterns that matched
//! nothing. The front end implements [`Ids`]: it gives ids to methods and allocation sites, and excludes methods
//! that no pattern may include. The result, [`Instrumented`], has the new class,
//! and a reason for each method without probes; [`NotInstrumented::word`] is the reason's name in
//! profiles and summaries.
//!
//! ```
//! use loadhook_instrument::{Ids, Instrumenter, Selection};
//! use loadhook_rewrite::class::Member;
//! use loadhook_settings::Filter;
//!
//! /// The position of a method in its class is its id.
//! struct Positions;
//!
//! impl Ids for Positions {
//!     fn method(&mut self, method: &Member<'_, '_>) -> u32 {
//!         method.index().into()
//!     }
//! }
//!
//! let mut filter = Filter::new();
//! filter.include("Greeter,com.example.**")?;
//! let instrumenter = Instrumenter::new(Selection::timing(filter));
//!
//! let class = include_bytes!("../../rewrite/doc/Greeter.class");
//! let allocate = |len| Some(vec![0; len]);
//! let result = instrumenter.instrument(class, "com/example/Tracker", &mut Positions, allocate)?;
//!
//! assert!(result.class.as_ref().is_some_and(|new| new.len() > class.len()));
//! assert_eq!(result.report.instrumented, 2);
//! let reasons: Vec<&str> = result.not_instrumented().map(|it| it.word()).collect();
//! assert_eq!(reasons, ["trivial"]);
//! assert_eq!(instrumenter.unmatched(), ["com.example.**"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate does no I/O, starts no thread and knows nothing of a JVM.
#![forbid(unsafe_code)]

mod instrumenter;
mod not_instrumented;
mod selection;

pub use instrumenter::{Instrumented, Instrumenter};
pub use not_instrumented::{NotInstrumented, SkipReason, TRIVIAL};
pub use selection::{CallProbes, Ids, MAX_TRIVIAL_INSTRUCTIONS, ProbesLeft, Selection, Traced};
