//! The connection to an agent: finds its socket, also in a container, and exchanges lines.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use loadhook_settings::control::{Reply, Request, folder, socket_name};
use thiserror::Error;

use crate::agent_path::AGENT;
use crate::jvm::{Connection, Jvm, connect_to};
use crate::signals::Noted;

/// Interval at which the process is checked while its agent works.
const PERIOD: Duration = Duration::from_millis(200);

/// Time that an agent has for its reply once a signal has asked this command to end. The process may be stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of bytes of a reply. A limit is needed, because another user may own the process. It is high,
/// because a reply may list many patterns.
const LONGEST_REPLY: usize = 64 << 20;

/// The error of an agent that has closed the connection, because it has left the process.
#[derive(Debug, Error)]
#[error("the agent of process {pid} has left before it replied")]
pub(crate) struct AgentLeft {
    pid: u32,
}

/// The connection to an agent that takes orders.
pub(crate) struct Agent<'a> {
    jvm: &'a Jvm,
    stream: UnixStream,
    /// Bytes that were read after the last reply.
    rest: Vec<u8>,
    /// A signal that ends the waits for replies; `None` if signals end this process.
    stop: Option<&'a Noted>,
}

impl<'a> Agent<'a> {
    /// Connects to the agent of a JVM, which must take orders.
    pub(crate) fn connect(jvm: &'a Jvm, stop: Option<&'a Noted>) -> Result<Agent<'a>> {
        match Agent::find(jvm, stop)? {
            Some(agent) => Ok(agent),
            None => not_watched(jvm),
        }
    }

    /// Connects to the agent of a JVM; `None` if there is none that takes orders. A signal that is noted in `stop` ends
    /// each wait for a reply, after some patience.
    pub(crate) fn find(jvm: &'a Jvm, stop: Option<&'a Noted>) -> Result<Option<Agent<'a>>> {
        let folder = folder(jvm.own_user());
        let seen = jvm.tmp().join(folder.file_name().unwrap_or_default());
        // `seen` leads through an open descriptor. Messages show `named`, the path by which a user finds the
        // folder.
        let named = jvm.root().join(folder.strip_prefix("/").unwrap_or(&folder));
        if !is_private(&seen, &named, jvm)? {
            return Ok(None);
        }
        let socket = socket_name(jvm.own_pid());
        let (path, named) = (seen.join(&socket), named.join(&socket));
        match fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_socket() => {}
            Ok(_) => bail!("{}: not a socket; remove it", named.display()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| named.display().to_string()),
        }
        match connect_to(&path).with_context(|| named.display().to_string())? {
            Connection::Made(stream) => {
                stream.set_read_timeout(Some(PERIOD))?;
                let mut agent = Agent {
                    jvm,
                    stream,
                    rest: Vec::new(),
                    stop,
                };
                agent.check_is_of(jvm, &named)?;
                Ok(Some(agent))
            }
            Connection::None => Ok(None),
            Connection::Full => bail!(
                "the agent of process {} is busy with other orders; try again later",
                jvm.pid()
            ),
        }
    }

    /// Fails if the agent is in another process. Containers that share a `/tmp` may have JVMs of the same process id.
    fn check_is_of(&mut self, jvm: &Jvm, path: &Path) -> Result<()> {
        let namespace = match self.ask(&Request::Status)? {
            Reply::Status(status) => status.namespace,
            Reply::Error(error) => bail!("{error}"),
            other => {
                bail!(
                    "unexpected reply to the order status; use a loadhook of the agent's version: {other}"
                )
            }
        };
        if namespace.is_some_and(|namespace| jvm.pid_namespace() != Some(namespace)) {
            bail!(
                "another process than {} answers on {}; give each container its own /tmp, then attach again",
                jvm.pid(),
                path.display()
            );
        }
        Ok(())
    }

    /// Gives an order, and waits for the reply.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply> {
        let pid = self.jvm.pid();
        let lost = || format!("the agent of process {pid} gave no reply");
        // If this fails, the agent has closed the connection, but may have sent the reason first.
        let _ = self.stream.write_all(format!("{request}\n").as_bytes());
        let line = self.line().with_context(lost)?;
        match line {
            Some(line) => Ok(line.parse()?),
            None if self.jvm.has_ended() => bail!("process {pid} has ended"),
            None => Err(AgentLeft { pid }.into()),
        }
    }

    /// Reads a line; `None` if the connection or the process ends.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut searched = 0;
        let mut stopped: Option<Instant> = None;
        loop {
            if self.stop.is_some_and(|stop| stop.code().is_some())
                && stopped.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
            {
                return Err(io::Error::other("a signal ended the wait"));
            }
            let new = self.rest.get(searched..).unwrap_or_default();
            if let Some(end) = new.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=searched + end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            searched = self.rest.len();
            if searched > LONGEST_REPLY {
                return Err(io::Error::other("the reply is too long"));
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(read) => self.rest.extend(chunk.iter().take(read)),
                Err(error) => match error.kind() {
                    ErrorKind::ConnectionReset => return Ok(None),
                    ErrorKind::WouldBlock if self.jvm.has_ended() => return Ok(None),
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
    }
}

/// Returns whether the folder exists. Fails unless it is a private folder of the JVM's user: every
/// user can make a folder of this name. Messages show the path `named`.
fn is_private(folder: &Path, named: &Path, jvm: &Jvm) -> Result<bool> {
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).with_context(|| named.display().to_string()),
    };
    if !found.is_dir() || found.uid() != jvm.user() || found.mode() & 0o777 != 0o700 {
        bail!(
            "{}: not a folder that only the user of process {} can enter; ask the owner of the folder or root to remove it, end loadhook attach, then attach again",
            named.display(),
            jvm.pid()
        );
    }
    Ok(true)
}

fn not_watched<T>(jvm: &Jvm) -> Result<T> {
    let pid = jvm.pid();
    if jvm.loaded(AGENT).is_none() {
        bail!(
            "process {pid} is not watched by Loadhook; attach to it first (loadhook attach {pid})"
        );
    }
    bail!(
        "no agent takes orders in process {pid}: the agent has left, or was started without --control; attach to the process (loadhook attach {pid}), or start the program with loadhook run --control"
    )
}
