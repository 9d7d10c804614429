//! Tests the tool that links and runs pairs of classes, with pairs that agree and pairs that do
//! not, and with classes that loop, exit and overflow.
//!
//! `cargo test -p loadhook-testkit --test pairs`

use anyhow::{Context, Result};
use std::time::Duration;

use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::{Run, Runner};
use loadhook_testkit::source::{compile_one, patch};

/// A class whose constant 11 (`bipush 11`, 0x10 0x0b) and line number 3 the tests patch.
const SOURCE: &str = "public class Pair {
    public static Object run() { return 11; }
}";

fn on_each_jdk(test: impl Fn(Runner) -> Result<()>) -> Result<()> {
    for feature in [17, 25] {
        let jdk = Jdk::find(feature)?;
        test(Runner::new(&jdk, &[])).with_context(|| format!("on JDK {feature}"))?;
    }
    Ok(())
}

fn class(body: &str) -> Result<Vec<u8>> {
    compile_one(17, "Pair", &format!("public class Pair {{ {body} }}"))
}

#[test]
fn equal_classes_agree() -> Result<()> {
    let class = compile_one(17, "Pair", SOURCE)?;
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&class, &class)?;
        assert_eq!(verdict.disagreement(), None);
        let ran = verdict.original.ran().context("the class did not run")?;
        assert_eq!(ran.calls, ["run[] = 11"]);
        assert_eq!(verdict.rewritten.as_ref(), Some(&verdict.original));
        Ok(())
    })
}

#[test]
fn another_result_is_a_disagreement() -> Result<()> {
    let class = compile_one(17, "Pair", SOURCE)?;
    let other = patch(&class, &[0x10, 11, 0xb8], &[0x10, 12, 0xb8])?;
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&class, &other)?;
        assert_eq!(
            verdict.disagreement().as_deref(),
            Some("original:  run[] = 11\nrewritten: run[] = 12")
        );
        Ok(())
    })
}

#[test]
fn a_class_that_does_not_link_is_a_disagreement() -> Result<()> {
    let class = compile_one(17, "Pair", SOURCE)?;
    // Replace `bipush 11` by `fconst_0, nop`: a float, where Integer.valueOf needs an int.
    let bad = patch(&class, &[0x10, 11, 0xb8], &[0x0b, 0, 0xb8])?;
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&class, &bad)?;
        let text = verdict
            .disagreement()
            .context("the classes agree, but should not")?;
        assert!(
            text.contains("java.lang.VerifyError: Bad type on operand stack"),
            "{text}"
        );
        // If the original does not link, there is nothing to compare.
        let verdict = runner.judge(&bad, &class)?;
        assert!(
            verdict.original.link.is_err() && verdict.rewritten.is_none(),
            "{verdict:?}"
        );
        assert_eq!(verdict.disagreement(), None);
        let started = runner.processes_started();
        let truncated = runner.try_class(&class[..class.len() - 1])?;
        assert!(
            truncated
                .link
                .is_err_and(|it| it.starts_with("java.lang.ClassFormatError"))
        );
        assert_eq!(
            runner.processes_started(),
            started,
            "a class that the JVM refuses must not end the JVM"
        );
        Ok(())
    })
}

#[test]
fn another_line_in_a_stack_trace_is_a_disagreement() -> Result<()> {
    let thrower = |lines: &str| {
        class(&format!(
            "public static Object run() {{ return fail(1); }} static int fail(int x) {{ {lines} throw new IllegalStateException(\"no\"); }}"
        ))
    };
    let (here, there) = (thrower("")?, thrower("\n")?);
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&here, &there)?;
        let text = verdict
            .disagreement()
            .context("the classes agree, but should not")?;
        assert!(
            text.contains("java.lang.IllegalStateException: no at [fail:1, run:1]"),
            "{text}"
        );
        assert!(
            text.contains("java.lang.IllegalStateException: no at [fail:2, run:1]"),
            "{text}"
        );
        Ok(())
    })
}

