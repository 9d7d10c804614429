//! Sums of pauses of the garbage collector, in one profile and over several.

use crate::model::{GcPauses, Profile};

/// Adds up all pauses.
pub(crate) fn sum(pauses: &[GcPauses]) -> GcPauses {
    let mut sum = GcPauses::default();
    for some in pauses {
        sum.add(some);
    }
    sum
}

/// Returns the pauses by cause and collector, those with the most time first.
pub(crate) fn ordered(pauses: &[GcPauses]) -> Vec<&GcPauses> {
    let mut rows: Vec<&GcPauses> = pauses.iter().collect();
    rows.sort_by(|a, b| {
        let names = |row: &GcPauses| (row.cause.clone(), row.collector.clone());
        (b.total_ns.cmp(&a.total_ns)).then_with(|| names(a).cmp(&names(b)))
    });
    rows
}

/// Adds up the pauses of several profiles; `None` if no profile has recorded pauses.
pub(super) fn merged(profiles: &[&Profile]) -> Option<Vec<GcPauses>> {
    let mut recorded = profiles
        .iter()
        .filter_map(|profile| profile.gc_pauses.as_ref());
    let mut sums = recorded.next()?.clone();
    for some in recorded.flatten() {
        match same(&mut sums, some) {
            Some(sum) => sum.add(some),
            None => sums.push(some.clone()),
        }
    }
    Some(sums)
}

/// Returns the pauses between two profiles of one program. The longest pause is taken from `later`, because a profile
/// does not record when its longest pause was.
pub(super) fn since(earlier: &Profile, later: &Profile) -> Option<Vec<GcPauses>> {
    let mut between = later.gc_pauses.clone()?;
    for before in earlier.gc_pauses.iter().flatten() {
        if let Some(pauses) = same(&mut between, before) {
            pauses.pauses = pauses.pauses.saturating_sub(before.pauses);
            pauses.total_ns = pauses.total_ns.saturating_sub(before.total_ns);
        }
    }
    between.retain(|pauses| pauses.pauses > 0);
    Some(between)
}

/// Returns the entry in `all` with the cause and the collector of `other`.
fn same<'p>(all: &'p mut [GcPauses], other: &GcPauses) -> Option<&'p mut GcPauses> {
    let is_it =
        |pauses: &&mut GcPauses| pauses.cause == other.cause && pauses.collector == other.collector;
    all.iter_mut().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(rows: &[(&str, u64, u64, u64)]) -> Profile {
        let pauses = rows
            .iter()
            .map(|(cause, pauses, total_ns, longest_ns)| GcPauses {
                cause: (*cause).to_owned(),
                collector: "Copy".to_owned(),
                pauses: *pauses,
                total_ns: *total_ns,
                longest_ns: *longest_ns,
            });
        Profile {
            gc_pauses: Some(pauses.collect()),
            ..Profile::default()
        }
    }

    #[test]
    fn pauses_of_a_cause_are_added_and_subtracted() {
        let earlier = profile(&[("full", 2, 30, 20), ("old", 1, 5, 5)]);
        let later = profile(&[("full", 5, 100, 50), ("old", 1, 5, 5), ("new", 1, 7, 7)]);
        let both = [&earlier, &Profile::default(), &later];
        let sums = profile(&[("full", 7, 130, 50), ("old", 2, 10, 5), ("new", 1, 7, 7)]);
        assert_eq!(merged(&both), sums.gc_pauses);
        assert_eq!(merged(&[&Profile::default()]), None);
        let between = profile(&[("full", 3, 70, 50), ("new", 1, 7, 7)]);
        assert_eq!(since(&earlier, &later), between.gc_pauses);
        let all = sum(later.gc_pauses.as_deref().unwrap_or_default());
        assert_eq!((all.pauses, all.total_ns, all.longest_ns), (7, 112, 50));
    }
}
