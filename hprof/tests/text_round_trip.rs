//! Tests that lines of the text format are equal after they were written and read again.

use loadhook_hprof::text::{
    Amount, Array, Class, Cost, CostKind, CostsBegin, Frame, HeapBegin, Holder, Line, Monitor,
    MonitorEvent, NoFrames, Object, Owner, Reader, Reference, Root, RootReason, Site, SitesBegin,
    TextError, ThreadEnd, ThreadStart, ThreadState, TraceHead, Waiters, Writer,
};
use proptest::collection::vec;
use proptest::prelude::*;

const DATE: &str = "Wed Oct  7 11:38:10 1998";

fn write(lines: &[Line]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut writer = Writer::new(&mut text, DATE, "A test.\n").expect("memory can be written");
    for line in lines {
        writer.line(line).expect("memory can be written");
    }
    writer.finish().expect("memory can be written");
    text
}

fn read(text: &[u8]) -> Result<Vec<Line>, TextError> {
    let mut reader = Reader::new(text)?;
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line()? {
        lines.push(line);
    }
    Ok(lines)
}

/// Returns a pattern for names as a JVM allows them: with spaces, brackets, quotes and letters of all scripts.
fn name() -> &'static str {
    "[a-zé(][^\\p{Cc}]{0,10}"
}

fn class() -> &'static str {
    "[a-z]{1,5}\\.[A-Z注][^\\p{Cc}.@]{0,8}"
}

fn percent() -> impl Strategy<Value = f64> {
    (0..=10_000_u32).prop_map(|hundredths| f64::from(hundredths) / 100.0)
}

fn trace() -> impl Strategy<Value = Vec<Line>> {
    let method = "[a-z<][^\\p{Cc}.(]{0,8}";
    let source = proptest::option::of("[A-Za-z$.]{1,8}");
    let line = prop_oneof![-3..0, 1..100_000];
    let frame = (class(), method, source, line).prop_map(|(class, method, source, line)| {
        Line::Frame(Frame {
            class,
            method,
            source,
            line,
        })
    });
    let phase = proptest::option::of("[A-Z]{1,5}");
    let head = (any::<u32>(), any::<Option<u32>>(), phase);
    (head, vec(frame, 0..5)).prop_map(|((serial, thread, phase), mut lines)| {
        if lines.is_empty() {
            lines.push(Line::NoFrames(NoFrames));
        }
        let head = TraceHead {
            serial,
            thread,
            phase,
        };
        lines.insert(0, Line::Trace(head));
        lines
    })
}

fn thread() -> impl Strategy<Value = Vec<Line>> {
    let start = (any::<u64>(), any::<u32>(), name(), name());
    let start = start.prop_map(|(object, serial, name, group)| {
        Line::ThreadStart(ThreadStart {
            object,
            serial,
            name,
            group,
        })
    });
    let end = any::<u32>().prop_map(|serial| Line::ThreadEnd(ThreadEnd(serial)));
    prop_oneof![start, end].prop_map(|line| vec![line])
}

fn sites() -> impl Strategy<Value = Vec<Line>> {
    let amount = || {
        any::<(Option<u64>, Option<u64>)>().prop_map(|(bytes, objects)| Amount { bytes, objects })
    };
    let numbers = (any::<u32>(), percent(), percent(), amount(), amount());
    let site = (numbers, any::<u32>(), class()).prop_map(|(numbers, trace, class)| {
        let (rank, own, accumulated, live, allocated) = numbers;
        Line::Site(Site {
            rank,
            own,
            accumulated,
            live,
            allocated,
            trace,
            class,
        })
    });
    vec(site, 0..4).prop_map(|rows| {
        let begin = SitesBegin {
            order: "live bytes".to_owned(),
            date: DATE.to_owned(),
        };
        section(Line::SitesBegin(begin), rows, Line::SitesEnd)
    })
}

