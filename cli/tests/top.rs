//! Tests of `loadhook top` with real JVMs, on terminals that tmux makes.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::watched::looping;
use common::{calls, done, folder, in_environment, loadhook, read};
use loadhook_testkit::process;
use rustix::process::Signal;

/// The longest wait for a text on the screen.
const PATIENCE: Duration = process::PATIENCE;

/// A shell in a terminal. Dropping this value ends the shell and its programs.
struct Terminal {
    /// The name of the tmux server, which no other test uses.
    server: String,
}

impl Terminal {
    fn new(folder: &Path, columns: u32, lines: u32) -> Terminal {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let server = format!("loadhook-test-{}-{number}", std::process::id());
        let terminal = Terminal { server };
        let mut command = in_environment("tmux".as_ref(), folder);
        command.args([
            "-L",
            &terminal.server,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
        ]);
        command.args(["-x", &columns.to_string(), "-y", &lines.to_string()]);
        command.args(["-e", "PS1=$ ", "-e", "ENV=", "sh -i"]);
        command.env_remove("COLUMNS").env_remove("TMUX");
        process::output(&mut command).expect("tmux is installed, see scripts/prerequisites.sh");
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server]).args(arguments);
        process::output(&mut command).expect("tmux obeys")
    }

    /// Presses keys, each as tmux names it.
    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"][..], keys].concat());
    }

    /// Types a command line.
    fn enter(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the text of the screen meets the condition, and returns this text.
    fn wait(&self, wanted: &str, is_it: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_it(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "no {wanted} in\n{screen}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn shows(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        // The server may have ended with its last shell.
        let _ = command.args(["-L", &self.server, "kill-server"]).output();
    }
}

/// Returns a command line that runs `loadhook top`, then prints the exit code and the terminal's settings.
fn top(pid: &str, options: &str) -> String {
    let loadhook = loadhook(Path::new("/"), &[]);
    let program = loadhook.get_program().to_string_lossy().into_owned();
    format!(
        "{program} top {pid} {options}; echo code $?; stty -a | grep -qw icanon && echo 'coo'ked"
    )
}

/// Finds the process id of the `loadhook top` that shows the process `shown`.
fn shown_by(shown: &str) -> Option<i32> {
    let processes = fs::read_dir("/proc").expect("a folder").flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|pid| {
        // The process may end meanwhile.
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(&format!("/loadhook\0top\0{shown}\0"))
    })
}

/// Returns the first line of the screen that contains a text.
fn line<'s>(screen: &'s str, text: &str) -> &'s str {
    let mut lines = screen.lines();
    lines.find(|line| line.contains(text)).unwrap_or_default()
}

#[test]
fn a_program_is_shown_live() {
    let jvm = looping(25, &["-XX:+EnableDynamicAgentLoading"]);
    let folder = folder();
    let terminal = Terminal::new(folder.path(), 80, 24);
    terminal.enter(&top(&jvm.pid(), "--include watched.Looping::step"));
    let is_counted = |screen: &str| {
        let row = line(screen, "watched.Looping.step").trim_start();
        row.starts_with(|char: char| char.is_ascii_digit() && char != '0')
    };
    let screen = terminal.wait("calls", is_counted);
    let head = format!("loadhook top  process {}  ", jvm.pid());
    assert!(screen.contains(&head), "{screen}");
    terminal.press(&["/"]);
    terminal.enter("LOOPING.st");
    // The method has a row also while its calls are not counted, because samples show it.
    for (key, wanted) in [("-", false), ("+", true)] {
        terminal.press(&[key]);
        terminal.shows("1 class changed; the program stopped for at most ");
        terminal.press(&["Home"]);
        terminal.wait("other calls", |screen| {
            screen.contains("watched.Looping.step") && is_counted(screen) == wanted
        });
    }
    terminal.press(&["Enter"]);
    let screen = terminal.shows("callers (←) and callees (→) of watched.Looping.step");
    assert!(screen.contains("  ← "), "{screen}");
    terminal.press(&["2"]);
    let screen = terminal.shows("waiting %");
    assert!(line(&screen, " looping").contains(" running "), "{screen}");
    terminal.press(&["3"]);
    terminal.shows("call tree of all threads");
    terminal.press(&["4"]);
    terminal.shows("start loadhook top with --alloc sampled");
    terminal.tmux(&["resize-window", "-x", "50", "-y", "10"]);
    terminal.press(&["?"]);
    terminal.wait("help in 10 lines", |screen| {
        screen.contains("keys and columns") && screen.lines().count() <= 10
    });
    terminal.press(&["q", "s"]);
    let name = format!("loadhook-{}-1.pb.gz", jvm.pid());
    terminal.shows(&name);
    terminal.press(&["q"]);
    let screen = terminal.shows("cooked");
    assert!(screen.contains("code 0"), "{screen}");
    assert!(
        !screen.contains("Methods"),
        "the screen from before is back: {screen}"
    );
    let file = folder.path().join(name);
    assert!(calls(&read(&file), "watched.Looping", "step") > 0);
    fs::remove_file(file).expect("the profile can be removed");
    let gone = done(&mut loadhook(folder.path(), &["ctl", &jvm.pid(), "status"]));
    gone.expect(1, "", &["error: no agent takes orders in process "]);
    jvm.ends_well();
}

