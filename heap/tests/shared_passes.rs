//! Tests that the views made in four shared passes are equal to the views that are read one by one.

use std::cell::Cell;
use std::io;

use loadhook_heap::{
    BYTES_OF_HASHES, Details, Duplicates, Field, Graph, ProfilerObjects, SharedPasses, Threads,
    ViewRequest,
};
use loadhook_testkit::dump::{OBJECT, PAIR, Writer};

const THREAD: u64 = 0x140;
const TRACKER: u64 = 0x200;

/// Returns a dump with pairs, equal strings and arrays, and a thread with a name and a variable.
fn dump() -> Vec<u8> {
    written().finish()
}

fn written() -> Writer {
    let mut writer = Writer::new();
    writer.strings();
    for (id, text) in [(40, "java/lang/Thread"), (41, "name"), (42, "run")] {
        writer.text(id, text);
    }
    writer.load_class(40, THREAD, 40);
    writer.class(THREAD, 0, &[(41, OBJECT)], &[]);
    writer.frame(50, 42, 0, 40, 7);
    writer.stack(2, 1, &[50]);
    writer.instance(0x3000, THREAD, &0x3010_u64.to_be_bytes());
    writer.string(0x3010, 0x3020, 0);
    writer.bytes(0x3020, b"worker");
    writer.root(0x08, 0x3000, &[1, 2]);
    writer.root(0x03, 0x3030, &[1, 0]);
    writer.string(0x3030, 0x3040, 0);
    writer.bytes(0x3040, b"equal");
    writer.string(0x3050, 0x3060, 0);
    writer.bytes(0x3060, b"equal");
    writer.pair(0x4000, 0x4020, 0x3050);
    writer.pair(0x4020, 0, 0x3000);
    writer.object_array(0x4040, &[0x4000, 0x4020]);
    writer.root(0x05, 0x4040, &[]);
    for id in [0x5000, 0x5020, 0x5040] {
        writer.bytes(id, &[1, 2, 3]);
    }
    writer
}

/// Returns the dump of [`dump`] with a tracker in addition, which has an equal string, an equal
/// array, and a thread.
fn dump_with_tracker() -> Vec<u8> {
    let mut writer = written();
    writer.text(60, "java/lang/$Loadhook");
    writer.text(61, "paths");
    writer.load_class(60, TRACKER, 60);
    writer.class(TRACKER, 0, &[], &[(61, 0x7000)]);
    writer.root(0x05, TRACKER, &[]);
    writer.object_array(0x7000, &[0x7100, 0x7140, 0x7200]);
    writer.string(0x7100, 0x7120, 0);
    writer.bytes(0x7120, b"equal");
    writer.bytes(0x7140, &[1, 2, 3]);
    writer.instance(0x7200, THREAD, &0x7100_u64.to_be_bytes());
    writer.finish()
}

/// Returns the details of these objects, as values that can be compared.
fn fields(details: &Details, objects: &[u32]) -> Vec<Option<(Vec<Field>, u64)>> {
    let fields = objects.iter().map(|object| details.fields.get(object));
    fields
        .map(|fields| fields.map(|fields| (fields.first.clone(), fields.count)))
        .collect()
}

#[test]
fn all_views_take_four_passes() {
    let dump = dump();
    let passes = Cell::new(0);
    let open = || {
        passes.set(passes.get() + 1);
        io::Result::Ok(&dump[..])
    };
    let (shared, cut_off) = SharedPasses::read(open, 1 << 20, false).expect("the dump is readable");
    assert!(cut_off.is_none());
    let graph = &shared.graph;
    let objects: Vec<u32> = (0..graph.len()).collect();
    let pair = [0x4000, 0x4020].map(|id| graph.object(id).expect("the object is in the dump"));
    let pairs = [(pair[0], pair[1])];
    let request = ViewRequest {
        objects: &objects,
        most_fields: 10,
        pairs: &pairs,
        duplicates: 10,
        memory: 1 << 20,
    };
    let views = shared
        .views(open, &request)
        .expect("the first passes could read the dump");
    assert_eq!(passes.get(), 4);

    let one = || io::Result::Ok(&dump[..]);
    let (threads, _) =
        Threads::read(one, ProfilerObjects::LeftOut(1 << 20)).expect("the dump is readable");
    assert_eq!(views.threads.threads, threads.threads);
    let thread = &threads.threads[0];
    assert_eq!((&*thread.name, thread.frames.len()), ("worker", 1));
    let local = thread.frames[0].locals[0].preview.as_ref();
    assert_eq!(local.map(|preview| &*preview.text), Some("equal"));

    let hidden = ProfilerObjects::LeftOut(1 << 20);
    let (duplicates, _) = Duplicates::read(one, 10, 1 << 20, hidden).expect("the dump is readable");
    assert_eq!(views.duplicates.worst, duplicates.worst);
    assert_eq!(views.duplicates.worst.len(), 2);
    assert_eq!(views.duplicates.strings, duplicates.strings);
    assert_eq!(views.duplicates.arrays, duplicates.arrays);
    assert_eq!(views.duplicates.partial_strings, duplicates.partial_strings);

    let (alone, _) = Graph::read(one, 1 << 20).expect("the dump is readable");
    let details = alone.details(&dump[..], &objects, 10, &pairs);
    let details = details.expect("the dump is complete");
    assert_eq!(views.details.previews, details.previews);
    assert_eq!(views.details.reference_names, details.reference_names);
    assert_eq!(views.details.reference_names[&pairs[0]], "left");
    let class = graph.object(PAIR).expect("the object is in the dump");
    assert_eq!(details.fields[&class].count, 0);
    assert_eq!(fields(&views.details, &objects), fields(&details, &objects));
    graph.check().expect("there is disk space");
}

