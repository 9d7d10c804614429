//! The table of threads.

use loadhook_profile::analysis::picture::ThreadFigures;
use loadhook_profile::{ThreadKind, Waiting};

use super::table::{Column, Rows, UNKNOWN, known, percent};
use crate::top::model::Model;

/// Threads and groups of threads.
pub(in crate::top) struct Threads<'m>(pub(in crate::top) &'m Model);

const THREADS: [Column; 3] = [
    Column {
        title: "CPU %",
        width: 7,
    },
    Column {
        title: "waiting %",
        width: 10,
    },
    Column {
        title: "state",
        width: 10,
    },
];

impl Threads<'_> {
    fn at(&self, row: usize) -> Option<&ThreadFigures> {
        self.0.picture.threads.get(row)
    }

    /// Converts nanoseconds to percent of the interval.
    fn share(&self, ns: f64) -> f64 {
        100.0 * self.0.per_second(ns) / 1e9
    }
}

/// Returns the state in which a thread spent the largest part of the interval.
fn state(thread: &ThreadFigures) -> &'static str {
    let reasons = Waiting::REASONS.iter().zip(thread.waiting.parts());
    let waits = reasons.map(|(reason, ns)| match *reason {
        "other" => ("waiting", ns as f64),
        reason => (reason, ns as f64),
    });
    let running = thread.running_ns.unwrap_or(0.0);
    let all = [("running", running)].into_iter().chain(waits);
    let most = all.max_by(|(_, a), (_, b)| a.total_cmp(b));
    most.filter(|(_, ns)| *ns > 0.0)
        .map_or(UNKNOWN, |(state, _)| state)
}

impl Rows for Threads<'_> {
    fn columns(&self) -> &'static [Column] {
        &THREADS
    }

    fn title(&self) -> String {
        "thread".to_owned()
    }

    fn len(&self) -> usize {
        self.0.picture.threads.len()
    }

    fn name(&self, row: usize) -> &str {
        self.at(row).map_or("", |thread| &thread.name)
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        let Some(thread) = self.at(row) else {
            return 0.0;
        };
        match column {
            0 => thread.running_ns.unwrap_or(-1.0),
            1 => thread.waiting.total_ns() as f64,
            // The bytes of the state's name as one number, so that rows of the same state stand
            // together.
            _ => state(thread)
                .bytes()
                .fold(0.0, |sum, byte| 256.0 * sum + f64::from(byte)),
        }
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let Some(thread) = self.at(row) else {
            return String::new();
        };
        match column {
            0 => known(thread.running_ns, |ns| percent(self.share(ns))),
            1 => percent(self.share(thread.waiting.total_ns() as f64)),
            _ => state(thread).to_owned(),
        }
    }

    fn method(&self, _row: usize) -> Option<u32> {
        None
    }

    fn lead(&self, row: usize) -> String {
        match self.at(row).map(|thread| thread.kind) {
            Some(ThreadKind::Ended) => "ended: ".to_owned(),
            _ => String::new(),
        }
    }
}
