//! Archives of every shape: what is no rewritten class stays, and another
//! reader finds in the result what it should.

mod common;

use std::io::{Cursor, Read};

use anyhow::{Context, Result, ensure};
use common::{Made, Spec, made};
use loadhook_offline::{Error, Offline, Plan, Progress, Tracker};
use loadhook_rewrite::Filter;
use proptest::prelude::*;

const GREETER: &[u8] = include_bytes!("../../rewrite/doc/Greeter.class");

fn plan(tracker: Tracker) -> Plan {
    let mut plan = Plan::new(Filter::new());
    plan.all = true;
    plan.tracker = tracker;
    plan
}

fn rewrite(plan: &Plan, bytes: &[u8]) -> Result<(Vec<u8>, loadhook_offline::Tally), Error> {
    let progress = Progress::default();
    let mut offline = Offline::new(plan, false, &progress);
    let mut out = Vec::new();
    offline.archive("a.jar", bytes.to_vec(), bytes.len() as u64, &mut out)?;
    Ok((out, offline.tally().clone()))
}

/// Names and contents, as another reader finds them, in its order.
fn read(bytes: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes))?;
    let mut all = Vec::new();
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at)?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        all.push((entry.name_raw().to_vec(), content));
    }
    Ok(all)
}

/// What must be true of every archive that can be read.
fn check(spec: &Spec) -> Result<()> {
    let Made { bytes, locals } = made(spec);
    let (out, tally) = rewrite(&plan(Tracker::None), &bytes)?;
    ensure!(tally.unreadable.is_empty(), "{:?}", tally.unreadable);
    let classes = spec.entries.iter().filter(|entry| entry.is_class()).count();
    ensure!(
        tally.rewritten == classes as u64,
        "{} of {classes}",
        tally.rewritten
    );

    ensure!(out.starts_with(&spec.prefix), "the prefix is gone");
    ensure!(out.ends_with(&spec.comment), "the comment is gone");
    let mut at = 0;
    for (entry, local) in spec.entries.iter().zip(&locals) {
        if entry.is_class() {
            continue;
        }
        // Byte for byte, in the old order.
        let found = out[at..]
            .windows(local.len())
            .position(|piece| piece == local);
        at += found.with_context(|| format!("{entry:?} is not as it was"))? + local.len();
    }
    // The other reader knows each name once.
    if !spec.has_duplicates() {
        let (before, after) = (read(&bytes)?, read(&out)?);
        ensure!(before.len() == after.len());
        for ((name, content), (other, found)) in before.iter().zip(&after) {
            ensure!(name == other, "{name:?} became {other:?}");
            let is_class = content == GREETER;
            ensure!((content != found) == is_class, "{name:?}");
        }
    }
    // Once more: nothing to do, and nothing changes.
    let mut skipping = plan(Tracker::None);
    skipping.skip_instrumented = true;
    let (again, tally) = rewrite(&skipping, &out)?;
    ensure!(tally.rewritten == 0 && tally.already_instrumented == classes as u64);
    ensure!(again == out, "a second run changes something");
    if classes != 0 {
        let refused = rewrite(&plan(Tracker::None), &out);
        ensure!(
            matches!(refused, Err(Error::Instrumented(_))),
            "not refused"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_is_no_class_stays(spec in common::specs()) {
        check(&spec).map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
    }

    #[test]
    fn sizes_that_cannot_be_are_no_sizes(
        spec in common::specs(),
        size in prop_oneof![
            (0..200_u64).prop_map(|less| u64::MAX - less),
            Just(1 << 63),
            Just(u64::from(u32::MAX)),
        ],
    ) {
        let mut bytes = made(&spec).bytes;
        // The fields of zip64 with both sizes, in either record.
        let field = [1, 0, 16, 0];
        let found: Vec<usize> = (0..bytes.len().saturating_sub(20))
            .filter(|at| bytes[*at..].starts_with(&field))
            .collect();
        for at in found {
            for place in [at + 4, at + 12] {
                bytes[place..place + 8].copy_from_slice(&size.to_le_bytes());
            }
            let _ = rewrite(&plan(Tracker::None), &bytes);
        }
    }

    #[test]
    fn damaged_archives_are_refused_or_read(
        spec in common::specs(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = made(&spec).bytes;
        for (at, value) in faults {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        // No panic, and no more memory than the archive allows.
        let mut plan = plan(Tracker::Embed);
        plan.most_entry = 1 << 20;
        let _ = rewrite(&plan, &bytes);
    }
}
