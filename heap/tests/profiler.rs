//! Tests that views leave out the profiler's own objects, and no others.

use loadhook_heap::{
    Duplicates, Graph, Histogram, LeftOut, ProfilerObjects, Threads, histogram,
    histogram_without_tracker,
};
use loadhook_testkit::dump::{LONG, OBJECT, Writer};

const TRACKER: u64 = 0x200;
const PATH: u64 = 0x210;
const PATHS: u64 = 0x220;
const THREAD: u64 = 0x230;
const HOLDER: u64 = 0x240;
const ENTRY: u64 = 0x250;
const ENTRIES: u64 = 0x260;
const MAP: u64 = 0x270;
const SHARED: u64 = 0x2_0000;
const OWN: u64 = 0x2_1000;
const PROGRAMS: u64 = 0x2_2000;
const BUFFER: u64 = 0x10_0000;

/// Writes the classes of the tracker and of threads, and `java.lang.Class`. All are roots.
fn classes(writer: &mut Writer) {
    for (id, name) in [
        (50, "java/lang/$Loadhook"),
        (51, "loadhook/Path"),
        (52, "[Lloadhook/Path;"),
        (53, "java/lang/Thread"),
        (54, "java/lang/Thread$FieldHolder"),
        (55, "java/lang/ThreadLocal$ThreadLocalMap$Entry"),
        (56, "[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;"),
        (57, "java/lang/ThreadLocal$ThreadLocalMap"),
        (60, "a"),
        (61, "b"),
    ] {
        writer.text(id, name);
    }
    for (serial, id, name) in [
        (50, TRACKER, 50),
        (51, PATH, 51),
        (52, PATHS, 52),
        (53, THREAD, 53),
        (54, HOLDER, 54),
        (55, ENTRY, 55),
        (56, ENTRIES, 56),
        (57, MAP, 57),
        (58, 0x280, 9),
    ] {
        writer.load_class(serial, id, name);
    }
    writer.class(0x280, 0, &[], &[]);
    writer.root(0x05, 0x280, &[]);
    writer.class(TRACKER, 0, &[], &[(60, 0x3000)]);
    let two = [(60, OBJECT), (61, OBJECT)];
    for id in [PATH, THREAD] {
        writer.class(id, 0, &two, &[]);
    }
    for id in [PATHS, ENTRIES] {
        writer.class(id, 0, &[], &[]);
    }
    for id in [HOLDER, ENTRY, MAP] {
        writer.class(id, 0, &[(60, OBJECT)], &[]);
    }
    for id in [TRACKER, PATH, PATHS, THREAD, HOLDER, ENTRY, ENTRIES, MAP] {
        writer.root(0x05, id, &[]);
    }
}

/// Writes an instance with one reference.
fn one(writer: &mut Writer, id: u64, class: u64, to: u64) {
    writer.instance(id, class, &to.to_be_bytes());
}

/// Writes an instance with two references.
fn two(writer: &mut Writer, id: u64, class: u64, to: [u64; 2]) {
    writer.instance(id, class, &to.map(u64::to_be_bytes).concat());
}

