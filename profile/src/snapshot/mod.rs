//! The tracker's snapshot, and the profile that it becomes.
//!
//! A [`Decoder`] reads the stream of words that the tracker writes into a [`Snapshot`], in which
//! methods are numbers. [`Symbols`] replaces the numbers by methods and makes a profile.

mod allocation_sites;
mod decoder;
mod symbols;

pub use allocation_sites::{AllocationSite, SiteBytes};
pub use decoder::{Decoder, OVERFLOW, Snapshot, SnapshotError};
pub use symbols::Symbols;
