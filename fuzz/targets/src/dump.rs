//! Target `dump`: reads arbitrary bytes as a heap dump.

use std::cell::Cell;
use std::collections::BTreeSet;

use loadhook_heap::{
    Dominators, Duplicate, Duplicates, Error, Graph, Histogram, ProfilerObjects, Thread, Threads,
    Waste, histogram,
};
use loadhook_hprof::{Visitor, read};

use crate::contents::contents;
use crate::shared_passes::shared_passes;

/// Maximum number of objects in a graph whose dominators are also computed by a simple, slow method.
const FEW: u32 = 64;

/// A visitor that requests contents and ignores them.
struct WithContents;

impl Visitor for WithContents {
    fn wants_contents(&self) -> bool {
        true
    }
}

/// Reads `data` as a dump with every reader. Returns whether the dump could be read as a graph.
///
/// # Panics
/// When the reader violates an invariant.
pub fn dump(data: &[u8]) -> bool {
    contents(data);
    let (counts, outcome) = histogram(data);
    let with_contents = read(data, &mut WithContents);
    // Only a reader that hands out contents fails if an object is longer than its buffer, so compare
    // only if both readers succeed.
    if let (Ok(()), Ok(bytes)) = (&outcome, &with_contents) {
        assert_eq!(counts.dump_bytes, *bytes);
    }
    let fault = outcome.as_ref().err();
    let whole = Whole {
        counts: &counts,
        fault,
        with_contents: with_contents.err(),
    };
    duplicates(data, &whole);
    threads(data, &whole);
    if !data.starts_with(&[0x1f, 0x8b]) {
        ends(data, fault);
    }
    let opened = Cell::new(0);
    let open = || {
        opened.set(opened.get() + 1);
        Ok(data)
    };
    let graph = match Graph::read(open, memory(data)) {
        Ok((graph, cut_off)) => {
            assert!(cut_off.is_none_or(|error| error.is_truncated()));
            graph
        }
        Err(error) => {
            assert!(!error.is_truncated(), "{error}");
            return false;
        }
    };
    assert_eq!(opened.get(), 2);
    let found = graph.dominators().expect("dominators are computed");
    adds_up(&graph, &found);
    if graph.len() <= FEW {
        simply(&graph, &found);
    }
    let mut longest = Vec::new();
    for object in (0..graph.len()).take(FEW as usize) {
        let path = found.path(object);
        assert_eq!(path.is_empty(), found.retained(object).is_none());
        assert!(path.last().is_none_or(|root| graph.root(*root).is_some()));
        for pair in path.windows(2) {
            assert!(graph.references(pair[1]).contains(&pair[0]));
        }
        assert_eq!(graph.object(graph.id(object)), Some(object));
        if path.len() > longest.len() {
            longest = path;
        }
    }
    let links = graph
        .reference_names(data, &longest)
        .expect("the first pass could read the dump");
    assert_eq!(links.len(), longest.len().saturating_sub(1));
    page(data, &graph, &found);
    graph.check().expect("there is disk space");
    left_out(graph);
    true
}

/// Checks that the data for the HTML page agree with the functions that answer a single question.
fn page(data: &[u8], graph: &Graph, found: &Dominators) {
    let paths = graph.shortest_paths().expect("shortest paths are computed");
    let objects: Vec<u32> = (0..graph.len()).take(FEW as usize).collect();
    let referrers = graph.referrers(&objects, 3);
    let mut pairs = Vec::new();
    for (object, (first, count)) in objects.iter().zip(&referrers) {
        assert_eq!(
            paths.root(*object).is_some(),
            found.retained(*object).is_some()
        );
        assert!(
            paths
                .previous(*object)
                .is_none_or(|from| graph.references(from).contains(object))
        );
        assert!(first.len() <= 3 && first.len() as u64 <= *count);
        assert!(
            first
                .iter()
                .all(|from| graph.references(*from).contains(object))
        );
        pairs.extend(first.iter().map(|from| (*from, *object)));
    }
    shared_passes(data, graph, memory(data), &pairs);
    let details = graph.details(data, &objects, 5, &pairs);
    let details = details.expect("the first pass could read the dump");
    for fields in details.fields.values() {
        assert!(fields.first.len() <= 5 && fields.first.len() as u64 <= fields.count);
    }
    for suspect in found.suspects(&paths) {
        assert!(suspect.retained > 0 && suspect.count >= suspect.objects.len() as u64);
        if suspect.count == 1 {
            let is_below = |pair: &[u32]| found.dominator(pair[1]) == Some(pair[0]);
            assert!(suspect.path_down.windows(2).all(is_below));
        }
    }
}

