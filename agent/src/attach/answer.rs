//! The answer of an attached agent: a file to which the agent appends lines. The command that attached the agent holds
//! a lock on the file until the command ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use loadhook_settings::attach::AnswerLine;
use rustix::process::geteuid;

use crate::locks::lock;

/// The names of private folders begin with this. `loadhook attach` makes a private folder for each agent that it loads.
const PRIVATE_FOLDER: &str = ".loadhook-";

/// A file to which lines are appended.
pub(super) struct Answer {
    file: File,
    name: PathBuf,
}

impl Answer {
    /// Opens the answer's file, which must exist.
    pub(super) fn open(name: &str) -> io::Result<Answer> {
        check_folder(Path::new(name))?;
        let mut options = OpenOptions::new();
        let options = options.append(true).read(true);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(name)?;
        Ok(Answer {
            file,
            name: PathBuf::from(name),
        })
    }

    /// Appends a line.
    pub(super) fn write(&self, line: &AnswerLine) -> io::Result<()> {
        // Each line is one write, so that a reader sees whole lines.
        (&self.file).write_all(format!("{line}\n").as_bytes())
    }

    /// Returns whether no command waits for the answer any more. A command that waits holds a lock on the file.
    fn is_abandoned(&self) -> bool {
        let is_free = self.file.try_lock_shared().is_ok();
        if is_free {
            // If unlocking fails, the lock ends when the file is closed.
            let _ = self.file.unlock();
        }
        is_free
    }

    /// Removes the file. The command then sees that the agent has left, although the disk had no room for the last
    /// line.
    fn remove(&self) {
        if check_folder(&self.name).is_ok() {
            // If this fails, the command waits until it gets a signal.
            let _ = fs::remove_file(&self.name);
        }
    }

    /// Removes the private folder, with the library and the profile in it, if the command that made it was killed. A
    /// command that still runs removes its folder itself.
    fn remove_abandoned_folder(&self) {
        if let Some(folder) = private_folder(&self.name).filter(|_| self.is_abandoned()) {
            // If this fails, the next command removes the folder.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Returns the folder of a file, if it is a private folder that a command has made for one agent.
fn private_folder(file: &Path) -> Option<&Path> {
    let folder = file.parent()?;
    let name = folder.file_name()?.to_string_lossy();
    name.starts_with(PRIVATE_FOLDER).then_some(folder)
}

/// Fails if a file is in a private folder, and this folder is gone or belongs to another user. `loadhook attach` may
/// end early and remove its folder. Then any user could make a folder of the same name, with links to other files.
pub(crate) fn check_folder(file: &Path) -> io::Result<()> {
    let Some(folder) = private_folder(file) else {
        return Ok(());
    };
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == geteuid().as_raw() {
        Ok(())
    } else {
        Err(io::Error::other(
            "its folder was replaced, or belongs to another user; run the command again",
        ))
    }
}

/// The answer of the agent in this JVM; `None` if no command asked for an answer.
static ANSWER: Mutex<Option<Arc<Answer>>> = Mutex::new(None);

fn answer() -> Option<Arc<Answer>> {
    lock(&ANSWER).clone()
}

/// Begins an answer in the file `name`, which must exist.
pub(super) fn begin(name: &str) -> io::Result<()> {
    let answer = Answer::open(name)?;
    *lock(&ANSWER) = Some(Arc::new(answer));
    Ok(())
}

/// Ends the answer. `is_told` is false if the last line of the answer could not be written.
pub(super) fn end(is_told: bool) {
    let ended = lock(&ANSWER).take();
    if let Some(answer) = ended {
        if !is_told {
            answer.remove();
        }
        answer.remove_abandoned_folder();
    }
}

/// Appends a line to the answer. Returns false if there is no answer, or if the line cannot be written.
pub(crate) fn write(line: &AnswerLine) -> bool {
    answer().is_some_and(|answer| answer.write(line).is_ok())
}

/// Returns whether there is an answer, but no command waits for it any more.
pub(super) fn is_abandoned() -> bool {
    answer().is_some_and(|answer| answer.is_abandoned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_abandoned_when_its_lock_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("answer");
        let name = name.to_str().expect("a name");
        assert!(Answer::open(name).is_err(), "the file must exist");
        let asker = File::create(name).expect("a file");
        asker.lock().expect("a lock");
        let answer = Answer::open(name).expect("an answer");
        assert!(!answer.is_abandoned());
        for line in [AnswerLine::Note("a\nb".to_owned()), AnswerLine::Left] {
            answer.write(&line).expect("the line is written");
        }
        drop(asker);
        assert!(answer.is_abandoned());
        let lines = fs::read_to_string(name).expect("an answer");
        assert_eq!(lines, "note a\\nb\nleft\n");
        answer.remove_abandoned_folder();
        assert!(folder.path().exists(), "the folder is not private");
        answer.remove();
        assert!(!fs::exists(name).expect("the folder can be read"));
    }

    #[test]
    fn a_private_folder_is_no_link() {
        let tmp = tempfile::tempdir().expect("a folder");
        let name = tmp.path().join(format!("{PRIVATE_FOLDER}1-x"));
        let file = name.join("profile");
        assert!(check_folder(&file).is_err(), "it is gone");
        std::os::unix::fs::symlink(tmp.path(), &name).expect("a link");
        assert!(check_folder(&file).is_err(), "it is a link");
        fs::remove_file(&name).expect("the link is removed");
        fs::create_dir(&name).expect("a folder");
        assert!(check_folder(&file).is_ok());
        let other = tmp.path().join("answer");
        std::os::unix::fs::symlink(&other, name.join("answer")).expect("a link");
        File::create(&other).expect("a file");
        let answer = name.join("answer");
        assert!(Answer::open(answer.to_str().expect("a name")).is_err());
    }

    #[test]
    fn the_folder_of_a_killed_command_is_removed() {
        let tmp = tempfile::tempdir().expect("a folder");
        let folder = tmp.path().join(format!("{PRIVATE_FOLDER}1-x"));
        fs::create_dir(&folder).expect("a folder");
        let name = folder.join("answer");
        let asker = File::create(&name).expect("a file");
        asker.lock().expect("a lock");
        let answer = Answer::open(name.to_str().expect("a name")).expect("an answer");
        answer.remove_abandoned_folder();
        assert!(folder.exists(), "the command lives");
        drop(asker);
        answer.remove_abandoned_folder();
        assert!(!folder.exists());
    }
}
