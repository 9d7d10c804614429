//! Patterns that name classes and methods, as users write them.
//!
//! | pattern | names |
//! |---|---|
//! | `com.example.Service` | that class |
//! | `com.example.*` | the classes of that package |
//! | `com.example.**` | those and the classes of packages below |
//! | `Foo*` | without a dot: classes by simple name, in every package |
//! | `com.example.Service::handle*` | methods by name |
//! | `**::parse(Ljava/lang/String;)**` | methods by descriptor |
//! | `@com.example.Timed` | annotated methods, and all methods of an annotated class |
//!
//! In class names, `*` stands for any characters but a dot, `**` for any
//! characters. In method names and descriptors both stand for any characters.
//! Nested classes are named as in class files, `Map$Entry`, and so are types in
//! descriptors. A descriptor that ends in `)` matches every return type.

use std::fmt;

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::symbol::modified_utf8;

use crate::list;

/// Message for an empty item.
const MISSING: &str = "a pattern is missing";

/// Message for a type that is written as in Java source code.
const NO_TYPE: &str = "types are written as in class files, for example (I[Ljava/lang/String;)";

/// A pattern that names classes or methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    subject: Subject,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    Annotation(Glob),
    Member {
        class: Glob,
        /// Match the part of the class name behind the last `/`.
        simple: bool,
        method: Option<Glob>,
        descriptor: Option<Glob>,
    },
}

/// A pattern that cannot be read: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The pattern as written; the whole list where one is missing.
    pub pattern: String,
    /// The byte at fault.
    pub at: usize,
    /// What is wrong there.
    pub message: &'static str,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.pattern.get(..self.at).unwrap_or("").chars().count();
        writeln!(f, "bad pattern: {}", self.message)?;
        writeln!(f, "    {}", self.pattern)?;
        write!(f, "    {:column$}^", "")
    }
}

impl std::error::Error for PatternError {}

/// A sequence of literal bytes, as class files have them, and wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Glob(Vec<Part>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// Any bytes but `/`.
    Segment,
    /// Any bytes.
    Any,
}

impl Glob {
    /// Compiles a class name; dots become the slashes of internal names.
    fn class(text: &str) -> Glob {
        let mut parts = Vec::new();
        let mut bytes = modified_utf8(text).into_iter().peekable();
        while let Some(byte) = bytes.next() {
            parts.push(match byte {
                b'*' if bytes.next_if_eq(&b'*').is_some() => Part::Any,
                b'*' => Part::Segment,
                b'.' => Part::Byte(b'/'),
                byte => Part::Byte(byte),
            });
        }
        Glob(parts)
    }

    /// Compiles a method name or descriptor.
    fn text(text: &str) -> Glob {
        let mut parts: Vec<Part> = modified_utf8(text)
            .into_iter()
            .map(|byte| match byte {
                b'*' => Part::Any,
                byte => Part::Byte(byte),
            })
            .collect();
        parts.dedup_by(|a, b| *a == Part::Any && *b == Part::Any);
        Glob(parts)
    }

