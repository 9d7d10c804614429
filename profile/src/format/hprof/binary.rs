//! The tables as records of HPROF's binary format.

use std::collections::HashMap;
use std::io::{self, Write};

use loadhook_hprof::contents::MonitorDump;
use loadhook_hprof::text::CostKind;
use loadhook_hprof::{
    AllocSite, AllocSites, ControlSettings, CpuSample, DumpedMonitor, DumpedThread, HeapSummary,
    LoadClass, NO_TRACE, StackFrame, StartThread, TimesOf, TraceTime, Type, Writer,
};

use super::costs::Costs;
use super::detail::Detail;
use super::numbers::Numbers;
use super::sites::Sites;
use super::traces::{Place, Traces};
use crate::model::Amount;

/// The first identifier of class objects. A profile does not know the identifiers of class objects,
/// so the writer makes them up. They are above all identifiers of a heap dump in the same file.
const CLASS_OBJECTS: u64 = 1 << 48;

/// The flags of [`ControlSettings`].
const TRACES_OF_ALLOCATIONS: u32 = 1;
const SAMPLES: u32 = 2;

/// The flag in [`AllocSites`] for sites that are ordered by allocated bytes.
const BY_ALLOCATED: u16 = 2;

/// The settings at the beginning of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// True if there are allocation sites.
    pub has_sites: bool,
    /// True if there are samples.
    pub has_samples: bool,
    /// Maximum number of frames of a trace.
    pub depth: usize,
}

/// Writes the settings, which come first in a file.
pub(super) fn settings<W: Write>(settings: StreamSettings, out: &mut Writer<W>) -> io::Result<()> {
    let traces = if settings.has_sites {
        TRACES_OF_ALLOCATIONS
    } else {
        0
    };
    let samples = if settings.has_samples { SAMPLES } else { 0 };
    out.control_settings(&ControlSettings {
        flags: traces | samples,
        depth: u16::try_from(settings.depth).unwrap_or(u16::MAX),
    })
}

/// Writes the beginning of a thread.
pub(super) fn thread<W: Write>(serial: u32, name: &str, out: &mut Writer<W>) -> io::Result<()> {
    let (name, no_name) = (out.name(name.as_bytes())?, out.name(b"")?);
    out.start_thread(&StartThread {
        serial,
        object: 0,
        trace: NO_TRACE,
        name,
        group: no_name,
        parent_group: no_name,
    })
}

/// The classes and frames that have been written.
pub(super) struct Defined {
    first: Numbers,
    /// Serial numbers of classes by name.
    classes: HashMap<String, u32>,
    /// Identifiers of frames.
    frames: HashMap<Place, u64>,
}

impl Defined {
    pub(super) fn new(first: Numbers) -> Defined {
        Defined {
            first,
            classes: HashMap::new(),
            frames: HashMap::new(),
        }
    }

    /// Returns the numbers that are still free after `out` has been written with `threads` threads.
    pub(super) fn rest<W: Write>(
        &self,
        threads: usize,
        traces: &Traces<'_>,
        out: &Writer<W>,
    ) -> Numbers {
        Numbers {
            threads: self.first.thread(threads),
            traces: self
                .first
                .traces
                .saturating_add(traces.used().count() as u32),
            classes: self.first.classes.saturating_add(self.classes.len() as u32),
            frames: self.first.frames + self.frames.len() as u64,
            names: out.next_name(),
        }
    }

    /// Writes the traces that rows refer to, and before each trace its frames.
    pub(super) fn traces<W: Write>(
        &mut self,
        traces: &Traces<'_>,
        out: &mut Writer<W>,
    ) -> io::Result<()> {
        for trace in traces.used() {
            let mut frames = Vec::with_capacity(trace.frames.len());
            for place in trace.frames {
                frames.push(self.frame(*place, traces, out)?);
            }
            out.stack_trace(trace.serial, trace.thread.unwrap_or(0), &frames)?;
        }
        Ok(())
    }

    fn frame<W: Write>(
        &mut self,
        place: Place,
        traces: &Traces<'_>,
        out: &mut Writer<W>,
    ) -> io::Result<u64> {
        if let Some(id) = self.frames.get(&place) {
            return Ok(*id);
        }
        let method = traces.method(place.0);
        let id = self.first.frames + self.frames.len() as u64;
        let frame = StackFrame {
            id,
            method_name: out.name(method.name.as_bytes())?,
            method_descriptor: out.name(method.descriptor.as_bytes())?,
            source_file: match &method.file {
                Some(file) => out.name(file.as_bytes())?,
                None => 0,
            },
            class_serial: self.class(&method.class, out)?,
            line: traces.line(place),
        };
        out.stack_frame(&frame)?;
        self.frames.insert(place, id);
        Ok(id)
    }

