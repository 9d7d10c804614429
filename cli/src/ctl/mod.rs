//! `loadhook ctl`: gives orders to the agent that watches a JVM.

mod connection;
pub(crate) mod render;
mod snapshot;

use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use loadhook_settings::control::{self, Reply, Request, RequestError};

pub(crate) use self::connection::{Agent, AgentLeft};
pub(crate) use self::snapshot::{Snapshot, Snapshots};
use crate::jvm::Jvm;
use crate::output::{check_writable, say};

/// Arguments of `loadhook ctl`.
#[derive(Debug, Args)]
pub(crate) struct CtlArgs {
    /// The process id of the JVM, as loadhook ps prints it
    pid: u32,

    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, Subcommand)]
enum Order {
    /// Show what the agent watches
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Also instrument the classes and methods that match
    Include {
        /// For example com.example.** or com.example.Service::handle*
        patterns: String,
    },
    /// Do not instrument the classes and methods that match
    Exclude {
        /// For example com.example.** or com.example.Service::handle*
        patterns: String,
    },
    /// Write a profile of everything recorded so far; watching continues
    Snapshot {
        /// File for the profile; missing folders are created
        file: PathBuf,
    },
    /// Take no samples and take all probes out, until resume
    Pause,
    /// End the pause: sample and instrument as before
    Resume,
    /// Make the agent write its profile and leave the process
    Detach,
    #[command(hide = true)]
    Reset,
    #[command(hide = true)]
    Timing { mode: Option<String> },
    #[command(hide = true)]
    Alloc { mode: Option<String> },
}

/// Gives an order, and shows the reply.
pub(crate) fn run(args: &CtlArgs) -> Result<()> {
    // The arguments are checked before the process is touched.
    let request = match &args.order {
        Order::Status { .. } => Some(Request::Status),
        Order::Include { patterns } => Some(Request::Include(control::patterns(patterns)?)),
        Order::Exclude { patterns } => Some(Request::Exclude(control::patterns(patterns)?)),
        Order::Snapshot { file } => {
            check_writable(file)?;
            None
        }
        Order::Pause => Some(Request::Pause),
        Order::Resume => Some(Request::Resume),
        Order::Detach => Some(Request::Detach),
        Order::Reset => return refuse("reset"),
        Order::Timing { .. } => return refuse("timing"),
        Order::Alloc { .. } => return refuse("alloc"),
    };
    let jvm = Jvm::of(args.pid)?;
    let mut agent = Agent::connect(&jvm, None)?;
    if let Order::Snapshot { file } = &args.order {
        return snapshot::take(&jvm, &mut agent, file);
    }
    if let Some(request) = request {
        match agent.ask(&request)? {
            Reply::Status(status) => {
                let is_json = matches!(args.order, Order::Status { json: true });
                render::status(args.pid, &status, is_json, &mut io::stdout().lock())?;
            }
            Reply::Changed(changed) => say!("{}", render::changed(args.pid, &changed)),
            Reply::Done => say!("loadhook: the agent has left process {}", args.pid),
            Reply::Error(error) => bail!("{error}"),
            other @ (Reply::Traced(_) | Reply::Latencies(_)) => {
                bail!(
                    "unexpected reply to this order; use a loadhook of the agent's version: {other}"
                )
            }
        }
    }
    Ok(())
}

fn refuse(order: &str) -> Result<()> {
    match RequestError::needs_new_agent(order) {
        Some(error) => bail!("{error}"),
        None => Ok(()),
    }
}
