//! Tests of `loadhook trace` with real JVMs.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use common::held::{Held, send, spawned};
use common::watched::Watching;
use common::{Done, done, ended, folder, loadhook};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{process, source};
use rustix::process::Signal;
use serde_json::Value;

fn classes() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/trace");
    let program = folder.join("traced/Slow.java");
    let compiled = source::compile_once("trace", std::slice::from_ref(&program), |javac| {
        javac.args(["--release", "11", "-g"]).arg(&program);
        Ok(())
    });
    compiled.expect("the program compiles")
}

fn slow(feature: u32, options: &[&str]) -> Held {
    let java = Jdk::find(feature).expect("the JDK is installed").java();
    let mut command = Command::new(java.get_program());
    command.args(options).arg("-cp").arg(classes());
    Held::wait(command.arg("traced.Slow"))
}

/// Makes the command `loadhook trace PID traced.** OPTION…`.
fn trace(folder: &Path, pid: &str, options: &[&str]) -> Command {
    let mut command = loadhook(folder, &["trace", pid, "traced.**"]);
    command.args(options);
    command
}

/// Waits until the command says that it traces.
fn begun(command: &mut Child) -> impl Iterator<Item = String> + use<> {
    let stderr = command.stderr.take().expect("the stream is a pipe");
    let mut said = BufReader::new(stderr).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("tracing process")));
    said
}

/// Returns the traced calls of a method from the command's lines of JSON.
fn calls(done: &Done, method: &str) -> Vec<Value> {
    let lines = done.out.lines().map(serde_json::from_str);
    let all: Vec<Value> = lines.collect::<Result<_, _>>().expect("lines of JSON");
    let is_meant = |call: &Value| call["method"] == method && call["stack"].is_array();
    all.into_iter().filter(is_meant).collect()
}

fn millis(call: &Value) -> u64 {
    call["duration_ns"].as_u64().expect("a number") / 1_000_000
}

/// Returns the methods that a traced call has called, each with its depth.
fn below(call: &Value) -> Vec<(u64, &str)> {
    let below = call["below"].as_array().expect("a list").iter();
    let fields = below.map(|it| Some((it["depth"].as_u64()?, it["method"].as_str()?)));
    fields.collect::<Option<_>>().expect("numbers and texts")
}

/// The agent is attached only for the time of the trace. The JVM verifies the frames of all instrumented methods.
#[test]
fn slow_calls_are_shown_with_their_parts_and_stacks() {
    let jvm = slow(25, &["-Xverify:all"]);
    let folder = folder();
    let options = ["--slower", "10ms", "--duration", "2s", "--format", "json"];
    let result = done(&mut trace(folder.path(), &jvm.pid(), &options));
    let said = ["loadhook: tracing process ", " calls shown"];
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(
        said.iter().all(|it| result.err.contains(it)),
        "{}",
        result.err
    );
    let handles = calls(&result, "traced.Slow::handle");
    let inside =
        |call: &&Value| below(call) == [(1, "traced.Slow::query"), (2, "traced.Slow::pause")];
    let call = handles.iter().find(inside).expect("a call with its parts");
    assert!(millis(call) >= 30, "{call}");
    assert_eq!(call["thrown"], Value::Null);
    let top = call["stack"][0].as_str().expect("a text");
    assert!(top.contains("traced.Slow.handle(Slow.java:"), "{top}");
    let threads: Vec<&str> = handles
        .iter()
        .filter_map(|it| it["thread_name"].as_str())
        .collect();
    assert!(
        threads.contains(&"looping") && threads.contains(&""),
        "{threads:?}"
    );
    let deep = calls(&result, "traced.Slow::deep");
    let most = deep.iter().map(|call| below(call).len()).max();
    assert_eq!(most, Some(4), "three recursive calls, and the pause");
    assert!(!calls(&result, "traced.Slow$Made::<init>").is_empty());
    let endless = calls(&result, "traced.Slow::main");
    assert_eq!(
        endless,
        [Value::Null; 0],
        "a call is shown when it has ended"
    );
    let last = result.out.lines().last().unwrap_or_default();
    let last: Value = serde_json::from_str(last).expect("JSON");
    let latencies = last["latencies"].as_array().expect("a list");
    let of = |method: &str| {
        let found = latencies.iter().find(|it| it["method"] == method);
        let found = found.unwrap_or_else(|| panic!("{method}: {last}"));
        (found["p50_ns"].as_u64(), found["max_ns"].as_u64())
    };
    assert!(of("traced.Slow::query").0 >= Some(30_000_000), "{last}");
    assert!(of("traced.Slow::fast").0 < Some(1_000_000), "{last}");
    let (median, longest) = of("traced.Slow::handle");
    assert!(longest >= median, "{last}");
    assert!(
        !result.out.contains("secret"),
        "messages of exceptions are the program's data"
    );
    jvm.ends_well();
}

