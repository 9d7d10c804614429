//! `loadhook serve`: serves the page of a running program, to this machine only.

mod guard;
mod http;
mod program;
mod routes;
mod server;

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::Args;

use self::guard::Token;
use self::program::Program;
use self::server::{Asked, Connections, PATIENCE, Server};
use crate::jvm::Jvm;
use crate::live::{Live, LiveArgs};
use crate::output::say;
use crate::signals::{self, Noted};

/// Arguments of `loadhook serve`.
#[derive(Debug, Args)]
#[command(after_help = "Ctrl-C ends the page and the watching.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    live: LiveArgs,

    /// The port on 127.0.0.1 (default: a free one)
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
}

/// Serves the page until a signal comes.
pub(crate) fn run(args: ServeArgs) -> Result<ExitCode> {
    let pid = args.live.pid;
    // All that can fail is done before the process is touched.
    let listener = listen(args.port)?;
    let port = listener.local_addr()?.port();
    let token = Token::random().context("cannot read random bytes")?;
    // `jvm` and `stop` are never freed: the thread of a connection may outlive this function, waiting for the agent.
    let jvm: &'static Jvm = Box::leak(Box::new(Jvm::of(pid)?));
    let stop: &'static Noted = Box::leak(Box::new(signals::noted()?));
    let Some(live) = Live::begin(jvm, args.live.clone(), "serve", stop)? else {
        return Ok(ExitCode::from(stop.code().unwrap_or(1)));
    };
    let program = Arc::new(Program::new(jvm, args.live, stop, live));
    let address = format!("http://127.0.0.1:{port}/{}/", token.as_str());
    say!(
        "loadhook: until Ctrl-C, everybody who knows this address can see and control process {pid}:"
    );
    writeln!(io::stdout(), "{address}")?;
    let behind = program.clone();
    let server = Server {
        token,
        answer: move |asked: &Asked<'_>| routes::answer(&behind, pid, asked),
        patience: PATIENCE,
        connections: Connections::default(),
    };
    let served = server.run(&listener, || stop.code().is_some());
    if !program.end()? {
        say!("loadhook: process {pid} does not answer; the agent will leave the process by itself");
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Listens on a port of 127.0.0.1, which other machines cannot reach.
fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            anyhow!("port {port} is in use; choose another one, or leave --port out for a free one")
        }
        ErrorKind::PermissionDenied => {
            anyhow!(
                "only root may listen on port {port}; choose one from 1024 on, or leave --port out"
            )
        }
        _ => anyhow!(error).context(format!("cannot listen on port {port}")),
    })
}
