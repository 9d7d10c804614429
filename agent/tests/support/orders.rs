//! Gives orders to an agent through its control socket, as `loadhook ctl` does.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use loadhook_settings::control::{self, Reply, Request, folder, socket_name};
use rustix::process::geteuid;

use super::attach::Running;

/// A connection to an agent.
pub(crate) struct Connection(BufReader<UnixStream>);

impl Connection {
    pub(crate) fn new(program: &Running) -> Result<Connection> {
        let stream = UnixStream::connect(socket(program))?;
        Ok(Connection(BufReader::new(stream)))
    }

    /// Sends a line, and returns the reply to it.
    pub(crate) fn line(&mut self, line: &str) -> Result<Reply> {
        writeln!(self.0.get_ref(), "{line}")?;
        let mut reply = String::new();
        self.0.read_line(&mut reply)?;
        reply.parse().with_context(|| format!("{line}: {reply:?}"))
    }

    /// Gives an order, which must succeed.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply> {
        match self.line(&request.to_string())? {
            Reply::Error(error) => bail!("{request}: {error}"),
            reply => Ok(reply),
        }
    }

    /// Changes the choice of methods, and returns the number of changed classes.
    pub(crate) fn change(&mut self, request: &Request) -> Result<u64> {
        match self.ask(request)? {
            Reply::Changed(changed) => {
                ensure!(changed.figures.refused == 0, "{changed:?}");
                Ok(changed.figures.classes)
            }
            other => bail!("{other}"),
        }
    }
}

/// Returns the path of the agent's control socket.
pub(crate) fn socket(program: &Running) -> PathBuf {
    folder(geteuid().as_raw()).join(socket_name(program.child.id()))
}

pub(crate) fn include(pattern: &str) -> Request {
    Request::Include(control::patterns(pattern).expect("patterns"))
}

pub(crate) fn exclude(pattern: &str) -> Request {
    Request::Exclude(control::patterns(pattern).expect("patterns"))
}