fn costs() -> impl Strategy<Value = Vec<Line>> {
    const KINDS: &[CostKind] = &[
        CostKind::Samples,
        CostKind::Times,
        CostKind::Monitors,
        CostKind::Parks,
    ];
    let numbers = (
        any::<u32>(),
        percent(),
        percent(),
        any::<i64>(),
        any::<u32>(),
    );
    let row = (numbers, name()).prop_map(|((rank, own, accumulated, count, trace), name)| {
        Line::Cost(Cost {
            rank,
            own,
            accumulated,
            count,
            trace,
            name,
        })
    });
    let kind = proptest::sample::select(KINDS);
    (kind.clone(), any::<i64>(), vec(row, 0..4)).prop_map(|(kind, total, rows)| {
        let date = DATE.to_owned();
        let begin = CostsBegin { kind, total, date };
        section(Line::CostsBegin(begin), rows, Line::CostsEnd(kind))
    })
}

fn reason() -> impl Strategy<Value = RootReason> {
    let serials = || any::<(u32, u32)>();
    let frame = || any::<(u32, i32)>();
    prop_oneof![
        Just(RootReason::Unknown),
        Just(RootReason::BusyMonitor),
        serials().prop_map(|(serial, trace)| RootReason::Thread { serial, trace }),
        any::<(u64, u32)>()
            .prop_map(|(reference, trace)| RootReason::JniGlobal { reference, trace }),
        frame().prop_map(|(thread, frame)| RootReason::JniLocal { thread, frame }),
        frame().prop_map(|(thread, frame)| RootReason::JavaStack { thread, frame }),
        class().prop_map(|name| RootReason::SystemClass { name }),
        any::<u32>().prop_map(|thread| RootReason::ThreadBlock { thread }),
        any::<u32>().prop_map(|thread| RootReason::NativeStack { thread }),
    ]
}

/// Generates records of a heap, each with the references that it can have.
fn record() -> impl Strategy<Value = Vec<Line>> {
    let holders = || {
        prop_oneof![
            Just(Holder::Super),
            Just(Holder::Loader),
            Just(Holder::Signers),
            Just(Holder::ProtectionDomain),
            name().prop_map(Holder::Static),
            any::<u32>().prop_map(Holder::Constant),
        ]
    };
    let root =
        (any::<u64>(), reason()).prop_map(|(id, reason)| vec![Line::Root(Root { id, reason })]);
    let class_record = (any::<u64>(), class(), any::<u32>())
        .prop_map(|(id, name, trace)| Line::Class(Class { id, name, trace }));
    let object = (any::<(u64, u64, u32, u64)>(), class()).prop_map(|(numbers, class)| {
        let (id, bytes, trace, class_id) = numbers;
        Line::Object(Object {
            id,
            bytes,
            trace,
            class,
            class_id,
        })
    });
    let array = (
        any::<(u64, u64, u32, u32, Option<u64>)>(),
        "[a-z.]{1,8}\\[\\]",
    );
    let array = array.prop_map(|(numbers, of)| {
        let (id, bytes, trace, length, class_id) = numbers;
        Line::Array(Array {
            id,
            bytes,
            trace,
            length,
            of,
            class_id,
        })
    });
    let element = any::<u32>().prop_map(Holder::Element);
    prop_oneof![
        root,
        with_references(class_record, holders()),
        with_references(object, name().prop_map(Holder::Field)),
        with_references(array, element),
    ]
}

fn with_references(
    record: impl Strategy<Value = Line>,
    holder: impl Strategy<Value = Holder>,
) -> impl Strategy<Value = Vec<Line>> {
    let reference =
        (holder, any::<u64>()).prop_map(|(from, to)| Line::Reference(Reference { from, to }));
    (record, vec(reference, 0..4)).prop_map(|(record, mut lines)| {
        lines.insert(0, record);
        lines
    })
}

