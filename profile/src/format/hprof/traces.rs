//! The traces that tables refer to, and their serial numbers.

use std::collections::HashMap;

use loadhook_hprof::StackFrame;

use super::detail::Detail;
use super::numbers::Numbers;
use crate::model::{Method, Profile};

/// A method and its line.
pub(super) type Place = (u32, Option<u32>);

/// A trace: its thread, if threads are told apart, and its frames, the innermost first.
type Key = (Option<u32>, Vec<Place>);

/// All traces that tables refer to.
pub(super) struct Traces<'p> {
    profile: &'p Profile,
    pub(super) detail: Detail,
    /// The first serial number of each kind that was free before these traces.
    pub(super) first: Numbers,
    numbers: HashMap<Key, u32>,
    all: Vec<Key>,
    /// The numbers in `all` of the traces that rows refer to, in the order of their serial numbers.
    used: Vec<u32>,
    /// The serial number of each used trace, by the trace's number in `all`.
    serials: HashMap<u32, u32>,
}

/// A trace that rows refer to.
pub(super) struct Trace<'t> {
    pub(super) serial: u32,
    /// Serial number of the trace's thread; `None` if threads are not told apart.
    pub(super) thread: Option<u32>,
    /// The frames, the innermost first.
    pub(super) frames: &'t [Place],
}

impl<'p> Traces<'p> {
    pub(super) fn new(profile: &'p Profile, detail: Detail, first: Numbers) -> Traces<'p> {
        Traces {
            profile,
            detail,
            first,
            numbers: HashMap::new(),
            all: Vec::new(),
            used: Vec::new(),
            serials: HashMap::new(),
        }
    }

    /// Returns the number of the trace of a thread with these frames, the innermost first. Numbers
    /// count from 0.
    pub(super) fn number(&mut self, thread: usize, frames: impl Iterator<Item = Place>) -> u32 {
        let lines = self.detail.lines;
        let frames = frames.take(self.detail.depth);
        let frames = frames.map(|(method, line)| (method, line.filter(|_| lines)));
        let thread = self.detail.by_thread.then(|| self.first.thread(thread));
        let key: Key = (thread, frames.collect());
        let next = self.all.len() as u32;
        *self.numbers.entry(key).or_insert_with_key(|key| {
            self.all.push(key.clone());
            next
        })
    }

    /// Returns the serial number of a trace, and marks the trace as used by a row. Unused traces
    /// are not written.
    pub(super) fn serial(&mut self, number: u32) -> u32 {
        *self.serials.entry(number).or_insert_with(|| {
            self.used.push(number);
            self.first.traces.saturating_add(self.used.len() as u32 - 1)
        })
    }

    /// Returns the name of the innermost method of the trace with this serial number, in the form
    /// that tables use.
    pub(super) fn name(&self, serial: u32) -> String {
        let number = self.used[(serial - self.first.traces) as usize];
        match self.all[number as usize].1.first() {
            Some((method, _)) => {
                let method = self.method(*method);
                format!("{}.{}", method.class, method.name)
            }
            None => "<empty trace>".to_owned(),
        }
    }

    /// Returns the profile's method at the index in a [`Place`].
    pub(super) fn method(&self, index: u32) -> &'p Method {
        &self.profile.methods[index as usize]
    }

    /// Returns the number that HPROF's formats have for the line of a place.
    pub(super) fn line(&self, (method, line): Place) -> i32 {
        let line = line.and_then(|line| i32::try_from(line).ok());
        line.unwrap_or(if self.method(method).is_native {
            StackFrame::NATIVE_METHOD
        } else {
            StackFrame::UNKNOWN_LINE
        })
    }

    /// Returns the traces that rows refer to.
    pub(super) fn used(&self) -> impl Iterator<Item = Trace<'_>> {
        let numbered = (self.first.traces..).zip(&self.used);
        numbered.map(|(serial, number)| {
            let (thread, frames) = &self.all[*number as usize];
            Trace {
                serial,
                thread: *thread,
                frames,
            }
        })
    }
}
