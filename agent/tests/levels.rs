//! Methods that lose their entry and exit probes while the program runs. Every call must be counted
//! once, before and after this moment.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{MethodCalls, Profile};

mod support;
use support::{Finished, Program, edges};

on_each_jdk!(one_thread constructors many_threads unlimited allocations);
on_jdks!(virtual_threads: on_21 21, on_25 25);

fn run(feature: u32, options: &str, args: &[&str]) -> Result<Finished> {
    // Options without a budget have the default one.
    Program::new(feature, "Levels")
        .only_options(&format!("all=true,{options}"))
        .args(args)
        .run()
}

/// Runs the program until the methods in `names` are only counted, with the given numbers of
/// platform and virtual threads. On a busy machine the agent's thread may get no processor for
/// seconds, so each run lasts longer than the previous one. The counts must be exact in every run.
fn run_until_lowered(
    feature: u32,
    options: &str,
    [threads, virtual_threads]: [&str; 2],
    names: &[&str],
) -> Result<Finished> {
    let mut millis = ["2500", "8000", "24000"].into_iter();
    loop {
        let millis_now = millis
            .next()
            .context("the methods kept their probes in every run")?;
        let run = run(feature, options, &[millis_now, threads, virtual_threads])?;
        let lowered = exact(&run)?;
        let is_done = names.iter().all(|name| lowered.iter().any(|it| it == name));
        if is_done || millis.len() == 0 {
            return Ok(run);
        }
    }
}

/// Returns the number of calls of each method, as the program prints them. A constructor is named by its class.
fn printed(run: &Finished) -> Result<BTreeMap<String, u64>> {
    let text = String::from_utf8_lossy(&run.output.stdout);
    text.lines()
        .map(|line| {
            let (name, calls) = line.split_once(' ').context(line.to_owned())?;
            let name = match name {
                "base" => "Base.<init>",
                "derived" => "Derived.<init>",
                name => name,
            };
            Ok((name.to_owned(), calls.parse()?))
        })
        .collect()
}

/// Returns the number of calls of each method in the profile, and the methods that were only
/// counted from some moment on.
fn found(profile: &Profile) -> (BTreeMap<String, u64>, Vec<String>) {
    let mut calls = BTreeMap::new();
    for (edge, more) in edges(profile, "Levels") {
        let callee = edge.rsplit(" > ").next().unwrap_or(&edge).to_owned();
        *calls.entry(callee).or_default() += more;
    }
    let lowered = profile.method_calls.iter().filter(|c| c.since_ns.is_some());
    (calls, lowered.map(|c| name(profile, c)).collect())
}

/// Checks that all calls are counted, and returns the names of the methods that were only counted. The methods that
/// were no longer counted from some moment on may lack calls.
fn exact(run: &Finished) -> Result<Vec<String>> {
    let printed = printed(run)?;
    let (found, lowered) = found(&run.profile);
    // If a constructor of `Base` throws, its probes would tell the tracker, and those of `Derived` cannot.
    let is_lowered = |name: &str| lowered.iter().any(|it| it == name);
    ensure!(
        !is_lowered("Base.<init>") || is_lowered("Derived.<init>"),
        "{}: {lowered:?}",
        run.name
    );
    let profile = &run.profile;
    let ended = profile
        .method_calls
        .iter()
        .filter(|it| it.until_ns.is_some());
    let ended: Vec<String> = ended.map(|it| name(profile, it)).collect();
    for (name, calls) in &printed {
        let found = found.get(name).copied().unwrap_or(0);
        let is_right = match ended.contains(name) {
            true => 0 < found && found <= *calls,
            false => found == *calls,
        };
        ensure!(
            is_right,
            "{}: {name}: {calls} expected, {found} found; only counted: {lowered:?}; not counted: {ended:?}",
            run.name
        );
    }
    Ok(lowered)
}

/// Returns the name of a method. A constructor is named by its class.
fn name(profile: &Profile, method: &MethodCalls) -> String {
    let method = &profile.methods[method.method as usize];
    match &*method.name {
        "<init>" => format!("{}.<init>", method.class.trim_start_matches("Levels$")),
        name => name.to_owned(),
    }
}

/// Checks that the methods in `names` were only counted, and that calls of other methods have the
/// right callers: no entry of a call that has ended is left on a path.
fn lowered(run: &Finished, threads: u64, names: &[&str]) -> Result<()> {
    let lowered = exact(run)?;
    for name in names {
        ensure!(
            lowered.iter().any(|it| it == name),
            "{}: {name} should be lowered to a counted method, but only these are: {lowered:?}",
            run.name
        );
    }
    let edges = edges(&run.profile, "Levels");
    ensure!(
        edges.get("work > after") == Some(&(2 * threads)),
        "{}: {edges:?}",
        run.name
    );
    let notes = &run.profile.header.notes;
    ensure!(
        notes.iter().any(|note| note.starts_with("--budget ")),
        "{}: {notes:?}",
        run.name
    );
    Ok(())
}

fn one_thread(feature: u32) -> Result<()> {
    for options in ["timing=adaptive", "timing=exact,budget=5"] {
        let names = ["leaf", "recurse", "deep"];
        let run = run_until_lowered(feature, options, ["1", "0"], &names)?;
        lowered(&run, 1, &names)?;
        let has_ended = run
            .profile
            .method_calls
            .iter()
            .any(|it| it.until_ns.is_some());
        ensure!(
            has_ended == options.contains("budget"),
            "{}: only a budget that the user gives ends counts",
            run.name
        );
    }
    Ok(())
}

/// Calls of constructors are counted as exactly as others, if they lose their timing probes.
fn constructors(feature: u32) -> Result<()> {
    let names = ["Base.<init>", "Derived.<init>"];
    let run = run_until_lowered(feature, "timing=adaptive", ["1", "0"], &names)?;
    lowered(&run, 1, &names)
}

fn many_threads(feature: u32) -> Result<()> {
    let options = "timing=adaptive,snapshot-every=200ms";
    let run = run_until_lowered(feature, options, ["64", "0"], &["leaf"])?;
    lowered(&run, 64, &["leaf"])
}

fn virtual_threads(feature: u32) -> Result<()> {
    let run = run_until_lowered(feature, "timing=adaptive", ["2", "200"], &["leaf"])?;
    lowered(&run, 202, &["leaf"])
}

/// Without a budget, every method keeps its probes.
fn unlimited(feature: u32) -> Result<()> {
    for options in ["timing=adaptive,budget=none", "timing=exact"] {
        let run = run(feature, options, &["500", "2", "0"])?;
        exact(&run)?;
        ensure!(run.profile.method_calls.is_empty(), "{}", run.name);
    }
    Ok(())
}

/// Allocations are still counted in methods that lost their entry and exit probes.
fn allocations(feature: u32) -> Result<()> {
    let options = "timing=adaptive,alloc=exact,budget=1";
    let run = run_until_lowered(feature, options, ["1", "0"], &["make"])?;
    let lowered = exact(&run)?;
    ensure!(
        lowered.iter().any(|name| name == "make"),
        "{}: {lowered:?}",
        run.name
    );
    let made = printed(&run)?["make"];
    let profile = &run.profile;
    let allocations = profile
        .allocations
        .as_ref()
        .context("the profile has no allocations")?;
    let derived = allocations
        .sites
        .iter()
        .filter(|site| &*site.type_name == "Levels$Derived");
    let derived: f64 = derived.map(|site| site.allocated.objects).sum();
    ensure!(
        derived == made as f64,
        "{}: callers expected for all {made} allocations, found for {derived}",
        run.name
    );
    Ok(())
}
