//! Collects the stack traces of a binary file while the file is read.

use std::collections::BTreeMap;

use crate::input::number;

/// Stack traces by their serial numbers. The record of a trace comes in pieces: first its head, then its frames.
#[derive(Default)]
pub(crate) struct TraceTable {
    /// For each trace: the serial number of the thread (0 if there is none), and the identifiers of the frames.
    pub(crate) traces: BTreeMap<u32, (u32, Vec<u64>)>,
    /// Serial number of the trace whose frames are being read.
    open: u32,
}

impl TraceTable {
    /// Begins the trace with the serial number `serial`.
    pub(crate) fn begin(&mut self, serial: u32, thread: u32) {
        self.open = serial;
        self.traces.insert(serial, (thread, Vec::new()));
    }

    /// Adds frames to the trace that was begun last. `ids` are identifiers of `id_size` bytes each.
    pub(crate) fn add_frames(&mut self, ids: &[u8], id_size: usize) {
        if let Some((_, frames)) = self.traces.get_mut(&self.open) {
            frames.extend(ids.chunks_exact(id_size).map(number));
        }
    }
}
