//! Counts the methods that are instrumented and, by reason, the methods that are not instrumented.

use std::collections::BTreeMap;

use loadhook_instrument::NotInstrumented;
use loadhook_rewrite::{ClassFile, symbol};

/// The maximum number of methods that the option `explain` lists.
const MOST_EXPLAINED: usize = 100_000;

/// Numbers of instrumented and other methods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) classes: u64,
    pub(crate) instrumented: u64,
    /// Number of methods that are not instrumented, by reason.
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    /// The methods that are not instrumented, each as `reason: class.method descriptor`. Empty
    /// without `explain`.
    pub(crate) explained: Vec<String>,
    /// Number of methods that `explained` does not list, because it was full.
    pub(crate) unexplained: u64,
}

impl Tally {
    pub(super) fn explain(&mut self, names: Vec<String>) {
        let room = MOST_EXPLAINED.saturating_sub(self.explained.len());
        self.unexplained += names.len().saturating_sub(room) as u64;
        self.explained.extend(names.into_iter().take(room));
    }

    /// Returns a line for each method that is not instrumented, and a last line with the number of methods that are not
    /// listed, if there are any.
    pub(crate) fn into_explained(self) -> Vec<String> {
        let mut lines = self.explained;
        if self.unexplained > 0 {
            lines.push(format!(
                "{} more methods were not instrumented; they are not listed",
                self.unexplained
            ));
        }
        lines
    }
}

/// Returns the methods of a class that are not instrumented, as `reason: class.method`.
pub(super) fn explain<'r>(
    not_instrumented: impl Iterator<Item = NotInstrumented<'r>>,
    bytes: &[u8],
) -> Vec<String> {
    let mut names = Vec::new();
    let mut not_instrumented = not_instrumented.peekable();
    if not_instrumented.peek().is_none() {
        return names;
    }
    let Ok(class) = ClassFile::parse(bytes) else {
        return names;
    };
    let methods: Vec<_> = class.methods().collect();
    for it in not_instrumented {
        if let Some(method) = methods.get(usize::from(it.method)) {
            names.push(format!(
                "{}: {}.{}{}",
                it.word(),
                symbol::java_name(class.name()),
                symbol::text(method.name()),
                symbol::text(method.descriptor()),
            ));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_cut_says_so() {
        let names = |count: usize| vec![String::new(); count];
        let mut tally = Tally::default();
        tally.explain(names(MOST_EXPLAINED - 1));
        tally.explain(names(1));
        assert_eq!(tally.clone().into_explained().len(), MOST_EXPLAINED);
        tally.explain(names(2));
        tally.explain(names(5));
        let lines = tally.into_explained();
        let last = lines.last().map(String::as_str);
        assert_eq!(
            last,
            Some("7 more methods were not instrumented; they are not listed")
        );
        assert_eq!(lines.len(), MOST_EXPLAINED + 1);
    }
}
