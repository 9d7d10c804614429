//! Kinds of class loaders: loaders that have the same class and the same name are of one kind.
//!
//! Copies of a class in loaders of one kind share their ids. A program that gives each loader a different name, such as
//! `plugin-1`, `plugin-2`, would make kinds without end. So after the loaders of many kinds whose names differ only in
//! numbers have been collected, all further such loaders are of one kind, `plugin-#`.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_text::count;

use super::numbered_names::without_numbers;

/// Kinds whose names differ only in numbers have one pattern. When all loaders of this many kinds with one pattern have
/// been collected, further loaders with this pattern share one kind.
pub(crate) const MOST_GONE: u32 = 256;

/// The maximum number of kinds. After that, loaders of new kinds share one more kind, whatever their names are.
const MOST: usize = 1 << 15;

/// The name of the kind for loaders beyond [`MOST`].
const OTHERS: &str = "(other loaders)";

/// Class and name of a loader. A loader without a name has the name of its class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    class: Arc<str>,
    name: Arc<str>,
}

struct Kind {
    name: Arc<str>,
    /// True if the kind stands for several names.
    is_folded: bool,
    /// The pattern of the name; `None` if the kind is folded or was counted in [`LoaderKinds::gone`].
    pattern: Option<Key>,
    /// The number of live loaders.
    alive: u32,
}

/// The kinds seen so far.
pub(crate) struct LoaderKinds {
    all: Vec<Kind>,
    numbers: HashMap<Key, u32>,
    /// The number of kinds with collected loaders only, by pattern.
    gone: HashMap<Key, u32>,
    /// Number of loaders of folded kinds.
    folded: u64,
}

impl LoaderKinds {
    /// Makes the table with the kinds of the loaders that every JVM has. `common` are their names.
    pub(crate) fn new(common: &[&str]) -> Self {
        let common = common.iter().map(|name| Kind {
            name: Arc::from(*name),
            is_folded: false,
            pattern: None,
            alive: 1,
        });
        LoaderKinds {
            all: common.collect(),
            numbers: HashMap::new(),
            gone: HashMap::new(),
            folded: 0,
        }
    }

    /// Adds a loader with this class and name. Returns the number of its kind.
    pub(crate) fn add_loader(&mut self, class: &str, name: &str) -> u32 {
        let key = |name: &str| Key {
            class: class.into(),
            name: name.into(),
        };
        let own = key(name);
        let number = self.numbers.get(&own).copied().unwrap_or_else(|| {
            let pattern = key(&without_numbers(name));
            let is_one = self
                .gone
                .get(&pattern)
                .is_some_and(|gone| *gone >= MOST_GONE);
            if is_one {
                self.number(pattern, None)
            } else if self.all.len() < MOST {
                self.number(own, Some(pattern))
            } else {
                let others = Key {
                    class: OTHERS.into(),
                    name: OTHERS.into(),
                };
                self.number(others, None)
            }
        });
        if let Some(kind) = self.all.get_mut(number as usize) {
            kind.alive += 1;
            self.folded += u64::from(kind.is_folded);
        }
        number
    }

    fn number(&mut self, key: Key, pattern: Option<Key>) -> u32 {
        let all = &mut self.all;
        *self.numbers.entry(key).or_insert_with_key(|key| {
            all.push(Kind {
                name: key.name.clone(),
                is_folded: pattern.is_none(),
                pattern,
                alive: 0,
            });
            all.len() as u32 - 1
        })
    }

    /// Removes a loader of this kind, because another thread has already added the same loader.
    pub(crate) fn discard_loader(&mut self, number: u32) {
        if let Some(kind) = self.all.get(number as usize) {
            self.folded -= u64::from(kind.is_folded);
        }
        self.remove_loader(number);
    }

