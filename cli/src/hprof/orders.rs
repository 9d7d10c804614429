//! The words for the commands of HPROF's socket protocol, and the thread that sends them.

use std::io::{self, BufRead, Write};
use std::net::TcpStream;
use std::thread;

use loadhook_hprof::{COLLECT_FIRST, Command};
use loadhook_text::printable;

use crate::output::say;

/// The words that the user types, and the commands that they stand for.
const COMMANDS: [(&str, Command); 12] = [
    ("gc", Command::Collect),
    ("heap", Command::DumpHeap),
    (
        "sites",
        Command::AllocSites {
            flags: COLLECT_FIRST,
            cutoff: 0.0,
        },
    ),
    ("summary", Command::HeapSummary),
    ("traces", Command::DumpTraces),
    ("samples", Command::CpuSamples { cutoff: 0.0 }),
    ("sampling-off", Command::Sampling(false, 0)),
    ("sampling-on", Command::Sampling(true, 0)),
    ("allocations-off", Command::AllocationTraces(false)),
    ("allocations-on", Command::AllocationTraces(true)),
    ("exit", Command::Exit),
    ("end", Command::End),
];

/// Returns the command that a word stands for.
pub(super) fn command(word: &str) -> Result<Command, String> {
    let found = COMMANDS.iter().find(|(name, _)| *name == word);
    found
        .map(|(_, command)| *command)
        .ok_or_else(|| format!("no such command; the commands are {}", words()))
}

fn words() -> String {
    let words: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    words.join(", ")
}

/// Sends `commands` to a program. If there are none, starts a thread that sends the commands of standard input.
/// Failures to send are ignored: the reader of the program's stream notices that the program is gone.
pub(super) fn send(program: TcpStream, commands: &[Command]) {
    let mut orders = Orders { program, sent: 0 };
    if !commands.is_empty() {
        let _ = commands
            .iter()
            .try_for_each(|command| orders.send(*command));
        return;
    }
    thread::spawn(move || {
        say!("commands: {}", words());
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let word = line.trim();
            match command(word) {
                _ if word.is_empty() => {}
                Ok(command) if orders.send(command).is_err() => return,
                Ok(_) => {}
                Err(error) => say!("{}: {error}", printable(word)),
            }
        }
    });
}

struct Orders {
    program: TcpStream,
    /// Number of commands that were sent.
    sent: u32,
}

impl Orders {
    fn send(&mut self, command: Command) -> io::Result<()> {
        self.sent += 1;
        self.program.write_all(&command.bytes(self.sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_commands() {
        assert_eq!(command("heap"), Ok(Command::DumpHeap));
        let error = command("dump").expect_err("it is no command");
        assert!(
            error.starts_with("no such command; the commands are gc, heap, sites,"),
            "{error}"
        );
    }
}
