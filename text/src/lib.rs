//! Text for people, written the same way by every crate.
//!
//! | to write | use |
//! |---|---|
//! | a name from outside (class, method, thread, file, archive entry, message of a JVM) | [`printable`]; [`printable_bytes`] where it may not be UTF-8 |
//! | JSON that may go to a terminal | [`JsonWriter`] |
//! | a count or a size | [`count`], [`bytes`], [`units`] |
//! | a date | [`date`] |
//! | the name of a Java method or type in a narrow column | [`java::shorten`] |
//! | other text in a narrow column | [`clipped`], [`width`] |
//! | a message on standard error | [`terminal::message`] |
//!
//! Names from outside go through [`printable`] **before** they are cut, padded or coloured:
//! cutting afterwards counts the columns of the escapes, too.
//!
//! ```
//! use loadhook_text::{bytes, clipped, count, printable};
//!
//! assert_eq!(printable("a\u{1b}[2Jb\u{202e}c"), r"a\u{1b}[2Jb\u{202e}c");
//! assert_eq!(count(1_234_567), "1,234,567");
//! assert_eq!(bytes(13_002_342), "12.4 MB");
//! assert_eq!(clipped("a long name", 8), "a long …");
//! ```
//!
//! The crate knows no profile, no heap and no class file, opens no file and reads no clock.
#![forbid(unsafe_code)]

pub mod date;
mod escape;
pub mod java;
mod json_writer;
pub mod terminal;
pub mod units;
pub mod width;

pub use escape::{printable, printable_bytes};
pub use java::shorten;
pub use json_writer::JsonWriter;
pub use units::{bytes, count};
pub use width::clipped;
