//! Accepts connections on loopback, each in a thread of its own. Their number is bounded.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::guard::{self, Token};
use super::http::{Fault, Head, Incoming, Reply, drain};

/// The maximum number of connections at a time.
const MOST_CONNECTIONS: usize = 32;

/// Time in which a request must have come.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Interval at which the server checks if it is to end.
const PERIOD: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The wait after a failure to accept a connection: the process may have no more descriptors.
const REST: Duration = Duration::from_millis(200);

/// A request that has passed the guard. `target` is the part of the path behind the token.
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) body: &'a [u8],
}

/// The state that all connections share.
pub(super) struct Server<F> {
    pub(super) token: Token,
    pub(super) answer: F,
    /// Time in which a request must have come, usually [`PATIENCE`].
    pub(super) patience: Duration,
    pub(super) connections: Connections,
}

/// The connections, the oldest first.
#[derive(Default)]
pub(super) struct Connections(Mutex<Vec<Open>>);

struct Open {
    stream: Arc<TcpStream>,
    /// True once the client has shown that it knows the token.
    is_trusted: bool,
}

/// A counted connection. Dropping this value, also by a panic, makes room for another connection.
struct Place<F> {
    server: Arc<Server<F>>,
    stream: Arc<TcpStream>,
}

impl<F> Drop for Place<F> {
    fn drop(&mut self) {
        self.server.connections.remove(&self.stream);
    }
}

impl<F: Fn(&Asked<'_>) -> Reply + Send + Sync + 'static> Server<F> {
    /// Serves until `has_ended` returns true. Threads of connections may go on after this function has returned.
    pub(super) fn run(
        self,
        listener: &TcpListener,
        has_ended: impl Fn() -> bool,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let server = Arc::new(self);
        while !has_ended() {
            let mut waited = [PollFd::new(listener, PollFlags::IN)];
            // A signal may interrupt the wait.
            let _ = poll(&mut waited, Some(&PERIOD));
            match listener.accept() {
                Ok((stream, _)) => server.clone().enter(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(REST),
            }
        }
        Ok(())
    }

    fn enter(self: Arc<Self>, stream: TcpStream) {
        let stream = Arc::new(stream);
        if stream.set_nonblocking(false).is_err() || !self.connections.add(&stream) {
            return;
        }
        let place = Place {
            server: self,
            stream,
        };
        let thread = thread::Builder::new().name("loadhook connection".to_owned());
        // If no thread can be started, the closure is dropped, and with it the `Place` of the connection.
        let _ = thread.spawn(move || {
            let _ = place.server.serve(&place.stream);
        });
    }

    /// Answers one request.
    fn serve(&self, stream: &Arc<TcpStream>) -> io::Result<()> {
        let deadline = Instant::now() + self.patience;
        let mut incoming = Incoming::new(stream, deadline);
        let head = match incoming.head() {
            Ok(head) => head,
            Err(fault) => return refuse(stream, &fault, deadline),
        };
        let target = match guard::check(&head, &self.token) {
            Ok(target) => target,
            Err(why) => {
                Reply::error("403 Forbidden", why).send(stream)?;
                drain(stream, deadline);
                return Ok(());
            }
        };
        self.connections.trust(stream);
        match incoming.body(&head) {
            Ok(body) => self.reply(&head, target, &body).send(stream)?,
            Err(fault) => return refuse(stream, &fault, deadline),
        }
        drain(stream, Instant::now() + self.patience);
        Ok(())
    }

    fn reply(&self, head: &Head, target: &str, body: &[u8]) -> Reply {
        (self.answer)(&Asked {
            method: &head.method,
            target,
            body,
        })
    }
}

fn refuse(stream: &TcpStream, fault: &Fault, deadline: Instant) -> io::Result<()> {
    let (status, why) = match fault {
        Fault::Malformed => (
            "400 Bad Request",
            "the request is not HTTP/1.1, or does not have exactly one header Host",
        ),
        Fault::TooLarge => ("413 Content Too Large", "the request has more than 64 KiB"),
        Fault::NoLength => ("411 Length Required", "send the header Content-Length"),
        Fault::Late => ("408 Request Timeout", "the request took too long"),
        Fault::Gone => return Ok(()),
    };
    Reply::error(status, why).send(stream)?;
    drain(stream, deadline);
    Ok(())
}

impl Connections {
    /// Adds a connection. If there are too many, closes the oldest connection that has not shown the token, so that
    /// clients without token cannot keep others away. Returns false if all connections have shown the token.
    fn add(&self, stream: &Arc<TcpStream>) -> bool {
        let mut open = self.lock();
        if open.len() >= MOST_CONNECTIONS {
            let Some(at) = open.iter().position(|one| !one.is_trusted) else {
                return false;
            };
            // The thread of this connection notices the end.
            let _ = open.remove(at).stream.shutdown(Shutdown::Both);
        }
        open.push(Open {
            stream: stream.clone(),
            is_trusted: false,
        });
        true
    }

    fn trust(&self, stream: &Arc<TcpStream>) {
        for one in self.lock().iter_mut() {
            one.is_trusted |= Arc::ptr_eq(&one.stream, stream);
        }
    }

    fn remove(&self, stream: &Arc<TcpStream>) {
        self.lock().retain(|one| !Arc::ptr_eq(&one.stream, stream));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
