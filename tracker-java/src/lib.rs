//! The tracker: the Java classes that the probes of an instrumented program call.
//!
//! The sources are in `java/loadhook`; build.rs compiles them for Java 8. `docs/tracker.md` says what the classes
//! do and what their snapshots contain. An agent defines them in the boot loader under names in `java.lang`:
//!
//! ```
//! let boot = |name: &str| {
//!     let rest = name.strip_prefix("loadhook/")?;
//!     Some(format!("java/lang/$Loadhook{}", rest.strip_prefix("Tracker").unwrap_or(rest)))
//! };
//! for (name, class) in loadhook_tracker::CLASSES {
//!     let class = loadhook_tracker::renamed(class, &boot);
//!     assert_eq!(loadhook_tracker::names(&class).0, boot(name).unwrap());
//! }
//! ```
#![forbid(unsafe_code)]

mod rename;

pub use rename::{names, renamed};

include!(concat!(env!("OUT_DIR"), "/classes.rs"));
