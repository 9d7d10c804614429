//! The profile is written when the VM ends, and before if snapshots are asked
//! for.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loadhook_profile::snapshot::{Decoder, SnapshotError};
use loadhook_profile::{Method, Profile, Symbols, ThreadKind, ThreadTree};

use crate::agent::{Agent, Tracker};
use crate::ffi::jni::Jni;
use crate::options::{Clock, Timing};
use crate::{file, manifest, tell};

/// Takes the last snapshot and writes the profile. A failure is told and
/// changes nothing for the program.
pub(crate) fn write_profile(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) {
    if !tracker.heap.can_give(jni) {
        tell::line("no profile: the heap is full");
        return;
    }
    match write(agent, jni, tracker, || true) {
        Ok(_) if agent.hook.options().quiet => {}
        Ok(file) => tell::line(&format!("profile written to {}", file.display())),
        Err(error) => tell::line(&format!("no profile: {error}")),
    }
}

/// Writes what was counted so far, unless the VM is about to end: then the
/// last profile has it, and waits for nothing that is of no use any more.
pub(crate) fn write_snapshot(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) -> Result<(), String> {
    match write(agent, jni, tracker, || !agent.turns.is_ending()) {
        Err(error) if !agent.turns.is_ending() => Err(error),
        _ => Ok(()),
    }
}

/// Writes all that was counted; where to.
fn write<'a>(
    agent: &'a Agent,
    jni: Jni<'_>,
    tracker: &Tracker,
    goes_on: impl Fn() -> bool,
) -> Result<&'a Path, String> {
    let profile = profile(agent, jni, tracker, &goes_on)?;
    let options = agent.hook.options();
    let noted = agent.noted.get();
    let file = noted.unwrap_or(&options.file).as_path();
    let place = || {
        let Some(written) = file::write(file, &profile, goes_on)? else {
            return Ok(file);
        };
        match &options.manifest {
            Some(manifest) if noted.is_none() => {
                let noted = manifest::note(manifest, file, |file| written.put(file))?;
                Ok(agent.noted.get_or_init(|| noted).as_path())
            }
            _ => written.put(file).map(|()| file),
        }
    };
    place().map_err(|error: io::Error| format!("{}: {error}", file.display()))
}

fn profile(
    agent: &Agent,
    jni: Jni<'_>,
    tracker: &Tracker,
    goes_on: impl Fn() -> bool,
) -> Result<Profile, String> {
    let mut decoder = Decoder::default();
    let mut fault: Option<SnapshotError> = None;
    tracker
        .snapshot(jni, |words| {
            if fault.is_none() {
                fault = decoder.push(words).err();
            }
            goes_on()
        })
        .map_err(|error| error.to_string())?;
    if let Some(fault) = fault {
        return Err(fault.to_string());
    }
    let snapshot = decoder.finish().map_err(|error| error.to_string())?;
    let mut profile = symbols(agent).profile(snapshot);

    let property = |name| agent.jvmti.system_property(name).unwrap_or_default();
    profile.header.command = property("sun.java.command");
    profile.header.jvm = format!(
        "{} {}",
        property("java.vm.name"),
        property("java.vm.version")
    );
    profile.header.version = env!("CARGO_PKG_VERSION").to_owned();
    let tally = agent.hook.tally();
    profile.header.left_alone = tally
        .skipped
        .iter()
        .map(|(reason, count)| ((*reason).to_owned(), *count))
        .collect();
    profile.header.unmatched = agent.hook.unmatched();
    profile.header.notes = tally.into_explained();
    if has_untimed_threads(agent, &profile) {
        let note = "virtual threads have no CPU time: their calls are counted, not timed";
        profile.header.notes.insert(0, note.to_owned());
    }
    Ok(profile)
}

/// Whether there were virtual threads, whose times would be their carriers'.
/// Those that have ended are in groups with others.
fn has_untimed_threads(agent: &Agent, profile: &Profile) -> bool {
    let options = agent.hook.options();
    let is_virtual = |thread: &ThreadTree| thread.kind == ThreadKind::Virtual;
    options.clock == Clock::Cpu
        && options.timing.is_some_and(|timing| timing != Timing::Count)
        && (agent.virtual_threads.load(Ordering::Relaxed) || profile.threads.iter().any(is_virtual))
}

fn symbols(agent: &Agent) -> Symbols {
    let mut symbols = Symbols::default();
    let classes = agent.hook.registry.classes();
    let loaders = agent
        .loaders
        .names(classes.iter().map(|class| class.loader).collect());
    for class in classes {
        let loader: Arc<str> = loaders.get(&class.loader).map_or("?", |name| name).into();
        for method in class.methods {
            let symbol = Method {
                loader: loader.clone(),
                class: class.name.clone(),
                name: method.name,
                descriptor: method.descriptor,
                file: class.source_file.clone(),
                line: method.line.map(u32::from),
            };
            symbols.define(method.id, symbol);
        }
    }
    symbols
}
