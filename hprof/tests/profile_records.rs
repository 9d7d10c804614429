//! Tests of the binary records that are no part of a heap dump: threads, samples, sites and settings.

use loadhook_hprof::{
    AllocSite, AllocSites, ControlSettings, CpuSample, DumpedMonitor, DumpedThread, ErrorKind,
    Header, HeapSummary, LoadClass, StackFrame, StartThread, TimesOf, TraceTime, Visitor, Writer,
    read,
};
use loadhook_testkit::hprof_walk::walk;
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
enum Record {
    Unload(u32),
    Start(StartThread),
    End(u32),
    Settings(ControlSettings),
    Summary(HeapSummary),
    Sites(AllocSites, Vec<AllocSite>),
    Samples(u32, Vec<CpuSample>),
    Times(TimesOf, u64, Vec<TraceTime>),
    DumpedThread(DumpedThread),
    DumpedMonitor(DumpedMonitor, Vec<u32>),
}

#[derive(Default)]
struct Records(Vec<Record>);

impl Visitor for Records {
    fn unload_class(&mut self, serial: u32) -> Result<(), ErrorKind> {
        self.0.push(Record::Unload(serial));
        Ok(())
    }
    fn start_thread(&mut self, thread: StartThread) -> Result<(), ErrorKind> {
        self.0.push(Record::Start(thread));
        Ok(())
    }
    fn end_thread(&mut self, serial: u32) -> Result<(), ErrorKind> {
        self.0.push(Record::End(serial));
        Ok(())
    }
    fn control_settings(&mut self, settings: ControlSettings) -> Result<(), ErrorKind> {
        self.0.push(Record::Settings(settings));
        Ok(())
    }
    fn heap_summary(&mut self, summary: HeapSummary) -> Result<(), ErrorKind> {
        self.0.push(Record::Summary(summary));
        Ok(())
    }
    fn alloc_sites(&mut self, sites: AllocSites) -> Result<(), ErrorKind> {
        self.0.push(Record::Sites(sites, Vec::new()));
        Ok(())
    }
    fn alloc_site(&mut self, site: AllocSite) -> Result<(), ErrorKind> {
        if let Some(Record::Sites(_, sites)) = self.0.last_mut() {
            sites.push(site);
        }
        Ok(())
    }
    fn cpu_samples(&mut self, total: u32) -> Result<(), ErrorKind> {
        self.0.push(Record::Samples(total, Vec::new()));
        Ok(())
    }
    fn cpu_sample(&mut self, sample: CpuSample) -> Result<(), ErrorKind> {
        if let Some(Record::Samples(_, samples)) = self.0.last_mut() {
            samples.push(sample);
        }
        Ok(())
    }
    fn trace_times(&mut self, of: TimesOf, total_ns: u64) -> Result<(), ErrorKind> {
        self.0.push(Record::Times(of, total_ns, Vec::new()));
        Ok(())
    }
    fn dumped_thread(&mut self, thread: DumpedThread) -> Result<(), ErrorKind> {
        self.0.push(Record::DumpedThread(thread));
        Ok(())
    }
    fn dumped_monitor(&mut self, monitor: DumpedMonitor) -> Result<(), ErrorKind> {
        self.0.push(Record::DumpedMonitor(monitor, Vec::new()));
        Ok(())
    }
    fn waiter(&mut self, thread: u32) -> Result<(), ErrorKind> {
        if let Some(Record::DumpedMonitor(_, waiters)) = self.0.last_mut() {
            waiters.push(thread);
        }
        Ok(())
    }
    fn trace_time(&mut self, time: TraceTime) -> Result<(), ErrorKind> {
        if let Some(Record::Times(_, _, times)) = self.0.last_mut() {
            times.push(time);
        }
        Ok(())
    }
}

fn write(id_size: u32, records: &[Record]) -> Vec<u8> {
    let mut file = Vec::new();
    let header = Header {
        id_size,
        time_ms: 7,
    };
    let mut writer = Writer::new(&mut file, header).expect("memory can be written");
    for record in records {
        match record {
            Record::Unload(serial) => writer.unload_class(*serial),
            Record::Start(thread) => writer.start_thread(thread),
            Record::End(serial) => writer.end_thread(*serial),
            Record::Settings(settings) => writer.control_settings(settings),
            Record::Summary(summary) => writer.heap_summary(summary),
            Record::Sites(sums, sites) => writer.alloc_sites(sums, sites),
            Record::Samples(total, samples) => writer.cpu_samples(*total, samples),
            Record::Times(of, total, times) => writer.trace_times(*of, *total, times),
            Record::DumpedThread(thread) => writer.dumped_thread(thread),
            Record::DumpedMonitor(monitor, waiters) => writer.dumped_monitor(monitor, waiters),
        }
        .expect("memory can be written");
    }
    writer.finish().expect("memory can be written");
    file
}