/// The stack of a call begins with the call itself, and has each method of the program that is under way once. No frame
/// of the tracker is in it.
#[test]
fn stacks_are_complete_on_every_jdk() {
    for feature in [11, 17, 21, 25] {
        let jvm = slow(feature, &[]);
        let folder = folder();
        let options = ["--slower", "10ms", "--duration", "1s", "--format", "json"];
        let result = done(&mut trace(folder.path(), &jvm.pid(), &options));
        assert_eq!(result.code, Some(0), "JDK {feature}: {}", result.err);
        // `most` is how often the method is on its longest stacks.
        for (method, call, most, callers) in [
            ("traced.Slow::query", ".query", 1, ".handle .round .loop"),
            ("traced.Slow::deep", ".deep", 4, ".round .loop"),
            (
                "traced.Slow$Made::<init>",
                "$Made.<init>",
                1,
                ".round .loop",
            ),
        ] {
            let calls = calls(&result, method);
            // A constructor that throws has other callers, and is slow only on a busy machine.
            let returned = calls.iter().filter(|it| it["thrown"].is_null());
            let looping = returned.filter(|it| it["thread_name"] == "looping");
            let stacks: Vec<String> = looping.map(stack).collect();
            let expected = |times: usize| {
                let own = [call].repeat(times).into_iter();
                let methods = own.chain(callers.split(' '));
                let methods: Vec<String> = methods.map(|it| format!("traced.Slow{it}")).collect();
                format!("{} java.lang.Thread", methods.join(" "))
            };
            let is_expected =
                |stack: &String| (1..=most).any(|times| stack.starts_with(&expected(times)));
            assert!(
                stacks.iter().all(is_expected),
                "JDK {feature}: {method}: {stacks:?}"
            );
            let longest = expected(most);
            assert!(
                stacks.iter().any(|stack| stack.starts_with(&longest)),
                "JDK {feature}: {longest}: {stacks:?}"
            );
            let is_ours = |stack: &String| stack.contains("oadhook") || stack.contains("fillIn");
            assert!(!stacks.iter().any(is_ours), "JDK {feature}: {stacks:?}");
        }
        jvm.ends_well();
    }
}

/// Returns the classes and methods in the stack of a call, without modules, files and lines.
fn stack(call: &Value) -> String {
    let frames = call["stack"].as_array().expect("a list").iter();
    let methods = frames.map(|frame| {
        let frame = frame.as_str().expect("a text");
        let method = frame.split('(').next().unwrap_or(frame);
        method.rsplit('/').next().unwrap_or(method)
    });
    methods.collect::<Vec<_>>().join(" ")
}

/// If an agent watches the program already, it records the calls, and goes on watching after the trace.
#[test]
fn failing_calls_are_events_of_a_file() {
    let jvm = slow(17, &[]);
    let folder = folder();
    let pid = jvm.pid();
    let watching = Watching::start(folder.path(), &pid, &["--include", "traced.Slow::outer"]);
    let options = [
        "--slower", "1m", "--thrown", "--count", "12", "--format", "chrome", "-o", "t.json",
    ];
    let result = done(&mut trace(folder.path(), &pid, &options));
    result.expect(0, "", &["loadhook: 12 calls shown"]);
    let file = fs::read(folder.path().join("t.json")).expect("the file was written");
    let file: Value = serde_json::from_slice(&file).expect("JSON");
    let events = file["traceEvents"].as_array().expect("a list");
    let is_meant = |event: &&Value| event["ph"] == "X";
    let thrown: Vec<(&str, &str)> = events
        .iter()
        .filter(is_meant)
        .filter_map(|event| Some((event["name"].as_str()?, event["args"]["thrown"].as_str()?)))
        .collect();
    let fault = "java.lang.UnsupportedOperationException";
    for method in ["inner", "middle", "outer"] {
        let name = format!("traced.Slow::{method}");
        assert!(thrown.contains(&(&name, fault)), "{name}: {thrown:?}");
    }
    let state = "java.lang.IllegalStateException";
    assert!(
        thrown.contains(&("traced.Slow$Base::<init>", state)),
        "{thrown:?}"
    );
    jvm.ends_well();
    watching.end().expect(0, "", &["traced.Slow.outer"]);
}

