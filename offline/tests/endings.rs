//! Tests of ambiguous archives, which have several directories, or one in an unusual place. Before
//! and after rewriting, Loadhook must read them as the JVM does.

mod common;

use std::fs;

use anyhow::{Context, Result, ensure};
use common::{EndingSpec, EntrySpec, GREETER, Spec, deflated, made, plan, rewrite};
use loadhook_offline::verify::Verifier;
use loadhook_offline::zip::Archive;
use loadhook_offline::{Progress, Tracker};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

/// Source of a Java program. For each file, it prints the names of the entries, or that the JDK
/// refuses the file.
const LIST: &str = "class List {
    public static void main(String[] files) {
        for (String file : files) {
            var line = new StringBuilder(file).append(':');
            try (var zip = new java.util.zip.ZipFile(file)) {
                for (var entries = zip.entries(); entries.hasMoreElements();) {
                    var entry = entries.nextElement();
                    zip.getInputStream(entry).readAllBytes();
                    line.append(' ').append(entry.getName());
                }
            } catch (java.io.IOException fault) {
                line.append(\" refused\");
            }
            System.out.println(line);
        }
    }
}";

/// Returns the bytes of an end record.
fn end(count: u16, len: u32, offset: u32, comment: &[u8]) -> Vec<u8> {
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend([count, count].iter().flat_map(|count| count.to_le_bytes()));
    end.extend([len, offset].iter().flat_map(|value| value.to_le_bytes()));
    end.extend((comment.len() as u16).to_le_bytes());
    end.extend(comment);
    end
}

fn outer(prefix: &[u8], comment: &[u8], zip64: Option<&[u8]>) -> Vec<u8> {
    let entry = |name, content| EntrySpec::plain(name, content, true);
    made(&Spec {
        prefix: prefix.to_vec(),
        shifted: false,
        entries: vec![entry(b"Greeter.class", GREETER), entry(b"text", b"text")],
        reversed: false,
        ending: EndingSpec {
            zip64: zip64.map(<[u8]>::to_vec),
            refers: true,
            trailer: Vec::new(),
        },
        comment: comment.to_vec(),
    })
    .bytes
}

/// Returns an archive whose directory has the record of the first entry twice.
fn with_alias() -> Vec<u8> {
    let bytes = outer(b"", b"", None);
    let end_at = bytes.len() - 22;
    let at = |place: usize| {
        u32::from_le_bytes(
            bytes[place..place + 4]
                .try_into()
                .expect("the slice has four bytes"),
        )
    };
    let (len, offset) = (at(end_at + 12), at(end_at + 16));
    let record = &bytes[offset as usize..][..46 + "Greeter.class".len()];
    let more = end(3, len + record.len() as u32, offset, b"");
    [&bytes[..end_at], record, &more].concat()
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let inner = deflated(&[("inner", b"inner"), ("Greeter.class", GREETER)]);
    let plain = outer(b"", b"", None);
    let gap_at = plain.len() - 22;
    let with_gap = [&plain[..gap_at], b"gap", &plain[gap_at..]].concat();
    let zip64 = outer(b"", b"", Some(b""));
    // The plain end record refers to a wrong position of the zip64 end record.
    let misplaced = |more: u32| {
        let (front, behind) = zip64.split_at(zip64.len() - 22 - 12);
        let place = u32::from_le_bytes(behind[..4].try_into().expect("the slice has four bytes"));
        [front, &(place + more).to_le_bytes(), &behind[4..]].concat()
    };
    let with = |behind: &[u8]| [&plain[..], behind].concat();
    vec![
        ("plain", plain.clone()),
        ("comment-is-an-archive", outer(b"", &inner, None)),
        ("comment-is-the-same", outer(b"", &plain, None)),
        (
            "comment-is-longer-than-an-archive",
            outer(b"", &[&inner[..], b"tail"].concat(), None),
        ),
        (
            "comment-has-a-signature",
            outer(b"", b"hello PK\x05\x06 world, and much more", None),
        ),
        (
            "comment-ends-with-a-signature",
            outer(b"", b"a PK\x05\x06", None),
        ),
        (
            "comment-is-an-empty-archive",
            outer(b"", &end(0, 0, 0, b""), None),
        ),
        (
            "comment-has-an-empty-archive",
            outer(b"", &[&end(0, 0, 0, b"")[..], b"tail"].concat(), None),
        ),
        (
            "comment-is-nonsense",
            outer(b"", &end(3, 1 << 20, 5, b""), None),
        ),
        (
            "comment-is-cut",
            outer(b"", b"a comment", None)[..plain.len() + 5].to_vec(),
        ),
        ("trailer", with(b"trailer")),
        ("longest-trailer", with(&[0; 65535])),
        ("too-long-trailer", with(&[0; 66000])),
        ("two", [&inner[..], &plain].concat()),
        ("prefix", outer(b"#!/bin/sh\n", b"", None)),
        ("moved", [b"#!/bin/sh\n", &plain[..]].concat()),
        ("gap", with_gap),
        ("zip64", zip64.clone()),
        ("zip64-with-more", outer(b"", b"", Some(b"more"))),
        ("zip64-with-comment", outer(b"", b"a comment", Some(b""))),
        ("zip64-is-lost", misplaced(1)),
        (
            "zip64-moved-with-its-place",
            [b"#!/bin/sh\n", &misplaced(10)[..]].concat(),
        ),
        ("zip64-moved", [b"#!/bin/sh\n", &zip64[..]].concat()),
        ("zip64-trailer", [&zip64[..], b"trailer"].concat()),
        (
            "zip64-in-a-comment",
            outer(b"", &outer(b"", b"", Some(b"")), None),
        ),
        ("empty", deflated(&[])),
        (
            "empty-prefix",
            [b"#!/bin/sh\n", &deflated(&[])[..]].concat(),
        ),
        ("empty-trailer", [&deflated(&[])[..], b"trailer"].concat()),
        ("none", b"PK\x03\x04 and nothing of it".to_vec()),
        ("twice-in-the-directory", with_alias()),
    ]
}

