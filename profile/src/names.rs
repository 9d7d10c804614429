//! What methods are called on screen.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::format::units::count;
use crate::model::Method;

/// One name a method: `com.example.Service.handle`. Overloads get their
/// parameters, `handle(String, int[])`, and what two loaders define, the loader.
pub(crate) fn names(methods: &[Method]) -> Vec<String> {
    let mut plain: HashMap<(&str, &str), u32> = HashMap::new();
    let mut whole: HashMap<(&str, &str, &str), u32> = HashMap::new();
    for method in methods {
        *whole
            .entry((&method.class, &method.name, &method.descriptor))
            .or_default() += 1;
    }
    for (class, name, _) in whole.keys() {
        *plain.entry((class, name)).or_default() += 1;
    }
    let name = |method: &Method| {
        let mut text = method.class.to_string();
        if !method.name.is_empty() {
            text.push('.');
            text.push_str(&method.name);
        }
        if plain[&(&*method.class, &*method.name)] > 1 {
            text.push_str(&parameters(&method.descriptor));
        }
        if whole[&(&*method.class, &*method.name, &*method.descriptor)] > 1 {
            let loader = match &*method.loader {
                "" => "bootstrap",
                loader => loader,
            };
            text.push_str(" @");
            text.push_str(loader);
        }
        text
    };
    methods.iter().map(name).collect()
}

/// Stands behind the name of a method whose class several loaders had copies of:
/// ` in 227,380 loaders`; else empty. Their number differs from run to run, so it
/// is in no name that profiles are compared by.
pub(crate) fn in_loaders(method: &Method) -> String {
    match method.loaders {
        0 | 1 => String::new(),
        loaders => format!(" in {} loaders", count(loaders.into())),
    }
}

/// Splits off what [`in_loaders`] has put behind a name.
fn split_loaders(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind(" in ")?;
    let number = name[at..].strip_prefix(" in ")?.strip_suffix(" loaders")?;
    let is_number = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b',');
    is_number.then(|| name.split_at(at))
}

/// The text with its control characters escaped, as `\n` and `\u{1b}`: names,
/// arguments and threads' names can hold what moves a terminal's cursor,
/// looks like another line, or turns the order of what is read.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        match is_control(char) {
            true => printable.extend(char.escape_default()),
            false => printable.push(char),
        }
    }
    Cow::Owned(printable)
}

/// Whether a character acts on others instead of being seen: besides Unicode's
/// control characters those of direction, separators of lines and paragraphs,
/// and the mark of byte orders.
fn is_control(char: char) -> bool {
    let acts = matches!(
        char,
        '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    );
    acts || char.is_control()
}

/// The parameters of a descriptor in Java's short form; the descriptor itself
/// if it is none.
fn parameters(descriptor: &str) -> String {
    let parse = || {
        let mut rest = descriptor.strip_prefix('(')?;
        let mut types = Vec::new();
        while !rest.starts_with(')') {
            let element = rest.trim_start_matches('[');
            let dimensions = rest.len() - element.len();
            let (name, behind) = match element.strip_prefix('L') {
                Some(class) => {
                    let (class, behind) = class.split_once(';')?;
                    (class.rsplit('/').next()?, behind)
                }
                None => {
                    let (letter, behind) = element.split_at_checked(1)?;
                    (primitive(letter)?, behind)
                }
            };
            rest = behind;
            types.push(format!("{name}{}", "[]".repeat(dimensions)));
        }
        Some(format!("({})", types.join(", ")))
    };
    parse().unwrap_or_else(|| descriptor.to_owned())
}

/// The primitive type of a descriptor's letter (JVMS table 4.3-A).
fn primitive(letter: &str) -> Option<&'static str> {
    Some(match letter {
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        _ => return None,
    })
}

/// Columns that a name keeps at least where the number of its loaders follows it.
const NARROWEST_IN_LOADERS: usize = 12;

