//! Tests of `loadhook inspect`, on a class of the golden inputs.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use loadhook_testkit::process;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const TRIVIAL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../golden/inputs/Trivial.class"
);

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadhook"));
    command.arg("inspect").args(arguments).env_remove("COLUMNS");
    command
}

fn inspect(arguments: &[&str]) -> Output {
    process::finish(&mut command(arguments)).unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Writes a file in the tests' own folder.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn prints_a_class_or_one_method() {
    let class = inspect(&[TRIVIAL]);
    assert!(class.status.success());
    assert!(text(&class.stdout).starts_with("class file version 61.0\n"));
    assert!(text(&class.stdout).contains("\nconstant_pool_count "));
    for filter in ["<init>", "<init>()V"] {
        let method = inspect(&[TRIVIAL, filter]);
        assert!(text(&method.stdout).starts_with("method <init>()V\n"));
        assert_eq!(text(&method.stdout).matches("method ").count(), 1);
    }
}

#[test]
fn reads_archives() {
    let jar = file("inspect!.jar", &[]);
    let mut writer = ZipWriter::new(File::create(&jar).unwrap());
    for (name, bytes) in [
        ("a/Trivial.class", fs::read(TRIVIAL).unwrap()),
        (
            "a/Bad.class",
            b"\xca\xfe\xba\xbe\0\0\0\x3d\0\x02\x15".to_vec(),
        ),
    ] {
        writer
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(&bytes).unwrap();
    }
    writer.finish().unwrap();

    let jar = jar.to_str().unwrap();
    let expected = inspect(&[TRIVIAL]).stdout;
    for separator in ["!", "!/"] {
        let class = inspect(&[&format!("{jar}{separator}a/Trivial.class")]);
        assert!(class.stdout == expected, "{}", text(&class.stderr));
    }
    for (entry, fault) in [
        ("a/Bad.class", "bad constant tag 21 at 0xa (constant #1)"),
        (
            "a/None.class",
            &format!(
                "no such entry in the archive; name one of its classes, for example {jar}!a/Trivial.class"
            ),
        ),
        (
            "a.Trivial",
            &format!("no such entry in the archive; did you mean {jar}!a/Trivial.class"),
        ),
        (
            "Trivial",
            &format!("no such entry in the archive; did you mean {jar}!a/Trivial.class"),
        ),
    ] {
        let name = format!("{jar}!{entry}");
        let output = inspect(&[&name]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), format!("error: {name}: {fault}\n"));
    }
    let whole = inspect(&[jar]);
    assert_eq!(whole.status.code(), Some(1));
    let said = format!(
        "error: {jar}: an archive; name one of its classes, for example {jar}!a/Trivial.class\n"
    );
    assert_eq!(text(&whole.stderr), said);
    let folder = inspect(&[env!("CARGO_TARGET_TMPDIR")]);
    assert!(text(&folder.stderr).ends_with(": this is a folder; give a class file in it\n"));
}

/// Makes an archive of uncompressed entries. `directory` lists the indexes of the entries that the
/// directory has. Offsets in the archive count from the end of `prefix`.
fn archive(
    prefix: &[u8],
    entries: &[(&str, &[u8])],
    directory: &[usize],
    comment: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut records = Vec::new();
    for (name, content) in entries {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let (offset, len) = (bytes.len() as u32, content.len() as u32);
        // Flags, method, time and date are zero. Method zero means stored.
        let mut facts = vec![0; 8];
        facts.extend(crc.sum().to_le_bytes());
        facts.extend(len.to_le_bytes());
        facts.extend(len.to_le_bytes());
        facts.extend((name.len() as u16).to_le_bytes());
        facts.extend([0, 0]);
        let local = [b"PK\x03\x04\x0a\0", &*facts, name.as_bytes(), content].concat();
        bytes.extend(local);
        let offset = offset.to_le_bytes();
        let record = [b"PK\x01\x02\x0a\0\x0a\0", &*facts, &[0; 10], &offset];
        records.push([&record.concat(), name.as_bytes()].concat());
    }
    let start = bytes.len() as u32;
    for at in directory {
        bytes.extend(&records[*at]);
    }
    let len = bytes.len() as u32 - start;
    let count = (directory.len() as u16).to_le_bytes();
    bytes.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count].concat());
    bytes.extend(len.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend((comment.len() as u16).to_le_bytes());
    [prefix, &bytes, comment].concat()
}

