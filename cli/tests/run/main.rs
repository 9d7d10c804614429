//! Tests of `loadhook run` with real JVMs: the program is not affected, and a table is printed at
//! the end.

#[path = "../common/mod.rs"]
mod common;
mod files;
mod jvms;
mod patterns;

use std::fs;
use std::path::Path;

use common::{
    agent, calls, classes, done, folder, in_environment, loadhook, mode, profiles, read, run,
};
use loadhook_testkit::jdk::Jdk;
use unicode_width::UnicodeWidthStr;

const SERVED: &str = "served 77461611\n";

#[test]
fn the_program_is_untouched_and_a_table_follows() {
    let folder = folder();
    let result = done(&mut run(folder.path(), &[], &["serve"]));
    let told = [
        "shop.Shop serve\n",
        " · times from samples · 6,004 calls in ",
        "times are processor time by samples; calls are exact, – where not counted\n",
        "1 empty-finalize method not instrumented\n",
    ];
    result.expect(0, SERVED, &told);
    let files = profiles(folder.path());
    let [file] = &files[..] else {
        panic!("one profile expected: {files:?}");
    };
    let last = result.err.lines().last().expect("a message was printed");
    let html = file.replace(".pb.gz", ".html");
    assert_eq!(
        last,
        format!("profile: {file} (as a page: loadhook report {file} --format html -o {html})")
    );
    check_columns(&result.err);

    let profile = read(&folder.path().join(file));
    assert_eq!(mode(&folder.path().join(file)), 0o600);
    assert_eq!(calls(&profile, "shop.Shop", "serve"), 2);
    assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 1500);
    // Trivial methods are counted too.
    assert_eq!(calls(&profile, "shop.Shop$Order", "first"), 1500);
    assert!(profile.sampling.is_some_and(|it| it.samples > 0));
}

/// Checks the columns of a table of methods, and its row for a constructor.
#[track_caller]
fn check_columns(table: &str) {
    let title = table.lines().find(|line| line.contains("self %"));
    let columns = [
        "#", "self %", "self, ", "total, ", "calls", "mean", "method",
    ];
    let mut rest = title.expect("the table has a title");
    for column in columns {
        let at = rest
            .find(column)
            .unwrap_or_else(|| panic!("{column}: {title:?}"));
        rest = &rest[at + column.len()..];
    }
    let row = |end: &str| table.lines().find(|line| line.ends_with(end));
    assert!(row("shop.Shop$Order.<init>").is_some_and(|row| row.contains(" 1,500 ")));
}

#[test]
fn calls_can_be_timed_by_probes() {
    let folder = folder();
    let options = ["--timing", "adaptive", "-o", "x.pb.gz"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    let told = [
        "calls in 2 threads",
        "2 methods not instrumented: 1 empty-finalize, 1 trivial (--all instruments them)",
    ];
    result.expect(0, SERVED, &told);
    check_columns(&result.err);
    let profile = read(&folder.path().join("x.pb.gz"));
    assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 1500);
    assert_eq!(calls(&profile, "shop.Shop$Order", "first"), 0);
}

/// With samples alone no class is changed, so no call is counted.
#[test]
fn samples_need_no_classes() {
    let folder = folder();
    let options = ["--include", "none", "-o", "x.pb.gz"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &["times from samples", "calls are not counted"]);
    assert!(!result.err.contains("the JDK's own"), "{}", result.err);
    let profile = read(&folder.path().join("x.pb.gz"));
    assert_eq!(profile.calls(), 0);
    assert!(profile.sampling.is_some_and(|it| it.samples > 0));
}

/// Allocations are recorded in addition to calls and times, whatever `--alloc` records.
#[test]
fn allocations_come_with_calls_and_times() {
    let folder = folder();
    for mode in ["exact", "sampled=4k", "live=4k"] {
        let options = ["--alloc", mode, "-o", "x.pb.gz"];
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(0, SERVED, &["times from samples", "allocated "]);
        let profile = read(&folder.path().join("x.pb.gz"));
        assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 1500, "{mode}");
        assert!(profile.sampling.is_some_and(|it| it.samples > 0), "{mode}");
        let allocations = profile.allocations.expect("the profile has allocations");
        assert!(!allocations.sites.is_empty(), "{mode}");

        let options = ["--alloc", mode, "--timing", "none", "-o", "y.pb.gz"];
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(0, SERVED, &["allocated "]);
        let profile = read(&folder.path().join("y.pb.gz"));
        assert_eq!(profile.calls(), 0, "{mode}");
        assert!(profile.sampling.is_none(), "{mode}");
        assert!(profile.allocations.is_some(), "{mode}");
    }
}

