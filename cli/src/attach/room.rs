//! The private folder in `/tmp` of the process, through which the agent and this command exchange
//! files. The folder is removed at the end, also after an error.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, bail};
use loadhook_settings::AgentOptions;
use loadhook_text::printable;
use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::agent_path::{AGENT, utf8};
use crate::jvm::{Jvm, LONGEST_ARGUMENT, StagingDir};

/// Name of the file to which the agent appends its answer.
const ANSWER: &str = "answer";

/// Name of the file with the name and the process id of this command.
const COMMAND: &str = "command";

/// Name of the file that the agent writes as the profile.
const PROFILE: &str = "profile.pb.gz";

/// Name of the file of patterns.
const PATTERNS: &str = "include";

/// Maximum number of bytes of an answer that are read. Answers are short, but another user may own
/// the process.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Maximum number of bytes that are read of the name of another command.
const LONGEST_COMMAND: u64 = 100;

/// The subcommand that never shares an agent.
pub(super) const ATTACH: &str = "attach";

/// Maximum number of bytes of a profile that are read, because another user may own the process.
const LONGEST_PROFILE: u64 = 1 << 30;

/// The folder, and the files in it. The folder is removed through the folder `/tmp` that the [`Jvm`] holds open, so a
/// room must be dropped before its `Jvm`.
pub(super) struct Room<'j> {
    staging: StagingDir,
    _jvm: &'j Jvm,
    /// The folder's path as the process sees it.
    as_seen: PathBuf,
    /// The answer. This command holds a lock on it, by which the agent sees that the command lives.
    answer: File,
    /// The agent's library, as the process sees it.
    pub(super) library: PathBuf,
}

