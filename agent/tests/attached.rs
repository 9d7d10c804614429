//! Tests of an agent that is attached to a running program, and leaves it again.

use std::fs;
use std::os::unix::fs::FileExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_profile::format::{Format, Options};
use loadhook_profile::{Engine, MethodCalls, Profile};
use loadhook_settings::attach::{AnswerLine, DETACH, Refusal};
use tempfile::TempDir;

mod support;
use support::attach::{Answer, Running, attach, load, load_library, wait_for};
use support::read;

on_jdks!(counts_are_exact comes_again_and_again: on_11 11, on_25 25);
on_jdks!(leaves_while_classes_load probes_have_a_small_budget counting_has_a_budget leaves_if_it_takes_too_much: on_17 17);
on_jdks!(samples_have_methods_under_way old_versions_are_no_faults: on_17 17, on_25 25);
on_jdks!(an_environment_stays late_reports_of_code_are_no_faults: on_11 11, on_17 17, on_21 21, on_25 25);
on_jdks!(long_redefinitions_are_no_faults: on_11 11, on_17 17, on_21 21, on_25 25);
on_jdks!(leaves_when_its_command_is_gone the_duration_begins_after_the_changes two_attachers the_program_ends the_program_begins options_are_checked: on_21 21);

fn detach(program: &Running, answer: &Answer) -> Result<Profile> {
    let code = load(&program.child, DETACH)?;
    ensure!(code == 0, "{code}: {:?}", answer.lines()?);
    read(&answer.wait_until_left()?)
}

/// Returns the number of calls of each method of `Attached$Work`.
fn calls(profile: &Profile) -> Vec<(String, u64)> {
    let mut calls: Vec<(String, u64)> = profile
        .method_calls
        .iter()
        .map(|it| (it.method, it.calls))
        .chain(
            profile
                .threads
                .iter()
                .flat_map(|thread| thread.nodes.iter().map(|node| (node.method, node.calls))),
        )
        .filter_map(|(method, calls)| {
            let method = profile.methods.get(method as usize)?;
            // Samples show methods that are not counted, too.
            (calls > 0 && &*method.class == "Attached$Work")
                .then(|| (method.name.to_string(), calls))
        })
        .collect();
    calls.sort();
    calls.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 += next.1;
        }
        is_same
    });
    calls
}

fn expected(times: u64) -> Vec<(String, u64)> {
    [("inner", 6 * times), ("outer", 3 * times), ("run", 3)]
        .map(|(name, calls)| (name.to_owned(), calls))
        .to_vec()
}

/// Calls before attaching and after leaving are not counted. Each call between is counted once.
fn counts_are_exact(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &["-Xverify:all"])?;
    program.answer()?;
    program.order("call 20000")?;
    for timing in [
        "sampled,budget=none",
        "count",
        "exact",
        "adaptive,budget=none",
    ] {
        let folder = TempDir::new()?;
        let options = format!("include=Attached$Work,all=true,timing={timing}");
        let answer = attach(&program, &options, &folder)?;
        program.order("call 10000")?;
        let profile = detach(&program, &answer)?;
        ensure!(
            calls(&profile) == expected(10_000),
            "{timing}: {:?}",
            calls(&profile)
        );
        ensure!(
            profile
                .header
                .notes
                .iter()
                .any(|note| note.contains("was attached")),
            "{:?}",
            profile.header.notes
        );
        ensure!(program.order("probes")? == "none", "{timing}");
        program.order("call 1000")?;
    }
    program.end()
}

/// The remains of an agent must not disturb the next agent. Without patterns no class is changed.
fn comes_again_and_again(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &["-Xcheck:jni"])?;
    program.answer()?;
    for round in 0..5 {
        let folder = TempDir::new()?;
        let options = if round % 2 == 0 {
            "include=Attached**,timing=sampled,all=true,budget=none"
        } else {
            "interval=1ms"
        };
        let answer = attach(&program, options, &folder)?;
        program.order("call 5000")?;
        let profile = detach(&program, &answer)?;
        let expected = if round % 2 == 0 {
            expected(5000)
        } else {
            Vec::new()
        };
        ensure!(
            calls(&profile) == expected,
            "{round}: {:?}",
            calls(&profile)
        );
        ensure!(profile.sampling.is_some(), "{round}");
        ensure!(program.order("probes")? == "none", "{round}");
    }
    program.end()
}

