//! The connection to the address of `net=`, where HPROF's reader listens. The agent connects and never listens. Only
//! the agent's own threads and the end of the JVM wait for the reader, and only as long as the reader takes data fast
//! enough.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use loadhook_profile::format::hprof::Numbers;
use loadhook_text::bytes;
use thiserror::Error;

use crate::locks::{lock, wait};

/// The longest time for connecting, and for sending an answer, if the answer is small.
const PATIENCE: Duration = Duration::from_secs(10);

/// A larger answer may take longer than [`PATIENCE`]: one second more for every [`LEAST_RATE`] bytes.
const LEAST_RATE: u64 = 1 << 20;

/// The longest time for which the end of the program waits for the reader, however much is to be sent.
const LONGEST_END: Duration = Duration::from_secs(60);

/// Longest wait in a single system call.
const TICK: Duration = Duration::from_millis(200);

/// Number of bytes that are copied at once.
const CHUNK: usize = 64 << 10;

/// The reason why an answer was not sent.
#[derive(Debug, Error)]
pub(crate) enum NotSent {
    /// There is no connection any more. Its failure or end was already reported.
    #[error("there is no connection")]
    Closed,
    /// There is no connection yet.
    #[error("{address} has not answered in {} seconds", after.as_secs())]
    Opening { address: String, after: Duration },
    /// The reader has closed the connection, or the network has failed.
    #[error("{address} received {} before the connection failed ({error})", bytes(*taken))]
    Gone {
        address: String,
        taken: u64,
        error: io::Error,
    },
    /// The reader takes data too slowly.
    #[error(
        "{address} received only {} in {} seconds; the connection was closed, so that the program need not wait",
        bytes(*taken),
        after.as_secs()
    )]
    TooSlow {
        address: String,
        taken: u64,
        after: Duration,
    },
    /// A part of the answer cannot be read from its file.
    #[error("the heap dump cannot be read ({0})")]
    Unreadable(io::Error),
}

#[derive(Default)]
enum State {
    #[default]
    Opening,
    Open(TcpStream),
    Closed,
}

/// The connection.
pub(crate) struct Connection {
    pub(crate) address: String,
    /// [`PATIENCE`], except in tests.
    patience: Duration,
    /// [`LONGEST_END`], except in tests.
    longest_end: Duration,
    /// The time after which nothing is sent any more; set when the program ends.
    closes_at: OnceLock<Instant>,
    state: Mutex<State>,
    changed: Condvar,
    /// The serial numbers that are not used yet in the stream.
    pub(crate) numbers: Mutex<Numbers>,
    /// False after a command to record no allocations.
    pub(super) notes_allocations: AtomicBool,
    /// False after a command to take no samples.
    pub(super) samples: AtomicBool,
}

impl Connection {
    pub(crate) fn new(address: String) -> Connection {
        Connection {
            address,
            patience: PATIENCE,
            longest_end: LONGEST_END,
            closes_at: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
            numbers: Mutex::default(),
            notes_allocations: true.into(),
            samples: true.into(),
        }
    }

    /// Returns whether allocations are recorded.
    pub(crate) fn notes_allocations(&self) -> bool {
        self.notes_allocations.load(Ordering::Relaxed)
    }

    /// Bounds the time for all that is still to be sent, because the end of the program waits for it.
    pub(crate) fn program_ends(&self) {
        self.closes_at
            .get_or_init(|| Instant::now() + self.longest_end);
    }

    /// Connects and sends the beginning of the stream. Returns a second handle of the connection, from which commands
    /// are read.
    pub(super) fn open(&self, begin: &[u8]) -> io::Result<TcpStream> {
        let opened = self.connect(begin);
        let mut state = lock(&self.state);
        if matches!(*state, State::Closed) {
            // The program has ended meanwhile. The stream is closed without further data.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let (new, commands) = match opened {
            Ok((stream, commands)) => (State::Open(stream), Ok(commands)),
            Err(error) => (State::Closed, Err(error)),
        };
        *state = new;
        self.changed.notify_all();
        commands
    }

