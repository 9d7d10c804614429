//! Writes profiles to the agent's file, and notes them in the manifest.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use loadhook_profile::Profile;
use loadhook_profile::format::{self, hprof, pprof};
use loadhook_settings::attach::AnswerLine;
use thiserror::Error;

use super::assembly::{AssemblyError, Moment, Sources};
use super::{file, manifest};
use crate::attach::answer;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::locks::lock;
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

/// Writes a profile in the format that the options choose.
fn content(options: &Options, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let Some(chosen) = &options.settings.hprof else {
        return pprof::write(profile, out);
    };
    let detail = hprof::Detail {
        depth: usize::try_from(chosen.depth).unwrap_or(usize::MAX),
        cutoff: chosen.cutoff.share(),
        by_thread: chosen.thread,
        lines: chosen.lineno,
    };
    let options = format::Options::default();
    if chosen.binary {
        hprof::begin_binary(profile, &detail, &options, out)?.finish()
    } else {
        hprof::write(profile, &detail, &options, out)
    }
}

/// Writes the profiles of this JVM.
#[derive(Default)]
pub(crate) struct ProfileWriter {
    /// The name of the profile in the manifest.
    noted: OnceLock<PathBuf>,
    /// Profiles that the trackers of rewritten archives have written in this JVM.
    others: Mutex<BTreeSet<PathBuf>>,
}

impl ProfileWriter {
    /// Writes the last profile. A failure is reported and changes nothing for the program.
    pub(crate) fn write_last(&self, sources: &Sources<'_>, jni: Jni<'_>) {
        let options = sources.options();
        let reserve = &sources.tracker.reserve;
        if sources.has_counts() && !reserve.has_room_at_exit(sources.jvmti, jni) {
            diagnostics::line("no profile: the heap is full; give the JVM more heap (-Xmx)");
            return;
        }
        match self.write(sources, jni, Moment::End) {
            Ok(file) if answer::write(&AnswerLine::Profile(file.display().to_string())) => {}
            Ok(_) if options.settings.quiet => {}
            Ok(file) => {
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

    /// Writes a profile while the program runs. It is no error if the JVM is about to end, because
    /// the last profile will contain everything.
    pub(crate) fn write_snapshot(
        &self,
        sources: &Sources<'_>,
        jni: Jni<'_>,
    ) -> Result<(), WriteError> {
        match self.write(sources, jni, Moment::Running) {
            Err(error) if !sources.gate.is_ending() => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes a profile of all so far to another file, while the program runs.
    pub(crate) fn write_copy(
        &self,
        sources: &Sources<'_>,
        jni: Jni<'_>,
        file: &Path,
    ) -> Result<(), WriteError> {
        let goes_on = || !sources.gate.is_ending();
        let profile = sources.profile(jni, Moment::Running, goes_on)?;
        let content = |out: &mut dyn Write| content(sources.options(), &profile, out);
        let put = || {
            answer::check_folder(file)?;
            match file::write(file, content, goes_on)? {
                Some(pending) => pending.put(file),
                None => Ok(()),
            }
        };
        put().map_err(|error| WriteError::Io {
            file: file.to_owned(),
            error,
        })
    }

    /// Returns whether the agent writes its own profile to a file, so that no tracker may write to
    /// it.
    pub(crate) fn claims(&self, options: &Options, other: &Path) -> bool {
        let own = self.noted.get().unwrap_or(&options.file);
        file::is_same(own, other)
    }

    /// Notes a profile that the tracker of a rewritten archive has written in this JVM.
    pub(crate) fn note_other(&self, options: &Options, file: &Path) {
        let is_new = lock(&self.others).insert(file.to_owned());
        if let Some(manifest) = options.manifest.as_ref().filter(|_| is_new) {
            manifest::note_of_other(manifest, file);
        }
    }

    /// Writes a profile and returns the name of its file.
    fn write<'a>(
        &'a self,
        sources: &Sources<'a>,
        jni: Jni<'_>,
        moment: Moment,
    ) -> Result<&'a Path, WriteError> {
        let goes_on = || moment == Moment::End || !sources.gate.is_ending();
        let profile = sources.profile(jni, moment, goes_on)?;
        let options = sources.options();
        let noted = self.noted.get();
        let file = noted.unwrap_or(&options.file).as_path();
        let put = || {
            answer::check_folder(file)?;
            let content = |out: &mut dyn Write| content(options, &profile, out);
            let Some(pending) = file::write(file, content, goes_on)? else {
                return Ok(file);
            };
            match &options.manifest {
                Some(manifest) if noted.is_none() => {
                    let noted = manifest::note(manifest, file, |file| pending.put(file))?;
                    Ok(self.noted.get_or_init(|| noted).as_path())
                }
                _ => pending.put(file).map(|()| file),
            }
        };
        put().map_err(|error| WriteError::Io {
            file: file.to_owned(),
            error,
        })
    }
}
