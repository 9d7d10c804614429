//! Tests of threads, in dumps whose threads are known.

use loadhook_heap::{ProfilerObjects, Thread, Threads};
use loadhook_testkit::dump::{OBJECT, PAIR, THREAD, Writer};

const WORKER: u64 = 0x150;

/// A dump with two threads: `main`, and one of a subclass of `Thread` that has a field `name` of
/// its own.
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
    // Some strings and arrays are written before the objects that refer to them, some behind.
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
    // The stack has three frames, so this root is outside of all frames.
    writer.root(0x02, 0x4000, &[7, 3]);
    writer.root(0x03, 0x7777, &[7, 2]);
    // A root of a thread that the dump does not have.
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
    // The name is the field of `Thread`, not that of the subclass.
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
    // The dump does not have `java.lang.Class`, so the size of class objects is unknown.
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

/// Dumps of JDK 17 and earlier have their roots at the end.
#[test]
fn stacks_are_shown_of_threads_that_were_cut_off() {
    let dump = dump();
    // The cut removes the last segment, which has all roots.
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

/// If a megabyte of threads shared a megabyte of frames, that would make ten billion frames.
#[test]
fn threads_do_not_share_a_stack() {
    // The serial number 0 is valid.
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

/// A stack has a number of frames, and its record has a length; they may disagree.
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
            .starts_with("a stack has 12 bytes at byte "),
        "{error}"
    );
}
