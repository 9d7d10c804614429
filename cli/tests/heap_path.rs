//! Tests of `loadhook heap FILE --path`: the path to a root, and the description of the root.

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use common::held::{Held, dump};
use common::{done, folder, loadhook};
use flate2::Compression;
use flate2::write::GzEncoder;
use loadhook_testkit::dump::{THREAD, Writer};
use serde_json::Value;

fn path(folder: &Path, of: &str, options: &[&str]) -> String {
    let mut command = loadhook(folder, &["heap", "h.hprof", "--path", of]);
    let shown = done(command.args(options).env("COLUMNS", "100"));
    assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{of}");
    shown.out
}

fn parsed(folder: &Path, of: &str) -> Value {
    serde_json::from_str(&path(folder, of, &["--format", "json"])).expect("the text is JSON")
}

/// A class loader leak: the path from the plugin's class to a root shows why it is still reachable.
#[test]
fn paths_from_a_class_and_a_variable_are_shown_on_every_jvm() {
    for (feature, via) in [
        (11, "dumper"),
        (17, "dumper"),
        (17, "jvmti"),
        (21, "dumper"),
        (25, "dumper"),
        (25, "jvmti"),
    ] {
        let folder = folder();
        let jvm = Held::program(feature, &["-Xmx64m"], &["heap.Leaking"]);
        let options = ["--via", via];
        let dumped = done(&mut dump(folder.path(), &jvm.pid(), "h.hprof", &options));
        dumped.expect(0, "", &["heap dump: h.hprof ("]);
        jvm.ends_well();

        let printed = path(folder.path(), "class heap.Leaking$Plugin", &[]);
        let lines: Vec<&str> = printed.lines().collect();
        for (line, (begins, has)) in lines.iter().zip([
            ("class heap.Leaking$Plugin 0x", " · retains "),
            ("  ↑ <class> of heap.Leaking$Plugin 0x", " · retains "),
            ("  ↑ [", "] of java.lang.Object[] 0x"),
            ("  ↑ elementData of java.util.ArrayList 0x", " · retains "),
            ("  ↑ registry of class heap.Leaking 0x", " · retains "),
        ]) {
            let is_it = line.starts_with(begins) && line.contains(has);
            assert!(is_it, "{feature} {via}: {printed}");
        }
        let Some(other) = printed.split("\nother classes of the same name: ").nth(1) else {
            panic!("{feature} {via}: {printed}");
        };
        let other = path(folder.path(), other.trim_end(), &[]);
        assert!(other.starts_with("class heap.Leaking$Plugin 0x"), "{other}");

        let mine = path(folder.path(), "heap.Leaking$Mine", &[]);
        let [thread, frame] = [
            "\nroot: variable of thread \"the holder\" 0x",
            " in heap.Leaking.hold(Leaking.java:43)\n",
        ];
        // The path may also end in `Object.wait`, which the method `hold` calls: the frame of
        // `Object.wait` refers to the object, too.
        let waits = " in java.lang.Object.wait";
        let is_named = mine.contains(thread) && (mine.ends_with(frame) || mine.contains(waits));
        assert!(is_named, "{feature} {via}: {mine}");
        let json = parsed(folder.path(), "heap.Leaking$Mine");
        assert_eq!(json["root"], "variable of a thread");
        assert_eq!(json["thread"]["name"], "the holder");
        assert!(json["frame"]["method"].is_string(), "{json}");

        // If a path is too long for --top, half of the shown objects are at its beginning and half at
        // its end.
        let long = path(folder.path(), "heap.Leaking$Node", &["--top", "4"]);
        let is_node = |line: &&&str| line.contains("heap.Leaking$Node 0x");
        let lines: Vec<&str> = long.lines().collect();
        assert!(
            lines.len() <= 6 && lines.iter().filter(is_node).count() >= 2,
            "{long}"
        );
        assert!(
            lines[2].contains(" more objects (--top N shows more)"),
            "{long}"
        );
        assert!(lines[lines.len() - 1].starts_with("root: "), "{long}");
        let json = parsed(folder.path(), "heap.Leaking$Node");
        let shown = json["path"].as_array().map_or(0, Vec::len);
        let left_out = lines[2].trim_start_matches(['…', ' ']).split(' ').next();
        assert_eq!(left_out, Some(&*(shown - 4).to_string()), "{long}");
    }
}

