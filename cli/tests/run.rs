//! `loadhook run` as a user runs it: real JVMs, the program untouched, one
//! table at the end.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use common::{
    agent, calls, classes, done, folder, in_environment, loadhook, mode, profiles, read, run,
};
use unicode_width::UnicodeWidthStr;

const SERVED: &str = "served 77461611\n";

#[test]
fn the_program_is_untouched_and_a_table_follows() {
    let folder = folder();
    let result = done(&mut run(folder.path(), &[], &["serve"]));
    result.expect(0, SERVED, &["shop.Shop serve\n", "calls in 2 threads"]);
    let files = profiles(folder.path());
    let [file] = &files[..] else {
        panic!("one profile expected: {files:?}");
    };
    let last = result.err.lines().last().expect("a line");
    let html = file.replace(".pb.gz", ".html");
    assert_eq!(
        last,
        format!("profile: {file} (a picture: loadhook report {file} --format html -o {html})")
    );
    let title = result.err.lines().find(|line| line.contains("self %"));
    let columns = [
        "#", "self %", "self, ", "total, ", "calls", "mean", "method",
    ];
    let mut rest = title.expect("a table");
    for column in columns {
        let at = rest
            .find(column)
            .unwrap_or_else(|| panic!("{column}: {title:?}"));
        rest = &rest[at + column.len()..];
    }
    let row = |end: &str| result.err.lines().find(|line| line.ends_with(end));
    assert!(row("shop.Shop$Order.<init>").is_some_and(|row| row.contains(" 1,500 ")));
    assert!(
        result
            .err
            .contains("methods left alone: 1 empty-finalize, 1 trivial"),
        "{}",
        result.err
    );

    let profile = read(&folder.path().join(file));
    assert_eq!(mode(&folder.path().join(file)), 0o600);
    assert_eq!(calls(&profile, "shop.Shop", "serve"), 2);
    assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 1500);
    assert_eq!(calls(&profile, "shop.Shop$Order", "first"), 0);
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
    killed.expect(137, "", &["no profile was written"]);
}

#[test]
fn patterns_choose() {
    let folder = folder();
    let profile = |options: &[&str]| {
        let options = [options, &["--all", "-o", "x.pb.gz", "--timing", "count"]].concat();
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(0, SERVED, &["calls counted, not timed"]);
        let profile = read(&folder.path().join("x.pb.gz"));
        let count = |class, method| calls(&profile, class, method);
        let cash = "shop.Shop$注文管理システムの会計処理";
        [
            count("shop.Shop", "serve"),
            count("shop.Shop$Order", "<init>"),
            count("shop.Shop$Order", "first"),
            count(cash, "合計する"),
        ]
    };
    assert_eq!(profile(&[]), [2, 1500, 1500, 3000]);
    assert_eq!(
        profile(&["--include", "shop.**,com.*"]),
        [2, 1500, 1500, 3000]
    );
    assert_eq!(profile(&["--include", "shop.Shop"]), [2, 0, 0, 0]);
    assert_eq!(profile(&["--include", "Shop$*"]), [0, 1500, 1500, 3000]);
    assert_eq!(profile(&["--include", "**::f*,**::serve"]), [2, 0, 1500, 0]);
    assert_eq!(
        profile(&["--include", "**::合計する(Lshop/Shop$Order;)*"]),
        [0, 0, 0, 1500]
    );
    assert_eq!(profile(&["--include", "@shop.Shop$Timed"]), [2, 0, 0, 0]);
    let exclude = ["--exclude", "*Order", "--exclude", "shop.Shop::serve"];
    assert_eq!(profile(&exclude), [0, 0, 0, 3000]);
    fs::write(
        folder.path().join("in it"),
        "# mine\nshop.Shop$Order # all\n\n",
    )
    .expect("ours");
    assert_eq!(profile(&["--include-file", "in it"]), [0, 1500, 1500, 0]);
}

