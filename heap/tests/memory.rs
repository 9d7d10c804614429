//! Tests that hostile dumps cannot make the reader take much memory.

use std::io::{self, Read};

use loadhook_heap::{Graph, histogram};
use loadhook_testkit::process;

/// A reader of a dump whose parts are generated while they are read.
struct Parts<I> {
    parts: I,
    part: Vec<u8>,
    at: usize,
}

impl<I: Iterator<Item = Vec<u8>>> Read for Parts<I> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.at == self.part.len() {
            let Some(part) = self.parts.next() else {
                return Ok(0);
            };
            self.part = part;
            self.at = 0;
        }
        let read = (&self.part[self.at..]).read(bytes)?;
        self.at += read;
        Ok(read)
    }
}

/// Returns a dump with `names` names of 64 KiB each, and one heap segment of `objects`. Identifiers
/// have 4 bytes.
fn dump<I: Iterator<Item = Vec<u8>>>(names: usize, objects: impl Fn() -> I) -> impl Read {
    let head = b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
    let name = [
        &[1, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 1][..],
        &[b'n'; 65_535],
    ]
    .concat();
    let length: usize = objects().map(|part| part.len()).sum();
    let segment = [&[0x1c, 0, 0, 0, 0][..], &(length as u32).to_be_bytes()].concat();
    let end = vec![0x2c, 0, 0, 0, 0, 0, 0, 0, 0];
    let before = [head].into_iter().chain(std::iter::repeat_n(name, names));
    Parts {
        parts: before.chain([segment]).chain(objects()).chain([end]),
        part: Vec::new(),
        at: 0,
    }
}

fn class(id: u32, above: u32, fields: u16) -> Vec<u8> {
    let ids = [id, 0, above, 0, 0, 0, 0, 0, 0].map(u32::to_be_bytes);
    let counts = [0, 0, fields].map(u16::to_be_bytes);
    // Each field has the name 1, and is a reference.
    let fields = [0, 0, 0, 1, 2].repeat(fields.into());
    [&[0x20][..], &ids.concat(), &counts.concat(), &fields].concat()
}

fn instance(id: u32, class: u32, bytes: u32) -> Vec<u8> {
    let head = [id, 0, class, bytes].map(u32::to_be_bytes).concat();
    [&[0x21][..], &head, &vec![0; bytes as usize]].concat()
}

/// Returns the peak memory of this process in bytes.
fn peak() -> u64 {
    process::peak_memory("self").expect("Linux reports the peak memory")
}

// There is one test for all cases, because they share the peak memory of the process.
#[test]
fn memory_has_a_bound() {
    // Two classes have many fields, and each has subclasses. The reader stores the offsets of all
    // fields for each subclass.
    let fields = [65_535_u16, 65_000];
    let bytes = 4 * fields.iter().copied().map(u32::from).sum::<u32>();
    let objects = || {
        let above = [class(10, 0, fields[0]), class(11, 10, fields[1])];
        let below = (0..200).flat_map(move |n| {
            let id = 100 + n;
            [class(id, 11, 0), instance(1000 + n, id, bytes)]
        });
        above.into_iter().chain(below)
    };
    let (graph, cut_off) =
        Graph::read(|| Ok(dump(0, objects)), 1 << 20).expect("the dump is readable");
    assert!(cut_off.is_none() && graph.len() == 402);
    let of_fields = peak();
    println!("{of_fields} bytes for fields");
    assert!(
        of_fields < 80_000_000,
        "less than 80 MB of memory expected, {of_fields} bytes used"
    );

    // Each object has its own class, which is missing in the dump. The names have used 896 MiB of
    // the limit of 1 GiB. All names have the same identifier, so each replaces the previous one.
    let thousand = |n: u32| (1000 * n..1000 * n + 1000).flat_map(|n| instance(8 * n, 8 * n, 0));
    let objects = || (1..800).map(|n| thousand(n).collect());
    let (counts, outcome) = histogram(dump(14_326, objects));
    let error = outcome.expect_err("the budget is used up");
    let text = error.to_string();
    assert!(text.contains("bytes of names, classes"), "{text}");
    let of_classes = peak();
    println!(
        "memory for {} classes: {of_classes} bytes",
        counts.classes.len()
    );
    assert!(
        of_classes < (128 << 20) + 30_000_000,
        "less than 164 MB of memory expected, {of_classes} bytes used"
    );
}