    fn connect(&self, begin: &[u8]) -> io::Result<(TcpStream, TcpStream)> {
        let mut failed = io::Error::other("the host has no address");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, self.patience) {
                Ok(mut stream) => {
                    stream.set_write_timeout(Some(TICK))?;
                    stream.write_all(begin)?;
                    let commands = stream.try_clone()?;
                    return Ok((stream, commands));
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Sends an answer. After an error, the connection is closed, because a part of the answer may have been sent.
    pub(crate) fn send(&self, answer: impl Read) -> Result<(), NotSent> {
        let began = Instant::now();
        let mut state = lock(&self.state);
        while matches!(*state, State::Opening) && began.elapsed() < self.patience {
            state = wait(&self.changed, state, TICK);
        }
        let stream = match &*state {
            State::Open(stream) => stream,
            State::Opening => {
                let (address, after) = (self.address.clone(), began.elapsed());
                return Err(NotSent::Opening { address, after });
            }
            State::Closed => return Err(NotSent::Closed),
        };
        let sent = self.copy(stream, answer);
        if sent.is_err() {
            let _ = stream.shutdown(Shutdown::Both);
            *state = State::Closed;
        }
        sent
    }

    fn copy(&self, mut stream: &TcpStream, mut answer: impl Read) -> Result<(), NotSent> {
        let began = Instant::now();
        let address = || self.address.clone();
        let mut taken = 0;
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = answer.read(&mut buffer).map_err(NotSent::Unreadable)?;
            let mut rest = buffer.get(..read).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            while !rest.is_empty() {
                let after = began.elapsed();
                match stream.write(rest) {
                    Ok(written) => {
                        taken += written as u64;
                        rest = rest.get(written..).unwrap_or_default();
                    }
                    Err(error) if is_wait(&error) => {}
                    Err(error) => {
                        let address = address();
                        return Err(NotSent::Gone {
                            address,
                            taken,
                            error,
                        });
                    }
                }
                let is_over = self.closes_at.get().is_some_and(|at| *at < Instant::now());
                if is_over || after > self.patience + Duration::from_secs(taken / LEAST_RATE) {
                    let address = address();
                    return Err(NotSent::TooSlow {
                        address,
                        taken,
                        after,
                    });
                }
            }
        }
    }

    /// Ends the stream. Commands are still read, because with unread commands the operating system would drop the data
    /// that was sent last.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        if let State::Open(stream) = &*state {
            let _ = stream.shutdown(Shutdown::Write);
        }
        *state = State::Closed;
    }
}

/// Returns whether an error only means that the reader has taken no data within [`TICK`].
fn is_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_sent_arrives_in_order() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let connection = Connection::new(address);
        let received = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("somebody connects");
                let mut received = Vec::new();
                stream.read_to_end(&mut received).expect("it is readable");
                received
            });
            connection.open(b"begin ").expect("it listens");
            connection.send(&b"one "[..]).expect("it is taken");
            connection.send(&b"two"[..]).expect("it is taken");
            connection.end();
            reader.join().expect("the thread did not panic")
        });
        assert_eq!(received, b"begin one two");
        let after = connection.send(&b"three"[..]);
        assert!(matches!(after, Err(NotSent::Closed)));
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let connection = Connection::new(address);
        connection.open(b"").expect("it listens");
        drop(listener);
        let sent = connection.send(io::repeat(7));
        assert!(matches!(sent, Err(NotSent::Gone { .. })), "{sent:?}");
        let again = connection.send(&b""[..]);
        assert!(matches!(again, Err(NotSent::Closed)));
        assert!(Connection::new("localhost:1".to_owned()).open(b"").is_err());
    }

    #[test]
    fn an_answer_without_a_connection_is_told_of() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let mut connection = Connection::new(address);
        connection.patience = Duration::from_millis(50);
        let sent = connection.send(&b"late"[..]);
        assert!(matches!(sent, Err(NotSent::Opening { .. })), "{sent:?}");
        connection.end();
        assert!(connection.open(b"").is_err(), "the program has ended");
        let sent = connection.send(&b""[..]);
        assert!(matches!(sent, Err(NotSent::Closed)));
    }

    #[test]
    fn a_reader_that_takes_nothing_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let mut connection = Connection::new(address);
        connection.patience = Duration::from_millis(100);
        // The connection stays in the queue of the listener.
        connection.open(b"").expect("it listens");
        // The buffers of the system take a part.
        let sent = connection.send(io::repeat(7).take(1 << 32));
        assert!(matches!(sent, Err(NotSent::TooSlow { .. })), "{sent:?}");
    }

    #[test]
    fn the_end_waits_for_a_bounded_time() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let mut connection = Connection::new(address);
        connection.longest_end = Duration::from_millis(50);
        let sent = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("somebody connects");
                io::copy(&mut stream, &mut io::sink())
            });
            connection.open(b"").expect("it listens");
            connection.program_ends();
            // The reader takes all that it gets, so no other bound holds.
            let sent = connection.send(io::repeat(7));
            let _ = reader.join().expect("the thread did not panic");
            sent
        });
        assert!(matches!(sent, Err(NotSent::TooSlow { .. })), "{sent:?}");
    }
}
