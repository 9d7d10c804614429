//! Compares the heap dump that the agent's walk writes with the one that the JVM itself writes.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::Path;

use loadhook_heap::{Graph, histogram};
use loadhook_hprof::{Root, RootKind};

use crate::WALK;
use crate::common::held::{Held, dump, names};
use crate::common::{done, folder, mode};
use crate::dump_in_memory::Dump;

/// Number and bytes of the instances of each class.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

pub(crate) fn counts(file: &Path) -> Counts {
    let (histogram, outcome) = histogram(File::open(file).expect("the test file can be opened"));
    outcome.expect("the dump is complete");
    let mut counts = Counts::new();
    for class in histogram.classes {
        let count = counts.entry(class.name.to_string()).or_default();
        *count = (count.0 + class.instances, count.1 + class.bytes);
    }
    counts
}

/// Returns the frames of each thread, by the thread's serial number. A frame is class, method and line.
fn stacks(dump: &Dump, file: &Path) -> HashMap<u32, Vec<(String, String, i32)>> {
    let bytes = fs::read(file).expect("the test file can be read");
    let u4 = |bytes: &[u8], at: usize| {
        u32::from_be_bytes(
            bytes[at..at + 4]
                .try_into()
                .expect("the slice has four bytes"),
        )
    };
    let id = |bytes: &[u8], at: usize| {
        u64::from_be_bytes(
            bytes[at..at + 8]
                .try_into()
                .expect("the slice has eight bytes"),
        )
    };
    let mut frames = HashMap::new();
    let mut stacks = HashMap::new();
    let mut rest = &bytes[31..];
    while let Some(tag) = rest.first() {
        let (body, after) = rest[9..].split_at(u4(rest, 5) as usize);
        if *tag == 0x04 {
            let class = dump.serials[&u4(body, 32)];
            let method = dump.names[&id(body, 8)].clone();
            let line = u4(body, 36).cast_signed();
            frames.insert(id(body, 0), (dump.name(class).to_owned(), method, line));
        } else if *tag == 0x05 {
            let ids = (0..u4(body, 8) as usize).map(|at| id(body, 12 + 8 * at));
            stacks.insert(u4(body, 4), ids.map(|id| frames[&id].clone()).collect());
        }
        rest = after;
    }
    stacks
}

/// Finds the stack frame whose variable refers to the only object of a class. Returns class, method and line.
fn variable(file: &Path, class: &str) -> (String, String, i32) {
    let dump = Dump::of(file);
    let objects = dump.instances(class);
    assert_eq!(objects.len(), 1, "{class}");
    let is = |root: &&Root| root.id == objects[0] && root.kind == RootKind::JavaFrame;
    let root = dump
        .roots
        .iter()
        .find(is)
        .expect("a variable refers to the object");
    let stacks = stacks(&dump, file);
    let thread = dump
        .roots
        .iter()
        .find(|other| other.kind == RootKind::ThreadObject && other.thread == root.thread);
    let thread = thread.expect("the thread is a root");
    assert!(dump.objects.contains_key(&thread.id));
    stacks[&root.thread][root.frame as usize].clone()
}

/// Returns whether the walk may miss objects of a class. It misses objects that only class objects
/// or hidden threads of the JVM keep alive, and classes that are only in the JDK's CDS archive.
fn may_differ(class: &str) -> bool {
    class.starts_with("java.lang.Class")
        || class.starts_with("java.lang.Thread")
        || class.starts_with("java.lang.reflect.")
        || class.starts_with("jdk.internal.")
        || [
            "byte[]",
            "int[]",
            "java.lang.Object[]",
            "java.lang.Object",
            "java.lang.String",
            "java.lang.String[]",
            "java.lang.ref.SoftReference",
            "java.security.AccessControlContext",
            // The CDS archive contains this class, but the program has not initialised it.
            "java.util.jar.Attributes$Name",
            "sun.util.locale.BaseLocale",
        ]
        .contains(&class)
}

const CHAIN: &str = "heap.Walked$Chain";

