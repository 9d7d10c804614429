use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::event::{EventfdFlags, eventfd};

use super::*;

const STATUS: &str = r#"{"version":1,"order":"status"}"#;

/// Runs `test` with a server whose orders all succeed. `test` gets the path of the socket. Returns whether a client has
/// asked the agent to leave.
fn with_server(patience: Duration, test: impl FnOnce(&std::path::Path)) -> bool {
    with_orders(patience, test, |_| ())
}

/// Runs `test` like [`with_server`], and passes each order to `note`.
fn with_orders(
    patience: Duration,
    test: impl FnOnce(&std::path::Path),
    note: impl Fn(&Request) + Send,
) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    let closed = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor"));
    let server = Server {
        opened: Opened {
            listener,
            closed: closed.clone(),
        },
        clients: Vec::new(),
        patience,
        next: 0,
        tracer: None,
        rests_until: None,
        execute: move |request| {
            note(&request);
            match request {
                Request::Detach => Outcome::Leave,
                _ => Outcome::Reply(Reply::Done),
            }
        },
        reason: || "the program ends".to_owned(),
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| server.run().is_some());
        test(&path);
        rustix::io::write(&closed, &1_u64.to_ne_bytes()).expect("the server is closed");
        server.join().expect("the server does not panic")
    })
}

fn connect(path: &std::path::Path) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(path).expect("a connection"))
}

fn send_line(client: &mut BufReader<UnixStream>, line: &[u8]) {
    let mut stream = client.get_ref();
    stream.write_all(line).expect("the line is sent");
    stream.write_all(b"\n").expect("the line is sent");
}

fn reply(client: &mut BufReader<UnixStream>) -> String {
    let mut line = String::new();
    client.read_line(&mut line).expect("a reply");
    line.trim_end().to_owned()
}

#[track_caller]
fn is_served(client: &mut BufReader<UnixStream>) {
    send_line(client, STATUS.as_bytes());
    assert_eq!(reply(client).parse(), Ok(Reply::Done));
}

#[test]
fn wrong_requests_get_an_error_and_hurt_nobody() {
    with_server(PATIENCE, |path| {
        let mut other = connect(path);
        let mut client = connect(path);
        for (wrong, expected) in [
            (r#"{"version":1,"order":"dance"}"#, "unknown order dance"),
            (
                r#"{"version":1,"order":"include"}"#,
                "needs the field pattern",
            ),
            (r#"{"version":9}"#, "version 1 only"),
        ] {
            send_line(&mut client, wrong.as_bytes());
            let reply = reply(&mut client);
            assert!(reply.contains(expected), "{reply}");
        }
        // The connection continues, even with several requests at once.
        send_line(&mut client, format!("{STATUS}\n{STATUS}").as_bytes());
        for _ in 0..2 {
            assert!(reply(&mut client).contains("done"));
        }
        send_line(&mut client, b"\xff\x00 no JSON");
        let reply = reply(&mut client);
        assert!(reply.contains("not a line with a JSON object"), "{reply}");
        assert_eq!(client.read(&mut [0]).expect("the end"), 0);
        is_served(&mut other);
    });
}

#[test]
fn ten_megabytes_are_refused() {
    with_server(PATIENCE, |path| {
        let mut other = connect(path);
        let mut client = connect(path);
        let sent = client.get_ref().write_all(&vec![b'x'; 10 << 20]);
        assert!(sent.is_err(), "the server closes the connection");
        let reply = reply(&mut client);
        assert!(reply.contains("more than 65536 bytes"), "{reply}");
        is_served(&mut other);
    });
}

#[test]
fn slow_clients_and_dead_ones_cost_nothing() {
    with_server(Duration::from_millis(300), |path| {
        let mut slow = connect(path);
        drop(connect(path));
        let began = Instant::now();
        while slow.get_ref().write_all(b"{").is_ok() && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(20));
            is_served(&mut connect(path));
        }
        assert!(reply(&mut slow).contains("no complete request"));
        // This client sends requests and reads no reply.
        let deaf = connect(path);
        deaf.get_ref().set_nonblocking(true).expect("a socket");
        let request = format!("{STATUS}\n");
        while deaf.get_ref().write_all(request.as_bytes()).is_ok() {}
        is_served(&mut connect(path));
    });
}

