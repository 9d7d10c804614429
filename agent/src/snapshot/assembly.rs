//! The profile is written when the VM ends, and before if snapshots are asked
//! for.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use loadhook_profile::snapshot::{Decoder, Snapshot, SnapshotError};
use loadhook_profile::{
    AllocationSite, Method, Profile, SiteBytes, Symbols, ThreadKind, ThreadTree,
};
use loadhook_settings::{Clock, Timing};

use super::{file, manifest};
use crate::agent::{Agent, Tracker};
use crate::allocations::Samples;
use crate::diagnostics;
use crate::instrument::registry::ClassSymbols;
use crate::jvm::jni::Jni;
use crate::tracker::sizes::Copy;

/// Takes the last snapshot and writes the profile. A failure is told and
/// changes nothing for the program.
pub(crate) fn write_profile(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) {
    if agent.hook.options().rewrites() && !tracker.heap.can_give(agent.jvmti, jni) {
        diagnostics::line("no profile: the heap is full; give the JVM more heap (-Xmx)");
        return;
    }
    match write(agent, jni, tracker, Moment::End) {
        Ok(_) if agent.hook.options().settings.quiet => {}
        Ok(file) => {
            let others = agent.others.lock().unwrap_or_else(PoisonError::into_inner);
            let others = others.iter().map(|other| other.display().to_string());
            let others: Vec<String> = others.collect();
            let and = match &others[..] {
                [] => String::new(),
                _ => format!("; rewritten archives have written {}", others.join(", ")),
            };
            diagnostics::line(&format!("profile written to {}{and}", file.display()));
        }
        Err(error) => diagnostics::line(&format!("no profile: {error}")),
    }
}

/// Writes what was counted so far, unless the VM is about to end: then the
/// last profile has it, and waits for nothing that is of no use any more.
pub(crate) fn write_snapshot(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) -> Result<(), String> {
    match write(agent, jni, tracker, Moment::Midst) {
        Err(error) if !agent.turns.is_ending() => Err(error),
        _ => Ok(()),
    }
}

/// Whether the agent's profile goes to that file: nobody else's may.
pub(crate) fn claims(agent: &Agent, other: &Path) -> bool {
    let own = agent.noted.get().unwrap_or(&agent.hook.options().file);
    file::is_same(own, other)
}

/// Notes a profile that a rewritten archive's tracker wrote in this JVM.
pub(crate) fn note_of_other(agent: &Agent, file: &Path) {
    let mut others = agent.others.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = others.insert(file.to_owned());
    drop(others);
    if let Some(manifest) = agent.hook.options().manifest.as_ref().filter(|_| is_new) {
        manifest::note_of_other(manifest, file);
    }
}

/// When a profile is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The program runs on.
    Midst,
    /// The VM ends.
    End,
}

/// Writes all that was counted; where to.
fn write<'a>(
    agent: &'a Agent,
    jni: Jni<'_>,
    tracker: &Tracker,
    moment: Moment,
) -> Result<&'a Path, String> {
    let goes_on = || moment == Moment::End || !agent.turns.is_ending();
    let profile = profile(agent, jni, tracker, moment, goes_on)?;
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
    moment: Moment,
    goes_on: impl Fn() -> bool,
) -> Result<Profile, String> {
    let snapshot = match agent.hook.options().rewrites() {
        true => counted(jni, tracker, &goes_on)?,
        // Nothing calls the tracker, and the heap may be full.
        false => Snapshot {
            header: agent.lifetime(),
            threads: Vec::new(),
        },
    };
    let classes = agent.hook.registry.classes();
    let counts_allocations = agent.hook.options().counts_allocations();
    if counts_allocations {
        measure(agent, jni, tracker, moment, &classes, &snapshot);
    }
    let samples = match agent.samples.as_ref().filter(|it| it.has_begun()) {
        Some(samples) => {
            let can_ask = moment == Moment::Midst && tracker.heap.can_spare(jni);
            let picture = samples.look_and_picture(agent, jni, can_ask, goes_on);
            Some((samples, picture.ok_or("the VM ends")?))
        }
        None => None,
    };
    // Named together: an ordinal tells apart only those that it was given with.
    let sampled = samples.iter().flat_map(|(_, picture)| picture.loaders());
    let counted = classes.iter().map(|class| class.loader);
    let loaders = agent.loaders.names(sampled.chain(counted).collect());
    let mut profile = symbols(tracker, classes, &loaders).profile(snapshot);

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
    profile.header.notes = agent.hook.registry.notes();
    profile.header.notes.extend(agent.loaders.note());
    profile.header.explained = tally.into_explained();
    if has_untimed_threads(agent, &profile) {
        let note = "virtual threads have no CPU clock, so their calls are counted but not timed";
        profile.header.notes.insert(0, note.to_owned());
    }
    let hidden = agent.hidden.notes(agent, jni);
    profile.header.notes.splice(0..0, hidden);
    profile.header.not_ended = moment == Moment::Midst;
    if counts_allocations {
        profile.allocations.get_or_insert_default();
        let of_the_vm = agent.samples.as_ref().is_some_and(Samples::has_begun);
        profile.header.notes.push(unseen(of_the_vm));
        let lost = tracker.lost_allocations(jni);
        if lost > 0 {
            let note = format!(
                "{lost} allocations are missing, since there was no room for their sites; raise --max-nodes or the heap (-Xmx)"
            );
            profile.header.notes.push(note);
        }
    }
    if let Some((samples, picture)) = samples {
        samples.add_to(&picture, &loaders, &mut profile);
    }
    Ok(profile)
}

