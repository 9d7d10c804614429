//! Tests of attaching at bad moments: the program goes on, or ends, as without an agent.

use std::thread;

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_settings::attach::{AnswerLine, DETACH, Refusal};
use loadhook_settings::control::Request;
use tempfile::TempDir;

mod support;
use support::attach::{Answer, Running, attach, load};
use support::orders::{Connection, exclude, include};
use support::{java_agent, read};

on_jdks!(two_at_the_same_moment a_full_heap classes_are_unloaded_meanwhile: on_17 17);
on_jdks!(another_agent_changes_classes_meanwhile: on_21 21);
on_jdks!(the_program_shuts_down a_class_is_being_loaded: on_25 25);
on_jdks!(a_class_is_included_while_it_is_loaded a_pause_ends_while_a_class_is_loaded: on_17 17, on_25 25);

/// If two tools attach at the same moment, one watches, and the other one is refused.
fn two_at_the_same_moment(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folders = [TempDir::new()?, TempDir::new()?];
    let answers: Vec<Answer> = folders
        .iter()
        .map(|folder| Answer::new(folder.path()))
        .collect::<Result<_>>()?;
    let child = &program.child;
    let codes: Vec<i32> = thread::scope(|scope| {
        let loads: Vec<_> = answers
            .iter()
            .zip(&folders)
            .map(|(answer, folder)| {
                let text = format!(
                    "include=Attached$Work,file={},answer={}",
                    folder.path().join("profile.pb.gz").display(),
                    answer.name().display()
                );
                scope.spawn(move || load(child, &text))
            })
            .collect();
        let ended = loads.into_iter().map(|load| load.join().expect("no panic"));
        ended.collect::<Result<_>>()
    })?;
    let first = codes.iter().position(|code| *code == 0);
    let first = first.with_context(|| format!("{codes:?}"))?;
    ensure!(codes[1 - first] == Refusal::Watched as i32, "{codes:?}");
    ensure!(load(&program.child, DETACH)? == 0);
    read(&answers[first].wait_until_left()?)?;
    program.end()
}

/// If the heap has no room, the agent refuses. The program goes on, and can be watched later. An agent that watches
/// when the heap fills up can still leave.
fn a_full_heap(feature: u32) -> Result<()> {
    let jvm = ["-Xmx1g", "-XX:+UseSerialGC"];
    let mut program = Running::start(feature, "Attached", &jvm)?;
    program.answer()?;
    program.order("fill")?;
    let folder = TempDir::new()?;
    let answer = Answer::new(folder.path())?;
    let text = format!(
        "include=Attached$Work,all=true,file={},answer={}",
        folder.path().join("profile.pb.gz").display(),
        answer.name().display()
    );
    let code = load(&program.child, &text)?;
    let lines = answer.lines()?;
    let is_said = lines.iter().any(
        |line| matches!(line, AnswerLine::Error(error) if error.contains("heap is nearly full")),
    );
    ensure!(
        code == Refusal::Failed as i32 && is_said,
        "{code}: {lines:?}"
    );
    program.order("free")?;
    program.order("call 10")?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached$Work,all=true", &folder)?;
    program.order("call 10")?;
    program.order("fill")?;
    ensure!(load(&program.child, DETACH)? == 0);
    read(&answer.wait_until_left()?)?;
    program.order("free")?;
    ensure!(program.order("probes")? == "none");
    program.end()
}

/// Classes are unloaded all the time, also between the moment at which the JVM lists them and the one at which they are
/// changed. The agent keeps none of them in memory.
fn classes_are_unloaded_meanwhile(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &["-XX:+UseSerialGC"])?;
    program.answer()?;
    program.order("load 4")?;
    program.order("collect")?;
    let folder = TempDir::new()?;
    let options = "include=Attached**,all=true,control=true,budget=none";
    let answer = attach(&program, options, &folder)?;
    let mut agent = Connection::new(&program)?;
    ensure!(agent.change(&exclude("Attached$Loaded"))? > 0);
    ensure!(agent.change(&include("Attached$Loaded"))? > 0);
    ensure!(load(&program.child, DETACH)? == 0);
    read(&answer.wait_until_left()?)?;
    program.order("stop")?;
    ensure!(program.order("probes")? == "none");
    ensure!(program.order("loaders")? == "none");
    program.end()
}

