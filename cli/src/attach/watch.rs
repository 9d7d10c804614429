//! Follows an agent in a running JVM until it has left.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use loadhook_settings::AgentOptions;
use loadhook_settings::attach::{self, AnswerLine, AttachFigures, DETACH, Refusal};
use loadhook_text::printable;
use loadhook_text::units::{counted, time};

use super::room::{Room, order};
use crate::agent_path::AGENT;
use crate::jvm::{Answer, Jvm};
use crate::output::{say, write_or_keep};
use crate::signals::{self, Noted};

/// Maximum time for a JVM to begin to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval at which the agent's answer is read.
const PERIOD: Duration = Duration::from_millis(100);

/// An agent in a running JVM, as its answer describes it.
pub(crate) struct Watch<'a> {
    jvm: &'a Jvm,
    room: Room<'a>,
    answer: Vec<u8>,
    /// Number of lines of the answer that were read.
    lines: usize,
    /// True once the agent watches the process.
    is_attached: bool,
    has_left: bool,
    /// The reason for which the agent does not watch.
    error: Option<String>,
}

/// The end of a watch.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    /// The agent has left.
    Left,
    /// The process has ended.
    WithProcess,
    /// A second signal came. The number is the exit code of a process that this signal ends.
    Interrupted(u8),
}

