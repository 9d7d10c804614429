//! Tests of signals to `loadhook run`. They reach the program, and the table is still printed.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::held::until;
use common::{Done, classes, ended, folder, in_environment, loadhook, run};
use loadhook_testkit::process;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};

/// Starts the program, and sends a signal when the program waits.
fn ended_by(signal: Signal, to_child: bool) -> Done {
    let folder = folder();
    let mut command = run(folder.path(), &[], &["wait"]);
    waiting(&mut command, |loadhook| {
        let pid = if to_child {
            child_of(loadhook)
        } else {
            loadhook.id()
        };
        send(pid, signal);
    })
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("the process id is valid");
    kill_process(pid, signal).expect("the process is alive");
}

/// Runs the command, and calls `then` as soon as the program that it runs waits.
fn waiting(command: &mut Command, then: impl FnOnce(&Child)) -> Done {
    // The command gets a process group of its own, so that a signal to it is not taken for one from
    // a terminal.
    command.process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut loadhook = command.spawn().expect("the process starts");
    let _limit = process::limit(&loadhook);
    let mut line = String::new();
    let out = loadhook.stdout.take().expect("the stream is a pipe");
    BufReader::new(out)
        .read_line(&mut line)
        .expect("the program prints a line");
    assert_eq!(line, "waiting\n");
    then(&loadhook);
    ended(process::end(loadhook).expect("the process ends"))
}

/// Returns the process id of the JVM that `loadhook` started.
fn child_of(loadhook: &Child) -> u32 {
    let id = loadhook.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let children = children.expect("the list of child processes can be read");
    children.trim().parse().expect("there is one child process")
}

#[test]
fn the_program_ends_and_is_shown() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let result = ended_by(signal, false);
        assert_eq!(result.code, Some(code), "{}", result.err);
        assert!(
            result.err.contains("shop.Shop$Order.<init>"),
            "{}",
            result.err
        );
        assert!(result.err.contains("profile: loadhook-"), "{}", result.err);
    }
}

#[test]
fn a_killed_program_has_no_profile() {
    let result = ended_by(Signal::KILL, true);
    assert_eq!(result.code, Some(137), "{}", result.err);
    assert!(
        result
            .err
            .contains("loadhook: no profile. Possible causes: "),
        "{}",
        result.err
    );
}

/// After the program has ended, a signal ends `loadhook` itself. Here `loadhook` is busy: a pipe
/// that never ends replaces the profile that it reads.
#[test]
fn a_signal_after_the_end_ends_loadhook() {
    let folder = folder();
    let java = format!("java -cp '{}' shop.Shop exit 0", classes().display());
    let script = format!("{java}; for f in x-*.pb.gz; do rm $f; mkfifo $f; done; echo waiting");
    let options = ["run", "-o", "x-%p.pb.gz", "--", "sh", "-c", &script];
    let mut command = loadhook(folder.path(), &options);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let result = waiting(&mut command, |loadhook| {
            let mut entries =
                std::fs::read_dir(folder.path()).expect("the test folder can be listed");
            let pipe = entries
                .next()
                .expect("there is a profile")
                .expect("the folder can be listed")
                .path();
            // The pipe can be opened for writing only after `loadhook` has opened it for reading.
            // Then `loadhook` waits for data.
            let mut writer = None;
            until(loadhook, || {
                writer = open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()).ok();
                writer.is_some()
            });
            send(loadhook.id(), signal);
            let sent = Instant::now();
            until(loadhook, || sent.elapsed() > Duration::from_secs(60));
            // `loadhook` has ended by now, so the pipe is no longer needed.
            drop(writer);
            std::fs::remove_file(pipe).expect("the test file can be removed");
        });
        assert_eq!(result.code, None, "{signal:?}: {}", result.err);
    }
}

/// If a signal is ignored, as `nohup` ignores SIGHUP, the JVM ignores it, too.
#[test]
fn an_ignored_signal_stays_ignored() {
    let folder = folder();
    let inner = run(folder.path(), &[], &["wait"]);
    let mut command = in_environment(Path::new("sh"), folder.path());
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    let result = waiting(&mut command, |loadhook| {
        send(loadhook.id(), Signal::HUP);
        send(loadhook.id(), Signal::TERM);
    });
    assert_eq!(result.code, Some(143), "{}", result.err);
}