fn same_counts(feature: u32, options: &[&str], vm: &Path, walk: &Path) {
    let (theirs, ours) = (counts(vm), counts(walk));
    let mut own = 0;
    for class in theirs.keys().chain(ours.keys()) {
        own += u32::from(class.starts_with("heap."));
        assert!(
            theirs.get(class) == ours.get(class) || may_differ(class),
            "JDK {feature} {options:?}: {class}: {:?} found by the JVM's own dump, {:?} by the walk",
            theirs.get(class),
            ours.get(class)
        );
    }
    assert!(own >= 10, "{own}");
    // Some objects may differ, but only few compared to all objects of the program.
    for class in ["byte[]", "java.lang.String"] {
        let [theirs, ours] = [theirs[class].0, ours[class].0];
        assert!(
            theirs.abs_diff(ours) < 100,
            "{class}: {theirs} objects in the JVM's own dump, {ours} in that of the walk"
        );
    }
}

/// Compares every field and every array element that can be reached from the program's own static
/// fields.
fn same_values(feature: u32, options: &[&str], vm: &Path, walk: &Path) {
    for class in [
        "Walked",
        "Walked$Derived",
        "Walked$Base",
        "Walked$Above",
        "Walked$Below",
        "Walked$Colour",
    ] {
        let class = format!("heap/{class}");
        let [theirs, ours] = [vm, walk].map(|file| Dump::of(file).reached(&class));
        let differs = theirs.lines().zip(ours.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{feature} {options:?}: {class}");
        assert_eq!(theirs.lines().count(), ours.lines().count(), "{class}");
    }
}

/// Returns the retained sizes of the objects of a class, and the references on the path to the
/// largest of them.
fn retained(file: &Path, class: &str) -> (Vec<Option<u64>>, Vec<String>) {
    let (graph, _) = Graph::read(|| File::open(file), u64::MAX).expect("the dump is readable");
    let found = graph.dominators().expect("dominators are computed");
    let retained = graph
        .objects_of_class(class)
        .map(|object| found.retained(object));
    let largest = graph
        .objects_of_class(class)
        .max_by_key(|object| found.retained(*object));
    let path = found.path(largest.expect("the class has an object"));
    let links = graph
        .reference_names(
            File::open(file).expect("the test file can be opened"),
            &path,
        )
        .expect("the dump is readable");
    let mut retained: Vec<_> = retained.collect();
    retained.sort();
    (retained, links)
}

fn same_retained_sizes(vm: &Path, walk: &Path) {
    let (ours, theirs) = (retained(walk, CHAIN), retained(vm, CHAIN));
    let mut both = ours.0.iter().zip(&theirs.0);
    assert_eq!(both.find(|(ours, theirs)| ours != theirs), None);
    assert_eq!((ours.0.len(), theirs.0.len()), (300, 300));
    // The first step of the path is the same. Later steps may differ, because JVM TI reports more
    // references than the JVM's own dump contains.
    assert_eq!((&*ours.1[0], &*theirs.1[0]), ("chain", "chain"));
}

fn agrees(feature: u32, options: &[&str]) {
    let folder = folder();
    let jvm = Held::program(feature, options, &["heap.Walked"]);
    let [vm, walk] = ["vm", "walk"].map(|name| folder.path().join(name));
    let result = done(&mut dump(folder.path(), &jvm.pid(), "vm", &[]));
    result.expect(0, "", &["heap dump: vm ("]);
    let result = done(&mut dump(folder.path(), &jvm.pid(), "walk", WALK));
    let said = [" objects; tagging them takes about ", "heap dump: walk ("];
    result.expect(0, "", &said);
    assert_eq!(
        (mode(&walk), names(folder.path())),
        (0o600, vec!["vm".to_owned(), "walk".to_owned()])
    );

    same_counts(feature, options, &vm, &walk);
    same_values(feature, options, &vm, &walk);
    same_retained_sizes(&vm, &walk);
    let ours = variable(&walk, "heap/Walked$Local");
    assert_eq!(ours, variable(&vm, "heap/Walked$Local"));
    assert_eq!((&*ours.0, &*ours.1), ("heap/Walked", "waiting"));
    assert!(ours.2 > 0, "{ours:?}");
    jvm.ends_well();
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_11() {
    agrees(11, &["-XX:+UseSerialGC"]);
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_17() {
    agrees(17, &["-XX:+UseParallelGC"]);
    agrees(17, &["-XX:-UseCompressedOops", "-XX:+UseG1GC"]);
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_21() {
    agrees(21, &["-XX:+UseG1GC"]);
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_25() {
    agrees(25, &["-XX:+UseZGC"]);
    agrees(25, &["-XX:+UseCompactObjectHeaders", "-XX:+UseSerialGC"]);
}
