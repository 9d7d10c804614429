//! Finds faults in patterns. Each fault has a message for users.

/// Message for a type that is written as in Java source code.
const NO_TYPE: &str = "types are written as in class files, for example (I[Ljava/lang/String;)";

/// Returns the first fault in a class name that may have wildcards: its index in `class`, and a
/// message.
pub(crate) fn class_fault(class: &str) -> Option<(usize, &'static str)> {
    if class.is_empty() {
        return Some((0, "a class name, or **, is missing"));
    }
    if let Some(at) = class.find([':', ';', '[', '(', ')', '@']) {
        return Some((at, "this character cannot be in a class name"));
    }
    if let Some(at) = class.find('/') {
        return Some((at, "packages are separated by dots here"));
    }
    if let Some(at) = class.find("***") {
        return Some((at + 2, "at most two stars can be adjacent"));
    }
    if let Some(at) = class.find("..") {
        return Some((at + 1, "a package name is missing"));
    }
    if class.starts_with('.') {
        return Some((0, "a package name is missing"));
    }
    if class.ends_with('.') {
        return Some((class.len(), "a class name is missing"));
    }
    None
}

/// Returns the first fault in a method descriptor that may have wildcards: its index in `text`, and
/// a message.
pub(crate) fn descriptor_fault(text: &str) -> Option<(usize, &'static str)> {
    let mut at = 1;
    let mut has_star = false;
    loop {
        match text.get(at..)?.chars().next() {
            Some(')') => break,
            Some('*') => {
                has_star = true;
                at += 1;
                // The rest of a class name may follow.
                let end = text[at..].find([';', '*', ')']).map(|end| at + end);
                at = match end {
                    Some(end) if text[end..].starts_with(';') => end + 1,
                    Some(end) if text[end..].starts_with('*') => end,
                    _ => at,
                };
            }
            None if has_star => return None,
            None => return Some((at, "the descriptor's ) is missing")),
            Some(_) => match type_end(text, at) {
                Ok(end) => at = end,
                Err(fault) => return Some(fault),
            },
        }
    }
    at += 1;
    let returned = text.get(at..)?;
    if matches!(returned, "" | "V") || returned.starts_with('*') {
        return None;
    }
    match type_end(text, at) {
        Ok(end) if end == text.len() || text[end..].starts_with('*') => None,
        Ok(end) => Some((word_start(text, end), NO_TYPE)),
        Err(fault) => Some(fault),
    }
}

/// Returns the end of the type that begins at `at`, or the first star in it.
fn type_end(text: &str, at: usize) -> Result<usize, (usize, &'static str)> {
    let rest = text.get(at..).unwrap_or_default();
    let element = rest.trim_start_matches('[');
    let at = at + rest.len() - element.len();
    match element.chars().next() {
        Some('B' | 'C' | 'D' | 'F' | 'I' | 'J' | 'S' | 'Z') => Ok(at + 1),
        Some('*') => Ok(at),
        Some('L') => {
            let end = element.find([';', '*', '.', ')']).unwrap_or(element.len());
            match element.get(end..).and_then(|rest| rest.chars().next()) {
                Some(';') => Ok(at + end + 1),
                Some('*') => Ok(at + end),
                Some('.') => Err((at + end, "packages are separated by slashes in descriptors")),
                _ => Err((
                    at + end,
                    "a class name in a descriptor ends with ';', as in (Ljava/lang/String;)",
                )),
            }
        }
        _ => Err((word_start(text, at), NO_TYPE)),
    }
}

/// Returns the beginning of the word that `at` lies in; `at` itself if it lies in none.
fn word_start(text: &str, at: usize) -> usize {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let is_letter = |c: char| c.is_alphanumeric() || "_$".contains(c);
    if behind.starts_with(is_letter) {
        before.trim_end_matches(is_letter).len()
    } else {
        at
    }
}
