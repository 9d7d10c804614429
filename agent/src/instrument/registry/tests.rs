//! Tests of ids: which classes share them, and which ids they have in later agents.

use super::*;

const GREETER: &[u8] = include_bytes!("../../../../rewrite/doc/Greeter.class");

fn loader(number: u32, kind: u32) -> Loader {
    Loader { number, kind }
}

fn define(registry: &Registry, loader: Loader, bytes: &[u8]) -> Entry {
    let class = ClassFile::parse(bytes).expect("the bytes are a class");
    let (entry, _) = registry.entry(loader, &class).expect("the class gets ids");
    let symbol = |m: Member<'_, '_>| Symbol::of(entry.id(m.index()), &m);
    registry.define(entry, class.methods().map(symbol).collect());
    entry
}

/// Makes the class with another name of the same length.
fn named(digits: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(GREETER);
    assert!(text.contains("Greeter"));
    let mut bytes = GREETER.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(7).position(|w| w == b"Greeter") {
        at += found;
        bytes[at..at + 7].copy_from_slice(digits.as_bytes());
    }
    bytes
}

/// A class that is loaded a thousand times has ids once for each kind of loader, also after
/// loaders are collected.
#[test]
fn copies_of_a_class_share_their_ids() {
    let registry = Registry::new();
    for _ in 0..2 {
        for number in 3..1003 {
            define(&registry, loader(number, 3 + number % 2), GREETER);
        }
    }
    for number in 1003..3003 {
        define(&registry, loader(number, 3), GREETER);
        registry.forget(number);
    }
    let classes = registry.classes();
    let found: Vec<_> = classes
        .iter()
        .map(|c| (c.loader.number, c.latest, c.loaders))
        .collect();
    assert_eq!(found, [(3, 1001, 500), (4, 3002, 2500)]);
    let all = || classes.iter().flat_map(|class| &class.methods);
    let ids: HashSet<u32> = all().map(|method| method.id).collect();
    assert_eq!(ids.len(), all().count());
    assert_eq!(
        classes[0].name.as_ptr(),
        classes[1].name.as_ptr(),
        "names are shared"
    );
}

#[test]
fn a_method_leads_to_its_class() {
    let registry = Registry::new();
    assert!(registry.class_of(0).is_none());
    let first = define(&registry, loader(3, 3), GREETER);
    let second = define(&registry, loader(4, 4), &named("Gretels"));
    let class_of = |entry: Entry, method| registry.class_of(entry.id(method));
    for (entry, name) in [(first, "Greeter"), (second, "Gretels")] {
        for method in [0, 2] {
            let class = class_of(entry, method).expect("the class is known");
            assert_eq!((&*class.name, class.is_folded), (name, false));
        }
    }
}

/// A class keeps its ids in later agents, and no other class gets them. Copies that had different ids still have
/// different ones.
#[test]
fn a_class_has_the_same_ids_in_later_agents() {
    let first = Registry::new();
    let gone = define(&first, loader(2, 2), &named("Gretels"));
    let here = [3, 4].map(|number| define(&first, loader(number, number), GREETER).id(0));
    let mut past = first.past();
    for _ in 0..3 {
        let later = Registry::after(past);
        let new = define(&later, loader(9, 9), &named("Grettir"));
        let again = [5, 6].map(|number| define(&later, loader(number, number), GREETER).id(0));
        assert_eq!(HashSet::from(again), HashSet::from(here));
        assert!(new.id(0) > here[1], "the id is that of no other class");
        let class = later.class_of(here[0]).expect("the class is known");
        assert_eq!(&*class.name, "Greeter");
        past = later.past();
    }
    let last = Registry::after(past);
    assert_eq!(
        define(&last, loader(2, 2), &named("Gretels")).id(0),
        gone.id(0)
    );
}

/// A copy that another agent changes later keeps its ids. A copy that was changed before it was
/// loaded counts as another class.
#[test]
fn changed_bytes_are_another_class_in_another_loader_only() {
    let mut changed = GREETER.to_vec();
    let at = changed
        .windows(4)
        .position(|w| w == b"Code")
        .expect("the class has the attribute");
    changed[at..at + 4].copy_from_slice(b"Kode");
    let registry = Registry::new();
    let first = define(&registry, loader(3, 3), GREETER);
    let second = define(&registry, loader(4, 3), GREETER);
    let retransformed = define(&registry, loader(4, 3), &changed);
    let other = define(&registry, loader(5, 3), &changed);
    assert_eq!(first.id(0), second.id(0));
    assert_eq!(first.id(0), retransformed.id(0));
    assert_ne!(first.id(0), other.id(0));
    let (known, _) = registry.known(4, b"Greeter").expect("the class is known");
    assert_eq!(known, loader(3, 3));
    assert!(registry.known(6, b"Greeter").is_none());
    registry.forget(4);
    assert!(registry.known(4, b"Greeter").is_none());
}

/// Each loader has a class whose name no other class has. After many of these classes are unloaded, further classes
/// share ids.
#[test]
fn generated_classes_are_folded() {
    let registry = Registry::new();
    for number in 3..5000 {
        define(
            &registry,
            loader(number, 3),
            &named(&format!("G{number:06}")),
        );
        registry.forget(number);
    }
    let classes = registry.classes();
    let most = crate::instrument::loader_kinds::MOST_GONE as usize;
    assert_eq!(classes.len(), most + 1);
    let last = &classes[most];
    assert_eq!((&*last.name, last.loaders as usize), ("G#", 4997 - most));
    assert_eq!(classes[0].methods.len(), last.methods.len());
    let notes = registry.notes();
    assert!(
        notes.len() == 1 && notes[0].starts_with("4,741 classes"),
        "{notes:?}"
    );
}
