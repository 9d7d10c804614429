//! Target `made`: builds a dump from the bytes of the input, reads it, and compares the result with
//! the objects that were written. Then it changes bytes of the dump and reads it again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use loadhook_heap::{ErrorKind, Graph, histogram};

use crate::dump::dump;

/// The bytes of the input, taken one by one for each decision; zeros after the last byte.
struct Choices<'d>(&'d [u8]);

impl Choices<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, most: usize) -> usize {
        usize::from(self.next()) % most
    }

    fn is(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pair,
    Objects,
    Longs,
}

/// The heap dump that was built from the input.
struct Made {
    kinds: Vec<Kind>,
    edges: Vec<Vec<usize>>,
    roots: BTreeSet<usize>,
    /// Objects whose only roots are variables of threads.
    variables: BTreeSet<usize>,
    /// True if the dump ends with a HEAP_DUMP_END record.
    has_end: bool,
    /// The uncompressed bytes of the dump.
    bytes: Vec<u8>,
}

const PAIR: u64 = 0x100;
const OBJECTS: u64 = 0x110;

/// Builds a dump from `data` and reads it.
///
/// # Panics
/// When the reader violates an invariant.
pub fn made(data: &[u8]) {
    let mut choices = Choices(data);
    let packing = [choices.next(), choices.next()];
    let memory = if choices.is() { 0 } else { u64::MAX };
    let made = make(&mut choices);
    let bytes = packed(&made.bytes, packing);
    agrees(&made, &bytes, memory);
    // A dump without segments has no end record, so the reader cannot notice that it was cut off.
    // One gzip member has a checksum at its end, so there the cut is noticed.
    if made.has_end || packing[0] % 3 == 1 {
        let missing = 1 + (choices.below(256) << 8 | choices.below(256)) % bytes.len();
        for missing in [missing, missing % 8 + 1] {
            is_cut_off(&bytes[..bytes.len() - missing]);
        }
    }
    let mut other = made.bytes;
    if choices.is() {
        other.truncate(other.len() * usize::from(choices.next()) / 255);
    }
    while !choices.0.is_empty() && !other.is_empty() {
        let at = (choices.below(256) << 8 | choices.below(256)) % other.len();
        other[at] = choices.next();
    }
    let mut other = packed(&other, packing);
    if data.len().is_multiple_of(3) {
        other.truncate(other.len() - other.len() / 7);
    }
    dump(&other);
}

/// Checks that a file that ends too soon is refused or reported as truncated.
fn is_cut_off(bytes: &[u8]) {
    let error = histogram(bytes).1.expect_err("the dump is cut off");
    let is_none = matches!(error.kind, ErrorKind::Empty | ErrorKind::NotADump);
    assert!(error.is_truncated() || is_none, "{error}");
}

/// Returns the bytes uncompressed, as one gzip member, or as several.
fn packed(bytes: &[u8], [way, length]: [u8; 2]) -> Vec<u8> {
    let length = match way % 3 {
        0 => return bytes.to_vec(),
        1 => usize::MAX,
        _ => 40 + usize::from(length),
    };
    let pack = |bytes: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer
            .write_all(bytes)
            .expect("writing to memory cannot fail");
        packer.finish().expect("writing to memory cannot fail")
    };
    bytes.chunks(length).flat_map(pack).collect()
}

fn address(object: usize) -> u64 {
    0x1000 + 0x40 * object as u64
}

/// Writes a dump whose identifiers have 4 or 8 bytes.
struct Writer {
    is_wide: bool,
    /// True for heap segments with an end record, false for one heap record without an end record.
    has_segments: bool,
    bytes: Vec<u8>,
    heap: Vec<u8>,
}

impl Writer {
    fn id(&self, id: u64) -> Vec<u8> {
        match self.is_wide {
            true => id.to_be_bytes().to_vec(),
            false => (id as u32).to_be_bytes().to_vec(),
        }
    }

    fn record(&mut self, tag: u8, parts: &[&[u8]]) {
        let body = parts.concat();
        self.bytes.extend([tag, 0, 0, 0, 0]);
        self.bytes.extend((body.len() as u32).to_be_bytes());
        self.bytes.extend(body);
    }

