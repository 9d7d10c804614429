//! Writes profiles to the agent's file, and appends their names to the manifest.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use loadhook_profile::format::hprof::MonitorTables;
use loadhook_profile::format::{self, hprof, pprof};
use loadhook_profile::{Profile, since};
use loadhook_settings::attach::AnswerLine;
use loadhook_settings::{HprofCpu, HprofOptions};
use thiserror::Error;

use super::assembly::{AssemblyError, Moment, Sources};
use super::hprof_parts::{detail, heap};
use super::stream::{self, Answer, StreamError};
use super::{file, manifest};
use crate::attach::answer;
use crate::diagnostics;
use crate::heap_dump::HeapFile;
use crate::jvm::jni::Jni;
use crate::locks::lock;
use crate::monitors::WaitsSoFar;
use crate::net::{Connection, NotSent};
use crate::options::Options;

/// The reason why a profile was not written.
#[derive(Debug, Error)]
pub(crate) enum WriteError {
    /// The profile could not be assembled.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// The file cannot be written.
    #[error("{}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// Writes a profile in the format that the options choose. Adds the heap dump, if there is one.
fn content(
    options: &Options,
    profile: &Profile,
    monitors: Option<&MonitorTables>,
    heap: Option<&HeapFile<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(chosen) = &options.settings.hprof else {
        return pprof::write(profile, out);
    };
    let detail = detail(chosen, heap.is_some());
    let options = format::Options::default();
    if chosen.cpu == Some(HprofCpu::Old) {
        return hprof::write_old(profile, out);
    }
    if chosen.binary {
        let binary = hprof::begin_binary(profile, monitors, &detail, &options, out)?;
        match heap {
            Some(heap) => binary.finish_with(heap.open()?),
            None => binary.finish(),
        }
    } else {
        let mut text = hprof::begin_text(profile, monitors, &detail, &options, out)?;
        if let Some(heap) = heap {
            heap.lines(&hprof::date(profile), |line| text.line(line))?;
        }
        text.finish()
    }
}

/// Sends the last answer to the address of `net=`.
fn send_last(sources: &Sources<'_>, jni: Jni<'_>, connection: &Connection) {
    match stream::send(sources, jni, Moment::End, Answer::whole(sources)) {
        Ok(()) if sources.options().settings.quiet => {}
        Ok(()) => diagnostics::line(&format!("profile sent to {}", connection.address)),
        // The end of the connection was reported already.
        Err(StreamError::NotSent(NotSent::Closed)) => {}
        Err(error) => diagnostics::line(&format!(
            "net=: the last answer was not sent completely: {error}"
        )),
    }
}

/// A profile that has been written.
struct Written {
    file: PathBuf,
    /// The whole profile since the start.
    profile: Profile,
    /// The waits that were recorded so far.
    waits: Option<WaitsSoFar>,
}

/// Writes the profiles of this JVM.
#[derive(Default)]
pub(crate) struct ProfileWriter {
    /// The name under which the agent's profile is in the manifest, once it was appended.
    noted: OnceLock<PathBuf>,
    /// Number of files that signals have requested so far.
    requested: AtomicU32,
    /// The profile at the last file that a signal has requested. As in HPROF, later files begin to count there.
    last_requested: Mutex<Option<Profile>>,
    /// Profiles that the trackers of rewritten archives have written in this JVM.
    others: Mutex<BTreeSet<PathBuf>>,
}

impl ProfileWriter {
    /// Writes the last profile. An error is reported, and does not affect the program.
    pub(crate) fn write_last(&self, sources: &Sources<'_>, jni: Jni<'_>) {
        let options = sources.options();
        let hprof = options.settings.hprof.as_ref();
        if hprof.is_some_and(|hprof| !hprof.at_exit) {
            return;
        }
        let reserve = &sources.tracker.reserve;
        let collect = || sources.jvmti.collect_garbage().is_ok();
        if sources.has_counts() && !reserve.has_room_at_exit(jni, collect) {
            diagnostics::line("no profile: the heap is full; give the JVM more heap (-Xmx)");
            return;
        }
        if let Some(connection) = sources.connection {
            return send_last(sources, jni, connection);
        }
        match self.write(sources, jni, Moment::End, None) {
            Ok(Written { file, .. })
                if answer::write(&AnswerLine::Profile(file.display().to_string())) => {}
            Ok(_) if options.settings.quiet => {}
            Ok(Written { file, .. }) => {
                let others = lock(&self.others);
                let others = others.iter().map(|other| other.display().to_string());
                let others: Vec<String> = others.collect();
                let and = match &others[..] {
                    [] => String::new(),
                    _ => format!("; profiles of rewritten archives: {}", others.join(", ")),
                };
                diagnostics::line(&format!("profile written to {}{and}", file.display()));
            }
            Err(error) => diagnostics::line(&format!("no profile: {error}")),
        }
    }

