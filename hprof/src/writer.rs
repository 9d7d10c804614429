//! Writes a dump: names, classes and stacks, then the heap in segments.

use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};

use crate::record::alloc_sites::{AllocSite, AllocSites};
use crate::record::class_dump::ClassDump;
use crate::record::control_settings::ControlSettings;
use crate::record::cpu_samples::{CpuSample, CpuSamplesHead};
use crate::record::header::{HEADER_LENGTH, Header};
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
use crate::record_buffer::RecordBuffer;
use crate::tag::top;
use crate::types::Type;

/// Maximum number of bytes of a segment. A longer heap record has a segment of its own.
const SEGMENT: usize = 1 << 20;

/// Maximum number of bytes of a heap record, because the length of its segment has 32 bits.
pub const LONGEST_RECORD: u64 = u32::MAX as u64;

/// Serial number of the empty stack trace to which all classes and objects refer.
pub const NO_TRACE: u32 = 1;

/// The record of the trace [`NO_TRACE`], which has no thread and no frames: tag, time and length, then three numbers.
const NO_TRACE_RECORD: [u8; 21] = [
    top::STACK_TRACE,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    12,
    0,
    0,
    0,
    NO_TRACE as u8,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
];

/// Writes a dump of version 1.0.2.
///
/// One buffer collects the heap records of a segment, another the bytes of one record. Both are
/// reused, so writing an object allocates nothing. Top-level records may be written at any time,
/// except between the beginning and the end of an array. They precede the heap records that are
/// still in the buffer.
pub struct Writer<W: Write> {
    out: BufWriter<W>,
    id_size: u32,
    /// Identifiers of the names that [`Writer::name`] wrote.
    names: HashMap<Box<[u8]>, u64>,
    /// The identifier of the first name.
    first_name: u64,
    record: RecordBuffer,
    segment: Vec<u8>,
    /// True while a record with a segment of its own is written.
    has_own_segment: bool,
    /// True from the beginning of a heap record to its end.
    is_in_record: bool,
}

