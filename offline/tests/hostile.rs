//! Tests of unusual, damaged and hostile archives.

mod common;

use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use common::{EntrySpec, GREETER, content, deflated, plain, plan, read, rewrite};
use loadhook_offline::zip::Archive;
use loadhook_offline::{Detail, Error, Offline, Plan, Progress, Tracker, tracker_jar};
use loadhook_rewrite::symbol::modified_utf8;

const SIGNED: &[u8] =
    b"Manifest-Version: 1.0\r\n\r\nName: Greeter.class\r\nSHA-256-Digest: eHh4\r\n\r\n";

/// Returns the error of rewriting `bytes`. Fails if there is no error.
fn refused(plan: &Plan, bytes: &[u8]) -> Result<Error> {
    let refused = rewrite(plan, bytes).err();
    refused.context("the archive was not refused")
}

/// Returns the class `Greeter` under another name.
fn renamed(name: &str) -> Result<Vec<u8>> {
    let old = b"\x01\0\x07Greeter";
    let at = GREETER.windows(old.len()).position(|piece| piece == old);
    let at = at.context("the class's name")?;
    let name = modified_utf8(name);
    let new = [&[1][..], &(name.len() as u16).to_be_bytes(), &name].concat();
    Ok([&GREETER[..at], &new, &GREETER[at + old.len()..]].concat())
}

/// Returns an archive of a few hundred kilobytes. Its entries have names of classes, and unpack to
/// 100 MB.
fn bomb() -> Vec<u8> {
    let zeros = vec![0; 10 << 20];
    let names: Vec<String> = (0..10).map(|n| format!("C{n}.class")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|n| (&**n, &*zeros)).collect();
    deflated(&entries)
}

#[test]
fn archives_that_unpack_to_too_much_are_refused() -> Result<()> {
    let bomb = bomb();
    let outer = deflated(&[("lib/bomb.jar", &bomb)]);
    ensure!(outer.len() < 1 << 20);
    let mut limited = plan(Tracker::None);
    limited.most_total = Some(64 << 20);
    let error = refused(&limited, &outer)?;
    let said = "a.jar!/lib/bomb.jar unpacks to more than 64 MiB; raise --max-total";
    ensure!(error.to_string() == said, "{error}");
    // If the limit is high enough, all entries are unpacked. Then none of them is a class.
    limited.most_total = Some(200 << 20);
    let (_, tally) = rewrite(&limited, &outer)?;
    ensure!(tally.unreadable.total() == 10);
    // An archive may contain very many nested archives that are nearly empty. Each of them counts
    // towards the limit.
    let empty = deflated(&[]);
    let names: Vec<String> = (0..300).map(|n| format!("{n}.jar")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|n| (&**n, &*empty)).collect();
    limited.most_total = Some(64 << 20);
    ensure!(
        refused(&limited, &deflated(&entries))?
            .to_string()
            .starts_with("a.jar!/")
    );
    // With the default limits, an archive of a megabyte may unpack to a gigabyte.
    let outer: Vec<String> = (0..12).map(|n| format!("{n}.jar")).collect();
    let entries: Vec<(&str, &[u8])> = outer.iter().map(|n| (&**n, &*bomb)).collect();
    let error = refused(&plan(Tracker::None), &deflated(&entries))?;
    ensure!(
        error
            .to_string()
            .starts_with("a.jar!/10.jar unpacks to more than 1024 MiB"),
        "{error}"
    );
    Ok(())
}

/// An archive that remembers the offsets at which it was read.
struct Watched {
    bytes: Vec<u8>,
    places: Mutex<Vec<u64>>,
}

impl rawzip::ReaderAt for Watched {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.places
            .lock()
            .expect("the thread did not panic")
            .push(offset);
        self.bytes.read_at(buffer, offset)
    }
}