/// Shortens a name to `width` columns of a terminal: first packages in the
/// middle, then parameters, then whatever is left at the front. A line behind
/// it stays as long as it fits.
///
/// `com.example.shop.web.Cart.add:21` becomes `com.…web.Cart.add:21`.
pub fn shorten(name: &str, width: usize) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    if let Some((name, loaders)) = split_loaders(name) {
        return match width.checked_sub(loaders.width()) {
            Some(room) if room >= NARROWEST_IN_LOADERS => shorten(name, room) + loaders,
            _ => shorten(name, width),
        };
    }
    let is_line = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // With a column for what is before it.
    let has_room = |line: &str| is_line(line) && line.len() + 2 <= width;
    if let Some((place, line)) = name.rsplit_once(':').filter(|(_, line)| has_room(line)) {
        let place = shorten(place, width.saturating_sub(line.len() + 1));
        return format!("{place}:{line}");
    }
    // Dots in parameters and loaders are no package's.
    let end = name.find(['(', '@', ' ']).unwrap_or(name.len());
    let dots: Vec<usize> = name[..end].match_indices('.').map(|(at, _)| at).collect();
    let mut class_and_method = 0;
    // The last two parts, class and method, stay whole.
    if let [first, middle @ .., _] = &dots[..] {
        for dot in middle {
            let short = format!("{}…{}", &name[..=*first], &name[dot + 1..]);
            if short.width() <= width {
                return short;
            }
        }
        class_and_method = middle.last().unwrap_or(first) + 1;
        let short = format!("…{}", &name[class_and_method..]);
        if short.width() <= width {
            return short;
        }
    }
    // Overloads are told apart by what is left of their parameters.
    let (before, parameters) = name.split_at(end);
    let method = dots.last().copied().unwrap_or(0);
    let starts = [class_and_method, method];
    // The end of the class says more than the method alone.
    for start in starts.into_iter().filter(|_| !parameters.is_empty()) {
        let mark = if start == 0 { "" } else { "…" };
        let short = format!("{mark}{}", &before[start..]);
        if short.width() + parameters.width() <= width {
            return match start == class_and_method {
                true => short + parameters,
                false => tail(before, width - parameters.width()) + parameters,
            };
        }
        // At least one parenthesis and the mark.
        if short.width() + 2 <= width && parameters.starts_with('(') {
            let room = width - short.width() - 1;
            return format!("{short}{}…", fitting(parameters.chars(), room));
        }
    }
    tail(name, width)
}

/// The end of a text in `width` columns, which it does not fit.
fn tail(text: &str, width: usize) -> String {
    let tail: String = fitting(text.chars().rev(), width.saturating_sub(1));
    format!("…{}", tail.chars().rev().collect::<String>())
}

/// The text in `width` columns, cut at its end.
pub fn clipped(text: &str, width: usize) -> String {
    match text.width() <= width {
        true => text.to_owned(),
        false => format!("{}…", fitting(text.chars(), width.saturating_sub(1))),
    }
}