/// Returns the records of a dump without the header and the trace [`NO_TRACE`], so that they can be added to
/// another file or stream, which has both already.
///
/// # Errors
///
/// Fails if `dump` cannot be read, if a [`Writer`] did not begin it, or if its identifiers have another size.
pub fn records<R: Read>(mut dump: R, id_size: u32) -> io::Result<R> {
    let mut header = [0; HEADER_LENGTH];
    dump.read_exact(&mut header)?;
    let mut no_trace = [0; NO_TRACE_RECORD.len()];
    dump.read_exact(&mut no_trace)?;
    if !header.starts_with(&Header::magic(id_size)) || no_trace != NO_TRACE_RECORD {
        let text = "the heap dump does not have version 1.0.2 or the beginning of this writer, or its identifiers have another size than those of the output";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(dump)
}

impl<W: Write> Writer<W> {
    /// Writes the header and the stack trace [`NO_TRACE`].
    ///
    /// # Errors
    ///
    /// Like all methods of the writer, fails if `out` cannot be written, or if a record is written
    /// between the beginning and the end of an array.
    pub fn new(out: W, header: Header) -> io::Result<Self> {
        let mut writer = Writer::go_on(out, header.id_size);
        header.write(&mut writer.out)?;
        writer.stack_trace(NO_TRACE, 0, &[])?;
        Ok(writer)
    }

    /// Continues a stream that already has its header and first records. Identifiers have `id_size` bytes.
    pub fn go_on(out: W, id_size: u32) -> Self {
        Writer {
            out: BufWriter::new(out),
            id_size,
            names: HashMap::new(),
            first_name: 1,
            record: RecordBuffer::new(id_size),
            segment: Vec::with_capacity(SEGMENT),
            has_own_segment: false,
            is_in_record: false,
        }
    }

    /// Makes the writer number names from `first_name` on instead of from 1.
    #[must_use]
    pub fn with_names_from(mut self, first_name: u64) -> Self {
        self.first_name = first_name;
        self
    }

    /// Returns the identifier that the next new name will get.
    pub fn next_name(&self) -> u64 {
        self.names.len() as u64 + self.first_name
    }

    /// Returns the identifier of a name. If the name is new, writes it first.
    pub fn name(&mut self, text: &[u8]) -> io::Result<u64> {
        if let Some(id) = self.names.get(text) {
            return Ok(*id);
        }
        let id = self.next_name();
        self.names.insert(text.into(), id);
        self.text(id, text)?;
        Ok(id)
    }

    /// Writes a name with an identifier of the caller's choice. [`Writer::name`] uses the
    /// identifiers from 1 on.
    pub fn text(&mut self, id: u64, text: &[u8]) -> io::Result<()> {
        self.top_record(top::UTF8, |record| utf8::write(id, text, record))
    }

    /// Writes the name and the serial number of a class.
    pub fn load_class(&mut self, class: &LoadClass) -> io::Result<()> {
        self.top_record(top::LOAD_CLASS, |record| class.write(NO_TRACE, record))
    }

    /// Writes a frame of a stack trace.
    pub fn stack_frame(&mut self, frame: &StackFrame) -> io::Result<()> {
        self.top_record(top::STACK_FRAME, |record| frame.write(record))
    }

    /// Writes a stack trace with the identifiers of its frames, from the top. `thread` is a serial number.
    pub fn stack_trace(&mut self, serial: u32, thread: u32, frames: &[u64]) -> io::Result<()> {
        let head = StackTraceHead {
            serial,
            thread,
            frames: frames.len() as u32,
        };
        self.top_record(top::STACK_TRACE, |record| {
            head.write(record);
            frames.iter().for_each(|frame| record.id(*frame));
        })
    }

    /// Writes that the class with a serial number was unloaded.
    pub fn unload_class(&mut self, serial: u32) -> io::Result<()> {
        self.top_record(top::UNLOAD_CLASS, |record| record.u4(serial))
    }

    /// Writes the beginning of a thread.
    pub fn start_thread(&mut self, thread: &StartThread) -> io::Result<()> {
        self.top_record(top::START_THREAD, |record| thread.write(record))
    }

    /// Writes the end of the thread with a serial number.
    pub fn end_thread(&mut self, serial: u32) -> io::Result<()> {
        self.top_record(top::END_THREAD, |record| record.u4(serial))
    }

    /// Writes the settings of the agent.
    pub fn control_settings(&mut self, settings: &ControlSettings) -> io::Result<()> {
        self.top_record(top::CONTROL_SETTINGS, |record| settings.write(record))
    }

    /// Writes the numbers of bytes and objects in the heap.
    pub fn heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        self.top_record(top::HEAP_SUMMARY, |record| summary.write(record))
    }

    /// Writes allocation sites with their sums. The length of `sites` becomes the number of sites
    /// in the record.
    pub fn alloc_sites(&mut self, sums: &AllocSites, sites: &[AllocSite]) -> io::Result<()> {
        let sums = AllocSites {
            sites: u32::try_from(sites.len()).map_err(io::Error::other)?,
            ..*sums
        };
        self.top_record(top::ALLOC_SITES, |record| {
            sums.write(record);
            sites.iter().for_each(|site| site.write(record));
        })
    }

    /// Writes samples by trace. `total` may be larger than the sum of `samples`, because not all traces need be
    /// written.
    pub fn cpu_samples(&mut self, total: u32, samples: &[CpuSample]) -> io::Result<()> {
        let traces = u32::try_from(samples.len()).map_err(io::Error::other)?;
        self.top_record(top::CPU_SAMPLES, |record| {
            CpuSamplesHead { total, traces }.write(record);
            samples.iter().for_each(|sample| sample.write(record));
        })
    }

    /// Writes times by trace. `total_ns` may be larger than the sum of the times, because not all traces need be
    /// written.
    pub fn trace_times(
        &mut self,
        of: TimesOf,
        total_ns: u64,
        times: &[TraceTime],
    ) -> io::Result<()> {
        let traces = u32::try_from(times.len()).map_err(io::Error::other)?;
        self.top_record(of.tag(), |record| {
            TraceTimesHead { total_ns, traces }.write(record);
            times.iter().for_each(|time| time.write(record));
        })
    }

    /// Writes the state of a thread in a dump of monitors.
    pub fn dumped_thread(&mut self, thread: &DumpedThread) -> io::Result<()> {
        self.top_record(top::DUMPED_THREAD, |record| thread.write(record))
    }

    /// Writes a monitor with the threads that wait for it. The number of `waiters` must be the sum of the
    /// monitor's two counts.
    pub fn dumped_monitor(&mut self, monitor: &DumpedMonitor, waiters: &[u32]) -> io::Result<()> {
        self.top_record(top::DUMPED_MONITOR, |record| {
            monitor.write(record);
            waiters.iter().for_each(|thread| record.u4(*thread));
        })
    }

    /// Writes a root.
    pub fn root(&mut self, root: &Root) -> io::Result<()> {
        self.record.clear();
        root.write(&mut self.record);
        self.begin(0)?;
        self.end()
    }

    /// Writes a class. Fails if it has more than 65,535 constants, static fields or fields.
    pub fn class(&mut self, class: &ClassDump) -> io::Result<()> {
        self.record.clear();
        class.write(NO_TRACE, &mut self.record)?;
        self.begin(0)?;
        self.end()
    }

    /// Writes an object that is not an array, with the values of its fields.
    pub fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> io::Result<()> {
        let length = u32::try_from(fields.len()).map_err(io::Error::other)?;
        self.record.clear();
        InstanceHead { id, class, length }.write(NO_TRACE, &mut self.record);
        self.begin(length.into())?;
        self.put(fields)?;
        self.end()
    }

    /// Begins an array of references. Then write the identifiers of its elements by [`Writer::put`], and end by
    /// [`Writer::end_array`].
    pub fn begin_object_array(&mut self, id: u64, class: u64, length: u32) -> io::Result<()> {
        let head = ObjectArrayHead { id, class, length };
        self.record.clear();
        head.write(NO_TRACE, &mut self.record);
        self.begin(head.content_bytes(self.id_size))
    }

    /// Begins an array of a primitive type. Then write its elements, in big-endian order, by [`Writer::put`], and
    /// end by [`Writer::end_array`].
    pub fn begin_primitive_array(&mut self, id: u64, element: Type, length: u32) -> io::Result<()> {
        let head = PrimitiveArrayHead {
            id,
            element,
            length,
        };
        self.record.clear();
        head.write(NO_TRACE, &mut self.record);
        self.begin(head.content_bytes())
    }

    /// Writes the next bytes of the array that was begun. All calls together must write as many bytes as the
    /// array's length requires.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.has_own_segment && self.segment.len() + bytes.len() > SEGMENT {
            self.out.write_all(&self.segment)?;
            self.segment.clear();
            if bytes.len() >= SEGMENT {
                return self.out.write_all(bytes);
            }
        }
        self.segment.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the array that was begun.
    pub fn end_array(&mut self) -> io::Result<()> {
        self.end()
    }

    /// Ends the dump.
    pub fn finish(mut self) -> io::Result<()> {
        self.check_no_array()?;
        self.flush_segment()?;
        self.top_record(top::HEAP_DUMP_END, |_| {})?;
        self.out.flush()
    }

    /// Ends the file with the records of a complete dump, whose identifiers must differ from those written so far.
    ///
    /// # Errors
    ///
    /// Fails if `dump` cannot be read, has another version than 1.0.2, or has identifiers of another size than the
    /// writer.
    pub fn finish_with(mut self, dump: impl Read) -> io::Result<()> {
        self.check_no_array()?;
        self.flush_segment()?;
        io::copy(&mut records(dump, self.id_size)?, &mut self.out)?;
        self.out.flush()
    }

    /// Writes a record outside of segments.
    fn top_record(&mut self, tag: u8, write: impl FnOnce(&mut RecordBuffer)) -> io::Result<()> {
        self.check_no_array()?;
        self.record.clear();
        write(&mut self.record);
        write_record(&mut self.out, tag, self.record.bytes())
    }

    /// Begins the heap record whose first part is in `record`. `more` bytes follow.
    fn begin(&mut self, more: u64) -> io::Result<()> {
        self.check_no_array()?;
        let length = self.record.bytes().len() as u64 + more;
        if self.segment.len() as u64 + length > SEGMENT as u64 {
            self.flush_segment()?;
        }
        if length > SEGMENT as u64 {
            let length = u32::try_from(length).map_err(io::Error::other)?;
            write_head(&mut self.out, top::HEAP_DUMP_SEGMENT, length)?;
            self.has_own_segment = true;
        }
        // The segment has room for the record, or is empty.
        self.segment.extend_from_slice(self.record.bytes());
        self.is_in_record = true;
        Ok(())
    }

    /// Checks that no array is open: another record would be written into the middle of the array.
    fn check_no_array(&self) -> io::Result<()> {
        if self.is_in_record {
            let text = "a record cannot be written between the beginning and the end of an array";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.is_in_record = false;
        if self.has_own_segment {
            self.out.write_all(&self.segment)?;
            self.segment.clear();
            self.has_own_segment = false;
        }
        Ok(())
    }

    fn flush_segment(&mut self) -> io::Result<()> {
        if !self.segment.is_empty() {
            write_record(&mut self.out, top::HEAP_DUMP_SEGMENT, &self.segment)?;
            self.segment.clear();
        }
        Ok(())
    }
}

fn write_record(out: &mut impl Write, tag: u8, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    write_head(out, tag, length)?;
    out.write_all(body)
}

/// Writes tag, time and length of a top-level record.
fn write_head(out: &mut impl Write, tag: u8, length: u32) -> io::Result<()> {
    out.write_all(&[tag, 0, 0, 0, 0])?;
    out.write_all(&length.to_be_bytes())
}

#[cfg(test)]
mod tests;
