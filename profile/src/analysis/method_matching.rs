//! Matches the same method in several profiles.

use std::collections::{HashMap, HashSet};

use crate::model::Method;

/// The key of a method across profiles: loader, class, name, descriptor.
pub(crate) type Key<'p> = (&'p str, &'p str, &'p str, &'p str);

/// The keys of methods across profiles, independent of the order in which class loaders were
/// created. Loaders of one name have ordinals in that order, `plugins` and `plugins#2`, and the
/// order may differ from run to run. So the ordinal is part of the key only if one of the profiles
/// has the class in several loaders of that name.
pub(crate) struct Matching<'p> {
    /// The loader names without ordinal, with the class, for which the ordinal is part of the key.
    several: HashSet<(&'p str, &'p str)>,
}

impl<'p> Matching<'p> {
    pub(crate) fn of(lists: impl Iterator<Item = &'p [Method]>) -> Matching<'p> {
        let mut several = HashSet::new();
        for methods in lists {
            let mut loaders: HashMap<(&str, &str), &str> = HashMap::new();
            for method in methods {
                let class = (without_ordinal(&method.loader), &*method.class);
                let loader = loaders.entry(class).or_insert(&method.loader);
                if **loader != *method.loader {
                    several.insert(class);
                }
            }
        }
        Matching { several }
    }

    pub(crate) fn key(&self, method: &'p Method) -> Key<'p> {
        let (loader, class, name, descriptor) = method.key();
        let short = without_ordinal(loader);
        if self.several.contains(&(short, class)) {
            (loader, class, name, descriptor)
        } else {
            (short, class, name, descriptor)
        }
    }
}

fn without_ordinal(loader: &str) -> &str {
    let is_ordinal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match loader.rsplit_once('#') {
        Some((name, ordinal)) if is_ordinal(ordinal) => name,
        _ => loader,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::diff::methods::compare;
    use crate::analysis::options::Options;
    use crate::merge;
    use crate::model::{Node, Profile, ThreadKind, ThreadTree};

    /// Returns a profile of these methods; the first has one call, the second two, and so on.
    fn profile(methods: &[(&str, &str)]) -> Profile {
        let methods: Vec<Method> = methods
            .iter()
            .map(|(loader, class)| Method {
                loader: (*loader).into(),
                ..Method::new(class, "run", "()V")
            })
            .collect();
        let node = |(method, _)| Node {
            method,
            calls: u64::from(method) + 1,
            ..Node::default()
        };
        let nodes = (0..).zip(&methods).map(node).collect();
        Profile {
            threads: vec![ThreadTree {
                name: "main".into(),
                id: Some(1),
                kind: ThreadKind::Platform,
                cpu_ns: None,
                nodes,
            }],
            methods,
            ..Profile::default()
        }
    }

    fn merged(profiles: &[Profile]) -> Vec<(String, String, u64)> {
        let merged = merge(profiles).expect("the profiles can be merged");
        let mut calls: Vec<(String, String, u64)> = Vec::new();
        for node in &merged.threads[0].nodes {
            let method = &merged.methods[node.method as usize];
            calls.push((
                method.class.to_string(),
                method.loader.to_string(),
                node.calls,
            ));
        }
        calls.sort();
        calls
    }

    fn expect(profiles: &[Profile], expected: &[(&str, &str, u64)]) {
        let own = |(class, loader, calls): &(&str, &str, u64)| {
            ((*class).to_owned(), (*loader).to_owned(), *calls)
        };
        let expected: Vec<_> = expected.iter().map(own).collect();
        assert_eq!(merged(profiles), expected);
    }

    #[test]
    fn methods_match_in_any_order_of_loaders() {
        let a = profile(&[("plugins", "a.A"), ("plugins#2", "b.B")]);
        let b = profile(&[("plugins#2", "a.A"), ("plugins", "b.B")]);
        let both = [a, b];
        expect(&both, &[("a.A", "plugins", 2), ("b.B", "plugins#2", 4)]);
        let [a, b] = &both;
        let sides = [a, b].map(std::slice::from_ref);
        let changes = compare(sides, &Options::default())
            .expect("the profiles can be merged")
            .changes;
        let changed: Vec<&str> = changes
            .iter()
            .filter(|change| change.calls() != 0)
            .map(|change| &*change.name)
            .collect();
        assert!(changes.len() == 2 && changed.is_empty(), "{changed:?}");
    }

    #[test]
    fn a_class_of_several_loaders_is_known_by_its_loader() {
        let one = profile(&[("plugins", "a.A"), ("other", "a.A")]);
        let two = profile(&[("plugins", "a.A"), ("plugins#2", "a.A")]);
        expect(
            &[one, two],
            &[
                ("a.A", "other", 2),
                ("a.A", "plugins", 2),
                ("a.A", "plugins#2", 2),
            ],
        );
        // The `#` in these names does not begin an ordinal.
        let names = [("x#y", "a.A"), ("x#", "a.A"), ("x", "a.A")];
        let all = profile(&names);
        expect(
            &[all.clone(), all],
            &[("a.A", "x", 6), ("a.A", "x#", 4), ("a.A", "x#y", 2)],
        );
    }
}
