//! Tests of the views of `loadhook heap FILE` with dumps that the tests write.

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use common::{done, folder, loadhook};
use flate2::Compression;
use flate2::write::GzEncoder;
use loadhook_testkit::dump::{INT, THREAD, Writer};
use serde_json::{Value, json};

/// Makes a dump with this number of equal strings. Its names and texts contain control characters that
/// would move a terminal's cursor if they were printed.
fn dump(strings: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    for (id, name) in [(43, "run\u{1b}[2J"), (44, "park"), (45, "Thread.java")] {
        writer.text(id, name);
    }
    writer.frame(0x51, 44, 0, 40, -3);
    writer.frame(0x52, 43, 45, 40, 17);
    writer.stack(2, 1, &[0x51, 0x52]);
    writer.stack(3, 2, &[]);
    for (at, name) in [(0, "worker"), (1, "main\n")] {
        writer.string(0x1000 + 32 * at, 0x1100 + 96 * at, 0);
        writer.bytes(0x1100 + 96 * at, name.as_bytes());
        writer.instance(0x1200 + 32 * at, THREAD, &(0x1000 + 32 * at).to_be_bytes());
        writer.root(0x08, 0x1200 + 32 * at, &[1 + at as u32, 2 + at as u32]);
    }
    // Arrays and strings of 24 bytes each. All of them are roots.
    let text = "twice\u{1b}";
    for at in 0..strings {
        writer.string(0x2000 + 32 * at, 0x8000 + 96 * at, 0);
        writer.bytes(0x8000 + 96 * at, text.as_bytes());
        writer.root(0x03, 0x2000 + 32 * at, &[1, 1]);
    }
    for at in 0..2 {
        writer.primitive_array(0x4000 + 96 * at, INT, 2, &[0, 0, 0, 1, 0, 0, 0, 2]);
    }
    writer.root(0x02, 0x4000, &[1, u32::MAX]);
    writer.finish()
}

fn shown(folder: &Path, arguments: &[&str]) -> String {
    let mut command = loadhook(folder, &[&["heap"], arguments].concat());
    let shown = done(command.env("COLUMNS", "80"));
    assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{arguments:?}");
    shown.out
}

fn parsed(folder: &Path, arguments: &[&str]) -> Value {
    let shown = shown(folder, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&shown).expect("the text is JSON")
}

const HEAD: &str = "16 objects · 368 bytes · dumped 2001-09-09 01:46:40 UTC · ids of 8 bytes\n\n";

#[test]
fn duplicates_are_sorted_by_wasted_bytes() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), dump(4)).expect("the test file can be written");
    let expected = HEAD.to_owned()
        + r#"144 bytes wasted by duplicates: 4 strings have 1 distinct value
24 bytes wasted by duplicates: 2 arrays have 1 distinct value

#  wasted %     wasted  count     bytes  value
1    39.1 %  144 bytes      4  48 bytes  "twice\u{1b}"
2     6.5 %   24 bytes      2  24 bytes  int[2] {1, 2}
"#;
    assert_eq!(shown(folder.path(), &["a.hprof", "--duplicates"]), expected);
    let first = shown(folder.path(), &["a.hprof", "--duplicates", "--top", "1"]);
    assert!(
        first.ends_with("\"twice\\u{1b}\"\n1 more value (--top N shows more)\n"),
        "{first}"
    );
    let json = parsed(folder.path(), &["a.hprof", "--duplicates", "--top", "1"]);
    let row = json!({
        "class": "java.lang.String", "array": "0x8000", "instances": 4, "bytes": 48, "wasted": 144,
        "text": "twice\u{1b}", "length": 6, "is_cut": false,
    });
    assert_eq!(
        (&json["duplicates"], &json["left_out"]),
        (&json!([row]), &json!(1))
    );
    let strings = json!({ "values": 1, "instances": 4, "wasted": 144 });
    assert_eq!(json["strings"], strings);
}

#[test]
fn threads_have_frames_and_variables() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), dump(2)).expect("the test file can be written");
    let head = HEAD.replace("16 objects · 368", "12 objects · 272");
    let expected = head.clone()
        + r#""main\n" java.lang.Thread 0x1220

