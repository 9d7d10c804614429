//! The choice of the classes and methods to instrument, by patterns to include and to exclude.

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::Member;

use crate::pattern::{Pattern, PatternError};

/// Chooses methods: those that a pattern includes and no pattern excludes.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    include: Vec<Tracked>,
    exclude: Vec<Tracked>,
}

/// A pattern, and a flag that is true if the pattern has ever matched.
#[derive(Clone, Debug)]
struct Tracked {
    pattern: Pattern,
    has_matched: bool,
}

impl From<Pattern> for Tracked {
    fn from(pattern: Pattern) -> Self {
        Tracked {
            pattern,
            has_matched: false,
        }
    }
}

impl Filter {
    /// A filter that selects everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// A filter that selects what a pattern of `include` matches, or everything if there is none,
    /// except what a pattern of `exclude` matches.
    pub fn of(include: Vec<Pattern>, exclude: Vec<Pattern>) -> Self {
        let tracked = |patterns: Vec<Pattern>| patterns.into_iter().map(Tracked::from).collect();
        Filter {
            include: tracked(include),
            exclude: tracked(exclude),
        }
    }

    /// Adds a comma-separated list of patterns to include. If no pattern was added, everything is
    /// included.
    ///
    /// # Errors
    /// At the first pattern that cannot be read.
    pub fn include(&mut self, list: &str) -> Result<(), PatternError> {
        let patterns = Pattern::parse_list(list)?;
        self.include.extend(patterns.into_iter().map(Tracked::from));
        Ok(())
    }

    /// Adds a comma-separated list of patterns to exclude.
    ///
    /// # Errors
    /// At the first pattern that cannot be read.
    pub fn exclude(&mut self, list: &str) -> Result<(), PatternError> {
        let patterns = Pattern::parse_list(list)?;
        self.exclude.extend(patterns.into_iter().map(Tracked::from));
        Ok(())
    }

    /// The patterns to include, in the order in which they were added.
    pub fn included(&self) -> impl ExactSizeIterator<Item = &Pattern> {
        self.include.iter().map(|it| &it.pattern)
    }

    /// The patterns to exclude, in the order in which they were added.
    pub fn excluded(&self) -> impl ExactSizeIterator<Item = &Pattern> {
        self.exclude.iter().map(|it| &it.pattern)
    }

    /// Returns whether a class of this internal name may be selected, judged by its name. This is
    /// fast, and possible before the class is parsed.
    pub fn class_name(&self, name: &[u8]) -> bool {
        let mut include = self.include.iter();
        self.include.is_empty() || include.any(|it| it.pattern.may_name(name))
    }

    /// Returns whether a pattern to include that contains `word` may name a class
    /// of this internal name.
    pub fn has_word(&self, name: &[u8], word: &str) -> bool {
        let has = |pattern: &Pattern| pattern.text().contains(word) && pattern.may_name(name);
        self.include.iter().any(|it| has(&it.pattern))
    }

    /// Returns whether any method of `class` may be selected.
    pub fn class(&mut self, class: &ClassFile<'_>) -> bool {
        let mut is_included = self.include.is_empty();
        // All patterns are tried, so that each pattern that matches the class is recorded as
        // matched.
        for it in &mut self.include {
            it.has_matched |= it.pattern.names_class(class, false);
            is_included |= it.pattern.names_class(class, true);
        }
        if !is_included {
            return false;
        }
        let mut is_excluded = false;
        for it in &mut self.exclude {
            if it.pattern.names_class(class, false) {
                it.has_matched = true;
                is_excluded = true;
            }
        }
        !is_excluded
    }

    /// Returns whether `method` is selected.
    pub fn method(&mut self, method: &Member<'_, '_>) -> bool {
        let mut is_included = self.include.is_empty();
        // All patterns are tried, for the same reason as in `class`.
        for it in &mut self.include {
            if it.pattern.names_method(method) {
                it.has_matched = true;
                is_included = true;
            }
        }
        if !is_included {
            return false;
        }
        for it in &mut self.exclude {
            if it.pattern.names_method(method) {
                it.has_matched = true;
                return false;
            }
        }
        true
    }

    /// The patterns that have matched nothing so far, which are probably misspelt.
    pub fn unmatched(&self) -> impl Iterator<Item = &Pattern> {
        let all = self.include.iter().chain(&self.exclude);
        all.filter(|it| !it.has_matched).map(|it| &it.pattern)
    }
}
