//! The tracker: the Java classes that the probes of an instrumented program call.
//!
//! The sources are in `java/loadhook`; build.rs compiles them for Java 8. `README.md` lists the
//! folders and the classes. `docs/dev/tracker.md` explains how the classes count and time calls, and what
//! snapshots contain. An agent defines the classes in the boot loader under names in `java.lang`:
//!
//! ```
//! for ((name, class), (boot_name, boot_class)) in loadhook_tracker::CLASSES.iter().zip(loadhook_tracker::BOOT_CLASSES) {
//!     assert_eq!(loadhook_tracker::boot_name(name).as_deref(), Some(*boot_name));
//!     assert_eq!(loadhook_tracker::names(boot_class).0, *boot_name);
//!     assert_eq!(loadhook_tracker::renamed(class, &loadhook_tracker::boot_name), *boot_class);
//! }
//! ```
#![forbid(unsafe_code)]

mod boot;
mod rename;

pub use boot::{BOOT_TRACKER, boot_name};
pub use rename::{names, renamed};

/// Internal names and bytes of the tracker's classes, superclasses first.
pub const CLASSES: &[(&str, &[u8])] = CLASSES_HERE;

/// The same classes under their names in the boot loader. They are embedded too, because to rename them takes more than
/// half a millisecond of the JVM's start.
pub const BOOT_CLASSES: &[(&str, &[u8])] = BOOT_CLASSES_HERE;

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