    /// Whether the whole of `text` matches. Backtracks to the last wildcard
    /// only, which is enough for `Any`; a `Segment` that ran into a `/` falls
    /// back to the last `Any`.
    fn matches(&self, text: &[u8]) -> bool {
        let (mut part, mut at) = (0, 0);
        let mut any: Option<(usize, usize)> = None;
        let mut segment: Option<(usize, usize)> = None;
        loop {
            match (self.0.get(part), text.get(at)) {
                (None, None) => return true,
                (Some(Part::Any), _) => {
                    part += 1;
                    any = Some((part, at));
                    segment = None;
                    continue;
                }
                (Some(Part::Segment), _) => {
                    part += 1;
                    segment = Some((part, at));
                    continue;
                }
                (Some(Part::Byte(expected)), Some(found)) if expected == found => {
                    part += 1;
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let retry = |from: &mut Option<(usize, usize)>, stop: Option<u8>| {
                let (part, at) = (*from)?;
                let byte = *text.get(at)?;
                if Some(byte) == stop {
                    return None;
                }
                *from = Some((part, at + 1));
                Some((part, at + 1))
            };
            let next = retry(&mut segment, Some(b'/')).or_else(|| {
                segment = None;
                retry(&mut any, None)
            });
            match next {
                Some(next) => (part, at) = next,
                None => return false,
            }
        }
    }
}

impl Pattern {
    /// Reads a list of patterns, as of [`list::items`].
    ///
    /// # Errors
    /// At the first that is not one, and where one is missing.
    pub fn parse_list(list: &str) -> Result<Vec<Pattern>, PatternError> {
        let mut at = 0;
        let parse = |item: &str| {
            let start = at;
            at += item.len() + 1;
            match item.is_empty() {
                true => Err(PatternError {
                    pattern: list.to_owned(),
                    at: start,
                    message: MISSING,
                }),
                false => Pattern::parse(&list::unescaped(item)),
            }
        };
        list::items(list).map(parse).collect()
    }

    /// Reads one pattern.
    ///
    /// # Errors
    /// When it is not one; the error points at the fault.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let fault = |at, message| {
            Err(PatternError {
                pattern: text.to_owned(),
                at,
                message,
            })
        };
        if text.is_empty() {
            return fault(0, MISSING);
        }
        if let Some(at) = text.find(|c: char| c.is_whitespace() || c.is_control()) {
            return fault(at, "a name cannot contain a blank");
        }
        let subject = if let Some(name) = text.strip_prefix('@') {
            if let Some(at) = name.find("::") {
                return fault(1 + at, "an annotation pattern cannot name a method");
            }
            if let Some((at, message)) = class_fault(name) {
                return fault(1 + at, message);
            }
            // Compared with a descriptor: `Lcom/example/Timed;`.
            let mut glob = Glob::class(name);
            glob.0.insert(0, Part::Byte(b'L'));
            glob.0.push(Part::Byte(b';'));
            Subject::Annotation(glob)
        } else {
            let (class, member) = match text.split_once("::") {
                Some((class, member)) => (class, Some(member)),
                None => (text, None),
            };
            if let Some((at, message)) = class_fault(class) {
                return fault(at, message);
            }
            let (mut method, mut descriptor) = (None, None);
            if let Some(member) = member {
                let start = class.len() + 2;
                let open = member.find('(').unwrap_or(member.len());
                let (name, rest) = member.split_at(open);
                if name.is_empty() {
                    return fault(start, "a method name, or *, is missing");
                }
                if let Some(at) = name.find([':', '.', '/', ';', '[', ')']) {
                    return fault(start + at, "this character cannot be in a method name");
                }
                if !rest.is_empty() {
                    if let Some((at, message)) = descriptor_fault(rest) {
                        return fault(start + open + at, message);
                    }
                    let mut glob = Glob::text(rest);
                    if rest.ends_with(')') {
                        // Whatever it returns.
                        glob.0.push(Part::Any);
                    }
                    descriptor = Some(glob);
                }
                method = Some(Glob::text(name));
            }
            Subject::Member {
                class: Glob::class(class),
                simple: !class.contains('.') && !class.starts_with("**"),
                method,
                descriptor,
            }
        };
        Ok(Pattern {
            text: text.to_owned(),
            subject,
        })
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it names the class itself, so that all its methods are meant,
    /// or, with `any_part`, at least could name one of its methods.
    pub(crate) fn names_class(&self, class: &ClassFile<'_>, any_part: bool) -> bool {
        match &self.subject {
            Subject::Annotation(glob) => {
                let annotated = class.annotation_types().any(|name| glob.matches(name));
                annotated
                    || (any_part
                        && class
                            .methods()
                            .any(|method| method.annotation_types().any(|name| glob.matches(name))))
            }
            Subject::Member {
                class: glob,
                simple,
                method,
                ..
            } => (any_part || method.is_none()) && glob.matches(shown_name(class.name(), *simple)),
        }
    }

    /// Whether it may name a class of this internal name, or a part of one.
    pub(crate) fn may_name(&self, name: &[u8]) -> bool {
        match &self.subject {
            Subject::Annotation(_) => true,
            Subject::Member { class, simple, .. } => class.matches(shown_name(name, *simple)),
        }
    }

    pub(crate) fn names_method(&self, method: &Member<'_, '_>) -> bool {
        match &self.subject {
            Subject::Annotation(glob) => {
                method.annotation_types().any(|name| glob.matches(name))
                    || self.names_class(method.class(), false)
            }
            Subject::Member { .. } => {
                let class = method.class().name();
                self.names(class, method.name(), method.descriptor()) == Some(true)
            }
        }
    }

    /// Whether it names the method of this name and descriptor in the class of
    /// this internal name, all in modified UTF-8; `None` for annotation
    /// patterns, which need more than names.
    pub fn names(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> Option<bool> {
        match &self.subject {
            Subject::Annotation(_) => None,
            Subject::Member {
                class: glob,
                simple,
                method: name,
                descriptor: types,
            } => Some(
                glob.matches(shown_name(class, *simple))
                    && name.as_ref().is_none_or(|g| g.matches(method))
                    && types.as_ref().is_none_or(|g| g.matches(descriptor)),
            ),
        }
    }
}

fn shown_name(name: &[u8], simple: bool) -> &[u8] {
    match name.iter().rposition(|&b| b == b'/') {
        Some(slash) if simple => name.get(slash + 1..).unwrap_or_default(),
        _ => name,
    }
}

fn class_fault(class: &str) -> Option<(usize, &'static str)> {
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
        return Some((at + 2, "at most two stars can stand together"));
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

/// What is wrong with a descriptor that may have wildcards, and where.
fn descriptor_fault(text: &str) -> Option<(usize, &'static str)> {
    let mut at = 1;
    let mut has_star = false;
    loop {
        match text.get(at..)?.chars().next() {
            Some(')') => break,
            Some('*') => {
                has_star = true;
                at += 1;
                // What follows may be the rest of a class name.
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

/// Where the type that begins there ends, or the first star in it.
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
                    "a class ends with ; here, as in (Ljava/lang/String;)",
                )),
            }
        }
        _ => Err((word_start(text, at), NO_TYPE)),
    }
}

/// The beginning of the word in which `at` is, if it is in one.
fn word_start(text: &str, at: usize) -> usize {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let is_letter = |c: char| c.is_alphanumeric() || "_$".contains(c);
    match behind.starts_with(is_letter) {
        true => before.trim_end_matches(is_letter).len(),
        false => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(pattern: &str, name: &str) -> bool {
        let Subject::Member { class, simple, .. } = Pattern::parse(pattern).unwrap().subject else {
            panic!("{pattern} is no class pattern");
        };
        class.matches(shown_name(name.as_bytes(), simple))
    }

    #[test]
    fn one_star_stays_in_the_package() {
        assert!(class("com.example.*", "com/example/Service"));
        assert!(class("com.example.*", "com/example/Map$Entry"));
        assert!(!class("com.example.*", "com/example/sub/Service"));
        assert!(!class("com.example.*", "com/examples/Service"));
        assert!(class("com.*.Service", "com/example/Service"));
        assert!(!class("com.*.Service", "com/a/b/Service"));
    }

    #[test]
    fn two_stars_go_below() {
        assert!(class("com.example.**", "com/example/sub/Service"));
        assert!(class("**", "Service"));
        assert!(class("**.Service", "com/a/b/Service"));
        assert!(class("**.a*.Service", "x/ab/c/abc/Service"));
        assert!(!class("**.a*.Service", "x/ab/c/bc/Service"));
    }

    #[test]
    fn without_a_dot_the_simple_name_counts() {
        assert!(class("Foo*", "com/example/FooBar"));
        assert!(class("Foo*", "Foo"));
        assert!(!class("Foo*", "Foo/Bar"));
        assert!(!class("Foo", "com/example/FooBar"));
    }

    #[test]
    fn names_alone_are_enough_but_for_annotations() {
        let names = |pattern| {
            Pattern::parse(pattern)
                .unwrap()
                .names(b"a/B", b"run", b"(I)V")
        };
        for (pattern, expected) in [
            ("a.*", Some(true)),
            ("B", Some(true)),
            ("a.B::run", Some(true)),
            ("a.B::r*(I)*", Some(true)),
            ("a.B::run(J)V", Some(false)),
            ("a.B::stop", Some(false)),
            ("a.C", Some(false)),
            ("@a.B", None),
        ] {
            assert_eq!(names(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let pattern = "*a".repeat(200);
        assert!(!class(&pattern, &"a".repeat(60_000).replace("aa", "ab")));
    }

    #[test]
    fn a_descriptor_may_end_with_its_parameters() {
        let names = |pattern: &str| {
            let pattern = Pattern::parse(pattern).expect(pattern);
            pattern.names(b"a/B", b"run", b"(I[Ljava/lang/String;)V")
        };
        for pattern in [
            "B::run(I[Ljava/lang/String;)",
            "B::run(I[Ljava/lang/String;)V",
            "B::run(*)",
            "B::run(*)V",
            "B::run(*",
            "B::run(I*",
            "B::run(*;)",
            "B::run(*[Ljava/*;)",
            "B::run(I[L*String;)",
            "B::run(**)**",
        ] {
            assert_eq!(names(pattern), Some(true), "{pattern}");
        }
        for pattern in [
            "B::run()",
            "B::run(I)",
            "B::run(*I)",
            "B::run(*)I",
            "B::run(*)[*",
        ] {
            assert_eq!(names(pattern), Some(false), "{pattern}");
        }
    }

    #[test]
    fn faults_are_pointed_at() {
        let fault = |pattern| Pattern::parse(pattern).map(|_| ()).unwrap_err();
        for (pattern, at) in [
            ("", 0),
            ("com/example/Foo", 3),
            ("com..Foo", 4),
            ("Foo::", 5),
            ("Foo::bar::baz", 8),
            ("@a::b", 2),
            ("a b", 1),
            ("Foo::bar(I", 10),
            ("Foo::bar(int)", 9),
            ("Foo::bar(String[])", 9),
            ("Foo::bar(IV)", 9),
            ("Foo::bar([)", 10),
            ("Foo::bar(Long)", 13),
            ("Foo::bar(Ljava/lang/String)V", 26),
            ("Foo::bar(Ljava.lang.String;)", 14),
            ("Foo::bar(I)void", 11),
            ("Foo::bar(I)String", 11),
            ("Foo::bar(I)[", 12),
            ("Foo::bar(I)VV", 11),
            ("Foo::bar(I)I)", 12),
            ("Foo::bar(*String)", 10),
            ("Foo::bar(*;int)", 11),
            ("店::買う(int)", 12),
        ] {
            let fault = fault(pattern);
            assert_eq!(fault.at, at, "{fault}");
        }
        let shown = fault("com/example/Foo").to_string();
        assert!(shown.ends_with("    com/example/Foo\n       ^"), "{shown}");
    }
    #[test]
    fn lists_show_what_is_missing() {
        let fault = |list| {
            Pattern::parse_list(list)
                .map(|_| ())
                .unwrap_err()
                .to_string()
        };
        for (list, shown) in [
            ("a,,b", "    a,,b\n      ^"),
            ("店\\,.x,", "    店\\,.x,\n          ^"),
            ("", "    \n    ^"),
            ("a,b..c", "    b..c\n      ^"),
        ] {
            let fault = fault(list);
            assert!(fault.ends_with(shown), "{fault}");
        }
        let patterns = Pattern::parse_list(r"a.B\,C,d").expect("a list");
        let texts: Vec<&str> = patterns.iter().map(Pattern::text).collect();
        assert_eq!(texts, ["a.B,C", "d"]);
        assert_eq!(patterns[0].names(b"a/B,C", b"", b""), Some(true));
    }
}