fn started_thread(id_size: u32) -> impl Strategy<Value = Record> {
    let ids = vec(any::<u64>(), 4)
        .prop_map(move |ids| ids.into_iter().map(move |id| id >> (64 - 8 * id_size)));
    (any::<(u32, u32)>(), ids).prop_map(|((serial, trace), mut ids)| {
        let mut id = || ids.next().unwrap_or_default();
        Record::Start(StartThread {
            serial,
            object: id(),
            trace,
            name: id(),
            group: id(),
            parent_group: id(),
        })
    })
}

fn alloc_sites() -> impl Strategy<Value = Record> {
    let site = any::<((u8, u32, u32), (u32, u32), (u32, u32))>();
    let site = site.prop_map(
        |((array, class_serial, trace), live, allocated)| AllocSite {
            array,
            class_serial,
            trace,
            live,
            allocated,
        },
    );
    let sums = (
        any::<u16>(),
        0.0..1.0_f32,
        any::<((u32, u32), (u64, u64))>(),
    );
    (sums, vec(site, 0..5)).prop_map(|((flags, cutoff, (live, allocated)), rows)| {
        let sites = rows.len() as u32;
        let sums = AllocSites {
            flags,
            cutoff,
            live,
            allocated,
            sites,
        };
        Record::Sites(sums, rows)
    })
}

fn record(id_size: u32) -> impl Strategy<Value = Record> {
    let sample = any::<(u32, u32)>().prop_map(|(count, trace)| CpuSample { count, trace });
    let time =
        any::<(u64, u64, u32, u32)>().prop_map(|(ns, count, trace, class_serial)| TraceTime {
            ns,
            count,
            trace,
            class_serial,
        });
    let of = prop::sample::select(&[TimesOf::Calls, TimesOf::Monitors, TimesOf::Parks][..]);
    let id = any::<u64>().prop_map(move |id| id >> (64 - 8 * id_size));
    let dumped_thread = (any::<(u32, u32)>(), id.clone()).prop_map(|((thread, trace), status)| {
        Record::DumpedThread(DumpedThread {
            thread,
            trace,
            status,
        })
    });
    let waiters = (vec(any::<u32>(), 0..3), vec(any::<u32>(), 0..3));
    let monitor = (any::<(u32, u32)>(), id, waiters);
    let monitor = monitor.prop_map(|((owner, entries), class, (to_enter, to_be_notified))| {
        let monitor = DumpedMonitor {
            class,
            owner,
            entries,
            to_enter: to_enter.len() as u32,
            to_be_notified: to_be_notified.len() as u32,
        };
        Record::DumpedMonitor(monitor, [to_enter, to_be_notified].concat())
    });
    prop_oneof![
        any::<u32>().prop_map(Record::Unload),
        any::<u32>().prop_map(Record::End),
        started_thread(id_size),
        any::<(u32, u16)>()
            .prop_map(|(flags, depth)| Record::Settings(ControlSettings { flags, depth })),
        any::<((u32, u32), (u64, u64))>()
            .prop_map(|(live, allocated)| Record::Summary(HeapSummary { live, allocated })),
        alloc_sites(),
        (any::<u32>(), vec(sample, 0..5))
            .prop_map(|(total, samples)| Record::Samples(total, samples)),
        (of, any::<u64>(), vec(time, 0..5))
            .prop_map(|(of, total, times)| Record::Times(of, total, times)),
        dumped_thread,
        monitor,
    ]
}

