//! Methods that were not instrumented: their number, their classes, and the reasons.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use super::columns::{Column, fitted, text_table};
use crate::analysis::options::{Explain, Options};
use crate::format::notes::write_sentences;
use crate::model::Header;
use loadhook_text::printable;
use loadhook_text::units;

/// The reason given for trivial methods. It is the only reason that the user can override: `--all` instruments
/// them.
const TRIVIAL: &str = "trivial";

/// The maximum number of rows in the summary by class.
const FEW_CLASSES: usize = 20;

/// Returns a sentence with the number of methods that were not instrumented, by reason; `None` if
/// there are none.
pub(super) fn reasons(header: &Header) -> Option<String> {
    let reason = |(reason, methods): (&String, &u64)| {
        let remedy = match reason.as_str() {
            TRIVIAL => " (--all instruments them)",
            _ => "",
        };
        (*methods, reason.clone(), remedy)
    };
    let reasons: Vec<_> = header.left_alone.iter().map(reason).collect();
    let methods = |number: u64| match number {
        1 => "method",
        _ => "methods",
    };
    match &reasons[..] {
        [] => None,
        [(number, reason, remedy)] => Some(format!(
            "{} {reason} {} not instrumented{remedy}",
            units::count(*number),
            methods(*number),
        )),
        several => {
            let all = several.iter().map(|(number, ..)| number).sum();
            let parts = several.iter().map(|(number, reason, remedy)| {
                format!("{} {reason}{remedy}", units::count(*number))
            });
            let parts: Vec<String> = parts.collect();
            Some(format!(
                "{} {} not instrumented: {}",
                units::count(all),
                methods(all),
                parts.join(", ")
            ))
        }
    }
}

/// Writes the part that [`Options::explain`] chooses.
pub(super) fn write(header: &Header, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    if header.explained.is_empty() {
        return Ok(());
    }
    match options.explain {
        Explain::No => Ok(()),
        Explain::Classes => by_class(header, options, out),
        Explain::Methods => {
            let mut lines: Vec<&String> = header.explained.iter().collect();
            lines.sort();
            writeln!(out, "\nMethods not instrumented:")?;
            let mut lines = lines.into_iter();
            lines.try_for_each(|line| writeln!(out, "{}", printable(line)))
        }
    }
}

/// The methods of one class, by reason.
#[derive(Default)]
struct Class<'h> {
    methods: u64,
    by_reason: HashMap<&'h str, u64>,
}

fn by_class(header: &Header, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut classes: BTreeMap<&str, Class<'_>> = BTreeMap::new();
    let mut reasons: HashMap<&str, u64> = HashMap::new();
    let mut others = Vec::new();
    for line in &header.explained {
        let Some((reason, class)) = class_of(line) else {
            others.push(line);
            continue;
        };
        let found = classes.entry(class).or_default();
        found.methods += 1;
        *found.by_reason.entry(reason).or_default() += 1;
        *reasons.entry(reason).or_default() += 1;
    }
    let mut classes: Vec<(&str, Class<'_>)> = classes.into_iter().collect();
    // The sort is stable: classes with equally many methods stay sorted by name.
    classes.sort_by_key(|(_, class)| Reverse(class.methods));
    let all = classes.len();
    classes.truncate(FEW_CLASSES);
    let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(reason, methods)| (Reverse(*methods), *reason));

    let cells = |number: &dyn Fn(&Class<'_>) -> u64| {
        let cell = |(_, class): &(&str, Class<'_>)| match number(class) {
            0 => String::new(),
            number => units::count(number),
        };
        classes.iter().map(cell).collect::<Vec<_>>()
    };
    let mut columns = vec![Column::new("methods", 0, cells(&|class| class.methods))];
    // If there is no room for all reasons, the rarest are dropped first.
    for ((reason, _), spare) in reasons.iter().zip(1..=u8::MAX) {
        let number = |class: &Class<'_>| class.by_reason.get(reason).copied().unwrap_or(0);
        columns.push(Column::new(reason, spare, cells(&number)));
    }
    let names: Vec<String> = classes
        .iter()
        .map(|(name, _)| printable(name).into())
        .collect();
    let columns = fitted(columns, &names, options.width);
    writeln!(out, "\nMethods not instrumented, by class:")?;
    text_table(&columns, "class", &names, options.width, out)?;
    if all > classes.len() {
        let more = (all - classes.len()) as u64;
        writeln!(
            out,
            "{}",
            units::counted(more, "more class", "more classes")
        )?;
    }
    write_sentences(others, options.width, out)?;
    let list = "To list the methods: loadhook report PROFILE --explain -o FILE";
    write_sentences([list], options.width, out)
}

