//! Reads and writes zip archives. Every entry whose content is not replaced is copied byte for
//! byte.
//!
//! A zip file consists of local records (header, name, data), then a directory, then the end record. The
//! directory has one record for each entry, which repeats the facts of the local record, and gives the local
//! record's offset. [`Archive`] reads the directory. [`Output`] writes the local records, old or new, in their
//! order, and then the directory in its own order. If one entry changes, all others stay as they were, with
//! times, comments, extra fields, attributes and the bytes between the entries.

pub(crate) mod compare;
mod content;
mod copy;
mod deflate;
mod descriptor;
mod ending;
mod error;
mod locate;
mod read;
mod record;
mod spool;
mod write;

pub use content::Content;
pub use error::ZipError;
pub use rawzip::FileReader;
pub use read::{Archive, Entry};
pub use spool::Spool;
pub use write::{Output, Packed};

/// Compression method of stored entries (APPNOTE.TXT, 4.4.5).
pub const STORED: u16 = 0;
/// Compression method of deflated entries (APPNOTE.TXT, 4.4.5).
pub const DEFLATED: u16 = 8;
