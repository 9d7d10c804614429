//! The width of a terminal, and messages on standard error.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

use crate::printable;
use crate::width::folded;

/// Returns the number of columns for a text: the environment variable `COLUMNS`, otherwise the
/// width of the terminal `out`, otherwise `usual`.
pub fn columns(out: impl AsFd, usual: usize) -> usize {
    let set = std::env::var("COLUMNS").ok();
    let set = set.and_then(|set| set.parse().ok());
    set.filter(|columns| (1..=1000).contains(columns))
        .or_else(|| terminal_size_of(out).map(|(Width(columns), _)| usize::from(columns)))
        .unwrap_or(usual)
}

/// Prepares a message for standard error. Messages contain file names and answers of JVMs, so
/// characters that a terminal interprets are escaped. For a terminal, lines are folded at its width;
/// in a log they stay whole, since they are searched there.
pub fn message(text: &str) -> String {
    let width = io::stderr()
        .is_terminal()
        .then(|| columns(io::stderr(), 80));
    let lines = text.lines().map(printable);
    let lines: Vec<String> = match width {
        Some(width) => lines.map(|line| folded_message(&line, width)).collect(),
        None => lines.map(|line| line.into_owned()).collect(),
    };
    lines.join("\n")
}

/// Folds a line of a message. A command at its end stays whole, so that it can be copied.
fn folded_message(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    match line.rsplit_once(": loadhook ") {
        Some((before, command)) => {
            format!(
                "{}\n  loadhook {command}",
                folded(&format!("{before}:"), width)
            )
        }
        None => folded(line, width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_copy_stay_whole() {
        let line = "profile: x.pb.gz (as a page: loadhook report x.pb.gz --format html)";
        assert_eq!(folded_message(line, 80), line);
        assert_eq!(
            folded_message(line, 30),
            "profile: x.pb.gz (as a page:\n  loadhook report x.pb.gz --format html)"
        );
        assert_eq!(
            folded_message("error: one two three", 12),
            "error: one\n  two three"
        );
    }
}
