//! The notes of a profile, as formats for people show them.

/// Notes that are written where not all are asked for.
pub(super) const FEW_NOTES: usize = 10;