/// The table may show no method whose calls were counted, for example because of --top. It must not
/// say that calls are not counted.
#[test]
fn a_short_table_knows_that_calls_are_counted() {
    let folder = folder();
    for top in ["0", "1"] {
        let result = done(&mut run(folder.path(), &["--top", top], &["serve"]));
        result.expect(0, SERVED, &["calls are exact"]);
        let wrong = "calls are not counted";
        assert!(!result.err.contains(wrong), "{}", result.err);
    }
}

#[test]
fn exit_codes_are_the_programs() {
    let folder = folder();
    let exit = done(&mut run(folder.path(), &[], &["exit", "42"]));
    exit.expect(42, "", &["shop.Shop exit 42", "profile: loadhook-"]);
    let thrown = done(&mut run(folder.path(), &[], &["nonsense"]));
    thrown.expect(
        1,
        "",
        &["IllegalArgumentException: nonsense", "profile: loadhook-"],
    );
    let killed = done(&mut loadhook(
        folder.path(),
        &["run", "--", "sh", "-c", "kill -9 $$"],
    ));
    killed.expect(137, "", &["loadhook: no profile. Possible causes: "]);
}

/// The agent gets each option exactly as it was given, even an option that looks like several. A wrong
/// option is refused before the JVM starts, because the agent would stop the JVM.
#[test]
fn options_reach_the_agent_unchanged() {
    let folder = folder();
    let wrong = [
        "10",
        "10s,timing=count",
        "99ms",
        "1h",
        "s",
        "",
        "1.5s",
        "999999999999999999m",
    ];
    for time in wrong {
        let options = ["--snapshot-every", time];
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(
            2,
            "",
            &[
                "--snapshot-every",
                "expected a time of at least 100ms, for example 500ms, 10s or 5m",
            ],
        );
    }
    let options = ["--snapshot-every", "100ms", "-o", "x.pb.gz"];
    done(&mut run(folder.path(), &options, &["serve"])).expect(0, SERVED, &["profile: x.pb.gz"]);

    let options = [
        "--include",
        "a.B,c=d,timing=count",
        "--exclude",
        "e.F,all=true",
    ];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    let unmatched = ["a.B", "c=d", "timing=count", "e.F", "all=true"];
    let unmatched = unmatched.map(|text| format!("no class matched `{text}`"));
    result.expect(0, SERVED, &unmatched.each_ref().map(String::as_str));

    // The file of patterns is a pipe here, which can be read only once.
    let shell = "exec \"$0\" run -o x.pb.gz --all --timing count --include-file <(printf 'shop.Shop$Order,a.B\\n#\\n') -- java -cp \"$1\" shop.Shop serve";
    let mut command = in_environment(Path::new("bash"), folder.path());
    command.args(["-c", shell]);
    command
        .arg(loadhook(folder.path(), &[]).get_program())
        .arg(classes());
    done(&mut command).expect(0, SERVED, &["no class matched `a.B`"]);
    let profile = read(&folder.path().join("x.pb.gz"));
    assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 1500);
    assert_eq!(calls(&profile, "shop.Shop", "serve"), 0);
}

