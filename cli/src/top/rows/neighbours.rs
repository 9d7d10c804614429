//! The callers and callees of a method.

use std::cmp::Ordering;

use loadhook_profile::analysis::picture::Calls;
use loadhook_text::count;

use super::table::{Column, Rows, known, named, percent};
use crate::top::model::Model;

/// The callers and callees of a method.
pub(in crate::top) struct Neighbours<'m> {
    model: &'m Model,
    name: String,
    callers: Vec<Calls>,
    callees: Vec<Calls>,
}

const NEIGHBOURS: [Column; 2] = [
    Column {
        title: "total %",
        width: 8,
    },
    Column {
        title: "count",
        width: 11,
    },
];

impl<'m> Neighbours<'m> {
    /// Collects the calls from and to the method of this name. There are none if the method is not in the interval.
    pub(in crate::top) fn new(model: &'m Model, name: &str) -> Neighbours<'m> {
        let sorted = |is_it: &dyn Fn(&Calls) -> bool| {
            let all = model.picture.calls.iter().copied();
            let mut calls: Vec<Calls> = all.filter(is_it).collect();
            let weight = |calls: &Calls| (calls.total_ns.unwrap_or(0.0), calls.count);
            calls.sort_by(|a, b| weight(b).partial_cmp(&weight(a)).unwrap_or(Ordering::Equal));
            calls
        };
        let is_named = |method: u32| named(model, method) == name;
        Neighbours {
            model,
            name: name.to_owned(),
            callers: sorted(&|calls: &Calls| is_named(calls.callee)),
            callees: sorted(&|calls: &Calls| calls.caller.is_some_and(is_named)),
        }
    }

    fn at(&self, row: usize) -> Option<&Calls> {
        self.callers.iter().chain(&self.callees).nth(row)
    }

    /// Returns the caller of a row of `callers`, or the callee of a row of `callees`.
    fn other(&self, row: usize) -> Option<u32> {
        let calls = self.at(row)?;
        if row < self.callers.len() {
            calls.caller
        } else {
            Some(calls.callee)
        }
    }
}

impl Rows for Neighbours<'_> {
    fn columns(&self) -> &'static [Column] {
        &NEIGHBOURS
    }

    fn title(&self) -> String {
        format!("callers (←) and callees (→) of {}", self.name)
    }

    fn len(&self) -> usize {
        self.callers.len() + self.callees.len()
    }

    fn name(&self, row: usize) -> &str {
        match self.other(row) {
            Some(method) => named(self.model, method),
            None => "(the start of a thread)",
        }
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        self.at(row).map_or(0.0, |calls| match column {
            0 => calls.total_ns.unwrap_or(-1.0),
            _ => calls.count as f64,
        })
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let Some(calls) = self.at(row) else {
            return String::new();
        };
        match column {
            0 => known(calls.total_ns, |ns| percent(self.model.percent(ns))),
            _ => count(calls.count),
        }
    }

    fn method(&self, row: usize) -> Option<u32> {
        self.other(row)
    }

    fn can_sort(&self) -> bool {
        false
    }

    fn lead(&self, row: usize) -> String {
        let arrow = if row < self.callers.len() {
            "← "
        } else {
            "→ "
        };
        arrow.to_owned()
    }
}
