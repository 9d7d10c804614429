//! A running program as a sequence of profiles: each has everything recorded so
//! far, and [`since`](loadhook_profile::since) makes the difference between two.
//!
//! The profiles come from an agent that takes orders. If there is none in the JVM, one is attached, and leaves at the
//! end.

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
    /// The agent that [`Live::begin`] has attached; `None` if it was there before.
    attached: Option<Watch<'j>>,
}

/// The reason why an agent did not do something.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The agent does not do it now, or cannot be reached now: it may have too many clients. Try again later.
    Refused(String),
    /// The agent or the JVM is gone.
    Gone(Error),
}

impl<'j> Live<'j> {
    /// Connects to the agent of a JVM, or attaches one. `None` if a signal came first.
    ///
    /// Patterns are added to those of an agent that is there already; other options have no effect then.
    pub(crate) fn begin(
        jvm: &'j Jvm,
        mut args: LiveArgs,
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
            // The budget has all of an agent's work, and profiles take up to one percent of a processor. So an agent in
            // an idle program would leave.
            if options.samples() {
                options.budget.get_or_insert(ProbeBudget::None);
            }
            let library = agent_path()?;
            jvm.check_loads_agents()?;
            args.choice.warn(&options);
            let Some(watch) = Watch::begin(jvm, &library, options, stop)? else {
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

    /// The bytes of a profile of everything recorded so far, as a file has them.
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

    /// A profile of everything recorded so far.
    pub(crate) fn profile(&mut self) -> Result<Profile, Failure> {
        let bytes = self.snapshot()?;
        pprof::read(&bytes[..]).map_err(|error| Failure::Refused(error.to_string()))
    }

    /// The time to wait before the next profile. It is so long that profiles take at most one percent of a processor.
    pub(crate) fn pause(&self) -> Duration {
        self.pace.pause()
    }

    /// Gives an order to the agent. An order that it refuses has a reply, too.
    pub(crate) fn ask(&self, request: &Request) -> Result<Reply, Failure> {
        let asked = self.agent()?.ask(request);
        asked.map_err(|error| self.failure(error))
    }

    fn agent(&self) -> Result<Agent<'j>, Failure> {
        let pid = self.jvm.pid();
        match Agent::find(self.jvm, None) {
            Ok(Some(agent)) => Ok(agent),
            Ok(None) if !self.jvm.has_ended() => {
                Err(Failure::Gone(anyhow!("the agent has left process {pid}")))
            }
            Ok(None) => Err(Failure::Gone(anyhow!("process {pid} has ended"))),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// An agent that was not reached may be busy. Only if it is not there any more, it is gone, and the next call finds
    /// that.
    fn failure(&self, error: Error) -> Failure {
        if self.jvm.has_ended() {
            Failure::Gone(error)
        } else {
            Failure::Refused(format!("{error:#}"))
        }
    }

    /// Ends the connection. An agent that was attached leaves the JVM; a signal ends the wait for it.
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
