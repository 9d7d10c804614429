//! The `loadhook` command line.

mod agent_path;
mod attach;
mod ctl;
mod heap;
mod hprof;
mod input;
mod inspect;
mod jvm;
mod live;
mod output;
mod ps;
mod recording;
mod report;
mod rewrite;
mod run;
mod serve;
mod side_by_side;
mod signals;
mod top;
mod trace;
mod users;

use std::borrow::Cow;
use std::ffi::OsString;
use std::process::{self, ExitCode};
use std::{env, io};

use clap::{Parser, Subcommand};
use loadhook_text::printable;
use loadhook_text::terminal::columns;
use loadhook_text::width::width;

use crate::output::say;

/// Profiles Java programs: counts calls, and shows which methods take the time.
#[derive(Debug, Parser)]
#[command(name = "loadhook", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a Java program, then show which methods took the time
    Run(run::RunArgs),
    /// List the running JVMs, for loadhook attach and loadhook heap
    Ps(ps::PsArgs),
    /// Watch a Java program that runs already, then show its profile
    Attach(attach::AttachArgs),
    /// Show live, on the terminal, what a running Java program does
    Top(top::TopArgs),
    /// Give an order to the agent that watches a Java program
    Ctl(ctl::CtlArgs),
    /// Show live, in the browser, the page of a running Java program
    Serve(serve::ServeArgs),
    /// Show the slow calls of chosen methods of a running Java program
    Trace(trace::TraceArgs),
    /// Show a profile as a table, tree or page, or convert it for another tool
    Report(report::ReportArgs),
    /// Print the path of the agent, for -agentpath
    AgentPath,
    /// Print a class file as text, or compare two
    Inspect(inspect::InspectArgs),
    /// Instrument class files, folders and archives on disk
    Rewrite(rewrite::RewriteArgs),
    /// Dump the heap of a running JVM, or show what a heap dump contains
    Heap(heap::HeapArgs),
    /// Read, check and show a file of the old agent HPROF
    Hprof(hprof::HprofArgs),
}

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let line = CommandLine::try_parse().unwrap_or_else(|error| refuse(&error));
    let command = line.command;
    signals::survive_file_limits();
    let result = match command {
        Command::Run(args) => run::run(&args),
        Command::Ps(args) => ps::run(&args).map(done),
        Command::Attach(args) => attach::run(args),
        Command::Top(args) => top::run(args),
        Command::Ctl(args) => ctl::run(&args).map(done),
        Command::Serve(args) => serve::run(args),
        Command::Trace(args) => trace::run(&args),
        Command::Report(args) => report::run(&args).map(done),
        Command::AgentPath => agent_path::run().map(done),
        Command::Inspect(args) => inspect::run(&args).map(done),
        Command::Rewrite(args) => rewrite::run(&args),
        Command::Heap(args) => heap::run(&args),
        Command::Hprof(args) => hprof::run(&args).map(done),
    };
    match result {
        Ok(code) => code,
        // The program that reads the output has ended, as in `loadhook … | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the parser's message or the help, and ends this process.
///
/// The parser neither escapes the arguments that it quotes nor wraps its lines. A message that needs
/// either is printed by [`say`] and has no colours, because `say` escapes colour sequences too.
fn refuse(error: &clap::Error) -> ! {
    let has_escapes = |argument: OsString| match printable(&argument.to_string_lossy()) {
        Cow::Borrowed(_) => false,
        Cow::Owned(_) => true,
    };
    let text = error.render().to_string();
    let columns = columns(io::stderr(), report::COLUMNS);
    let is_wide = text.lines().any(|line| width(line) > columns);
    if error.use_stderr() && (is_wide || env::args_os().any(has_escapes)) {
        say!("{}", text.trim_end());
        process::exit(error.exit_code());
    }
    error.exit()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
