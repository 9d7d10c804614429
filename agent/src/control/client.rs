//! A connection to a client. Reads request lines and sends reply lines, and never waits for the client.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use loadhook_settings::control::{LONGEST_LINE, Reply, RequestError};
use rustix::net::{SendFlags, send};

/// The number of bytes that one call reads.
const CHUNK: usize = 4096;

/// A connection.
pub(super) struct Client {
    pub(super) stream: UnixStream,
    /// Received bytes that were not handled yet.
    input: Vec<u8>,
    /// Bytes of replies that were not sent yet.
    output: Vec<u8>,
    /// The time of the last progress: a request, or its reply.
    pub(super) at: Instant,
    /// A number that no other client of this server has.
    pub(super) number: u64,
    /// True if the connection ends when the output is sent.
    is_last: bool,
}

/// The next line of a client.
pub(super) enum Line {
    Complete(Vec<u8>),
    /// The rest of the line has not arrived yet.
    Awaited,
    TooLong,
    /// The client has closed the connection.
    Ended,
}

impl Client {
    pub(super) fn new(stream: UnixStream, number: u64, at: Instant) -> io::Result<Client> {
        stream.set_nonblocking(true)?;
        Ok(Client {
            stream,
            input: Vec::new(),
            output: Vec::new(),
            at,
            number,
            is_last: false,
        })
    }

    /// Returns whether a part of a reply was not sent yet.
    pub(super) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Returns whether a whole request line has been received, and no reply is waiting to be sent.
    pub(super) fn has_line(&self) -> bool {
        !self.has_output() && self.input.contains(&b'\n')
    }

    /// Adds a reply. If `is_last`, the connection ends after the reply.
    pub(super) fn reply(&mut self, reply: &Reply, is_last: bool) {
        self.output
            .extend_from_slice(format!("{reply}\n").as_bytes());
        self.is_last |= is_last;
    }

    /// Sends as much output as the client takes. Returns false if the connection has ended.
    pub(super) fn flush(&mut self) -> bool {
        while self.has_output() {
            // With the flag, a client that is gone causes no SIGPIPE.
            match send(&self.stream, &self.output, SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.output.drain(..sent.min(self.output.len()))),
                Err(error) => {
                    let kind = io::Error::from(error).kind();
                    return matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted);
                }
            }
        }
        !self.is_last
    }

    /// Takes the next line of the client.
    pub(super) fn line(&mut self) -> Line {
        let mut searched = 0;
        loop {
            let end = self.input.get(searched..).unwrap_or_default();
            if let Some(end) = end.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.input.drain(..=searched + end).collect();
                line.pop();
                return if line.len() > LONGEST_LINE {
                    Line::TooLong
                } else {
                    Line::Complete(line)
                };
            }
            searched = self.input.len();
            if searched > LONGEST_LINE {
                return Line::TooLong;
            }
            let mut chunk = [0; CHUNK];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Line::Ended,
                Ok(read) => self.input.extend(chunk.iter().take(read)),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Line::Awaited,
                    ErrorKind::Interrupted => {}
                    _ => return Line::Ended,
                },
            }
        }
    }

    /// Adds the error reply to a line that is no valid request.
    pub(super) fn refuse(&mut self, error: &RequestError) {
        self.reply(&Reply::Error(error.to_string()), error.is_garbage());
    }
}
