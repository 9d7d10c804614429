//! The contents of a binary file.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use super::error::ContentsError;
use super::model::{Contents, Format, Heap, MonitorDump, MonitorState, Section, Thread, Trace};
use crate::error::ErrorKind;
use crate::reader;
use crate::record::alloc_sites::{AllocSite, AllocSites};
use crate::record::class_dump::ClassDump;
use crate::record::cpu_samples::CpuSample;
use crate::record::header::Header;
use crate::record::heap_summary::HeapSummary;
use crate::record::load_class::LoadClass;
use crate::record::monitor_dump::{DumpedMonitor, DumpedThread};
use crate::record::root::Root;
use crate::record::stack_frame::StackFrame;
use crate::record::thread::StartThread;
use crate::record::trace_times::{TimesOf, TraceTime};
use crate::text::{
    Amount, Cost, CostKind, CostsBegin, Frame, Owner, Site, SitesBegin, ThreadState,
};
use crate::trace_table::TraceTable;
use crate::types::Type;
use crate::visitor::Visitor;

/// The bit of [`AllocSites::flags`] that is set if sites are ordered by allocated bytes instead of live bytes.
const BY_ALLOCATED: u16 = 2;

/// Reads a binary file up to the first fault.
pub(super) fn read(source: impl Read) -> (Contents, Option<ContentsError>) {
    let mut building = Building::default();
    let error = reader::read(source, &mut building).err();
    (building.finish(), error.map(ContentsError::Binary))
}

/// The contents of the file while it is read. Its parts refer to each other by numbers.
#[derive(Default)]
struct Building {
    id_size: usize,
    format: Format,
    names: HashMap<u64, Box<[u8]>>,
    /// The identifiers of the names of classes, by the classes' serial numbers.
    classes: HashMap<u32, u64>,
    frames: HashMap<u64, StackFrame>,
    threads: BTreeMap<u32, (StartThread, bool)>,
    traces: TraceTable,
    sections: Vec<Part>,
}

/// A monitor, and the serial numbers of the threads that wait for it.
type Waited = (DumpedMonitor, Vec<u32>);

/// A section that refers to names, classes and traces by numbers.
enum Part {
    Sites(AllocSites, Vec<AllocSite>),
    Samples(u32, Vec<CpuSample>),
    Times(TimesOf, u64, Vec<TraceTime>),
    Monitors(Vec<DumpedThread>, Vec<Waited>),
    Heap(Heap),
    Summary(HeapSummary),
}

impl Building {
    fn finish(self) -> Contents {
        let thread = |(serial, (thread, has_ended)): (&u32, &(StartThread, bool))| {
            let thread = Thread {
                name: self.name(thread.name),
                group: self.name(thread.group),
                has_ended: *has_ended,
            };
            (*serial, thread)
        };
        let trace = |(serial, (thread, frames)): (&u32, &(u32, Vec<u64>))| {
            let trace = Trace {
                thread: (*thread > 0).then_some(*thread),
                frames: frames.iter().map(|frame| self.frame(*frame)).collect(),
            };
            (*serial, trace)
        };
        let traces = self.traces.traces.iter().map(trace).collect();
        let section = |part: &Part| match part {
            Part::Sites(sums, sites) => self.sites(*sums, sites),
            Part::Samples(total, samples) => costs(*total, samples, &traces),
            Part::Times(of, total, times) => self.times(*of, *total, times, &traces),
            Part::Monitors(threads, monitors) => self.monitors(threads, monitors),
            Part::Heap(heap) => Section::Heap(heap.clone()),
            Part::Summary(summary) => Section::Summary(*summary),
        };
        Contents {
            format: self.format.clone(),
            threads: self.threads.iter().map(thread).collect(),
            sections: self.sections.iter().map(section).collect(),
            traces,
            ..Contents::default()
        }
    }

    fn name(&self, id: u64) -> String {
        let name = self
            .names
            .get(&id)
            .map(|name| String::from_utf8_lossy(name));
        name.unwrap_or_default().into_owned()
    }

    /// Returns the name of the class with this serial number, with dots instead of slashes, as in the text format.
    fn class(&self, serial: u32) -> String {
        let name = self.classes.get(&serial).map(|name| self.name(*name));
        name.unwrap_or_else(|| "<unknown class>".to_owned())
            .replace('/', ".")
    }

    fn frame(&self, id: u64) -> Frame {
        let Some(frame) = self.frames.get(&id) else {
            return Frame {
                class: "<unknown class>".to_owned(),
                method: "<unknown method>".to_owned(),
                source: None,
                line: StackFrame::UNKNOWN_LINE,
            };
        };
        Frame {
            class: self.class(frame.class_serial),
            method: self.name(frame.method_name),
            source: Some(self.name(frame.source_file)).filter(|name| !name.is_empty()),
            line: frame.line,
        }
    }

