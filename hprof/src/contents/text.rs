//! Reads the contents of a text file.

use std::io::{BufReader, Read};

use super::error::ContentsError;
use super::model::{Contents, Format, Heap, MonitorDump, MonitorState, Section, Thread, Trace};
use crate::text::{Line, Reader, TextError, Waiters};

/// Reads a text file up to the first fault.
pub(super) fn read(source: impl Read) -> (Contents, Option<ContentsError>) {
    let mut building = Building::default();
    let error = building.read(source).err();
    (building.contents, error.map(ContentsError::Text))
}

#[derive(Default)]
struct Building {
    contents: Contents,
    /// Serial number of the trace whose frames are being read.
    trace: u32,
}

impl Building {
    fn read(&mut self, source: impl Read) -> Result<(), TextError> {
        let mut reader = Reader::new(BufReader::new(source))?;
        let date = reader.date().to_owned();
        self.contents.format = Format::Text { date };
        while let Some(line) = reader.next_line()? {
            self.line(line);
        }
        Ok(())
    }

    fn line(&mut self, line: Line) {
        let contents = &mut self.contents;
        let sections = &mut contents.sections;
        match line {
            Line::ThreadStart(start) => {
                let thread = Thread {
                    name: start.name,
                    group: start.group,
                    has_ended: false,
                };
                contents.threads.insert(start.serial, thread);
            }
            Line::ThreadEnd(end) => {
                contents.threads.entry(end.0).or_default().has_ended = true;
            }
            Line::Trace(head) => {
                self.trace = head.serial;
                let frames = Vec::new();
                let thread = head.thread;
                contents
                    .traces
                    .insert(head.serial, Trace { thread, frames });
            }
            Line::Frame(frame) => {
                let trace = contents.traces.entry(self.trace).or_default();
                trace.frames.push(frame);
            }
            Line::HeapBegin(_) => sections.push(Section::Heap(Heap::default())),
            Line::SitesBegin(begin) => {
                let rows = Vec::new();
                sections.push(Section::Sites { begin, rows });
            }
            Line::CostsBegin(begin) => {
                let rows = Vec::new();
                sections.push(Section::Costs { begin, rows });
            }
            Line::MonitorsBegin => sections.push(Section::Monitors(MonitorDump::default())),
            Line::MonitorEvent(_) => contents.monitor_events += 1,
            line => {
                if let Some(section) = sections.last_mut() {
                    add(section, line);
                }
            }
        }
    }
}

/// Adds a line to the section to which it belongs.
fn add(section: &mut Section, line: Line) {
    match (section, line) {
        (Section::Sites { rows, .. }, Line::Site(site)) => rows.push(site),
        (Section::Costs { rows, .. }, Line::Cost(cost)) => rows.push(cost),
        (Section::Heap(heap), Line::Root(_)) => heap.roots += 1,
        (Section::Heap(heap), Line::Class(_)) => heap.classes += 1,
        (Section::Heap(heap), Line::Object(_)) => heap.objects += 1,
        (Section::Heap(heap), Line::Array(_)) => heap.arrays += 1,
        (Section::Monitors(dump), Line::ThreadState(state)) => dump.threads.push(state),
        (Section::Monitors(dump), Line::Monitor(monitor)) => dump.monitors.push(MonitorState {
            class: monitor.class,
            ..MonitorState::default()
        }),
        (Section::Monitors(dump), Line::Owner(owner)) => {
            if let Some(monitor) = dump.monitors.last_mut() {
                monitor.owner = Some(owner);
            }
        }
        (Section::Monitors(dump), Line::Waiters(waiters)) => {
            if let Some(monitor) = dump.monitors.last_mut() {
                wait(monitor, waiters);
            }
        }
        // References of objects and the ends of sections are not kept.
        _ => {}
    }
}

fn wait(monitor: &mut MonitorState, waiters: Waiters) {
    if waiters.wait_for_notification {
        monitor.to_be_notified = waiters.threads;
    } else {
        monitor.to_enter = waiters.threads;
    }
}
