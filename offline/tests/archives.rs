//! Tests generated archives. Everything but rewritten classes must stay, and another zip reader
//! must find the expected contents.

mod common;

use anyhow::{Context, Result, ensure};
use common::{GREETER, Made, Spec, made, plan, read, rewrite};
use loadhook_offline::{Error, Tracker};
use proptest::prelude::*;

/// Checks that everything before the directory, except the records of classes, is unchanged, and
/// that nothing was added. Returns the offset of the directory.
fn check_locals(spec: &Spec, locals: &[Vec<u8>], out: &[u8]) -> Result<usize> {
    let mut rest = out
        .strip_prefix(&spec.prefix[..])
        .context("the prefix is missing")?;
    for (entry, local) in spec.entries.iter().zip(locals) {
        let len = if entry.is_class() {
            rewritten_len(rest)?
        } else if rest.starts_with(local) {
            local.len()
        } else {
            anyhow::bail!("{entry:?} changed");
        };
        let behind = rest[len..].strip_prefix(&entry.gap[..]);
        rest = behind.with_context(|| format!("the bytes behind {entry:?} are missing"))?;
    }
    Ok(out.len() - rest.len())
}

/// The length of a local record, which must not have a descriptor.
fn rewritten_len(record: &[u8]) -> Result<usize> {
    ensure!(record.starts_with(b"PK\x03\x04"), "no local record");
    ensure!(record[6] & 8 == 0, "the record has a descriptor");
    let u2 = |at: usize| usize::from(u16::from_le_bytes([record[at], record[at + 1]]));
    let packed = u32::from_le_bytes(record[18..22].try_into()?);
    Ok(30 + u2(26) + u2(28) + packed as usize)
}

/// Skips the directory's records at the beginning of `rest`, and checks the rest: only lengths and
/// positions may change.
fn check_ending(spec: &Spec, before: &[u8], mut rest: &[u8]) -> Result<()> {
    for _ in &spec.entries {
        ensure!(rest.starts_with(b"PK\x01\x02"), "no directory");
        let part = |at: usize| usize::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        rest = &rest[46 + part(28) + part(30) + part(32)..];
    }
    ensure!(rest.len() == before.len(), "{rest:?} behind the directory");
    // Compare the numbers of entries, but not lengths and positions, which have changed.
    let end = rest.len() - spec.comment.len() - spec.ending.trailer.len() - 22;
    ensure!(rest[end..end + 12] == before[end..end + 12]);
    ensure!(rest[end + 20..] == before[end + 20..], "comment or trailer");
    if end != 0 {
        ensure!(rest[..40] == before[..40], "zip64 end record");
        let more = 56..end - 20;
        ensure!(rest[more.clone()] == before[more], "zip64 end record");
    }
    Ok(())
}

/// Checks the properties of every archive that can be read.
fn check(spec: &Spec) -> Result<()> {
    let Made {
        bytes,
        locals,
        directory: directory_end,
    } = made(spec);
    let (out, tally) = rewrite(&plan(Tracker::None), &bytes)?;
    ensure!(tally.unreadable.total() == 0, "{:?}", tally.unreadable);
    let classes = spec.entries.iter().filter(|entry| entry.is_class()).count();
    ensure!(
        tally.rewritten == classes as u64,
        "{} of {classes}",
        tally.rewritten
    );

    let directory = check_locals(spec, &locals, &out)?;
    check_ending(spec, &bytes[directory_end..], &out[directory..])?;
    // The other reader finds only one entry of each name. It may fail if there is a zip64 end
    // record to which the plain end record does not refer.
    let is_clear = spec.ending.zip64.is_none() || spec.ending.refers;
    let before = match read(&bytes) {
        Err(_) if !is_clear => None,
        before => Some(before?),
    };
    if let Some(before) = before.filter(|_| !spec.has_duplicates()) {
        let after = read(&out)?;
        ensure!(before.len() == after.len());
        for ((name, content), (other, found)) in before.iter().zip(&after) {
            ensure!(name == other, "{name:?} became {other:?}");
            let is_class = content == GREETER;
            ensure!((content != found) == is_class, "{name:?}");
        }
    }
    // A second rewriting has nothing to do, and changes nothing.
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
    fn only_classes_change(spec in common::specs()) {
        check(&spec).map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
    }

    #[test]
    fn impossible_sizes_are_handled(
        spec in common::specs(),
        size in prop_oneof![
            (0..200_u64).prop_map(|less| u64::MAX - less),
            Just(1 << 63),
            Just(u64::from(u32::MAX)),
        ],
    ) {
        let mut bytes = made(&spec).bytes;
        // The head of zip64 fields with both sizes, in local and directory records.
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
        // Rewriting must not panic, nor take more memory than the limits allow.
        let mut plan = plan(Tracker::Embed);
        plan.most_entry = 1 << 20;
        let _ = rewrite(&plan, &bytes);
    }
}
