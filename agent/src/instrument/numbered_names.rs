//! The patterns of names that a program generates with numbers in them.

/// A run of at least this many hexadecimal digits, with at least one decimal digit, counts as a number, such as a hash
/// or an address.
const HEXADECIMAL: usize = 8;

/// Replaces each number in a name by `#`: `Script_#` for `Script_17` and for `Script_0f3d9a2b`.
pub(crate) fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let run = |is_in: fn(char) -> bool| rest.find(|char| !is_in(char)).unwrap_or(rest.len());
        let hexadecimal = run(|char| char.is_ascii_hexdigit());
        let (word, behind) = rest.split_at(hexadecimal);
        let is_number = |char: char| char.is_ascii_digit();
        if hexadecimal >= HEXADECIMAL && word.contains(is_number) {
            text.push('#');
            rest = behind;
            continue;
        }
        let decimal = run(|char| char.is_ascii_digit());
        if decimal > 0 {
            text.push('#');
            rest = &rest[decimal..];
            continue;
        }
        // Letters before a digit may belong to a hexadecimal number, so a hexadecimal number is tried first.
        let letters = match hexadecimal {
            0 => rest.chars().next().map_or(0, char::len_utf8),
            _ => word.find(is_number).unwrap_or(hexadecimal),
        };
        text.push_str(&rest[..letters]);
        rest = &rest[letters..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_become_one_sign() {
        for (name, expected) in [
            ("", ""),
            ("a.b.Plain", "a.b.Plain"),
            ("Gen000123", "Gen#"),
            ("Gen12$Inner3", "Gen#$Inner#"),
            ("Script_0f3d9a2b", "Script_#"),
            ("Script_beef12", "Script_beef#"),
            ("1", "#"),
            ("facade", "facade"),
            ("deadbeefcafe", "deadbeefcafe"),
            ("店7号", "店#号"),
            ("sha1", "sha#"),
        ] {
            assert_eq!(without_numbers(name), expected, "{name}");
        }
    }
}