/// The first of these characters, as many as fit into `room` columns.
fn fitting(chars: impl Iterator<Item = char>, mut room: usize) -> String {
    let fits = |char: &char| {
        let rest = room.checked_sub(char.width().unwrap_or(0));
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    chars.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_no_more_than_needed() {
        let mut methods = vec![
            Method::new("a.B", "once", "(I)V"),
            Method::new("a.B", "twice", "(Ljava/lang/String;[[I)V"),
            Method::new("a.B", "twice", "()V"),
            Method::new("a.C", "run", "()V"),
            Method::new("a.C", "run", "()V"),
            Method::overflow(),
            Method::new("a.D", "odd", "(LI;Q)V"),
            Method::new("a.D", "odd", "(LI;)V"),
        ];
        methods[4].loader = "app".into();
        let expected = [
            "a.B.once",
            "a.B.twice(String, int[][])",
            "a.B.twice()",
            "a.C.run @bootstrap",
            "a.C.run @app",
            "(tree full)",
            "a.D.odd(LI;Q)V",
            "a.D.odd(I)",
        ];
        assert_eq!(names(&methods), expected);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("注文 é\\n"), "注文 é\\n");
        assert_eq!(
            printable("a\u{1b}[2Jb\nc\r\t\u{7f}\u{9b}é"),
            r"a\u{1b}[2Jb\nc\r\t\u{7f}\u{9b}é"
        );
        // What looks like "b.Safe.run" is none.
        assert_eq!(printable("\u{202e}nur.efaS.b"), r"\u{202e}nur.efaS.b");
        for acts in
            "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202d}\u{2066}\u{2069}\u{feff}"
                .chars()
        {
            let text = format!("a{acts}b");
            assert_eq!(printable(&text), format!("a{}b", acts.escape_unicode()));
        }
        // Letters are made of these.
        assert_eq!(printable("a\u{200d}b\u{301}"), "a\u{200d}b\u{301}");
    }

    #[test]
    fn packages_go_first() {
        let name = "com.example.shop.web.Cart.add";
        assert_eq!(shorten(name, 29), name);
        assert_eq!(shorten(name, 28), "com.…shop.web.Cart.add");
        assert_eq!(shorten(name, 17), "com.…web.Cart.add");
        assert_eq!(shorten(name, 13), "com.…Cart.add");
        assert_eq!(shorten(name, 9), "…Cart.add");
        assert_eq!(shorten(name, 7), "…rt.add");
        assert_eq!(shorten(name, 5), "….add");
        assert_eq!(shorten("com.example.Cart.add:195", 17), "com.…Cart.add:195");
        assert_eq!(shorten("com.example.Cart.<init>:195", 14), "…rt.<init>:195");
        assert_eq!(shorten("com.example.Cart.add:195", 5), "…:195");
        assert_eq!(shorten("com.example.Cart.add:195", 4), "…195");
        assert_eq!(shorten("com.example.Cart.add:195", 1), "…");
        assert_eq!(shorten("add", 2), "…d");
        assert_eq!(shorten("x", 0), "…");
        // Two columns each.
        assert_eq!(shorten("店.注文.合計", 11), "…注文.合計");
        assert_eq!(shorten("店.注文.合計", 4), "…計");
        assert_eq!(shorten("店.注文.合計", 5), "…合計");
        assert_eq!(
            shorten("a.b.c.D.run(String, a.b.c.d.e)", 27),
            "a.…D.run(String, a.b.c.d.e)"
        );
    }

    #[test]
    fn loaders_stay_where_there_is_room() {
        let mut method = Method::new("com.example.Cart", "add", "()V");
        assert_eq!(in_loaders(&method), "");
        method.loaders = 227_380;
        let loaders = in_loaders(&method);
        assert_eq!(loaders, " in 227,380 loaders");
        let name = format!("com.example.Cart.add:7{loaders}");
        assert_eq!(shorten(&name, 41), name);
        assert_eq!(shorten(&name, 36), "com.…Cart.add:7 in 227,380 loaders");
        assert_eq!(shorten(&name, 31), "…Cart.add:7 in 227,380 loaders");
        assert_eq!(shorten(&name, 30), "com.example.Cart.add:7");
        assert_eq!(split_loaders("a.b.In.x in b loaders"), None);
    }

    #[test]
    fn parameters_go_before_the_method() {
        let name = "com.example.Check.check(DiagnosticPosition, Type, Type)";
        assert_eq!(
            shorten(name, 40),
            "…Check.check(DiagnosticPosition, Type, …"
        );
        assert_eq!(shorten(name, 15), "…Check.check(D…");
        assert_eq!(shorten(name, 14), "…Check.check(…");
        assert_eq!(shorten(name, 13), "….check(Diag…");
        assert_eq!(shorten(name, 7), "… Type)");
        assert_eq!(shorten(&format!("{name}:7"), 17), "…Check.check(D…:7");
        assert_eq!(shorten("a.Checking.check(Type)", 13), "….check(Type)");
        assert_eq!(shorten("a.Checking.check(Type)", 15), "…ng.check(Type)");
        assert_eq!(shorten("run(String, String)", 10), "run(Strin…");
        assert_eq!(clipped("java -jar 店.jar", 13), "java -jar 店…");
        assert_eq!(clipped("java -jar 店.jar", 12), "java -jar …");
    }
}