fn heap() -> impl Strategy<Value = Vec<Line>> {
    (any::<(u64, u64)>(), vec(record(), 0..5)).prop_map(|((objects, bytes), records)| {
        let date = DATE.to_owned();
        let begin = HeapBegin {
            objects,
            bytes,
            date,
        };
        section(Line::HeapBegin(begin), records.concat(), Line::HeapEnd)
    })
}

fn monitors() -> impl Strategy<Value = Vec<Line>> {
    let state = (any::<(u32, u32)>(), "[A-Z|]{1,6}").prop_map(|((thread, trace), status)| {
        Line::ThreadState(ThreadState {
            thread,
            trace,
            status,
        })
    });
    let monitor = ("L[a-z/]{1,8};", any::<bool>())
        .prop_map(|(class, is_owned)| Line::Monitor(Monitor { class, is_owned }));
    let owner =
        any::<(u32, i32)>().prop_map(|(thread, entries)| Line::Owner(Owner { thread, entries }));
    let waiters = (any::<bool>(), vec(any::<u32>(), 0..4)).prop_map(|(is, threads)| {
        Line::Waiters(Waiters {
            wait_for_notification: is,
            threads,
        })
    });
    vec(prop_oneof![state, monitor, owner, waiters], 0..6)
        .prop_map(|lines| section(Line::MonitorsBegin, lines, Line::MonitorsEnd))
}

fn event() -> impl Strategy<Value = Vec<Line>> {
    let class = || "L[a-z/, ]{1,8};";
    let event = prop_oneof![
        (class(), any::<(i64, u32)>()).prop_map(|(class, (timeout, thread))| MonitorEvent::Wait {
            class,
            timeout,
            thread
        }),
        (class(), any::<(i64, u32)>()).prop_map(|(class, (time, thread))| MonitorEvent::Waited {
            class,
            time,
            thread
        }),
        (class(), any::<u32>()).prop_map(|(class, thread)| MonitorEvent::Exit { class, thread }),
        any::<(i64, u32)>().prop_map(|(timeout, thread)| MonitorEvent::Sleep { timeout, thread }),
    ];
    event.prop_map(|event| vec![Line::MonitorEvent(event)])
}

fn section(begin: Line, mut lines: Vec<Line>, end: Line) -> Vec<Line> {
    lines.insert(0, begin);
    lines.push(end);
    lines
}

fn text() -> impl Strategy<Value = Vec<Line>> {
    let block = prop_oneof![
        thread(),
        trace(),
        sites(),
        costs(),
        heap(),
        monitors(),
        event()
    ];
    vec(block, 0..6).prop_map(|blocks| blocks.concat())
}

proptest! {
    #[test]
    fn lines_are_the_same_after_writing_and_reading(lines in text()) {
        let written = write(&lines);
        let read = read(&written).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(read, lines);
    }

    #[test]
    fn names_never_break_a_line(name in "\\PC*[\\p{Cc}\u{2028}\"]\\PC*") {
        let start = ThreadStart { name: name.clone(), group: name.clone(), ..ThreadStart::default() };
        let frame = Frame { class: name.clone(), method: name, ..Frame::default() };
        let head = TraceHead::default();
        let lines = [Line::ThreadStart(start), Line::Trace(head), Line::Frame(frame)];
        let written = lines.map(|line| line.to_string());
        prop_assert!(written.iter().all(|line| !line.trim_start().contains(char::is_control)));
    }

    #[test]
    fn a_cut_text_is_read_up_to_its_end(lines in text(), at in any::<prop::sample::Index>()) {
        let written = write(&lines);
        let cut = at.index(written.len());
        if let Err(error) = read(&written[..cut]) {
            let ends = written[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
            prop_assert!(error.line <= ends + 1, "{} of {}: {}", cut, written.len(), error);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..200), lines in text(), at in any::<prop::sample::Index>()) {
        let mut written = write(&lines);
        let at = at.index(written.len());
        written.splice(at..at, bytes);
        let _ = read(&written);
    }
}
