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
//! named as in class files: `Map$Entry`; so are types in descriptors, behind
//! whose `)` nothing stands for anything.

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::Member;

use crate::pattern::{Pattern, PatternError};

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
        self.include.extend(Pattern::parse_list(list)?);
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
        self.exclude.extend(Pattern::parse_list(list)?);
        Ok(())
    }

    /// Whether a class of this internal name may be included, as far as the
    /// name tells: quick, and before the class is read.
    pub fn class_name(&self, name: &[u8]) -> bool {
        let mut include = self.include.iter();
        self.include.is_empty() || include.any(|pattern| pattern.may_name(name))
    }

    /// Whether a pattern that may include a class of this internal name has
    /// `word` in it.
    pub fn has_word(&self, name: &[u8], word: &str) -> bool {
        let has = |pattern: &Pattern| pattern.text().contains(word) && pattern.may_name(name);
        self.include.iter().any(has)
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