impl<'j> Room<'j> {
    /// Makes the folder. `command` is the subcommand that is running, such as `attach`.
    pub(super) fn new(jvm: &'j Jvm, library: &Path, command: &str) -> Result<Room<'j>> {
        let pid = jvm.pid();
        let failed = || {
            format!(
                "cannot make a folder in /tmp of process {pid} (is it full, or mounted read-only?)"
            )
        };
        let ours = jvm.tmp();
        let prefix = format!(".loadhook-{}-", jvm.own_pid());
        refuse_other_command(&ours, &prefix, jvm, command)?;
        let staging =
            StagingDir::new(&ours, OsStr::new(&prefix), jvm.user()).with_context(failed)?;
        let as_seen = Path::new("/tmp").join(staging.name());
        // Other commands read this file only beside an answer that is locked.
        let named = staging
            .create(COMMAND)
            .and_then(|mut file| write!(file, "loadhook {command} (process {})", process::id()));
        named.with_context(failed)?;
        let answer = locked(&staging).with_context(failed)?;
        let is_seen = jvm.user() == geteuid().as_raw()
            && fs::metadata(library).is_ok_and(|found| jvm.sees(library, &found));
        let name = library.file_name().unwrap_or_default();
        // The JVM never unloads a library, and a second copy would not know the tracker of the first.
        let library = if let Some(loaded) = jvm.loaded(AGENT) {
            loaded
        } else if is_seen {
            library.to_owned()
        } else {
            let copied = staging.add(&mut File::open(library)?, name);
            copied.with_context(failed)?;
            as_seen.join(name)
        };
        Ok(Room {
            staging,
            _jvm: jvm,
            as_seen,
            answer,
            library,
        })
    }

    /// Adds the names of the files in the folder to the agent's options. Patterns that do not fit into
    /// the attach command go into a file.
    pub(super) fn fill(&self, options: &mut AgentOptions) -> Result<()> {
        let seen = |name: &str| Ok::<_, anyhow::Error>(utf8(&self.as_seen.join(name))?.to_owned());
        options.file = seen(PROFILE)?;
        options.answer = Some(seen(ANSWER)?);
        if options.to_string().len() > LONGEST_ARGUMENT && !options.include.is_empty() {
            let patterns = options
                .include
                .drain(..)
                .map(|pattern| format!("{}\n", pattern.text()));
            let patterns: String = patterns.collect();
            let mut file = self.staging.create(PATTERNS)?;
            file.write_all(patterns.as_bytes())?;
            options.include_files = vec![seen(PATTERNS)?];
        }
        if options.to_string().len() > LONGEST_ARGUMENT {
            bail!(
                "a running JVM takes options of at most {LONGEST_ARGUMENT} bytes; give fewer patterns to --exclude"
            );
        }
        Ok(())
    }

    /// Reads the bytes that the agent has appended to its answer since the last call.
    pub(super) fn read_answer(&self, answer: &mut Vec<u8>) -> io::Result<()> {
        let room = LONGEST_ANSWER.saturating_sub(answer.len() as u64);
        (&self.answer).take(room).read_to_end(answer).map(drop)
    }

    /// Returns whether the agent has removed the answer. The agent removes the answer if it leaves
    /// while the disk has no room for the last line of the answer.
    pub(super) fn is_answer_removed(&self) -> bool {
        self.answer
            .metadata()
            .is_ok_and(|answer| answer.nlink() == 0)
    }

    /// Returns the profile, if the agent has written one.
    pub(super) fn profile(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        match self.staging.open(PROFILE) {
            Ok(file) => {
                file.take(LONGEST_PROFILE + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > LONGEST_PROFILE {
                    return Err(io::Error::other(
                        "the profile has more than 1 GiB; profile again with a lower --max-nodes",
                    ));
                }
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the attach command that loads the agent's library with the agent's options `text`.
pub(super) fn order<'a>(library: &'a Path, text: &'a str) -> [&'a OsStr; 4] {
    // The path of the library is absolute.
    [
        "load".as_ref(),
        library.as_os_str(),
        "true".as_ref(),
        text.as_ref(),
    ]
}

/// Returns the reason why this `command` cannot attach while the command `other` has an agent in the process.
fn watched_by(pid: u32, other: &str, command: &str) -> String {
    if command == ATTACH {
        return format!("process {pid} is watched by {other}; wait until that has ended");
    }
    // This command shares an agent that takes orders, so it has found none.
    format!("{other} is attaching to process {pid}, or leaving it; try again in a moment")
}

/// Creates the answer. The file is locked before it gets its name, so that no other command takes
/// it for an abandoned answer.
fn locked(staging: &StagingDir) -> io::Result<File> {
    let unnamed = "answer.new";
    let answer = staging.create(unnamed)?;
    answer.lock()?;
    fs::rename(staging.path().join(unnamed), staging.path().join(ANSWER))?;
    Ok(answer)
}

/// Removes the folders of commands that were killed. Fails if another command than this `command` watches the process.
/// In a container each command brings a copy of the library, so the agents in these copies do not
/// know each other.
fn refuse_other_command(tmp: &Path, prefix: &str, jvm: &Jvm, command: &str) -> Result<()> {
    for entry in fs::read_dir(tmp)?.flatten() {
        let is_ours = entry.file_name().as_bytes().starts_with(prefix.as_bytes())
            && entry
                .metadata()
                .is_ok_and(|entry| [jvm.user(), geteuid().as_raw()].contains(&entry.uid()));
        if !is_ours {
            continue;
        }
        let Ok(holder) = holder(&entry.path()) else {
            continue;
        };
        if let Some(other) = holder {
            bail!("{}", watched_by(jvm.pid(), &printable(&other), command));
        }
        let _ = fs::remove_dir_all(entry.path());
    }
    Ok(())
}

/// Returns the name of the command that holds the answer in this folder; `None` if the command has ended. Fails if there
/// is no answer.
fn holder(folder: &Path) -> io::Result<Option<String>> {
    let open = |name| {
        let mut options = File::options();
        // If the file is a pipe, opening it must not block.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let options = options.read(true).custom_flags(flags.bits().cast_signed());
        options.open(folder.join(name))
    };
    // A shared lock, so that two commands that look at an abandoned answer do not take each other for its holder.
    if open(ANSWER)?.try_lock_shared().is_ok() {
        return Ok(None);
    }
    let mut name = String::new();
    let read = open(COMMAND).and_then(|it| it.take(LONGEST_COMMAND).read_to_string(&mut name));
    if read.is_err() || name.is_empty() {
        name = "another loadhook command".to_owned();
    }
    Ok(Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_answer_has_the_name_of_its_holder() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let folder = folder.path();
        assert!(holder(folder).is_err());
        let answer = File::create(folder.join(ANSWER))?;
        assert_eq!(holder(folder)?, None);
        answer.lock()?;
        let unnamed = Some("another loadhook command".to_owned());
        assert_eq!(holder(folder)?, unnamed);
        fs::write(folder.join(COMMAND), "loadhook trace (process 12)")?;
        assert_eq!(
            holder(folder)?.as_deref(),
            Some("loadhook trace (process 12)")
        );
        // Another user may own the process, and write this file.
        fs::write(folder.join(COMMAND), [0xff; 10])?;
        assert_eq!(holder(folder)?, unnamed);
        fs::write(folder.join(COMMAND), "a".repeat(1000))?;
        assert_eq!(holder(folder)?.map(|it| it.len()), Some(100));
        // Dropping the file would leave the lock to a child process that another test is starting.
        answer.unlock()?;
        assert_eq!(holder(folder)?, None);
        Ok(())
    }

    /// `attach` needs an agent of its own. The other commands share one as soon as it takes orders.
    #[test]
    fn the_remedy_depends_on_the_command() {
        let other = "loadhook trace (process 12)";
        assert_eq!(
            watched_by(4711, other, ATTACH),
            "process 4711 is watched by loadhook trace (process 12); wait until that has ended"
        );
        assert_eq!(
            watched_by(4711, other, "top"),
            "loadhook trace (process 12) is attaching to process 4711, or leaving it; try again in a moment"
        );
    }
}