/// Before anything is written, all module descriptions are read. The limit on unpacked bytes also holds for this.
#[test]
fn looking_ahead_unpacks_no_more_than_is_allowed() -> Result<()> {
    let description = content(&tracker_jar()?, "module-info.class")?;
    let zeros = vec![0; 10 << 20];
    let names: Vec<String> = (0..4).map(|n| format!("C{n}.class")).collect();
    let mut entries: Vec<(&str, &[u8])> = names.iter().map(|n| (&**n, &*zeros)).collect();
    entries.push(("module-info.class", &description));
    let bytes = deflated(&entries);
    for (most, is_enough) in [(32 << 20, false), (64 << 20, true)] {
        let watched = Watched {
            bytes: bytes.clone(),
            places: Mutex::default(),
        };
        let mut limited = plan(Tracker::Embed);
        limited.most_total = Some(most);
        let progress = Progress::default();
        let mut offline = Offline::new(&limited, Detail::default(), &progress);
        let done = offline.archive("a.jar", &watched, bytes.len() as u64, std::io::sink());
        match done {
            Ok(_) => ensure!(is_enough),
            Err(Error::TooMuch { .. }) => ensure!(!is_enough),
            Err(other) => return Err(other.into()),
        }
        let archive = Archive::open(&bytes[..], bytes.len() as u64)?;
        let places = watched.places.into_inner()?;
        let was_read = |at: usize| places.contains(&archive.entries()[at].offset());
        ensure!(was_read(4), "the entry module-info.class was not read");
        ensure!((0..4).all(|at| was_read(at) == is_enough), "{places:?}");
    }
    let mut limited = plan(Tracker::Embed);
    limited.most_total = Some(1 << 20);
    for name in ["META-INF/MANIFEST.MF", "module-info.class"] {
        let error = refused(&limited, &deflated(&[(name, &zeros)]))?;
        ensure!(matches!(error, Error::TooMuch { .. }), "{name}: {error}");
    }
    Ok(())
}

/// Each root of an archive gets the tracker if one of its classes is rewritten.
#[test]
fn roots_count_when_they_get_a_tracker() -> Result<()> {
    let roots = |count: usize| {
        let names = (0..count).map(|n| format!("r{n}/Greeter.class"));
        plain(
            names
                .map(|name| EntrySpec::plain(name.as_bytes(), GREETER, false))
                .collect(),
        )
    };
    let mut limited = plan(Tracker::Embed);
    limited.most_total = Some(16 << 20);
    let error = refused(&limited, &roots(200))?.to_string();
    // Each tracker counts as 256 KiB. So 64 trackers together with the names exceed the limit.
    ensure!(
        error.starts_with("a.jar!/r63/Greeter.class unpacks to"),
        "{error}"
    );
    let (out, tally) = rewrite(&limited, &roots(30))?;
    ensure!(tally.rewritten == 30);
    let all = read(&out)?;
    let named = |end: &str| -> Vec<&[u8]> {
        let named = all
            .iter()
            .filter(|(name, _)| name.ends_with(end.as_bytes()));
        named.map(|(_, content)| &**content).collect()
    };
    let trackers = named("/loadhook/Tracker.class");
    ensure!(trackers.len() == 30 && trackers.iter().all(|tracker| *tracker == trackers[0]));
    let mut parts = named("/Part.class");
    parts.sort_unstable();
    parts.dedup();
    ensure!(parts.len() == 30 && named(".symbols").len() == 30);
    Ok(())
}

#[test]
fn classes_of_a_tracker_are_not_instrumented() -> Result<()> {
    for tracker in [Tracker::Embed, Tracker::Jar, Tracker::None] {
        let jar = tracker_jar()?;
        let (_, tally) = rewrite(&plan(tracker), &jar)?;
        let seen = (
            tally.classes,
            tally.already_instrumented,
            tally.unreadable.total(),
        );
        ensure!(seen == (0, 0, 0), "{tally:?}");
        ensure!(tally.other_files as usize == read(&jar)?.len());
    }
    let (out, _) = rewrite(
        &plan(Tracker::Embed),
        &deflated(&[("Greeter.class", GREETER)]),
    )?;
    let mut skipping = plan(Tracker::Embed);
    skipping.skip_instrumented = true;
    let (again, tally) = rewrite(&skipping, &out)?;
    ensure!(tally.already_instrumented == 1 && again == out, "{tally:?}");
    let refused = refused(&plan(Tracker::Embed), &out)?;
    ensure!(matches!(&refused, Error::Instrumented(name) if name == "a.jar!/Greeter.class"));
    Ok(())
}

#[test]
fn the_last_manifest_counts() -> Result<()> {
    let named = b"Automatic-Module-Name: a\n\n".as_slice();
    let other = b"Manifest-Version: 1.0\n\n".as_slice();
    for (first, last, is_module) in [(named, other, false), (other, named, true)] {
        let (out, _) = rewrite(
            &plan(Tracker::Embed),
            &deflated(&[
                ("META-INF/MANIFEST.MF", first),
                ("Greeter.class", GREETER),
                ("meta-inf/manifest.mf", last),
            ]),
        )?;
        // The tracker of a module has a package of its own.
        let is_own = content(&out, "META-INF/loadhook/tracker").is_ok();
        ensure!(is_own == is_module && content(&out, "loadhook/Tracker.class").is_err() == is_own);
    }
    Ok(())
}

