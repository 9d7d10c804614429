//! Tests of `loadhook serve` with real JVMs, one of them in a real browser.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::thread;
use std::time::Duration;

use common::held::{outcome, send, spawned};
use common::watched::{INCLUDE, looping};
use common::{Done, calls, done, folder, loadhook};
use loadhook_profile::format::pprof;
use loadhook_settings::control;
use loadhook_testkit::browser_session::Session;
use loadhook_testkit::process;
use rustix::process::{Signal, geteuid};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A running `loadhook serve`.
struct Serving {
    command: Child,
    address: String,
    _folder: TempDir,
}

impl Serving {
    fn start(pid: &str) -> Serving {
        let folder = folder();
        let mut command = loadhook(folder.path(), &["serve", pid]);
        let mut command = spawned(command.args(INCLUDE));
        let _limit = process::limit(&command);
        let out = command.stdout.take().expect("the stream is a pipe");
        let mut out = BufReader::new(out);
        let mut address = String::new();
        out.read_line(&mut address).expect("the text is UTF-8");
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        command.stdout = Some(out.into_inner());
        Serving {
            command,
            address: address.trim_end().to_owned(),
            _folder: folder,
        }
    }

    /// Sends a request of the page, and returns the body of the reply.
    fn ask(&self, method: &str, target: &str, body: &str) -> Vec<u8> {
        let rest = self
            .address
            .strip_prefix("http://")
            .expect("the address is of HTTP");
        let (host, path) = rest.split_once('/').expect("the address has a path");
        let mut stream = TcpStream::connect(host).expect("the server accepts connections");
        let length = body.len();
        let request = format!(
            "{method} /{path}{target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream
            .write_all(request.as_bytes())
            .expect("the request is sent");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("the reply comes");
        let end = reply
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .expect("the reply has a head");
        assert!(
            reply.starts_with(b"HTTP/1.1 200 OK\r\n"),
            "{}",
            String::from_utf8_lossy(&reply)
        );
        reply.split_off(end + 4)
    }

    fn json(&self, method: &str, target: &str, body: &str) -> Value {
        serde_json::from_slice(&self.ask(method, target, body)).expect("the reply is JSON")
    }

    fn order(&self, order: &Value) -> Value {
        self.json("POST", "order", &order.to_string())
    }

    fn end(self) -> Done {
        send(&self.command, Signal::INT);
        outcome(self.command)
    }
}

/// The page follows the program, gives orders, and keeps the last profile when the program has ended.
#[test]
fn the_page_follows_a_program() {
    let jvm = looping(17, &[]);
    let serving = Serving::start(&jvm.pid());
    let mut page = Session::open(&serving.address);
    page.until(
        "state.state === 'live' && methods.name.some((name) => name.includes('Looping.step'))",
    );
    page.value("search('looping'); zoom(graph.calleesOf(-1)[0])");
    page.value("globalThis.was = { number: state.number, calls: data.methodCalls[0][1], zoom: keysTo(zoomed).join() }");
    page.until("state.number > was.number && data.methodCalls[0][1] > was.calls");
    let kept = page.value("[keysTo(zoomed).join() === was.zoom, sought, location.hash !== '']");
    assert_eq!(kept, r#"[true,"looping",true]"#);

    page.value("$('live-pause').click()");
    page.until("state.state === 'paused' && $('live-pause').textContent === 'Resume'");
    page.value("$('live-pause').click()");
    page.until("state.state === 'live'");
    page.value(
        "$('live-patterns').value = 'other.**'; document.querySelector('[name=exclude]').click()",
    );
    page.until("state.watched === 'include watched.**, exclude other.**'");
    page.value(
        "$('live-patterns').value = 'a..b'; document.querySelector('[name=include]').click()",
    );
    page.until("$('live-said').classList.contains('refused') && $('live-said').textContent.startsWith('bad pattern')");

    page.value("$('live-stop').click()");
    page.until("state.state === 'left' && $('live-stop').textContent === 'Watch again'");
    page.value("$('live-stop').click()");
    page.until("state.state === 'live'");
    // After the page is loaded again, it shows the same part of the flame graph.
    page.value("globalThis.was = { zoom: keysTo(zoomed).join() }; sessionStorage.was = was.zoom; setTimeout(() => location.reload())");
    page.until("globalThis.was === undefined && document.documentElement.dataset.ready && state.number > 0");
    assert_eq!(
        page.value("keysTo(zoomed).join() === sessionStorage.was"),
        "true"
    );

    drop(jvm);
    page.until("state.state === 'ended' && $('live-state').textContent.startsWith('the program has ended')");
    assert_eq!(
        page.value("methods.name.some((name) => name.includes('Looping.step'))"),
        "true"
    );
    serving.end().expect(0, "", &[]);
    page.until("state.state === 'lost'");
}

/// Profiles are taken only when a page asks for one, and two pages share them.
#[test]
fn pages_ask_for_profiles() {
    let jvm = looping(17, &[]);
    let serving = Serving::start(&jvm.pid());
    let first = serving.json("GET", "profile", "");
    assert_eq!(
        (&first["state"], &first["number"]),
        (&json!("live"), &json!(1))
    );
    assert!(first["measures"].is_array());
    // Wait longer than the interval of profiles. No page asks for a profile, so none is taken.
    thread::sleep(Duration::from_millis(2500));
    let second = loop {
        let newest = serving.json("GET", "profile?after=1", "");
        if newest["number"] != 1 {
            break newest;
        }
    };
    assert_eq!(second["number"], 2);
    let other = serving.json("GET", "profile?after=0", "");
    assert!(other["measures"].is_array(), "{other}");
    let known = serving.json("GET", &format!("profile?after={}", other["number"]), "");
    assert!(
        known["number"] != other["number"] || known["measures"].is_null(),
        "{known}"
    );
    let file = serving.ask("GET", "snapshot.pb.gz", "");
    let profile = pprof::read(&file[..]).expect("the file is a profile");
    assert!(calls(&profile, "watched.Looping", "step") > 0);

    let order = |order: &str| {
        serving.order(
            &json!({"version": 1, "order": order, "file": "/tmp/x", "pattern": "watched.**"}),
        )
    };
    for refused in [
        "snapshot", "status", "traced", "reset", "resume", "nonsense",
    ] {
        assert_eq!(order(refused)["isRefused"], true, "{refused}");
    }
    assert_eq!(serving.json("POST", "order", "garbage")["isRefused"], true);
    let excluded = order("exclude");
    assert_eq!(excluded["isRefused"], false);
    let said = excluded["said"].as_str().expect("a text");
    assert!(
        said.starts_with("1 class changed in 1 batch; the program stopped for at most "),
        "{said}"
    );
    let left = serving.end();
    left.expect(0, "", &["loadhook: asking the agent to leave process "]);
    jvm.ends_well();
}

/// If an agent has its maximum number of clients, the page says so, and goes on when the agent has room again.
#[test]
fn a_busy_agent_is_not_lost() {
    let jvm = looping(17, &[]);
    let serving = Serving::start(&jvm.pid());
    let socket = control::folder(geteuid().as_raw()).join(control::socket_name(jvm.0.id()));
    let connect = |_| UnixStream::connect(&socket).expect("the agent listens");
    let clients: Vec<UnixStream> = (0..16).map(connect).collect();
    let busy = serving.json("GET", "profile", "");
    let problem = busy["problem"].as_str().expect("a problem");
    assert_eq!(busy["state"], "live", "{problem}");
    assert!(problem.starts_with("16 clients are connected"), "{problem}");
    let order = json!({"version": 1, "order": "exclude", "pattern": "a.B"});
    assert_eq!(serving.order(&order)["isRefused"], true);
    drop(clients);
    let again = serving.json("GET", "profile", "");
    assert_eq!(
        (&again["state"], &again["problem"]),
        (&json!("live"), &Value::Null)
    );
    serving.end().expect(0, "", &[]);
    jvm.ends_well();
}

#[test]
fn a_port_in_use_is_refused_before_the_process_is_touched() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("an address").port().to_string();
    let folder = folder();
    let refused = done(&mut loadhook(
        folder.path(),
        &["serve", "1", "--port", &port],
    ));
    let said = format!(
        "error: port {port} is in use; choose another one, or leave --port out for a free one\n"
    );
    refused.expect(1, "", &[&said]);
    let nobody = done(&mut loadhook(folder.path(), &["serve", "4000000"]));
    nobody.expect(1, "", &["error: there is no process 4000000\n"]);
}
