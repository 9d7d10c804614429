//! Tests which classes and methods are instrumented, and the messages about them.

use std::fs;
use std::path::Path;

use crate::SERVED;
use crate::common::{
    agent, calls, classes, done, folder, in_environment, loadhook, profiles, read, run,
};

#[test]
fn patterns_choose_classes_and_methods() {
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
    for descriptor in ["(Lshop/Shop$Order;)", "(Lshop/Shop$Order;)J", "(*r;)*"] {
        let pattern = format!("**::合計する{descriptor}");
        assert_eq!(profile(&["--include", &pattern]), [0, 0, 0, 1500]);
    }
    assert_eq!(profile(&["--include", "@shop.Shop$Timed"]), [2, 0, 0, 0]);
    let exclude = ["--exclude", "*Order", "--exclude", "shop.Shop::serve"];
    assert_eq!(profile(&exclude), [0, 0, 0, 3000]);
    fs::write(
        folder.path().join("in it"),
        "# mine\nshop.Shop$Order # all\n\n",
    )
    .expect("the test file can be written");
    assert_eq!(profile(&["--include-file", "in it"]), [0, 1500, 1500, 0]);
}

/// Class files encode a character beyond the Basic Multilingual Plane as two surrogates, but
/// patterns match it as one.
#[test]
fn names_may_have_characters_beyond_the_first_plane() {
    let folder = folder();
    for include in ["shop.Shop$𠮷野", "**::𠮟*", "𠮷野,*野"] {
        let options = ["--include", include, "-o", "x.pb.gz", "--timing=count"];
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

/// All options that take patterns report the same errors.
#[test]
fn errors_in_patterns_are_marked() {
    let folder = folder();
    let classes = classes();
    let classes = classes.to_str().expect("the text is UTF-8");
    for (pattern, fault) in [
        (
            "com/example/Foo",
            "packages are separated by dots here\n    com/example/Foo\n       ^",
        ),
        (
            "com..Foo",
            "a package name is missing\n    com..Foo\n        ^",
        ),
        (
            "a.***",
            "at most two stars can be adjacent\n    a.***\n        ^",
        ),
        (
            "Foo::",
            "a method name, or *, is missing\n    Foo::\n         ^",
        ),
        (
            "Foo::bar(I",
            "the descriptor's ) is missing\n    Foo::bar(I\n              ^",
        ),
        ("店::買う::", "this character cannot be in a method name"),
        (
            "Foo::bar(String[])",
            "for example (I[Ljava/lang/String;)\n    Foo::bar(String[])\n             ^",
        ),
        ("", "a pattern is missing\n    ok.**,\n          ^"),
    ] {
        let list = format!("ok.**,{pattern}");
        for option in ["--include", "--exclude"] {
            let result = done(&mut run(folder.path(), &[option, &list], &["serve"]));
            result.expect(1, "", &[&format!("error: {option}: bad pattern: "), fault]);
        }
        let rewrite = ["rewrite", classes, "-o", "out", "--include", &list];
        done(&mut loadhook(folder.path(), &rewrite)).expect(2, "", &["--include", fault]);
        let report = ["report", "none.pb.gz", "--focus", &list];
        done(&mut loadhook(folder.path(), &report)).expect(1, "", &["--focus", fault]);
        if pattern.is_empty() {
            continue;
        }
        let file = folder.path().join("patterns");
        fs::write(&file, format!("ok.**\n\n{pattern} # no\n"))
            .expect("the test file can be written");
        let result = done(&mut run(
            folder.path(),
            &["--include-file", "patterns"],
            &["serve"],
        ));
        result.expect(1, "", &["error: patterns:3: bad pattern: ", fault]);
        // If the agent is given the pattern without `loadhook run`, the JVM does not start.
        let mut java = in_environment(Path::new("java"), folder.path());
        java.arg(format!("-agentpath:{}=include={list}", agent().display()));
        let result = done(java.args(["-cp", classes, "shop.Shop", "serve"]));
        // The JVM itself prints a message about the agent on standard output.
        assert!(result.code != Some(0) && !result.out.contains("served"));
        assert!(result.err.contains(fault), "{}", result.err);
    }
    assert!(profiles(folder.path()).is_empty());
}

/// Samples of allocations need no probes. If calls are not counted either, no class is changed, so
/// no pattern can match.
#[test]
fn patterns_without_effect_cause_a_message() {
    let folder = folder();
    let alloc = [
        "--alloc",
        "sampled=4k",
        "--timing=none",
        "--all",
        "--include",
        "shop.Order",
    ];
    let said = |option: &str| {
        format!(
            "loadhook: {option} has no effect: --alloc sampled=4k covers all classes; to choose which calls are counted, remove --timing none\n"
        )
    };
    let result = done(&mut run(folder.path(), &alloc, &["serve"]));
    result.expect(0, SERVED, &[&said("--include"), &said("--all")]);
    assert!(!result.err.contains("no class matched"), "{}", result.err);
    let explained = [&alloc[..3], &["--explain"]].concat();
    let result = done(&mut run(folder.path(), &explained, &["serve"]));
    result.expect(0, SERVED, &[&said("--explain")]);
    let no_clock = "loadhook: --clock has no effect: calls are not timed; add --timing sampled, adaptive or exact\n";
    for (options, is_told) in [
        (&["--alloc=exact", "--timing=none"][..], true),
        (&["--timing=count"], true),
        (&["--alloc=exact", "--timing=exact"], false),
        (&["--alloc=exact"], false),
        (&[], false),
    ] {
        let options = [options, &["--clock", "cpu"]].concat();
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(0, SERVED, &[]);
        assert_eq!(result.err.contains(no_clock), is_told, "{}", result.err);
    }
    for (bytes, fault) in [("8g", true), ("0", true), ("2147483647", false)] {
        let mode = format!("--alloc=sampled={bytes}");
        let result = done(&mut run(folder.path(), &[&mode], &["serve"]));
        let bounds = "expected exact, sampled, sampled=BYTES, live, live=BYTES or live=exact (BYTES from 1 to 2147483647, for example 64k or 2m)";
        assert_eq!(result.err.contains(bounds), fault, "{}", result.err);
    }
    for recorded in [
        &["--timing=count"][..],
        &["--alloc=exact"],
        &["--alloc=sampled"],
    ] {
        let options = [recorded, &["--all", "--include", "shop.Order"]].concat();
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(0, SERVED, &["no class matched `shop.Order`"]);
        assert!(!result.err.contains("no effect"), "{}", result.err);
    }
}

/// Each error about options that cannot be combined says what to do instead.
#[test]
fn options_that_exclude_each_other_are_refused() {
    let folder = folder();
    let context = ["--alloc=exact", "--alloc-context"];
    let with_context = |option| [&context[..], &[option]].concat();
    for (options, said) in [
        (
            vec!["--timing=none"],
            "--timing none records nothing without --alloc or --locks; add one of them or choose another --timing",
        ),
        (
            vec!["--alloc=sampled", "--alloc-context"],
            "--alloc-context needs --alloc exact",
        ),
        (
            with_context("--timing=sampled"),
            "--alloc-context cannot be combined with --timing sampled, which does not record the calls that lead to an allocation; for these calls and their times, use --timing adaptive",
        ),
        (
            with_context("--interval=5ms"),
            "--sampler, --interval and --clock-source need --timing sampled (the default)",
        ),
        (
            vec!["--include=none", "--timing=adaptive"],
            "--include none needs --timing sampled (the default)",
        ),
        (
            vec!["--include=none", "--alloc=exact"],
            "--include none cannot be combined with --alloc exact, which instruments classes; use --alloc sampled or live",
        ),
        (
            vec!["--jit", "--sampler=safepoint"],
            "--jit needs --timing sampled (the default) and cannot be combined with --sampler safepoint",
        ),
        (
            vec!["--budget=25", "--timing=count"],
            "--budget needs --timing sampled, adaptive or exact: with the other timings no method can lose its probes",
        ),
    ] {
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(1, "", &[]);
        assert_eq!(result.err, format!("error: {said}\n"), "{options:?}");
    }
}

#[test]
fn patterns_without_a_match_are_named() {
    let folder = folder();
    let include = "shop.Order,shop.**,shop.Shop::none";
    let options = ["--include", include, "--exclude", "@shop.Gone"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    let told = [
        "warning: no class matched `shop.Order`",
        "warning: no method matched `shop.Shop::none`",
    ];
    result.expect(0, SERVED, &told);
    assert!(
        result
            .err
            .contains("warning: no class matched `@shop.Gone`")
    );
    assert!(!result.err.contains("`shop.**`"));

    // The advice is printed once, even if several patterns match nothing.
    let advice = "check the patterns: classes are named as in com.example.**, nested classes as in Map$Entry\n";
    assert_eq!(result.err.matches(advice).count(), 1, "{}", result.err);
    let matched = ["--include", "shop.**"];
    let result = done(&mut run(folder.path(), &matched, &["serve"]));
    assert!(!result.err.contains("check the patterns"), "{}", result.err);

    let nothing = "No instrumented method was called";
    let wrong = "no class matched `shop.Order`";
    let options = ["--include", "shop.Order"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &[wrong, advice]);
    // The table has rows from samples, so the message that nothing was called would be wrong.
    assert!(!result.err.contains(nothing), "{}", result.err);
    let counted = ["--include", "shop.Order", "--timing", "count"];
    done(&mut run(folder.path(), &counted, &["serve"])).expect(
        0,
        SERVED,
        &[nothing, wrong, advice],
    );
    let only_trivial = ["--include", "shop.Shop$Order::first"];
    let result = done(&mut run(folder.path(), &only_trivial, &["serve"]));
    result.expect(0, SERVED, &["calls are exact"]);
    assert!(!result.err.contains("trivial"), "{}", result.err);
    let with_probes = [&only_trivial[..], &["--timing", "adaptive"]].concat();
    done(&mut run(folder.path(), &with_probes, &["serve"])).expect(
        0,
        SERVED,
        &[
            nothing,
            "1 trivial method not instrumented (--all instruments them)",
            "--all also instruments trivial methods",
        ],
    );
    for (options, is_empty) in [(&[][..], false), (&["--timing=adaptive"], true)] {
        let command = [&["run"], options, &["--", "java", "-version"]].concat();
        let result = done(&mut loadhook(folder.path(), &command));
        result.expect(0, "", &["the JDK's own classes are not instrumented"]);
        assert_eq!(result.err.contains(nothing), is_empty, "{}", result.err);
    }
    let empty = folder.path().join("empty");
    fs::write(&empty, "# nothing\n\n").expect("the test file can be written");
    done(&mut run(
        folder.path(),
        &["--include-file", "empty"],
        &["serve"],
    ))
    .expect(1, "", &["empty: the file contains no pattern"]);
}

#[test]
fn methods_not_instrumented_are_listed_by_class() {
    let folder = folder();
    let options = ["--all", "-o", "x.pb.gz"];
    let number = "1 empty-finalize method not instrumented\n";
    let name = "empty-finalize: shop.Shop$Order.finalize()V";
    let by_class = "Methods not instrumented, by class:";
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &[number]);
    assert!(!result.err.contains(by_class), "{}", result.err);

    let options = [&options[..], &["--explain"]].concat();
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    let table = "methods  empty-finalize  class\n      1               1  shop.Shop$Order\n";
    result.expect(0, SERVED, &[number, by_class, table]);
    assert!(!result.err.contains(name), "{}", result.err);
    assert!(!result.err.contains("trivial"), "{}", result.err);

    let trivial = ["-o", "y.pb.gz", "--explain", "--timing=adaptive"];
    let result = done(&mut run(folder.path(), &trivial, &["serve"]));
    let told = [
        "2 methods not instrumented: 1 empty-finalize, 1 trivial (--all instruments them)\n",
        "methods  empty-finalize  trivial  class\n      2               1        1  shop.Shop$Order\n",
    ];
    result.expect(0, SERVED, &told);

    let report = |arguments: &[&str]| {
        let arguments = [&["report", "y.pb.gz"], arguments].concat();
        done(&mut loadhook(folder.path(), &arguments))
    };
    let plain = report(&[]);
    assert!(!plain.out.contains(by_class) && !plain.out.contains(name));
    let explained = report(&["--explain"]);
    assert!(explained.out.contains(told[1]), "{}", explained.out);
    report(&["--explain", "-o", "list"]).expect(0, "", &[]);
    let list = fs::read_to_string(folder.path().join("list")).expect("the file was written");
    let methods = [name, "trivial: shop.Shop$Order.first()I"];
    let methods = format!("\nMethods not instrumented:\n{}\n", methods.join("\n"));
    assert!(list.ends_with(&methods), "{list}");

    done(&mut run(folder.path(), &["-o", "z.pb.gz"], &["serve"])).expect(0, SERVED, &[]);
    let unnamed = done(&mut loadhook(
        folder.path(),
        &["report", "z.pb.gz", "--explain"],
    ));
    let said = "warning: --explain: this profile does not name the methods that were not instrumented; run again with --explain\n";
    assert_eq!(unnamed.err, said);
}

/// `--alloc-context` alone counts calls without times. Without a message, users would wonder where
/// the times are.
#[test]
fn the_times_that_callers_turn_off_are_mentioned() {
    let folder = folder();
    let line = "loadhook: --alloc-context counts calls and does not time them; for times, add --timing adaptive\n";
    let context = ["--alloc=exact", "--alloc-context"];
    for (options, is_told) in [
        (context.to_vec(), true),
        ([&context[..], &["--timing=adaptive"]].concat(), false),
        ([&context[..], &["--timing=count"]].concat(), false),
        (vec!["--alloc=exact"], false),
        (vec![], false),
    ] {
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(0, SERVED, &[]);
        let told = result.err.contains(line);
        assert_eq!(told, is_told, "{options:?}: {}", result.err);
    }
    // The agent prints the same message when it runs without `loadhook run`.
    for (options, is_told) in [
        ("alloc=exact,alloc-context=true", true),
        ("alloc=exact", false),
    ] {
        let mut java = in_environment(Path::new("java"), folder.path());
        java.arg(format!("-agentpath:{}={options}", agent().display()));
        java.arg("-cp").arg(classes()).args(["shop.Shop", "serve"]);
        let line = "loadhook: alloc-context=true counts calls and does not time them; for times, add timing=adaptive\n";
        let result = done(&mut java);
        let told = result.err.contains(line);
        assert_eq!(told, is_told, "{options}: {}", result.err);
    }
}

/// A backslash at the end of a pattern is escaped. Otherwise it would escape the comma that
/// separates the agent's options.
#[test]
fn a_trailing_backslash_belongs_to_the_pattern() {
    let folder = folder();
    let options = ["--include", "shop.**", "--include", "Foo\\", "--all"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &["warning: no class matched `Foo\\`\n"]);
    assert!(!result.err.contains("trivial"), "{}", result.err);
}