#[test]
fn archives_that_lie_too_deep_are_named() -> Result<()> {
    let mut jar = deflated(&[("Greeter.class", GREETER)]);
    for depth in (0..6).rev() {
        // Files with the extension .zip are archives, both as inputs and inside of archives.
        let name = if depth == 2 { "in.zip" } else { "in.jar" };
        jar = deflated(&[("Greeter.class", GREETER), (name, &jar)]);
    }
    let (out, tally) = rewrite(&plan(Tracker::None), &jar)?;
    ensure!((tally.archives, tally.rewritten) == (5, 5), "{tally:?}");
    let deepest = "a.jar!/in.jar!/in.jar!/in.zip!/in.jar!/in.jar";
    let said = format!("{deepest}: nested in more than 4 archives");
    ensure!(tally.left_out.kept() == [said], "{:?}", tally.left_out);
    let mut level = out;
    for depth in 0..6 {
        let is_rewritten = content(&level, "Greeter.class")? != GREETER;
        ensure!(is_rewritten == (depth < 5), "{depth}");
        level = content(&level, if depth == 2 { "in.zip" } else { "in.jar" })?;
    }
    Ok(())
}

#[test]
fn signatures_stay_if_no_class_changes() -> Result<()> {
    let with_class = deflated(&[
        ("META-INF/MANIFEST.MF", SIGNED),
        ("META-INF/A.SF", b"signature"),
        ("Greeter.class", GREETER),
    ]);
    let without = deflated(&[
        ("META-INF/MANIFEST.MF", SIGNED),
        ("META-INF/A.SF", b"signature"),
        ("a.txt", b"text"),
    ]);
    let ear = deflated(&[("with.jar", &with_class), ("without.jar", &without)]);
    for tracker in [Tracker::None, Tracker::Embed] {
        let mut plan = plan(tracker);
        ensure!(matches!(refused(&plan, &ear)?, Error::Signed(name) if name == "a.jar!/with.jar"));
        plan.strip_signatures = true;
        let (out, tally) = rewrite(&plan, &ear)?;
        ensure!(tally.unsigned.kept() == ["a.jar!/with.jar"]);
        ensure!(content(&out, "without.jar")? == without);
        let with = content(&out, "with.jar")?;
        ensure!(content(&with, "META-INF/A.SF").is_err());
        ensure!(content(&with, "META-INF/MANIFEST.MF")? == b"Manifest-Version: 1.0\r\n\r\n");
    }
    Ok(())
}

#[test]
fn a_manifest_that_cannot_be_read_refuses_a_change() -> Result<()> {
    let archive = |with_class: bool| {
        let mut entries = vec![
            EntrySpec::plain(b"META-INF/MANIFEST.MF", SIGNED, false),
            EntrySpec::plain(b"META-INF/A.SF", b"", false),
        ];
        if with_class {
            entries.push(EntrySpec::plain(b"Greeter.class", GREETER, true));
        }
        let mut bytes = plain(entries);
        // The entry's checksum no longer fits its content.
        let at = bytes.windows(6).position(|piece| piece == b"SHA-25");
        bytes[at.expect("the manifest has a digest")] = b'X';
        bytes
    };
    let mut stripping = plan(Tracker::Embed);
    stripping.strip_signatures = true;
    let error = refused(&stripping, &archive(true))?.to_string();
    ensure!(
        error == "a.jar!/META-INF/MANIFEST.MF: damaged: the checksum is wrong",
        "{error}"
    );
    let unchanged = archive(false);
    let (_, tally) = rewrite(&stripping, &unchanged)?;
    ensure!(tally.unsigned.total() == 0);
    Ok(())
}

#[test]
fn indexes_stay_where_nothing_is_added() -> Result<()> {
    let inner = deflated(&[("Greeter.class", GREETER)]);
    let outer = deflated(&[("META-INF/INDEX.LIST", b"index"), ("in.jar", &inner)]);
    let both = deflated(&[
        ("META-INF/INDEX.LIST", b"index"),
        ("Greeter.class", GREETER),
    ]);
    for (archive, tracker, stays) in [
        (&outer, Tracker::Embed, true),
        (&both, Tracker::Embed, false),
        (&both, Tracker::Jar, false),
        (&both, Tracker::None, true),
    ] {
        let (out, tally) = rewrite(&plan(tracker), archive)?;
        ensure!(tally.rewritten == 1);
        ensure!(
            content(&out, "META-INF/INDEX.LIST").is_ok() == stays,
            "{tracker:?}"
        );
        ensure!(tally.unindexed.total() == u64::from(!stays));
    }
    Ok(())
}

