//! `loadhook top`: shows a running program on the terminal.
//!
//! A worker thread takes profiles and makes the figures of the last interval ([`worker`], [`model`]). The main thread
//! waits for keys ([`session`]) and draws ([`screen`], [`rows`]).

mod keys;
mod model;
mod rows;
mod screen;
mod session;
mod terminal;
mod worker;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{self, ExitCode};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use loadhook_profile::Method;
use ratatui::crossterm::event::KeyEvent;

use self::model::Model;
use self::screen::Facts;
use self::session::{Action, Session};
use self::terminal::Screen;
use self::worker::{News, Order, Worker};
use crate::jvm::Jvm;
use crate::live::{Live, LiveArgs};
use crate::output::say;
use crate::signals::{self, Noted};

/// Interval at which the main thread looks for messages of the worker thread.
const PERIOD: Duration = Duration::from_millis(100);

/// Time after which a message says what the command waits for.
const LONG: Duration = Duration::from_secs(1);

/// Arguments of `loadhook top`.
#[derive(Debug, Args)]
#[command(
    after_help = "Keys: ? shows them all, q quits. The agent that this command attaches leaves at the end."
)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    live: LiveArgs,
}

/// Shows a running program until the user quits.
pub(crate) fn run(args: TopArgs) -> Result<ExitCode> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!(
            "loadhook top needs a terminal; for a profile in a file, use loadhook attach --duration 30s"
        );
    }
    let jvm = Jvm::of(args.live.pid)?;
    // Signals are caught from here on, so that nothing stays behind in /tmp of the process.
    let stop = signals::noted()?;
    let Some(live) = Live::begin(&jvm, args.live, "top", &stop)? else {
        return Ok(ExitCode::from(stop.code().unwrap_or(1)));
    };
    let (orders, inbox) = channel();
    let (outbox, news) = channel();
    let worker = Worker {
        live,
        jvm: &jvm,
        orders: inbox,
        news: outbox,
    };
    thread::scope(|scope| {
        let worker = scope.spawn(|| worker.work());
        let mut top = Top::new(jvm.pid(), orders, news);
        let shown = top.show(&stop);
        let ended = top.facts.has_ended.then(|| top.facts.message.take());
        // The worker thread ends when the sender of orders is dropped.
        drop(top);
        let live = joined(worker)?;
        if let Some(reason) = ended.flatten() {
            say!("loadhook: {reason}");
        }
        live.end()?;
        match stop.code() {
            Some(code) => Ok(ExitCode::from(code)),
            None => shown
                .context("cannot use the terminal")
                .map(|()| ExitCode::SUCCESS),
        }
    })
}

/// Waits for the end of the worker thread. A signal ends this process, and with it the wait; the agent then leaves by
/// itself.
fn joined<'j>(worker: ScopedJoinHandle<'_, Live<'j>>) -> Result<Live<'j>> {
    let begun = Instant::now();
    let second = signals::noted()?;
    let mut is_told = false;
    while !worker.is_finished() {
        if let Some(code) = second.code() {
            process::exit(code.into());
        }
        if !is_told && begun.elapsed() > LONG {
            say!("loadhook: waiting for the answer of the agent; press Ctrl-C to give up");
            is_told = true;
        }
        thread::sleep(PERIOD / 5);
    }
    worker
        .join()
        .map_err(|_| anyhow!("loadhook top has a fault; see the message above"))
}

/// The screen and its connection to the worker thread.
struct Top {
    session: Session,
    model: Model,
    facts: Facts,
    orders: Sender<Order>,
    news: Receiver<News>,
}

impl Top {
    fn new(pid: u32, orders: Sender<Order>, news: Receiver<News>) -> Top {
        Top {
            session: Session::new(),
            model: Model::default(),
            facts: Facts {
                pid,
                message: None,
                has_ended: false,
                has_figures: false,
                has_colours: screen::wants_colours(),
            },
            orders,
            news,
        }
    }

    /// Shows the screen until the user quits or a signal comes.
    fn show(&mut self, stop: &Noted) -> io::Result<()> {
        let mut terminal = Screen::open()?;
        let mut is_changed = true;
        while stop.code().is_none() {
            is_changed |= self.take_news() | terminal.resume()? | terminal.is_resized()?;
            if is_changed {
                terminal.draw(|buffer| {
                    screen::draw(buffer, &mut self.session, &self.model, &self.facts);
                })?;
                is_changed = false;
            }
            let Some(key) = terminal.key(PERIOD)? else {
                continue;
            };
            is_changed = true;
            match self.key(key) {
                Some(Action::Quit) => break,
                Some(Action::Suspend) => terminal.suspend()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes over the messages of the worker thread. Returns whether there were any.
    fn take_news(&mut self) -> bool {
        let mut is_changed = false;
        while let Ok(news) = self.news.try_recv() {
            is_changed = true;
            match news {
                News::Figures(_) if self.session.is_paused => {}
                News::Figures(model) => {
                    self.model = *model;
                    self.facts.has_figures = true;
                    self.session.arrange(&self.model);
                }
                News::Said(text) => self.say(text),
                News::Ended(reason) => {
                    self.facts.has_ended = true;
                    self.say(reason);
                }
            }
        }
        is_changed
    }

    fn say(&mut self, text: String) {
        let text = loadhook_text::printable(&text).into_owned();
        self.facts.message = Some(text);
    }

    fn key(&mut self, key: KeyEvent) -> Option<Action> {
        if !self.facts.has_ended {
            self.facts.message = None;
        }
        let action = self.session.key(key, &self.model)?;
        let order = match action {
            Action::Quit | Action::Suspend => return Some(action),
            Action::Pause => Order::Pause(self.session.is_paused),
            Action::Snapshot => Order::Snapshot(Path::new(".").to_owned()),
            Action::Include(method) => Order::Include(self.pattern(method)?),
            Action::Exclude(method) => Order::Exclude(self.pattern(method)?),
        };
        // This fails if the worker thread has ended, because the process has ended. The thread's last message stays on
        // the screen.
        let _ = self.orders.send(order);
        None
    }

    /// Returns the pattern that matches a method and its overloads. Functions of native libraries have no pattern; a
    /// message says so.
    fn pattern(&mut self, method: u32) -> Option<String> {
        let method = self.model.picture.definitions.get(method as usize)?;
        let pattern = pattern(method);
        if pattern.is_none() {
            self.say("not a Java method, so its calls cannot be counted".to_owned());
        }
        pattern
    }
}

fn pattern(method: &Method) -> Option<String> {
    let is_java = !method.descriptor.is_empty();
    is_java.then(|| format!("{}::{}", method.class, method.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_java_methods_have_patterns() {
        let method = Method::new("a.B$C", "<init>", "()V");
        let text = pattern(&method).expect("it is a Java method");
        assert_eq!(text, "a.B$C::<init>");
        assert!(loadhook_settings::control::patterns(&text).is_ok());
        assert!(pattern(&Method::native("libc.so.6", "read")).is_none());
    }
}