    /// Removes a collected loader of this kind.
    pub(crate) fn remove_loader(&mut self, number: u32) {
        let Some(kind) = self.all.get_mut(number as usize) else {
            return;
        };
        kind.alive = kind.alive.saturating_sub(1);
        // `take` makes sure that each kind is counted only once.
        if kind.alive == 0
            && let Some(pattern) = kind.pattern.take()
        {
            *self.gone.entry(pattern).or_default() += 1;
        }
    }

    /// Returns a note for the profile if loaders were folded.
    pub(crate) fn note(&self) -> Option<String> {
        (self.folded > 0).then(|| {
            format!(
                "{} class loaders that come and go share names (# stands for the numbers in them), \
                 because {MOST_GONE} loaders of such a name had been collected",
                count(self.folded)
            )
        })
    }

    /// Returns the name that all loaders of a kind share.
    pub(crate) fn name(&self, number: u32) -> Option<Arc<str>> {
        Some(self.all.get(number as usize)?.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kinds: &LoaderKinds, number: u32) -> String {
        kinds.name(number).expect("the kind exists").to_string()
    }

    #[test]
    fn loaders_of_one_class_and_name_are_of_one_kind() {
        let mut kinds = LoaderKinds::new(&["", "platform", "app"]);
        let one = kinds.add_loader("a.Loader", "plugins");
        assert_eq!(kinds.add_loader("a.Loader", "plugins"), one);
        let others = [("a.Loader", "tools"), ("a.Other", "plugins")];
        let others = others.map(|(class, name)| kinds.add_loader(class, name));
        assert!(one > 2 && others[0] != others[1] && !others.contains(&one));
        assert_eq!(named(&kinds, others[1]), "plugins");
    }

    #[test]
    fn loaders_that_come_and_go_are_folded() {
        let mut kinds = LoaderKinds::new(&["", "platform", "app"]);
        let kept = kinds.add_loader("L", "plugin-x1");
        for number in 0..10_000 {
            let kind = kinds.add_loader("L", &format!("plugin-x{}", number + 2));
            kinds.remove_loader(kind);
            assert_eq!(
                named(&kinds, kind) == "plugin-x#",
                number >= MOST_GONE,
                "{number}"
            );
        }
        assert_eq!(kinds.all.len(), 3 + 1 + MOST_GONE as usize + 1);
        assert_eq!(
            kinds.add_loader("L", "plugin-x1"),
            kept,
            "a live loader keeps its kind"
        );
        let note = kinds.note().expect("there is a note");
        assert!(note.starts_with("9,744 class loaders"), "{note}");
        let other = kinds.add_loader("Other", "plugin-x20000");
        assert_eq!(named(&kinds, other), "plugin-x20000");
    }

    #[test]
    fn a_discarded_loader_leaves_no_trace() {
        let mut kinds = LoaderKinds::new(&[]);
        let kept = kinds.add_loader("L", "x1");
        kinds.add_loader("L", "x1");
        kinds.discard_loader(kept);
        assert_eq!(kinds.all[kept as usize].alive, 1);
        kinds.remove_loader(kept);
        assert_eq!(
            kinds.gone.values().sum::<u32>(),
            1,
            "the kind has collected loaders only"
        );
        for number in 1..=MOST_GONE {
            let kind = kinds.add_loader("L", &format!("x{}", number + 1));
            kinds.discard_loader(kind);
        }
        assert_eq!(kinds.note(), None);
        let folded = kinds.add_loader("L", "x1000");
        assert!(kinds.note().is_some());
        kinds.discard_loader(folded);
        assert_eq!(kinds.note(), None);
    }

    #[test]
    fn kinds_have_a_limit() {
        let mut kinds = LoaderKinds::new(&[]);
        for number in 0..2 * MOST {
            let letters = format!("{number:x}").replace(|c: char| c.is_ascii_digit(), "zz");
            kinds.add_loader(&format!("{letters}{number}"), "n");
        }
        assert_eq!(kinds.all.len(), MOST + 1);
        assert_eq!(named(&kinds, MOST as u32), OTHERS);
    }
}
