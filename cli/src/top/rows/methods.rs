//! The table of methods.

use loadhook_profile::analysis::picture::MethodFigures;
use loadhook_text::units::time;

use super::table::{Column, Rows, known, named, percent, rate};
use crate::top::model::Model;

/// Methods, in all their calling contexts.
pub(in crate::top) struct Methods<'m>(pub(in crate::top) &'m Model);

/// The column with bars for the values of the last intervals.
const BARS: Column = Column {
    title: "last",
    width: 8,
};

/// The column of the durations that 99 % of the calls do not exceed.
const P99: Column = Column {
    title: "p99",
    width: 8,
};

const METHODS: [Column; 5] = [
    Column {
        title: "calls/s",
        width: 11,
    },
    Column {
        title: "self %",
        width: 7,
    },
    Column {
        title: "total %",
        width: 8,
    },
    Column {
        title: "mean",
        width: 9,
    },
    BARS,
];

/// The columns if calls are counted by their durations. They lack the share with callees, which the
/// tree shows.
const TIMED_METHODS: [Column; 5] = {
    let [calls, own, _, mean, bars] = METHODS;
    [calls, own, mean, P99, bars]
};

/// The column of self times, by which methods are sorted at first.
pub(in crate::top) const SELF: usize = 1;

impl Methods<'_> {
    fn at(&self, row: usize) -> Option<&MethodFigures> {
        self.0.picture.methods.get(row)
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let figures = self.at(row)?;
        match (column, self.0.picture.has_latencies) {
            (0, _) => Some(self.0.per_second(figures.calls? as f64)),
            (1, _) => Some(self.0.percent(figures.self_ns?)),
            (2, false) => Some(self.0.percent(figures.total_ns?)),
            (2, true) | (3, false) => figures.mean_ns,
            (3, true) => figures.p99_ns,
            _ => Some(self.0.recent.get(row)?.iter().sum()),
        }
    }
}

impl Rows for Methods<'_> {
    fn columns(&self) -> &'static [Column] {
        if self.0.picture.has_latencies {
            &TIMED_METHODS
        } else {
            &METHODS
        }
    }

    fn title(&self) -> String {
        "method".to_owned()
    }

    fn len(&self) -> usize {
        self.0.picture.methods.len()
    }

    fn name(&self, row: usize) -> &str {
        self.at(row)
            .map_or("", |figures| named(self.0, figures.method))
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        self.value(row, column).unwrap_or(-1.0)
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let value = self.value(row, column);
        match (column, self.0.picture.has_latencies) {
            (0, _) => {
                let mark = self.at(row).map_or("", lost_probes);
                known(value, |calls| format!("{mark}{}", rate(calls)))
            }
            (3, true) if self.at(row).is_some_and(|it| it.p99_is_partial) => {
                known(value, |ns| format!("†{}", time(ns)))
            }
            (3, _) | (2, true) => known(value, time),
            (4, _) => bars(
                self.0.recent.get(row).map_or(&[], Vec::as_slice),
                BARS.width,
            ),
            _ => known(value, percent),
        }
    }

    fn method(&self, row: usize) -> Option<u32> {
        Some(self.at(row)?.method)
    }
}

/// Returns the mark of the calls of a method that lost probes.
fn lost_probes(figures: &MethodFigures) -> &'static str {
    if figures.calls_are_least {
        "≥"
    } else if figures.is_only_counted {
        "‡"
    } else {
        ""
    }
}

/// Draws the last `width` values as bars. The largest of these values has the full height.
fn bars(values: &[f64], width: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = values.get(values.len().saturating_sub(width)..);
    let last = last.unwrap_or_default();
    let most = last.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        if *value <= 0.0 {
            return ' ';
        }
        let height = (7.0 * value / most).round() as usize;
        HEIGHTS.get(height).copied().unwrap_or('█')
    };
    last.iter().map(bar).collect()
}