#[test]
fn static_methods_are_called_when_there_is_no_run() -> Result<()> {
    let class = class("static int twice(int x) { return 2 * x; } private static String name() { return \"n\"; } long no(long x) { return x; }
        int instance() { return 5; }")?;
    on_each_jdk(|mut runner| {
        let outcome = runner.try_class(&class)?;
        let calls = &outcome.ran().context("the class did not run")?.calls;
        assert_eq!(
            calls,
            &[
                "name[] = n",
                "twice[0] = 0",
                "twice[1] = 2",
                "twice[-1] = -2",
                "twice[7] = 14",
                "twice[1000] = 2000"
            ]
        );
        let outcome = runner.with_instances().try_class(&class)?;
        let calls = &outcome.ran().context("the class did not run")?.calls;
        assert_eq!(calls[..3], ["<init>", "instance[] = 5", "name[] = n"]);
        Ok(())
    })
}

#[test]
fn the_tracker_tells_balance_from_imbalance() -> Result<()> {
    let source = |body: &str| {
        // javac needs the source of the tracker; the runner provides the class.
        let tracker = include_str!("../java/loadhook/Tracker.java");
        let text = format!("import loadhook.Tracker; public class Pair {{ {body} }}");
        let folder = loadhook_testkit::source::compile(
            17,
            &[("Tracker.java", tracker), ("Pair.java", &text)],
        )?;
        anyhow::Ok(std::fs::read(folder.join("Pair.class"))?)
    };
    let plain = source("public static Object run() { return 1; }")?;
    let balanced = source(
        "public static Object run() { Tracker.enter(7); Tracker.enter(1, 2); Tracker.allocArray(10, 3); Tracker.exit(1, 2); Tracker.exit(7); return 1; }",
    )?;
    let drifting = source("public static Object run() { Tracker.enter(7); return 1; }")?;
    let stray = source("public static Object run() { Tracker.caught(7); return 1; }")?;
    let healing = source(
        "public static Object run() { Tracker.enter(7); Tracker.enter(8); Tracker.caught(7); Tracker.enter(9); Tracker.exit(7); return 1; }",
    )?;
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&plain, &balanced)?;
        assert_eq!((verdict.disagreement(), verdict.unbalanced()), (None, None));
        let ran = verdict
            .rewritten
            .as_ref()
            .and_then(|it| it.ran())
            .context("the class did not run")?;
        assert_eq!(
            ran.log,
            "ENTER 7, ENTER 1 2, ALLOC_ARRAY 10 3, EXIT 1 2, EXIT 7"
        );
        assert_eq!(
            (
                ran.tracker.enters,
                ran.tracker.exits,
                ran.tracker.alloc_arrays
            ),
            (2, 2, 1)
        );
        assert!(
            runner
                .judge(&plain, &drifting)?
                .unbalanced()
                .is_some_and(|it| it.contains("depth: 1"))
        );
        assert!(
            runner
                .judge(&plain, &stray)?
                .unbalanced()
                .is_some_and(|it| it.contains("missing: 1"))
        );
        let verdict = runner.judge(&plain, &healing)?;
        assert_eq!(verdict.unbalanced(), None);
        assert_eq!(
            verdict
                .rewritten
                .and_then(|it| it.ran().map(|ran| ran.tracker.healed)),
            Some(2)
        );
        Ok(())
    })
}

#[test]
fn endless_loops_end() -> Result<()> {
    let fine = class("public static Object run() { return 1; }")?;
    let loops = class("static int x; public static Object run() { while (true) { x++; } }")?;
    let bad = patch(&fine, &[0x04, 0xb8], &[0x0b, 0xb8])?;
    on_each_jdk(|runner| {
        let mut runner = runner.with_time_limit(Duration::from_millis(200));
        let verdicts = runner.judge_all(&[
            (&loops, &loops),
            (&fine, &loops),
            (&fine, &fine),
            (&loops, &bad),
        ])?;
        // JDK 25 cannot stop a thread. On a busy machine, JDK 17 may not stop it in time.
        assert!(matches!(
            verdicts[0].original.run,
            Run::TimedOut | Run::Hung
        ));
        assert_eq!(verdicts[0].disagreement(), None);
        assert!(
            verdicts[1]
                .disagreement()
                .is_some_and(|it| it.starts_with("the original ended by itself"))
        );
        assert!(verdicts[2].disagreement().is_none() && verdicts[2].original.ran().is_some());
        assert!(
            verdicts[3]
                .disagreement()
                .is_some_and(|it| it.contains("VerifyError")),
            "{verdicts:?}"
        );
        Ok(())
    })
}

#[test]
fn a_thread_that_catches_its_death_is_hung() -> Result<()> {
    let fine = class("public static Object run() { return 1; }")?;
    let stubborn = class(
        "static int x; public static Object run() { while (true) { try { while (true) x++; } catch (Throwable e) { } } }",
    )?;
    on_each_jdk(|runner| {
        let mut runner = runner.with_time_limit(Duration::from_millis(200));
        let verdicts = runner.judge_all(&[(&fine, &fine), (&stubborn, &fine), (&fine, &fine)])?;
        assert_eq!(verdicts[1].original.run, Run::Hung);
        assert!(verdicts[2].original.ran().is_some());
        assert!(runner.processes_started() >= 2);
        Ok(())
    })
}