/// Returns the line that [`LIST`] should print for a file, according to our own `Archive`.
fn listed(name: &str, bytes: &[u8]) -> String {
    let Ok(archive) = Archive::open(bytes, bytes.len() as u64) else {
        return format!("{name}: refused");
    };
    let mut line = format!("{name}:");
    for entry in archive.entries() {
        line.push(' ');
        line.push_str(&String::from_utf8_lossy(archive.name(entry)));
    }
    line
}

#[test]
fn ambiguous_archives_are_read_like_in_the_jvm() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("List.java"), LIST)?;
    process::output(
        Jdk::find(17)?
            .javac()?
            .current_dir(&folder)
            .arg("List.java"),
    )?;
    let mut all = files();
    for (name, bytes) in files() {
        let Ok((out, tally)) = rewrite(&plan(Tracker::Embed), &bytes) else {
            continue;
        };
        ensure!(tally.unreadable.total() == 0, "{name}: {tally:?}");
        // The comment may be an archive, too. If that archive is the one which is read, the class
        // of the outer archive stays as it was.
        let has_class = listed(name, &bytes).contains("Greeter.class");
        ensure!(tally.rewritten == u64::from(has_class), "{name}: {tally:?}");
        if has_class {
            all.push((name, out));
        }
    }
    let mut ours = Vec::new();
    for (number, (name, bytes)) in all.iter().enumerate() {
        let name = format!("{number}-{name}");
        fs::write(at(&name), bytes)?;
        ours.push((listed(&name, bytes), name));
    }
    for feature in [17, 25] {
        let mut java = Jdk::find(feature)?.java();
        java.current_dir(&folder).arg("List");
        let said = process::output(java.args(ours.iter().map(|(_, name)| name)))?;
        let lines: Vec<&str> = said.lines().collect();
        let expected: Vec<&String> = ours.iter().map(|(line, _)| line).collect();
        ensure!(
            lines == expected,
            "JDK {feature}: the JVM prints {lines:#?}\nexpected from our reading: {expected:#?}"
        );
    }
    let count = |of: &str| ours.iter().filter(|(line, _)| line.contains(of)).count();
    // Ten of these archives are refused. Each of the others is rewritten and gets a tracker.
    ensure!(count(" refused") == 10, "{ours:#?}");
    ensure!(count("loadhook/Tracker.class") == all.len() - files().len());
    Ok(())
}

/// The verifier must read the same directory as the JVM. Otherwise it would miss changes of
/// entries.
#[test]
fn outputs_are_verified_as_the_jvm_reads_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let [from, to] = ["in.jar", "out.jar"].map(|name| folder.path().join(name));
    // The comment is an archive of the same length as the outer one. So the directories of both are
    // at the offset that the end record states.
    let inner = |text| {
        outer(
            b"",
            &deflated(&[("Greeter.class", GREETER), ("text", text)]),
            None,
        )
    };
    fs::write(&from, inner(b"text"))?;
    fs::write(&to, inner(b"tEXT"))?;
    let (plan, progress) = (plan(Tracker::Embed), Progress::default());
    let mut verifier = Verifier::new(&plan, &progress);
    verifier.archive_file("in.jar", &from, &to)?;
    let faults = &verifier.checked().faults;
    ensure!(
        *faults == ["in.jar!/text: its content changed"],
        "{faults:?}"
    );
    Ok(())
}

#[test]
fn an_entry_that_the_directory_names_twice_is_rewritten_once() -> Result<()> {
    let bytes = with_alias();
    let (out, tally) = rewrite(&plan(Tracker::Embed), &bytes)?;
    ensure!((tally.classes, tally.rewritten) == (1, 1), "{tally:?}");
    let locals = |bytes: &[u8]| {
        bytes
            .windows(14)
            .filter(|at| *at == b"\0Greeter.class")
            .count()
    };
    // The directory contains these bytes twice, and the local record once. The class file does not
    // contain them.
    ensure!(locals(&bytes) == locals(&out), "{}", locals(&out));
    let archive = Archive::open(&out[..], out.len() as u64)?;
    let greeters = archive.entries().iter();
    let greeters: Vec<_> = greeters
        .filter(|entry| archive.name(entry) == b"Greeter.class")
        .collect();
    let [first, alias] = greeters[..] else {
        anyhow::bail!("{}", greeters.len());
    };
    ensure!(first.offset() == alias.offset() && alias.is_alias() && !first.is_alias());
    let class = archive.read(alias, 1 << 20)?;
    ensure!(class != GREETER && class == archive.read(first, 1 << 20)?);
    // If two records of the directory stand for the same entry, they must agree.
    let mut other = bytes;
    let crc = other.len() - 22 - 46 - "Greeter.class".len() + 16;
    other[crc] ^= 1;
    let refused = rewrite(&plan(Tracker::Embed), &other)
        .err()
        .context("the archive was not refused")?;
    ensure!(refused.to_string().contains("overlaps"), "{refused}");
    Ok(())
}
