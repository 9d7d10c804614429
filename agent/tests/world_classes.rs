//! Unusual classes: hidden, generated for lambdas, unnamed, and malformed.

use anyhow::{Context, Result, ensure};

use world::{Program, calls, classes, expect};

mod world;

fn odd(feature: u32, mode: &str) -> Result<Program> {
    let folder = classes("odd")?;
    let name = folder.display().to_string();
    Program::new(feature, &folder, &["Odd", mode, &name])
}

/// The body of a lambda is counted as a method of the class in which it is written. The classes
/// that the JVM generates for lambdas are neither shown nor changed.
fn lambdas(feature: u32) -> Result<()> {
    let profile = odd(feature, "lambdas")?.unchanged()?;
    expect(&profile, &[("Odd.lambdas", 1), ("Odd.twice", 300)])?;
    let bodies: u64 = calls(&profile)
        .iter()
        .filter(|(name, _)| name.starts_with("Odd.lambda$lambdas$"))
        .map(|(_, calls)| calls)
        .sum();
    // 100 calls for the sum, 100 for the text, and those made by the sort.
    ensure!(bodies > 200, "{bodies}");
    let profile = odd(feature, "handles")?.unchanged()?;
    expect(&profile, &[("Odd.twice", 200)])
}

fn proxies(feature: u32) -> Result<()> {
    let profile = odd(feature, "proxies")?.unchanged()?;
    let calls = calls(&profile);
    let body = calls
        .iter()
        .find(|(name, _)| name.starts_with("Odd.lambda$proxies$"));
    ensure!(body.is_some_and(|(_, calls)| *calls == 50), "{calls:#?}");
    // The JVM reports the class file of a proxy class, so its method is counted like any other.
    let greet = calls.iter().find(|(name, _)| name.ends_with(".greet"));
    ensure!(greet.is_some_and(|(_, calls)| *calls == 50), "{calls:#?}");
    Ok(())
}

/// Three hidden classes made of the same bytes share one row.
fn hidden(feature: u32) -> Result<()> {
    let program = odd(feature, "hidden")?;
    let profile = program.prints(&"true 3\n".repeat(3), 0)?;
    expect(&profile, &[("Odd.hidden", 1), ("Hideable.get", 3)])
}

fn nameless(feature: u32) -> Result<()> {
    let program = odd(feature, "nameless")?;
    let profile = program.prints("Hideable 3\n", 0)?;
    let counts = [("Hideable.get", 1), ("Hideable.up", 2)];
    expect(&profile, &counts)?;
    // The class has no name yet when the patterns are tried for the first time.
    let by_name = odd(feature, "nameless")?.options("all=true,quiet=true,include=Hideable");
    expect(&by_name.prints("Hideable 3\n", 0)?, &counts)?;
    let other = odd(feature, "nameless")?.options("all=true,quiet=true,include=Odd");
    expect(
        &other.prints("Hideable 3\n", 0)?,
        &[("Hideable.get", 0), ("Odd.nameless", 1)],
    )
}

/// The outcome of loading malformed bytes.
#[derive(Debug, PartialEq)]
enum Fate<'o> {
    /// The JVM refused the bytes with this error. Offsets in the message may differ.
    Refused(&'o str),
    /// The verifier or the linker refused the class. If it has two faults, the first one differs from run to run, since
    /// methods are verified in the order of their addresses.
    Unlinked,
    Good,
}

fn fate(line: &str) -> Fate<'_> {
    let outcome = line.split_once(' ').map_or(line, |(_, outcome)| outcome);
    match outcome.split(": ").collect::<Vec<_>>()[..] {
        ["refused", error, ..] => Fate::Refused(error),
        ["unlinked", ..] => Fate::Unlinked,
        _ => Fate::Good,
    }
}

/// Faults that rewriting repairs or changes: a line number for the end of the code, and an index
/// beyond the constant pool, which the rewriter extends.
const MENDED: [&str; 3] = [
    "Invalid pc in LineNumberTable",
    "Invalid code attribute name index",
    "Invalid constant pool index",
];

/// The JVM refuses malformed bytes with the same error as without the agent, and loads all other
/// classes.
fn garbage(feature: u32) -> Result<()> {
    let program = odd(feature, "garbage")?;
    let (plain, observed) = (program.plain()?, program.observed()?);
    ensure!(
        plain.code == Some(0) && observed.code == Some(0),
        "{observed}"
    );
    ensure!(plain.stdout.lines().count() == observed.stdout.lines().count());
    let mut mended = 0;
    for (plain, observed) in plain.stdout.lines().zip(observed.stdout.lines()) {
        if fate(plain) != fate(observed) && MENDED.iter().any(|fault| plain.contains(fault)) {
            mended += 1;
            continue;
        }
        ensure!(
            fate(plain) == fate(observed),
            "the classes end differently. Without the agent: {plain}\nwith the agent: {observed}"
        );
    }
    ensure!(
        mended < 10,
        "fewer than 10 broken classes should run after rewriting, but {mended} do"
    );
    for outcome in ["good", "refused: java.lang.ClassFormatError", "unlinked"] {
        let count = plain.stdout.matches(outcome).count();
        ensure!(
            count > 100,
            "the outcome {outcome} should occur more than 100 times, but occurred {count} times"
        );
    }
    // The agent prints messages about such classes, but only a limited number.
    for line in observed.stderr.lines() {
        ensure!(
            line.starts_with("loadhook: a class is not instrumented: "),
            "{line}"
        );
    }
    ensure!(observed.stderr.lines().count() <= 20, "{}", observed.stderr);
    expect(&program.profile()?, &[("Odd.garbage", 1)])
}

/// Classes are loaded, and thus rewritten, near the end of the stack. The remaining stack must
/// suffice for loading and rewriting.
fn deep(feature: u32) -> Result<()> {
    let folder = classes("odd")?;
    let class = folder.join("Varied.class").display().to_string();
    for jvm in [&["-Xint"][..], &[]] {
        let program = Program::new(feature, &folder, &["Deep", &class, "8"])?.jvm(jvm);
        let profile = program.prints("8 overflows\n", 0)?;
        let loaded = calls(&profile).get("Deep.load").copied();
        ensure!(loaded.is_some_and(|loaded| loaded > 8), "{loaded:?}");
    }
    Ok(())
}

fn all(feature: u32) -> Result<()> {
    type Check = fn(u32) -> Result<()>;
    let checks: &[(&str, Check)] = &[
        ("lambdas", lambdas),
        ("proxies", proxies),
        ("nameless", nameless),
        ("garbage", garbage),
    ];
    for (name, check) in checks {
        check(feature).with_context(|| format!("JDK {feature}: {name}"))?;
    }
    Ok(())
}

#[test]
fn odd_classes_on_11() -> Result<()> {
    all(11)
}

#[test]
fn odd_classes_on_17() -> Result<()> {
    all(17)?;
    deep(17)?;
    hidden(17)
}

#[test]
fn odd_classes_on_21() -> Result<()> {
    all(21)?;
    hidden(21)
}

#[test]
fn odd_classes_on_25() -> Result<()> {
    all(25)?;
    deep(25)?;
    hidden(25)
}