#[test]
fn a_dump_that_is_cut_off_anywhere_is_read_as_far_as_it_goes() {
    let dump = dump();
    for length in (31..dump.len()).step_by(3) {
        let open = || io::Result::Ok(&dump[..length]);
        let (shared, cut_off) =
            SharedPasses::read(open, 1 << 20, true).expect("the dump is readable");
        assert!(cut_off.is_some_and(|error| error.is_truncated()));
        let objects: Vec<u32> = (0..shared.graph.len()).collect();
        let request = ViewRequest {
            objects: &objects,
            most_fields: 10,
            pairs: &[],
            duplicates: 10,
            memory: 1 << 20,
        };
        let views = shared
            .views(open, &request)
            .expect("the part before the cut is readable");
        let (threads, _) =
            Threads::read(open, ProfilerObjects::Shown).expect("the dump is readable");
        assert_eq!(views.threads.threads, threads.threads, "{length}");
        let (duplicates, _) = Duplicates::read(open, 10, 1 << 20, ProfilerObjects::Shown)
            .expect("the dump is readable");
        assert_eq!(views.duplicates.worst, duplicates.worst, "{length}");
        let (alone, _) = Graph::read(open, 1 << 20).expect("the dump is readable");
        let details = alone.details(&dump[..length], &objects, 10, &[]);
        let details = details.expect("the part before the cut is readable");
        assert_eq!(views.details.previews, details.previews, "{length}");
        let all = [&views.details, &details].map(|details| fields(details, &objects));
        assert_eq!(all[0], all[1], "{length}");
    }
}

#[test]
fn the_trackers_objects_are_left_out_of_all_views() {
    let dump = dump_with_tracker();
    let open = || io::Result::Ok(&dump[..]);
    for shows_profiler in [false, true] {
        let (shared, _) =
            SharedPasses::read(open, 1 << 20, shows_profiler).expect("the dump is readable");
        let request = ViewRequest {
            objects: &[],
            most_fields: 10,
            pairs: &[],
            duplicates: 10,
            memory: 1 << 20,
        };
        let views = shared.views(open, &request).expect("the dump is complete");
        let profiler = || match shows_profiler {
            true => ProfilerObjects::Shown,
            false => ProfilerObjects::LeftOut(1 << 20),
        };
        let (duplicates, _) =
            Duplicates::read(open, 10, 1 << 20, profiler()).expect("the dump is readable");
        assert_eq!(views.duplicates.worst, duplicates.worst);
        assert_eq!(views.duplicates.strings, duplicates.strings);
        assert_eq!(views.duplicates.arrays, duplicates.arrays);
        let more = u64::from(shows_profiler);
        assert_eq!(duplicates.strings.objects, 2 + more);
        assert_eq!(duplicates.arrays.objects, 3 + more);
        let left_out = shared.graph.histogram.left_out.instances;
        assert_eq!(left_out > 0, !shows_profiler);
        let (threads, _) = Threads::read(open, profiler()).expect("the dump is readable");
        assert_eq!(views.threads.threads, threads.threads);
    }
}

/// The views are the same if the graph is in a file instead of memory.
#[test]
fn memory_for_hashes_comes_from_the_graph() {
    let mut writer = written();
    for at in 0..100_000 {
        writer.pair(0x10_0000 + 32 * at, 0, 0x3050);
    }
    let dump = writer.finish();
    let open = || io::Result::Ok(&dump[..]);
    let (shared, _) = SharedPasses::read(open, 1 << 30, false).expect("the dump is readable");
    // Seven arrays of 40 bytes and three strings of 8 bytes.
    let arrays = 7 * 40 + 3 * 8;
    assert_eq!(shared.bytes_of_hashes(), arrays);
    shared
        .give_back_memory(u64::MAX)
        .expect("there is disk space");
    let objects: Vec<u32> = (0..20).collect();
    let request = ViewRequest {
        objects: &objects,
        most_fields: 10,
        pairs: &[],
        duplicates: 10,
        memory: arrays,
    };
    let views = shared.views(open, &request).expect("there is disk space");
    assert_eq!(views.threads.threads[0].name, "worker");
    assert_eq!(views.duplicates.worst.len(), 2);
    shared.graph.check().expect("there is disk space");
    let request = ViewRequest {
        memory: arrays - 1,
        ..request
    };
    let error = shared
        .views(open, &request)
        .err()
        .expect("the hashes do not fit into memory");
    let text = error.to_string();
    assert!(text.contains(BYTES_OF_HASHES), "{text}");
}
