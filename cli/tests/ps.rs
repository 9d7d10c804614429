//! Tests of `loadhook ps` with real JVMs.

mod common;

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use common::held::{Held, classes, dump, in_container, needs_root, until};
use common::{Done, done, executable, folder, loadhook};
use loadhook_settings::control;
use loadhook_testkit::jdk::Jdk;
use rustix::process::{Signal, geteuid};
use serde_json::Value;

/// Runs `loadhook ps --json` and `loadhook ps`, and returns both outputs.
fn listed() -> (Value, String) {
    let folder = folder();
    let json = done(&mut loadhook(folder.path(), &["ps", "--json"]));
    let table = done(loadhook(folder.path(), &["ps"]).env("COLUMNS", "80"));
    both(json, table)
}

fn both(json: Done, table: Done) -> (Value, String) {
    for done in [&json, &table] {
        assert_eq!((done.code, &*done.err), (Some(0), ""));
    }
    for line in table.out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let rows = serde_json::from_str(&json.out).expect("the output is JSON");
    (rows, table.out)
}

/// Finds the row of a process. There may also be rows of other JVMs on this machine.
fn row(rows: &Value, pid: &str) -> Option<Value> {
    let pid: u32 = pid.parse().expect("a process id");
    let mut rows = rows.as_array().expect("a list of JVMs").iter();
    rows.find(|row| row["pid"] == pid).cloned()
}

/// Returns the row of a process in the table, and the indented lines below it.
fn lines(table: &str, pid: &str) -> Vec<String> {
    let is_row = |line: &&str| line.split_whitespace().next() == Some(pid);
    let titles = table.lines().next().unwrap_or_default();
    let indent = " ".repeat(titles.find("user").expect("a table"));
    let mut lines = table.lines().skip_while(|line| !is_row(line));
    let row = lines.next().expect("the JVM has a row");
    let below = lines.take_while(|line| line.starts_with(&indent));
    let all = std::iter::once(row).chain(below);
    all.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_jvm_is_listed_with_its_program() {
    let jvm = Held::start(17, &[], 10);
    let (rows, table) = listed();
    let found = row(&rows, &jvm.pid()).expect("the JVM is listed");
    assert_eq!(found["program"], "heap.Held");
    assert_eq!(found["uid"], geteuid().as_raw());
    assert_eq!(found["own_pid"], found["pid"]);
    assert_eq!(found["container"], false);
    assert_eq!(found["agent_loaded"], false);
    assert_eq!(found["refused"], Value::Null);
    let version = found["jdk"].as_str().expect("the JDK is known");
    assert!(version.starts_with("17."), "{version}");
    let [line] = &lines(&table, &jvm.pid())[..] else {
        panic!("one line: {table}");
    };
    let user = found["user"].as_str().expect("the user is known");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, [&*jvm.pid(), user, version, "heap.Held"]);
    // Make a socket as of a killed JVM that had the same process id.
    let sockets = control::folder(geteuid().as_raw());
    let _ = DirBuilder::new().mode(0o700).create(&sockets);
    let socket = sockets.join(control::socket_name(jvm.0.id()));
    drop(UnixListener::bind(&socket).expect("a socket"));
    let (_, table) = listed();
    assert_eq!(lines(&table, &jvm.pid())[1..], [""; 0]);
    fs::remove_file(&socket).expect("the socket can be removed");
    // The walk loads the agent into the JVM, so the table shows the agent from now on.
    let folder = folder();
    let walked = done(&mut dump(
        folder.path(),
        &jvm.pid(),
        "h",
        &["--via", "jvmti"],
    ));
    walked.expect(0, "", &[]);
    let (rows, table) = listed();
    let found = row(&rows, &jvm.pid()).expect("the JVM is listed");
    assert_eq!(found["agent_loaded"], true);
    assert_eq!(lines(&table, &jvm.pid())[1..], ["agent loaded"]);
    jvm.ends_well();
    let own = std::process::id().to_string();
    assert_eq!(row(&rows, &own), None);
}

#[test]
fn a_jvm_without_performance_data_is_listed() {
    let jvm = Held::start(17, &["-XX:-UsePerfData"], 10);
    let (rows, _) = listed();
    let found = row(&rows, &jvm.pid()).expect("the JVM is listed");
    assert_eq!(found["program"], "heap.Held");
    let version = found["jdk"].as_str().expect("the JDK is known");
    assert!(version.starts_with("17."), "{version}");
    jvm.ends_well();
}

#[test]
fn a_jvm_that_refuses_agents_is_listed_with_the_reason() {
    for (option, reason) in [
        (
            "-XX:+DisableAttachMechanism",
            "accepts no attach commands: it was started with -XX:+DisableAttachMechanism; start it without this option",
        ),
        (
            "-XX:-EnableDynamicAgentLoading",
            "loads no agents: it was started with -XX:-EnableDynamicAgentLoading; start it without this option, or under loadhook run",
        ),
    ] {
        let jvm = Held::start(17, &[option], 10);
        let (rows, table) = listed();
        let found = row(&rows, &jvm.pid()).expect("the JVM is listed");
        let expected = format!("process {} {reason}", jvm.pid());
        assert_eq!(found["refused"], *expected);
        assert_eq!(lines(&table, &jvm.pid())[1..].join(" "), expected);
        jvm.ends_well();
    }
    let jvm = Held::start(17, &[], 10);
    jvm.send(Signal::STOP);
    let status = format!("/proc/{}/status", jvm.pid());
    until(&jvm.0, || {
        fs::read_to_string(&status).is_ok_and(|text| text.contains("State:\tT"))
    });
    let (rows, _) = listed();
    jvm.send(Signal::CONT);
    let found = row(&rows, &jvm.pid()).expect("the JVM is listed");
    let refused = found["refused"].as_str().expect("the JVM cannot answer");
    assert!(
        refused.contains(" is stopped and cannot answer"),
        "{refused}"
    );
    jvm.ends_well();
}

#[test]
fn the_jvm_of_another_user_is_listed_with_the_remedy() {
    needs_root();
    let jvm = Held::start(17, &[], 10);
    let folder = folder();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
        .expect("the permissions can be set");
    let program = folder.path().join("loadhook");
    executable(env!("CARGO_BIN_EXE_loadhook").as_ref(), &program);
    let ps = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env("COLUMNS", "80");
        done(command.current_dir("/").uid(65_534).gid(65_534))
    };
    let (rows, table) = both(ps(&["ps", "--json"]), ps(&["ps"]));
    let found = row(&rows, &jvm.pid()).expect("the JVM is listed");
    assert_eq!(found["program"], "heap.Held");
    let expected = format!(
        "process {} belongs to user root; run loadhook as that user or as root (sudo -u root loadhook …)",
        jvm.pid()
    );
    assert_eq!(found["refused"], *expected);
    assert_eq!(lines(&table, &jvm.pid())[1..].join(" "), expected);
    jvm.ends_well();
}

#[test]
fn a_jvm_in_a_container_is_listed() {
    needs_root();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let (jvm, pid) = in_container(&java, &classes(), "rw", &["heap.Held", "10"]);
    let (rows, table) = listed();
    let found = row(&rows, &pid).expect("the JVM is listed");
    assert_eq!(found["own_pid"], 1);
    assert_eq!(found["container"], true);
    assert_eq!(found["refused"], Value::Null);
    assert_eq!(lines(&table, &pid)[1..], ["in a container, PID 1 there"]);
    jvm.ends_well();
}
