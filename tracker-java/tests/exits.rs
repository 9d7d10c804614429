//! Tests that counts and callers are exact, however a method ends.

mod support;

use anyhow::{Result, ensure};
use support::{ADAPTIVE, COUNT, EXACT, Program, check, check_program};

fn in_all_modes(name: &str, expected: &str) -> Result<()> {
    [ADAPTIVE, EXACT, COUNT]
        .into_iter()
        .try_for_each(|timing| check(name, timing, expected))?;
    check_program(&Program::exact(name)?, EXACT, expected)
}

/// Returns a program with the probes of each timing.
fn with_all_probes(name: &str) -> Result<[(Program, &'static str); 4]> {
    Ok([
        (Program::new(name)?, ADAPTIVE),
        (Program::new(name)?, EXACT),
        (Program::exact(name)?, EXACT),
        (Program::new(name)?, COUNT),
    ])
}

#[test]
fn every_exit() -> Result<()> {
    in_all_modes(
        "Exits",
        "
        Exits.main 1
          Exits.<init> 1000
          Exits.behind 1500
          Exits.cleaning 1000
            Exits.leaf 2000
            Exits.throwing 1000
          Exits.inside 1000
            Exits.behind 100
          Exits.leaf 1
          Exits.locked 1000
            Exits.leaf 800
            Exits.throwing 800
          Exits.passing 1000
            Exits.throwing 1000
          Exits.returns 1000
            Exits.leaf 334
          Exits.throwing 500
        ",
    )
}

#[test]
fn recursion_folds() -> Result<()> {
    in_all_modes(
        "Recursion",
        "
        Recursion.main 1
          Recursion.a 5
            Recursion.b 9
              Recursion.c 9
              Recursion.leaf 9
            Recursion.leaf 5
          Recursion.after 1
          Recursion.direct 11
            Recursion.leaf 20
          Recursion.even 6
            Recursion.odd 5
          Recursion.odd 2
            Recursion.even 2
        ",
    )
}

#[test]
fn constructors_that_throw() -> Result<()> {
    in_all_modes(
        "Constructors",
        "
        Constructors.main 1
          Constructors.behind 1
          Constructors.one 100
            After.<init> 100
              Base.<init> 100
            Before.<init> 100
              Constructors.argument 100
            Constructors.argument 100
            Constructors.behind 400
            Fine.<init> 100
              Base.<init> 100
            In.<init> 100
              Base.<init> 100
          Constructors.plain 1
            In.<init> 100
              Base.<init> 100
        ",
    )
}

#[test]
fn caught_stack_overflows() -> Result<()> {
    let programs = with_all_probes("StackOverflow")?;
    for jdk in [17, 25] {
        for jvm in [&["-Xint"][..], &["-XX:TieredStopAtLevel=1"], &[]] {
            for (program, timing) in &programs {
                let profile = program.run(jdk, jvm, timing, 1_000_000)?;
                let what = format!("{jdk} {jvm:?} {timing}\n{}", profile.tree("overflowing"));
                let recursions: i64 = ["recurse", "wider"]
                    .iter()
                    .map(|name| profile.method_calls(&format!("StackOverflow.{name}")))
                    .sum();
                let counted = [
                    ("recursions", recursions),
                    ("leaves", profile.method_calls("StackOverflow.leaf")),
                    (
                        "caught",
                        profile.calls("StackOverflow.attempt", "StackOverflow.after"),
                    ),
                ];
                for (name, calls) in counted {
                    let own = i64::try_from(profile.expected[name])?;
                    ensure!(
                        calls == own,
                        "{name}: {calls} calls expected, {own} found: {what}"
                    );
                }
                ensure!(
                    profile.calls("StackOverflow.run", "StackOverflow.attempt") == 200,
                    "{what}"
                );
                ensure!(
                    profile.calls("StackOverflow.run", "StackOverflow.after") == 200,
                    "{what}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn deep_recursion() -> Result<()> {
    let programs = with_all_probes("Deep")?;
    for jdk in [17, 25] {
        for (program, timing) in &programs {
            let profile = program.run(jdk, &[], timing, 1_000_000)?;
            let expected = "Deep.run 1\n  Deep.down 150003\n    Deep.other 150000\n      Deep.leaf 150000\n  Deep.leaf 3\n";
            let found = profile.tree("deep");
            ensure!(
                found == expected,
                "{jdk}: the tree is not the expected one:\n{found}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_million_failing_super_constructors() -> Result<()> {
    let programs = with_all_probes("FailingSuper")?;
    for jdk in [17, 25] {
        for (program, timing) in &programs {
            let profile = program.run(jdk, &["-Xmx64m"], timing, 1_000_000)?;
            let found = profile.tree("main");
            ensure!(
                profile.calls("FailingSuper.instrumented", "D.<init>") == 1_000_000,
                "{jdk} {found}"
            );
            ensure!(
                profile.calls("FailingSuper.main", "D.<init>") == 1_000_000,
                "{jdk} {found}"
            );
            ensure!(
                profile.calls("D.<init>", "B.<init>") == 2_000_000,
                "{jdk} {found}"
            );
            ensure!(
                profile.calls("FailingSuper.instrumented", "FailingSuper.leaf") == 1_000_000,
                "{jdk} {found}"
            );
            ensure!(
                profile.depth == 0,
                "{jdk}: the path should be empty at the end, but has {} entries",
                profile.depth
            );
            ensure!(
                profile.header[6] < 100_000,
                "{jdk}: the tracker used {} bytes, less than 100,000 expected",
                profile.header[6]
            );
            profile.check_times()?;
        }
    }
    Ok(())
}
