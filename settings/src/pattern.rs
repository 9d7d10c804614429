//! Patterns that name classes and methods, as users write them.
//!
//! | pattern | names |
//! |---|---|
//! | `com.example.Service` | that class |
//! | `com.example.*` | the classes of that package |
//! | `com.example.**` | the classes of that package and of the packages below it |
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

use crate::glob::Glob;
use crate::list;
use crate::pattern_fault::{class_fault, descriptor_fault};

/// Message for an empty item.
const MISSING: &str = "a pattern is missing";

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
        /// True if the pattern is matched only with the part of the class name
        /// after the last `/`.
        simple: bool,
        method: Option<Glob>,
        descriptor: Option<Glob>,
    },
}

/// The error for a text that is not a pattern: the position of the fault, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The pattern as the user wrote it; the whole list if an item is empty.
    pub pattern: String,
    /// The index of the first wrong byte.
    pub at: usize,
    /// The fault at this byte.
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

impl Pattern {
    /// Reads a list of patterns, which are the items of [`list::items`].
    ///
    /// # Errors
    /// At the first item that is not a pattern, and at an empty item.
    pub fn parse_list(list: &str) -> Result<Vec<Pattern>, PatternError> {
        let mut at = 0;
        let parse = |item: &str| {
            let start = at;
            at += item.len() + 1;
            if !item.is_empty() {
                return Pattern::parse(&list::unescaped(item));
            }
            Err(PatternError {
                pattern: list.to_owned(),
                at: start,
                message: MISSING,
            })
        };
        list::items(list).map(parse).collect()
    }

    /// Returns whether the pattern has the name of a class without wildcards.
    pub(crate) fn names_one_class(&self) -> bool {
        match &self.subject {
            Subject::Member { class, .. } => class.is_literal(),
            Subject::Annotation(_) => false,
        }
    }

    /// Reads one pattern.
    ///
    /// # Errors
    /// When `text` is not a pattern. The error points at the fault.
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
            Subject::Annotation(Glob::class_descriptor(name))
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
                        glob.push_any();
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

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the pattern names the class itself, and so all its methods. With `any_part`,
    /// returns whether the pattern may name the class or one of its methods.
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

    /// Returns whether the pattern may name a class with this internal name, or a
    /// method of such a class.
    pub(crate) fn may_name(&self, name: &[u8]) -> bool {
        match &self.subject {
            Subject::Annotation(_) => true,
            Subject::Member { class, simple, .. } => class.matches(shown_name(name, *simple)),
        }
    }

    /// Returns whether the pattern surely names classes of `other`. The wildcards of `other` count
    /// as characters of a name.
    pub(crate) fn covers(&self, other: &Pattern) -> bool {
        let is_of_classes = matches!(&self.subject, Subject::Member { method: None, .. });
        let class = other.text.split("::").next().unwrap_or_default();
        is_of_classes
            && matches!(&other.subject, Subject::Member { .. })
            && self.may_name(&modified_utf8(&class.replace('.', "/")))
    }

    /// Returns whether the pattern names the method.
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

    /// Returns whether the pattern names the method with this name and descriptor
    /// in the class with this internal name, all in modified UTF-8. `None` for an
    /// annotation pattern, which needs more than names.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn class(pattern: &str, name: &str) -> bool {
        let Subject::Member { class, simple, .. } = Pattern::parse(pattern).unwrap().subject else {
            panic!("{pattern} is not a class pattern");
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
    fn two_stars_match_packages_below() {
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
        let patterns = Pattern::parse_list(r"a.B\,C,d").expect("the list is valid");
        let texts: Vec<&str> = patterns.iter().map(Pattern::text).collect();
        assert_eq!(texts, ["a.B,C", "d"]);
        assert_eq!(patterns[0].names(b"a/B,C", b"", b""), Some(true));
    }
}
