//! Loads the agent into a running JVM by the JVM's attach protocol, as `loadhook attach` does.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Lines, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use loadhook_settings::attach::{self, AnswerLine};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process::{Limit, PATIENCE, limit};
use tempfile::TempDir;

/// Waits until `condition` returns a value, and returns that value.
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
    load_library(jvm, &super::agent()?, text)
}

/// Loads any native agent into a JVM, like [`load`].
pub(crate) fn load_library(jvm: &Child, library: &Path, text: &str) -> Result<i32> {
    let mut socket = connect(jvm.id())?;
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

/// The file into which an attached agent writes its answer. The test holds the lock on it, as a command does that waits
/// for the agent.
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

    /// Releases the lock, as happens when a command is killed.
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

/// A program that waits for orders on its standard input.
pub(crate) struct Running {
    pub(crate) child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    _limit: Limit,
}

impl Running {
    /// Starts the program of `tests/java/<main>.java`.
    pub(crate) fn start(feature: u32, main: &str, jvm: &[&str]) -> Result<Self> {
        let mut java = Jdk::find(feature)?.java();
        java.env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS")
            .args(["--add-opens", "java.base/java.lang=ALL-UNNAMED"])
            .args(jvm)
            .arg("-cp")
            .arg(super::compiled()?)
            .arg(main)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = java.spawn()?;
        let limit = limit(&child);
        let orders = child.stdin.take().context("no standard input")?;
        let answers = child.stdout.take().context("no standard output")?;
        Ok(Running {
            child,
            orders,
            answers: BufReader::new(answers).lines(),
            _limit: limit,
        })
    }

    /// Waits for a line of the program. The JVM's own warnings are skipped.
    pub(crate) fn answer(&mut self) -> Result<String> {
        loop {
            let line = self.answers.next().context("the program has ended")??;
            let words = ["ready", "done", "some", "none", "same", "other"];
            if words.contains(&&*line) || line.starts_with("calls ") {
                return Ok(line);
            }
            ensure!(!line.contains("FATAL"), "{line}");
        }
    }

    pub(crate) fn order(&mut self, order: &str) -> Result<String> {
        writeln!(self.orders, "{order}")?;
        self.answer()
    }

    pub(crate) fn end(mut self) -> Result<()> {
        writeln!(self.orders, "end")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

/// Attaches with an answer, and waits until classes are changed.
pub(crate) fn attach(program: &Running, options: &str, folder: &TempDir) -> Result<Answer> {
    let answer = Answer::new(folder.path())?;
    let file = folder.path().join("profile.pb.gz");
    let text = format!(
        "{options},file={},answer={}",
        file.display(),
        answer.name().display()
    );
    let code = load(&program.child, &text)?;
    let lines = answer.lines()?;
    ensure!(code == 0, "{code}: {lines:?}");
    let attached = lines
        .iter()
        .any(|line| matches!(line, AnswerLine::Attached(_)));
    ensure!(attached, "{lines:?}");
    Ok(answer)
}
