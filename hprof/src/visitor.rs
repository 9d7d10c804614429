//! The interface through which the records of a dump are received.

use crate::error::ErrorKind;
use crate::record::alloc_sites::{AllocSite, AllocSites};
use crate::record::class_dump::ClassDump;
use crate::record::control_settings::ControlSettings;
use crate::record::cpu_samples::CpuSample;
use crate::record::header::Header;
use crate::record::heap_summary::HeapSummary;
use crate::record::load_class::LoadClass;
use crate::record::monitor_dump::{DumpedMonitor, DumpedThread};
use crate::record::root::Root;
use crate::record::stack_frame::StackFrame;
use crate::record::thread::StartThread;
use crate::record::trace_times::{TimesOf, TraceTime};
use crate::types::Type;

type Result = std::result::Result<(), ErrorKind>;

/// Receives the records of a dump. The default of each method ignores its records. An error stops the reading.
#[allow(unused_variables, missing_docs)]
pub trait Visitor {
    /// Returns whether the visitor uses field values and array elements. If not, the reader skips them.
    fn wants_contents(&self) -> bool {
        false
    }
    /// Returns whether the visitor uses the field values of this class's instances.
    fn wants_fields(&self, class: u64) -> bool {
        self.wants_contents()
    }
    /// Receives the header of the dump.
    fn header(&mut self, header: Header) {}
    /// Receives a name. Only its first 64 KiB are read; names in Java are not longer.
    fn text(&mut self, id: u64, text: &[u8]) -> Result {
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result {
        Ok(())
    }
    fn stack_frame(&mut self, frame: StackFrame) -> Result {
        Ok(())
    }
    /// Receives a stack trace and the serial number of its thread. The frames of the trace follow.
    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result {
        Ok(())
    }
    /// Receives the next frames of the last stack trace, from the top. `ids` has whole identifiers.
    fn trace_frames(&mut self, ids: &[u8]) -> Result {
        Ok(())
    }
    /// Receives the serial number of a class that was unloaded.
    fn unload_class(&mut self, serial: u32) -> Result {
        Ok(())
    }
    fn start_thread(&mut self, thread: StartThread) -> Result {
        Ok(())
    }
    /// Receives the serial number of a thread that ended.
    fn end_thread(&mut self, serial: u32) -> Result {
        Ok(())
    }
    fn control_settings(&mut self, settings: ControlSettings) -> Result {
        Ok(())
    }
    fn heap_summary(&mut self, summary: HeapSummary) -> Result {
        Ok(())
    }
    /// Receives the sums of all allocation sites. The sites follow.
    fn alloc_sites(&mut self, sites: AllocSites) -> Result {
        Ok(())
    }
    fn alloc_site(&mut self, site: AllocSite) -> Result {
        Ok(())
    }
    /// Receives the number of all samples. The samples of each trace follow.
    fn cpu_samples(&mut self, total: u32) -> Result {
        Ok(())
    }
    fn cpu_sample(&mut self, sample: CpuSample) -> Result {
        Ok(())
    }
    /// Receives the nanoseconds of all traces. The times of each trace follow.
    fn trace_times(&mut self, of: TimesOf, total_ns: u64) -> Result {
        Ok(())
    }
    fn trace_time(&mut self, time: TraceTime) -> Result {
        Ok(())
    }
    /// Receives the state of a thread in a dump of monitors.
    fn dumped_thread(&mut self, thread: DumpedThread) -> Result {
        Ok(())
    }
    /// Receives a monitor. The threads that wait for it follow.
    fn dumped_monitor(&mut self, monitor: DumpedMonitor) -> Result {
        Ok(())
    }
    /// Receives the serial number of a thread that waits for the last monitor.
    fn waiter(&mut self, thread: u32) -> Result {
        Ok(())
    }
    fn root(&mut self, root: Root) -> Result {
        Ok(())
    }
    fn class(&mut self, class: &ClassDump) -> Result {
        Ok(())
    }
    /// Receives an object that is not an array. `fields` has the values of the fields that its class declares,
    /// then those of the superclass, and so on. It is empty if the visitor does not use field values.
    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result {
        Ok(())
    }
    /// Receives an array of references; `class` is the class of the array. The elements follow if
    /// the visitor uses them. If not, the array is reported only when it is complete.
    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result {
        Ok(())
    }
    /// Receives the next elements of the last array of references. `ids` has whole identifiers.
    fn elements(&mut self, ids: &[u8]) {}
    /// Receives an array of a primitive type. The elements follow if the visitor uses them. If not,
    /// the array is reported only when it is complete.
    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result {
        Ok(())
    }
    /// Receives the next bytes of the last array of a primitive type.
    fn values(&mut self, bytes: &[u8]) {}
    /// Called if bytes that are not compressed follow the compressed dump. The bytes are not read.
    fn trailing_bytes(&mut self) {}
}

/// Two visitors that share one pass over a dump. Contents that one of them uses are passed to both.
pub struct Both<'v, A, B>(pub &'v mut A, pub &'v mut B);

impl<A: Visitor, B: Visitor> Visitor for Both<'_, A, B> {
    fn wants_contents(&self) -> bool {
        self.0.wants_contents() || self.1.wants_contents()
    }
    fn wants_fields(&self, class: u64) -> bool {
        self.0.wants_fields(class) || self.1.wants_fields(class)
    }
    fn header(&mut self, header: Header) {
        self.0.header(header);
        self.1.header(header);
    }
    fn text(&mut self, id: u64, text: &[u8]) -> Result {
        self.0.text(id, text)?;
        self.1.text(id, text)
    }
    fn load_class(&mut self, class: LoadClass) -> Result {
        self.0.load_class(class)?;
        self.1.load_class(class)
    }
    fn stack_frame(&mut self, frame: StackFrame) -> Result {
        self.0.stack_frame(frame)?;
        self.1.stack_frame(frame)
    }
    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result {
        self.0.stack_trace(serial, thread)?;
        self.1.stack_trace(serial, thread)
    }
    fn trace_frames(&mut self, ids: &[u8]) -> Result {
        self.0.trace_frames(ids)?;
        self.1.trace_frames(ids)
    }
    fn unload_class(&mut self, serial: u32) -> Result {
        self.0.unload_class(serial)?;
        self.1.unload_class(serial)
    }
    fn start_thread(&mut self, thread: StartThread) -> Result {
        self.0.start_thread(thread)?;
        self.1.start_thread(thread)
    }
    fn end_thread(&mut self, serial: u32) -> Result {
        self.0.end_thread(serial)?;
        self.1.end_thread(serial)
    }
    fn control_settings(&mut self, settings: ControlSettings) -> Result {
        self.0.control_settings(settings)?;
        self.1.control_settings(settings)
    }
    fn heap_summary(&mut self, summary: HeapSummary) -> Result {
        self.0.heap_summary(summary)?;
        self.1.heap_summary(summary)
    }
    fn alloc_sites(&mut self, sites: AllocSites) -> Result {
        self.0.alloc_sites(sites)?;
        self.1.alloc_sites(sites)
    }
    fn alloc_site(&mut self, site: AllocSite) -> Result {
        self.0.alloc_site(site)?;
        self.1.alloc_site(site)
    }
    fn cpu_samples(&mut self, total: u32) -> Result {
        self.0.cpu_samples(total)?;
        self.1.cpu_samples(total)
    }
    fn cpu_sample(&mut self, sample: CpuSample) -> Result {
        self.0.cpu_sample(sample)?;
        self.1.cpu_sample(sample)
    }
    fn trace_times(&mut self, of: TimesOf, total_ns: u64) -> Result {
        self.0.trace_times(of, total_ns)?;
        self.1.trace_times(of, total_ns)
    }
    fn trace_time(&mut self, time: TraceTime) -> Result {
        self.0.trace_time(time)?;
        self.1.trace_time(time)
    }
    fn dumped_thread(&mut self, thread: DumpedThread) -> Result {
        self.0.dumped_thread(thread)?;
        self.1.dumped_thread(thread)
    }
    fn dumped_monitor(&mut self, monitor: DumpedMonitor) -> Result {
        self.0.dumped_monitor(monitor)?;
        self.1.dumped_monitor(monitor)
    }
    fn waiter(&mut self, thread: u32) -> Result {
        self.0.waiter(thread)?;
        self.1.waiter(thread)
    }
    fn root(&mut self, root: Root) -> Result {
        self.0.root(root)?;
        self.1.root(root)
    }
    fn class(&mut self, class: &ClassDump) -> Result {
        self.0.class(class)?;
        self.1.class(class)
    }
    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result {
        self.0.instance(id, class, fields)?;
        self.1.instance(id, class, fields)
    }
    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result {
        self.0.object_array(id, class, length)?;
        self.1.object_array(id, class, length)
    }
    fn elements(&mut self, ids: &[u8]) {
        self.0.elements(ids);
        self.1.elements(ids);
    }
    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result {
        self.0.primitive_array(id, element, length)?;
        self.1.primitive_array(id, element, length)
    }
    fn values(&mut self, bytes: &[u8]) {
        self.0.values(bytes);
        self.1.values(bytes);
    }
    fn trailing_bytes(&mut self) {
        self.0.trailing_bytes();
        self.1.trailing_bytes();
    }
}
