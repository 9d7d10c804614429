//! Takes profiles and gives orders in a thread of its own, so that keys never wait for the JVM.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::Result;
use loadhook_profile::Profile;
use loadhook_profile::analysis::picture::Picture;
use loadhook_profile::since;
use loadhook_settings::control::{self, Reply, Request};
use loadhook_text::printable;
use loadhook_text::units::{counted, time};

use super::model::{History, Model};
use crate::jvm::Jvm;
use crate::live::{Failure, Live};
use crate::output::{PRIVATE, write_beside};

/// Interval at which the worker thread checks, between profiles, that the process still runs.
const PERIOD: Duration = Duration::from_millis(200);

/// An order of the screen to the worker thread.
pub(super) enum Order {
    /// Take no profiles (true), or take profiles again (false).
    Pause(bool),
    /// Write a profile of everything so far to a file in this folder.
    Snapshot(PathBuf),
    /// Count the calls of the methods that match this pattern.
    Include(String),
    /// Stop counting the calls of the methods that match this pattern.
    Exclude(String),
}

/// A message of the worker thread to the screen.
pub(super) enum News {
    Figures(Box<Model>),
    /// The answer to an order.
    Said(String),
    /// The process or its agent is gone, for this reason.
    Ended(String),
}

/// The worker thread: the connection to the agent, and the channels to and from the screen.
pub(super) struct Worker<'j> {
    pub(super) live: Live<'j>,
    pub(super) jvm: &'j Jvm,
    pub(super) orders: Receiver<Order>,
    pub(super) news: Sender<News>,
}

impl<'j> Worker<'j> {
    /// Works until the screen drops its sender of orders, or until the process or its agent is gone.
    pub(super) fn work(mut self) -> Live<'j> {
        let mut history = History::default();
        let mut earlier: Option<Profile> = None;
        let mut is_paused = false;
        let mut next = Instant::now();
        loop {
            if !is_paused && Instant::now() >= next {
                match self.live.profile() {
                    Ok(profile) => {
                        let model = model(&mut history, earlier.as_ref(), &profile);
                        self.tell(News::Figures(Box::new(model)));
                        earlier = Some(profile);
                    }
                    Err(Failure::Refused(reason)) => self.tell(News::Said(reason)),
                    Err(Failure::Gone(error)) => {
                        self.tell(News::Ended(self.end(&format!("{error:#}"))));
                        return self.live;
                    }
                }
                next = Instant::now() + self.live.pause();
            }
            let rest = next.saturating_duration_since(Instant::now());
            let rest = if is_paused { PERIOD } else { rest.min(PERIOD) };
            match self.orders.recv_timeout(rest) {
                Ok(Order::Pause(begins)) => is_paused = begins,
                Ok(order) => {
                    let said = self.carry_out(order);
                    self.tell(News::Said(
                        said.unwrap_or_else(|error| format!("{error:#}")),
                    ));
                }
                Err(RecvTimeoutError::Timeout) if self.jvm.has_ended() => {
                    self.tell(News::Ended(self.end("")));
                    return self.live;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.live,
            }
        }
    }

    fn tell(&self, news: News) {
        // This fails when the screen is closed.
        let _ = self.news.send(news);
    }

    /// Returns the reason why there are no more figures: the end of the process if it has ended, because this explains
    /// every other fault, otherwise `fault`.
    fn end(&self, fault: &str) -> String {
        if self.jvm.has_ended() {
            format!("process {} has ended", self.jvm.pid())
        } else {
            fault.to_owned()
        }
    }

    fn carry_out(&mut self, order: Order) -> Result<String> {
        let request = match order {
            Order::Include(pattern) => Request::Include(control::patterns(&pattern)?),
            Order::Exclude(pattern) => Request::Exclude(control::patterns(&pattern)?),
            Order::Pause(_) => return Ok(String::new()),
            Order::Snapshot(folder) => {
                let bytes = match self.live.snapshot() {
                    Ok(bytes) => bytes,
                    Err(Failure::Refused(reason)) => return Ok(reason),
                    Err(Failure::Gone(error)) => return Err(error),
                };
                let file = free_name(&folder, self.jvm.pid());
                write_beside(&file, &bytes, PRIVATE)?;
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                return Ok(format!("profile so far: {name}"));
            }
        };
        let reply = match self.live.ask(&request) {
            Ok(reply) => reply,
            Err(Failure::Refused(reason)) => return Ok(reason),
            Err(Failure::Gone(error)) => return Err(error),
        };
        Ok(match reply {
            Reply::Changed(changed) => {
                let figures = &changed.figures;
                let stop = time(1e3 * figures.longest_pause_us as f64);
                let classes = counted(figures.classes, "class", "classes");
                let notes = changed.notes.iter().map(|note| format!("; {note}"));
                format!(
                    "{classes} changed; the program stopped for at most {stop} at a time{}",
                    notes.collect::<String>()
                )
            }
            Reply::Error(error) => error,
            other => format!(
                "unexpected reply to this order; use a loadhook of the agent's version: {other}"
            ),
        })
    }
}

/// Makes the figures of the interval between two profiles. Without an earlier one, the interval begins with the agent.
fn model(history: &mut History, earlier: Option<&Profile>, profile: &Profile) -> Model {
    let picture = match earlier {
        Some(earlier) => Picture::of(&since(earlier, profile)),
        None => Picture::of(profile),
    };
    let command = printable(&profile.header.command).into_owned();
    history.next(picture, command)
}

/// Returns a file name for a profile that no file in `folder` has yet.
fn free_name(folder: &Path, pid: u32) -> PathBuf {
    let names = (1..).map(|number: u32| folder.join(format!("loadhook-{pid}-{number}.pb.gz")));
    let mut free = names.filter(|name| name.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| folder.join("loadhook.pb.gz"))
}
