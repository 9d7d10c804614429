//! Tests of duplicates and threads in broken dumps, and in dumps with 4-byte identifiers.

use loadhook_heap::{Duplicates, ProfilerObjects, SharedPasses, Threads, ViewRequest};
use loadhook_testkit::dump::{BYTE, INT, OBJECT, THREAD, Writer};
use proptest::prelude::*;

fn small() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    writer.text(42, "park");
    writer.frame(0x51, 42, 41, 40, 7);
    writer.stack(2, 1, &[0x51, 0x51, 0x52]);
    writer.instance(0x1200, THREAD, &0x1000_u64.to_be_bytes());
    writer.root(0x08, 0x1200, &[1, 2]);
    for at in 0..4 {
        writer.string(0x1000 + 32 * at, 0x8000 + 64 * (at / 2), (at / 3) as u8);
        writer.root(0x03, 0x1000 + 32 * at, &[1, at as u32]);
    }
    writer.segment();
    for at in 0..3 {
        writer.bytes(0x8000 + 64 * at, b"worker");
        writer.object_array(0x9000 + 64 * at, &[0x1000, 0]);
    }
    writer.root(0x02, 0x9000, &[1, u32::MAX]);
    writer.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the input is, the reader returns, and does not panic.
    #[test]
    fn mutated_dumps_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut dump = small();
        for (at, byte) in changes {
            let at = at.index(dump.len());
            dump[at] = byte;
        }
        if let Ok((found, _)) = Duplicates::read(|| Ok(&dump[..]), 10, 1 << 20, ProfilerObjects::Shown) {
            prop_assert!(found.worst.iter().all(|row| row.count > 1));
        }
        if let Ok((shared, _)) = SharedPasses::read(|| Ok(&dump[..]), 1 << 20, false) {
            let objects: Vec<u32> = (0..shared.graph.len()).collect();
            let _ = shared.views(|| Ok(&dump[..]), &request(&objects));
        }
        if let Ok((found, _)) = Threads::read(|| Ok(&dump[..]), ProfilerObjects::Shown) {
            // A changed dump may have other threads, but not many: each thread needs a stack of its
            // own or a root of its own, which has at least 13 bytes. Each frame needs an identifier
            // in one stack.
            let frames: usize = found.threads.iter().map(|thread| thread.frames.len()).sum();
            prop_assert!(13 * found.threads.len() + 4 * frames <= dump.len());
        }
    }
}

fn request(objects: &[u32]) -> ViewRequest<'_> {
    ViewRequest {
        objects,
        most_fields: 10,
        pairs: &[],
        duplicates: 10,
        memory: 1 << 20,
    }
}

/// In a hostile dump, fifty thousand threads share a name, which is an array of fifty thousand
/// arrays. If each thread had a list of these arrays, there would be 2,500,000,000 entries.
#[test]
fn a_name_of_threads_that_is_no_string_takes_no_gigabytes() {
    const MANY: u64 = 50_000;
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    let arrays: Vec<u64> = (0..MANY).map(|at| 0x100_0000 + 32 * at).collect();
    writer.object_array(0x1000, &arrays);
    for array in &arrays {
        writer.bytes(*array, b"worker");
    }
    writer.instance(0x1200, THREAD, &0x1000_u64.to_be_bytes());
    for serial in 0..MANY as u32 {
        writer.root(0x08, 0x1200, &[serial, 0]);
    }
    let dump = writer.finish();
    let open = || Ok(&dump[..]);
    let (shared, _) = SharedPasses::read(open, 1 << 26, true).expect("the dump is readable");
    let request = ViewRequest {
        memory: 1 << 26,
        ..request(&[])
    };
    let views = shared.views(open, &request).expect("the memory suffices");
    let (threads, _) = Threads::read(open, ProfilerObjects::Shown).expect("the dump is readable");
    assert_eq!(views.threads.threads.len(), MANY as usize);
    assert!(
        views
            .threads
            .threads
            .iter()
            .all(|thread| thread.name.is_empty())
    );
    assert_eq!(views.threads.threads, threads.threads);
}

/// The records of a frame, a stack and a name state wrong lengths. The rest of the dump is right.
#[test]
fn few_bytes_of_a_dump_take_no_gigabytes() {
    let mut writer = Writer::new();
    let name = "n".repeat(60_000);
    for (id, name) in [(40, "name"), (41, &*name), (43, &*name)] {
        writer.text(id, name);
    }
    writer.load_class(40, THREAD, 41);
    writer.class(THREAD, 0, &[], &[]);
    writer.frame(0x51, 43, 43, 40, 7);
    // A stack of a hundred thousand frames takes 800 KB in the dump. Each of its frames has three
    // long names.
    writer.stack(2, 1, &[0x51; 100_000]);
    writer.instance(0x1200, THREAD, &[]);
    writer.root(0x08, 0x1200, &[1, 2]);
    for at in 0..1000 {
        writer.root(0x03, 0x1200, &[1, at]);
    }
    let dump = writer.finish();
    let (found, _) =
        Threads::read(|| Ok(&dump[..]), ProfilerObjects::Shown).expect("the dump is readable");
    let frames = &found.threads[0].frames;
    assert_eq!(frames.len(), 100_000);
    for pair in frames.windows(2) {
        assert!(std::sync::Arc::ptr_eq(&pair[0].class, &pair[1].class));
        assert!(std::sync::Arc::ptr_eq(&pair[0].method, &pair[1].method));
        assert_eq!(
            pair[0].file.as_ref().map(|file| file.as_ptr()),
            pair[1].file.as_ref().map(|file| file.as_ptr())
        );
    }
    assert!(std::sync::Arc::ptr_eq(
        &frames[0].locals[0].class,
        &frames[999].locals[0].class
    ));
}

