//! The choice of the classes and methods to instrument, by patterns to include and to exclude.

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::Member;

use crate::pattern::{Pattern, PatternError};

/// A choice of methods: the methods that a pattern includes and no pattern excludes.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    include: Vec<Tracked>,
    exclude: Vec<Tracked>,
    /// The meaning of a filter without a pattern to include: true if it selects nothing, false if
    /// it selects everything.
    selects_none: bool,
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
    /// Returns a filter that selects everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a filter of patterns. Without a pattern to include, it selects everything that no
    /// pattern excludes.
    pub fn of(include: Vec<Pattern>, exclude: Vec<Pattern>) -> Self {
        let tracked = |patterns: Vec<Pattern>| patterns.into_iter().map(Tracked::from).collect();
        Filter {
            include: tracked(include),
            exclude: tracked(exclude),
            selects_none: false,
        }
    }

    /// Returns a filter that selects nothing until a pattern is [included](Self::with_included).
    pub fn none() -> Self {
        Filter {
            selects_none: true,
            ..Filter::default()
        }
    }

    /// Returns whether the filter selects nothing at all.
    pub fn selects_none(&self) -> bool {
        self.selects_none
    }

    /// Returns whether there is no pattern to include, so that everything is selected that is not
    /// excluded.
    pub fn selects_all(&self) -> bool {
        self.include.is_empty() && !self.selects_none
    }

    /// Returns whether the filter selects nothing, or only classes that it names without wildcards, a few of them.
    pub fn names_few_classes(&self) -> bool {
        const FEW: usize = 16;
        self.selects_none
            || !self.include.is_empty()
                && self.include.len() <= FEW
                && self.include.iter().all(|it| it.pattern.names_one_class())
    }

    /// Returns a filter that also selects the methods that this pattern names. An equal exclusion
    /// is removed. If everything was selected and no exclusion is removed, only the methods that
    /// the pattern names remain selected.
    pub fn with_included(&self, pattern: Pattern) -> Filter {
        let mut filter = self.clone();
        let is_excluded = remove(&mut filter.exclude, &pattern);
        if !(is_excluded && filter.selects_all()) {
            add(&mut filter.include, pattern);
            filter.selects_none = false;
        }
        filter
    }

    /// Returns a filter without the methods that this pattern names. An equal pattern to include is
    /// removed. If that was the last pattern to include, nothing is selected. In all other cases an
    /// exclusion is added, because another pattern to include may name the same methods.
    pub fn with_excluded(&self, pattern: Pattern) -> Filter {
        let mut filter = self.clone();
        if remove(&mut filter.include, &pattern) && filter.include.is_empty() {
            filter.selects_none = true;
        } else {
            add(&mut filter.exclude, pattern);
        }
        filter
    }

    /// Returns an exclusion that surely names classes which `pattern` names too; `None` if there is
    /// none.
    pub fn exclusion_of(&self, pattern: &Pattern) -> Option<&Pattern> {
        self.excluded().find(|exclusion| exclusion.covers(pattern))
    }

    /// Notes that all patterns have matched, except the patterns with the texts `unmatched`.
    pub fn note_matched_but(&mut self, unmatched: &[String]) {
        for it in self.include.iter_mut().chain(&mut self.exclude) {
            let text = it.pattern.text();
            it.has_matched = !unmatched.iter().any(|unmatched| unmatched == text);
        }
    }

    /// Returns whether both filters surely select the same methods of a class of this internal name.
    pub fn agrees(&self, other: &Filter, name: &[u8]) -> bool {
        let naming = |patterns: &[Tracked]| -> Vec<Pattern> {
            let all = patterns.iter().map(|it| &it.pattern);
            all.filter(|it| it.may_name(name)).cloned().collect()
        };
        if !self.class_name(name) && !other.class_name(name) {
            return true;
        }
        self.selects_none == other.selects_none
            && self.include.is_empty() == other.include.is_empty()
            && naming(&self.include) == naming(&other.include)
            && naming(&self.exclude) == naming(&other.exclude)
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

    /// Returns the patterns to include, in the order in which they were added.
    pub fn included(&self) -> impl ExactSizeIterator<Item = &Pattern> {
        self.include.iter().map(|it| &it.pattern)
    }

    /// Returns the patterns to exclude, in the order in which they were added.
    pub fn excluded(&self) -> impl ExactSizeIterator<Item = &Pattern> {
        self.exclude.iter().map(|it| &it.pattern)
    }

    /// Returns whether a class of this internal name may be selected, judged by its name. This is
    /// fast, and possible before the class is parsed.
    pub fn class_name(&self, name: &[u8]) -> bool {
        let mut include = self.include.iter();
        !self.selects_none
            && (self.include.is_empty() || include.any(|it| it.pattern.may_name(name)))
    }

    /// Returns whether a pattern to include that contains `word` may name a class
    /// of this internal name.
    pub fn has_word(&self, name: &[u8], word: &str) -> bool {
        let has = |pattern: &Pattern| pattern.text().contains(word) && pattern.may_name(name);
        self.include.iter().any(|it| has(&it.pattern))
    }

    /// Returns whether any method of `class` may be selected.
    pub fn class(&mut self, class: &ClassFile<'_>) -> bool {
        let mut is_included = self.include.is_empty() && !self.selects_none;
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
        let mut is_included = self.include.is_empty() && !self.selects_none;
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

    /// Returns the patterns that have matched nothing so far, which are probably misspelt.
    pub fn unmatched(&self) -> impl Iterator<Item = &Pattern> {
        let all = self.include.iter().chain(&self.exclude);
        all.filter(|it| !it.has_matched).map(|it| &it.pattern)
    }
}

/// Adds a pattern, unless `patterns` already has it.
fn add(patterns: &mut Vec<Tracked>, pattern: Pattern) {
    if !patterns.iter().any(|it| it.pattern == pattern) {
        patterns.push(pattern.into());
    }
}

/// Removes a pattern. Returns false if `patterns` does not have it.
fn remove(patterns: &mut Vec<Tracked>, pattern: &Pattern) -> bool {
    let before = patterns.len();
    patterns.retain(|it| it.pattern != *pattern);
    patterns.len() != before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect("the pattern is valid")
    }

    fn shown(filter: &Filter) -> String {
        let texts = |patterns: &mut dyn Iterator<Item = &Pattern>| {
            let texts: Vec<&str> = patterns.map(Pattern::text).collect();
            texts.join(" ")
        };
        let include = if filter.selects_none() {
            "none".to_owned()
        } else {
            texts(&mut filter.included())
        };
        format!("{include}|{}", texts(&mut filter.excluded()))
    }

    #[test]
    fn few_classes_are_named_without_wildcards() {
        let of =
            |texts: &[&str]| Filter::of(texts.iter().map(|text| pattern(text)).collect(), vec![]);
        for names in [&["a.B"][..], &["Hello", "a.B::c*"]] {
            assert!(of(names).names_few_classes(), "{names:?}");
        }
        for names in [
            &[][..],
            &["a.*"],
            &["a.B", "c.**"],
            &["@a.B"],
            &["B*"],
            &["a.B"; 17],
        ] {
            assert!(!of(names).names_few_classes(), "{names:?}");
        }
        assert!(Filter::none().names_few_classes());
    }

    #[test]
    fn orders_change_a_filter() {
        for (start, orders, expected) in [
            (Filter::none(), "+a.*", "a.*|"),
            (Filter::none(), "+a.* +b.* +a.* -a.*", "b.*|a.*"),
            (Filter::none(), "+a.* -a.*", "none|"),
            (Filter::none(), "-a.*", "none|a.*"),
            (Filter::none(), "+a.** -a.B -a.B +a.B", "a.** a.B|"),
            (Filter::none(), "+a.** +a.B -a.B", "a.**|a.B"),
            (Filter::none(), "+a.* -a.B +a.B -a.B", "a.*|a.B"),
            (Filter::none(), "+a.* +b.* -a.* -b.*", "none|a.*"),
            (Filter::new(), "-a.* +a.*", "|"),
            (Filter::new(), "-a.* +b.*", "b.*|a.*"),
        ] {
            let filter = orders.split(' ').fold(start, |filter, order| {
                let named = pattern(&order[1..]);
                match order.as_bytes()[0] {
                    b'+' => filter.with_included(named),
                    _ => filter.with_excluded(named),
                }
            });
            assert_eq!(shown(&filter), expected, "{orders}");
            assert_eq!(filter.class_name(b"x/Y"), expected.starts_with('|'));
        }
    }

    #[test]
    fn filters_agree_where_no_pattern_differs() {
        let first = Filter::of(vec![pattern("a.*")], vec![pattern("a.X")]);
        let second = first.with_included(pattern("b.*"));
        assert!(first.agrees(&second, b"a/B") && first.agrees(&second, b"c/D"));
        assert!(!first.agrees(&second, b"b/C") && !second.agrees(&first, b"b/C"));
        let third = second.with_excluded(pattern("b.C::run"));
        assert!(!second.agrees(&third, b"b/C") && second.agrees(&third, b"b/D"));
        assert!(!Filter::new().agrees(&Filter::none(), b"b/C"));
        assert!(Filter::none().agrees(&Filter::none().with_excluded(pattern("b.C")), b"b/C"));
        assert!(Filter::none().agrees(&first, b"b/C"));
    }

    #[test]
    fn patterns_that_have_matched_are_known() {
        let mut filter = Filter::of(vec![pattern("a.*"), pattern("b.*")], Vec::new());
        filter.note_matched_but(&["b.*".to_owned()]);
        let unmatched: Vec<&str> = filter.unmatched().map(Pattern::text).collect();
        assert_eq!(unmatched, ["b.*"]);
    }
}