/// HotSpot writes to the memory of threads that ended while the JVM had no environment of JVM TI. So one environment
/// stays when the agent has left.
fn an_environment_stays(feature: u32) -> Result<()> {
    const FIRST_ENVIRONMENT: &str = "_ZN12JvmtiEnvBase17_head_environmentE";
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let word = |program: &Running| static_word(program.child.id(), FIRST_ENVIRONMENT);
    ensure!(word(&program)? == 0, "the program has environments already");
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached$Work", &folder)?;
    detach(&program, &answer)?;
    // The JVM removes disposed environments when it stops all threads.
    for _ in 0..3 {
        program.order("collect")?;
    }
    ensure!(word(&program)? != 0, "the JVM has no environment left");
    program.end()
}

/// Returns the value of a static variable of HotSpot, by the variable's name in the symbol table of `libjvm.so`.
fn static_word(process: u32, symbol: &str) -> Result<u64> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let first = maps.lines().find(|line| line.ends_with("/libjvm.so"));
    let first = first.context("libjvm.so is not mapped")?;
    let library = &first[first.find('/').context("no path")?..];
    let base = u64::from_str_radix(first.split('-').next().context("no address")?, 16)?;
    let symbols = Command::new("nm").arg(library).output().context("nm")?;
    let symbols = String::from_utf8(symbols.stdout)?;
    let line = symbols.lines().find(|line| line.ends_with(symbol));
    let offset = line.and_then(|line| line.split(' ').next());
    let offset = u64::from_str_radix(offset.with_context(|| format!("no {symbol}"))?, 16)?;
    let mut word = [0; 8];
    fs::File::open(format!("/proc/{process}/mem"))?.read_exact_at(&mut word, base + offset)?;
    Ok(u64::from_ne_bytes(word))
}

/// `main` is under way when its class is changed, so it keeps its old code. Samples show it nevertheless.
fn samples_have_methods_under_way(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached**,timing=sampled", &folder)?;
    program.order("call 60000000")?;
    let profile = detach(&program, &answer)?;
    let sampling = profile.sampling.as_ref().context("there are no samples")?;
    // Some samples come while the JVM compiles or changes the code. If all stacks of the thread `main` were cut off,
    // these would be a third of the samples.
    ensure!(
        sampling.samples > 20 && 5 * sampling.unwalked < sampling.samples,
        "{} of {} samples do not reach the outermost method",
        sampling.unwalked,
        sampling.samples
    );
    program.end()
}

/// `main` keeps its old code while its class is changed, by this agent and by the agents before. Stacks with old code are
/// equal to those of the JVM, so the samples are trusted, and they reach the outermost method.
fn old_versions_are_no_faults(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    for options in [
        "include=Attached**,all=true",
        "include=Attached**",
        "include=none",
    ] {
        let folder = TempDir::new()?;
        let options = format!("{options},timing=sampled,budget=none");
        let answer = attach(&program, &options, &folder)?;
        // The agent compares stacks when classes are loaded, once it has noted those that exist.
        for _ in 0..40 {
            program.order("call 1000000")?;
            program.order("define 5")?;
        }
        let profile = detach(&program, &answer)?;
        let sampling = profile.sampling.as_ref().context("there are no samples")?;
        ensure!(
            sampling.engine == Engine::Async,
            "{options}: {:?}",
            profile.header.notes
        );
        ensure!(
            sampling.samples > 20 && 5 * sampling.unwalked < sampling.samples,
            "{options}: {} of {} samples do not reach the outermost method",
            sampling.unwalked,
            sampling.samples
        );
    }
    program.end()
}

/// A method has been compiled, and the JVM reports it late, as happens on a busy machine. Until then, 60 classes are
/// loaded in this method, which the agent cannot know. The self-check does not fail for that, so the samples are still
/// asynchronous at the end. The stacks of these classes count as nothing, and those of 60 further classes are equal.
fn late_reports_of_code_are_no_faults(feature: u32) -> Result<()> {
    let reports = TempDir::new()?;
    let agent = support::native_agent("late_reports")?;
    let late = format!(
        "-agentpath:{}={}",
        agent.display(),
        reports.path().display()
    );
    let folder_option = format!("-Dfolder={}", reports.path().display());
    // C2 would compile the method without the branch that loads classes.
    let jvm = ["-XX:TieredStopAtLevel=1", &*late, &*folder_option];
    let mut program = Running::start(feature, "Unreported", &jvm)?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=none,timing=sampled", &folder)?;
    program.order("compile")?;
    program.order("define 60")?;
    fs::write(reports.path().join("go"), "")?;
    // The sampler's thread reads samples ten times a second, and then compares the stacks. These calls take longer.
    program.order("call 30000000")?;
    program.order("define 60")?;
    let profile = detach(&program, &answer)?;
    believed(&profile)?;
    program.end()
}

