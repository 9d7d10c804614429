//! Classes that are not quite classes: hidden, made of lambdas, without a
//! name, and not classes at all.

use anyhow::{Context, Result, ensure};

use world::{Program, calls, classes, expect};

mod world;

fn odd(feature: u32, mode: &str) -> Result<Program> {
    let folder = classes("odd")?;
    let name = folder.display().to_string();
    Program::new(feature, &folder, &["Odd", mode, &name])
}

/// The bodies of lambdas are methods of the class they are written in; the
/// classes that the VM makes around them are not seen and not harmed.
fn lambdas(feature: u32) -> Result<()> {
    let profile = odd(feature, "lambdas")?.unchanged()?;
    expect(&profile, &[("Odd.lambdas", 1), ("Odd.twice", 300)])?;
    let bodies: u64 = calls(&profile)
        .iter()
        .filter(|(name, _)| name.starts_with("Odd.lambda$lambdas$"))
        .map(|(_, calls)| calls)
        .sum();
    // Of the sum and the text each 100, and what the sort needs.
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
    // The proxy's own method is a class file's like any other.
    let greet = calls.iter().find(|(name, _)| name.ends_with(".greet"));
    ensure!(greet.is_some_and(|(_, calls)| *calls == 50), "{calls:#?}");
    Ok(())
}

/// Three hidden classes made of the same bytes are one row.
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
    // Its name is not known when patterns are asked first.
    let by_name = odd(feature, "nameless")?.options("all=true,quiet=true,include=Hideable");
    expect(&by_name.prints("Hideable 3\n", 0)?, &counts)?;
    let other = odd(feature, "nameless")?.options("all=true,quiet=true,include=Odd");
    expect(
        &other.prints("Hideable 3\n", 0)?,
        &[("Hideable.get", 0), ("Odd.nameless", 1)],
    )
}

/// What became of damaged bytes.
#[derive(Debug, PartialEq)]
enum Fate<'o> {
    /// Refused before it is a class, with this error; offsets in its words may
    /// differ.
    Refused(&'o str),
    /// The verifier or the linker refuses it. Which of two faults they meet
    /// first differs from run to run: they take methods in the order of
    /// addresses.
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

/// What the rewriter mends by rewriting, or takes further: a line that begins
/// at the end of the code, and an index beyond the pool, which it lengthens.
const MENDED: [&str; 3] = [
    "Invalid pc in LineNumberTable",
    "Invalid code attribute name index",
    "Invalid constant pool index",
];

/// What is no class is none with the same error, and what is a class remains
/// one.
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
            "plain: {plain}\nwith the agent: {observed}"
        );
    }
    ensure!(mended < 10, "{mended} classes mended");
    for outcome in ["good", "refused: java.lang.ClassFormatError", "unlinked"] {
        let count = plain.stdout.matches(outcome).count();
        ensure!(count > 100, "{count} times {outcome}");
    }
    // Told, but not without end.
    for line in observed.stderr.lines() {
        ensure!(
            line.starts_with("loadhook: a class is not instrumented: "),
            "{line}"
        );
    }
    ensure!(observed.stderr.lines().count() <= 20, "{}", observed.stderr);
    expect(&program.profile()?, &[("Odd.garbage", 1)])
}

/// Classes are loaded, and so rewritten, where the stack ends: what is left of
/// it is enough for both.
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
