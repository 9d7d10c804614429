//! Tests of the threads that are read from dumps, in dumps whose threads are known.

use loadhook_heap::{ProfilerObjects, Thread, Threads};
use loadhook_testkit::dump::{OBJECT, PAIR, THREAD, Writer};

const WORKER: u64 = 0x150;

/// Returns a dump with two threads. One is named `main`; the other is of a subclass of `Thread`,
/// which declares its own field `name`.
fn dump() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    for (id, name) in [
        (42, "test/Worker"),
        (43, "run"),
        (44, "wait0"),
        (45, "Worker.java"),
    ] {
        writer.text(id, name);
    }
    writer.load_class(41, WORKER, 42);
    writer.frame(0x51, 44, 0, 40, -3);
    writer.frame(0x52, 43, 45, 41, 17);
    writer.frame(0x53, 43, 45, 41, -1);
    writer.stack(8, 7, &[0x51, 0x52, 0x53]);
    writer.stack(9, 3, &[]);
    writer.class(WORKER, THREAD, &[(40, OBJECT)], &[]);
    // Some strings and arrays are written before the objects that refer to them, others after them.
    writer.bytes(0x2000, b"worker 1");
    writer.string(0x1000, 0x2000, 0);
    let fields = [0x9999_u64, 0x1000].map(u64::to_be_bytes).concat();
    writer.instance(0x3000, WORKER, &fields);
    writer.instance(0x3020, THREAD, &0x1020_u64.to_be_bytes());
    writer.string(0x1020, 0x2020, 0);
    writer.bytes(0x2020, b"main");
    writer.pair(0x4000, 0, 0);
    writer.root(0x08, 0x3000, &[7, 8]);
    writer.root(0x08, 0x3020, &[3, 9]);
    // Roots of the middle frame: an object twice, a string, an array, a class, and a reference of
    // native code.
    writer.root(0x03, 0x4000, &[7, 1]);
    writer.root(0x03, 0x1000, &[7, 1]);
    writer.root(0x03, 0x4000, &[7, 1]);
    writer.root(0x03, 0x2000, &[7, 1]);
    writer.root(0x03, PAIR, &[7, 1]);
    writer.root(0x02, 0x4000, &[7, 1]);
    writer.root(0x02, 0x4000, &[7, u32::MAX]);
    // The stack has the frames 0 to 2, so this root for frame 3 belongs to none.
    writer.root(0x02, 0x4000, &[7, 3]);
    writer.root(0x03, 0x7777, &[7, 2]);
    // This root belongs to a thread that is not in the dump.
    writer.root(0x03, 0x4000, &[99, 0]);
    writer.finish()
}

fn threads(dump: &[u8]) -> Vec<Thread> {
    let (found, cut_off) =
        Threads::read(|| Ok(dump), ProfilerObjects::Shown).expect("the dump is readable");
    assert!(cut_off.is_none(), "{cut_off:?}");
    found.threads
}

#[test]
fn stacks_and_variables_are_those_written() {
    let threads = threads(&dump());
    let [main, worker] = &threads[..] else {
        panic!("{threads:?}");
    };
    assert_eq!((main.serial, main.id, &*main.name), (3, 0x3020, "main"));
    assert_eq!((&*main.class, main.frames.len()), ("java.lang.Thread", 0));
    // The thread's name is in the field of `Thread`, not in that of the subclass.
    assert_eq!((worker.serial, worker.id), (7, 0x3000));
    assert_eq!((&*worker.name, &*worker.class), ("worker 1", "test.Worker"));
    let frames: Vec<_> = worker
        .frames
        .iter()
        .map(|frame| (&*frame.class, &*frame.method, frame.line, frame.is_native))
        .collect();
    let expected = [
        ("java.lang.Thread", "wait0", None, true),
        ("test.Worker", "run", Some(17), false),
        ("test.Worker", "run", None, false),
    ];
    assert_eq!(frames, expected);
    assert_eq!(worker.frames[0].file, None);
    assert_eq!(worker.frames[1].file.as_deref(), Some("Worker.java"));

    let locals: Vec<_> = worker.frames[1]
        .locals
        .iter()
        .map(|local| {
            let text = local.preview.as_ref().map(|contents| &*contents.text);
            let of = (local.id, &*local.class, local.is_class);
            (of, local.bytes, text)
        })
        .collect();
    // `java.lang.Class` is missing in the dump, so the sizes of class objects are unknown.
    let expected = [
        ((0x4000, "test.Pair", false), 24, None),
        ((0x1000, "java.lang.String", false), 24, Some("worker 1")),
        ((0x2000, "byte[]", false), 24, None),
        ((PAIR, "test.Pair", true), 0, None),
    ];
    assert_eq!(locals, expected);
    assert!(worker.frames[0].locals.is_empty());
    assert_eq!(&*worker.frames[2].locals[0].class, "?");
    let [of_native] = &worker.locals[..] else {
        panic!("{:?}", worker.locals);
    };
    assert!(of_native.is_native && of_native.id == 0x4000);
}

#[test]
fn wherever_a_dump_is_cut_off_the_rest_is_shown() {
    let dump = dump();
    let mut most = 0;
    for length in 31..dump.len() {
        let (found, cut_off) = Threads::read(|| Ok(&dump[..length]), ProfilerObjects::Shown)
            .expect("the dump is readable");
        assert!(cut_off.is_some(), "{length}");
        assert!(found.threads.len() >= most, "{length}");
        most = found.threads.len();
    }
    assert_eq!(most, 2);
}

/// In dumps of JDK 17 and earlier, the roots come last.
#[test]
fn stacks_are_shown_of_threads_that_were_cut_off() {
    let dump = dump();
    // The cut removes the last segment, which contains all roots.
    let roots = 2 * 17 + 11 * 17;
    let (found, _) = Threads::read(
        || Ok(&dump[..dump.len() - roots - 9]),
        ProfilerObjects::Shown,
    )
    .expect("the dump is readable");
    let [worker] = &found.threads[..] else {
        panic!("{:?}", found.threads);
    };
    let shown = (worker.id, worker.serial, &*worker.name, &*worker.class);
    assert_eq!(shown, (0, 7, "", "?"));
    assert_eq!(worker.frames.len(), 3);
}

/// In a hostile dump, a megabyte of threads shares a megabyte of frames. If each thread had its own
/// list, there would be ten billion frames.
#[test]
fn threads_do_not_share_a_stack() {
    // The serial number 0 is valid, too.
    for stack in [5, 0] {
        let mut writer = Writer::new();
        writer.stack(stack, 1, &[0x51; 100_000]);
        for thread in 1..=100_000 {
            writer.root(0x08, 0x1000, &[thread, stack]);
        }
        let threads = threads(&writer.finish());
        let frames: usize = threads.iter().map(|thread| thread.frames.len()).sum();
        assert_eq!((threads.len(), frames), (100_000, 100_000), "{stack}");
    }
}

/// The record of a stack states its number of frames, and has a length; the two may disagree.
#[test]
fn stacks_end_where_their_records_do() {
    let mut writer = Writer::new();
    writer.record(5, &[1, 2, 0x1000_0000].map(u32::to_be_bytes).concat());
    let dump = writer.finish();
    let error =
        Threads::read(|| Ok(&dump[..]), ProfilerObjects::Shown).expect_err("the dump is broken");
    assert!(
        error
            .to_string()
            .starts_with("a stack cannot have 12 bytes at byte "),
        "{error}"
    );
}