#[test]
fn the_terminal_is_restored_at_every_end() {
    let mut jvm = looping(17, &[]);
    let folder = folder();
    let terminal = Terminal::new(folder.path(), 80, 24);
    let begin = || {
        terminal.enter("clear");
        terminal.enter(&top(&jvm.pid(), ""));
        terminal.shows(" watched.Looping.loop");
    };
    let expect = |code: &str| {
        let screen = terminal.shows("cooked");
        assert!(
            screen.contains(&format!("code {code}\n")),
            "{code}: {screen}"
        );
        assert!(!screen.contains("Methods"), "{code}: {screen}");
    };
    begin();
    // The figures go on changing while the rest of an escape sequence is missing.
    terminal.press(&["-H", "1b", "5b"]);
    for _ in 0..2 {
        let before = terminal.screen();
        terminal.wait("newer figures", |screen| screen != before);
    }
    terminal.press(&["A", "C-z"]);
    terminal.wait("prompt", |screen| {
        screen.contains("Stopped") && !screen.contains("Methods")
    });
    terminal.enter("fg");
    terminal.shows(" watched.Looping.loop");
    terminal.press(&["C-c"]);
    terminal.wait("prompt", |screen| !screen.contains("Methods"));
    for (signal, code) in [
        (Signal::TERM, "143"),
        (Signal::HUP, "129"),
        (Signal::INT, "130"),
    ] {
        begin();
        let pid = shown_by(&jvm.pid()).expect("loadhook top runs");
        let pid = rustix::process::Pid::from_raw(pid).expect("it is a process id");
        rustix::process::kill_process(pid, signal).expect("the process exists");
        expect(code);
    }
    begin();
    drop(jvm.0.stdin.take());
    let screen = terminal.shows(&format!("process {} has ended", jvm.pid()));
    assert!(
        screen.contains(" watched.Looping.loop"),
        "the last figures stay: {screen}"
    );
    terminal.press(&["q"]);
    expect("0");
    assert_eq!(jvm.0.wait().expect("the process ends").code(), Some(0));
}

/// A window that is closed, or a connection that is lost, must not leave a process behind.
#[test]
fn the_command_ends_with_its_terminal() {
    let jvm = looping(17, &[]);
    let folder = folder();
    let terminal = Terminal::new(folder.path(), 80, 24);
    terminal.enter(&top(&jvm.pid(), ""));
    terminal.shows(" watched.Looping.loop");
    drop(terminal);
    let begun = Instant::now();
    while shown_by(&jvm.pid()).is_some() {
        assert!(begun.elapsed() < PATIENCE, "loadhook top still runs");
        thread::sleep(Duration::from_millis(100));
    }
    jvm.ends_well();
}

#[test]
fn a_terminal_is_needed() {
    let folder = folder();
    let refused = done(&mut loadhook(folder.path(), &["top", "1"]));
    refused.expect(
        1,
        "",
        &["error: loadhook top needs a terminal; for a profile in a file, use loadhook attach"],
    );
}
