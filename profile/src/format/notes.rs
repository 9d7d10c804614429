//! The notes of a profile in formats for people.

/// The maximum number of notes that are shown without `--explain`.
pub(super) const FEW_NOTES: usize = 10;