/// Class files have two surrogates for a character beyond the first plane.
#[test]
fn names_beyond_the_first_plane_are_names() {
    let folder = folder();
    for include in ["shop.Shop$𠮷野", "**::𠮟*", "𠮷野,*野"] {
        let options = ["--include", include, "-o", "x.pb.gz"];
        let result = done(&mut run(folder.path(), &options, &["wide"]));
        result.expect(0, "", &["shop.Shop$𠮷野.𠮟る\n"]);
        let profile = read(&folder.path().join("x.pb.gz"));
        assert_eq!(calls(&profile, "shop.Shop$𠮷野", "𠮟る"), 1, "{include}");
        assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 0, "{include}");
        let report = [
            "report",
            "x.pb.gz",
            "--format",
            "collapsed",
            "--focus",
            include,
        ];
        let report = done(&mut loadhook(folder.path(), &report));
        assert!(report.out.contains("𠮟る"), "{include}: {}", report.out);
    }
}

/// The same faults, wherever patterns go in.
#[test]
fn faults_in_patterns_are_pointed_at() {
    let folder = folder();
    let classes = classes();
    let classes = classes.to_str().expect("UTF-8");
    for (pattern, fault) in [
        (
            "com/example/Foo",
            "packages are separated by dots here\n    com/example/Foo\n       ^",
        ),
        (
            "com..Foo",
            "a package name is missing\n    com..Foo\n        ^",
        ),
        ("a.***", "no more than two stars\n    a.***\n        ^"),
        (
            "Foo::",
            "a method name, or *, is missing\n    Foo::\n         ^",
        ),
        (
            "Foo::bar(I",
            "the descriptor's ) is missing\n    Foo::bar(I\n              ^",
        ),
        ("店::買う::", "no character of a method name"),
        ("", "empty\n    \n    ^"),
    ] {
        let list = format!("ok.**,{pattern}");
        for option in ["--include", "--exclude"] {
            let result = done(&mut run(folder.path(), &[option, &list], &["serve"]));
            result.expect(1, "", &[&format!("error: {option}: bad pattern: "), fault]);
        }
        let rewrite = ["rewrite", classes, "-o", "out", "--include", &list];
        done(&mut loadhook(folder.path(), &rewrite)).expect(1, "", &["--include", fault]);
        let report = ["report", "none.pb.gz", "--focus", &list];
        done(&mut loadhook(folder.path(), &report)).expect(1, "", &["--focus", fault]);
        if pattern.is_empty() {
            continue;
        }
        let file = folder.path().join("patterns");
        fs::write(&file, format!("ok.**\n\n{pattern} # no\n")).expect("ours");
        let result = done(&mut run(
            folder.path(),
            &["--include-file", "patterns"],
            &["serve"],
        ));
        result.expect(1, "", &["error: patterns:3: bad pattern: ", fault]);
        // The agent alone: the JVM does not start.
        let mut java = in_environment(Path::new("java"), folder.path());
        java.arg(format!("-agentpath:{}=include={list}", agent().display()));
        let result = done(java.args(["-cp", classes, "shop.Shop", "serve"]));
        // The JVM itself has something to say on standard output.
        assert!(result.code != Some(0) && !result.out.contains("served"));
        assert!(result.err.contains(fault), "{}", result.err);
    }
    assert!(profiles(folder.path()).is_empty());
}