/// Checks that the profiler's own objects and all others together are the objects of the dump.
fn left_out(mut graph: Graph) {
    let all = graph.histogram.instances();
    graph.leave_out_profiler().expect("there is disk space");
    let histogram = &graph.histogram;
    assert_eq!(histogram.instances() + histogram.left_out.instances, all);
    let found = graph.dominators().expect("dominators are computed");
    let largest = found.largest(usize::MAX);
    assert!(!largest.iter().any(|object| graph.is_left_out(*object)));
    graph.check().expect("there is disk space");
}

/// Chooses the memory limit for the graph by bytes of the input: 0 bytes, little or much, up to 16 MB.
fn memory(data: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = data.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    (sum >> 8 & 0xff_ffff) >> (sum >> 59)
}

/// The histogram of a dump, and the faults of reading it with and without contents.
struct Whole<'d> {
    counts: &'d Histogram,
    fault: Option<&'d Error>,
    with_contents: Option<Error>,
}

impl Whole<'_> {
    /// Checks that `read`, the result of another reader, has the same fault as this one. Returns
    /// the value that the other reader read.
    fn agrees<T>(&self, read: Result<(T, Option<Error>), Error>) -> Option<T> {
        let told = |error: &Error| (error.at, error.to_string());
        let (read, cut_off) = match read {
            Ok(read) => read,
            Err(error) => {
                let known = [self.fault, self.with_contents.as_ref()];
                let is_known = |known: &&Error| told(known) == told(&error);
                assert!(!error.is_truncated(), "{error}");
                assert!(known.iter().flatten().any(is_known), "{error}");
                return None;
            }
        };
        assert_eq!(cut_off.as_ref().map(told), self.fault.map(told));
        assert!(cut_off.is_none_or(|error| error.is_truncated()));
        Some(read)
    }
}

/// Checks that the sums of the rows of duplicates equal their totals.
fn duplicates(data: &[u8], whole: &Whole) {
    let read = |top| Duplicates::read(|| Ok(data), top, 1 << 30, ProfilerObjects::Shown);
    let Some(all) = whole.agrees(read(usize::MAX)) else {
        return;
    };
    assert_eq!(all.histogram, *whole.counts);
    assert!(all.worst.is_sorted_by(|a, b| a.wasted >= b.wasted));
    for (is_string, waste) in [(true, all.strings), (false, all.arrays)] {
        let rows = || all.worst.iter().filter(|row| row.is_string == is_string);
        let sum = |of: fn(&Duplicate) -> u64| rows().map(of).sum();
        let expected = Waste {
            values: rows().count() as u64,
            objects: sum(|row| row.count),
            bytes: sum(|row| row.wasted),
        };
        assert_eq!(waste, expected);
    }
    for row in &all.worst {
        let most = (row.count - 1) * row.bytes;
        assert!(row.count > 1 && row.wasted <= most, "{row:?}");
        // Several strings may share one array, so the waste is exact only for arrays.
        assert!(row.is_string || row.wasted == most, "{row:?}");
    }
    let few = whole
        .agrees(read(2))
        .expect("the first pass could read the dump");
    assert_eq!(few.worst[..], all.worst[..all.worst.len().min(2)]);
}