#[test]
fn every_kind_of_root_is_described() {
    let folder = folder();
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    for (id, name) in [
        (43, "run"),
        (44, "park"),
        (45, "Thread.java"),
        (46, "java/lang/Object"),
    ] {
        writer.text(id, name);
    }
    writer.frame(0x51, 44, 0, 40, -3);
    writer.frame(0x52, 43, 45, 40, 17);
    writer.stack(2, 1, &[0x51, 0x52]);
    writer.string(0x1000, 0x1100, 0);
    writer.bytes(0x1100, b"wor\x1bker");
    writer.instance(0x1200, THREAD, &0x1000_u64.to_be_bytes());
    let none = u32::MAX;
    let worker = "thread \"wor\\u{1b}ker\" 0x1200";
    let cases: [(u8, &[u32], &str); 10] = [
        (0x01, &[0, 7], "global reference of native code"),
        (
            0x02,
            &[1, 0],
            "local reference of native code of {} in java.lang.Thread.park(Native Method)",
        ),
        (0x02, &[1, none], "local reference of native code of {}"),
        (
            0x03,
            &[1, 1],
            "variable of {} in java.lang.Thread.run(Thread.java:17)",
        ),
        (0x03, &[1, 2], "variable of {}"),
        (0x03, &[9, 0], "variable of a thread"),
        (0x04, &[1], "native stack of {}"),
        (0x05, &[], "class of the bootstrap loader"),
        (0x06, &[1], "thread block of {}"),
        (0x07, &[], "monitor in use"),
    ];
    for (at, (tag, words, _)) in (0_u64..).zip(&cases) {
        writer.pair(0x2000 + 32 * at, 0, 0);
        writer.root(*tag, 0x2000 + 32 * at, words);
    }
    // A monitor and a variable both keep this object alive. The path must name the variable, which
    // says more.
    writer.pair(0x3000, 0, 0);
    writer.root(0x07, 0x3000, &[]);
    writer.root(0x03, 0x3000, &[1, 1]);
    writer.root(0x08, 0x1200, &[1, 2]);
    fs::write(folder.path().join("h.hprof"), writer.finish())
        .expect("the test file can be written");
    let root_of = |of: u64| {
        let printed = path(folder.path(), &format!("{of:#x}"), &[]);
        let (_, root) = printed
            .split_once("\nroot: ")
            .expect("the path names a root");
        // A line about a root that is too wide is broken in two, which are joined here.
        format!("root: {}", root.trim_end().replace("\n      ", " "))
    };
    for (at, (.., says)) in (0_u64..).zip(cases) {
        let expected = format!("root: {}", says.replace("{}", worker));
        assert_eq!(root_of(0x2000 + 32 * at), expected);
    }
    let expected = format!("root: variable of {worker} in java.lang.Thread.run(Thread.java:17)");
    assert_eq!(root_of(0x3000), expected);
    assert_eq!(root_of(0x1200), format!("root: {worker}"));
}

/// Makes a dump with a thread, a frame on its stack, and a variable of the frame that refers to 0x2000.
fn named(name: &str, class: &str, file: &str) -> Writer {
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    for (id, text) in [(42, class), (43, "awaitNanos"), (44, file)] {
        writer.text(id, text);
    }
    writer.load_class(41, 0x150, 42);
    writer.class(0x150, 0, &[], &[]);
    writer.frame(0x51, 43, 44, 41, 1797);
    writer.stack(2, 1, &[0x51]);
    writer.string(0x1000, 0x1100, 0);
    writer.bytes(0x1100, name.as_bytes());
    writer.instance(0x7_fff0_1200, THREAD, &0x1000_u64.to_be_bytes());
    writer.pair(0x2000, 0, 0);
    writer.pair(0x2020, 0, 0);
    writer.root(0x03, 0x2000, &[1, 0]);
    writer.root(0x02, 0x2020, &[1, 0]);
    writer
}

