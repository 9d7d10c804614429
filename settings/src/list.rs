//! Lists in options: items separated by commas. In an item, `\,` is a comma and
//! `\\` a backslash; a backslash before another character stands for itself.

/// Splits a list into items, which are still escaped.
pub fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    list.split(move |char| {
        let ends = char == ',' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends
    })
}

/// Returns the text that an item stands for.
pub fn unescaped(item: &str) -> String {
    let mut text = String::with_capacity(item.len());
    let mut chars = item.chars().peekable();
    while let Some(char) = chars.next() {
        let escaped = match char {
            '\\' => chars.next_if(|next| matches!(next, ',' | '\\')),
            _ => None,
        };
        text.push(escaped.unwrap_or(char));
    }
    text
}

/// Escapes a text as an item of a list. A trailing backslash is escaped, too, or it
/// would swallow the separator.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_can_hold_commas() {
        let read = |list: &str| items(list).map(unescaped).collect::<Vec<_>>();
        for (list, expected) in [
            ("", &[""][..]),
            ("a,b", &["a", "b"]),
            ("a,,b,", &["a", "", "b", ""]),
            (r"a\,b,c", &["a,b", "c"]),
            (r"a\\,b", &[r"a\", "b"]),
            (r"a\\\,b", &[r"a\,b"]),
            (r"a\b,\c\", &[r"a\b", r"\c\"]),
        ] {
            assert_eq!(read(list), expected, "{list}");
        }
        for text in ["", "a", ",", r"\", r"\,", r",\\,\", "é,木"] {
            assert_eq!(read(&escaped(text)), [text]);
        }
    }
}