/// If an archive has several entries of one name, `inspect` must show the one that `rewrite` would
/// change and that the JVM loads.
#[test]
fn shows_the_entry_that_is_rewritten() {
    let name = "Trivial.class";
    let class = fs::read(TRIVIAL).unwrap();
    let other = fs::read(TRIVIAL.replace("Trivial", "LoopAtZero")).unwrap();
    let hidden = archive(b"", &[(name, &other)], &[0], b"");
    let script = [b"#!/bin/sh\nexec java -jar \"$0\"\n", &*hidden].concat();
    let one: &[(&str, &[u8])] = &[(name, &class)];
    let two: &[(&str, &[u8])] = &[(name, &other), (name, &class)];
    // These bytes look like an end record, but are none: more bytes follow than the length of its
    // comment says.
    let comment = [b"PK\x05\x06", &[0; 18][..], b"."].concat();
    for (case, bytes) in [
        ("duplicate", archive(b"", two, &[0, 1], b"")),
        ("alias", archive(b"", one, &[0, 0], b"")),
        ("prefix", archive(&script, one, &[0], b"")),
        ("comment", archive(b"", one, &[0], &comment)),
        ("all", archive(&script, two, &[0, 1, 1], &comment)),
    ] {
        let jar = file(&format!("{case}.jar"), &bytes);
        let jar = jar.to_str().unwrap();
        let shown = inspect(&[&format!("{jar}!{name}")]);
        let expected = inspect(&[TRIVIAL]);
        assert!(
            shown.stdout == expected.stdout,
            "{case}: {}",
            text(&shown.stderr)
        );

        let new = jar.replace(".jar", "-new.jar");
        let mut rewrite = Command::new(env!("CARGO_BIN_EXE_loadhook"));
        rewrite.args(["rewrite", jar, "-o", &new, "--all", "--quiet"]);
        let rewritten = process::finish(&mut rewrite).unwrap();
        assert!(
            rewritten.status.success(),
            "{case}: {}",
            text(&rewritten.stderr)
        );
        let shown = inspect(&[&format!("{new}!{name}")]);
        let shown = text(&shown.stdout);
        assert!(shown.contains("loadhook/"), "{case}: {shown}");
    }
}

#[test]
fn errors_name_the_fault() {
    let empty = file(
        "empty.jar",
        b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    let output = inspect(&[empty.to_str().unwrap()]);
    assert!(text(&output.stderr).contains("an archive; it contains no classes"));
    let output = inspect(&[TRIVIAL, "missing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("Trivial.class: no method missing; the class has <init>")
    );
    let missing = inspect(&["no/such.class"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).starts_with("error: no/such.class: "));
}

#[test]
fn compares_in_the_requested_width() {
    let other = TRIVIAL.replace("Trivial", "LoopAtZero");
    for columns in ["80", "160"] {
        let mut command = command(&[TRIVIAL, "--diff", &other]);
        let output = process::finish(command.env("COLUMNS", columns)).unwrap();
        let width = |line: &str| line.chars().count();
        let widest = text(&output.stdout).lines().map(width).max();
        let columns: usize = columns.parse().unwrap();
        assert!(
            widest <= Some(columns) && widest >= Some(columns - 20),
            "{widest:?}"
        );
    }
    let same = inspect(&[TRIVIAL, "--diff", TRIVIAL]);
    assert!(text(&same.stdout).contains("⋯ "));
    assert!(!text(&same.stdout).contains(" | "));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = command(&[TRIVIAL])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = process::end(child).unwrap();
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
}