#[test]
fn what_matched_nothing_is_named() {
    let folder = folder();
    let options = ["--include", "shop.Order,shop.**", "--exclude", "@shop.Gone"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &["warning: no class matched `shop.Order`"]);
    assert!(
        result
            .err
            .contains("warning: no class matched `@shop.Gone`")
    );
    assert!(!result.err.contains("`shop.**`"));

    let nothing = "no instrumented method was called";
    let options = ["--include", "shop.Order"];
    done(&mut run(folder.path(), &options, &["serve"])).expect(
        0,
        SERVED,
        &[
            nothing,
            "no class matched `shop.Order`",
            "check the patterns",
        ],
    );
    let only_trivial = ["--include", "shop.Shop$Order::first"];
    done(&mut run(folder.path(), &only_trivial, &["serve"])).expect(
        0,
        SERVED,
        &[
            nothing,
            "methods left alone: 1 trivial",
            "--all instruments trivial",
        ],
    );
    let version = ["run", "--", "java", "-version"];
    let result = done(&mut loadhook(folder.path(), &version));
    result.expect(0, "", &[nothing, "the JDK's own classes are left out"]);
    let empty = folder.path().join("empty");
    fs::write(&empty, "# nothing\n\n").expect("ours");
    done(&mut run(
        folder.path(),
        &["--include-file", "empty"],
        &["serve"],
    ))
    .expect(1, "", &["empty: there is no pattern in it"]);
}

#[test]
fn methods_left_alone_are_listed_when_asked_for() {
    let folder = folder();
    let options = ["--all", "-o", "x.pb.gz"];
    let left_alone = "methods left alone: 1 empty-finalize";
    let name = "empty-finalize: shop.Shop$Order.finalize()V";
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    assert!(
        result.err.contains(left_alone) && !result.err.contains(name),
        "{}",
        result.err
    );
    let options = [&options[..], &["--explain"]].concat();
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &[left_alone, name]);
    assert_eq!(result.err.matches(name).count(), 1);
    assert!(!result.err.contains("trivial"), "{}", result.err);
    let trivial = ["-o", "y.pb.gz", "--explain"];
    let result = done(&mut run(folder.path(), &trivial, &["serve"]));
    let told = [name, "1 trivial", "\ntrivial: shop.Shop$Order.first()I\n"];
    result.expect(0, SERVED, &told);
    let report = ["report", "x.pb.gz", "--explain"];
    let result = done(&mut loadhook(folder.path(), &report));
    assert!(result.out.contains(name), "{}", result.out);
}

/// No option reaches the JVM as another one, or as one that stops it.
#[test]
fn options_are_whole_when_they_reach_the_agent() {
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
        result.expect(2, "", &["--snapshot-every", "a time of at least 100ms, as"]);
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

    // A pipe can be read once.
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
    for columns in [60, 80, 100, 200] {
        let mut command = run(folder.path(), &["-o", "x.pb.gz"], &["serve"]);
        let result = done(command.env("COLUMNS", columns.to_string()));
        let table: Vec<&str> = result
            .err
            .lines()
            .skip_while(|line| !line.contains("self %"))
            .take_while(|line| !line.is_empty())
            .collect();
        assert!(table.len() >= 6, "{}", result.err);
        for line in &table {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        // The method's name is the last to go.
        let names = table.iter().filter(|line| line.contains("合計する"));
        assert_eq!(names.count(), 2, "{columns}: {}", result.err);
    }
}

/// A script that runs the program twice.
fn script(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let line = format!("java -cp '{}' shop.Shop", classes().display());
    let file = folder.join("twice");
    fs::write(&file, format!("#!/bin/sh\n{line} serve\n{line} exit 7\n")).expect("ours");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
}

#[test]
fn each_jvm_of_a_script_has_its_own_profile() {
    let folder = folder();
    script(folder.path());
    let said = "./twice is not java: the agent goes by JAVA_TOOL_OPTIONS into every JVM it starts";
    let mut command = loadhook(folder.path(), &["run", "--", "./twice"]);
    command.env("JAVA_TOOL_OPTIONS", "-Dgreeting=,hello");
    let result = done(&mut command);
    let out = "served 77461611,hello\n";
    result.expect(
        7,
        out,
        &["profiles of 2 JVMs", "shop.Shop serve + shop.Shop exit 7"],
    );
    assert_eq!(result.err.matches(said).count(), 1);
    let files = profiles(folder.path());
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        assert!(
            result.err.contains(&format!("\n  {file}  shop.Shop ")),
            "{}",
            result.err
        );
        fs::remove_file(folder.path().join(file)).expect("ours");
    }

    // One name for all: that file holds all, and none overwrites another.
    let options = [
        "run",
        "-o",
        "all of it.pb.gz",
        "--html",
        "a page.html",
        "--",
        "./twice",
    ];
    let result = done(&mut loadhook(folder.path(), &options));
    result.expect(
        7,
        SERVED,
        &["profile of all: all of it.pb.gz (page: a page.html)"],
    );
    let files = profiles(folder.path());
    assert_eq!(files.len(), 3, "{files:?}");
    let all = folder.path().join("all of it.pb.gz");
    assert_eq!(calls(&read(&all), "shop.Shop$Order", "<init>"), 1510);
    assert_eq!(
        [mode(&all), mode(&folder.path().join("a page.html"))],
        [0o600; 2]
    );
    let mut own: Vec<u64> = files
        .iter()
        .filter(|file| file.starts_with("all of it-"))
        .map(|file| calls(&read(&folder.path().join(file)), "shop.Shop", "serve"))
        .collect();
    own.sort_unstable();
    assert_eq!(own, [1, 2]);

    // A script with one JVM: the name is as given.
    let command = format!("exec java -cp '{}' shop.Shop serve", classes().display());
    let options = ["run", "-o", "one.pb.gz", "--", "sh", "-c", &command];
    let result = done(&mut loadhook(folder.path(), &options));
    result.expect(0, SERVED, &["profile: one.pb.gz (a picture: "]);
    assert_eq!(profiles(folder.path()).len(), 4);
}