/// Returns the reason and the class in a line of [`Header::explained`].
fn class_of(line: &str) -> Option<(&str, &str)> {
    let (reason, method) = line.split_once(": ")?;
    let (name, _) = method.split_once('(')?;
    let (class, _) = name.rsplit_once('.')?;
    Some((reason, class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(explained: &[&str]) -> Header {
        Header {
            explained: explained.iter().map(|line| (*line).to_owned()).collect(),
            ..Header::default()
        }
    }

    fn written(header: &Header, explain: Explain, width: usize) -> String {
        let options = Options {
            explain,
            width,
            ..Options::default()
        };
        let mut out = Vec::new();
        write(header, &options, &mut out).expect("writing to memory cannot fail");
        String::from_utf8(out).expect("the text is UTF-8")
    }

    const LINES: [&str; 5] = [
        "trivial: com.example.shop.Cart.size()I",
        "trivial: com.example.shop.Cart.<init>(I)V",
        "too-large: com.example.Parser.parse(Ljava/lang/String;)V",
        "empty-finalize: com.example.shop.Cart.finalize()V",
        "7 more methods were not instrumented",
    ];

    #[test]
    fn classes_are_counted_by_reason() {
        let expected = "\nMethods not instrumented, by class:
methods  trivial  empty-finalize  too-large  class
      3        2               1             com.example.shop.Cart
      1                                   1  com.example.Parser
7 more methods were not instrumented
To list the methods: loadhook report PROFILE --explain -o FILE\n";
        assert_eq!(written(&header(&LINES), Explain::Classes, 80), expected);
        // On a narrow terminal the rarest reasons are dropped.
        let narrow = written(&header(&LINES), Explain::Classes, 45);
        assert!(narrow.contains("\nmethods  trivial  class\n"), "{narrow}");
        for explain in [Explain::No, Explain::Classes, Explain::Methods] {
            assert_eq!(written(&Header::default(), explain, 80), "");
        }
        assert_eq!(written(&header(&LINES), Explain::No, 80), "");
    }

    #[test]
    fn methods_are_listed() {
        let listed = written(&header(&LINES), Explain::Methods, 80);
        for line in LINES {
            assert!(listed.contains(&format!("\n{line}\n")), "{listed}");
        }
    }

    #[test]
    fn a_long_list_of_classes_is_cut() {
        let lines: Vec<String> = (0..50).map(|at| format!("trivial: a.C{at}.m()V")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let text = written(&header(&lines), Explain::Classes, 80);
        assert_eq!(text.matches(" a.C").count(), FEW_CLASSES);
        assert!(text.contains("\n30 more classes\n"), "{text}");
    }

    #[test]
    fn reasons_are_one_sentence() {
        let mut header = Header::default();
        assert_eq!(reasons(&header), None);
        header.left_alone.insert("trivial".to_owned(), 2_844);
        let trivial = "2,844 trivial methods not instrumented (--all instruments them)";
        assert_eq!(reasons(&header).as_deref(), Some(trivial));
        header.left_alone.insert("too-large".to_owned(), 1);
        let several =
            "2,845 methods not instrumented: 1 too-large, 2,844 trivial (--all instruments them)";
        assert_eq!(reasons(&header).as_deref(), Some(several));
        header.left_alone.remove("trivial");
        let one = "1 too-large method not instrumented";
        assert_eq!(reasons(&header).as_deref(), Some(one));
    }
}
