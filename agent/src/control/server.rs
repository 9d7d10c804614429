//! Serves all clients of the control socket in one thread. The thread never waits for a single client.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use loadhook_settings::control::{Reply, Request, RequestError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::client::{Client, Line};
use super::state::Opened;
use crate::jvm::peer;

/// The maximum number of clients at a time.
const MOST_CLIENTS: usize = 16;

/// The time within which a client must send a request, and within which it must read the reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// The wait after a client could not be accepted: the process may have no free file descriptor.
const REST: Duration = Duration::from_secs(1);

/// The outcome of a request.
pub(super) enum Outcome {
    Reply(Reply),
    /// The agent is to leave. The client gets the reply when the agent has left.
    Leave,
}

/// The state of a client after its input and output were handled.
enum Next {
    /// The client stays connected.
    Stays,
    /// The connection ends.
    Goes,
    /// The client has asked the agent to leave.
    Leaves,
}

/// The clients.
struct Server<F, G> {
    opened: Opened,
    clients: Vec<Client>,
    patience: Duration,
    /// The number of the next client.
    next: u64,
    /// The number of the client that has begun the trace under way.
    tracer: Option<u64>,
    /// The time from which on clients are accepted again.
    rests_until: Option<Instant>,
    execute: F,
    /// Returns the reason why the agent leaves.
    reason: G,
}

/// Serves clients until the socket is closed, or until a client asks the agent to leave. Returns the connection to this
/// client. All other clients are told the `reason` for the end.
pub(super) fn serve(
    opened: Opened,
    execute: impl FnMut(Request) -> Outcome,
    reason: impl Fn() -> String,
) -> Option<UnixStream> {
    let server = Server {
        opened,
        clients: Vec::new(),
        patience: PATIENCE,
        next: 0,
        tracer: None,
        rests_until: None,
        execute,
        reason,
    };
    server.run()
}

impl<F: FnMut(Request) -> Outcome, G: Fn() -> String> Server<F, G> {
    fn run(mut self) -> Option<UnixStream> {
        loop {
            let (is_closed, can_accept, ready) = self.wait()?;
            if is_closed {
                self.take_leave();
                return None;
            }
            let now = Instant::now();
            let mut clients = Vec::new();
            let mut turns = std::mem::take(&mut self.clients).into_iter().zip(ready);
            while let Some((mut client, is_ready)) = turns.next() {
                let next = if is_ready {
                    self.turn(&mut client)
                } else {
                    Next::Stays
                };
                match next {
                    // `now` is the time before this round, because an order of another client in this round may have
                    // taken long.
                    Next::Stays if now.saturating_duration_since(client.at) >= self.patience => {
                        expire(&mut client, self.patience);
                        self.end_trace(&client);
                    }
                    Next::Stays => clients.push(client),
                    Next::Goes => self.end_trace(&client),
                    Next::Leaves => {
                        clients.extend(turns.map(|(client, _)| client));
                        self.clients = clients;
                        self.take_leave();
                        return Some(client.stream);
                    }
                }
            }
            self.clients = clients;
            if can_accept {
                self.accept();
            }
        }
    }

    /// Waits until the socket is closed, a client connects, or a connected client is ready. Returns which of these has
    /// happened: for connected clients, one flag each. `None` if the system call fails.
    fn wait(&mut self) -> Option<(bool, bool, Vec<bool>)> {
        let now = Instant::now();
        self.rests_until = self.rests_until.filter(|until| *until > now);
        let deadlines = self.clients.iter().map(|client| client.at + self.patience);
        let deadline = deadlines.chain(self.rests_until).min();
        let has_line = self.clients.iter().any(Client::has_line);
        let left = match deadline {
            _ if has_line => Some(Duration::ZERO),
            deadline => deadline.map(|deadline| deadline.saturating_duration_since(now)),
        };
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let accepts = match self.rests_until {
            Some(_) => PollFlags::empty(),
            None => PollFlags::IN,
        };
        let mut polled = vec![
            PollFd::new(&self.opened.closed, PollFlags::IN),
            PollFd::new(&self.opened.listener, accepts),
        ];
        polled.extend(self.clients.iter().map(|client| {
            let flags = if client.has_output() {
                PollFlags::OUT
            } else {
                PollFlags::IN
            };
            PollFd::new(&client.stream, flags)
        }));
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let is_set = |at: usize| polled.get(at).is_some_and(|it| !it.revents().is_empty());
        let clients = self.clients.iter().enumerate();
        let ready = clients.map(|(at, client)| is_set(at + 2) || client.has_line());
        Some((is_set(0), is_set(1), ready.collect()))
    }