/// What happens to one file hides none of the others.
#[test]
fn what_is_lost_hides_nothing_else() {
    let folder = folder();
    let line = format!("java -cp '{}' shop.Shop", classes().display());
    let three =
        format!("{line} serve; {line} exit 0; rm \"$(ls -t x-*.gz | head -1)\"; {line} exit 0");
    for output in ["x-%p.pb.gz", "x.pb.gz"] {
        let options = ["run", "-o", output, "--", "sh", "-c", &three];
        let result = done(&mut loadhook(folder.path(), &options));
        let told = [": No such file", "profiles of 2 JVMs", "shop.Shop serve\n"];
        result.expect(0, SERVED, &told);
        let files = profiles(folder.path());
        for file in &files {
            assert!(result.err.contains(file), "{file}: {}", result.err);
            fs::remove_file(folder.path().join(file)).expect("ours");
        }
        // The file of all is one of them, where there is one.
        assert_eq!(files.len(), if output == "x.pb.gz" { 3 } else { 2 });
    }

    // A page that cannot be written after all.
    let full = format!("{line} serve; mkdir page.html");
    let options = [
        "run",
        "-o",
        "x.pb.gz",
        "--html",
        "page.html",
        "--",
        "sh",
        "-c",
        &full,
    ];
    let result = done(&mut loadhook(folder.path(), &options));
    let told = [
        "shop.Shop serve\n",
        "loadhook: page.html: ",
        "\nprofile: x.pb.gz (a picture: ",
    ];
    result.expect(0, SERVED, &told);
    assert_eq!(profiles(folder.path()), ["x.pb.gz"]);
}

/// Whatever encoding they are in, arguments and options arrive as they are.
#[test]
fn what_is_not_utf8_arrives() {
    let folder = folder();
    let latin = OsStr::from_bytes(b"caf\xe9");
    let mut command = loadhook(
        folder.path(),
        &["run", "--", "sh", "-c", "printf %s \"$1\"", "sh"],
    );
    let output = command.arg(latin).output().expect("it starts");
    assert_eq!(output.stdout, latin.as_bytes());

    let line = "printf %s \"${JAVA_TOOL_OPTIONS%% *}\"";
    let mut command = loadhook(folder.path(), &["run", "--", "sh", "-c", line]);
    let option = OsStr::from_bytes(b"-Dname=caf\xe9");
    let output = command.env("JAVA_TOOL_OPTIONS", option).output();
    assert_eq!(output.expect("it starts").stdout, option.as_bytes());

    let mut command = loadhook(
        folder.path(),
        &["run", "-o", "x.pb.gz", "--", "java", "-cp"],
    );
    command
        .arg(classes())
        .args(["shop.Shop", "serve"])
        .arg(latin);
    done(&mut command).expect(0, SERVED, &["profile: x.pb.gz"]);
}

