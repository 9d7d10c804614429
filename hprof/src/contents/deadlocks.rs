//! Finds threads that wait for each other.

use std::collections::{BTreeMap, BTreeSet};

use super::model::MonitorDump;

impl MonitorDump {
    /// Returns circles of threads, given by their serial numbers. Each thread of a circle waits to enter a
    /// monitor that the next thread owns. A circle begins with its smallest number.
    #[must_use]
    pub fn deadlocks(&self) -> Vec<Vec<u32>> {
        let mut waits_for: BTreeMap<u32, u32> = BTreeMap::new();
        for monitor in &self.monitors {
            if let Some(owner) = monitor.owner.filter(|owner| owner.thread != 0) {
                let waiters = monitor.to_enter.iter().filter(|thread| **thread != 0);
                waits_for.extend(waiters.map(|thread| (*thread, owner.thread)));
            }
        }
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        for start in waits_for.keys() {
            let mut path = Vec::new();
            let mut thread = *start;
            while seen.insert(thread) {
                path.push(thread);
                match waits_for.get(&thread) {
                    Some(next) => thread = *next,
                    None => break,
                }
            }
            // The walk has met a thread of its own path, so the path from there on is a circle.
            if let Some(first) = path.iter().position(|of| *of == thread)
                && waits_for.contains_key(&thread)
            {
                let mut circle = path.split_off(first);
                let smallest = (0..circle.len()).min_by_key(|at| circle[*at]);
                circle.rotate_left(smallest.unwrap_or(0));
                circles.push(circle);
            }
        }
        circles
    }
}
