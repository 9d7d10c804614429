//! The tables as lines of HPROF's text.

use loadhook_hprof::contents::MonitorDump;
use loadhook_hprof::text::{
    self, Cost, CostKind, CostsBegin, Frame, Line, Monitor, NoFrames, SitesBegin, TraceHead,
    Waiters,
};

use super::costs::Costs;
use super::sites::Sites;
use super::traces::{Place, Traces};
use crate::model::Amount;

/// Returns the lines of `CPU SAMPLES`, `CPU TIME (ms)`, `MONITOR TIME` or `PARK TIME`.
pub(super) fn cost_lines(costs: &Costs<'_>, date: &str, traces: &Traces<'_>) -> Vec<Line> {
    let total = match costs.kind {
        CostKind::Samples => costs.total as i64,
        CostKind::Times | CostKind::Monitors | CostKind::Parks => {
            (costs.total / 1e6).round() as i64
        }
    };
    let begin = CostsBegin {
        kind: costs.kind,
        total,
        date: date.to_owned(),
    };
    let mut lines = vec![Line::CostsBegin(begin)];
    for (rank, row) in (1..).zip(&costs.rows) {
        lines.push(Line::Cost(Cost {
            rank,
            own: row.own,
            accumulated: row.accumulated,
            count: row.of.count.cast_signed(),
            trace: row.of.trace,
            name: match row.of.class {
                Some(class) => class.to_owned(),
                None => traces.name(row.of.trace),
            },
        }));
    }
    lines.push(Line::CostsEnd(costs.kind));
    lines
}

/// Returns the lines of `SITES`.
pub(super) fn site_lines(sites: &Sites<'_>, date: &str) -> Vec<Line> {
    let order = if sites.is_live { "live" } else { "allocated" };
    let begin = SitesBegin {
        order: format!("{order} bytes"),
        date: date.to_owned(),
    };
    let mut lines = vec![Line::SitesBegin(begin)];
    for (rank, row) in (1..).zip(&sites.rows) {
        lines.push(Line::Site(text::Site {
            rank,
            own: row.own,
            accumulated: row.accumulated,
            live: if sites.is_live {
                whole(row.of.live)
            } else {
                text::Amount::default()
            },
            allocated: whole(row.of.allocated),
            trace: row.of.trace,
            class: row.of.type_name.to_owned(),
        }));
    }
    lines.push(Line::SitesEnd);
    lines
}

/// Returns the lines of `MONITOR DUMP`.
pub(super) fn monitor_lines(dump: &MonitorDump) -> Vec<Line> {
    let mut lines = vec![Line::MonitorsBegin];
    lines.extend(dump.threads.iter().cloned().map(Line::ThreadState));
    for monitor in &dump.monitors {
        lines.push(Line::Monitor(Monitor {
            class: monitor.class.clone(),
            is_owned: monitor.owner.is_some(),
        }));
        lines.extend(monitor.owner.map(Line::Owner));
        for (wait_for_notification, threads) in
            [(false, &monitor.to_enter), (true, &monitor.to_be_notified)]
        {
            lines.push(Line::Waiters(Waiters {
                wait_for_notification,
                threads: threads.clone(),
            }));
        }
    }
    lines.push(Line::MonitorsEnd);
    lines
}

/// Rounds an amount to whole bytes and objects, as `SITES` prints them.
fn whole(amount: Amount) -> text::Amount {
    let round = |number: f64| number.round() as u64;
    text::Amount {
        bytes: amount.bytes.map(round),
        objects: Some(round(amount.objects)),
    }
}

/// Returns the lines of `TRACE` for each trace that rows refer to.
pub(super) fn trace_lines(traces: &Traces<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for trace in traces.used() {
        lines.push(Line::Trace(TraceHead {
            serial: trace.serial,
            thread: trace.thread,
            phase: None,
        }));
        for place in trace.frames {
            lines.push(Line::Frame(frame(*place, traces)));
        }
        if trace.frames.is_empty() {
            lines.push(Line::NoFrames(NoFrames));
        }
    }
    lines
}

fn frame(place: Place, traces: &Traces<'_>) -> Frame {
    let method = traces.method(place.0);
    Frame {
        class: method.class.to_string(),
        method: method.name.to_string(),
        source: method.file.as_ref().map(|file| file.to_string()),
        line: traces.line(place),
    }
}
