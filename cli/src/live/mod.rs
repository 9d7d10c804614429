//! A running program as a sequence of profiles. Each contains everything recorded so far, and
//! [`since`](loadhook_profile::since) makes the difference between two.
//!
//! The profiles come from an agent that takes orders. If the JVM has none, [`Live::begin`] attaches one, which leaves
//! at the end.

mod args;
mod pace;

use std::time::Duration;

use anyhow::{Error, Result, anyhow, bail};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_settings::ProbeBudget;
use loadhook_settings::control::{Reply, Request};

pub(crate) use self::args::LiveArgs;
use self::pace::Pace;
use crate::agent_path::agent_path;
use crate::attach::{Ended, Watch};
use crate::ctl::{Agent, Snapshot, Snapshots};
use crate::jvm::Jvm;
use crate::output::say;
use crate::signals::Noted;

/// A JVM with an agent that takes orders.
///
/// Each order has a connection of its own, because an agent ends a connection without orders after ten seconds.
pub(crate) struct Live<'j> {
    jvm: &'j Jvm,
    snapshots: Snapshots,
    pace: Pace,
    /// The agent that [`Live::begin`] attached; `None` if the JVM had one before.
    attached: Option<Watch<'j>>,
}

/// The reason why an agent did not do something.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The agent does not carry out the order now, or cannot be reached now, for example because it has too many
    /// clients. A later order may succeed.
    Refused(String),
    /// The agent or the JVM is gone.
    Gone(Error),
}

impl<'j> Live<'j> {
    /// Connects to the agent of a JVM, or attaches one. Returns `None` if a signal ends the attaching. `command` is the
    /// subcommand that is running.
    ///
    /// If the JVM has an agent already, the patterns of `args` are added to the agent's, and other options have no
    /// effect.
    pub(crate) fn begin(
        jvm: &'j Jvm,
        mut args: LiveArgs,
        command: &str,
        stop: &Noted,
    ) -> Result<Option<Live<'j>>> {
        let pid = jvm.pid();
        let asked = args.choice.options_for_running()?;
        let attached = if let Some(mut agent) = Agent::find(jvm, None)? {
            say!(
                "loadhook: process {pid} is watched already; of the options, only --include and --exclude have an effect"
            );
            let orders = [
                (!asked.include.is_empty()).then_some(Request::Include(asked.include)),
                (!asked.exclude.is_empty()).then_some(Request::Exclude(asked.exclude)),
            ];
            for order in orders.into_iter().flatten() {
                if let Reply::Error(error) = agent.ask(&order)? {
                    bail!("{error}");
                }
            }
            None
        } else {
            args.choice.default_to_samples();
            let mut options = args.choice.options_for_running()?;
            // The budget covers all work of the agent, and writing profiles takes up to one percent of a processor.
            // In an idle program, that work alone would exceed the budget, and the agent would leave.
            if options.samples() {
                options.budget.get_or_insert(ProbeBudget::None);
            }
            let library = agent_path()?;
            jvm.check_loads_agents()?;
            args.choice.warn(&options);
            let Some(watch) = Watch::begin(jvm, &library, options, command, stop)? else {
                return Ok(None);
            };
            Some(watch)
        };
        Ok(Some(Live {
            jvm,
            snapshots: Snapshots::new(jvm)?,
            pace: Pace::new(pid),
            attached,
        }))
    }

    /// Takes a profile of everything recorded so far, and returns the bytes of its file.
    pub(crate) fn snapshot(&mut self) -> Result<Vec<u8>, Failure> {
        let mut agent = self.agent()?;
        self.pace.begin();
        let snapshot = self.snapshots.take(&mut agent);
        self.pace.end();
        let snapshot = snapshot.map_err(|error| self.failure(error))?;
        match snapshot {
            Snapshot::Taken(bytes) => Ok(bytes),
            Snapshot::Refused(reason) => Err(Failure::Refused(reason)),
        }
    }

    /// Takes a profile of everything recorded so far, and reads it.
    pub(crate) fn profile(&mut self) -> Result<Profile, Failure> {
        let bytes = self.snapshot()?;
        pprof::read(&bytes[..]).map_err(|error| Failure::Refused(error.to_string()))
    }

    /// Returns the time to wait before the next profile, from 1 s to 60 s: 100 times the processor time of the last
    /// profile, so that profiles take one percent of a processor.
    pub(crate) fn pause(&self) -> Duration {
        self.pace.pause()
    }

    /// Gives an order to the agent, and returns the reply. A refused order also has a reply.
    pub(crate) fn ask(&self, request: &Request) -> Result<Reply, Failure> {
        let asked = self.agent()?.ask(request);
        asked.map_err(|error| self.failure(error))
    }

    fn agent(&self) -> Result<Agent<'j>, Failure> {
        let pid = self.jvm.pid();
        match Agent::find(self.jvm, None) {
            Ok(Some(agent)) => Ok(agent),
            Ok(None) if !self.jvm.has_ended() => Err(Failure::Gone(anyhow!(
                "the agent has left process {pid}; start this command again to watch the process"
            ))),
            Ok(None) => Err(Failure::Gone(anyhow!("process {pid} has ended"))),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Classifies an error as final or passing. It is final if the JVM has ended. Otherwise the agent may only be busy;
    /// if the agent has left the JVM, the next request fails and shows this.
    fn failure(&self, error: Error) -> Failure {
        if self.jvm.has_ended() {
            Failure::Gone(error)
        } else {
            Failure::Refused(format!("{error:#}"))
        }
    }

    /// Ends the connection. If [`Live::begin`] attached the agent, asks the agent to leave the JVM, and waits until it
    /// has left; a signal ends the wait.
    pub(crate) fn end(self) -> Result<()> {
        drop(self.snapshots);
        let Some(mut watch) = self.attached else {
            return Ok(());
        };
        match watch.until_end(&Noted::arrived())? {
            Ended::Left | Ended::WithProcess => Ok(()),
            Ended::Interrupted(_) => bail!("interrupted; the agent will leave by itself"),
        }
    }
}
