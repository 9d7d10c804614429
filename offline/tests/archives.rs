//! Tests of rewriting generated archives. Everything but rewritten classes must stay as it is, and
//! another zip reader must find the expected contents.

mod common;

use anyhow::{Context, Result, ensure};
use common::{GREETER, Made, Spec, made, plan, read, rewrite};
use loadhook_offline::{Error, Tracker};
use proptest::prelude::*;

/// Checks that everything before the directory is unchanged, except the records of classes, and
/// that nothing was added. Returns the offset of the directory in `out`.
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
            anyhow::bail!("{entry:?} is no class, but its bytes changed");
        };
        let behind = rest[len..].strip_prefix(&entry.gap[..]);
        rest = behind.with_context(|| format!("the bytes after {entry:?} are missing"))?;
    }
    Ok(out.len() - rest.len())
}

/// Returns the length of a local record of a rewritten class. The record must not have a data
/// descriptor.
fn rewritten_len(record: &[u8]) -> Result<usize> {
    ensure!(
        record.starts_with(b"PK\x03\x04"),
        "a local record is missing"
    );
    ensure!(record[6] & 8 == 0, "the local record has a data descriptor");
    let u2 = |at: usize| usize::from(u16::from_le_bytes([record[at], record[at + 1]]));
    let packed = u32::from_le_bytes(record[18..22].try_into()?);
    Ok(30 + u2(26) + u2(28) + packed as usize)
}

/// Checks the end of an archive, from the directory on: only lengths and positions may change.
/// `rest` begins with the directory.
fn check_ending(spec: &Spec, before: &[u8], mut rest: &[u8]) -> Result<()> {
    for _ in &spec.entries {
        ensure!(
            rest.starts_with(b"PK\x01\x02"),
            "a record of the directory is missing"
        );
        let part = |at: usize| usize::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        rest = &rest[46 + part(28) + part(30) + part(32)..];
    }
    ensure!(
        rest.len() == before.len(),
        "other bytes follow the directory: {rest:?}"
    );
    // Compare the numbers of entries. Lengths and positions have changed, so they are not compared.
    let end = rest.len() - spec.comment.len() - spec.ending.trailer.len() - 22;
    ensure!(rest[end..end + 12] == before[end..end + 12]);
    ensure!(
        rest[end + 20..] == before[end + 20..],
        "the comment or the bytes after the archive changed"
    );
    if end != 0 {
        ensure!(rest[..40] == before[..40], "the zip64 end record changed");
        let more = 56..end - 20;
        ensure!(
            rest[more.clone()] == before[more],
            "the zip64 end record or its extension changed"
        );
    }
    Ok(())
}

/// Checks what must hold for every archive that can be read.
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
        "{classes} rewritten classes expected, {} found",
        tally.rewritten
    );

    let directory = check_locals(spec, &locals, &out)?;
    check_ending(spec, &bytes[directory_end..], &out[directory..])?;
    // The other reader finds only one entry of each name. It may refuse an archive with a zip64 end
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
            ensure!(
                name == other,
                "the entry {name:?} is named {other:?} after rewriting"
            );
            let is_class = content == GREETER;
            ensure!((content != found) == is_class, "{name:?}");
        }
    }
    // Rewriting the output once more changes nothing, because its classes are already instrumented.
    let mut skipping = plan(Tracker::None);
    skipping.skip_instrumented = true;
    let (again, tally) = rewrite(&skipping, &out)?;
    ensure!(tally.rewritten == 0 && tally.already_instrumented == classes as u64);
    ensure!(again == out, "rewriting the output once more changed it");
    if classes != 0 {
        let refused = rewrite(&plan(Tracker::None), &out);
        ensure!(
            matches!(refused, Err(Error::Instrumented(_))),
            "an archive that is already instrumented was not refused"
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
        // The head of a zip64 field that contains both sizes; local records and directory records
        // have such fields.
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
        // Whatever the bytes are, rewriting must not panic, nor take more memory than the limits
        // allow.
        let mut plan = plan(Tracker::Embed);
        plan.most_entry = 1 << 20;
        let _ = rewrite(&plan, &bytes);
    }
}
