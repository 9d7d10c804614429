//! Paths in messages.

use std::path::Path;

/// Returns the path of a file as text, relative to the current folder if the file is below this
/// folder.
pub(crate) fn shown(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let short = file.strip_prefix(&here).unwrap_or(file);
    short.display().to_string()
}

/// Returns the path as [`shown`] gives it, quoted for a shell if necessary, for commands that a
/// message suggests.
pub(crate) fn word(file: &Path) -> String {
    let shown = shown(file);
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+%,:@=".contains(c);
    if shown.chars().all(is_plain) {
        shown
    } else {
        format!("'{}'", shown.replace('\'', r"'\''"))
    }
}
