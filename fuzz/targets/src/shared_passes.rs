//! Compares two ways to read the views of a dump: all views in four shared passes, and each view by
//! its own reader.

use std::cell::Cell;

use loadhook_heap::{
    Details, Duplicates, Field, Graph, ProfilerObjects, SharedPasses, Thread, Threads, ViewRequest,
};

/// Maximum number of fields that are read of each object, and maximum number of duplicates.
const FEW: usize = 5;

/// Memory limit for the hashes of arrays.
const MEMORY: u64 = 1 << 30;

/// Checks that the shared passes give the same views as the single readers. `data` is a dump that
/// can be read as `graph`.
pub(crate) fn shared_passes(data: &[u8], graph: &Graph, memory: u64, pairs: &[(u32, u32)]) {
    let objects: Vec<u32> = (0..graph.len()).take(64).collect();
    let opened = Cell::new(0);
    let open = || {
        opened.set(opened.get() + 1);
        Ok(data)
    };
    let read = SharedPasses::read(open, memory, true);
    let (shared, cut_off) = read.expect("the single reader could read the dump");
    assert_eq!(cut_off.is_some(), graph.is_cut_off());
    assert_eq!(shared.graph.histogram, graph.histogram);
    let request = ViewRequest {
        objects: &objects,
        most_fields: FEW,
        pairs,
        duplicates: FEW,
        memory: MEMORY,
    };
    // With this memory limit, the shared passes move the whole graph from memory to a file.
    shared
        .give_back_memory(u64::MAX)
        .expect("there is disk space");
    let views = shared.views(open, &request);
    let views = views.expect("the single reader could read the dump");
    assert_eq!(opened.get(), 4);
    shared.graph.check().expect("there is disk space");

    let details = graph.details(data, &objects, FEW, pairs);
    let details = details.expect("the single reader could read the dump");
    assert_eq!(views.details.previews, details.previews);
    assert_eq!(views.details.reference_names, details.reference_names);
    assert_eq!(fields(&views.details, &objects), fields(&details, &objects));

    let duplicates = Duplicates::read(|| Ok(data), FEW, MEMORY, ProfilerObjects::Shown);
    let (duplicates, _) = duplicates.expect("the single reader could read the dump");
    assert_eq!(views.duplicates.strings, duplicates.strings);
    assert_eq!(views.duplicates.arrays, duplicates.arrays);
    assert_eq!(views.duplicates.partial_strings, duplicates.partial_strings);
    assert_eq!(views.duplicates.worst, duplicates.worst);

    let threads = Threads::read(|| Ok(data), ProfilerObjects::Shown);
    let (threads, _) = threads.expect("the single reader could read the dump");
    same_threads(views.threads.threads, threads.threads);
}

/// Returns the fields of each object, with the numbers of the objects that these fields refer to.
fn fields(details: &Details, objects: &[u32]) -> Vec<Option<(Vec<Field>, u64)>> {
    let fields = objects.iter().map(|object| details.fields.get(object));
    fields
        .map(|fields| fields.map(|fields| (fields.first.clone(), fields.count)))
        .collect()
}

/// Checks that both ways give the same threads, except for names that are missing. The shared passes find the array of
/// a thread's name in the graph; the other reader finds the array by the fields of the name's string. The two arrays
/// may differ if the class of strings has further reference fields, or if two objects have the same identifier.
fn same_threads(mut shared: Vec<Thread>, mut single: Vec<Thread>) {
    for threads in [&mut shared, &mut single] {
        threads.sort_by_key(|thread| thread.serial);
    }
    assert_eq!(shared.len(), single.len());
    for (shared, single) in shared.iter_mut().zip(&single) {
        if shared.name.is_empty() {
            shared.name.clone_from(&single.name);
        }
        assert_eq!(shared, single);
    }
}