#[test]
fn children_inherit_what_is_in_the_environment_only() {
    let folder = folder();
    done(&mut run(folder.path(), &[], &["child"])).expect(0, SERVED, &["shop.Shop child"]);
    let files = profiles(folder.path());
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(
        calls(&read(&folder.path().join(&files[0])), "shop.Shop", "serve"),
        0
    );

    let command = format!("java -cp '{}' shop.Shop child", classes().display());
    let options = ["run", "-o", "x-%p.pb.gz", "--", "sh", "-c", &command];
    done(&mut loadhook(folder.path(), &options)).expect(
        0,
        SERVED,
        &[
            "profiles of 2 JVMs",
            "a picture: loadhook report --merge x-",
        ],
    );
    assert_eq!(profiles(folder.path()).len(), 3);
}

#[test]
fn options_that_take_no_agent_are_refused_before_the_start() {
    let folder = folder();
    let shop = [
        "-cp",
        classes().to_str().expect("UTF-8"),
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
                let line = format!("error: {said}: the JVM takes no agent with this option\n");
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
        .expect("ours");
        expect(&["@args"], None, Some(option));
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
            let value = format!("-Da='b c' {option}");
            let said = format!("{option} (in {variable})");
            expect(&[], Some((variable, &value)), Some(&said));
        }
    }
    // The JVM takes these.
    expect(
        &["-Xshare:auto"],
        Some(("JDK_JAVA_OPTIONS", "-Da=-Xshare:dump")),
        None,
    );
}

#[test]
fn what_cannot_start_is_told() {
    let folder = folder();
    let start = |command: &[&str]| {
        done(&mut loadhook(
            folder.path(),
            &[&["run", "--"], command].concat(),
        ))
    };
    let result = start(&["no-such-program"]);
    result.expect(
        127,
        "",
        &["error: cannot start no-such-program: No such file"],
    );
    fs::write(folder.path().join("text"), "").expect("ours");
    start(&["./text"]).expect(126, "", &["error: cannot start ./text: Permission denied"]);
    let mut command = loadhook(folder.path(), &["run", "--", "java", "Main"]);
    let result = done(command.env("PATH", folder.path()));
    result.expect(127, "", &["error: cannot start java: No such file"]);
    let no_profile =
        "loadhook: no profile was written: no JVM was started, or none has ended by itself\n";
    let result = start(&["java", "-XX:Nonsense", "Main"]);
    result.expect(1, "", &["Unrecognized VM option 'Nonsense'", no_profile]);
    assert_eq!(result.err.matches("loadhook").count(), 1);
    start(&["true"]).expect(0, "", &[no_profile]);
}

#[test]
fn files_that_cannot_be_written_are_told_before_the_start() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("a,b")).expect("ours");
    for (options, said) in [
        (
            ["-o", "none/x.pb.gz"],
            "none/x.pb.gz: No such file or directory",
        ),
        (["-o", "a,b"], "a,b: not a file"),
        (
            ["-o", "a,b/x.pb.gz"],
            "--output: the agent takes no path with a comma",
        ),
        (["-o", "/dev/full"], "/dev/full: not a file"),
        (
            ["--html", "none/x.html"],
            "none/x.html: No such file or directory",
        ),
        (["--html", "a,b"], "a,b: not a file"),
        (
            ["--include-file", "none"],
            "none: No such file or directory",
        ),
    ] {
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(1, "", &["error: ", said]);
        assert!(profiles(folder.path()).is_empty());
    }
}