/// Checks that threads are sorted, and that a frame lists each object once.
fn threads(data: &[u8], whole: &Whole) {
    let Some(all) = whole.agrees(Threads::read(|| Ok(data), ProfilerObjects::Shown)) else {
        return;
    };
    assert_eq!(all.histogram, *whole.counts);
    let is_before = |a: &Thread, b: &Thread| (&a.name, a.serial) < (&b.name, b.serial);
    assert!(all.threads.is_sorted_by(is_before));
    for thread in &all.threads {
        let of_frames = thread.frames.iter().map(|frame| &frame.locals);
        for locals in of_frames.chain([&thread.locals]) {
            let once: BTreeSet<u64> = locals.iter().map(|local| local.id).collect();
            assert_eq!(once.len(), locals.len());
        }
    }
}

/// Checks that a dump is reported as truncated if it is cut off anywhere before its fault.
fn ends(data: &[u8], fault: Option<&Error>) {
    let fault = fault.filter(|fault| !fault.is_truncated());
    let at = fault.map_or(data.len() as u64, |fault| fault.at);
    assert!(
        at <= data.len() as u64,
        "the fault is after the end of the file"
    );
    let at = at as usize;
    // Begin after the header (31 bytes): shorter files have other errors.
    for length in [31, at / 2, at.saturating_sub(9), at.saturating_sub(1), at] {
        if (31..=at).contains(&length)
            && let Err(error) = histogram(&data[..length]).1
            && !error.is_truncated()
        {
            let fault = fault.expect("a cut-off dump has an error");
            assert_eq!((error.at, error.to_string()), (fault.at, fault.to_string()));
        }
    }
}

/// Checks that every reachable object has one dominator, and that retained sizes add up.
fn adds_up(graph: &Graph, found: &Dominators) {
    let (mut kept, mut bytes, mut by_roots) = (0, 0_u64, 0_u64);
    for object in 0..graph.len() {
        let Some(retained) = found.retained(object) else {
            assert_eq!(found.dominator(object), None);
            assert_eq!(graph.root(object), None);
            continue;
        };
        kept += 1;
        bytes += graph.size(object);
        match found.dominator(object) {
            None => by_roots += retained,
            Some(above) => {
                let least = retained + graph.size(above);
                assert!(found.retained(above).is_some_and(|above| above >= least));
            }
        }
    }
    assert_eq!((kept, bytes), (found.reachable(), by_roots));
    let largest = found.largest(usize::MAX);
    assert_eq!(largest.len(), kept as usize);
    let sizes: Vec<_> = largest
        .iter()
        .map(|object| found.retained(*object))
        .collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b));
    let by_class = found.by_class().into_values();
    assert!(by_class.max().unwrap_or(0) >= sizes.first().copied().flatten().unwrap_or(0));
}

/// Returns for each object whether it is reachable from the roots if the object `without` is removed.
fn reached(graph: &Graph, without: Option<u32>) -> Vec<bool> {
    let mut reached = vec![false; graph.len() as usize];
    let is_root = |object: &u32| graph.root(*object).is_some();
    let mut left: Vec<u32> = (0..graph.len()).filter(is_root).collect();
    while let Some(object) = left.pop() {
        if Some(object) != without && !std::mem::replace(&mut reached[object as usize], true) {
            left.extend(graph.references(object));
        }
    }
    reached
}

/// Compares dominators with the definition: an object retains exactly the objects that become
/// unreachable without it.
fn simply(graph: &Graph, found: &Dominators) {
    let all = reached(graph, None);
    for object in 0..graph.len() {
        let without = reached(graph, Some(object));
        let gone = (0..graph.len()).filter(|it| all[*it as usize] && !without[*it as usize]);
        let bytes: u64 = gone.map(|it| graph.size(it)).sum();
        let expected = all[object as usize].then_some(bytes);
        assert_eq!(found.retained(object), expected, "{:#x}", graph.id(object));
    }
}
