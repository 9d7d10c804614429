//! Tests of `loadhook heap FILE` with dumps of a JVM.

mod common;

use std::fs;
use std::process::Command;

use common::{done, folder, in_environment, loadhook};
use loadhook_testkit::source;

/// Makes a heap dump: runs a program that dumps its own heap.
fn dump(folder: &std::path::Path) {
    dump_of(321, "heap.hprof", folder);
}

/// Makes a heap dump with `held` objects of the class `Held`.
fn dump_of(held: u32, file: &str, folder: &std::path::Path) {
    let text = r#"
        public class Dump {
            static final class Held { int number; }
            static Held[] held = new Held[Integer.parseInt(System.getProperty("held"))];
            public static void main(String[] args) throws Exception {
                for (int i = 0; i < held.length; i++) held[i] = new Held();
                java.lang.management.ManagementFactory.getPlatformMXBean(
                    com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(args[0], true);
            }
        }"#;
    let classes = source::compile(17, &[("Dump.java", text)]).expect("the program compiles");
    let mut java: Command = in_environment("java".as_ref(), folder);
    java.arg(format!("-Dheld={held}")).arg("-cp").arg(classes);
    java.args(["Dump", file]);
    let made = done(&mut java);
    assert_eq!(made.code, Some(0), "{}", made.err);
}

#[test]
fn shows_a_dump_and_the_readable_part_of_a_cut_off_one() {
    let folder = folder();
    dump(folder.path());
    let mut command = loadhook(folder.path(), &["heap", "heap.hprof", "--top", "100000"]);
    let shown = done(command.env("COLUMNS", "80"));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let held = shown.out.lines().find(|line| line.ends_with("  Dump$Held"));
    let words: Vec<&str> = held
        .expect("the table has the class")
        .split_whitespace()
        .collect();
    assert_eq!(words[3..], ["5.0", "KB", "321", "Dump$Held"], "{words:?}");
    assert!(
        shown.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        shown.out
    );
    assert!(
        shown.out.contains("\n#  ") || shown.out.contains("  #  "),
        "{}",
        shown.out
    );

    let json = done(&mut loadhook(
        folder.path(),
        &["heap", "heap.hprof", "--format", "json", "--top", "3"],
    ));
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("the text is JSON");
    assert_eq!(json["id_size"], 8);
    assert_eq!(json["classes"].as_array().map(Vec::len), Some(3));

    let whole = fs::read(folder.path().join("heap.hprof")).expect("the test file can be read");
    fs::write(
        folder.path().join("cut.hprof"),
        &whole[..whole.len() - 1000],
    )
    .expect("the test file can be written");
    let cut = done(&mut loadhook(folder.path(), &["heap", "cut.hprof"]));
    assert_eq!((cut.code, &*cut.out), (Some(1), ""));
    for part in [
        "cut.hprof: the dump is cut off: it ends in ",
        " at byte ",
        "; add --partial to show them",
    ] {
        assert!(cut.err.contains(part), "{}", cut.err);
    }
    let part = done(&mut loadhook(
        folder.path(),
        &["heap", "cut.hprof", "--partial"],
    ));
    assert_eq!(part.code, Some(0), "{}", part.err);
    assert!(
        part.err
            .starts_with("warning: cut.hprof: the dump is cut off"),
        "{}",
        part.err
    );
    assert!(part.out.contains("  java.lang.String\n"), "{}", part.out);

    fs::write(folder.path().join("none"), "text").expect("the test file can be written");
    let none = done(&mut loadhook(folder.path(), &["heap", "none"]));
    assert!(
        none.err.starts_with("error: none: not a heap dump: "),
        "{}",
        none.err
    );
}

#[test]
fn shows_retained_objects_and_paths_to_roots() {
    let folder = folder();
    dump(folder.path());
    let shown = |arguments: &[&str]| {
        let mut command = loadhook(
            folder.path(),
            &[&["heap", "heap.hprof"], arguments].concat(),
        );
        let shown = done(command.env("COLUMNS", "80"));
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        let fits = |line: &str| line.chars().count() <= 80 || line.contains('·');
        let wide: Vec<&str> = shown.out.lines().filter(|line| !fits(line)).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        shown.out
    };
    let path = shown(&["--path", "Dump$Held"]);
    let lines: Vec<&str> = path.lines().collect();
    assert!(
        lines[0].starts_with("Dump$Held 0x") && lines[0].ends_with(" · retains 16 bytes"),
        "{path}"
    );
    assert!(lines[1].starts_with("  ↑ [0] of Dump$Held[] 0x"), "{path}");
    assert!(lines[1].ends_with(" · retains 6.3 KB"), "{path}");
    assert!(lines[2].starts_with("  ↑ held of class Dump 0x"), "{path}");
    assert!(
        lines.iter().any(|line| line.starts_with("root: ")),
        "{path}"
    );
    let identifier = lines[1]
        .split(' ')
        .find(|word| word.starts_with("0x"))
        .expect("the array is listed");
    assert!(shown(&["--path", identifier]).starts_with("Dump$Held[] 0x"));

    // The array has a header of 16 bytes and 321 references of 4 bytes. It retains 321 objects of 16 bytes each.
    let objects = shown(&["--biggest", "--top", "1000000"]);
    let held = objects
        .lines()
        .find(|line| line.ends_with(&format!("{identifier}  Dump$Held[]")));
    let words: Vec<&str> = held
        .expect("the table has the class")
        .split_whitespace()
        .collect();
    assert_eq!(words[3..7], ["6.3", "KB", "1.3", "KB"], "{words:?}");
    let classes = shown(&["--by", "retained", "--top", "1000000"]);
    let held = classes.lines().find(|line| line.ends_with("  Dump$Held"));
    let words: Vec<&str> = held
        .expect("the table has the class")
        .split_whitespace()
        .collect();
    assert_eq!(words[3..8], ["5.0", "KB", "5.0", "KB", "321"], "{words:?}");

    for (class, instead) in [
        (
            "No",
            "; names are written as in java.util.Map$Entry or int[]",
        ),
        ("Held", "; similar classes: Dump$Held"),
    ] {
        let none = done(&mut loadhook(
            folder.path(),
            &["heap", "heap.hprof", "--path", class],
        ));
        let said = format!("error: --path {class}: no object of that class in the dump{instead}\n");
        assert_eq!(none.err, said);
    }
}

#[test]
fn shows_the_changes_between_two_dumps() {
    let folder = folder();
    dump(folder.path());
    dump_of(1321, "later.hprof", folder.path());
    let diff = |arguments: &[&str]| {
        let shown = done(&mut loadhook(
            folder.path(),
            &[&["heap"], arguments].concat(),
        ));
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        shown.out
    };
    let held = |shown: &str| {
        let held = shown.lines().find(|line| line.ends_with("  Dump$Held"));
        let words = held
            .expect("the table has the class")
            .split_whitespace()
            .skip(1);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let grown = diff(&["heap.hprof", "--diff", "later.hprof", "--top", "1000"]);
    assert_eq!(
        held(&grown)[..6],
        ["+15.6", "KB", "20.6", "KB", "+1,000", "1,321"],
        "{grown}"
    );
    assert!(
        grown
            .lines()
            .nth(5)
            .is_some_and(|line| line.ends_with("  Dump$Held")),
        "{grown}"
    );
    let shrunk = diff(&["later.hprof", "--diff", "heap.hprof", "--top", "1000"]);
    assert_eq!(
        held(&shrunk)[..6],
        ["−15.6", "KB", "5.0", "KB", "−1,000", "321"],
        "{shrunk}"
    );
    let none = diff(&["heap.hprof", "--diff", "heap.hprof"]);
    assert!(none.contains("\n0 of "), "{none}");
}
