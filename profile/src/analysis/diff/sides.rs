//! The runs of the two sides of a comparison.

use std::borrow::Cow;

use crate::analysis::merge::{MergeError, runs};
use crate::model::{Header, Profile};

/// The runs of both sides. Profiles of one process are one run.
pub(super) type Sides<'p> = [Vec<Cow<'p, Profile>>; 2];

/// Groups the profiles of each side into runs.
pub(super) fn sides(profiles: [&[Profile]; 2]) -> Result<Sides<'_>, MergeError> {
    let [before, after] = profiles;
    Ok([runs(before)?, runs(after)?])
}

/// Returns the number of runs of each side.
pub(super) fn numbers(sides: &Sides<'_>) -> [usize; 2] {
    sides.each_ref().map(Vec::len)
}

/// Returns the headers of the runs of each side.
pub(super) fn headers(sides: &Sides<'_>) -> [Vec<Header>; 2] {
    sides
        .each_ref()
        .map(|side| side.iter().map(|run| run.header.clone()).collect())
}