/// A writer of a dump with identifiers of 4 bytes.
#[derive(Default)]
struct Narrow {
    records: Vec<u8>,
    heap: Vec<u8>,
}

impl Narrow {
    fn record(&mut self, tag: u8, words: &[u32], rest: &[u8]) {
        let body = [
            &words
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect::<Vec<u8>>(),
            rest,
        ]
        .concat();
        self.records.extend([tag, 0, 0, 0, 0]);
        self.records.extend((body.len() as u32).to_be_bytes());
        self.records.extend(body);
    }

    fn heap(&mut self, tag: u8, words: &[u32], rest: &[u8]) {
        self.heap.push(tag);
        self.heap
            .extend(words.iter().flat_map(|word| word.to_be_bytes()));
        self.heap.extend(rest);
    }

    fn class(&mut self, serial: u32, id: u32, name: u32, fields: &[(u32, u8)]) {
        self.record(2, &[serial, id, 0, name], &[]);
        let mut rest = [0, 0, 0, 0, 0, fields.len() as u8].to_vec();
        for (name, of) in fields {
            rest.extend(name.to_be_bytes());
            rest.push(*of);
        }
        self.heap(0x20, &[id, 0, 0, 0, 0, 0, 0, 0, 0], &rest);
    }

    fn finish(mut self) -> Vec<u8> {
        let heap = std::mem::take(&mut self.heap);
        self.record(0x1c, &[], &heap);
        self.record(0x2c, &[], &[]);
        let head = [&b"JAVA PROFILE 1.0.2\0"[..], &4_u32.to_be_bytes(), &[0; 8]].concat();
        [head, self.records].concat()
    }
}

#[test]
fn identifiers_of_four_bytes_are_read() {
    let mut dump = Narrow::default();
    for (id, name) in [
        (1, "value"),
        (2, "hash"),
        (3, "coder"),
        (4, "java/lang/String"),
        (5, "name"),
        (6, "java/lang/Thread"),
        (7, "park"),
    ] {
        dump.record(1, &[id], name.as_bytes());
    }
    dump.class(1, 0x100, 4, &[(2, INT), (1, OBJECT), (3, BYTE)]);
    dump.class(2, 0x110, 6, &[(2, INT), (5, OBJECT)]);
    dump.record(4, &[0x51, 7, 0, 0, 2, 12], &[]);
    dump.record(5, &[9, 1, 1, 0x51], &[]);
    for at in 0..2 {
        dump.heap(
            0x21,
            &[0x1000 + 32 * at, 0, 0x100, 9, 0, 0x2000 + 96 * at],
            &[0],
        );
        dump.heap(0x23, &[0x2000 + 96 * at, 0, 4], b"\x08same");
    }
    dump.heap(0x21, &[0x3000, 0, 0x110, 8, 0, 0x1000], &[]);
    dump.heap(0x08, &[0x3000, 1, 9], &[]);
    dump.heap(0x03, &[0x1020, 1, 0], &[]);
    let dump = dump.finish();
    let (found, _) = Duplicates::read(|| Ok(&dump[..]), 9, u64::MAX, ProfilerObjects::Shown)
        .expect("the dump is readable");
    let [row] = &found.worst[..] else {
        panic!("{:?}", found.worst);
    };
    assert_eq!((row.count, &*row.preview.text), (2, "same"));
    // A string has 8 + 4 + 4 + 1 bytes, rounded up to 24. Its array has 12 + 4 bytes.
    assert_eq!((row.bytes, row.wasted), (24 + 16, 24 + 16));
    let (found, _) =
        Threads::read(|| Ok(&dump[..]), ProfilerObjects::Shown).expect("the dump is readable");
    let [thread] = &found.threads[..] else {
        panic!("{:?}", found.threads);
    };
    assert_eq!(&*thread.name, "same");
    let [frame] = &thread.frames[..] else {
        panic!("{:?}", thread.frames);
    };
    assert_eq!(
        (&*frame.class, &*frame.method, frame.line),
        ("java.lang.Thread", "park", Some(12))
    );
    assert_eq!(frame.locals[0].id, 0x1020);
}
