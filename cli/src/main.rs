//! The `loadhook` command line.

mod archive;
mod inspect;
mod output;
mod rewrite;
mod side_by_side;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Instruments Java classes for exact profiles.
#[derive(Debug, Parser)]
#[command(name = "loadhook", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a class as text, or two side by side
    Inspect(inspect::InspectArgs),
    /// Insert probes into class files
    Rewrite(rewrite::RewriteArgs),
}

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Command::Inspect(args) => inspect::run(&args),
        Command::Rewrite(args) => rewrite::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has enough of it: `loadhook … | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
