//! The tracker: the Java classes that the probes of an instrumented program call.
//!
//! The sources are in `java/loadhook`; build.rs compiles them for Java 8. `README.md` lists the
//! folders and the classes. `docs/dev/tracker.md` explains how the classes count and time calls, and what
//! snapshots contain. An agent defines the classes in the boot loader under names in `java.lang`:
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

/// Internal names and bytes of the tracker's classes, superclasses first.
pub const CLASSES: &[(&str, &[u8])] = CLASSES_HERE;

/// The additional classes that a program without an agent needs: their internal names and bytes, superclasses
/// first.
///
/// `loadhook/Part` is a template. The probes of each rewritten archive call a copy of it under a name of its own, in
/// which the archive's id and the number of its method ids, `0123456789abcdef 42`, stand for [`ARCHIVE`]; see
/// `docs/dev/jars.md`. An agent must not define these classes.
pub const OFFLINE_CLASSES: &[(&str, &[u8])] = OFFLINE_CLASSES_HERE;

/// A program that verifies rewritten classes with `java.lang.classfile`, `loadhook.VerifyClasses`: internal names and
/// bytes, superclasses first. It runs on JDK 24 and later. The program's source documents its input and output.
pub const VERIFY_CLASSES: &[(&str, &[u8])] = VERIFY_CLASSES_HERE;

/// The name of the template in [`OFFLINE_CLASSES`].
pub const PART: &str = "loadhook/Part";

/// The string constant of the template that each copy replaces by its own text.
pub const ARCHIVE: &str = "loadhook:archive";

include!(concat!(env!("OUT_DIR"), "/classes.rs"));