    /// Writes a profile while the program runs. If the JVM is about to end, writes none and returns no error, because
    /// the last profile will contain all data.
    pub(crate) fn write_snapshot(
        &self,
        sources: &Sources<'_>,
        jni: Jni<'_>,
    ) -> Result<(), WriteError> {
        match self.write(sources, jni, Moment::Running, None) {
            Err(error) if !sources.gate.is_ending() => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes a profile of all data recorded so far to another file, while the program runs. The file must be a regular
    /// file.
    pub(crate) fn write_copy(
        &self,
        sources: &Sources<'_>,
        jni: Jni<'_>,
        file: &Path,
    ) -> Result<(), WriteError> {
        let written = self.write(sources, jni, Moment::Running, Some(file));
        written.map(drop)
    }

    /// Writes a file with HPROF's tables while the program runs. Its name has the number of the request, so that the
    /// last file does not replace it. If the agent's file is a device, writes to the device. Later files have only what
    /// happens after this one.
    pub(crate) fn write_on_request(&self, sources: &Sources<'_>, jni: Jni<'_>) {
        let options = sources.options();
        let Some(hprof) = &options.settings.hprof else {
            return;
        };
        let next = || {
            let number = self.requested.fetch_add(1, Ordering::Relaxed) + 1;
            PathBuf::from(hprof.marked(&options.file.to_string_lossy(), number))
        };
        let other = (!file::is_device(&options.file)).then(|| {
            let mut file = next();
            while !hprof.force && file.symlink_metadata().is_ok() {
                file = next();
            }
            file
        });
        match self.write(sources, jni, Moment::Running, other.as_deref()) {
            Ok(written) => {
                if let (Some(monitors), Some(waits)) = (sources.monitors, written.waits) {
                    monitors.begin_anew(waits);
                }
                *lock(&self.last_requested) = Some(written.profile);
                if !options.settings.quiet {
                    diagnostics::line(&format!("profile written to {}", written.file.display()));
                }
            }
            // This error is not reported, because the last file will contain all data.
            Err(_) if sources.gate.is_ending() => {}
            Err(error) => diagnostics::line(&format!("no profile: {error}")),
        }
    }

    /// Returns whether `other` is the file of the agent's own profile. If so, the tracker of a rewritten archive must
    /// not write to this file.
    pub(crate) fn claims(&self, options: &Options, other: &Path) -> bool {
        let own = self.noted.get().unwrap_or(&options.file);
        file::is_same(own, other)
    }

    /// Notes the file of a profile that the tracker of a rewritten archive has written in this JVM.
    pub(crate) fn note_other(&self, options: &Options, file: &Path) {
        let is_new = lock(&self.others).insert(file.to_owned());
        if let Some(manifest) = options.manifest.as_ref().filter(|_| is_new) {
            manifest::note_of_other(manifest, file);
        }
    }

    /// Writes a profile of the time since the last request. The file is `other`, which must be a regular file, or else
    /// the agent's file.
    fn write(
        &self,
        sources: &Sources<'_>,
        jni: Jni<'_>,
        moment: Moment,
        other: Option<&Path>,
    ) -> Result<Written, WriteError> {
        let goes_on = || moment == Moment::End || !sources.gate.is_ending();
        let whole = sources.profile(jni, moment, goes_on)?;
        let mut profile = match &*lock(&self.last_requested) {
            Some(last) => Cow::Owned(since(last, &whole)),
            None => Cow::Borrowed(&whole),
        };
        let (monitors, waits) = sources
            .monitors
            .map(|monitors| monitors.tables(sources.instrumentation, jni, profile.to_mut()))
            .unzip();
        let options = sources.options();
        let file = other.unwrap_or_else(|| self.noted.get().unwrap_or(&options.file));
        let put = |heap: Option<&HeapFile<'_>>| {
            let content =
                |out: &mut dyn Write| content(options, &profile, monitors.as_ref(), heap, out);
            if other.is_some() {
                file::replace(file, content, goes_on).map(|()| file.to_owned())
            } else {
                self.put(options, file, content, goes_on)
            }
        };
        let write = || {
            answer::check_folder(file)?;
            let hprof = options.settings.hprof.as_ref().filter(|hprof| hprof.dump);
            let dump = |hprof: &HprofOptions| heap(sources, jni, file, !hprof.binary, &goes_on);
            let Some(heap) = hprof.and_then(dump) else {
                return put(None);
            };
            match put(Some(&heap)) {
                Err(error) if goes_on() => {
                    diagnostics::line(&heap.not_added(error).to_string());
                    put(None)
                }
                written => written,
            }
        };
        let written = write().map_err(|error| WriteError::Io {
            file: file.to_owned(),
            error,
        })?;
        Ok(Written {
            file: written,
            profile: whole,
            waits,
        })
    }

    /// Writes the agent's file. The first time, appends the file's name to the manifest. Returns the name.
    pub(crate) fn put(
        &self,
        options: &Options,
        file: &Path,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        goes_on: impl Fn() -> bool,
    ) -> io::Result<PathBuf> {
        let Some(pending) = file::write(file, content, goes_on)? else {
            return Ok(file.to_owned());
        };
        match &options.manifest {
            Some(manifest) if self.noted.get().is_none() => {
                let noted = manifest::note(manifest, file, |file| pending.put(file))?;
                Ok(self.noted.get_or_init(|| noted).clone())
            }
            _ => pending.put(file).map(|()| file.to_owned()),
        }
    }
}
