//! `loadhook hprof`: reads, checks and shows files of HPROF (`show.rs`), and receives the stream of HPROF's option
//! `net=` (`listen.rs`).

mod listen;
mod orders;
mod show;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Arguments of `loadhook hprof`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct HprofArgs {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    show: show::ShowArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Receive the data of a program with the option net=HOST:PORT into a file, and send HPROF's commands to the program
    Listen(listen::ListenArgs),
}

/// Runs the command.
pub(crate) fn run(args: &HprofArgs) -> Result<()> {
    match &args.command {
        Some(Command::Listen(args)) => listen::run(args),
        None => show::run(&args.show),
    }
}