    fn heap(&mut self, tag: u8, parts: &[&[u8]]) {
        self.heap.push(tag);
        self.heap.extend(parts.concat());
    }

    fn class(&mut self, serial: u8, id: u64, name: (u64, &str), fields: &[u8]) {
        let [id, text] = [id, name.0].map(|id| self.id(id));
        self.record(1, &[&text, name.1.as_bytes()]);
        self.record(2, &[&[0, 0, 0, serial], &id, &[0; 4], &text]);
        let rest = [0; 6 * 8];
        let rest = &rest[..6 * id.len()];
        let count = [0, (fields.len()) as u8];
        let name = self.id(3);
        let fields: Vec<u8> = fields
            .iter()
            .flat_map(|of| [&name[..], &[*of]].concat())
            .collect();
        self.heap(
            0x20,
            &[&id, &[0; 4], rest, &[0; 4], &[0; 4], &count, &fields],
        );
        self.heap(5, &[&id]);
    }

    fn segment(&mut self) {
        let heap = std::mem::take(&mut self.heap);
        self.record(if self.has_segments { 0x1c } else { 0x0c }, &[&heap]);
    }
}

/// Writes up to three roots.
fn roots(choices: &mut Choices, writer: &mut Writer, made: &mut Made) {
    let count = made.edges.len();
    let mut others = BTreeSet::new();
    for _ in 0..choices.below(4) {
        let root = choices.below(count);
        let (tag, rest) = [(0xff, 0), (3, 8), (4, 4), (6, 4), (8, 8)][choices.below(5)];
        writer.heap(tag, &[&writer.id(address(root)), &[0; 8][..rest]]);
        made.roots.insert(root);
        match tag {
            0xff => false,
            3 => made.variables.insert(root),
            _ => others.insert(root),
        };
    }
    made.variables.retain(|root| !others.contains(root));
}

/// Writes an object of any kind. Its references are null or refer to any objects.
fn write_object(choices: &mut Choices, writer: &mut Writer, object: usize, made: &mut Made) {
    let count = made.edges.len();
    let kind = [Kind::Pair, Kind::Objects, Kind::Longs][choices.below(3)];
    let length = match kind {
        Kind::Pair => 2,
        _ => choices.below(5),
    };
    let mut to = Vec::new();
    if kind != Kind::Longs {
        to.resize_with(length, || choices.below(count + 2));
    }
    let references: Vec<Vec<u8>> = to
        .iter()
        .map(|to| writer.id(if *to < count { address(*to) } else { 0 }))
        .collect();
    let head = [&writer.id(address(object))[..], &[0; 4]].concat();
    let length = [0, 0, 0, length as u8];
    let [pair, objects] = [PAIR, OBJECTS].map(|id| writer.id(id));
    match kind {
        Kind::Pair => {
            let [left, right] = [&references[0][..], &references[1]];
            let bytes = [0, 0, 0, 4 + 2 * left.len() as u8];
            writer.heap(0x21, &[&head, &pair, &bytes, left, &[9; 4], right]);
        }
        Kind::Objects => {
            writer.heap(0x22, &[&head, &length, &objects, &references.concat()]);
        }
        Kind::Longs => {
            let values = [7; 5 * 8];
            writer.heap(
                0x23,
                &[&head, &length, &[11], &values[..8 * usize::from(length[3])]],
            );
        }
    }
    made.kinds.push(kind);
    to.retain(|to| *to < count);
    made.edges[object] = to;
}

