//! Orders to an agent in a running JVM, and the lines of its answer.
//!
//! `loadhook attach` loads the agent with [`AgentOptions`](crate::AgentOptions) as its text. The option
//! [`answer`](crate::AgentOptions::answer) names a file. The agent appends lines to this file:
//!
//! ```text
//! note TEXT
//! attached classes=812 batches=9 median_pause_us=4100 longest_pause_us=9800 refused=3
//! profile PATH
//! left
//! ```
//!
//! The text [`DETACH`] makes the agent leave. Loading the agent returns 0, or the number of a [`Refusal`].

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The text that makes the agent of a JVM write its profile and leave.
pub const DETACH: &str = "detach";

/// The reason why an agent does not attach or detach, with the number that the JVM returns for
/// loading the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The agent could not begin. The answer, or else the JVM's standard error, has the reason.
    Failed = 100,
    /// An agent shall leave, but the JVM has none.
    NotWatched = 101,
    /// An agent shall attach, but the JVM already has one.
    Watched = 102,
}

impl Refusal {
    /// Returns the refusal with this number.
    pub fn of(code: i32) -> Option<Refusal> {
        let all = [Refusal::Failed, Refusal::NotWatched, Refusal::Watched];
        all.into_iter().find(|refusal| *refusal as i32 == code)
    }
}

/// Loaded classes that the JVM changed, and the pauses of the program that the changes took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachFigures {
    /// Number of classes that the JVM changed.
    pub classes: u64,
    /// Number of pauses.
    pub batches: u64,
    /// Median of the pauses, in microseconds.
    pub median_pause_us: u64,
    /// The longest pause, in microseconds.
    pub longest_pause_us: u64,
    /// Number of classes that the JVM refused to change.
    pub refused: u64,
}

/// A line of the agent's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerLine {
    /// All classes that were loaded before the agent have been changed.
    Attached(AttachFigures),
    /// A message that an agent otherwise prints on standard error.
    Note(String),
    /// The reason why the agent does not attach.
    Error(String),
    /// The name of the profile that was written, as the JVM sees it.
    Profile(String),
    /// The last line: the agent has stopped all its work.
    Left,
}

/// The error for a text that is not an [`AnswerLine`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a line of an agent's answer: {0}")]
pub struct AnswerLineError(String);

/// Returns the lines of an answer that are completely written. Lines that cannot be read are left
/// out.
pub fn lines(answer: &str) -> impl Iterator<Item = AnswerLine> {
    let lines = answer.split_inclusive('\n');
    lines.filter_map(|line| line.strip_suffix('\n')?.parse().ok())
}

impl fmt::Display for AttachFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AttachFigures {
            classes,
            batches,
            median_pause_us,
            longest_pause_us,
            refused,
        } = self;
        write!(
            f,
            "classes={classes} batches={batches} median_pause_us={median_pause_us} longest_pause_us={longest_pause_us} refused={refused}"
        )
    }
}

impl AttachFigures {
    fn read(text: &str) -> Option<AttachFigures> {
        let mut figures = AttachFigures::default();
        for item in text.split(' ') {
            let (key, value) = item.split_once('=')?;
            let figure = match key {
                "classes" => &mut figures.classes,
                "batches" => &mut figures.batches,
                "median_pause_us" => &mut figures.median_pause_us,
                "longest_pause_us" => &mut figures.longest_pause_us,
                "refused" => &mut figures.refused,
                _ => return None,
            };
            *figure = value.parse().ok()?;
        }
        Some(figures)
    }
}

/// Writes the line without its line break. Line breaks in texts are escaped.
impl fmt::Display for AnswerLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerLine::Attached(figures) => write!(f, "attached {figures}"),
            AnswerLine::Note(text) => write!(f, "note {}", escaped(text)),
            AnswerLine::Error(text) => write!(f, "error {}", escaped(text)),
            AnswerLine::Profile(file) => write!(f, "profile {}", escaped(file)),
            AnswerLine::Left => f.write_str("left"),
        }
    }
}

impl FromStr for AnswerLine {
    type Err = AnswerLineError;

    fn from_str(line: &str) -> Result<Self, AnswerLineError> {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let read = match word {
            "attached" => AttachFigures::read(text).map(AnswerLine::Attached),
            "note" => Some(AnswerLine::Note(unescaped(text))),
            "error" => Some(AnswerLine::Error(unescaped(text))),
            "profile" => Some(AnswerLine::Profile(unescaped(text))),
            "left" => Some(AnswerLine::Left),
            _ => None,
        };
        read.ok_or_else(|| AnswerLineError(line.to_owned()))
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.as_str().starts_with('n') => {
                chars.next();
                text.push('\n');
            }
            '\\' => text.push(chars.next().unwrap_or('\\')),
            _ => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_are_read() {
        let figures = AttachFigures {
            classes: 812,
            batches: 9,
            median_pause_us: 4100,
            longest_pause_us: 9800,
            refused: 3,
        };
        let written = [
            AnswerLine::Note("a\nb".to_owned()),
            AnswerLine::Attached(figures),
            AnswerLine::Profile("/x y".to_owned()),
            AnswerLine::Left,
        ];
        let answer: String = written.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(lines(&answer).collect::<Vec<_>>(), written);
        let incomplete = answer.trim_end();
        assert_eq!(lines(incomplete).count(), 3);
        assert_eq!(lines("odd\nattached classes=x\n").count(), 0);
    }

    #[test]
    fn refusals_have_numbers() {
        for refusal in [Refusal::Failed, Refusal::NotWatched, Refusal::Watched] {
            assert_eq!(Refusal::of(refusal as i32), Some(refusal));
        }
        assert_eq!(Refusal::of(0), None);
    }
}