fn records() -> impl Strategy<Value = (u32, Vec<Record>)> {
    prop::sample::select(&[4_u32, 8][..])
        .prop_flat_map(|id_size| (Just(id_size), vec(record(id_size), 0..20)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_records_are_read_again((id_size, records) in records()) {
        let file = write(id_size, &records);
        // The empty trace and the end of the dump are always there.
        let walked: u32 = walk(&file).into_values().sum();
        prop_assert_eq!(walked as usize, records.len() + 2);
        let mut found = Records::default();
        prop_assert_eq!(read(&file[..], &mut found).expect("the file is complete"), file.len() as u64);
        prop_assert_eq!(found.0, records);
    }

    #[test]
    fn any_bytes_have_an_end((id_size, records) in records(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut file = write(id_size, &records);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = read(&file[..], &mut Records::default());
    }
}

fn one_of_each_kind() -> [Record; 12] {
    let thread = StartThread {
        serial: 1,
        object: 2,
        trace: 3,
        name: 4,
        group: 5,
        parent_group: 6,
    };
    let sums = AllocSites {
        flags: 2,
        cutoff: 0.5,
        live: (3, 4),
        allocated: (5, 6),
        sites: 1,
    };
    let site = AllocSite {
        array: 8,
        class_serial: 7,
        trace: 9,
        live: (1, 2),
        allocated: (3, 4),
    };
    let time = TraceTime {
        ns: 8,
        count: 7,
        trace: 6,
        class_serial: 5,
    };
    let monitor = DumpedMonitor {
        class: 9,
        owner: 8,
        entries: 4,
        to_enter: 1,
        to_be_notified: 2,
    };
    [
        Record::Settings(ControlSettings { flags: 3, depth: 8 }),
        Record::Unload(1),
        Record::Start(thread),
        Record::End(1),
        Record::Summary(HeapSummary {
            live: (1, 2),
            allocated: (3, 4),
        }),
        Record::Sites(sums, vec![site]),
        Record::Samples(9, vec![CpuSample { count: 8, trace: 7 }]),
        Record::Times(TimesOf::Calls, 9, vec![time]),
        Record::Times(TimesOf::Monitors, 1, vec![]),
        Record::Times(TimesOf::Parks, 1, vec![]),
        Record::DumpedThread(DumpedThread {
            thread: 1,
            trace: 2,
            status: 3,
        }),
        Record::DumpedMonitor(monitor, vec![5, 6, 7]),
    ]
}

/// Compares one record of each kind with its exact bytes, which finds faults that writing and reading have in common.
#[test]
fn records_have_the_bytes_of_the_format() {
    let head = |tag, length| [tag, 0, 0, 0, 0, 0, 0, 0, length];
    let numbers = |values: &[u32]| {
        values
            .iter()
            .flat_map(|value| value.to_be_bytes())
            .collect::<Vec<_>>()
    };
    let expected = [
        &head(0x0e, 6)[..],
        &[0, 0, 0, 3, 0, 8],
        &head(0x03, 4),
        &numbers(&[1]),
        &head(0x0a, 24),
        &numbers(&[1, 2, 3, 4, 5, 6]),
        &head(0x0b, 4),
        &numbers(&[1]),
        &head(0x07, 24),
        &numbers(&[1, 2, 0, 3, 0, 4]),
        &head(0x06, 34 + 25),
        &[0, 2, 0x3f, 0, 0, 0],
        &numbers(&[3, 4, 0, 5, 0, 6, 1]),
        &[8],
        &numbers(&[7, 9, 1, 2, 3, 4]),
        &head(0x0d, 16),
        &numbers(&[9, 1, 8, 7]),
        &head(0x40, 36),
        &numbers(&[0, 9, 1, 0, 8, 0, 7, 6, 5]),
        &head(0x41, 12),
        &numbers(&[0, 1, 0]),
        &head(0x44, 12),
        &numbers(&[0, 1, 0]),
        &head(0x42, 12),
        &numbers(&[1, 2, 3]),
        &head(0x43, 32),
        &numbers(&[9, 8, 4, 1, 2, 5, 6, 7]),
        &head(0x2c, 0),
    ];
    let file = write(4, &one_of_each_kind());
    // The header and the empty trace.
    assert_eq!(file[31 + 21..], expected.concat());
}

/// A file that HPROF itself wrote begins with settings. Without a heap dump, the file also lacks the record that ends
/// a dump.
#[test]
fn a_file_with_settings_needs_no_end_of_a_dump() {
    let whole = write(
        8,
        &[
            Record::Settings(ControlSettings { flags: 2, depth: 4 }),
            Record::End(5),
        ],
    );
    let without_end = &whole[..whole.len() - 9];
    read(without_end, &mut Records::default()).expect("the file is complete");
    let no_settings = write(8, &[Record::End(5)]);
    let error = read(
        &no_settings[..no_settings.len() - 9],
        &mut Records::default(),
    );
    assert!(error.is_err_and(|error| error.is_truncated()));
}

#[test]
fn records_that_are_too_short_for_their_items_are_faults() {
    let sample = CpuSample { count: 1, trace: 2 };
    let file = write(4, &[Record::Samples(1, vec![sample, sample])]);
    let count = file.len() - 9 - 16 - 1;
    for (items, is_right) in [(2, true), (3, false), (255, false)] {
        let mut file = file.clone();
        assert_eq!(file[count], 2);
        file[count] = items;
        let outcome = read(&file[..], &mut Records::default());
        assert_eq!(outcome.is_ok(), is_right, "{items}: {outcome:?}");
    }
}

/// Counts the records of a file by their tags: the walker must know each record.
#[test]
fn the_walker_knows_all_records_of_a_profile() {
    let mut file = Vec::new();
    let header = Header {
        id_size: 8,
        time_ms: 7,
    };
    let mut writer = Writer::new(&mut file, header).expect("memory can be written");
    let name = writer.name(b"put").expect("memory can be written");
    let class = LoadClass {
        serial: 100_001,
        class: 5,
        name,
    };
    writer.load_class(&class).expect("memory can be written");
    let frame = StackFrame {
        id: 1,
        method_name: name,
        class_serial: 100_001,
        line: 405,
        ..StackFrame::default()
    };
    writer.stack_frame(&frame).expect("memory can be written");
    writer
        .stack_trace(300_001, 200_001, &[1, 1])
        .expect("memory can be written");
    writer
        .instance(9, 5, &[1, 2, 3])
        .expect("memory can be written");
    writer.finish().expect("memory can be written");
    let counts = [
        (1, 1),
        (2, 1),
        (4, 1),
        (5, 2),
        (0x1c, 1),
        (0x2c, 1),
        (256 + 0x21, 1),
    ];
    assert_eq!(walk(&file), counts.into_iter().collect());
}