"worker" java.lang.Thread 0x1200
  int[] 0x4000, 24 bytes, of native code
  java.lang.Thread.park(Native Method)
  java.lang.Thread.run\u{1b}[2J(Thread.java:17)
    java.lang.String 0x2000, 24 bytes "twice\u{1b}"
    java.lang.String 0x2020, 24 bytes "twice\u{1b}"

"#;
    assert_eq!(shown(folder.path(), &["a.hprof", "--threads"]), expected);
    // --top limits the number of threads, of frames and of variables shown.
    let first = shown(folder.path(), &["a.hprof", "--threads", "--top", "1"]);
    assert_eq!(
        first,
        head + "\"main\\n\" java.lang.Thread 0x1220\n\n1 more thread (--top N shows more)\n"
    );
    fs::write(folder.path().join("b.hprof"), dump(30)).expect("the test file can be written");
    let many = shown(folder.path(), &["b.hprof", "--threads"]);
    assert!(many.contains("\n    … 10 more variables\n"), "{many}");

    let json = parsed(folder.path(), &["a.hprof", "--threads"]);
    let worker = &json["threads"][1];
    assert_eq!(worker["name"], "worker");
    assert_eq!(worker["locals"][0]["class"], "int[]");
    assert_eq!(worker["locals"][0]["is_native"], true);
    let frame = &worker["frames"][1];
    assert_eq!(
        (&frame["file"], &frame["line"]),
        (&json!("Thread.java"), &json!(17))
    );
    let local = json!({
        "class": "java.lang.String", "id": "0x2000", "is_class": false, "bytes": 24,
        "is_native": false, "text": "twice\u{1b}", "length": 6, "is_cut": false,
    });
    assert_eq!(frame["locals"][0], local);
    assert_eq!(
        (&frame["locals_left_out"], &worker["frames_left_out"]),
        (&json!(0), &json!(0))
    );
}

/// If there are no roots, an error is printed. An empty table would suggest that objects retain
/// nothing.
#[test]
fn a_dump_without_roots_shows_no_retained_sizes() {
    let folder = folder();
    let mut writer = Writer::new();
    writer.text(40, "park");
    writer.frame(0x51, 40, 0, 1, 7);
    writer.stack(2, 1, &[0x51]);
    // Remove the roots that the writer writes without being asked.
    let names = writer.take();
    let mut writer = Writer::new();
    let mut dump = [names, writer.take()[31..].to_vec()].concat();
    dump.extend([0x1c, 0, 0, 0, 0, 0, 0, 1, 0]);
    fs::write(folder.path().join("a.hprof"), &dump).expect("the test file can be written");
    for view in [
        &["--biggest"][..],
        &["--by", "retained"],
        &["--path", "0x1000"],
    ] {
        let options = [&["heap", "a.hprof", "--partial"], view].concat();
        let none = done(&mut loadhook(folder.path(), &options));
        let says = "a.hprof: the readable part of the dump has no GC roots (JDK 17 and earlier write them at the end), ";
        assert!(
            none.code == Some(1) && none.err.contains(says),
            "{}",
            none.err
        );
        assert_eq!(none.out, "");
    }
    let options = ["heap", "a.hprof", "--partial", "--threads"];
    let threads = done(&mut loadhook(folder.path(), &options));
    let expected =
        "\nthread 1, whose object is not in the dump\n  test.Pair.park(Unknown Source)\n\n";
    assert!(threads.out.ends_with(expected), "{}", threads.out);
}