#[test]
fn there_is_a_limit_of_clients() {
    with_server(PATIENCE, |path| {
        let mut clients: Vec<_> = (0..MOST_CLIENTS).map(|_| connect(path)).collect();
        for client in &mut clients {
            is_served(client);
        }
        let mut one_more = connect(path);
        assert!(reply(&mut one_more).contains("16 clients are connected"));
        clients.truncate(1);
        is_served(&mut clients[0]);
        is_served(&mut connect(path));
    });
}

#[test]
fn one_client_makes_the_agent_leave() {
    let leaves = with_server(PATIENCE, |path| {
        let (mut first, mut client, mut last) = (connect(path), connect(path), connect(path));
        for other in [&mut first, &mut last] {
            is_served(other);
        }
        send_line(&mut client, br#"{"version":1,"order":"detach"}"#);
        // The server ends, so nobody replies.
        assert_eq!(reply(&mut client), "");
        for other in [&mut first, &mut last] {
            assert!(reply(other).contains("the program ends"));
        }
    });
    assert!(leaves);
}

/// A client that asks nothing at that moment learns why the agent leaves.
#[test]
fn the_end_has_a_reason() {
    let mut kept = None;
    with_server(PATIENCE, |path| {
        let mut client = connect(path);
        is_served(&mut client);
        kept = Some(client);
    });
    let mut client = kept.expect("a client");
    let said = reply(&mut client);
    assert_eq!(
        said.parse(),
        Ok(Reply::Error("the program ends".to_owned()))
    );
    assert_eq!(reply(&mut client), "", "the connection has ended");
}

/// The server ends the trace of a client that is gone, in whatever way the connection ended.
#[test]
fn a_trace_ends_with_its_client() {
    let ended = AtomicU32::new(0);
    let note = |request: &Request| {
        if *request == Request::Untrace {
            ended.fetch_add(1, Ordering::Relaxed);
        }
    };
    let until = |count| {
        while ended.load(Ordering::Relaxed) < count {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let test = |path: &std::path::Path| {
        let mut other = connect(path);
        is_served(&mut other);
        let trace = |is_closed: bool, count| {
            let mut client = connect(path);
            send_line(
                &mut client,
                br#"{"version":1,"order":"trace","pattern":"a.B","slower_ns":1}"#,
            );
            assert_eq!(reply(&mut client).parse(), Ok(Reply::Done));
            if is_closed {
                drop(client);
                return until(count);
            }
            // The client sends nothing for too long.
            until(count);
        };
        trace(true, 1);
        trace(false, 2);
    };
    with_orders(Duration::from_millis(300), test, note);
    assert_eq!(ended.load(Ordering::Relaxed), 2, "not for the other client");
}

/// A client whose own trace has ended leaves the trace of another client alone.
#[test]
fn a_client_ends_only_its_own_trace() {
    let ended = AtomicU32::new(0);
    let note = |request: &Request| {
        if *request == Request::Untrace {
            ended.fetch_add(1, Ordering::Relaxed);
        }
    };
    let begin = br#"{"version":1,"order":"trace","pattern":"a.B","slower_ns":1}"#;
    let end = br#"{"version":1,"order":"untrace"}"#;
    let test = |path: &std::path::Path| {
        let (mut first, mut second) = (connect(path), connect(path));
        for line in [&begin[..], end] {
            send_line(&mut first, line);
            assert_eq!(reply(&mut first).parse(), Ok(Reply::Done));
        }
        send_line(&mut second, begin);
        assert_eq!(reply(&mut second).parse(), Ok(Reply::Done));
        for line in [&end[..], br#"{"version":1,"order":"traced"}"#] {
            send_line(&mut first, line);
            let reply = reply(&mut first);
            assert!(reply.contains("traced by another client"), "{reply}");
        }
        drop(first);
        is_served(&mut second);
        is_served(&mut connect(path));
        // The client must still exist here, because otherwise the server could end the client's trace before the server
        // itself stops.
        std::mem::forget(second);
    };
    with_orders(PATIENCE, test, note);
    assert_eq!(ended.load(Ordering::Relaxed), 1, "only by the first client");
}