#[test]
fn a_class_that_ends_the_jvm_is_named() -> Result<()> {
    let fine = class("public static Object run() { return 1; }")?;
    let exits = class("public static Object run() { Runtime.getRuntime().halt(3); return 1; }")?;
    on_each_jdk(|mut runner| {
        let verdicts = runner.judge_all(&[
            (&fine, &fine),
            (&exits, &fine),
            (&fine, &exits),
            (&fine, &fine),
        ])?;
        assert_eq!(verdicts[1].original.run, Run::Died);
        assert!(
            verdicts[2]
                .disagreement()
                .is_some_and(|it| it.contains("Died")),
            "{:?}",
            verdicts[2]
        );
        assert!(verdicts[0].disagreement().is_none() && verdicts[3].original.ran().is_some());
        Ok(())
    })
}

#[test]
fn overflows_and_chance_are_no_disagreement() -> Result<()> {
    let deep = class(
        "static int deep(int x) { return deep(x + 1) + 1; } public static Object run() { return deep(0); }",
    )?;
    let deeper = class(
        "static int deep(int x) { return deep(x + 1) + 2; } public static Object run() { return deep(0); }",
    )?;
    let full = class("public static Object run() { return new long[1 << 30].length; }")?;
    let chance = class("public static Object run() { return System.nanoTime(); }")?;
    let identity = class("public static Object run() { return new Pair().toString(); }")?;
    let printing = class(
        "public static Object run() { System.out.println(\"x\".repeat(9)); System.err.println(1); return System.getProperty(\"none\"); }",
    )?;
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&deep, &deeper)?;
        assert_eq!(
            (verdict.disagreement(), verdict.nondeterministic),
            (None, false),
            "{verdict:?}"
        );
        assert!(
            verdict
                .original
                .ran()
                .is_some_and(|it| it.calls == ["run[] threw java.lang.StackOverflowError"])
        );
        let verdict = runner.judge(&full, &full)?;
        assert!(
            verdict
                .original
                .ran()
                .is_some_and(|it| it.calls == ["run[] threw java.lang.OutOfMemoryError"]),
            "{verdict:?}"
        );
        let verdict = runner.judge(&chance, &chance)?;
        assert_eq!(
            (verdict.disagreement(), verdict.nondeterministic),
            (None, true)
        );
        let verdict = runner.judge(&identity, &identity)?;
        assert_eq!(
            (verdict.disagreement(), verdict.nondeterministic),
            (None, false),
            "{verdict:?}"
        );
        let verdict = runner.judge(&printing, &printing)?;
        assert!(
            verdict
                .original
                .ran()
                .is_some_and(|it| it.calls == ["run[] = null"]),
            "{verdict:?}"
        );
        assert_eq!(runner.processes_started(), 1);
        Ok(())
    })
}

/// Fuzzing needs thousands of pairs a second, so all pairs are judged by one JVM.
#[test]
fn many_pairs_take_one_jvm() -> Result<()> {
    let fine = class("static int twice(int x) { return 2 * x; }")?;
    let bad = patch(&fine, &[0x05, 0x1a, 0x68, 0xac], &[0x05, 0x0b, 0x68, 0xac])?;
    let pairs: Vec<_> = (0..4000)
        .map(|i| {
            if i % 4 == 0 {
                (&fine, &fine)
            } else {
                (&bad, &bad)
            }
        })
        .collect();
    let mut runner = Runner::new(&Jdk::find(17)?, &[]);
    let verdicts = runner.judge_all(&pairs)?;
    assert_eq!(
        verdicts.iter().filter(|it| it.rewritten.is_some()).count(),
        1000
    );
    assert_eq!(runner.processes_started(), 1);
    Ok(())
}

#[test]
fn classes_of_the_jdk_link_outside_their_module_when_told() -> Result<()> {
    for feature in [17, 25] {
        let class = std::fs::read(
            loadhook_testkit::corpus::jdk_classes(feature)?
                .join("java.base/sun/nio/cs/ISO_8859_2.class"),
        )?;
        let runner = Runner::new(&Jdk::find(feature)?, &[]);
        let mut runner = runner.with_instances();
        let refused = runner.try_class(&class)?;
        assert!(
            refused
                .link
                .as_ref()
                .is_err_and(|it| it.starts_with("java.lang.IllegalAccessError")),
            "{refused:?}"
        );
        let text = runner.with_jdk_internals().try_class(&class)?;
        assert!(text.ran().is_some(), "{text:?}");
    }
    Ok(())
}

/// State that the first run leaves in the JVM may change the second run: for example, a native
/// library can be loaded only once.
#[test]
fn a_difference_of_order_is_no_disagreement() -> Result<()> {
    let once = class(
        "public static Object run() { return System.setProperty(\"loadhook.once\", \"x\"); }",
    )?;
    let other = class(
        "public static Object run() { return System.setProperty(\"loadhook.once\", \"y\"); }",
    )?;
    on_each_jdk(|mut runner| {
        let verdict = runner.judge(&once, &other)?;
        assert_eq!(
            (verdict.disagreement(), verdict.nondeterministic),
            (None, true),
            "{verdict:?}"
        );
        Ok(())
    })
}
