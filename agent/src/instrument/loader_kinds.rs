//! Kinds of class loaders: those of one class and one name.
//!
//! Copies of a class in loaders of one kind share their ids. Programs that give
//! each loader a name of its own, `plugin-1`, `plugin-2` and on, would make
//! kinds without end: when many of one pattern are gone, further loaders are of
//! the kind that the pattern names, `plugin-#`.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_text::count;

use crate::instrument::numbered_names::without_numbers;

/// Kinds of one pattern whose loaders are gone, from which on further ones are one.
pub(crate) const MOST_GONE: u32 = 256;

/// Kinds in all; further loaders are of one more, whatever they are called.
const MOST: usize = 1 << 15;

/// The kind of the loaders for which there is no other.
const OTHERS: &str = "(other loaders)";

/// Class and name of a loader. A loader without a name is called as its class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    class: Arc<str>,
    name: Arc<str>,
}

struct Kind {
    name: Arc<str>,
    /// True if it stands for several names.
    is_folded: bool,
    /// `None` if it does, or was counted among those that are gone.
    pattern: Option<Key>,
    /// Loaders that are there.
    alive: u32,
}

/// The kinds seen so far; the first ones are given, one of a loader each.
pub(crate) struct Kinds {
    all: Vec<Kind>,
    numbers: HashMap<Key, u32>,
    /// Kinds of a pattern whose loaders are gone.
    gone: HashMap<Key, u32>,
    folded: u64,
}

impl Kinds {
    pub(crate) fn new(given: &[&str]) -> Self {
        let given = given.iter().map(|name| Kind {
            name: Arc::from(*name),
            is_folded: false,
            pattern: None,
            alive: 1,
        });
        Kinds {
            all: given.collect(),
            numbers: HashMap::new(),
            gone: HashMap::new(),
            folded: 0,
        }
    }

    /// The kind of a further loader of this class and name.
    pub(crate) fn of(&mut self, class: &str, name: &str) -> u32 {
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
            match is_one {
                true => self.number(pattern, None),
                false if self.all.len() < MOST => self.number(own, Some(pattern)),
                false => {
                    let others = Key {
                        class: OTHERS.into(),
                        name: OTHERS.into(),
                    };
                    self.number(others, None)
                }
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

    /// A loader of this kind is gone.
    pub(crate) fn forget(&mut self, number: u32) {
        let Some(kind) = self.all.get_mut(number as usize) else {
            return;
        };
        kind.alive = kind.alive.saturating_sub(1);
        // Each kind counts once.
        if kind.alive == 0
            && let Some(pattern) = kind.pattern.take()
        {
            *self.gone.entry(pattern).or_default() += 1;
        }
    }

    /// A note for the profile, if loaders were folded.
    pub(crate) fn note(&self) -> Option<String> {
        (self.folded > 0).then(|| {
            format!(
                "{} class loaders that come and go are called with # for the numbers in their \
                 names: {MOST_GONE} like each were gone before",
                count(self.folded)
            )
        })
    }

    /// The name of a kind's loaders.
    pub(crate) fn name(&self, number: u32) -> Option<Arc<str>> {
        Some(self.all.get(number as usize)?.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kinds: &Kinds, number: u32) -> String {
        kinds.name(number).expect("a kind").to_string()
    }

    #[test]
    fn loaders_of_one_class_and_name_are_of_one_kind() {
        let mut kinds = Kinds::new(&["", "platform", "app"]);
        let one = kinds.of("a.Loader", "plugins");
        assert_eq!(kinds.of("a.Loader", "plugins"), one);
        let others = [("a.Loader", "tools"), ("a.Other", "plugins")];
        let others = others.map(|(class, name)| kinds.of(class, name));
        assert!(one > 2 && others[0] != others[1] && !others.contains(&one));
        assert_eq!(named(&kinds, others[1]), "plugins");
    }

    #[test]
    fn names_that_come_and_go_are_one() {
        let mut kinds = Kinds::new(&["", "platform", "app"]);
        let kept = kinds.of("L", "plugin-x1");
        for number in 0..10_000 {
            let kind = kinds.of("L", &format!("plugin-x{}", number + 2));
            kinds.forget(kind);
            assert_eq!(
                named(&kinds, kind) == "plugin-x#",
                number >= MOST_GONE,
                "{number}"
            );
        }
        assert_eq!(kinds.all.len(), 3 + 1 + MOST_GONE as usize + 1);
        assert_eq!(kinds.of("L", "plugin-x1"), kept, "it is there");
        let note = kinds.note().expect("a note");
        assert!(note.starts_with("9,744 class loaders"), "{note}");
        let other = kinds.of("Other", "plugin-x20000");
        assert_eq!(named(&kinds, other), "plugin-x20000");
    }

    #[test]
    fn kinds_have_a_limit() {
        let mut kinds = Kinds::new(&[]);
        for number in 0..2 * MOST {
            let letters = format!("{number:x}").replace(|c: char| c.is_ascii_digit(), "zz");
            kinds.of(&format!("{letters}{number}"), "n");
        }
        assert_eq!(kinds.all.len(), MOST + 1);
        assert_eq!(named(&kinds, MOST as u32), OTHERS);
    }
}
