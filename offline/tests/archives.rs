//! Archives of every shape: what is no rewritten class stays, and another
//! reader finds in the result what it should.

mod common;

use anyhow::{Context, Result, ensure};
use common::{GREETER, Made, Spec, made, plan, read, rewrite};
use loadhook_offline::{Error, Tracker};
use proptest::prelude::*;

/// Checks that everything before the directory but the classes' records is
/// there, byte for byte, and nothing else. Returns the offset of the directory.
fn check_locals(spec: &Spec, locals: &[Vec<u8>], out: &[u8]) -> Result<usize> {
    let mut rest = out
        .strip_prefix(&spec.prefix[..])
        .context("the prefix is gone")?;
    for (entry, local) in spec.entries.iter().zip(locals) {
        let len = if entry.is_class() {
            rewritten_len(rest)?
        } else if rest.starts_with(local) {
            local.len()
        } else {
            anyhow::bail!("{entry:?} is not as it was");
        };
        let behind = rest[len..].strip_prefix(&entry.gap[..]);
        rest = behind.with_context(|| format!("what lies behind {entry:?} is gone"))?;
    }
    Ok(out.len() - rest.len())
}

/// How long a local record is; it has no descriptor.
fn rewritten_len(record: &[u8]) -> Result<usize> {
    ensure!(record.starts_with(b"PK\x03\x04"), "no local record");
    ensure!(record[6] & 8 == 0, "a descriptor is told of");
    let u2 = |at: usize| usize::from(u16::from_le_bytes([record[at], record[at + 1]]));
    let packed = u32::from_le_bytes(record[18..22].try_into()?);
    Ok(30 + u2(26) + u2(28) + packed as usize)
}

/// Checks what follows the directory's records, which `rest` begins with: all
/// as it was but for lengths and places.
fn check_ending(spec: &Spec, before: &[u8], mut rest: &[u8]) -> Result<()> {
    for _ in &spec.entries {
        ensure!(rest.starts_with(b"PK\x01\x02"), "no directory");
        let part = |at: usize| usize::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        rest = &rest[46 + part(28) + part(30) + part(32)..];
    }
    ensure!(rest.len() == before.len(), "{rest:?} behind the directory");
    // Numbers of entries, but not lengths and places, which have changed.
    let end = rest.len() - spec.comment.len() - spec.ending.trailer.len() - 22;
    ensure!(rest[end..end + 12] == before[end..end + 12]);
    ensure!(rest[end + 20..] == before[end + 20..], "comment or trailer");
    if end != 0 {
        ensure!(rest[..40] == before[..40], "zip64's end");
        let more = 56..end - 20;
        ensure!(rest[more.clone()] == before[more], "zip64's end");
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
    // The other reader knows each name once, and now and then fails at what it is
    // given where the end record does not refer to that of zip64.
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