/// In dumps of JDK 17 and earlier the roots come last. If such a dump is cut off, roots are
/// missing, and retained sizes would be wrong.
#[test]
fn a_dump_with_some_roots_causes_a_warning() {
    let folder = folder();
    let mut writer = Writer::new();
    writer.pair(0x1000, 0, 0);
    writer.pair(0x1100, 0, 0);
    writer.root(0x05, 0x1000, &[]);
    writer.root(0x05, 0x1100, &[]);
    let dump = writer.finish();
    fs::write(folder.path().join("a.hprof"), &dump).expect("the test file can be written");
    // The cut removes the last record of the dump, and one byte of the last root.
    fs::write(folder.path().join("cut.hprof"), &dump[..dump.len() - 10])
        .expect("the test file can be written");
    let warning = "\nwarning: cut.hprof: GC roots and objects may be missing (JDK 17 and earlier write roots \
        at the end), so retained sizes, paths to roots and unreachable objects can be wrong\n";
    for (view, is_of_roots) in [
        (&[][..], false),
        (&["--duplicates"], false),
        (&["--biggest"], true),
        (&["--by", "retained", "--format", "json"], true),
        (&["--path", "0x1000"], true),
    ] {
        let shown = |file| {
            let options = [&["heap", file, "--partial"], view].concat();
            let shown = done(&mut loadhook(folder.path(), &options));
            assert_eq!(shown.code, Some(0), "{}", shown.err);
            shown.err
        };
        assert_eq!(
            shown("cut.hprof").ends_with(warning),
            is_of_roots,
            "{view:?}"
        );
        assert_eq!(shown("a.hprof"), "");
    }
}

/// Users copy identifiers from views to `--path`, so views never cut them.
#[test]
fn identifiers_are_whole_in_narrow_terminals() {
    let folder = folder();
    let mut writer = Writer::new();
    writer.strings();
    let long = "t".repeat(100);
    let class = format!("com/example/{}", "Long".repeat(20));
    writer.threads();
    writer.text(42, &class);
    writer.load_class(41, 0x150, 42);
    writer.class(0x150, THREAD, &[], &[]);
    writer.frame(0x51, 40, 41, 41, 123);
    writer.stack(2, 1, &[0x51]);
    writer.string(0x1000, 0x1100, 0);
    writer.bytes(0x1100, long.as_bytes());
    writer.instance(0xffff_1200, 0x150, &0x1000_u64.to_be_bytes());
    writer.root(0x08, 0xffff_1200, &[1, 2]);
    for of in [0x150, 0x1000, 0xffff_1200] {
        writer.root(0x03, of, &[1, 0]);
    }
    fs::write(folder.path().join("a.hprof"), writer.finish())
        .expect("the test file can be written");
    let mut command = loadhook(folder.path(), &["heap", "a.hprof", "--threads"]);
    let shown = done(command.env("COLUMNS", "70")).out;
    // Skip the two lines about the dump, and an empty line.
    let lines: Vec<&str> = shown.lines().skip(3).collect();
    for (line, has) in lines.iter().zip([
        " 0xffff1200",
        "(java/lang/Thread:123)",
        "class ",
        " 0x1000, 24 bytes \"ttt",
        " 0xffff1200, ",
    ]) {
        let is_it = line.contains(has) && line.chars().count() <= 70;
        assert!(is_it, "{has}: {shown}");
    }
    assert!(
        lines[0].starts_with("\"ttt") && lines[2].contains(" 0x150, "),
        "{shown}"
    );
}

/// The JSON of every view has the facts about the dump, and the number of rows that were omitted.
#[test]
fn all_json_has_one_shape() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), dump(4)).expect("the test file can be written");
    let head = json!({
        "time": "2001-09-09 01:46:40 UTC", "id_size": 8, "header_size": 12, "reference_size": 4,
        "dump_bytes": dump(4).len(), "instances": 16, "bytes": 368,
        "profiler": { "instances": 0, "bytes": 0 },
    });
    for (view, rows, left_out) in [
        (&[][..], "classes", 3),
        (&["--by", "retained"], "classes", 3),
        (&["--biggest"], "objects", 18),
        (&["--duplicates"], "duplicates", 1),
        (&["--threads"], "threads", 1),
    ] {
        let json = parsed(folder.path(), &[&["a.hprof", "--top", "1"], view].concat());
        for (key, value) in head.as_object().expect("the head is an object") {
            assert_eq!(json[key], *value, "{view:?} {key}");
        }
        assert_eq!(json[rows].as_array().map(Vec::len), Some(1), "{view:?}");
        assert_eq!(json["left_out"], left_out, "{view:?}: {json}");
    }
    let path = parsed(folder.path(), &["a.hprof", "--path", "0x8000"]);
    assert_eq!(
        (&path["instances"], &path["path"][1]["id"]),
        (&json!(16), &json!("0x2000"))
    );
    assert_eq!(path["root"], "variable of a thread");
    let biggest = parsed(folder.path(), &["a.hprof", "--biggest"]);
    // One of the arrays is unreachable, so the JSON counts one loose object.
    assert_eq!(biggest["loose"], 1);
}