/// Returns a dump with a program and a tracker. The program has an array and two threads. Two of
/// the tracker's paths share an array, a third path refers to the program's array, and a thread
/// runs a path.
fn dump() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    classes(&mut writer);
    // The tracker's class refers to an array of paths. Two of the paths share the array SHARED.
    writer.array_of(0x3000, PATHS, &[0x3100, 0x3200]);
    two(&mut writer, 0x3100, PATH, [SHARED, PROGRAMS]);
    two(&mut writer, 0x3200, PATH, [SHARED, OWN]);
    writer.bytes(SHARED, &[7; 1000]);
    writer.bytes(OWN, &[7; 1000]);
    writer.bytes(PROGRAMS, &[7; 1000]);
    writer.root(0x03, PROGRAMS, &[1, 0]);
    // Two threads of the program. One has a path as its only thread-local value; the other also has
    // a value of its own.
    for (at, thread) in [0x4000, 0x5000].into_iter().enumerate() {
        two(&mut writer, thread, THREAD, [thread + 0x100, 0]);
        writer.root(0x08, thread, &[1 + at as u32, 0]);
        one(&mut writer, thread + 0x100, MAP, thread + 0x200);
        let entries = [thread + 0x300, (thread + 0x400) * at as u64];
        writer.array_of(thread + 0x200, ENTRIES, &entries);
        one(&mut writer, thread + 0x300, ENTRY, 0x3200);
        one(&mut writer, thread + 0x400, ENTRY, PROGRAMS);
    }
    // A thread of the tracker. Its task is in a `FieldHolder`, as in JDK 19 and later.
    two(&mut writer, 0x6000, THREAD, [0x6100, 0]);
    one(&mut writer, 0x6100, HOLDER, 0x3100);
    writer.root(0x08, 0x6000, &[3, 0]);
    // The agent's buffer, and an array of the program with the same length.
    let longs = vec![0; 8 << 13];
    for (id, root) in [(BUFFER, 0x01), (2 * BUFFER, 0x03)] {
        writer.primitive_array(id, LONG, 1 << 13, &longs);
        writer.root(root, id, &[0, 0]);
    }
    writer.finish()
}

fn without(dump: &[u8]) -> Graph {
    let (mut graph, _) = Graph::read(|| Ok(dump), u64::MAX).expect("the dump is readable");
    graph.leave_out_profiler().expect("there is disk space");
    graph
}

fn instances(histogram: &Histogram, class: &str) -> u64 {
    let mut classes = histogram.classes.iter();
    let found = classes.find(|count| &*count.name == class);
    found.map_or(0, |count| count.instances)
}

#[test]
fn what_only_the_profiler_keeps_is_left_out() {
    let dump = dump();
    let (all, _) = histogram(&dump[..]);
    assert_eq!(all.left_out, LeftOut::default());
    let graph = without(&dump);
    for own in [
        TRACKER, PATH, PATHS, 0x3000, 0x3100, 0x3200, SHARED, OWN, 0x4100, 0x4200, 0x4300, 0x5300,
        0x6000, 0x6100, BUFFER,
    ] {
        let object = graph.object(own).expect("the object is in the dump");
        assert!(graph.is_left_out(object), "{own:#x}");
    }
    for programs in [
        PROGRAMS,
        THREAD,
        MAP,
        0x4000,
        0x4400,
        0x5000,
        0x5100,
        0x5200,
        0x5400,
        2 * BUFFER,
    ] {
        let object = graph.object(programs).expect("the object is in the dump");
        assert!(!graph.is_left_out(object), "{programs:#x}");
    }
    let histogram = &graph.histogram;
    assert_eq!(histogram.left_out.instances, 15);
    assert_eq!(histogram.left_out.bytes, all.bytes() - histogram.bytes());
    assert_eq!(histogram.instances() + 15, all.instances());
    for (class, count) in [
        ("byte[]", 1),
        ("long[]", 1),
        ("loadhook.Path", 0),
        ("java.lang.Thread", 2),
        ("java.lang.ThreadLocal$ThreadLocalMap$Entry", 2),
    ] {
        assert_eq!(instances(histogram, class), count, "{class}");
    }
    assert!(histogram.classes.is_sorted_by(|a, b| a.bytes >= b.bytes));
}