impl<'a> Watch<'a> {
    /// Loads the agent into a JVM, and waits until the agent watches. `None` if a signal came first. `command` is the
    /// subcommand that is running, such as `attach`.
    pub(crate) fn begin(
        jvm: &'a Jvm,
        library: &Path,
        mut options: AgentOptions,
        command: &str,
        stop: &Noted,
    ) -> Result<Option<Watch<'a>>> {
        let room = Room::new(jvm, library, command)?;
        room.fill(&mut options)?;
        announce(jvm);
        let library = room.library.clone();
        let text = options.to_string();
        let mut watch = Watch {
            jvm,
            room,
            answer: Vec::new(),
            lines: 0,
            is_attached: false,
            has_left: false,
            error: None,
        };
        let answer = jvm.execute(order(&library, &text), PATIENCE, || {
            watch.read();
            // Once the agent watches, the JVM answers soon. So a signal then does not end this wait, but later ends
            // the watching as usual.
            watch.is_attached || stop.code().is_none()
        });
        watch.read();
        // If the process ends right after the agent has begun to watch, the JVM may not answer any
        // more. So the answer is only checked if the agent does not watch.
        if !watch.is_attached {
            let pid = jvm.pid();
            let Some(answer) = answer? else {
                say!(
                    "loadhook: interrupted; if process {pid} loads the agent after this, the agent leaves at once"
                );
                return Ok(None);
            };
            check(&answer, watch.error.as_deref(), pid)?;
        }
        Ok(Some(watch))
    }

    /// Waits until the agent has left. At the first signal the agent is asked to leave.
    pub(crate) fn until_end(&mut self, stop: &Noted) -> Result<Ended> {
        let mut second = None;
        loop {
            // Check this before the lines are read, because an agent writes its last lines before
            // its process ends.
            let has_ended = self.jvm.has_ended();
            self.read();
            if self.has_left {
                return Ok(Ended::Left);
            }
            if has_ended {
                return Ok(Ended::WithProcess);
            }
            if second.is_none() && stop.code().is_some() {
                let second = second.insert(signals::noted()?);
                say!(
                    "loadhook: asking the agent to leave process {}",
                    self.jvm.pid()
                );
                // The profile comes all the same if the agent leaves later. A second signal ends the wait.
                if let Err(error) = self.detach(|| second.code().is_none()) {
                    say!(
                        "loadhook: the agent cannot be asked to leave ({error:#}); press Ctrl-C again to give up"
                    );
                }
            }
            if let Some(code) = second.as_ref().and_then(Noted::code) {
                return Ok(Ended::Interrupted(code));
            }
            thread::sleep(PERIOD);
        }
    }

    /// Makes the agent leave, unless the process has ended. A signal, or a process that is stopped, ends the wait.
    /// Returns false if the agent may still be there.
    pub(super) fn leave(&mut self) -> Result<bool> {
        let second = signals::noted()?;
        let jvm = self.jvm;
        self.read();
        if self.has_left {
            return Ok(true);
        }
        let asked = self.detach(|| second.code().is_none() && !jvm.is_stopped());
        self.read();
        asked.map(|()| self.has_left || jvm.has_ended())
    }

    /// Asks the agent to leave, and waits for the answer as long as `go_on` returns true.
    fn detach(&mut self, go_on: impl FnMut() -> bool) -> Result<()> {
        let order = order(&self.room.library, DETACH);
        let answer = self.jvm.execute(order, PATIENCE, go_on);
        match answer {
            // The caller notices the end of the process by itself.
            Err(_) if self.jvm.has_ended() => Ok(()),
            Err(error) => Err(error),
            Ok(answer) => {
                // The JVM answers when the agent has left, even if there was no room for the agent's last line.
                self.has_left |= answer.is_some_and(|answer| answer.returned().is_some());
                Ok(())
            }
        }
    }

    /// Reads the new lines of the answer, and prints messages about them.
    fn read(&mut self) {
        // Check this before the lines are read, because the agent writes all other lines before it
        // removes the answer.
        self.has_left |= self.room.is_answer_removed();
        // If this fails, the next call continues where this one stopped.
        let _ = self.room.read_answer(&mut self.answer);
        let answer = String::from_utf8_lossy(&self.answer);
        let new: Vec<AnswerLine> = attach::lines(&answer).skip(self.lines).collect();
        self.lines += new.len();
        for line in new {
            match line {
                AnswerLine::Attached(figures) => {
                    self.is_attached = true;
                    self.tell(&figures);
                }
                AnswerLine::Note(note) => say!("loadhook: {note}"),
                AnswerLine::Error(error) => self.error = Some(error),
                // This command knows the profile's name without the line.
                AnswerLine::Profile(_) => {}
                AnswerLine::Left => self.has_left = true,
            }
        }
    }

    fn tell(&self, figures: &AttachFigures) {
        let pid = self.jvm.pid();
        if figures.classes == 0 {
            say!("loadhook: watching process {pid}; no loaded class is changed");
            return;
        }
        let refused = match figures.refused {
            0 => String::new(),
            refused => format!("; not changed: {}", counted(refused, "class", "classes")),
        };
        say!(
            "loadhook: watching process {pid}: {} changed in {}; the program stopped for at most {} at a time{refused}",
            counted(figures.classes, "class", "classes"),
            counted(figures.batches, "batch", "batches"),
            time(1e3 * figures.longest_pause_us as f64),
        );
    }

    /// Copies the agent's profile to `output`. Returns false if there is none.
    pub(super) fn take_profile(&self, output: &Path) -> Result<bool> {
        let profile = self.room.profile();
        match profile.context("cannot read the profile that the agent wrote")? {
            Some(profile) => write_or_keep(output, &profile).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Announces the warning that a JVM from JDK 21 on prints when an agent is loaded into it for the first time after its
/// start.
fn announce(jvm: &Jvm) {
    let data = jvm.performance_data();
    let version = data.and_then(|data| data.text("java.property.java.version"));
    let feature = version.as_deref().and_then(|version| {
        let end = version.find(|char: char| !char.is_ascii_digit());
        version[..end.unwrap_or(version.len())].parse::<u32>().ok()
    });
    if let Some(feature @ 21..) = feature
        && jvm.loaded(AGENT).is_none()
    {
        say!(
            "loadhook: JDK {feature} prints a warning about a dynamically loaded agent on the standard error of process {}, unless this process runs with -XX:+EnableDynamicAgentLoading",
            jvm.pid()
        );
    }
}

/// Fails if the agent is not loaded, or does not watch.
fn check(answer: &Answer, error: Option<&str>, pid: u32) -> Result<()> {
    let code = match answer.returned() {
        Some(0) => return Ok(()),
        Some(code) => code,
        None => {
            let answer = answer.one_line();
            // The JVM's words for a JVM that has not started yet.
            let remedy = if answer.contains("live phase") {
                "; wait until the program runs, then try again"
            } else {
                ""
            };
            bail!(
                "the JVM of process {pid} does not load the agent: {}{remedy}",
                printable(&answer)
            )
        }
    };
    if Refusal::of(code) == Some(Refusal::Watched) {
        bail!(
            "process {pid} is watched by Loadhook already, by loadhook run or by a command that has not left yet; wait until that has ended"
        );
    }
    match error {
        Some(error) => bail!("process {pid} is not watched: {}", printable(error)),
        None => bail!(
            "process {pid} is not watched: the agent cannot begin; the standard error of the process may have the reason"
        ),
    }
}
