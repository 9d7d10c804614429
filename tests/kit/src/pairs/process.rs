//! The JVM of a [`crate::pairs::Runner`], and the messages between the two.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use tempfile::TempDir;

use super::outcome::{Outcome, Ran, Run, TrackerCounts};

/// Maximum length of an answer. A longer length means that other output is mixed into the protocol.
const MAX_ANSWER: usize = 64 << 20;

/// A running JVM.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// The working folder, which is removed with all files of classes under test and the JVM's
    /// crash reports.
    folder: TempDir,
}

/// An answer of the JVM.
pub(crate) enum Reply {
    /// The outcome of one class.
    Outcome(Outcome),
    /// The JVM has ended.
    Ended,
}

impl Process {
    /// Starts the JVM and waits until it is ready.
    pub(crate) fn start(mut command: Command) -> Result<Process> {
        let folder = tempfile::tempdir()?;
        let log = fs::File::create(folder.path().join("stderr"))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .current_dir(folder.path());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let stdin = child.stdin.take();
        let stdout = child
            .stdout
            .take()
            .context("the JVM has no standard output")?;
        let mut process = Process {
            child,
            stdin,
            stdout: BufReader::with_capacity(1 << 16, stdout),
            folder,
        };
        match process.frame() {
            Ok(Some(frame)) if frame == [4] => Ok(process),
            _ => {
                let stderr = fs::read(process.folder.path().join("stderr")).unwrap_or_default();
                bail!(
                    "{command:?} did not start: {}",
                    String::from_utf8_lossy(&stderr)
                );
            }
        }
    }

    /// Sends pairs in a separate thread while `receive` reads the answers.
    pub(crate) fn send_all<T>(
        &mut self,
        pairs: &[(&[u8], &[u8])],
        receive: impl FnOnce(&mut Process) -> Result<T>,
    ) -> Result<T> {
        let stdin = self
            .stdin
            .take()
            .context("the JVM's standard input is closed")?;
        thread::scope(|scope| {
            // If the JVM ends, the pipe is closed and the sender stops. `receive` notices the end
            // of the JVM itself.
            let sender = scope.spawn(|| {
                let mut writer = BufWriter::with_capacity(1 << 16, stdin);
                let sent = pairs
                    .iter()
                    .try_for_each(|pair| send(&mut writer, pair))
                    .and_then(|()| writer.flush());
                sent.ok().and_then(|()| writer.into_inner().ok())
            });
            let received = receive(self);
            if received.is_err() {
                // After an error no thread reads the answers. Kill the JVM, so that the sender
                // ends.
                drop(self.child.kill());
            }
            self.stdin = sender.join().ok().flatten();
            received
        })
    }

    /// Reads the next answer.
    pub(crate) fn reply(&mut self) -> Result<Reply> {
        let Some(frame) = self.frame()? else {
            return Ok(Reply::Ended);
        };
        let outcome =
            decode(&frame).with_context(|| format!("unexpected answer of the JVM: {frame:?}"))?;
        Ok(Reply::Outcome(outcome))
    }

    /// Reads the next frame; `None` if the JVM has ended.
    fn frame(&mut self) -> Result<Option<Vec<u8>>> {
        let mut length = [0; 4];
        if !filled(self.stdout.read_exact(&mut length))? {
            return Ok(None);
        }
        let length = usize::try_from(u32::from_be_bytes(length))?;
        anyhow::ensure!(
            length <= MAX_ANSWER,
            "the JVM's answer has an impossible length of {length} bytes"
        );
        let mut frame = vec![0; length];
        Ok(filled(self.stdout.read_exact(&mut frame))?.then_some(frame))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The JVM ends when its input ends, unless a class hangs. So kill the JVM.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn filled(read: io::Result<()>) -> Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error).context("cannot read from the JVM"),
    }
}

fn send(writer: &mut impl Write, (original, rewritten): &(&[u8], &[u8])) -> io::Result<()> {
    let length = |length: usize| {
        u32::try_from(length)
            .map(u32::to_be_bytes)
            .map_err(io::Error::other)
    };
    writer.write_all(&length(4 + original.len() + rewritten.len())?)?;
    writer.write_all(&length(original.len())?)?;
    writer.write_all(original)?;
    writer.write_all(rewritten)
}

/// A reader of the fields of an answer, which `RunPairs.java` writes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .context("the answer is too short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize> {
        let bytes = self.take(4)?;
        Ok(bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | usize::from(byte)))
    }

    fn long(&mut self) -> Result<u64> {
        let bytes = self.take(8)?;
        Ok(bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.number()?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

fn decode(frame: &[u8]) -> Result<Outcome> {
    let mut fields = Fields(frame);
    let linked = |run| Ok(Outcome { link: Ok(()), run });
    match fields.take(1)? {
        [0] => Ok(Outcome {
            link: Err(fields.text()?),
            run: Run::NotRun,
        }),
        [1] => linked(Run::Ended(decode_ran(&mut fields)?)),
        [2] => linked(Run::TimedOut),
        [3] => linked(Run::Hung),
        [5] => linked(Run::NotRun),
        status => bail!("the JVM's answer has the unknown status {status:?}"),
    }
}

fn decode_ran(fields: &mut Fields<'_>) -> Result<Ran> {
    let calls = (0..fields.number()?)
        .map(|_| fields.text())
        .collect::<Result<_>>()?;
    let numbers = (0..fields.number()?)
        .map(|_| fields.long())
        .collect::<Result<Vec<_>>>()?;
    let [
        depth,
        healed,
        missing,
        lost,
        enters,
        counts,
        exits,
        caughts,
        constructs,
        constructeds,
        endeds,
        allocs,
        alloc_arrays,
        alloc_dimensions,
        inits,
        new_arrays,
    ] = numbers[..]
    else {
        bail!(
            "the JVM's answer has {} numbers of the tracker, which is a wrong number",
            numbers.len()
        );
    };
    let tracker = TrackerCounts {
        depth,
        healed,
        missing,
        lost,
        enters,
        counts,
        exits,
        caughts,
        constructs,
        constructeds,
        endeds,
        allocs,
        alloc_arrays,
        alloc_dimensions,
        inits,
        new_arrays,
    };
    Ok(Ran {
        calls,
        tracker,
        log: fields.text()?,
    })
}
