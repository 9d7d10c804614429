//! The program behind the page: its newest profile, and what the agent watches.
//!
//! A profile is only taken when a page asks for one, and not sooner than [`Live::pause`] after the last one. So all
//! open pages share profiles, and the agent writes none while no page is open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use loadhook_profile::format::{Options, page_data, pprof};
use loadhook_settings::control::{Reply, Request};
use loadhook_text::printable;
use serde_json::{Value, json};

use crate::ctl::render;
use crate::jvm::Jvm;
use crate::live::{Failure, Live, LiveArgs};
use crate::signals::Noted;

/// Time to wait, at the end, for an order that is under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval at which the end of the order is looked for.
const PERIOD: Duration = Duration::from_millis(50);

/// A program that pages show.
pub(super) struct Program {
    jvm: &'static Jvm,
    args: LiveArgs,
    stop: &'static Noted,
    inner: Mutex<Inner>,
}

struct Inner {
    /// `None` if the agent or the program is gone.
    live: Option<Live<'static>>,
    newest: Option<Arc<Newest>>,
    /// The time from which on the next profile may be taken.
    next: Instant,
    /// True if an order has changed what is recorded since the newest profile. The next request then takes a profile at
    /// once.
    is_changed: bool,
    is_paused: bool,
    /// The agent's patterns as text.
    watched: String,
    /// The reason why no newer profile could be taken.
    problem: Option<String>,
}

/// The newest profile.
pub(super) struct Newest {
    pub(super) number: u64,
    /// The bytes of the profile's file.
    pub(super) bytes: Vec<u8>,
    /// The profile as JSON, for the page.
    pub(super) data: Value,
    taken: Instant,
}

/// The reply to an order, as text for the user.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) is_refused: bool,
}

impl Program {
    pub(super) fn new(
        jvm: &'static Jvm,
        args: LiveArgs,
        stop: &'static Noted,
        live: Live<'static>,
    ) -> Program {
        let inner = Inner {
            live: Some(live),
            newest: None,
            next: Instant::now(),
            is_changed: false,
            is_paused: false,
            watched: String::new(),
            problem: None,
        };
        Program {
            jvm,
            args,
            stop,
            inner: Mutex::new(inner),
        }
    }

    /// Returns the state that the page shows, and the newest profile; `None` if there is no profile
    /// yet.
    pub(super) fn newest(&self) -> (Value, Option<Arc<Newest>>) {
        let mut inner = self.lock();
        if let Err(failure) = inner.refresh() {
            inner.fail(failure);
        }
        let word = match (&inner.live, inner.is_paused) {
            (Some(_), false) => "live",
            (Some(_), true) => "paused",
            (None, _) if self.jvm.has_ended() => "ended",
            (None, _) => "left",
        };
        let newest = inner.newest.clone();
        let age = newest
            .as_ref()
            .map(|newest| newest.taken.elapsed().as_millis());
        let state = json!({
            "state": word,
            "number": newest.as_ref().map_or(0, |newest| newest.number),
            "age_ms": age.and_then(|age| u64::try_from(age).ok()),
            "watched": inner.watched,
            "problem": inner.problem,
        });
        (state, newest)
    }

    /// Gives an order to the agent.
    pub(super) fn order(&self, request: &Request) -> Said {
        let mut inner = self.lock();
        let Some(live) = &inner.live else {
            return Said::refused(
                "the program is not watched any more; press Watch again".to_owned(),
            );
        };
        match live.ask(request) {
            Ok(Reply::Error(error)) => Said::refused(printable(&error).into_owned()),
            Ok(Reply::Changed(changed)) => {
                inner.is_changed = true;
                let mut lines = vec![render::work(&changed)];
                lines.extend(render::notes(&changed));
                Said::done(lines.join("\n"))
            }
            Ok(Reply::Done) if *request == Request::Detach => {
                inner.leave();
                Said::done(format!("the agent has left process {}", self.jvm.pid()))
            }
            Ok(other) => Said::refused(format!(
                "unexpected reply to this order; use a loadhook of the agent's version: {other}"
            )),
            Err(Failure::Refused(reason)) => Said::refused(printable(&reason).into_owned()),
            Err(failure @ Failure::Gone(_)) => {
                inner.fail(failure);
                Said::refused(inner.problem.clone().unwrap_or_default())
            }
        }
    }

    /// Watches the program again after the agent has left.
    pub(super) fn attach(&self) -> Said {
        let mut inner = self.lock();
        if inner.live.is_some() {
            return Said::refused("the program is watched already".to_owned());
        }
        match Live::begin(self.jvm, self.args.clone(), "serve", self.stop) {
            Ok(Some(live)) => {
                inner.live = Some(live);
                inner.is_changed = true;
                Said::done(format!(
                    "watching process {} again, from zero on",
                    self.jvm.pid()
                ))
            }
            Ok(None) => Said::refused("loadhook serve is ending".to_owned()),
            Err(error) => Said::refused(format!("{error:#}")),
        }
    }

    /// Ends the watching. Returns false if an order is still under way after [`PATIENCE`].
    pub(super) fn end(&self) -> Result<bool> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let mut inner = match self.inner.try_lock() {
                Ok(inner) => inner,
                Err(TryLockError::Poisoned(inner)) => inner.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    thread::sleep(PERIOD);
                    continue;
                }
            };
            return match inner.live.take() {
                Some(live) => live.end().map(|()| true),
                None => Ok(true),
            };
        }
        Ok(false)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Asks the agent what it watches, and takes a profile if it is time.
    fn refresh(&mut self) -> Result<(), Failure> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        match live.ask(&Request::Status)? {
            Reply::Status(status) => {
                self.is_paused = status.paused;
                self.watched = render::watched(&status.include, &status.exclude);
            }
            other => self.problem = Some(other.to_string()),
        }
        let is_time = !self.is_paused && Instant::now() >= self.next;
        if !(is_time || self.is_changed || self.newest.is_none()) {
            return Ok(());
        }
        let bytes = live.snapshot();
        self.next = Instant::now() + live.pause();
        self.is_changed = false;
        let bytes = bytes?;
        let profile = pprof::read(&bytes[..]);
        let profile = profile.map_err(|error| Failure::Refused(error.to_string()))?;
        let before = self.newest.as_ref().map_or(0, |newest| newest.number);
        self.newest = Some(Arc::new(Newest {
            number: before + 1,
            bytes,
            data: page_data(&profile, &Options::default()),
            taken: Instant::now(),
        }));
        self.problem = None;
        Ok(())
    }

    /// Notes why there is no newer profile. If the JVM has ended or the agent has left it, ends the
    /// connection.
    fn fail(&mut self, failure: Failure) {
        match failure {
            Failure::Refused(reason) => self.problem = Some(printable(&reason).into_owned()),
            Failure::Gone(error) => {
                self.problem = Some(format!("{error:#}"));
                self.leave();
            }
        }
    }

    /// Ends the connection to the agent. An agent that was attached leaves the program.
    fn leave(&mut self) {
        if let Some(Err(error)) = self.live.take().map(Live::end) {
            self.problem = Some(format!("{error:#}"));
        }
    }
}

impl Said {
    fn done(text: String) -> Said {
        Said {
            text,
            is_refused: false,
        }
    }

    pub(super) fn refused(text: String) -> Said {
        Said {
            text,
            is_refused: true,
        }
    }
}
