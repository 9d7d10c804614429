//! Tests of messages on a terminal, which the program `script` (of the package bsdutils) makes.

use std::process::Stdio;

use loadhook_testkit::process;

mod common;
use common::{folder, in_environment, loadhook};

/// Runs `loadhook` with all streams on a terminal of 50 columns, and returns its output.
fn on_terminal(arguments: &[&str]) -> Vec<String> {
    let folder = folder();
    let program = loadhook(folder.path(), arguments);
    let words = [program.get_program()]
        .into_iter()
        .chain(program.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let mut command = in_environment("script".as_ref(), folder.path());
    command
        .args(["-q", "-c", &words.join(" "), "/dev/null"])
        .env("COLUMNS", "50")
        .stdin(Stdio::null());
    let output = process::finish(&mut command).expect("script runs the command");
    let output = String::from_utf8(output.stdout).expect("the text is UTF-8");
    output
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn messages_are_folded() {
    let lines = on_terminal(&["report", "none.pb.gz"]);
    assert!(lines.len() > 2, "{lines:?}");
    assert!(
        lines[0].starts_with("error: none.pb.gz: no such"),
        "{lines:?}"
    );
    for (at, line) in lines.iter().enumerate() {
        // The path of the folder may be longer than the terminal is wide. It is not cut.
        assert!(line.len() <= 50 || line.contains('/'), "{lines:?}");
        assert_eq!(line.starts_with("  "), at > 0, "{lines:?}");
    }
    // Messages of the parser are folded, too.
    let lines = on_terminal(&["report", "x", "--format", "nothing"]);
    assert!(
        lines[0].starts_with("error: invalid value 'nothing'"),
        "{lines:?}"
    );
    assert!(lines.iter().all(|line| line.len() <= 50), "{lines:?}");
    let lines = on_terminal(&["run", "--", "true"]);
    assert!(lines[0].starts_with("loadhook: true is not"), "{lines:?}");
    assert!(lines.iter().all(|line| line.len() <= 50), "{lines:?}");
}
