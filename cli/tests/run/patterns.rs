//! What is instrumented, what was not, and what is said of both.

use std::fs;
use std::path::Path;

use crate::SERVED;
use crate::common::{
    agent, calls, classes, done, folder, in_environment, loadhook, profiles, read, run,
};

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
        (
            "Foo::bar(String[])",
            "as in (I[Ljava/lang/String;)\n    Foo::bar(String[])\n             ^",
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

/// Samples need no probes: no class is changed, so that no pattern can match.
#[test]
fn patterns_without_effect_are_told() {
    let folder = folder();
    let alloc = ["--alloc", "sampled=4k", "--all", "--include", "shop.Order"];
    let said = |option: &str| {
        format!(
            "loadhook: {option} has no effect without --timing: --alloc sampled=4k is of all classes\n"
        )
    };
    let result = done(&mut run(folder.path(), &alloc, &["serve"]));
    result.expect(0, SERVED, &[&said("--include"), &said("--all")]);
    assert!(!result.err.contains("no class matched"), "{}", result.err);
    let explained = [&alloc[..2], &["--explain"]].concat();
    let result = done(&mut run(folder.path(), &explained, &["serve"]));
    result.expect(0, SERVED, &[&said("--explain")]);
    let no_clock = "loadhook: --clock has no effect without --timing adaptive or exact\n";
    for (options, is_told) in [
        (&["--alloc=exact"][..], true),
        (&["--timing=count"], true),
        (&["--alloc=exact", "--timing=exact"], false),
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
        let bounds = "(BYTES from 1 to 2147483647, as 64k or 2m) is expected";
        assert_eq!(result.err.contains(bounds), fault, "{}", result.err);
    }
    for timed in [&["--timing=count"], &["--alloc=exact"]] {
        let mut options = alloc.to_vec();
        options.drain(..2 * usize::from(timed[0].starts_with("--alloc")));
        let result = done(&mut run(
            folder.path(),
            &[timed, &options[..]].concat(),
            &["serve"],
        ));
        result.expect(0, SERVED, &["no class matched `shop.Order`"]);
        assert!(!result.err.contains("no effect"), "{}", result.err);
    }
    for (options, said) in [
        (
            &["--timing=none"][..],
            "error: --timing none needs --alloc\n",
        ),
        (
            &["--alloc=sampled", "--alloc-context"],
            "error: --alloc-context needs --alloc exact\n",
        ),
    ] {
        done(&mut run(folder.path(), options, &["serve"])).expect(1, "", &[said]);
    }
}

#[test]
fn what_matched_nothing_is_named() {
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

/// It would hold the comma that divides the agent's options.
#[test]
fn a_backslash_at_the_end_is_a_pattern_s_own() {
    let folder = folder();
    let options = ["--include", "shop.**", "--include", "Foo\\", "--all"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &["warning: no class matched `Foo\\`\n"]);
    assert!(!result.err.contains("trivial"), "{}", result.err);
}
