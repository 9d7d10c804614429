//! The traces that tables refer to, and their serial numbers.

use std::collections::HashMap;

use loadhook_hprof::StackFrame;
use loadhook_hprof::text::{Frame, Line, NoFrames, TraceHead};

use super::detail::Detail;
use crate::model::Profile;

/// Serial number of the first thread, as in HPROF's files.
const THREADS: u32 = 200_001;
/// Serial number of the first trace, as in HPROF's files.
const TRACES: u32 = 300_001;

/// The serial number of the profile's thread at this index.
pub(super) fn thread_serial(index: usize) -> u32 {
    THREADS.saturating_add(u32::try_from(index).unwrap_or(u32::MAX))
}

/// A method and its line.
pub(super) type Place = (u32, Option<u32>);

/// A trace: its thread, if threads are told apart, and its frames, the innermost first.
type Key = (Option<u32>, Vec<Place>);

/// All traces that tables refer to.
pub(super) struct Traces<'p> {
    profile: &'p Profile,
    pub(super) detail: Detail,
    numbers: HashMap<Key, u32>,
    all: Vec<Key>,
    /// The traces that rows refer to, in the order of their serial numbers.
    used: Vec<u32>,
    /// The serial numbers of the used traces.
    serials: HashMap<u32, u32>,
}

impl<'p> Traces<'p> {
    pub(super) fn new(profile: &'p Profile, detail: Detail) -> Traces<'p> {
        Traces {
            profile,
            detail,
            numbers: HashMap::new(),
            all: Vec::new(),
            used: Vec::new(),
            serials: HashMap::new(),
        }
    }

    /// The number of the trace with these frames, from the innermost, in a thread; numbers count from 0.
    pub(super) fn number(&mut self, thread: usize, frames: impl Iterator<Item = Place>) -> u32 {
        let lines = self.detail.lines;
        let frames = frames.take(self.detail.depth);
        let frames = frames.map(|(method, line)| (method, line.filter(|_| lines)));
        let thread = self.detail.by_thread.then(|| thread_serial(thread));
        let key: Key = (thread, frames.collect());
        let next = self.all.len() as u32;
        *self.numbers.entry(key).or_insert_with_key(|key| {
            self.all.push(key.clone());
            next
        })
    }

    /// The serial number of a trace that a row refers to. Other traces are not written.
    pub(super) fn serial(&mut self, number: u32) -> u32 {
        *self.serials.entry(number).or_insert_with(|| {
            self.used.push(number);
            TRACES.saturating_add(self.used.len() as u32 - 1)
        })
    }

    /// The innermost method of a trace, as tables name it.
    pub(super) fn name(&self, number: u32) -> String {
        let key = &self.all[number as usize];
        match key.1.first() {
            Some((method, _)) => {
                let method = &self.profile.methods[*method as usize];
                format!("{}.{}", method.class, method.name)
            }
            None => "<empty trace>".to_owned(),
        }
    }

    /// The traces that rows refer to.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        let numbered = (TRACES..).zip(&self.used);
        numbered.flat_map(|(serial, number)| {
            let (thread, frames) = &self.all[*number as usize];
            let head = TraceHead {
                serial,
                thread: *thread,
                phase: None,
            };
            let mut lines = vec![Line::Trace(head)];
            lines.extend(frames.iter().map(|place| Line::Frame(self.frame(*place))));
            if frames.is_empty() {
                lines.push(Line::NoFrames(NoFrames));
            }
            lines
        })
    }

    fn frame(&self, (method, line): Place) -> Frame {
        let method = &self.profile.methods[method as usize];
        let line = line.and_then(|line| i32::try_from(line).ok());
        Frame {
            class: method.class.to_string(),
            method: method.name.to_string(),
            source: method.file.as_ref().map(|file| file.to_string()),
            line: line.unwrap_or(StackFrame::UNKNOWN_LINE),
        }
    }
}