    fn sites(&self, sums: AllocSites, sites: &[AllocSite]) -> Section {
        let by_allocated = sums.flags & BY_ALLOCATED != 0;
        let total = if by_allocated {
            sums.allocated.0
        } else {
            sums.live.0.into()
        };
        let mut shares = Shares::new(total as f64);
        let amount = |(bytes, objects): (u32, u32)| Amount {
            bytes: Some(bytes.into()),
            objects: Some(objects.into()),
        };
        let row = |site: &AllocSite| {
            let bytes = if by_allocated {
                site.allocated.0
            } else {
                site.live.0
            };
            let (rank, own, accumulated) = shares.next(bytes.into());
            Site {
                rank,
                own,
                accumulated,
                live: amount(site.live),
                allocated: amount(site.allocated),
                trace: site.trace,
                class: self.class(site.class_serial),
            }
        };
        let rows = sites.iter().map(row).collect();
        let order = if by_allocated { "allocated" } else { "live" };
        let begin = SitesBegin {
            order: format!("{order} bytes"),
            date: String::new(),
        };
        Section::Sites { begin, rows }
    }

    fn times(
        &self,
        of: TimesOf,
        total_ns: u64,
        times: &[TraceTime],
        traces: &BTreeMap<u32, Trace>,
    ) -> Section {
        let mut shares = Shares::new(total_ns as f64);
        let row = |time: &TraceTime| {
            let (rank, own, accumulated) = shares.next(time.ns as f64);
            Cost {
                rank,
                own,
                accumulated,
                count: time.count.cast_signed(),
                trace: time.trace,
                name: match of {
                    TimesOf::Calls => top_method(time.trace, traces),
                    TimesOf::Monitors | TimesOf::Parks => self.class(time.class_serial),
                },
            }
        };
        let rows = times.iter().map(row).collect();
        let begin = CostsBegin {
            kind: match of {
                TimesOf::Calls => CostKind::Times,
                TimesOf::Monitors => CostKind::Monitors,
                TimesOf::Parks => CostKind::Parks,
            },
            total: (total_ns.saturating_add(500_000) / 1_000_000).cast_signed(),
            date: String::new(),
        };
        Section::Costs { begin, rows }
    }

    fn monitors(&self, threads: &[DumpedThread], monitors: &[Waited]) -> Section {
        let thread = |state: &DumpedThread| ThreadState {
            thread: state.thread,
            trace: state.trace,
            status: self.name(state.status),
        };
        let monitor = |(monitor, waiters): &Waited| {
            let middle = waiters.len().min(monitor.to_enter as usize);
            let (to_enter, to_be_notified) = waiters.split_at(middle);
            MonitorState {
                class: self.name(monitor.class),
                owner: (monitor.owner > 0).then_some(Owner {
                    thread: monitor.owner,
                    entries: monitor.entries.cast_signed(),
                }),
                to_enter: to_enter.to_vec(),
                to_be_notified: to_be_notified.to_vec(),
            }
        };
        Section::Monitors(MonitorDump {
            threads: threads.iter().map(thread).collect(),
            monitors: monitors.iter().map(monitor).collect(),
        })
    }

    /// Returns the dump of monitors that is being read, and begins one if there is none.
    fn dump(&mut self) -> Option<(&mut Vec<DumpedThread>, &mut Vec<Waited>)> {
        if !matches!(self.sections.last(), Some(Part::Monitors(..))) {
            self.sections.push(Part::Monitors(Vec::new(), Vec::new()));
        }
        match self.sections.last_mut() {
            Some(Part::Monitors(threads, monitors)) => Some((threads, monitors)),
            _ => None,
        }
    }

    /// Counts a record of the heap dump.
    fn heap(&mut self, count: impl FnOnce(&mut Heap)) -> Result<(), ErrorKind> {
        if let Some(Part::Heap(heap)) = self.sections.last_mut() {
            count(heap);
        } else {
            let mut heap = Heap::default();
            count(&mut heap);
            self.sections.push(Part::Heap(heap));
        }
        Ok(())
    }
}

/// Computes the shares that rows have in a total, one row after the other.
struct Shares {
    total: f64,
    sum: f64,
    rank: u32,
}

impl Shares {
    fn new(total: f64) -> Shares {
        Shares {
            total,
            sum: 0.0,
            rank: 0,
        }
    }

    /// Returns the rank of the next row, its percentage, and the percentage of all rows so far.
    fn next(&mut self, part: f64) -> (u32, f64, f64) {
        self.rank += 1;
        self.sum += part;
        let percent = |part: f64| {
            if self.total > 0.0 {
                100.0 * part / self.total
            } else {
                0.0
            }
        };
        (self.rank, percent(part), percent(self.sum))
    }
}

