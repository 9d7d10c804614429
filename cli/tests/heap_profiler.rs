//! Tests of `loadhook heap FILE` with dumps of a JVM under the agent: the profiler's own objects
//! are left out without `--all`.

mod common;

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use common::held::{Held, dump};
use common::{Done, agent, done, folder, in_environment, loadhook};
use serde_json::Value;

const LINE: &str = "The profiler's own objects, ";

/// Runs a JVM of this version with these options, and writes a dump of it.
fn dumped(feature: u32, options: &[&str], folder: &Path, file: &str) {
    let held = Held::program(feature, options, &["heap.Held", "1000"]);
    let result = done(&mut dump(folder, &held.pid(), file, &[]));
    result.expect(0, "", &["heap dump: "]);
}

fn shown(folder: &Path, arguments: &[&str]) -> Done {
    let shown = done(&mut loadhook(folder, &[&["heap"], arguments].concat()));
    assert_eq!(shown.code, Some(0), "{arguments:?}: {}", shown.err);
    shown
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let shown = shown(folder, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&shown.out).expect("the text is JSON")
}

fn bytes(json: &Value) -> u64 {
    json["bytes"].as_u64().expect("the text is a number")
}

#[test]
fn a_program_under_the_agent_has_the_objects_of_the_plain_one() {
    for feature in [11, 25] {
        let folder = folder();
        let library = agent();
        let agent = format!("-agentpath:{}=timing=adaptive", library.display());
        dumped(feature, &["-XX:+UseSerialGC"], folder.path(), "plain.hprof");
        let options = ["-XX:+UseSerialGC", &agent];
        dumped(feature, &options, folder.path(), "agent.hprof");

        let plain = json(folder.path(), &["plain.hprof"]);
        assert_eq!(plain["profiler"]["instances"], 0);
        let own = json(folder.path(), &["agent.hprof"]);
        let all = json(folder.path(), &["agent.hprof", "--all"]);
        let left_out = bytes(&own["profiler"]);
        assert_eq!(bytes(&own) + left_out, bytes(&all));
        // The tracker's memory reserve alone takes 1 MB, which is more than the program's objects.
        assert!(
            2 * left_out > bytes(&all),
            "more than half of the dump's bytes should belong to the profiler, but only {left_out} do: {all}"
        );
        // With the agent, the JVM loads a few more classes of the JDK. Their objects count as objects
        // of the program.
        let grown = bytes(&own).abs_diff(bytes(&plain));
        assert!(
            20 * grown < bytes(&plain),
            "JDK {feature}: with the agent the program's own objects differ by {grown} bytes, which is more than 5 %"
        );

        for view in [
            &[][..],
            &["--by", "retained"],
            &["--biggest"],
            &["--duplicates"],
            &["--threads"],
        ] {
            let arguments = [&["agent.hprof", "--top", "100000"], view].concat();
            let out = shown(folder.path(), &arguments).out;
            assert!(out.contains(LINE), "{view:?}");
            // The program's class loaders searched for the tracker's class. They created strings
            // with the name of this class. These strings belong to the program.
            assert!(
                view == ["--duplicates"] || !out.contains("$Loadhook"),
                "{view:?}"
            );
            assert!(!out.contains("long[8192]"), "{view:?}");
            let all = shown(folder.path(), &[&arguments[..], &["--all"]].concat()).out;
            assert!(!all.contains(LINE), "{view:?}");
            if !["--duplicates", "--threads"].contains(view.first().unwrap_or(&"")) {
                assert!(all.contains("$Loadhook"), "{view:?}");
            }
        }
        let path = ["agent.hprof", "--path", "class java.lang.$Loadhook"];
        let refused = done(&mut loadhook(
            folder.path(),
            &[&["heap"], &path[..]].concat(),
        ));
        let said =
            "one of the profiler's own objects, which are left out; add --all to show its path";
        refused.expect(1, "", &[said]);
        let way = shown(folder.path(), &[&path[..], &["--all"]].concat());
        assert!(way.out.contains("\nroot: "), "{}", way.out);

        let changed = shown(folder.path(), &["plain.hprof", "--diff", "agent.hprof"]).out;
        let lines: Vec<&str> = changed.lines().collect();
        assert!(
            lines[1].starts_with("after ") && lines[2].trim_start().starts_with(LINE),
            "{changed}"
        );
        assert!(!changed.contains("$Loadhook"), "{changed}");
    }
}

#[test]
fn a_pipe_causes_a_warning() {
    let folder = folder();
    let library = agent();
    let agent = format!("-agentpath:{}=timing=adaptive", library.display());
    dumped(17, &[&agent], folder.path(), "agent.hprof");
    let program = loadhook(folder.path(), &[]);
    let mut command = in_environment(Path::new(program.get_program()), folder.path());
    // Standard input of this command is a pipe, which can be read only once.
    let file = File::open(folder.path().join("agent.hprof")).expect("the test file can be opened");
    let mut cat = std::process::Command::new("cat")
        .stdin(file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the process starts");
    command.args(["heap", "/dev/stdin"]);
    command.stdin(cat.stdout.take().expect("the stream is a pipe"));
    let output = command.output().expect("the process ends");
    cat.wait().expect("the process ends");
    let said = String::from_utf8(output.stderr).expect("the text is UTF-8");
    assert!(
        said.starts_with("warning: /dev/stdin: not a regular file, "),
        "{said}"
    );
    let out = String::from_utf8(output.stdout).expect("the text is UTF-8");
    assert!(out.contains(LINE) && !out.contains("$Loadhook"), "{out}");
}
