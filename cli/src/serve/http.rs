//! HTTP/1.1 on one connection: a request and its reply, both bounded in size and time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use httparse::{EMPTY_HEADER, Status};

/// Maximum length of a request's head, in bytes. Browsers also send the cookies of all other servers on this machine.
const LONGEST_HEAD: usize = 64 << 10;

/// The maximum number of header lines.
const MOST_HEADERS: usize = 100;

/// Maximum length of a request's body, in bytes. The longest body is an order with patterns.
const LONGEST_BODY: usize = 64 << 10;

/// Number of bytes that are written or thrown away at a time.
const CHUNK: usize = 64 << 10;

/// Time in which a client must have read its reply.
const REPLY_PATIENCE: Duration = Duration::from_secs(60);

/// Value of the header `Content-Security-Policy`: scripts and styles come only from the page itself, and no other page
/// may show the page in a frame.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The parts of a request's head that the server uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    /// The path with the query.
    pub(super) target: String,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    /// The number of bytes of the body.
    pub(super) length: usize,
}

/// The reason for which a request cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Malformed,
    TooLarge,
    /// The body has no known length.
    NoLength,
    /// The client was too slow.
    Late,
    /// The client has gone.
    Gone,
}

/// A connection from which a request is read.
pub(super) struct Incoming<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
    /// Bytes that were read and not yet used.
    bytes: Vec<u8>,
}

impl<'a> Incoming<'a> {
    /// Prepares to read a request, which must be complete by `deadline`, even if its bytes come one by one.
    pub(super) fn new(stream: &'a TcpStream, deadline: Instant) -> Incoming<'a> {
        Incoming {
            stream,
            deadline,
            bytes: Vec::new(),
        }
    }

    pub(super) fn head(&mut self) -> Result<Head, Fault> {
        loop {
            if let Some((head, length)) = parse(&self.bytes)? {
                self.bytes.drain(..length);
                return Ok(head);
            }
            if self.bytes.len() >= LONGEST_HEAD {
                return Err(Fault::TooLarge);
            }
            self.read()?;
        }
    }

    pub(super) fn body(mut self, head: &Head) -> Result<Vec<u8>, Fault> {
        if head.length > LONGEST_BODY {
            return Err(Fault::TooLarge);
        }
        while self.bytes.len() < head.length {
            self.read()?;
        }
        self.bytes.truncate(head.length);
        Ok(self.bytes)
    }

    fn read(&mut self) -> Result<(), Fault> {
        let mut chunk = [0; 4096];
        let read = within(self.deadline, |left| {
            self.stream.set_read_timeout(Some(left))?;
            self.stream.read(&mut chunk)
        });
        match read {
            Ok(0) => Err(Fault::Gone),
            Ok(read) => {
                self.bytes.extend(chunk.iter().take(read));
                Ok(())
            }
            Err(error) if is_late(&error) => Err(Fault::Late),
            Err(_) => Err(Fault::Gone),
        }
    }
}

/// Reads a head and its length; `None` if the head is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Fault> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::TooLarge),
        Err(_) => return Err(Fault::Malformed),
    };
    // Refuse a header that is there twice: the browser may use the first value, and this server the second.
    let value = |name: &str| {
        let mut found = request
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(one), None) => match std::str::from_utf8(one.value) {
                Ok(value) => Ok(Some(value.to_owned())),
                Err(_) => Err(Fault::Malformed),
            },
            (Some(_), Some(_)) => Err(Fault::Malformed),
        }
    };
    if value("transfer-encoding")?.is_some() {
        return Err(Fault::NoLength);
    }
    let body = match value("content-length")? {
        None => 0,
        // A number that `usize` cannot hold is also too large for a body.
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().unwrap_or(usize::MAX)
        }
        Some(_) => return Err(Fault::Malformed),
    };
    let head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        host: value("host")?.ok_or(Fault::Malformed)?,
        origin: value("origin")?,
        length: body,
    };
    Ok(Some((head, length)))
}

/// An HTTP reply.
pub(super) struct Reply {
    status: &'static str,
    content_type: &'static str,
    /// The name under which a browser saves the body.
    file: Option<String>,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn html(body: Vec<u8>) -> Reply {
        Reply::new("200 OK", "text/html; charset=utf-8", body)
    }

