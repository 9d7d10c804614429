//! Reads the records of a dump, one after the other.

use std::io::Read;

use crate::error::{Error, ErrorKind, Result};
use crate::gzip::unpacked;
use crate::input::Input;
use crate::record::alloc_sites::{AllocSite, AllocSites};
use crate::record::class_dump::ClassDump;
use crate::record::control_settings::ControlSettings;
use crate::record::cpu_samples::{CpuSample, CpuSamplesHead};
use crate::record::header::Header;
use crate::record::heap_summary::HeapSummary;
use crate::record::instance::InstanceHead;
use crate::record::load_class::LoadClass;
use crate::record::monitor_dump::{DumpedMonitor, DumpedThread};
use crate::record::object_array::ObjectArrayHead;
use crate::record::primitive_array::PrimitiveArrayHead;
use crate::record::root::Root;
use crate::record::stack_frame::StackFrame;
use crate::record::stack_trace::StackTraceHead;
use crate::record::thread::StartThread;
use crate::record::trace_times::{TimesOf, TraceTime, TraceTimesHead};
use crate::record::utf8;
use crate::record_input::RecordInput;
use crate::tag::{heap, top};
use crate::visitor::Visitor;

/// Reads a dump, compressed by gzip or not, and returns the number of its unpacked bytes. In addition to the
/// visitor's memory, this needs a megabyte, plus the memory of one class record, which may have 5 MB.
///
/// # Errors
///
/// Fails at the first fault. If the dump is cut off ([`Error::is_truncated`]), the visitor has received all complete
/// records before the end.
pub fn read(source: impl Read, visitor: &mut impl Visitor) -> std::result::Result<u64, Error> {
    let source = unpacked(source).map_err(|error| Error {
        kind: ErrorKind::Io(error),
        at: 0,
    })?;
    let mut input = Input::new(source);
    let outcome = read_all(&mut input, visitor);
    if input.has_trailing_bytes {
        visitor.trailing_bytes();
    }
    outcome.map(|()| input.at())
}

/// Reads a dump that may be cut off. Returns the number of bytes that were read and, if the dump is cut off
/// there, the error.
///
/// # Errors
///
/// Fails as [`read`](fn@read) does, but not on a dump that is cut off.
pub fn read_available(
    source: impl Read,
    visitor: &mut impl Visitor,
) -> std::result::Result<(u64, Option<Error>), Error> {
    match read(source, visitor) {
        Ok(bytes) => Ok((bytes, None)),
        Err(error) if error.is_truncated() => Ok((error.at, Some(error))),
        Err(error) => Err(error),
    }
}

fn read_all<R: Read, V: Visitor>(input: &mut Input<R>, visitor: &mut V) -> Result<()> {
    let header = Header::read(input)?;
    visitor.header(header);
    let mut reader = Reader {
        records: RecordInput {
            input,
            id_size: header.id_size as usize,
            segment_left: 0,
        },
        visitor,
    };
    reader.records()
}

struct Reader<'r, R, V> {
    records: RecordInput<'r, R>,
    visitor: &'r mut V,
}