fn make(choices: &mut Choices) -> Made {
    let has_segments = !choices.is();
    let is_wide = !choices.is();
    let magic: &[u8] = match has_segments {
        true => b"JAVA PROFILE 1.0.2\0",
        false => b"JAVA PROFILE 1.0.1\0",
    };
    let id_size = if is_wide { 8 } else { 4 };
    let mut writer = Writer {
        is_wide,
        has_segments,
        bytes: [magic, &[0, 0, 0, id_size], &[0; 8]].concat(),
        heap: Vec::new(),
    };
    writer.record(1, &[&writer.id(3), b"field"]);
    writer.class(1, PAIR, (1, "test/Pair"), &[2, 10, 2]);
    writer.class(2, OBJECTS, (2, "[Ljava/lang/Object;"), &[]);
    let count = 1 + choices.below(24);
    let mut made = Made {
        kinds: Vec::new(),
        edges: vec![Vec::new(); count],
        roots: BTreeSet::new(),
        variables: BTreeSet::new(),
        has_end: has_segments,
        bytes: Vec::new(),
    };
    roots(choices, &mut writer, &mut made);
    let is_upwards = choices.is();
    for n in 0..count {
        if choices.below(4) == 0 && writer.has_segments {
            writer.segment();
        }
        let object = if is_upwards { n } else { count - 1 - n };
        write_object(choices, &mut writer, object, &mut made);
    }
    writer.segment();
    if has_segments {
        writer.record(0x2c, &[]);
    }
    made.bytes = writer.bytes;
    made
}

/// Returns the objects that are reachable from the roots if the object `without` is removed, each with
/// the least number of steps.
fn reached(made: &Made, roots: &BTreeSet<usize>, without: Option<usize>) -> BTreeMap<usize, usize> {
    let mut reached = BTreeMap::new();
    let mut next = roots.clone();
    for step in 1.. {
        next.retain(|object| Some(*object) != without && !reached.contains_key(object));
        if next.is_empty() {
            break;
        }
        reached.extend(next.iter().map(|object| (*object, step)));
        next = next
            .iter()
            .flat_map(|object| &made.edges[*object])
            .copied()
            .collect();
    }
    reached
}

/// Asserts that the reader finds the objects that were written.
fn agrees(made: &Made, bytes: &[u8], memory: u64) {
    let (counts, outcome) = histogram(bytes);
    outcome.expect("the dump is complete");
    for (kind, name) in [
        (Kind::Pair, "test.Pair"),
        (Kind::Objects, "java.lang.Object[]"),
        (Kind::Longs, "long[]"),
    ] {
        let ours = made.kinds.iter().filter(|it| **it == kind).count() as u64;
        let class = counts.classes.iter().find(|class| &*class.name == name);
        assert_eq!(class.map_or(0, |class| class.instances), ours, "{name}");
    }
    assert_eq!(counts.instances(), made.kinds.len() as u64);
    let (graph, cut_off) = Graph::read(|| Ok(bytes), memory).expect("the dump is readable");
    assert!(cut_off.is_none());
    let found = graph.dominators().expect("dominators are computed");
    let object = |n: usize| graph.object(address(n)).expect("the object is in the dump");
    let count = made.kinds.len();
    let all: u64 = (0..count).map(|n| graph.size(object(n))).sum();
    assert_eq!(counts.bytes(), all);
    let kept = reached(made, &made.roots, None);
    let ways = reached(made, &(&made.roots - &made.variables), None);
    // The graph also has the two class objects, which are roots.
    assert_eq!(found.reachable() as usize, kept.len() + 2);
    let without: Vec<_> = (0..count)
        .map(|n| reached(made, &made.roots, Some(n)))
        .collect();
    let dominates = |above: usize, n: usize| !without[above].contains_key(&n);
    for n in 0..count {
        if !kept.contains_key(&n) {
            assert_eq!(found.retained(object(n)), None);
            continue;
        }
        let gone = kept.keys().filter(|it| dominates(n, **it));
        let bytes = gone.map(|it| graph.size(object(*it))).sum();
        assert_eq!(found.retained(object(n)), Some(bytes));
        // The immediate dominator: the only dominator that all other dominators dominate.
        let above: Vec<usize> = kept
            .keys()
            .copied()
            .filter(|it| *it != n && dominates(*it, n))
            .collect();
        let nearest = above
            .iter()
            .find(|it| above.iter().all(|other| dominates(*other, **it)));
        assert_eq!(found.dominator(object(n)), nearest.map(|n| object(*n)));
        // The path ends at a thread's variable only if there is no other root.
        let steps = ways.get(&n).unwrap_or(&kept[&n]);
        assert_eq!(found.path(object(n)).len(), *steps);
    }
}