    pub(super) fn json(value: &serde_json::Value) -> Reply {
        Reply::new("200 OK", "application/json", value.to_string().into_bytes())
    }

    pub(super) fn file(name: String, body: Vec<u8>) -> Reply {
        Reply {
            file: Some(name),
            ..Reply::new("200 OK", "application/octet-stream", body)
        }
    }

    /// Makes a reply that says why the request failed.
    pub(super) fn error(status: &'static str, why: &str) -> Reply {
        Reply::new(
            status,
            "text/plain; charset=utf-8",
            format!("loadhook: {why}\n").into_bytes(),
        )
    }

    fn new(status: &'static str, content_type: &'static str, body: Vec<u8>) -> Reply {
        Reply {
            status,
            content_type,
            file: None,
            body,
        }
    }

    /// Sends the reply, and ends the connection.
    pub(super) fn send(&self, mut stream: &TcpStream) -> io::Result<()> {
        let disposition = match &self.file {
            Some(name) => format!("Content-Disposition: attachment; filename=\"{name}\"\r\n"),
            None => String::new(),
        };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{disposition}\
             Connection: close\r\nCache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        let deadline = Instant::now() + REPLY_PATIENCE;
        for part in [head.as_bytes(), &self.body] {
            let mut rest = part;
            while !rest.is_empty() {
                let chunk = rest.get(..CHUNK).unwrap_or(rest);
                let written = within(deadline, |left| {
                    stream.set_write_timeout(Some(left))?;
                    stream.write(chunk)
                })?;
                rest = rest.get(written..).unwrap_or_default();
            }
        }
        stream.shutdown(Shutdown::Write)
    }
}

/// Reads and drops the rest of a request until the client closes the connection. If this side closed it with bytes
/// unread, the kernel would reset the connection, and the client would not see the reply.
pub(super) fn drain(mut stream: &TcpStream, deadline: Instant) {
    let mut chunk = vec![0; CHUNK];
    let mut read = || {
        within(deadline, |left| {
            stream.set_read_timeout(Some(left))?;
            stream.read(&mut chunk)
        })
    };
    while read().is_ok_and(|read| read > 0) {}
}

/// Calls `act` with the time that is left until the deadline, and repeats the call if a signal has interrupted it.
fn within<T>(deadline: Instant, mut act: impl FnMut(Duration) -> io::Result<T>) -> io::Result<T> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match act(left) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::{Fault, Head, MOST_HEADERS, parse};

    #[test]
    fn heads_are_read() {
        let text = "POST /t/order HTTP/1.1\r\nHost: localhost:1\r\nORIGIN: null\r\nContent-Length: 2\r\n\r\n{}";
        let head = Head {
            method: "POST".to_owned(),
            target: "/t/order".to_owned(),
            host: "localhost:1".to_owned(),
            origin: Some("null".to_owned()),
            length: 2,
        };
        for end in 0..text.len() - 2 {
            assert_eq!(parse(&text.as_bytes()[..end]), Ok(None), "{end}");
        }
        assert_eq!(parse(text.as_bytes()), Ok(Some((head, text.len() - 2))));
    }

    #[test]
    fn faulty_heads_are_refused() {
        let many = "a: b\r\n".repeat(MOST_HEADERS);
        for (lines, fault) in [
            ("", Fault::Malformed),
            ("Host: a\r\nHost: b\r\n", Fault::Malformed),
            ("Host: a\r\nContent-Length: -1\r\n", Fault::Malformed),
            ("Host: a\r\nContent-Length: +1\r\n", Fault::Malformed),
            (
                "Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
                Fault::Malformed,
            ),
            ("Host: a\r\nTransfer-Encoding: chunked\r\n", Fault::NoLength),
            (&format!("Host: a\r\n{many}"), Fault::TooLarge),
        ] {
            let text = format!("GET / HTTP/1.1\r\n{lines}\r\n");
            assert_eq!(parse(text.as_bytes()), Err(fault), "{lines}");
        }
        assert_eq!(parse(b"\x16\x03\x01\x02\x00"), Err(Fault::Malformed));
    }
}
