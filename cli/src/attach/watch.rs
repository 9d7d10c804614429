//! Follows an agent in a running JVM until it has left.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use loadhook_settings::attach::{self, AnswerLine, AttachFigures, DETACH};
use loadhook_text::units::{counted, time};

use super::room::Room;
use crate::jvm::Jvm;
use crate::output::{PRIVATE, say, write_beside};
use crate::signals::{self, Noted};

/// Maximum time for a JVM to begin to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Interval at which the agent's answer is read.
const PERIOD: Duration = Duration::from_millis(100);

/// An agent in a running JVM, as its answer describes it.
pub(super) struct Watch<'a> {
    jvm: &'a Jvm,
    room: &'a Room<'a>,
    /// The file that gets the profile.
    output: &'a Path,
    answer: Vec<u8>,
    /// Number of lines of the answer that were read.
    lines: usize,
    /// True once the agent watches the process.
    pub(super) is_attached: bool,
    has_left: bool,
    /// The reason for which the agent does not watch.
    pub(super) error: Option<String>,
}

/// The end of a watch.
#[derive(Clone, Copy)]
pub(super) enum Ended {
    /// The agent has left.
    Left,
    /// The process has ended.
    WithProcess,
    /// A second signal came. The number is the exit code of a process that this signal ends.
    Interrupted(u8),
}

impl<'a> Watch<'a> {
    pub(super) fn new(jvm: &'a Jvm, room: &'a Room<'a>, output: &'a Path) -> Watch<'a> {
        Watch {
            jvm,
            room,
            output,
            answer: Vec::new(),
            lines: 0,
            is_attached: false,
            has_left: false,
            error: None,
        }
    }

    /// Waits until the agent has left. At the first signal the agent is asked to leave.
    pub(super) fn until_end(&mut self, stop: &Noted) -> Result<Ended> {
        let mut second = None;
        loop {
            // This is asked before the lines are read, because an agent writes its last lines before its process ends.
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
                // The profile comes all the same if the agent leaves later. A second signal ends the wait.
                if let Err(error) = self.detach(second) {
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

    /// Asks the agent to leave, and waits for the answer unless a `second` signal comes.
    fn detach(&mut self, second: &Noted) -> Result<()> {
        say!(
            "loadhook: asking the agent to leave process {}",
            self.jvm.pid()
        );
        let order = self.room.order(DETACH);
        let answer = self
            .jvm
            .execute(order, PATIENCE, || second.code().is_none());
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

    /// Reads the new lines of the answer, and prints what they tell.
    pub(super) fn read(&mut self) {
        // This is asked before the lines are read, because the agent writes all other lines before.
        self.has_left |= self.room.is_answer_removed();
        // If this fails, the next call goes on where this one stopped.
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
            "loadhook: watching process {pid}: {} in {}, longest stop {}{refused}",
            counted(figures.classes, "class", "classes"),
            counted(figures.batches, "batch", "batches"),
            time(1e3 * figures.longest_pause_us as f64),
        );
    }

    /// Copies the agent's profile to its place. Returns false if there is none.
    pub(super) fn take_profile(&self) -> Result<bool> {
        let profile = self.room.profile();
        match profile.context("cannot read the profile that the agent wrote")? {
            Some(profile) => write_beside(self.output, &profile, PRIVATE).map(|()| true),
            None => Ok(false),
        }
    }
}
