use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Asked, Connections, MOST_CONNECTIONS, PATIENCE, Server};
use crate::serve::guard::Token;
use crate::serve::http::Reply;

/// A server that replies with the request's method, target and length. It ends when this value is dropped.
struct Running {
    port: u16,
    token: String,
    has_ended: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start(patience: Duration) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("an address").port();
        let token = Token::random().expect("random bytes");
        let word = token.as_str().to_owned();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        let server = Server {
            token,
            answer: |asked: &Asked<'_>| {
                assert_ne!(asked.target, "panic", "a fault that a test wants");
                let text = format!("{} {} {}", asked.method, asked.target, asked.body.len());
                Reply::html(text.into_bytes())
            },
            patience,
            connections: Connections::default(),
        };
        let thread = thread::spawn(move || {
            let served = server.run(&listener, || ended.load(Ordering::SeqCst));
            served.expect("the socket can be used");
        });
        Running {
            port,
            token: word,
            has_ended,
            thread: Some(thread),
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("the server accepts connections")
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream
            .write_all(request.as_bytes())
            .expect("the request is sent");
        let mut reply = String::new();
        stream
            .read_to_string(&mut reply)
            .expect("the reply is text");
        reply
    }

    /// Asks for the page, with the header `Host` only.
    fn page(&self) -> String {
        self.ask(&format!(
            "GET /{}/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
            self.token
        ))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        let joined = self.thread.take().map(thread::JoinHandle::join);
        assert!(thread::panicking() || joined.is_some_and(|joined| joined.is_ok()));
    }
}

#[test]
fn only_requests_of_the_page_reach_it() {
    let server = Running::start(PATIENCE);
    let token = &server.token;
    let own = format!(
        "POST /{token}/order HTTP/1.1\r\nHost: 127.0.0.1:7\r\nOrigin: http://127.0.0.1:7\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let reply = server.ask(&own);
    assert!(
        reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\nPOST order 2"),
        "{reply}"
    );
    for header in [
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Content-Security-Policy: default-src 'none'; ",
        "Connection: close",
    ] {
        assert!(reply.contains(&format!("\r\n{header}")), "{reply}");
    }
    assert!(!reply.to_lowercase().contains("access-control"), "{reply}");
    let other = "0".repeat(token.len());
    for request in [
        own.replace(&**token, &other),
        own.replace(&format!("/{token}/"), "/"),
        own.replace("Host: 127.0.0.1:7", "Host: evil.example:7"),
        own.replace("Origin: http://127.0.0.1:7", "Origin: http://evil.example"),
        own.replace("Origin: http://127.0.0.1:7", "Origin: null"),
    ] {
        let reply = server.ask(&request);
        assert!(
            reply.starts_with("HTTP/1.1 403 Forbidden\r\n"),
            "{request}: {reply}"
        );
        assert!(!reply.contains(&**token), "{reply}");
    }
}

#[test]
fn huge_requests_are_refused() {
    let server = Running::start(PATIENCE);
    let start = format!(
        "POST /{}/order HTTP/1.1\r\nHost: localhost\r\n",
        server.token
    );
    let body = "x".repeat(10 << 20);
    for request in [
        format!("{start}Content-Length: {}\r\n\r\n{body}", body.len()),
        format!("{start}Content-Length: {}\r\n\r\n", u128::MAX),
        format!("{start}A: {body}\r\n\r\n"),
        format!("GET /{body} HTTP/1.1\r\n\r\n"),
    ] {
        let reply = server.ask(&request);
        assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
    }
    let chunked = server.ask(&format!(
        "{start}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ));
    assert!(chunked.starts_with("HTTP/1.1 411 "), "{chunked}");
    assert!(server.ask("what\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(server.page().ends_with("\r\n\r\nGET  0"));
}

/// A client that sends its request byte by byte is refused after some time. Others are answered meanwhile.
#[test]
fn slow_clients_cost_others_nothing() {
    let server = Running::start(Duration::from_millis(500));
    let mut slow = server.connect();
    let mut sent = "GET /aaaaaaaaaaaaaaaaaaaaaaaaa".bytes();
    let mut reply = Vec::new();
    slow.set_read_timeout(Some(Duration::from_millis(50)))
        .expect("a timeout");
    loop {
        let _ = slow.write_all(&[sent.next().unwrap_or(b'a')]);
        assert!(server.page().starts_with("HTTP/1.1 200 "));
        let mut chunk = [0; 1024];
        match slow.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => reply.extend(&chunk[..read]),
            Err(_) => {}
        }
    }
    assert!(
        reply.starts_with(b"HTTP/1.1 408 "),
        "{}",
        String::from_utf8_lossy(&reply)
    );
}

#[test]
fn idle_connections_keep_nobody_away() {
    let server = Running::start(PATIENCE);
    let idle: Vec<TcpStream> = (0..3 * MOST_CONNECTIONS)
        .map(|_| server.connect())
        .collect();
    assert!(server.page().starts_with("HTTP/1.1 200 "));
    drop(idle);
    assert!(server.page().starts_with("HTTP/1.1 200 "));
}

/// A connection whose thread panics is no longer counted.
#[test]
fn faults_keep_nobody_away() {
    let server = Running::start(PATIENCE);
    for _ in 0..=MOST_CONNECTIONS {
        let request = format!(
            "GET /{}/panic HTTP/1.1\r\nHost: localhost\r\n\r\n",
            server.token
        );
        assert_eq!(server.ask(&request), "");
    }
    assert!(server.page().starts_with("HTTP/1.1 200 "));
}
