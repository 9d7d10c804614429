//! Patterns that name classes and methods, as users write them.
//!
//! | pattern | what it names |
//! |---|---|
//! | `com.example.Service` | that class |
//! | `com.example.*` | the classes of that package |
//! | `com.example.**` | those and the ones of packages below |
//! | `Foo*` | without a dot: by simple name, in every package |
//! | `com.example.Service::handle*` | its methods by name |
//! | `**::parse(Ljava/lang/String;)**` | methods by descriptor |
//! | `@com.example.Timed` | annotated methods, and all of an annotated class |
//!
//! `*` stands for any characters but a dot in class names, `**` for any at
//! all; in method names and descriptors both stand for any. A nested class is
//! named as in class files: `Map$Entry`.

use std::fmt;

use crate::class::{ClassFile, Member};
use crate::symbol::modified_utf8;

/// A pattern, and whether it ever matched.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    subject: Subject,
    matched: bool,
}

#[derive(Clone, Debug)]
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
    /// The pattern as written.
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
#[derive(Clone, Debug)]
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
            return fault(0, "empty");
        }
        if let Some(at) = text.find(|c: char| c.is_whitespace() || c.is_control()) {
            return fault(at, "a blank belongs to no name");
        }
        let subject = if let Some(name) = text.strip_prefix('@') {
            if let Some(at) = name.find("::") {
                return fault(1 + at, "an annotation pattern names no method");
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
                    return fault(start + at, "no character of a method name");
                }
                if !rest.is_empty() {
                    if !rest.contains([')', '*']) {
                        return fault(text.len(), "the descriptor's ) is missing");
                    }
                    descriptor = Some(Glob::text(rest));
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
            matched: false,
        })
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it names the class itself, so that all its methods are meant,
    /// or, with `any_part`, at least could name one of its methods.
    fn names_class(&self, class: &ClassFile<'_>, any_part: bool) -> bool {
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

    fn names_method(&self, method: &Member<'_, '_>) -> bool {
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
        return Some((at, "no character of a class name"));
    }
    if let Some(at) = class.find('/') {
        return Some((at, "packages are separated by dots here"));
    }
    if let Some(at) = class.find("***") {
        return Some((at + 2, "no more than two stars"));
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

/// The lines of a file that hold patterns, numbered from 1, without comments.
pub fn pattern_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    fn code(line: &str) -> &str {
        line.split('#').next().unwrap_or_default().trim()
    }
    (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, code(line)))
        .filter(|(_, line)| !line.is_empty())
}

/// What to instrument: everything included and not excluded.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Filter {
    /// A filter that lets everything pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a comma-separated list of patterns to include. With none,
    /// everything is included.
    ///
    /// # Errors
    /// At the first pattern that cannot be read.
    pub fn include(&mut self, list: &str) -> Result<(), PatternError> {
        for pattern in list.split(',') {
            self.include.push(Pattern::parse(pattern)?);
        }
        Ok(())
    }

    /// Adds the patterns of a file to include: a list a line, `#` begins a
    /// comment. How many lines had one.
    ///
    /// # Errors
    /// At the first pattern that cannot be read, with its line's number.
    pub fn include_lines(&mut self, text: &str) -> Result<usize, (usize, PatternError)> {
        let mut found = 0;
        for (number, line) in pattern_lines(text) {
            self.include(line).map_err(|error| (number, error))?;
            found += 1;
        }
        Ok(found)
    }

    /// Adds a comma-separated list of patterns to exclude.
    ///
    /// # Errors
    /// At the first pattern that cannot be read.
    pub fn exclude(&mut self, list: &str) -> Result<(), PatternError> {
        for pattern in list.split(',') {
            self.exclude.push(Pattern::parse(pattern)?);
        }
        Ok(())
    }

    /// Whether a class of this internal name may be included, as far as the
    /// name tells: quick, and before the class is read.
    pub fn class_name(&self, name: &[u8]) -> bool {
        let may = |pattern: &Pattern| match &pattern.subject {
            Subject::Annotation(_) => true,
            Subject::Member { class, simple, .. } => class.matches(shown_name(name, *simple)),
        };
        self.include.is_empty() || self.include.iter().any(may)
    }

    /// Whether any method of `class` may pass.
    pub fn class(&mut self, class: &ClassFile<'_>) -> bool {
        let mut included = self.include.is_empty();
        for pattern in &mut self.include {
            pattern.matched |= pattern.names_class(class, false);
            included |= pattern.names_class(class, true);
        }
        included && {
            let mut excluded = false;
            for pattern in &mut self.exclude {
                if pattern.names_class(class, false) {
                    pattern.matched = true;
                    excluded = true;
                }
            }
            !excluded
        }
    }

    /// Whether `method` passes.
    pub fn method(&mut self, method: &Member<'_, '_>) -> bool {
        let mut included = self.include.is_empty();
        for pattern in &mut self.include {
            // Not only the first: each is to be known as having matched.
            if pattern.names_method(method) {
                pattern.matched = true;
                included = true;
            }
        }
        if !included {
            return false;
        }
        for pattern in &mut self.exclude {
            if pattern.names_method(method) {
                pattern.matched = true;
                return false;
            }
        }
        true
    }

    /// The patterns that named nothing seen so far: misspelt, most likely.
    pub fn unmatched(&self) -> impl Iterator<Item = &Pattern> {
        self.include
            .iter()
            .chain(&self.exclude)
            .filter(|pattern| !pattern.matched)
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
    fn faults_are_pointed_at() {
        let fault = |pattern| Pattern::parse(pattern).map(|_| ()).unwrap_err();
        assert_eq!(fault("").at, 0);
        assert_eq!(fault("com/example/Foo").at, 3);
        assert_eq!(fault("com..Foo").at, 4);
        assert_eq!(fault("Foo::").at, 5);
        assert_eq!(fault("Foo::bar::baz").at, 8);
        assert_eq!(fault("Foo::bar(I").at, 10);
        assert_eq!(fault("@a::b").at, 2);
        assert_eq!(fault("a b").at, 1);
        let shown = fault("com/example/Foo").to_string();
        assert!(shown.ends_with("    com/example/Foo\n       ^"), "{shown}");
    }
}