/// If the command is killed, the agent ends the trace. A second trace is refused as long as the first one lasts.
#[test]
fn one_trace_at_a_time() {
    let jvm = slow(17, &[]);
    let (pid, folder) = (jvm.pid(), folder());
    let watching = Watching::start(folder.path(), &pid, &[]);
    let mut first = spawned(&mut trace(folder.path(), &pid, &["-o", "first"]));
    let _limit = process::limit(&first);
    let _said = begun(&mut first);
    let short = ["--slower", "10ms", "--count", "1"];
    let refused = done(&mut trace(folder.path(), &pid, &short));
    refused.expect(
        1,
        "",
        &["error: calls are being traced, by loadhook trace; "],
    );
    let paused = done(&mut loadhook(folder.path(), &["ctl", &pid, "pause"]));
    paused.expect(1, "", &["error: calls are being traced"]);
    send(&first, Signal::KILL);
    first.wait().expect("the process ends");
    let mut again = done(&mut trace(folder.path(), &pid, &short));
    while again.code != Some(0) {
        thread::sleep(Duration::from_millis(100));
        again = done(&mut trace(folder.path(), &pid, &short));
    }
    assert!(again.out.contains(" in thread "), "{}", again.out);
    let nothing = ["trace", &pid, "not.There", "--duration", "100ms"];
    let none = done(&mut loadhook(folder.path(), &nothing));
    none.expect(
        0,
        "",
        &["note: no loaded class matches; classes that are loaded later"],
    );
    let nothing = ["trace", &pid, "traced.Slow::missing", "--duration", "100ms"];
    let none = done(&mut loadhook(folder.path(), &nothing));
    none.expect(
        0,
        "",
        &["note: no method of the loaded classes matches, or those that "],
    );
    jvm.ends_well();
    assert_eq!(watching.end().code, Some(0));
}

/// Returns the fields of a traced call with its arguments, `this` and its result.
fn values(call: &Value) -> (Vec<(&str, &str)>, Option<&str>, Option<&str>) {
    let arguments = call["arguments"].as_array().into_iter().flatten();
    let arguments = arguments.map(|it| Some((it["name"].as_str()?, it["value"].as_str()?)));
    let arguments = arguments.collect::<Option<_>>().expect("texts");
    (arguments, call["this"].as_str(), call["result"].as_str())
}

/// Only `--args=call` calls the program's own `toString`. Calls inside of `toString` are not recorded.
#[test]
fn calls_are_shown_with_their_values() {
    let jvm = slow(25, &["-Xverify:all"]);
    let (pid, folder) = (jvm.pid(), folder());
    let ask = |how: &str| {
        let options = ["--slower", "10ms", "--duration", "1s", "--format", "json"];
        let result = done(trace(folder.path(), &pid, &options).arg(how));
        assert_eq!(result.code, Some(0), "{}", result.err);
        for secret in ["open sesame", "secret"] {
            assert!(!result.out.contains(secret), "{}", result.out);
        }
        result
    };
    let plain = ask("--args");
    let logins = calls(&plain, "traced.Slow::login");
    let (arguments, this, result) = values(logins.first().expect("a call"));
    let long = format!("\"{}…\" (100 characters)", "u".repeat(80));
    let [rest @ .., named, failing] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let expected = [
        ("user", &*long),
        ("password", "***"),
        ("data", "int[3]"),
        ("isNew", "true"),
        ("letter", "'z'"),
        ("number", "-7"),
    ];
    assert_eq!(rest, expected, "the parameter user was assigned null later");
    assert!(named.1.starts_with("traced.Slow$Named@"), "{named:?}");
    assert!(failing.1.starts_with("traced.Slow$Failing@"), "{failing:?}");
    assert_eq!((this, result), (None, Some("\"null-7\"")));
    let checks = calls(&plain, "traced.Slow$Named::check");
    let (arguments, this, result) = values(checks.first().expect("a call"));
    assert_eq!((arguments, result), (vec![("share", "0.5")], Some("true")));
    assert!(this.is_some_and(|this| this.starts_with("traced.Slow$Named@")));
    let made = calls(&plain, "traced.Slow$Made::<init>");
    let (arguments, this, result) = values(made.first().expect("a call"));
    assert_eq!(
        (arguments, this, result),
        (vec![("fails", "false")], None, None)
    );
    let called = ask("--args=call");
    let logins = calls(&called, "traced.Slow::login");
    let (arguments, ..) = values(logins.first().expect("a call"));
    let thrown = "toString threw java.lang.IllegalStateException";
    assert_eq!(
        arguments[6..],
        [("named", "named\\nobject"), ("failing", thrown)]
    );
    let deep = calls(&called, "traced.Slow::deep");
    let in_to_string = |call: &&Value| call["stack"].to_string().contains("toString");
    assert!(!deep.is_empty() && !deep.iter().any(|call| in_to_string(&call)));
    jvm.ends_well();
}

