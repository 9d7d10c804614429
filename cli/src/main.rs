//! The `loadhook` command line.

mod archive;
mod attach;
mod heap;
mod inspect;
mod java_options;
mod launch;
mod outcome;
mod output;
mod report;
mod rewrite;
mod run;
mod side_by_side;
mod signals;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::say;

/// Instruments Java classes for exact profiles.
#[derive(Debug, Parser)]
#[command(name = "loadhook", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a Java program and show where its time goes, call by call
    Run(run::RunArgs),
    /// Show a profile: table, tree, page, or another tool's format
    Report(report::ReportArgs),
    /// Print the path of the agent's library
    AgentPath,
    /// Print a class as text, or two side by side
    Inspect(inspect::InspectArgs),
    /// Insert probes into class files, folders and archives
    Rewrite(rewrite::RewriteArgs),
    /// Show what a heap dump holds, or dump the heap of a running JVM
    Heap(heap::HeapArgs),
}

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let command = CommandLine::parse().command;
    signals::survive_file_limits();
    let result = match command {
        Command::Run(args) => run::run(&args),
        Command::Report(args) => report::run(&args).map(done),
        Command::AgentPath => launch::print_agent_path().map(done),
        Command::Inspect(args) => inspect::run(&args).map(done),
        Command::Rewrite(args) => rewrite::run(&args),
        Command::Heap(args) => heap::run(&args),
    };
    match result {
        Ok(code) => code,
        // Whoever reads the output has enough of it: `loadhook … | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