#[test]
fn a_root_fits_the_terminal_however_long_its_names_are() {
    let long = "n".repeat(3_000);
    let condition = "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject";
    let file = "AbstractQueuedSynchronizer.java";
    let method = "ConditionObject.awaitNanos(";
    let many = "k".repeat(900);
    for (name, class, file, ends) in [
        (
            "main",
            condition,
            file,
            [method, "(AbstractQueuedSynchronizer.java:1797)"],
        ),
        (
            &long,
            condition,
            file,
            [method, "(AbstractQueuedSynchronizer.java:1797)"],
        ),
        (
            &long,
            &many,
            file,
            ["k.awaitNanos(", "(AbstractQueuedSynchronizer.java:1797)"],
        ),
        (&long, &many, &many, ["k.awaitNanos(", "k…:1797)"]),
    ] {
        let folder = folder();
        let mut writer = named(name, class, file);
        writer.root(0x08, 0x7_fff0_1200, &[1, 2]);
        fs::write(folder.path().join("h.hprof"), writer.finish())
            .expect("the test file can be written");
        for (of, width) in [
            ("0x2000", 60),
            ("0x2000", 80),
            ("0x2020", 80),
            ("0x2020", 120),
        ] {
            let mut command = loadhook(folder.path(), &["heap", "h.hprof", "--path", of]);
            let shown = done(command.env("COLUMNS", width.to_string()));
            let lines: Vec<&str> = shown.out.lines().collect();
            let [_, thread, place] = lines[..] else {
                panic!("{width}: {}", shown.out);
            };
            assert!(
                thread.starts_with("root: ") && thread.contains(" of thread \""),
                "{thread}"
            );
            assert!(thread.ends_with(" 0x7fff01200"), "{thread}");
            assert!(place.starts_with("      in "), "{place}");
            for line in [thread, place] {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            let [method, source] = ends;
            assert!(place.ends_with(":1797)"), "{place}");
            if width >= 80 {
                assert!(place.contains(method) && place.ends_with(source), "{place}");
            }
        }
        // The view of threads shows the same names in full.
        let mut command = loadhook(folder.path(), &["heap", "h.hprof", "--threads"]);
        let shown = done(command.env("COLUMNS", "80"));
        let place = shown.out.lines().nth(3).expect("the list has a frame");
        assert!(
            place.contains(ends[0]) && place.ends_with(ends[1]),
            "{place}"
        );
        let is_wide = |line: &&str| line.chars().count() > 80;
        assert_eq!(shown.out.lines().find(is_wide), None);
    }
}

/// The error of --path gives possible reasons; one is that only soft references lead to the object.
#[test]
fn an_object_without_a_path_gets_the_possible_reasons() {
    let folder = folder();
    let mut writer = Writer::new();
    writer.pair(0x1000, 0, 0);
    writer.pair(0x1100, 0, 0);
    writer.root(0x05, 0x1000, &[]);
    fs::write(folder.path().join("h.hprof"), writer.finish())
        .expect("the test file can be written");
    let none = done(&mut loadhook(
        folder.path(),
        &["heap", "h.hprof", "--path", "0x1100"],
    ));
    let expected = "error: 0x1100 test.Pair: no path to a GC root: the object is unreachable, only softly or weakly reachable, or \
        referred to only by fields of java.lang.Class, which dumps leave out\n";
    assert_eq!((none.code, &*none.err), (Some(1), expected));
}

/// JDK 17 and earlier write thread objects after all other objects, so a cut-off dump may lack
/// them.
#[test]
fn a_thread_whose_object_is_cut_off_has_a_number() {
    let folder = folder();
    let mut writer = named("main", "Main", "Main.java");
    writer.root(0x08, 0x7_fff0_1200, &[1, 2]);
    let dump = writer.finish();
    // The cut removes the last record of the dump, and one byte of the record of the thread object.
    fs::write(folder.path().join("h.hprof"), &dump[..dump.len() - 9 - 1])
        .expect("the test file can be written");
    let shown = |options: &[&str]| {
        let arguments = ["heap", "h.hprof", "--partial", "--path", "0x2000"];
        let shown = done(&mut loadhook(
            folder.path(),
            &[&arguments, options].concat(),
        ));
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        shown.out
    };
    let printed = shown(&[]);
    let root = "\nroot: variable of thread 1, whose object is not in the dump in Main.awaitNanos(Main.java:1797)\n";
    assert!(printed.ends_with(root), "{printed}");
    let json: Value =
        serde_json::from_str(&shown(&["--format", "json"])).expect("the text is JSON");
    assert_eq!(json["root"], "variable of a thread");
    let thread = serde_json::json!({ "name": "", "class": "?", "id": null });
    assert_eq!(json["thread"], thread);
    assert_eq!(json["frame"]["method"], "awaitNanos");
}

/// The dump has more stack frames than the memory limit allows. Paths do not need frames, so they
/// are still shown.
#[test]
fn a_path_is_shown_when_its_thread_cannot_be_read() {
    let folder = folder();
    let mut writer = named("main", "Main", "Main.java");
    writer.stack(3, 2, &vec![0x51; 9 << 20]);
    let file = File::create(folder.path().join("h.hprof")).expect("the test file can be created");
    let mut packer = GzEncoder::new(file, Compression::fast());
    packer
        .write_all(&writer.finish())
        .expect("the test file can be written");
    packer.finish().expect("the test file can be written");
    let options = ["heap", "h.hprof", "--path", "0x2000"];
    let shown = done(&mut loadhook(folder.path(), &options));
    let printed = "test.Pair 0x2000 · retains 24 bytes\nroot: variable of a thread\n";
    assert_eq!(
        (shown.code, &*shown.out),
        (Some(0), printed),
        "{}",
        shown.err
    );
    let warns = shown.err.starts_with("warning: h.hprof: ")
        && shown.err.ends_with("; the root's thread is not named\n");
    assert!(warns && shown.err.lines().count() == 1, "{}", shown.err);
}
