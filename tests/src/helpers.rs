//! The Java side of the tests: compiles `tests/java` once, and runs what it holds.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::jdk::Jdk;
use crate::paths;

/// The class folder of the compiled helpers, for a class path.
///
/// Compiled by JDK 17's `javac --release 17`, so that every JDK from 17 on runs them. The folder bears a
/// hash of the sources and appears whole or not at all, so test processes may ask for it at once.
///
/// # Errors
///
/// When JDK 17 is missing or the sources do not compile.
pub fn classes() -> Result<&'static Path> {
    static CLASSES: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match CLASSES.get_or_init(|| compile().map_err(|error| format!("{error:#}"))) {
        Ok(folder) => Ok(folder),
        Err(error) => bail!("{error}"),
    }
}

/// A command that runs a helper's `main` on a JDK: `java <jvm_args> -cp <helpers> <class>`.
///
/// # Errors
///
/// Those of [`classes`].
pub fn java(jdk: &Jdk, jvm_args: &[&str], class: &str) -> Result<Command> {
    let mut command = jdk.java();
    command.args(jvm_args).arg("-cp").arg(classes()?).arg(class);
    Ok(command)
}

/// The agent's library: built with the tests that need it, beside them.
///
/// # Errors
///
/// When it is not there.
pub fn agent() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let agent = test.with_file_name("libloadhook_agent.so");
    ensure!(agent.is_file(), "{} was not built", agent.display());
    Ok(agent)
}

/// Longer than any command takes on a machine that does many other things. No test's outcome depends on speed.
pub const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// Runs a command to its end and gives back what it wrote; one that hangs is killed, and fails.
///
/// # Errors
///
/// When it cannot start or hangs.
pub fn finish(command: &mut Command) -> Result<Output> {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    end(child).with_context(|| format!("{command:?}"))
}

/// Waits for the end of a command that was started before, as [`finish`] does.
///
/// # Errors
///
/// When it hangs.
pub fn end(child: Child) -> Result<Output> {
    let Limit { ended, watch } = limit(&child);
    let output = child.wait_with_output()?;
    drop(ended);
    ensure!(!watch.join().unwrap_or(true), "it hangs: {output:?}");
    Ok(output)
}

/// Kills a child that hangs, unless it is dropped before.
pub struct Limit {
    ended: mpsc::Sender<()>,
    /// Whether it was reached.
    watch: thread::JoinHandle<bool>,
}

/// Has a child killed that hangs: for those that the test talks with, or whose end it polls.
#[must_use]
pub fn limit(child: &Child) -> Limit {
    let process = child.id().to_string();
    let (ended, end) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let hangs = end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if hangs {
            let _ = Command::new("kill").args(["-KILL", &process]).status();
        }
        hangs
    });
    Limit { ended, watch }
}

/// Runs a command to its end and gives back its standard output.
///
/// # Errors
///
/// When it cannot start, hangs or does not end well; its standard error is part of the message.
pub fn output(command: &mut Command) -> Result<String> {
    let output = finish(command)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} ended with {}\n{stderr}{stdout}", output.status);
    }
    Ok(stdout.into_owned())
}

/// Makes a folder by `fill`, which gets an empty one; it appears under its name whole or not at all.
///
/// A second process that does the same at the same time loses the race and uses the winner's.
///
/// # Errors
///
/// Those of `fill` and of the file system.
pub fn make_once(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder
        .parent()
        .with_context(|| format!("{} has no parent", folder.display()))?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let temporary = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
    let filled = temporary.path().join("content");
    fs::create_dir(&filled)?;
    fill(&filled)?;
    match fs::rename(&filled, folder) {
        Ok(()) => Ok(()),
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot create {}", folder.display())),
    }
}

/// Undoes what `Lines.java` does to a field of a line.
pub(crate) fn unescape(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(char),
        }
    }
    out
}

fn compile() -> Result<PathBuf> {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("java"))?;
    let mut hasher = DefaultHasher::new();
    for (path, text) in &sources {
        path.file_name().hash(&mut hasher);
        text.hash(&mut hasher);
    }
    let folder = paths::target()
        .join("loadhook-tests")
        .join(format!("java-{:016x}", hasher.finish()));
    make_once(&folder, |classes| {
        let mut javac = Jdk::find(17)?.javac()?;
        javac
            .args([
                "--release",
                "17",
                "-encoding",
                "UTF-8",
                "-Xlint:-options",
                "-nowarn",
                "-d",
            ])
            .arg(classes);
        javac.args(sources.iter().map(|(path, _)| path));
        output(&mut javac)
            .context("tests/java does not compile")
            .map(drop)
    })?;
    Ok(folder)
}

/// Every `.java` file below a folder with its text, sorted by path.
fn sources(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for path in crate::corpus::files(folder, "java")? {
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        found.push((path, text));
    }
    Ok(found)
}
