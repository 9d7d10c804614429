//! Tests of reading the contents of files, in both formats.

use loadhook_hprof::contents::{Contents, ContentsError, Format, ReadContents, Section, Warning};
use loadhook_hprof::text::Frame;
use loadhook_hprof::{
    AllocSite, AllocSites, ControlSettings, CpuSample, Header, LoadClass, StackFrame, StartThread,
    Writer,
};

/// A text with tables of all kinds.
const TEXT: &str = "JAVA PROFILE 1.0.1, created Wed Oct  7 11:38:10 1998

Anything.

--------

THREAD START (obj=50000193, id = 200001, name=\"main\", group=\"main\")
THREAD START (obj=5000018d, id = 200002, name=\"one\", group=\"main\")
THREAD END (id = 200002)
TRACE 300000:
\t<empty>
TRACE 300001: (thread=200001)
\tshop.Cart.add(Cart.java:12)
\tshop.Shop.main(<Unknown Source>:Unknown line)
WAITED: MONITOR Ljava/lang/Object;, time_waited=5, thread 200001
SITES BEGIN (ordered by live bytes) Wed Oct  7 11:38:10 1998
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 75.00% 75.00%       300    3       600     6 300001 char[]
    2 25.00% 100.00%       100    1       100     1 300000 shop.Cart
SITES END
CPU SAMPLES BEGIN (total = 12) Wed Oct  7 11:38:10 1998
rank   self  accum   count trace method
   1 75.00% 75.00%       9 300001 shop.Cart.add
   2 25.00% 100.00%       3 300000 <empty trace>
CPU SAMPLES END
MONITOR DUMP BEGIN
    THREAD 200001, trace 300001, status: MW
    THREAD 200002, trace 300000, status: MW
    MONITOR Lshop/Cart;
\towner: thread 200001, entry count: 1
\twaiting to enter: thread 200002
\twaiting to be notified:
    MONITOR Lshop/Shop;
\towner: thread 200002, entry count: 2
\twaiting to enter: thread 200001, <unknown thread>
\twaiting to be notified:
    MONITOR Ljava/lang/Object; unowned
\twaiting to enter:
\twaiting to be notified: <unknown thread>
MONITOR DUMP END
HEAP DUMP BEGIN (2 objects, 32 bytes) Wed Oct  7 11:38:10 1998
ROOT 1 (kind=<thread>, id=200001, trace=300000)
CLS 2 (name=shop.Cart, trace=300000)
\tsuper\t\t3
OBJ 4 (sz=16, trace=300001, class=shop.Cart@2)
\titems\t\t5
ARR 5 (sz=16, trace=300001, nelems=1, elem type=shop.Item[]@6)
\t[0]\t\t4
HEAP DUMP END
";

fn whole(file: &[u8]) -> Contents {
    let ReadContents { contents, error } = Contents::read(file);
    assert!(error.is_none(), "{error:?}");
    contents
}

#[test]
fn a_text_is_read() {
    let contents = whole(TEXT.as_bytes());
    assert_eq!(contents.warnings, []);
    let (threads, traces) = (&contents.threads, &contents.traces);
    assert_eq!(threads.len(), 2);
    assert!(threads[&200_002].has_ended && !threads[&200_001].has_ended);
    assert_eq!(threads[&200_001].name, "main");
    assert_eq!(traces[&300_001].thread, Some(200_001));
    assert_eq!(traces[&300_001].frames.len(), 2);
    assert_eq!(traces[&300_000].frames, []);
    assert_eq!(contents.monitor_events, 1);
    let [sites, samples, monitors, heap] = &contents.sections[..] else {
        panic!("{:?}", contents.sections);
    };
    assert!(matches!(sites, Section::Sites { rows, .. } if rows[1].class == "shop.Cart"));
    assert!(
        matches!(samples, Section::Costs { rows, begin } if rows[0].count == 9 && begin.total == 12)
    );
    let Section::Monitors(dump) = monitors else {
        panic!("{monitors:?}");
    };
    assert_eq!(dump.deadlocks(), [[200_001, 200_002]]);
    assert_eq!(dump.monitors[2].to_be_notified, [0]);
    assert!(
        matches!(heap, Section::Heap(heap) if (heap.classes, heap.objects, heap.arrays, heap.roots) == (1, 1, 1, 1))
    );
}

#[test]
fn a_circle_is_found_once_and_a_chain_is_none() {
    let text = |monitors: &str| {
        let rest = format!("MONITOR DUMP BEGIN\n{monitors}MONITOR DUMP END\n");
        format!("JAVA PROFILE 1.0.1, created now\n--------\n{rest}")
    };
    let monitor = |owner: u32, waits: u32| {
        format!(
            "    MONITOR LA;\n\towner: thread {owner}, entry count: 1\n\twaiting to enter: thread {waits}\n\twaiting to be notified:\n"
        )
    };
    let circles = |pairs: &[(u32, u32)]| {
        let monitors: String = pairs
            .iter()
            .map(|(owner, waits)| monitor(*owner, *waits))
            .collect();
        match &whole(text(&monitors).as_bytes()).sections[..] {
            [Section::Monitors(dump)] => dump.deadlocks(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(circles(&[(1, 2), (2, 3)]), Vec::<Vec<u32>>::new());
    // 4 waits for 3, which is in the circle 1 → 2 → 3 → 1.
    let found = circles(&[(2, 1), (3, 2), (1, 3), (3, 4)]);
    assert_eq!(found, [[1, 2, 3]]);
    assert_eq!(circles(&[(2, 1), (1, 2), (6, 5), (5, 6)]), [[1, 2], [5, 6]]);
}

#[test]
fn contradictions_are_named() {
    let text = TEXT.replace("TRACE 300000:", "TRACE 300009:");
    let text = text
        .replace("(total = 12)", "(total = 11)")
        .replace("id = 200002,", "id = 200003,");
    let warnings = whole(text.as_bytes()).warnings;
    let no_trace = |section| Warning::NoTrace {
        section,
        trace: 300_000,
    };
    // The text still has the end of thread 200002, which makes this thread known.
    let too_many = Warning::TooManySamples { sum: 12, total: 11 };
    let expected = [
        too_many,
        no_trace("CPU SAMPLES"),
        no_trace("MONITOR DUMP"),
        no_trace("SITES"),
    ];
    assert_eq!(warnings, expected);
    assert_eq!(
        warnings[1].to_string(),
        "CPU SAMPLES names trace 300000, which the file does not have"
    );
    let no_thread = TEXT.replace("(thread=200001)", "(thread=7)");
    let warnings = whole(no_thread.as_bytes()).warnings;
    assert_eq!(warnings, [Warning::NoThread { thread: 7 }]);
}

#[test]
fn the_part_before_a_fault_is_kept() {
    let cut = &TEXT[..TEXT.find("CPU SAMPLES END").expect("the text has samples")];
    let ReadContents { contents, error } = Contents::read(cut.as_bytes());
    assert_eq!(contents.sections.len(), 2);
    assert!(matches!(error, Some(ContentsError::Text(_))), "{error:?}");
    for garbage in [&b""[..], b"PK\x03\x04", &[0xff; 500]] {
        let ReadContents { contents, error } = Contents::read(garbage);
        assert_eq!(contents, Contents::default());
        assert!(matches!(error, Some(ContentsError::Binary(_))), "{error:?}");
    }
}

/// Returns a binary file with some of the contents of [`TEXT`].
fn binary() -> std::io::Result<Vec<u8>> {
    let mut file = Vec::new();
    let header = Header {
        id_size: 4,
        time_ms: 907_760_290_000,
    };
    let mut writer = Writer::new(&mut file, header)?;
    writer.control_settings(&ControlSettings { flags: 3, depth: 4 })?;
    let mut name = |text: &str| writer.name(text.as_bytes());
    let [main, one, cart, shop, chars] = [
        name("main")?,
        name("one")?,
        name("shop/Cart")?,
        name("shop/Shop")?,
        name("char[]")?,
    ];
    let (add, source) = (name("add")?, name("Cart.java")?);
    for (serial, name) in [(200_001, main), (200_002, one)] {
        writer.start_thread(&StartThread {
            serial,
            name,
            group: main,
            ..StartThread::default()
        })?;
    }
    writer.end_thread(200_002)?;
    for (serial, name) in [(100_001, cart), (100_002, shop), (100_003, chars)] {
        let class = serial.into();
        writer.load_class(&LoadClass {
            serial,
            class,
            name,
        })?;
    }
    let frame = |id, method_name, source_file, class_serial, line| StackFrame {
        id,
        method_name,
        source_file,
        class_serial,
        line,
        ..StackFrame::default()
    };
    writer.stack_frame(&frame(1, add, source, 100_001, 12))?;
    writer.stack_frame(&frame(2, main, 0, 100_002, StackFrame::UNKNOWN_LINE))?;
    writer.stack_trace(300_000, 0, &[])?;
    writer.stack_trace(300_001, 200_001, &[1, 2])?;
    let sums = AllocSites {
        live: (400, 4),
        allocated: (700, 7),
        ..AllocSites::default()
    };
    let site = |class_serial, trace, live, allocated| AllocSite {
        class_serial,
        trace,
        live,
        allocated,
        ..AllocSite::default()
    };
    let sites = [
        site(100_003, 300_001, (300, 3), (600, 6)),
        site(100_001, 300_000, (100, 1), (100, 1)),
    ];
    writer.alloc_sites(&sums, &sites)?;
    let sample = |count, trace| CpuSample { count, trace };
    writer.cpu_samples(12, &[sample(9, 300_001), sample(3, 300_000)])?;
    writer.finish()?;
    Ok(file)
}

#[test]
fn a_binary_file_says_the_same_as_a_text() {
    let file = binary().expect("memory can be written");
    let (binary, text) = (whole(&file), whole(TEXT.as_bytes()));
    assert!(matches!(binary.format, Format::Binary { id_size: 4, .. }));
    assert_eq!(binary.warnings, []);
    assert_eq!(binary.threads, text.threads);
    assert_eq!(binary.traces[&300_001], text.traces[&300_001]);
    for (binary, text) in binary.sections.iter().zip(&text.sections) {
        match (binary, text) {
            (Section::Sites { rows, .. }, Section::Sites { rows: of_text, .. }) => {
                assert_eq!(rows, of_text);
            }
            (Section::Costs { rows, .. }, Section::Costs { rows: of_text, .. }) => {
                assert_eq!(rows, of_text);
            }
            other => panic!("{other:?}"),
        }
    }
    for cut in 0..file.len() - 9 {
        let ReadContents { error, .. } = Contents::read(&file[..cut]);
        let is_between_records = error.is_none();
        assert!(!is_between_records || cut > 31, "{cut}");
    }
}

#[test]
fn a_frame_without_a_record_is_unknown() {
    let mut file = Vec::new();
    let header = Header {
        id_size: 8,
        time_ms: 0,
    };
    let mut writer = Writer::new(&mut file, header).expect("memory can be written");
    writer
        .stack_trace(5, 0, &[77])
        .expect("memory can be written");
    writer.finish().expect("memory can be written");
    let unknown = Frame {
        class: "<unknown class>".to_owned(),
        method: "<unknown method>".to_owned(),
        source: None,
        line: StackFrame::UNKNOWN_LINE,
    };
    assert_eq!(whole(&file).traces[&5].frames, [unknown]);
}