    /// Serves a client that is ready: sends the rest of its reply, then handles one request.
    fn turn(&mut self, client: &mut Client) -> Next {
        let had_output = client.has_output();
        if !client.flush() {
            return Next::Goes;
        }
        if client.has_output() {
            return Next::Stays;
        }
        if had_output {
            client.at = Instant::now();
        }
        match client.line() {
            Line::Awaited => return Next::Stays,
            Line::Ended => return Next::Goes,
            Line::TooLong => client.refuse(&RequestError::TooLong),
            Line::Complete(line) => {
                let line = str::from_utf8(&line).map_err(|_| RequestError::NotJson);
                match line.and_then(str::parse::<Request>) {
                    Err(error) => client.refuse(&error),
                    Ok(request) => match self.carry_out(client.number, request) {
                        Outcome::Leave => return Next::Leaves,
                        Outcome::Reply(reply) => client.reply(&reply, false),
                    },
                }
            }
        }
        client.at = Instant::now();
        if client.flush() {
            Next::Stays
        } else {
            Next::Goes
        }
    }

    /// Carries out an order of a client. A trace belongs to the client that has begun it.
    fn carry_out(&mut self, client: u64, request: Request) -> Outcome {
        let is_others = self.tracer.is_some_and(|tracer| tracer != client);
        if is_others && matches!(request, Request::Traced | Request::Untrace) {
            let reason =
                "calls are being traced by another client; wait until that trace has ended";
            return Outcome::Reply(Reply::Error(reason.to_owned()));
        }
        let traces = match request {
            Request::Trace(_) => Some(Some(client)),
            Request::Untrace => Some(None),
            _ => None,
        };
        let outcome = (self.execute)(request);
        if let (Some(tracer), Outcome::Reply(reply)) = (traces, &outcome)
            && !matches!(reply, Reply::Error(_))
        {
            self.tracer = tracer;
        }
        outcome
    }

    /// Tells all clients why the agent leaves. A client that reads slowly may lose the message.
    fn take_leave(&mut self) {
        let reply = Reply::Error((self.reason)());
        for client in &mut self.clients {
            client.reply(&reply, true);
            client.flush();
        }
    }

    /// Ends the trace of a client that is gone.
    fn end_trace(&mut self, client: &Client) {
        if self.tracer == Some(client.number) {
            // The reply is dropped, because its client is gone. If the order fails, another client may end the trace.
            let _ = self.carry_out(client.number, Request::Untrace);
            self.tracer = None;
        }
    }

    /// Accepts a limited number of new clients, so that the connected clients have their turn even if very many new
    /// ones come.
    fn accept(&mut self) {
        for _ in 0..MOST_CLIENTS {
            let stream = match self.opened.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                    _ => {
                        self.rests_until = Some(Instant::now() + REST);
                        return;
                    }
                },
            };
            let refused = refusal(&stream).or_else(|| {
                (self.clients.len() >= MOST_CLIENTS).then(|| {
                    format!(
                        "{MOST_CLIENTS} clients are connected, which is the limit; try again later"
                    )
                })
            });
            let Ok(mut client) = Client::new(stream, self.next, Instant::now()) else {
                continue;
            };
            self.next += 1;
            match refused {
                None => self.clients.push(client),
                Some(reason) => {
                    client.reply(&Reply::Error(reason), true);
                    client.flush();
                }
            }
        }
    }
}

/// Returns the reason why the user at the other end may give no orders; `None` if that user may.
fn refusal(stream: &UnixStream) -> Option<String> {
    let own = geteuid().as_raw();
    match peer::user_of(stream) {
        Ok(user) if user == own || user == 0 => None,
        Ok(user) => Some(format!(
            "user {user} may not control a process of user {own}; run the command as user {own} or as root"
        )),
        Err(error) => Some(format!("the user at the other end is not known: {error}")),
    }
}

/// Replies to a client that it has sent no request in time, if no other reply is waiting to be sent.
fn expire(client: &mut Client, patience: Duration) {
    if !client.has_output() {
        let error = format!(
            "no complete request for {} s; connect again",
            patience.as_secs()
        );
        client.reply(&Reply::Error(error), true);
    }
    client.flush();
}

#[cfg(test)]
mod tests;
