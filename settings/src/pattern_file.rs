//! Files of patterns (`--include-file`), with a list of patterns on each line.

use thiserror::Error;

use crate::pattern::{Pattern, PatternError};

/// A fault in a file of patterns; its text begins with the file's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternFileError {
    /// A pattern cannot be read.
    #[error("{file}:{line}: {error}")]
    Pattern {
        /// The file's name.
        file: String,
        /// The line's number, from 1.
        line: usize,
        /// The fault in that line.
        error: PatternError,
    },
    /// No line has a pattern. Without a pattern every class would be included.
    #[error("{file}: the file contains no pattern; add one, or leave out the option")]
    Empty {
        /// The file's name.
        file: String,
    },
}

/// Reads the text of a file of patterns. Each line is a comma-separated list;
/// `#` begins a comment. A byte order mark before the first line is skipped.
/// `file` names the file in errors.
///
/// # Errors
/// At the first pattern that cannot be read, and if there is no pattern.
pub fn patterns_in_file(file: &str, text: &str) -> Result<Vec<Pattern>, PatternFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut patterns = Vec::new();
    for (line, list) in (1..).zip(text.lines()) {
        let list = list.split('#').next().unwrap_or_default().trim();
        if list.is_empty() {
            continue;
        }
        let read = Pattern::parse_list(list).map_err(|error| PatternFileError::Pattern {
            file: file.to_owned(),
            line,
            error,
        })?;
        patterns.extend(read);
    }
    if patterns.is_empty() {
        return Err(PatternFileError::Empty {
            file: file.to_owned(),
        });
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_lists_and_comments() {
        let patterns =
            patterns_in_file("f", "# mine\n\n  a.B,c.* # both\nd\n").expect("the file is valid");
        let texts: Vec<&str> = patterns.iter().map(Pattern::text).collect();
        assert_eq!(texts, ["a.B", "c.*", "d"]);
        let marked = patterns_in_file("f", "\u{feff}a.B\n").expect("the file is valid");
        assert_eq!(marked[0].text(), "a.B");
        let fault = patterns_in_file("f", "a\n\nb/c").expect_err("the file has a fault");
        let fault = fault.to_string();
        assert!(fault.starts_with("f:3: bad pattern: "), "{fault}");
        let fault = patterns_in_file("f", "# none\n").expect_err("the file has no pattern");
        assert_eq!(
            fault.to_string(),
            "f: the file contains no pattern; add one, or leave out the option"
        );
    }
}
