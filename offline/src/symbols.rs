//! What the ids of a unit stand for, as the tracker reads it when it writes a
//! profile: lines of fields that are separated by tabs.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The symbols of one class.
#[derive(Clone, Debug)]
pub(crate) struct ClassSymbols {
    pub(crate) name: String,
    pub(crate) source_file: Option<String>,
    pub(crate) methods: Vec<MethodSymbol>,
}

#[derive(Clone, Debug)]
pub(crate) struct MethodSymbol {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) descriptor: String,
    pub(crate) line: Option<u16>,
}

/// The text of the resource.
pub(crate) fn text(classes: &[ClassSymbols], left_alone: &BTreeMap<&'static str, u64>) -> String {
    let mut out = String::from("loadhook symbols 1\n");
    for class in classes.iter().filter(|class| !class.methods.is_empty()) {
        line(
            &mut out,
            "C",
            &[&class.name, class.source_file.as_deref().unwrap_or("")],
        );
        for method in &class.methods {
            let id = method.id.to_string();
            let first = method.line.map(|line| line.to_string()).unwrap_or_default();
            line(
                &mut out,
                "M",
                &[&id, &method.name, &method.descriptor, &first],
            );
        }
    }
    for (reason, methods) in left_alone {
        line(&mut out, "S", &[reason, &methods.to_string()]);
    }
    out
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
                other => out.write_char(other).expect("a String takes all"),
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
        let class = ClassSymbols {
            name: "a.B".into(),
            source_file: None,
            methods: vec![MethodSymbol {
                id: 7,
                name: "x\ty\nz\\".into(),
                descriptor: "()V".into(),
                line: Some(3),
            }],
        };
        let text = text(&[class], &BTreeMap::from([("trivial", 2)]));
        let expected = "loadhook symbols 1\nC\ta.B\t\nM\t7\tx\\ty\\nz\\\\\t()V\t3\nS\ttrivial\t2\n";
        assert_eq!(text, expected);
    }
}
