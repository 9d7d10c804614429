//! Archives as they are: every entry is copied byte for byte unless somebody
//! gives another content for it.
//!
//! A zip file is a row of local records (header, name, data), then a directory
//! with one record an entry, which has the facts again and the local record's
//! place, then the end record. [`Archive`] reads the directory; [`Output`]
//! writes the local records in their order, old or new, and the directory in
//! its own. Where only one record changes, all others stay as they were, with
//! times, comments, extra fields, attributes and whatever stood between them.

pub(crate) mod compare;
mod content;
mod deflate;
mod descriptor;
mod ending;
mod locate;
mod read;
mod record;
mod spool;
mod write;

pub use content::Content;
pub use rawzip::FileReader;
pub use read::{Archive, Entry, ZipError};
pub use spool::Spool;
pub use write::{Output, Packed};

/// How an entry's data are stored, as zip's specification numbers it.
pub const STORED: u16 = 0;
/// See [`STORED`].
pub const DEFLATED: u16 = 8;
