//! Notes about effects of the order `include` that its sender may not expect.

use crate::filter::Filter;
use crate::pattern::Pattern;

/// Returns notes for the sender of an order that has included the patterns `included`. The order
/// has changed the filter from `old` to `new`.
pub fn notes_on_inclusion(old: &Filter, new: &Filter, included: &[Pattern]) -> Vec<String> {
    let mut notes = Vec::new();
    if old.selects_all() && !new.selects_all() {
        notes.push(
            "until now all classes but the JDK's were included, and now only the classes of this order are; to include all again, detach the agent, then attach again"
                .to_owned(),
        );
    }
    for pattern in included {
        if let Some(exclusion) = new.exclusion_of(pattern) {
            let (pattern, exclusion) = (pattern.text(), exclusion.text());
            notes.push(format!(
                "{pattern} stays excluded, because {exclusion} is excluded; include {exclusion} to remove this exclusion, then exclude the other classes again"
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &str) -> Vec<Pattern> {
        Pattern::parse_list(list).expect("the patterns are valid")
    }

    #[test]
    fn notes_tell_of_what_is_not_watched() {
        for (start, excluded, included, expected) in [
            (
                Filter::none(),
                "a.**",
                "a.B",
                Some("a.B stays excluded, because a.** is excluded; "),
            ),
            (
                Filter::none(),
                "Foo*",
                "a.Foo::run",
                Some("a.Foo::run stays excluded, because Foo* is excluded; "),
            ),
            (Filter::none(), "a.B::run", "a.B", None),
            (Filter::none(), "a.B", "a.**", None),
            (Filter::none(), "@a.B", "a.B,@a.C", None),
            (Filter::new(), "x.Y", "a.B", Some("until now all classes ")),
            (Filter::new(), "x.Y", "x.Y", None),
        ] {
            let old = patterns(excluded)
                .into_iter()
                .fold(start, |filter, it| filter.with_excluded(it));
            let included = patterns(included);
            let new = included
                .iter()
                .fold(old.clone(), |filter, it| filter.with_included(it.clone()));
            let notes = notes_on_inclusion(&old, &new, &included);
            match expected {
                Some(expected) => assert!(
                    notes.len() == 1 && notes[0].starts_with(expected),
                    "{notes:?}"
                ),
                None => assert!(notes.is_empty(), "{notes:?}"),
            }
        }
    }
}