/// Returns a command as a line for the shell.
fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_str().expect("the text is UTF-8")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Runs a line of the shell in the foreground of a terminal, and returns when the program has
/// printed that it waits.
fn terminal(folder: &Path, line: &str) -> (Child, impl BufRead + use<>) {
    let mut command = in_environment(Path::new("script"), folder);
    command.args(["--quiet", "--return", "--command", line]);
    command.arg("/dev/null").stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut script = command.spawn().expect("script of bsdutils is installed");
    let _limit = process::limit(&script);
    let mut out = BufReader::new(script.stdout.take().expect("the stream is a pipe"));
    let mut line = String::new();
    while !line.contains("waiting") {
        assert_ne!(
            out.read_line(&mut line).expect("the program prints a line"),
            0,
            "{line}"
        );
    }
    (script, out)
}

/// Runs the program in the foreground of a terminal. `end` must make it end.
fn at_a_terminal(end: impl FnOnce(&mut Child)) -> Done {
    let folder = folder();
    let line = line_of(&run(folder.path(), &[], &["wait"]));
    let (mut script, mut out) = terminal(folder.path(), &line);
    let _limit = process::limit(&script);
    end(&mut script);
    // The terminal shows standard output and standard error together.
    let mut shown = String::new();
    out.read_to_string(&mut shown).expect("the text is UTF-8");
    let mut done = ended(process::end(script).expect("the process ends"));
    done.err = shown;
    done
}

/// Returns the process id of the process named `name` among the descendants of the process `of`.
fn descendant(of: u32, name: &str) -> u32 {
    let comm =
        std::fs::read_to_string(format!("/proc/{of}/comm")).expect("the test file can be read");
    if comm.trim() == name {
        return of;
    }
    let children = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
    let children = children.expect("the list of child processes can be read");
    descendant(
        children.trim().parse().expect("there is one child process"),
        name,
    )
}

#[test]
fn a_typed_signal_ends_the_program_once() {
    let result = at_a_terminal(|script| {
        let stdin = script.stdin.as_mut().expect("the stream is a pipe");
        stdin
            .write_all(b"\x03")
            .expect("the terminal can be written to");
    });
    assert_eq!(result.code, Some(130), "{}", result.err);
    assert!(result.err.contains("profile: loadhook-"), "{}", result.err);
}

#[test]
fn a_signal_sent_to_the_foreground_reaches_the_program() {
    let result = at_a_terminal(|script| {
        send(descendant(script.id(), "loadhook"), Signal::INT);
    });
    assert_eq!(result.code, Some(130), "{}", result.err);
    assert!(result.err.contains("profile: loadhook-"), "{}", result.err);
}

/// If a terminal is closed, the program gets one SIGHUP, also if a shell runs between the terminal and `loadhook`.
#[test]
fn a_closed_terminal_sends_one_signal() {
    // The program waits at most a minute for the first signal. Then it waits two more seconds, so
    // that a second signal would be noticed.
    let program = "trap 'echo HUP >> told' HUP; echo waiting; \
        until test -s told; do read now rest < /proc/uptime; end=${end:-$((${now%.*} + 60))}; \
        test ${now%.*} -lt $end || break; done; sleep 2; : >> told; mv told all";
    for behind in ["exec ", ""] {
        let folder = folder();
        let inner = loadhook(folder.path(), &["run", "--", "sh", "./program"]);
        std::fs::write(folder.path().join("program"), program)
            .expect("the test file can be written");
        let line = format!("{behind}{}; exit 1", line_of(&inner));
        let (mut script, out) = terminal(folder.path(), &line);
        drop(out);
        script.kill().expect("the process is alive");
        script.wait().expect("the process ends");
        let all = folder.path().join("all");
        let killed = Instant::now();
        while !all.exists() {
            assert!(killed.elapsed() < process::PATIENCE, "{line}");
            std::thread::sleep(Duration::from_millis(50));
        }
        let told = std::fs::read_to_string(all).expect("the test file can be read");
        assert_eq!(told, "HUP\n", "{line}");
    }
}