/// Another agent retransforms a class again and again while an agent comes and leaves.
fn another_agent_changes_classes_meanwhile(feature: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let jar = java_agent("Attached")?;
    let java_agent = format!("-javaagent:{}", jar.display());
    let mut program = Running::start(feature, "Attached", &[&java_agent])?;
    program.answer()?;
    program.order("retransform")?;
    for _ in 0..3 {
        let answer = attach(&program, "include=Attached$Work,all=true", &folder)?;
        program.order("call 100")?;
        ensure!(load(&program.child, DETACH)? == 0);
        read(&answer.wait_until_left()?)?;
    }
    program.order("stop")?;
    ensure!(program.order("probes")? == "none");
    program.end()
}

/// A class has its probes when the agent leaves, but the JVM lists it only when its superclass is loaded.
fn a_class_is_being_loaded(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "include=Attached**,all=true", &folder)?;
    program.order("slow")?;
    ensure!(load(&program.child, DETACH)? == 0);
    read(&answer.wait_until_left()?)?;
    ensure!(program.order("probes")? == "none");
    program.end()
}

/// Returns the number of calls of `Attached$Slow.hashCode`.
fn calls_of_slow(profile: &Profile) -> u64 {
    let of_methods = profile.method_calls.iter().map(|it| (it.method, it.calls));
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let all = of_methods.chain(nodes.map(|node| (node.method, node.calls)));
    let is_it = |method: u32| {
        let method = profile.methods.get(method as usize);
        method.is_some_and(|it| &*it.class == "Attached$Slow" && &*it.name == "hashCode")
    };
    all.filter(|(method, _)| is_it(*method))
        .map(|it| it.1)
        .sum()
}

/// The choice of methods does not include a class when the hook gets the class. After an order that includes the class,
/// the class gets its probes, although the JVM lists it only when its superclass is loaded.
fn a_class_is_included_while_it_is_loaded(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options = "include=Attached$Work,all=true,control=true,budget=none";
    let answer = attach(&program, options, &folder)?;
    let mut agent = Connection::new(&program)?;
    program.order("slow")?;
    ensure!(agent.change(&include("Attached$Slow"))? == 1);
    program.order("hash 7")?;
    ensure!(load(&program.child, DETACH)? == 0);
    let counted = calls_of_slow(&read(&answer.wait_until_left()?)?);
    ensure!(counted == 7, "{counted}");
    program.end()
}

/// In a pause no class is chosen. A class that is being loaded when the pause ends has its probes after the pause.
fn a_pause_ends_while_a_class_is_loaded(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options = "include=Attached$Slow,all=true,control=true,budget=none";
    let answer = attach(&program, options, &folder)?;
    let mut agent = Connection::new(&program)?;
    agent.change(&Request::Pause)?;
    program.order("slow")?;
    ensure!(agent.change(&Request::Resume)? == 1);
    program.order("hash 7")?;
    ensure!(load(&program.child, DETACH)? == 0);
    let counted = calls_of_slow(&read(&answer.wait_until_left()?)?);
    ensure!(counted == 7, "{counted}");
    program.end()
}

/// An agent that comes while the program shuts down writes its profile, or does not come at all.
fn the_program_shuts_down(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Attached", &[])?;
    program.answer()?;
    program.order("exit")?;
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let answer = Answer::new(folder.path())?;
    let text = format!(
        "include=Attached$Work,file={},answer={}",
        file.display(),
        answer.name().display()
    );
    let code = load(&program.child, &text);
    let status = program.child.wait()?;
    ensure!(status.success(), "{status}");
    if matches!(code, Ok(0)) {
        let lines = answer.lines()?;
        ensure!(
            matches!(lines.last(), Some(AnswerLine::Profile(_))),
            "{lines:?}"
        );
        read(&file)?;
    }
    Ok(())
}