#[test]
fn tables_fit_the_terminal() {
    let folder = folder();
    for (timing, columns) in ["sampled", "adaptive"]
        .into_iter()
        .flat_map(|timing| [60, 80, 100, 200].map(|columns| (timing, columns)))
    {
        let options = ["-o", "x.pb.gz", "--timing", timing];
        let mut command = run(folder.path(), &options, &["serve"]);
        let result = done(command.env("COLUMNS", columns.to_string()));
        let table: Vec<&str> = result
            .err
            .lines()
            .skip_while(|line| !line.ends_with("  method"))
            .take_while(|line| !line.is_empty())
            .collect();
        assert!(table.len() >= 6, "{}", result.err);
        for line in &table {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        let facts = result
            .err
            .lines()
            .skip_while(|line| !line.contains("timing") && !line.contains("from samples"));
        for line in facts.take_while(|line| !line.is_empty()) {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        // If the terminal is narrow, columns are dropped and the method's name stays. On a busy
        // machine, the line about methods that mostly waited may name a method of the table once
        // more.
        let rows = table
            .iter()
            .filter(|line| timing == "sampled" || line.contains(" % "));
        let names = rows.filter(|line| line.contains("合計する"));
        assert_eq!(names.count(), 2, "{columns}: {}", result.err);
    }
}

/// As with `time` or `strace`, options before the command's name are for `loadhook run`, options
/// after it for the command.
#[test]
fn a_command_needs_no_dashes_before_it() {
    let folder = folder();
    let arguments = |options: &[&str]| {
        let mut command = loadhook(folder.path(), &["run", "-o", "x.pb.gz"]);
        command.args(options).args(["java", "-cp"]).arg(classes());
        command.args(["shop.Shop", "serve", "--top", "-o", "y", "--", "--help"]);
        done(&mut command)
    };
    arguments(&[]).expect(0, SERVED, &["profile: x.pb.gz"]);
    arguments(&["--tops"]).expect(2, "", &["unexpected argument '--tops'"]);
}

#[test]
fn options_that_exclude_an_agent_are_refused_before_the_start() {
    let folder = folder();
    let shop = [
        "-cp",
        classes().to_str().expect("the text is UTF-8"),
        "shop.Shop",
        "serve",
    ]
    .map(str::to_owned);
    let expect = |options: &[&str], variable: Option<(&str, &str)>, said: Option<&str>| {
        let mut command = loadhook(folder.path(), &["run", "-o", "x.pb.gz", "--", "java"]);
        command.args(options).args(&shop).envs(variable);
        let result = done(&mut command);
        match said {
            Some(said) => {
                let line = format!(
                    "error: {said}: this option cannot be combined with a Java agent; run without it\n"
                );
                result.expect(1, "", &[]);
                assert_eq!(result.err, line);
            }
            None => drop(result.expect(0, SERVED, &["profile: x.pb.gz"])),
        }
    };
    for option in [
        "-XX:ArchiveClassesAtExit=x.jsa",
        "-XX:+AutoCreateSharedArchive",
        "-XX:+RecordDynamicDumpInfo",
        "-XX:AOTMode=create",
        "-XX:AOTMode=record",
        "-XX:AOTCacheOutput=x.aot",
        "-Xshare:dump",
    ] {
        expect(&[option], None, Some(option));
        fs::write(
            folder.path().join("args"),
            format!("# mine\n\"{option}\"\n"),
        )
        .expect("the test file can be written");
        expect(&["@args"], None, Some(option));
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
            let value = format!("-Da='b c' {option}");
            let said = format!("{option} (in {variable})");
            expect(&[], Some((variable, &value)), Some(&said));
        }
    }
    // These options look like options that exclude an agent, but the JVM accepts them with an agent.
    expect(
        &["-Xshare:auto"],
        Some(("JDK_JAVA_OPTIONS", "-Da=-Xshare:dump")),
        None,
    );
}

#[test]
fn commands_that_cannot_start_are_reported() {
    let folder = folder();
    let start = |command: &[&str]| {
        done(&mut loadhook(
            folder.path(),
            &[&["run", "--"], command].concat(),
        ))
    };
    // If the command cannot be started, this error is the only message.
    let result = start(&["no-such-program"]);
    result.expect(127, "", &[]);
    let said = "error: cannot start no-such-program: no folder on PATH has this command; check its name, or give its path\n";
    assert_eq!(result.err, said);
    fs::write(folder.path().join("text"), "").expect("the test file can be written");
    start(&["./text"]).expect(
        126,
        "",
        &["error: cannot start ./text: no permission to execute it; "],
    );
    let mut command = loadhook(folder.path(), &["run", "--", "java", "Main"]);
    let result = done(command.env("PATH", folder.path()));
    result.expect(
        127,
        "",
        &["error: cannot start java: no folder on PATH has this command; "],
    );
    let no_profile = "loadhook: no profile. Possible causes: no JVM started, the JVM was killed, or an error that a message above reports\n";
    let result = start(&["java", "-XX:Nonsense", "Main"]);
    result.expect(1, "", &["Unrecognized VM option 'Nonsense'", no_profile]);
    assert_eq!(result.err.matches("loadhook").count(), 1);
    start(&["true"]).expect(0, "", &[no_profile]);
}

#[test]
fn the_agent_is_found_and_prints_its_options() {
    let folder = folder();
    let path = agent().canonicalize().expect("the program is installed");
    let result = done(&mut loadhook(folder.path(), &["agent-path"]));
    result.expect(0, &format!("{}\n", path.display()), &[]);
    let mut helps = Vec::new();
    for feature in [11, 17, 21, 25] {
        let mut java = Jdk::find(feature).expect("the JDK is installed").java();
        java.arg(format!("-agentpath:{}=help", path.display()));
        let help = done(java.arg("-version").env_remove("JAVA_TOOL_OPTIONS"));
        assert_eq!((help.code, &*help.err), (Some(0), ""), "JDK {feature}");
        helps.push(help.out);
    }
    assert!(helps.iter().all(|help| *help == helps[0]), "{helps:?}");
    let widest = helps[0].lines().map(str::len).max();
    assert!(widest <= Some(80), "{}", helps[0]);
    for option in [
        "include=",
        "exclude=",
        "all=",
        "timing=",
        "clock=",
        "max-nodes=",
        "file=",
    ] {
        assert!(helps[0].contains(option), "{option}: {}", helps[0]);
    }
}