fn costs(total: u32, samples: &[CpuSample], traces: &BTreeMap<u32, Trace>) -> Section {
    let mut shares = Shares::new(total.into());
    let row = |sample: &CpuSample| {
        let (rank, own, accumulated) = shares.next(sample.count.into());
        Cost {
            rank,
            own,
            accumulated,
            count: sample.count.into(),
            trace: sample.trace,
            name: top_method(sample.trace, traces),
        }
    };
    let rows = samples.iter().map(row).collect();
    let begin = CostsBegin {
        kind: CostKind::Samples,
        total: total.into(),
        date: String::new(),
    };
    Section::Costs { begin, rows }
}

/// Returns the innermost method of a trace, as tables of the text format show it.
fn top_method(trace: u32, traces: &BTreeMap<u32, Trace>) -> String {
    match traces.get(&trace).and_then(|trace| trace.frames.first()) {
        Some(frame) => format!("{}.{}", frame.class, frame.method),
        None => "<empty trace>".to_owned(),
    }
}

impl Visitor for Building {
    fn header(&mut self, header: Header) {
        self.id_size = header.id_size as usize;
        self.format = Format::Binary {
            id_size: header.id_size,
            time_ms: header.time_ms,
        };
    }
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.names.insert(id, text.into());
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.classes.insert(class.serial, class.name);
        Ok(())
    }
    fn stack_frame(&mut self, frame: StackFrame) -> Result<(), ErrorKind> {
        self.frames.insert(frame.id, frame);
        Ok(())
    }
    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result<(), ErrorKind> {
        self.traces.begin(serial, thread);
        Ok(())
    }
    fn trace_frames(&mut self, ids: &[u8]) -> Result<(), ErrorKind> {
        self.traces.add_frames(ids, self.id_size);
        Ok(())
    }
    fn start_thread(&mut self, thread: StartThread) -> Result<(), ErrorKind> {
        self.threads.insert(thread.serial, (thread, false));
        Ok(())
    }
    fn end_thread(&mut self, serial: u32) -> Result<(), ErrorKind> {
        self.threads.entry(serial).or_default().1 = true;
        Ok(())
    }
    fn heap_summary(&mut self, summary: HeapSummary) -> Result<(), ErrorKind> {
        self.sections.push(Part::Summary(summary));
        Ok(())
    }
    fn alloc_sites(&mut self, sums: AllocSites) -> Result<(), ErrorKind> {
        self.sections.push(Part::Sites(sums, Vec::new()));
        Ok(())
    }
    fn alloc_site(&mut self, site: AllocSite) -> Result<(), ErrorKind> {
        if let Some(Part::Sites(_, sites)) = self.sections.last_mut() {
            sites.push(site);
        }
        Ok(())
    }
    fn cpu_samples(&mut self, total: u32) -> Result<(), ErrorKind> {
        self.sections.push(Part::Samples(total, Vec::new()));
        Ok(())
    }
    fn cpu_sample(&mut self, sample: CpuSample) -> Result<(), ErrorKind> {
        if let Some(Part::Samples(_, samples)) = self.sections.last_mut() {
            samples.push(sample);
        }
        Ok(())
    }
    fn trace_times(&mut self, of: TimesOf, total_ns: u64) -> Result<(), ErrorKind> {
        self.sections.push(Part::Times(of, total_ns, Vec::new()));
        Ok(())
    }
    fn trace_time(&mut self, time: TraceTime) -> Result<(), ErrorKind> {
        if let Some(Part::Times(_, _, times)) = self.sections.last_mut() {
            times.push(time);
        }
        Ok(())
    }
    fn dumped_thread(&mut self, thread: DumpedThread) -> Result<(), ErrorKind> {
        if let Some((threads, _)) = self.dump() {
            threads.push(thread);
        }
        Ok(())
    }
    fn dumped_monitor(&mut self, monitor: DumpedMonitor) -> Result<(), ErrorKind> {
        if let Some((_, monitors)) = self.dump() {
            monitors.push((monitor, Vec::new()));
        }
        Ok(())
    }
    fn waiter(&mut self, thread: u32) -> Result<(), ErrorKind> {
        if let Some((_, waiters)) = self.dump().and_then(|(_, monitors)| monitors.last_mut()) {
            waiters.push(thread);
        }
        Ok(())
    }
    fn root(&mut self, _: Root) -> Result<(), ErrorKind> {
        self.heap(|heap| heap.roots += 1)
    }
    fn class(&mut self, _: &ClassDump) -> Result<(), ErrorKind> {
        self.heap(|heap| heap.classes += 1)
    }
    fn instance(&mut self, _: u64, _: u64, _: &[u8]) -> Result<(), ErrorKind> {
        self.heap(|heap| heap.objects += 1)
    }
    fn object_array(&mut self, _: u64, _: u64, _: u32) -> Result<(), ErrorKind> {
        self.heap(|heap| heap.arrays += 1)
    }
    fn primitive_array(&mut self, _: u64, _: Type, _: u32) -> Result<(), ErrorKind> {
        self.heap(|heap| heap.arrays += 1)
    }
}