/// At a signal, and at the end of the program, the trace ends and shows the calls so far.
#[test]
fn signals_and_ends_of_programs_end_a_trace() {
    let jvm = slow(17, &[]);
    let folder = folder();
    let mut command = trace(folder.path(), &jvm.pid(), &["--slower", "10ms"]);
    let mut first = spawned(&mut command);
    let _limit = process::limit(&first);
    let stdout = first.stdout.take().expect("the stream is a pipe");
    let mut shown = BufReader::new(stdout).lines().map_while(Result::ok);
    assert!(shown.any(|line| line.contains("traced.Slow::handle")));
    send(&first, Signal::INT);
    shown.for_each(drop);
    let result = ended(process::end(first).expect("the process ends"));
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.err.contains(" shown"), "{}", result.err);
    let mut second = spawned(command.args(["-o", "t"]));
    let _limit = process::limit(&second);
    let said = begun(&mut second);
    jvm.ends_well();
    let end: String = said.collect();
    assert!(end.contains("has ended"), "{end}");
    second.wait().expect("the process ends");
}

/// The agent leaves a program that it slows down too much. The message has the reason and what helps.
#[test]
fn a_trace_that_takes_too_much_ends() {
    let jvm = slow(17, &[]);
    let folder = folder();
    let options = ["--slower", "0", "--budget", "1", "-o", "t"];
    let result = done(&mut trace(folder.path(), &jvm.pid(), &options));
    let said = [
        " ends early: --budget 1 %: Loadhook stopped watching after ",
        " and could not take less. Trace fewer or longer methods, or give --budget none to the command ",
    ];
    result.expect(1, "", &said);
    let options = ["--slower", "0", "--budget", "none", "--count", "1"];
    let result = done(&mut trace(folder.path(), &jvm.pid(), &options));
    assert_eq!(result.code, Some(0), "{}", result.err);
    jvm.ends_well();
}

/// A stopped program gives no reply, so the command gives up after some time. The agent leaves when the program goes
/// on.
#[test]
fn a_stopped_program_is_given_up() {
    let jvm = slow(17, &[]);
    let folder = folder();
    let mut stopped = spawned(&mut trace(folder.path(), &jvm.pid(), &["-o", "t"]));
    let _limit = process::limit(&stopped);
    let said = begun(&mut stopped);
    jvm.send(Signal::STOP);
    send(&stopped, Signal::INT);
    let end: String = said.collect();
    for part in ["gave no reply", "the agent will leave it by itself"] {
        assert!(end.contains(part), "{end}");
    }
    let status = stopped.wait().expect("the process ends");
    assert_eq!(status.code(), Some(0), "{end}");
    jvm.send(Signal::CONT);
    jvm.ends_well();
}

#[test]
fn wrong_arguments_name_the_remedy() {
    let folder = folder();
    for (options, said) in [
        (
            &["a.B", "--slower", "50"][..],
            "expected a time such as 50ms, 2s",
        ),
        (&["a..B"], "error: bad pattern: "),
        (&["none"], "error: none is no pattern here"),
        (&["a.B", "--count", "0"], "0 is not in 1.."),
    ] {
        let result = done(loadhook(folder.path(), &["trace", "1"]).args(options));
        assert_ne!(result.code, Some(0));
        assert!(result.err.contains(said), "{}", result.err);
    }
}
