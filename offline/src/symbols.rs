//! The symbols of a unit: the names of its methods by their ids. The tracker reads the symbols when it writes a
//! profile. Tabs separate the fields of a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::zip::Spool;

/// The symbols of a unit whose classes are being rewritten.
#[derive(Debug)]
pub(crate) struct Symbols(Spool);

impl Symbols {
    pub(crate) fn new() -> Symbols {
        Symbols(Spool::new())
    }

    /// Adds the lines of a class.
    pub(crate) fn add(&mut self, lines: &str) -> io::Result<()> {
        if self.0.is_empty() {
            self.0.write_all(b"loadhook symbols 1\n")?;
        }
        self.0.write_all(lines.as_bytes())
    }

    /// Ends the text with the numbers of methods that are not instrumented, by reason.
    pub(crate) fn finish(mut self, left_alone: &BTreeMap<&'static str, u64>) -> io::Result<Spool> {
        let mut lines = String::new();
        for (reason, methods) in left_alone {
            line(&mut lines, "S", &[reason, &methods.to_string()]);
        }
        self.add(&lines)?;
        Ok(self.0)
    }
}

/// Writes the line of a class. The lines of its methods follow.
pub(crate) fn class(out: &mut String, name: &str, source_file: Option<&str>) {
    line(out, "C", &[name, source_file.unwrap_or("")]);
}

/// Writes the line of a method.
pub(crate) fn method(
    out: &mut String,
    id: u32,
    name: &str,
    descriptor: &str,
    first_line: Option<u16>,
) {
    let first = first_line.map(|line| line.to_string()).unwrap_or_default();
    line(out, "M", &[&id.to_string(), name, descriptor, &first]);
}

fn line(out: &mut String, kind: &str, fields: &[&str]) {
    out.push_str(kind);
    for field in fields {
        out.push('\t');
        for c in field.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                other => out
                    .write_char(other)
                    .expect("writing to a String cannot fail"),
            }
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_a_line() {
        let mut lines = String::new();
        class(&mut lines, "a.B", None);
        method(&mut lines, 7, "x\ty\nz\\", "()V", Some(3));
        let mut symbols = Symbols::new();
        symbols.add(&lines).unwrap();
        let mut text = Vec::new();
        let left_alone = BTreeMap::from([("trivial", 2)]);
        let spool = symbols.finish(&left_alone).unwrap();
        spool.copy_to(&mut text).unwrap();
        let expected = "loadhook symbols 1\nC\ta.B\t\nM\t7\tx\\ty\\nz\\\\\t()V\t3\nS\ttrivial\t2\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