#[test]
fn a_link_to_nothing_yet_stays_a_link() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("kept")).expect("ours");
    for name in ["x.pb.gz", "x.html"] {
        std::os::unix::fs::symlink(format!("kept/{name}"), path(name)).expect("ours");
    }
    let options = ["-o", "x.pb.gz", "--html", "x.html"];
    done(&mut run(folder.path(), &options, &["serve"])).expect(0, SERVED, &["profile: x.pb.gz"]);
    for name in ["x.pb.gz", "x.html"] {
        assert!(fs::read_link(path(name)).is_ok(), "{name}");
        assert_eq!(mode(&path("kept").join(name)), 0o600, "{name}");
    }
}

#[test]
fn the_page_does_not_replace_the_profile() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).expect("ours");
    std::os::unix::fs::symlink("one", folder.path().join("link")).expect("ours");
    for html in ["one", "./one", "sub/../one", "link"] {
        let result = done(&mut run(
            folder.path(),
            &["-o", "one", "--html", html],
            &["serve"],
        ));
        result.expect(1, "", &["the profile and the page cannot be one file"]);
        let options = ["run", "-o", "one", "--html", html, "--", "./no-java"];
        let result = done(&mut loadhook(folder.path(), &options));
        result.expect(1, "", &["the profile and the page cannot be one file"]);
    }
}

#[test]
fn names_with_lines_are_names() {
    let folder = folder();
    let options = ["-o", "two\nlines.pb.gz"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &["shop.Shop serve\n", "\nprofile: "]);
    assert_eq!(profiles(folder.path()), ["two\nlines.pb.gz"]);
}

/// `%p` in the name of a folder is not the process id.
#[test]
fn folders_are_as_they_are() {
    let folder = folder();
    let inner = folder.path().join("100%pure");
    fs::create_dir(&inner).expect("ours");
    done(&mut run(&inner, &["-o", "x.pb.gz"], &["serve"])).expect(0, SERVED, &["profile: x.pb.gz"]);
    done(&mut run(&inner, &[], &["serve"])).expect(0, SERVED, &["profile: loadhook-"]);
    assert_eq!(profiles(&inner).len(), 2);
    script(&inner);
    let options = ["run", "-o", "all.pb.gz", "--", "./twice"];
    let told = ["profile of all: all.pb.gz"];
    done(&mut loadhook(&inner, &options)).expect(7, SERVED, &told);
    assert_eq!(profiles(&inner).len(), 5);
}

#[test]
fn paths_with_blanks_and_quotes_work() {
    let folder = folder();
    let name = "it's \"mine\" é";
    fs::create_dir(folder.path().join(name)).expect("ours");
    let [profile, page, patterns] =
        ["x.pb.gz", "x.html", "patterns"].map(|file| format!("{name}/{file}"));
    fs::write(folder.path().join(&patterns), "shop.**\n").expect("ours");
    let options = ["-o", &profile, "--html", &page, "--include-file", &patterns];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &[&format!("profile: {profile} (page: {page})")]);
    fs::remove_file(folder.path().join(&profile)).expect("written");

    let command = format!("java -cp '{}' shop.Shop serve", classes().display());
    let result = done(
        loadhook(folder.path(), &["run"])
            .args(options)
            .args(["--", "sh", "-c", &command]),
    );
    result.expect(0, SERVED, &[&format!("profile: {profile} (page: {page})")]);
    assert!(fs::metadata(folder.path().join(&page)).is_ok());
}

#[test]
fn the_agent_is_found_and_tells_its_options() {
    let folder = folder();
    let path = agent().canonicalize().expect("installed");
    let result = done(&mut loadhook(folder.path(), &["agent-path"]));
    result.expect(0, &format!("{}\n", path.display()), &[]);
    let mut java = in_environment(Path::new("java"), folder.path());
    let result = done(
        java.arg(format!("-agentpath:{}=help", path.display()))
            .arg("-version"),
    );
    for option in [
        "include=",
        "exclude=",
        "all=",
        "timing=",
        "clock=",
        "max-nodes=",
        "file=",
    ] {
        assert!(result.err.contains(option), "{option}: {}", result.err);
    }
}