/// Checks that the self-check compared enough stacks and believed the samples.
fn believed(profile: &Profile) -> Result<()> {
    let sampling = profile.sampling.as_ref().context("there are no samples")?;
    ensure!(
        sampling.engine == Engine::Async && sampling.compared >= 20,
        "{sampling:?}, {:?}",
        profile.header.notes
    );
    Ok(())
}

/// The JVM calls the hooks of all agents for the classes of a request, and then replaces the classes. On a busy machine
/// this takes seconds after the last call of our hook. New versions of methods are at addresses that old versions of
/// other methods had, which the JVM has freed. The self-check does not take them for those.
fn long_redefinitions_are_no_faults(feature: u32) -> Result<()> {
    let jar = support::java_agent("Redefined")?;
    let java_agent = format!("-javaagent:{}", jar.display());
    let mut program = Running::start(feature, "Redefined", &[&java_agent])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Redefined$Last,timing=sampled", &folder)?;
    let code = load_library(&program.child, &support::native_agent("long_hooks")?, "")?;
    ensure!(code == 0, "{code}");
    // The agent notes the loaded classes when it first reads samples, a tenth of a second later.
    program.order("sleep 300")?;
    for _ in 0..3 {
        program.order("redefine 30")?;
    }
    // Stacks are compared again when the agent has noted the new versions.
    for _ in 0..30 {
        program.order("load 20")?;
        program.order("sleep 100")?;
    }
    let profile = detach(&program, &answer)?;
    believed(&profile)?;
    program.end()
}

fn leaves_while_classes_load(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    program.order("load 16")?;
    for _ in 0..2 {
        let folder = TempDir::new()?;
        let answer = attach(
            &program,
            "include=Attached**,timing=exact,all=true",
            &folder,
        )?;
        program.order("call 100")?;
        let profile = detach(&program, &answer)?;
        ensure!(calls(&profile) == expected(100), "{:?}", calls(&profile));
    }
    program.order("stop")?;
    ensure!(program.order("probes")? == "none");
    program.end()
}

fn leaves_when_its_command_is_gone(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached$Work,all=true", &folder)?;
    program.order("call 10")?;
    answer.give_up()?;
    let profile = read(&answer.wait_until_left()?)?;
    ensure!(calls(&profile) == expected(10), "{:?}", calls(&profile));
    let answer = attach(&program, "include=Attached$Work,duration=100ms", &folder)?;
    answer.wait_until_left()?;
    ensure!(program.order("probes")? == "none");
    ensure!(load(&program.child, DETACH)? == Refusal::NotWatched as i32);
    program.end()
}

/// The changes of the loaded classes take none of the duration, which is shorter than them.
fn the_duration_begins_after_the_changes(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=java.**,duration=100ms", &folder)?;
    let header = read(&answer.wait_until_left()?)?.header;
    ensure!(
        0 < header.attaching_ns && header.attaching_ns + 100_000_000 <= header.duration_ns,
        "the time in which classes were changed, and the duration: {header:?}"
    );
    let lines = answer.lines()?;
    let changed = lines.iter().find_map(|line| match line {
        AnswerLine::Attached(figures) => Some(figures.classes),
        _ => None,
    });
    // An agent that leaves meanwhile changes only some of the classes, of which the JVM has loaded more than 300.
    ensure!(changed.is_some_and(|changed| changed > 300), "{lines:?}");
    program.end()
}

fn two_attachers(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let [first, second] = [TempDir::new()?, TempDir::new()?];
    let answer = attach(&program, "include=Attached$Work,all=true", &first)?;
    let other = Answer::new(second.path())?;
    let code = load(
        &program.child,
        &format!("answer={}", other.name().display()),
    )?;
    ensure!(code == Refusal::Watched as i32, "{code}");
    let told = other.lines()?;
    ensure!(
        matches!(&told[..], [AnswerLine::Error(error)] if error.contains("already watched")),
        "{told:?}"
    );
    program.order("call 7")?;
    let profile = detach(&program, &answer)?;
    ensure!(calls(&profile) == expected(7), "{:?}", calls(&profile));
    program.end()
}

/// An attached agent has a smaller budget, and the profile names it.
fn probes_have_a_small_budget(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options = "include=Attached$Work,all=true,timing=adaptive";
    let answer = attach(&program, options, &folder)?;
    program.order("call 10000000")?;
    let notes = detach(&program, &answer)?.header.notes;
    let has_budget = notes.iter().any(|note| note.contains("--budget 10 %: "));
    ensure!(has_budget, "{notes:?}");
    program.end()
}