#[test]
fn what_objects_retain_is_the_programs() {
    let dump = dump();
    let graph = without(&dump);
    let found = graph.dominators().expect("dominators are computed");
    let object = |id| graph.object(id).expect("the object is in the dump");
    assert_eq!(found.retained(object(0x3100)), None);
    assert_eq!(found.retained(object(SHARED)), None);
    assert_eq!(found.retained(object(PROGRAMS)), Some(1016));
    // Two objects are unreachable: an entry of a thread-local map, and the class of strings.
    assert_eq!(found.unreachable(), 2);
    let largest = found.largest(usize::MAX);
    assert_eq!(largest.len(), found.reachable() as usize);
    assert!(!largest.iter().any(|object| graph.is_left_out(*object)));
    assert_eq!(found.by_class().get(&PATH), None);
    // The path does not use the shorter way, which leads through the tracker.
    let way = [PROGRAMS, 0x5400, 0x5200, 0x5100, 0x5000].map(object);
    assert_eq!(found.path(object(PROGRAMS)), way);
    assert_eq!(found.path(object(0x3100)), [0; 0]);

    // If the profiler's objects are shown, the tracker retains its array.
    let (graph, _) = Graph::read(|| Ok(&dump[..]), u64::MAX).expect("the dump is readable");
    let found = graph.dominators().expect("dominators are computed");
    assert_eq!(found.unreachable(), 2);
    let own = graph.object(OWN).expect("the object is in the dump");
    assert_eq!(found.path(own).len(), 4);
}

#[test]
fn duplicates_and_threads_leave_out_the_profiler() {
    let dump = dump();
    let graph = without(&dump);
    for profiler in [
        ProfilerObjects::LeftOut(1 << 20),
        ProfilerObjects::LeftOutOf(&graph),
    ] {
        let duplicates = Duplicates::read(|| Ok(&dump[..]), 9, u64::MAX, profiler);
        let (duplicates, _) = duplicates.expect("the dump is readable");
        assert_eq!(duplicates.arrays.objects, 0);
        assert_eq!(duplicates.histogram, graph.histogram);
        let threads = Threads::read(|| Ok(&dump[..]), profiler);
        let (threads, _) = threads.expect("the dump is readable");
        let ids: Vec<u64> = threads.threads.iter().map(|thread| thread.id).collect();
        assert_eq!(ids, [0x4000, 0x5000]);
        assert_eq!(threads.histogram, graph.histogram);
    }
    let duplicates = Duplicates::read(|| Ok(&dump[..]), 9, u64::MAX, ProfilerObjects::Shown);
    // If the profiler's objects are shown, three byte arrays and two long arrays are duplicates.
    assert_eq!(
        duplicates.expect("the dump is readable").0.arrays.objects,
        5
    );
    let threads = Threads::read(|| Ok(&dump[..]), ProfilerObjects::Shown);
    assert_eq!(threads.expect("the dump is readable").0.threads.len(), 3);
}

/// Without a graph, and in a cut-off dump, only objects of the tracker's classes can be recognised
/// and left out.
#[test]
fn without_a_graph_objects_of_tracker_classes_are_left_out() {
    let dump = dump();
    let (found, outcome) = histogram_without_tracker(&dump[..]);
    outcome.expect("the dump is complete");
    // The objects left out are two paths, the array of paths, and three classes.
    assert_eq!(found.left_out.instances, 6);
    assert_eq!(instances(&found, "loadhook.Path[]"), 0);
    assert_eq!(instances(&found, "byte[]"), 3);
    let cut = without(&dump[..dump.len() - 9 - (8 << 13)]);
    let shared = cut.object(SHARED).expect("the object is in the dump");
    assert!(!cut.is_left_out(shared));
    let path = cut.object(0x3100).expect("the object is in the dump");
    assert!(cut.is_left_out(path));
}

#[test]
fn a_dump_without_tracker_is_as_it_was() {
    let mut writer = Writer::new();
    writer.pair(0x1000, 0, 0);
    writer.root(0x03, 0x1000, &[1, 0]);
    let dump = writer.finish();
    let graph = without(&dump);
    assert_eq!(graph.histogram, histogram(&dump[..]).0);
    assert_eq!(histogram_without_tracker(&dump[..]).0, graph.histogram);
}
