//! Runs programs to their end. A program that hangs is killed, and makes the test fail.

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// Time after which a running program counts as hanging.
///
/// No program takes this long even on a busy machine. So no test depends on speed.
pub const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// Runs a command to its end and returns its output, whatever its exit status.
///
/// # Errors
///
/// When the command cannot start or hangs.
pub fn finish(command: &mut Command) -> Result<Output> {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    end(child).with_context(|| format!("{command:?}"))
}

/// Runs a command to its end and returns its standard output.
///
/// # Errors
///
/// When the command cannot start, hangs or fails; the error has its standard error output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = finish(command)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} ended with {}\n{stderr}{stdout}", output.status);
    }
    Ok(stdout.into_owned())
}

/// Waits for the end of a child process, and returns its output.
///
/// # Errors
///
/// When the child hangs.
pub fn end(child: Child) -> Result<Output> {
    let Limit { ended, watch } = limit(&child);
    let output = child.wait_with_output()?;
    drop(ended);
    ensure!(
        !watch.join().unwrap_or(true),
        "the process hangs: {output:?}"
    );
    Ok(output)
}

/// Returns the peak memory of a process in bytes; `None` if it has ended. `process` is its id, or
/// `self`.
#[must_use]
pub fn peak_memory(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// A limit on the running time of a child process: [`PATIENCE`] after the start, the process is
/// killed. Dropping the limit lifts it.
pub struct Limit {
    ended: mpsc::Sender<()>,
    /// Returns true if the child was killed.
    watch: thread::JoinHandle<bool>,
}

/// Limits the running time of a child, for tests that communicate with it or poll for its end.
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