/// Methods lose their counting probes if these take too long. The profile marks each of them.
fn counting_has_a_budget(feature: u32) -> Result<()> {
    const CALLS: u64 = 10_000_000;
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options = "include=Attached$Work,all=true,budget=1,snapshot-every=500ms";
    let answer = attach(&program, options, &folder)?;
    let snapshot = folder.path().join("profile.pb.gz");
    let is_lowered = |profile: &Profile| {
        let notes = &profile.header.notes;
        notes
            .iter()
            .any(|note| note.starts_with("--budget 1 %: ") && note.contains("Attached$Work.inner"))
    };
    let mut orders = 0;
    wait_for("a method that is no longer counted", || {
        program.order(&format!("call {CALLS}")).ok()?;
        orders += 1;
        read(&snapshot)
            .is_ok_and(|so_far| is_lowered(&so_far))
            .then_some(())
    })?;
    // Nobody counts these calls.
    program.order(&format!("call {CALLS}"))?;
    orders += 1;
    let profile = detach(&program, &answer)?;
    let notes = &profile.header.notes;
    ensure!(is_lowered(&profile), "{notes:?}");
    let header = &profile.header;
    // The class was loaded later, or changed in the beginning.
    let changed_none = notes.iter().any(|note| note.ends_with("changed no class"));
    ensure!(
        (header.attaching_ns == 0) == changed_none && header.attaching_ns < header.duration_ns,
        "the time in which classes were changed: {header:?}"
    );
    let ended = |it: &&MethodCalls| it.until_ns.is_some();
    let ended: Vec<MethodCalls> = profile.method_calls.iter().filter(ended).copied().collect();
    let told = format!("--budget 1 %: {} method", ended.len());
    ensure!(
        notes.iter().any(|note| note.starts_with(&told)),
        "{told}: {notes:?}"
    );
    let is_inner = |it: &&MethodCalls| &*profile.methods[it.method as usize].name == "inner";
    let inner = ended.iter().find(is_inner).context("inner is not marked")?;
    // `inner` is called six times in each round.
    let all = 6 * CALLS * orders;
    ensure!(0 < inner.calls && inner.calls < all, "{inner:?} of {all}");
    ensure!(
        inner.until_ns < Some(profile.header.duration_ns),
        "{inner:?}"
    );
    ensure!(
        inner.since_ns.is_none(),
        "samples are no timing probes: {inner:?}"
    );
    let mut table = Vec::new();
    Format::Table.write(&profile, &Options::default(), &mut table)?;
    let table = String::from_utf8(table)?;
    let line = table
        .lines()
        .find(|line| line.ends_with("Attached$Work.inner"));
    ensure!(line.is_some_and(|line| line.contains('≥')), "{table}");
    ensure!(program.order("probes")? == "none");
    program.end()
}

/// An agent that takes too much, and has no probes to take out, leaves by itself. Snapshots are a part of its cost.
fn leaves_if_it_takes_too_much(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "budget=1,snapshot-every=100ms", &folder)?;
    let profile = read(&answer.wait_until_left()?)?;
    let notes = profile.header.notes;
    let is_said = notes.iter().any(|note| {
        note.starts_with("--budget 1 %: Loadhook stopped watching after ")
            && note.contains("its own threads")
    });
    ensure!(is_said, "{notes:?}");
    ensure!(load(&program.child, DETACH)? == Refusal::NotWatched as i32);
    program.end()
}

/// A JVM that ends while it is watched writes the profile.
fn the_program_ends(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached$Work,all=true", &folder)?;
    program.order("call 30")?;
    program.end()?;
    let lines = answer.lines()?;
    ensure!(
        matches!(lines.last(), Some(AnswerLine::Profile(_))),
        "{lines:?}"
    );
    let profile = read(&folder.path().join("profile.pb.gz"))?;
    ensure!(calls(&profile) == expected(30), "{:?}", calls(&profile));
    Ok(())
}

/// An agent that is attached before `main` has run counts from then on.
fn the_program_begins(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached$Work,all=true", &folder)?;
    program.answer()?;
    program.order("call 3")?;
    let profile = detach(&program, &answer)?;
    ensure!(calls(&profile) == expected(3), "{:?}", calls(&profile));
    program.end()
}

fn options_are_checked(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = Answer::new(folder.path())?;
    for wrong in ["nonsense=1", "help", "include-file=/missing/file"] {
        let text = format!("{wrong},answer={}", answer.name().display());
        ensure!(
            load(&program.child, &text)? == Refusal::Failed as i32,
            "{wrong}"
        );
    }
    let told = wait_for("an error", || {
        answer.lines().ok().filter(|lines| !lines.is_empty())
    })?;
    ensure!(
        matches!(&told[..], [AnswerLine::Error(error)] if error.contains("/missing/file")),
        "{told:?}"
    );
    ensure!(program.order("call 1")? == "done");
    program.end()
}
