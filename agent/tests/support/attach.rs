//! Loads the agent into a running JVM by the JVM's attach protocol, as `loadhook attach` does.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use loadhook_settings::attach::{self, AnswerLine};
use loadhook_testkit::process::PATIENCE;

/// Waits until `condition` returns something.
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(result) = condition() {
            return Ok(result);
        }
        ensure!(began.elapsed() < PATIENCE, "{what} does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Loads the agent into a JVM with a text as its options. Returns the number that the agent returned.
pub(crate) fn load(jvm: &Child, text: &str) -> Result<i32> {
    let mut socket = connect(jvm.id())?;
    let library = super::agent()?;
    let request = format!("1\0load\0{}\0true\0{text}\0", library.display());
    socket.write_all(request.as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    // JDK 11 answers with the number alone in the second line.
    let code = answer.lines().nth(1).unwrap_or_default();
    let code = code.strip_prefix("return code: ").unwrap_or(code);
    code.trim().parse().with_context(|| format!("{answer:?}"))
}

/// Returns whether a process has a handler for SIGQUIT.
fn handles_quit(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (3 - 1) != 0)
}

fn connect(process: u32) -> Result<UnixStream> {
    let socket = format!("/tmp/.java_pid{process}");
    let trigger = PathBuf::from(format!("/proc/{process}/cwd/.attach_pid{process}"));
    // The signal ends a JVM that does not handle it yet.
    wait_for("the JVM's handler", || handles_quit(process).then_some(()))?;
    let stream = wait_for("the JVM's socket", || {
        match UnixStream::connect(&socket) {
            Ok(stream) => return Some(Ok(stream)),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused
                ) => {}
            Err(error) => return Some(Err(error)),
        }
        if !trigger.exists() {
            let _ = File::create(&trigger);
            let _ = Command::new("kill")
                .args(["-QUIT", &process.to_string()])
                .status();
        }
        None
    })?;
    let _ = fs::remove_file(trigger);
    Ok(stream?)
}

/// An answer to an attached agent's command, which holds the lock on it.
pub(crate) struct Answer {
    file: File,
    name: PathBuf,
}

impl Answer {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let name = folder.join("answer");
        let file = File::create(&name)?;
        file.lock()?;
        Ok(Answer { file, name })
    }

    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    pub(crate) fn lines(&self) -> Result<Vec<AnswerLine>> {
        Ok(attach::lines(&fs::read_to_string(&self.name)?).collect())
    }

    /// Gives the lock back, as happens when a command is killed.
    pub(crate) fn give_up(&self) -> Result<()> {
        Ok(self.file.unlock()?)
    }

    /// Waits for the agent's last line, and returns the name of the profile.
    pub(crate) fn wait_until_left(&self) -> Result<PathBuf> {
        let lines = wait_for("the agent's end", || {
            let lines = self.lines().ok()?;
            (lines.last() == Some(&AnswerLine::Left)).then_some(lines)
        })?;
        let profile = lines.iter().find_map(|line| match line {
            AnswerLine::Profile(file) => Some(PathBuf::from(file)),
            _ => None,
        });
        let Some(profile) = profile else {
            bail!("no profile: {lines:?}");
        };
        Ok(profile)
    }
}