#[test]
fn a_difference_names_both_dumps() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), dump(2)).expect("the test file can be written");
    let packed =
        File::create(folder.path().join("b.hprof.gz")).expect("the test file can be created");
    let mut packed = GzEncoder::new(packed, Compression::fast());
    packed
        .write_all(&dump(4))
        .expect("the test file can be written");
    packed.finish().expect("the test file can be written");
    let expected = "\
before  12 objects · 272 bytes · dumped 2001-09-09 01:46:40 UTC · a.hprof
after   16 objects · 368 bytes · dumped 2001-09-09 01:46:40 UTC · b.hprof.gz
2 of 4 classes changed; bytes and instances are those of the second dump, ± the
  change from the first

#    ± bytes      bytes  ± instances  instances  class
1  +48 bytes  144 bytes           +2          6  byte[]
2  +48 bytes  144 bytes           +2          6  java.lang.String
";
    assert_eq!(
        shown(folder.path(), &["a.hprof", "--diff", "b.hprof.gz"]),
        expected
    );
    let json = parsed(
        folder.path(),
        &["b.hprof.gz", "--diff", "a.hprof", "--top", "1"],
    );
    assert_eq!(
        (&json["before"]["instances"], &json["after"]["instances"]),
        (&json!(16), &json!(12))
    );
    let class = json!({
        "class": "byte[]",
        "before": { "instances": 6, "bytes": 144 },
        "after": { "instances": 4, "bytes": 96 },
    });
    assert_eq!(
        (&json["classes"][0], &json["left_out"]),
        (&class, &json!(1))
    );
}

#[test]
fn names_of_files_are_printable() {
    let folder = folder();
    let name = "a\n\u{1b}[2J";
    fs::write(folder.path().join(name), "none").expect("the test file can be written");
    for view in [&[][..], &["--duplicates"], &["--threads"], &["--biggest"]] {
        let none = done(&mut loadhook(
            folder.path(),
            &[&["heap", name], view].concat(),
        ));
        assert!(
            none.err
                .starts_with("error: a\\n\\u{1b}[2J: not a heap dump: "),
            "{view:?}: {}",
            none.err
        );
    }
    fs::write(folder.path().join(name), &dump(2)[..900]).expect("the test file can be written");
    let part = done(&mut loadhook(
        folder.path(),
        &["heap", name, "--threads", "--partial"],
    ));
    assert_eq!(part.code, Some(0), "{}", part.err);
    assert!(
        part.err
            .starts_with("warning: a\\n\\u{1b}[2J: the dump is cut off"),
        "{}",
        part.err
    );
}

/// A hostile dump: many classes and threads share one very long name.
#[test]
fn long_names_are_not_repeated_in_memory() {
    let folder = folder();
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    writer.text(42, "park");
    writer.text(50, &"L".repeat(60_000));
    writer.frame(0x51, 50, 0, 40, -3);
    writer.stack(2, 1, &[0x51; 100]);
    for at in 0..300 {
        writer.instance(0x1200 + 32 * at, THREAD, &0_u64.to_be_bytes());
        writer.root(0x08, 0x1200 + 32 * at, &[1 + at as u32, 2]);
    }
    for at in 0..10_000 {
        let class = 0x10_0000 + 0x100 * at;
        writer.load_class(100 + at as u32, class, 50);
        writer.class(class, 0, &[], &[]);
        writer.instance(class + 0x40, class, &[]);
        writer.root(0x05, class, &[]);
    }
    fs::write(folder.path().join("a.hprof"), writer.finish())
        .expect("the test file can be written");
    for options in [
        &["--format", "json", "--top", "5"][..],
        &["--by", "retained", "--format", "json", "--top", "5"],
        &["--diff", "a.hprof", "--format", "json", "--top", "5"],
        &["--format", "html"],
    ] {
        let mut command = loadhook(folder.path(), &[&["heap", "a.hprof"], options].concat());
        let (_, peak) = common::most_memory(&mut command).expect("the view is printed");
        assert!(
            peak < 200,
            "{options:?}: less than 200 MB of memory expected, {peak} used"
        );
    }
}
