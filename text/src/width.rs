//! Cuts and wraps text to the columns of a terminal. A character takes 0, 1 or 2 columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts the end of a text that is wider than `width` columns; `…` stands for the rest.
pub fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    format!("{}…", fitting(text.chars(), width.saturating_sub(1)))
}

/// Cuts the beginning of a text that is wider than `width` columns.
pub(crate) fn tail(text: &str, width: usize) -> String {
    let reversed: String = fitting(text.chars().rev(), width.saturating_sub(1));
    format!("…{}", reversed.chars().rev().collect::<String>())
}

/// Returns the first characters, as many as fit into `room` columns.
pub(crate) fn fitting(chars: impl Iterator<Item = char>, mut room: usize) -> String {
    let fits = |char: &char| {
        let rest = room.checked_sub(char.width().unwrap_or(0));
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    chars.take_while(fits).collect()
}

/// Wraps a sentence at its blanks into lines of `width` columns, each after `indent`.
pub fn wrapped(text: &str, indent: &str, width: usize) -> String {
    broken(text, indent, indent, width)
}

/// Wraps a sentence of messages and remarks. Lines after the first are indented, to tell them from
/// the next sentence, which also begins on a line of its own.
pub fn folded(text: &str, width: usize) -> String {
    let sentence = text.trim_start_matches(' ');
    let indent = &text[..text.len() - sentence.len()];
    broken(sentence, indent, &format!("{indent}  "), width)
}

/// Wraps a text. The first line begins with `first`, the others with `indent`. A word that is wider
/// than a line stays whole.
fn broken(text: &str, first: &str, indent: &str, width: usize) -> String {
    let mut lines = first.to_owned();
    let mut taken = first.width();
    let mut is_begun = false;
    for word in text.split(' ') {
        if is_begun && taken + 1 + word.width() > width {
            lines.push('\n');
            lines.push_str(indent);
            taken = indent.width();
        } else if is_begun {
            lines.push(' ');
            taken += 1;
        }
        lines.push_str(word);
        taken += word.width();
        is_begun = true;
    }
    lines
}

/// Joins facts with ` · `, with as many facts per line as fit into `width` columns.
pub fn joined(facts: &[String], width: usize) -> String {
    const SEPARATOR: &str = " · ";
    let mut lines = String::new();
    let mut taken = 0;
    for fact in facts {
        let with_fact = taken + SEPARATOR.width() + fact.width();
        if taken == 0 {
            taken = fact.width();
        } else if with_fact > width {
            lines.push('\n');
            taken = fact.width();
        } else {
            lines.push_str(SEPARATOR);
            taken = with_fact;
        }
        lines.push_str(fact);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("店.jar"), 6);
        assert_eq!(clipped("java -jar 店.jar", 13), "java -jar 店…");
        assert_eq!(clipped("java -jar 店.jar", 12), "java -jar …");
    }

    #[test]
    fn sentences_break_at_blanks() {
        assert_eq!(wrapped("one two three", "  ", 9), "  one two\n  three");
        assert_eq!(folded("one two three", 9), "one two\n  three");
        assert_eq!(folded("  one two three", 9), "  one two\n    three");
        assert_eq!(folded("a-long-word two", 6), "a-long-word\n  two");
        assert_eq!(folded("", 6), "");
        let words = ["one", "two", "three"].map(str::to_owned);
        assert_eq!(joined(&words, 9), "one · two\nthree");
    }
}