#[test]
fn names_are_matched_as_the_jvm_reads_them_and_shown_escaped() -> Result<()> {
    let smile = "p/\u{1f600}/Größe";
    let entries = vec![
        EntrySpec::plain(format!("{smile}.class").as_bytes(), &renamed(smile)?, true),
        EntrySpec::plain(b"caf\xe9/Greeter.class", GREETER, true),
        EntrySpec::plain(b"caf\xe9.txt", b"text", true),
        EntrySpec::plain(b"\x1b[31m\n/Greeter.class", b"no class", true),
    ];
    let (out, tally) = rewrite(&plan(Tracker::Embed), &plain(entries))?;
    ensure!((tally.classes, tally.rewritten) == (1, 1), "{tally:?}");
    ensure!(tally.left_out.kept() == ["a.jar!/caf\\xe9/Greeter.class: its name is not UTF-8"]);
    let [unreadable] = tally.unreadable.kept() else {
        anyhow::bail!("{:?}", tally.unreadable);
    };
    ensure!(
        unreadable.starts_with("a.jar!/\\u{1b}[31m\\n/Greeter.class: "),
        "{unreadable}"
    );
    let symbols = read(&out)?
        .into_iter()
        .find(|(name, _)| name.ends_with(b".symbols"));
    let symbols = String::from_utf8(symbols.context("the archive has no symbols")?.1)?;
    ensure!(symbols.contains("\nC\tp.\u{1f600}.Größe\t"), "{symbols}");
    Ok(())
}

/// Returns the internal name of the part class in the rewritten archive. It depends on the options.
fn part(plan: &Plan) -> Result<Vec<u8>> {
    let (out, _) = rewrite(plan, &deflated(&[("Greeter.class", GREETER)]))?;
    let mut names = read(&out)?.into_iter().map(|(name, _)| name);
    names
        .find(|name| name.ends_with(b"/Part.class"))
        .context("the archive has no part")
}

#[test]
fn other_settings_give_other_parts() -> Result<()> {
    let usual = part(&plan(Tracker::Embed))?;
    ensure!(part(&plan(Tracker::Embed))? == usual);
    let changes: [fn(&mut Plan); 9] = [
        |plan| {
            plan.selection
                .filter
                .include("Greeter")
                .expect("the pattern is valid")
        },
        |plan| {
            plan.selection
                .filter
                .exclude("Nobody")
                .expect("the pattern is valid")
        },
        |plan| plan.selection.allocations = true,
        |plan| plan.selection.objects = true,
        |plan| plan.selection.all = false,
        |plan| plan.tracker = Tracker::Jar,
        |plan| plan.strip_signatures = true,
        |plan| plan.skip_instrumented = true,
        |plan| plan.most_entry = 1 << 20,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut plan = plan(Tracker::Embed);
        change(&mut plan);
        ensure!(
            part(&plan)? != usual,
            "change {number} of the options should give the archive another part number, but does not"
        );
    }
    Ok(())
}

/// A nested archive larger than the limit for memory is kept in a temporary file.
#[test]
fn large_archives_inside_are_rewritten() -> Result<()> {
    // The bytes are random, so they cannot be compressed.
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    })
    .take(9 << 20)
    .collect();
    let inner = deflated(&[("noise", &noise), ("Greeter.class", GREETER)]);
    for is_deflated in [true, false] {
        let entry = EntrySpec::plain(b"lib/in.jar", &inner, is_deflated);
        let (out, tally) = rewrite(&plan(Tracker::Embed), &plain(vec![entry]))?;
        ensure!(tally.rewritten == 1);
        let inside = content(&out, "lib/in.jar")?;
        ensure!(content(&inside, "noise")? == noise);
        ensure!(content(&inside, "Greeter.class")? != GREETER);
        ensure!(
            read(&inside)?.len() > 4,
            "the nested archive has no classes of the tracker"
        );
        // Class loaders for nested archives need an uncompressed entry.
        let first = zip::ZipArchive::new(std::io::Cursor::new(&out))?
            .by_index(0)?
            .compression();
        ensure!((first == zip::CompressionMethod::Stored) != is_deflated);
    }
    Ok(())
}