impl<R: Read, V: Visitor> Reader<'_, R, V> {
    /// Reads all records after the header.
    fn records(&mut self) -> Result<()> {
        // A heap dump in segments needs an end record. A heap dump in one record (version 1.0.1) needs none. A
        // file that HPROF wrote begins with control settings and may have no heap dump, so it needs none either.
        let (mut needs_end, mut has_end) = (true, false);
        while !self.records.input.is_at_end()? {
            let tag = self.records.input.u1("a record")?;
            let _time = self.records.input.u4("a record")?;
            let length = u64::from(self.records.input.u4("a record")?);
            has_end = tag == top::HEAP_DUMP_END;
            match tag {
                top::HEAP_DUMP | top::HEAP_DUMP_SEGMENT => {
                    needs_end = tag == top::HEAP_DUMP_SEGMENT;
                    self.records.segment_left = length;
                    while self.records.segment_left > 0 {
                        self.heap_record()?;
                    }
                }
                top::CONTROL_SETTINGS => {
                    needs_end = false;
                    self.top_record(tag, length)?;
                }
                _ => self.top_record(tag, length)?,
            }
        }
        if needs_end && !has_end {
            return self.records.input.error(ErrorKind::Truncated(
                "the heap's segments: the record that ends the dump is missing",
            ));
        }
        Ok(())
    }

    /// Reads a record at the top level.
    fn top_record(&mut self, tag: u8, length: u64) -> Result<()> {
        let at = self.records.input.at();
        let id_size = self.records.id_size as u64;
        let fixed = match tag {
            top::UTF8 => id_size,
            top::LOAD_CLASS => LoadClass::length(id_size),
            top::STACK_FRAME => StackFrame::length(id_size),
            top::STACK_TRACE => StackTraceHead::LENGTH,
            top::UNLOAD_CLASS | top::END_THREAD => 4,
            top::START_THREAD => StartThread::length(id_size),
            top::CONTROL_SETTINGS => ControlSettings::LENGTH,
            top::HEAP_SUMMARY => HeapSummary::LENGTH,
            top::ALLOC_SITES => AllocSites::LENGTH,
            top::CPU_SAMPLES => CpuSamplesHead::LENGTH,
            tag if TimesOf::from_tag(tag).is_some() => TraceTimesHead::LENGTH,
            top::DUMPED_THREAD => DumpedThread::length(id_size),
            top::DUMPED_MONITOR => DumpedMonitor::length(id_size),
            _ => 0,
        };
        let Some(mut rest) = length.checked_sub(fixed) else {
            let what = "a record";
            return self
                .records
                .input
                .error(ErrorKind::BadLength { what, length });
        };
        match tag {
            top::UTF8 => {
                let (id, text, left) = utf8::read(&mut self.records, rest)?;
                let outcome = self.visitor.text(id, text);
                placed(outcome, at)?;
                rest = left;
            }
            top::LOAD_CLASS => {
                let class = LoadClass::read(&mut self.records)?;
                placed(self.visitor.load_class(class), at)?;
            }
            top::STACK_FRAME => {
                let frame = StackFrame::read(&mut self.records)?;
                placed(self.visitor.stack_frame(frame), at)?;
            }
            top::STACK_TRACE => rest = self.stack_trace(length, rest)?,
            top::ALLOC_SITES => rest = self.alloc_sites(length, rest)?,
            top::CPU_SAMPLES => rest = self.cpu_samples(length, rest)?,
            top::DUMPED_MONITOR => rest = self.dumped_monitor(length, rest)?,
            _ => match TimesOf::from_tag(tag) {
                Some(of) => rest = self.trace_times(of, length, rest)?,
                None => self.small_record(tag, at)?,
            },
        }
        self.records.input.skip(rest, "a record")
    }

    /// Reads a record of fixed length that does not belong to a heap dump.
    fn small_record(&mut self, tag: u8, at: u64) -> Result<()> {
        let outcome = match tag {
            top::UNLOAD_CLASS => {
                let serial = self.records.input.u4("an unloaded class")?;
                self.visitor.unload_class(serial)
            }
            top::START_THREAD => {
                let thread = StartThread::read(&mut self.records)?;
                self.visitor.start_thread(thread)
            }
            top::END_THREAD => {
                let serial = self.records.input.u4("the end of a thread")?;
                self.visitor.end_thread(serial)
            }
            top::CONTROL_SETTINGS => {
                let settings = ControlSettings::read(&mut self.records)?;
                self.visitor.control_settings(settings)
            }
            top::HEAP_SUMMARY => {
                let summary = HeapSummary::read(&mut self.records)?;
                self.visitor.heap_summary(summary)
            }
            top::DUMPED_THREAD => {
                let thread = DumpedThread::read(&mut self.records)?;
                self.visitor.dumped_thread(thread)
            }
            _ => Ok(()),
        };
        placed(outcome, at)
    }

    /// Reads allocation sites from a record of `length` bytes, `rest` of which come after the fixed part. Returns
    /// the number of bytes left after the sites.
    fn alloc_sites(&mut self, length: u64, rest: u64) -> Result<u64> {
        let at = self.records.input.at();
        let sums = AllocSites::read(&mut self.records)?;
        let bytes = u64::from(sums.sites) * AllocSite::LENGTH;
        let behind = self.behind(rest, bytes, "allocation sites", length)?;
        placed(self.visitor.alloc_sites(sums), at)?;
        for _ in 0..sums.sites {
            let at = self.records.input.at();
            let site = AllocSite::read(&mut self.records)?;
            placed(self.visitor.alloc_site(site), at)?;
        }
        Ok(behind)
    }

    /// Reads samples. Parameters and result are the same as in [`alloc_sites`](Self::alloc_sites).
    fn cpu_samples(&mut self, length: u64, rest: u64) -> Result<u64> {
        let at = self.records.input.at();
        let head = CpuSamplesHead::read(&mut self.records)?;
        let bytes = u64::from(head.traces) * CpuSample::LENGTH;
        let behind = self.behind(rest, bytes, "samples", length)?;
        placed(self.visitor.cpu_samples(head.total), at)?;
        for _ in 0..head.traces {
            let at = self.records.input.at();
            let sample = CpuSample::read(&mut self.records)?;
            placed(self.visitor.cpu_sample(sample), at)?;
        }
        Ok(behind)
    }

    /// Reads times by trace. Parameters and result are the same as in [`alloc_sites`](Self::alloc_sites).
    fn trace_times(&mut self, of: TimesOf, length: u64, rest: u64) -> Result<u64> {
        let at = self.records.input.at();
        let head = TraceTimesHead::read(&mut self.records)?;
        let bytes = u64::from(head.traces) * TraceTime::LENGTH;
        let behind = self.behind(rest, bytes, "times", length)?;
        placed(self.visitor.trace_times(of, head.total_ns), at)?;
        for _ in 0..head.traces {
            let at = self.records.input.at();
            let time = TraceTime::read(&mut self.records)?;
            placed(self.visitor.trace_time(time), at)?;
        }
        Ok(behind)
    }

    /// Reads a monitor. Parameters and result are the same as in [`alloc_sites`](Self::alloc_sites).
    fn dumped_monitor(&mut self, length: u64, rest: u64) -> Result<u64> {
        let what = "a monitor";
        let at = self.records.input.at();
        let monitor = DumpedMonitor::read(&mut self.records)?;
        let waiters = u64::from(monitor.to_enter) + u64::from(monitor.to_be_notified);
        let behind = self.behind(rest, 4 * waiters, what, length)?;
        placed(self.visitor.dumped_monitor(monitor), at)?;
        for _ in 0..waiters {
            let at = self.records.input.at();
            let thread = self.records.input.u4(what)?;
            placed(self.visitor.waiter(thread), at)?;
        }
        Ok(behind)
    }

    /// Returns the number of bytes of a record that come after its items. `rest` is the number of bytes after the
    /// fixed part, `items` the number of bytes of the items.
    fn behind(&self, rest: u64, items: u64, what: &'static str, length: u64) -> Result<u64> {
        match rest.checked_sub(items) {
            Some(behind) => Ok(behind),
            None => {
                let kind = ErrorKind::BadLength { what, length };
                self.records.input.error(kind)
            }
        }
    }

    /// Reads a stack trace from a record of `length` bytes, `rest` of which come after the fixed part. Returns
    /// the number of bytes left after the frames.
    fn stack_trace(&mut self, length: u64, rest: u64) -> Result<u64> {
        let what = "a stack";
        let id_size = self.records.id_size;
        let at = self.records.input.at();
        let trace = StackTraceHead::read(&mut self.records)?;
        let mut frames = u64::from(trace.frames) * id_size as u64;
        let behind = self.behind(rest, frames, what, length)?;
        placed(self.visitor.stack_trace(trace.serial, trace.thread), at)?;
        while frames > 0 {
            let ids = self.records.input.some(frames, id_size, what)?;
            frames -= ids.len() as u64;
            placed(self.visitor.trace_frames(ids), at)?;
        }
        Ok(behind)
    }

    fn heap_record(&mut self) -> Result<()> {
        let at = self.records.input.at();
        let what = "a heap record";
        self.records.reserve(1, what)?;
        let tag = self.records.input.u1(what)?;
        match tag {
            heap::CLASS_DUMP => {
                let class = ClassDump::read(&mut self.records)?;
                placed(self.visitor.class(&class), at)
            }
            heap::INSTANCE_DUMP => self.instance(at),
            heap::OBJECT_ARRAY_DUMP => self.object_array(at),
            heap::PRIMITIVE_ARRAY_DUMP => self.primitive_array(at),
            _ => {
                let root = Root::read(tag, at, &mut self.records)?;
                placed(self.visitor.root(root), at)
            }
        }
    }

    fn instance(&mut self, at: u64) -> Result<()> {
        let head = InstanceHead::read(&mut self.records)?;
        let what = "an object";
        let input = &mut self.records.input;
        let outcome = if self.visitor.wants_fields(head.class) {
            let fields = input.take(head.length as usize, what)?;
            self.visitor.instance(head.id, head.class, fields)
        } else {
            input.skip(head.length.into(), what)?;
            self.visitor.instance(head.id, head.class, &[])
        };
        placed(outcome, at)
    }

    fn object_array(&mut self, at: u64) -> Result<()> {
        let head = ObjectArrayHead::read(&mut self.records)?;
        let id_size = self.records.id_size;
        let mut left = self.skip_unwanted(head.content_bytes(id_size as u32))?;
        let outcome = self.visitor.object_array(head.id, head.class, head.length);
        placed(outcome, at)?;
        while left > 0 {
            let ids = self.records.input.some(left, id_size, "an array")?;
            left -= ids.len() as u64;
            self.visitor.elements(ids);
        }
        Ok(())
    }

    fn primitive_array(&mut self, at: u64) -> Result<()> {
        let head = PrimitiveArrayHead::read(&mut self.records, at)?;
        let mut left = self.skip_unwanted(head.content_bytes())?;
        let outcome = self
            .visitor
            .primitive_array(head.id, head.element, head.length);
        placed(outcome, at)?;
        while left > 0 {
            let bytes = self.records.input.some(left, 1, "an array")?;
            left -= bytes.len() as u64;
            self.visitor.values(bytes);
        }
        Ok(())
    }

    /// Skips the rest of an array whose contents the visitor does not read.
    #[inline]
    fn skip_unwanted(&mut self, contents: u64) -> Result<u64> {
        if self.visitor.wants_contents() {
            return Ok(contents);
        }
        self.records.input.skip(contents, "an array")?;
        Ok(0)
    }
}

/// Adds the position of the record to an error of the visitor.
#[inline]
fn placed(outcome: std::result::Result<(), ErrorKind>, at: u64) -> Result<()> {
    outcome.map_err(|kind| Error { kind, at })
}