/// What the tracker has counted.
fn counted(
    jni: Jni<'_>,
    tracker: &Tracker,
    goes_on: impl Fn() -> bool,
) -> Result<Snapshot, String> {
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
    decoder.finish().map_err(|error| error.to_string())
}

/// Says which allocations are not counted; `of_the_vm` if the VM reports those
/// that it makes itself.
fn unseen(of_the_vm: bool) -> String {
    let made_by_vm = match of_the_vm {
        true => {
            "Allocations by JIT intrinsics (clone(), reflection) are not counted once the code is \
             compiled"
        }
        false => {
            "Allocations by reflection, clone() and JNI are not counted: this JVM does not report them"
        }
    };
    format!(
        "only allocations by the instrumented classes are counted, not those of other classes for \
         them (for example by string concatenation). {made_by_vm}; --alloc live=exact counts all"
    )
}

/// Measures the objects of the classes that the snapshot's sites allocate.
fn measure(
    agent: &Agent,
    jni: Jni<'_>,
    tracker: &Tracker,
    moment: Moment,
    classes: &[ClassSymbols],
    snapshot: &Snapshot,
) {
    let nodes = snapshot.threads.iter().flat_map(|thread| &thread.nodes);
    let met: HashSet<u32> = nodes.map(|node| node.method).collect();
    let mut wanted: BTreeMap<Copy, BTreeSet<Arc<str>>> = BTreeMap::new();
    // Classes that share rows without being copies may have objects of several sizes.
    for class in classes.iter().filter(|class| !class.is_folded) {
        let sites = class.sites.iter();
        let sites = sites.filter(|site| !site.is_array && met.contains(&site.id));
        let names = sites.map(|site| site.type_name.clone());
        let copy = Copy {
            first: class.loader.number,
            latest: class.latest,
        };
        wanted.entry(copy).or_default().extend(names);
    }
    let has_room = || match moment {
        Moment::Midst => tracker.heap.can_spare(jni),
        Moment::End => tracker.heap.can_give(agent.jvmti, jni),
    };
    let (jvmti, loaders) = (agent.jvmti, &agent.loaders);
    tracker.sizes.measure(jvmti, jni, loaders, wanted, has_room);
}

/// Whether there were virtual threads, whose times would be their carriers'.
/// Those that have ended are in groups with others.
fn has_untimed_threads(agent: &Agent, profile: &Profile) -> bool {
    let options = agent.hook.options();
    let is_virtual = |thread: &ThreadTree| thread.kind == ThreadKind::Virtual;
    options.settings.clock == Clock::Cpu
        && options.timing.is_some_and(|timing| timing != Timing::Count)
        && (agent.virtual_threads.load(Ordering::Relaxed) || profile.threads.iter().any(is_virtual))
}

fn symbols(
    tracker: &Tracker,
    classes: Vec<ClassSymbols>,
    loaders: &HashMap<u32, String>,
) -> Symbols {
    let mut symbols = Symbols::default();
    for class in classes {
        let loader: Arc<str> = loaders
            .get(&class.loader.number)
            .map_or("?", |name| name)
            .into();
        for method in class.methods {
            let symbol = Method {
                loader: loader.clone(),
                class: class.name.clone(),
                name: method.name,
                descriptor: method.descriptor,
                file: class.source_file.clone(),
                line: method.line.map(u32::from),
                loaders: class.loaders,
            };
            symbols.define(method.id, symbol);
        }
        for site in class.sites {
            let bytes = match site.is_array {
                true => tracker.sizes.knows_arrays().then_some(SiteBytes::Summed),
                false => tracker
                    .sizes
                    .instance(class.loader.number, &site.type_name)
                    .map(SiteBytes::Each),
            };
            let site_of = AllocationSite {
                method: site.method,
                line: site.line.map(u32::from),
                bci: site.bci,
                type_name: site.type_name,
                bytes: bytes.unwrap_or(SiteBytes::Unknown),
            };
            symbols.define_site(site.id, site_of);
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::unseen;

    #[test]
    fn what_the_vm_makes_is_promised_only_where_it_tells() {
        assert!(unseen(true).contains("reflection) are not counted once the code is compiled"));
        assert!(unseen(false).contains("reflection, clone() and JNI are not counted: this JVM"));
    }
}
