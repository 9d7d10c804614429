//! The profile is written when the VM ends, and before if snapshots are asked
//! for.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Once};

use loadhook_profile::snapshot::{Decoder, SnapshotError};
use loadhook_profile::{Method, Profile, Symbols, ThreadKind, ThreadTree};

use crate::agent::{Agent, Tracker};
use crate::ffi::jni::Jni;
use crate::options::{Clock, Options, Timing};
use crate::tell;

/// Says now, before the program runs, if the profile could not be written.
pub(crate) fn check_file(file: &Path) -> io::Result<()> {
    let Place::File(target) = place(file)? else {
        return Ok(());
    };
    let beside = beside(&target);
    create(&beside).map(drop)?;
    fs::remove_file(&beside)
}

/// Takes the last snapshot and writes the profile. A failure is told and
/// changes nothing for the program.
pub(crate) fn write_profile(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) {
    let options = agent.hook.options();
    if !tracker.heap.can_give(jni) {
        tell::line("no profile: the heap is full");
        return;
    }
    let written =
        profile(agent, jni, tracker).and_then(|profile| write_and_note(options, &profile));
    match written {
        Ok(()) if options.quiet => {}
        Ok(()) => tell::line(&format!("profile written to {}", options.file.display())),
        Err(error) => tell::line(&format!("no profile: {error}")),
    }
}

/// Writes what was counted so far, unless the VM is about to end: then the
/// last profile has it.
pub(crate) fn write_snapshot(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) -> Result<(), String> {
    let profile = profile(agent, jni, tracker)?;
    if agent.turns.is_ending() {
        return Ok(());
    }
    write_and_note(agent.hook.options(), &profile)
}

fn write_and_note(options: &Options, profile: &Profile) -> Result<(), String> {
    write(&options.file, profile)
        .map_err(|error| format!("{}: {error}", options.file.display()))?;
    static NOTED: Once = Once::new();
    NOTED.call_once(|| note(options));
    Ok(())
}

/// Adds the profile's name to the manifest, whole even when several JVMs do
/// so at once: a short write to a file opened for appending.
fn note(options: &Options) {
    let Some(manifest) = &options.manifest else {
        return;
    };
    // A name can have lines.
    let mut name = options.file.as_os_str().as_bytes().to_vec();
    name.push(0);
    let noted = OpenOptions::new()
        .append(true)
        .create(true)
        .open(manifest)
        .and_then(|mut file| file.write_all(&name));
    // The command that waited for the list has ended, and took it along.
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    if let Err(error) = noted
        && !gone(&error)
    {
        tell::line(&format!("{}: {error}", manifest.display()));
    }
}

fn profile(agent: &Agent, jni: Jni<'_>, tracker: &Tracker) -> Result<Profile, String> {
    let mut decoder = Decoder::default();
    let mut fault: Option<SnapshotError> = None;
    tracker
        .snapshot(jni, |words| {
            if fault.is_none() {
                fault = decoder.push(words).err();
            }
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
        && options.timing != Timing::Count
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

/// Where a profile goes.
enum Place {
    /// Replaced whole, or made.
    File(PathBuf),
    /// `/dev/null` and its like: written to, never replaced.
    Device(PathBuf),
}

/// Follows links, so that a link stays one, though it leads to nothing yet.
fn place(file: &Path) -> io::Result<Place> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| behind_links(file));
    let Ok(existing) = fs::metadata(&target) else {
        return Ok(Place::File(target));
    };
    let kind = existing.file_type();
    if kind.is_file() {
        Ok(Place::File(target))
    } else if kind.is_char_device() {
        Ok(Place::Device(target))
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        // Opening a pipe waits for its reader.
        Err(io::Error::other("not a file"))
    }
}

/// Where links lead, though there be nothing yet.
fn behind_links(file: &Path) -> PathBuf {
    let mut target = file.to_owned();
    // As many as Linux follows; none where something without a name is behind.
    for _ in 0..40 {
        match fs::read_link(&target) {
            // An absolute one replaces all.
            Ok(link) if fs::metadata(file).is_err() => {
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            _ => break,
        }
    }
    target
}

/// Only the user's own: a profile tells what a program does. Nothing is
/// followed and nothing shared that lies there.
fn create(path: &Path) -> io::Result<fs::File> {
    let _ = fs::remove_file(path);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}

/// Writes a file beside `file` and renames it: there is a whole profile or
/// what was there before.
fn write(file: &Path, profile: &Profile) -> io::Result<()> {
    let target = match place(file)? {
        Place::File(target) => target,
        Place::Device(device) => {
            let out = OpenOptions::new().write(true).open(device)?;
            return write_to(out, profile);
        }
    };
    let beside = beside(&target);
    let written = create(&beside)
        .and_then(|out| write_to(out, profile))
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_to(out: fs::File, profile: &Profile) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    loadhook_profile::format::pprof::write(profile, &mut out)?;
    out.flush()
}
