//! Names of Java methods and types.

use std::collections::{HashMap, HashSet};

use unicode_width::UnicodeWidthStr;

use crate::escape::printable;
use crate::units::count;
use crate::width::{fitting, tail};

/// Returns ` in 227,380 loaders`, which follows the name of a method if several loaders have copies
/// of its class. Empty for one loader.
///
/// The number differs from run to run, so profiles are compared by names without it.
pub fn in_loaders(loaders: u32) -> String {
    match loaders {
        0 | 1 => String::new(),
        several => format!(" in {} loaders", count(several.into())),
    }
}

/// Splits a name from the suffix that [`in_loaders`] has added.
fn split_loaders(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind(" in ")?;
    let number = name[at..].strip_prefix(" in ")?.strip_suffix(" loaders")?;
    let is_number = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b',');
    is_number.then(|| name.split_at(at))
}

/// Returns the parameters of a method descriptor (JVMS §4.3.3) as Java writes them, types without
/// their packages: `(Ljava/lang/String;[[I)V` becomes `(String, int[][])`.
///
/// A text that is not a descriptor is returned unchanged.
pub fn parameters(descriptor: &str) -> String {
    parameter_types(descriptor).map_or_else(
        || descriptor.to_owned(),
        |types| format!("({})", types.join(", ")),
    )
}

fn parameter_types(descriptor: &str) -> Option<Vec<String>> {
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
    Some(types)
}

/// Returns the primitive type of a descriptor's letter (JVMS table 4.3-A).
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

/// Returns type names without their packages. A name keeps its package if another type has the same
/// simple name.
pub fn simple_type_names<'t>(types: impl Iterator<Item = &'t str> + Clone) -> Vec<String> {
    let simple = |name: &'t str| name.rsplit_once('.').map_or(name, |(_, simple)| simple);
    let mut first_of: HashMap<&str, &str> = HashMap::new();
    let mut ambiguous: HashSet<&str> = HashSet::new();
    for name in types.clone() {
        if *first_of.entry(simple(name)).or_insert(name) != name {
            ambiguous.insert(simple(name));
        }
    }
    let shown = |name| {
        if ambiguous.contains(simple(name)) {
            name
        } else {
            simple(name)
        }
    };
    types
        .map(|name| printable(shown(name)).into_owned())
        .collect()
}

/// Minimum number of columns for a name that is followed by the number of its loaders.
const NARROWEST_IN_LOADERS: usize = 12;

/// Shortens the name of a method, or of a method with a line, to `width` columns of a terminal:
/// `com.example.shop.web.Cart.add:21` becomes `com.…web.Cart.add:21`.
///
/// Packages in the middle are removed first, then parameters, then the front of the name. The
/// number of loaders and the line stay as long as they fit.
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
    // The line needs a colon and at least one column of the name before it.
    let has_room = |line: &str| is_line(line) && line.len() + 2 <= width;
    if let Some((place, line)) = name.rsplit_once(':').filter(|(_, line)| has_room(line)) {
        let place = shorten(place, width.saturating_sub(line.len() + 1));
        return format!("{place}:{line}");
    }
    // Dots in parameters and loaders separate no packages.
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
    // Parameters distinguish overloads, so as much of them as fits is kept.
    let (before, parameters) = name.split_at(end);
    let method = dots.last().copied().unwrap_or(0);
    let starts = [class_and_method, method];
    // Keep the end of the class, since it says more than the method alone.
    for start in starts.into_iter().filter(|_| !parameters.is_empty()) {
        let mark = if start == 0 { "" } else { "…" };
        let short = format!("{mark}{}", &before[start..]);
        if short.width() + parameters.width() <= width {
            return if start == class_and_method {
                short + parameters
            } else {
                tail(before, width - parameters.width()) + parameters
            };
        }
        // The shortest form of the parameters is a parenthesis and the ellipsis.
        if short.width() + 2 <= width && parameters.starts_with('(') {
            let room = width - short.width() - 1;
            return format!("{short}{}…", fitting(parameters.chars(), room));
        }
    }
    tail(name, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_written_as_in_java() {
        let cases = [
            ("()V", "()"),
            ("(Ljava/lang/String;[[I)V", "(String, int[][])"),
            ("(LI;)V", "(I)"),
            ("(LI;Q)V", "(LI;Q)V"),
        ];
        for (descriptor, java) in cases {
            assert_eq!(parameters(descriptor), java);
        }
    }

    #[test]
    fn types_of_one_simple_name_keep_their_packages() {
        let types = ["a.Node", "b.Node", "a.Leaf", "int[]"];
        let expected = ["a.Node", "b.Node", "Leaf", "int[]"];
        assert_eq!(simple_type_names(types.into_iter()), expected);
    }

    #[test]
    fn packages_are_removed_first() {
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
        // Each character has two columns.
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
        assert_eq!(in_loaders(1), "");
        let loaders = in_loaders(227_380);
        assert_eq!(loaders, " in 227,380 loaders");
        let name = format!("com.example.Cart.add:7{loaders}");
        assert_eq!(shorten(&name, 41), name);
        assert_eq!(shorten(&name, 36), "com.…Cart.add:7 in 227,380 loaders");
        assert_eq!(shorten(&name, 31), "…Cart.add:7 in 227,380 loaders");
        assert_eq!(shorten(&name, 30), "com.example.Cart.add:7");
        assert_eq!(split_loaders("a.b.In.x in b loaders"), None);
    }

    #[test]
    fn parameters_are_cut_before_the_method() {
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
    }
}