    /// Returns the serial number of a class, after writing the class if it is new.
    fn class<W: Write>(&mut self, name: &str, out: &mut Writer<W>) -> io::Result<u32> {
        if let Some(serial) = self.classes.get(name) {
            return Ok(*serial);
        }
        let serial = self.first.classes.saturating_add(self.classes.len() as u32);
        let class = LoadClass {
            serial,
            class: CLASS_OBJECTS + 8 * u64::from(serial),
            name: out.name(name.as_bytes())?,
        };
        out.load_class(&class)?;
        self.classes.insert(name.to_owned(), serial);
        Ok(serial)
    }

    /// Writes the sites.
    pub(super) fn sites<W: Write>(
        &mut self,
        sites: &Sites<'_>,
        detail: &Detail,
        out: &mut Writer<W>,
    ) -> io::Result<()> {
        let mut rows = Vec::with_capacity(sites.rows.len());
        for row in &sites.rows {
            let site = &row.of;
            rows.push(AllocSite {
                array: array_code(site.type_name),
                class_serial: self.class(site.type_name, out)?,
                trace: site.trace,
                live: small(site.live),
                allocated: small(site.allocated),
            });
        }
        let (live, allocated) = (small(sites.live), large(sites.allocated));
        let sums = AllocSites {
            flags: if sites.is_live { 0 } else { BY_ALLOCATED },
            cutoff: detail.cutoff as f32,
            live,
            allocated,
            sites: 0,
        };
        out.alloc_sites(&sums, &rows)
    }

    /// Writes samples, or times in a record of our own.
    pub(super) fn costs<W: Write>(
        &mut self,
        costs: &Costs<'_>,
        out: &mut Writer<W>,
    ) -> io::Result<()> {
        let of = match costs.kind {
            CostKind::Samples => {
                let rows = costs.rows.iter().map(|row| CpuSample {
                    count: u32::try_from(row.of.count).unwrap_or(u32::MAX),
                    trace: row.of.trace,
                });
                return out.cpu_samples(costs.total as u32, &rows.collect::<Vec<_>>());
            }
            CostKind::Times => TimesOf::Calls,
            CostKind::Monitors => TimesOf::Monitors,
            CostKind::Parks => TimesOf::Parks,
        };
        let mut rows = Vec::with_capacity(costs.rows.len());
        for row in &costs.rows {
            let cost = &row.of;
            rows.push(TraceTime {
                ns: cost.ns.round() as u64,
                count: cost.count,
                trace: cost.trace,
                class_serial: match cost.class {
                    Some(class) => self.class(class, out)?,
                    None => 0,
                },
            });
        }
        out.trace_times(of, costs.total.round() as u64, &rows)
    }
}

/// Writes the states of threads and monitors, in records of our own.
pub(super) fn monitors<W: Write>(dump: &MonitorDump, out: &mut Writer<W>) -> io::Result<()> {
    for state in &dump.threads {
        let status = out.name(state.status.as_bytes())?;
        out.dumped_thread(&DumpedThread {
            thread: state.thread,
            trace: state.trace,
            status,
        })?;
    }
    for monitor in &dump.monitors {
        let class = out.name(monitor.class.as_bytes())?;
        let waiters = [&monitor.to_enter[..], &monitor.to_be_notified].concat();
        let record = DumpedMonitor {
            class,
            owner: monitor.owner.map_or(0, |owner| owner.thread),
            entries: monitor
                .owner
                .map_or(0, |owner| owner.entries.cast_unsigned()),
            to_enter: monitor.to_enter.len() as u32,
            to_be_notified: monitor.to_be_notified.len() as u32,
        };
        out.dumped_monitor(&record, &waiters)?;
    }
    Ok(())
}

/// Writes the sizes of the heap.
pub(super) fn summary<W: Write>(sites: &Sites<'_>, out: &mut Writer<W>) -> io::Result<()> {
    let (live, allocated) = (small(sites.live), large(sites.allocated));
    out.heap_summary(&HeapSummary { live, allocated })
}

/// Returns the first byte of a site: for an array the code of its elements' type, otherwise 0.
fn array_code(type_name: &str) -> u8 {
    let Some(element) = type_name.strip_suffix("[]") else {
        return 0;
    };
    let is_it = |of: &&Type| of.to_string() == element;
    let of = Type::ALL.iter().skip(1).find(is_it);
    of.unwrap_or(&Type::Object).code()
}

/// Returns bytes and objects in 64 bits. A number that does not fit becomes the largest number.
fn large(amount: Amount) -> (u64, u64) {
    let bytes = amount.bytes.unwrap_or(0.0);
    (bytes.round() as u64, amount.objects.round() as u64)
}

/// Returns bytes and objects in 32 bits. A number that does not fit becomes the largest number.
fn small(amount: Amount) -> (u32, u32) {
    let bytes = amount.bytes.unwrap_or(0.0);
    (bytes.round() as u32, amount.objects.round() as u32)
}
