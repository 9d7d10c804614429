//! The figures on the screen: all figures of the last interval, and one value of each method for earlier intervals.

use std::collections::{HashMap, VecDeque};

use loadhook_profile::analysis::picture::{MethodFigures, Picture};

/// The number of intervals that are remembered.
pub(super) const REMEMBERED: usize = 20;

/// The figures of the last interval.
#[derive(Default)]
pub(super) struct Model {
    pub(super) picture: Picture,
    /// For each of the picture's methods, its value in the last intervals, the oldest first.
    pub(super) recent: Vec<Vec<f64>>,
    /// The command line of the program.
    pub(super) command: String,
}

impl Model {
    /// Converts a number of the interval to a number per second.
    pub(super) fn per_second(&self, number: f64) -> f64 {
        if self.picture.duration_ns > 0.0 {
            number * 1e9 / self.picture.duration_ns
        } else {
            0.0
        }
    }

    /// Converts a part of the picture's `whole` to percent.
    pub(super) fn percent(&self, part: f64) -> f64 {
        if self.picture.whole > 0.0 {
            100.0 * part / self.picture.whole
        } else {
            0.0
        }
    }
}

/// The values of methods in the last intervals.
#[derive(Default)]
pub(super) struct History {
    methods: HashMap<String, Recent>,
    /// True if an interval so far had durations of calls. The table of methods then keeps its column `p99`.
    has_latencies: bool,
}

/// The values of a method in the last intervals, the oldest first.
#[derive(Default)]
struct Recent {
    /// True if the values are calls a second, false if they are shares of the time.
    are_calls: bool,
    values: VecDeque<f64>,
}

impl History {
    /// Makes the model of the next interval.
    pub(super) fn next(&mut self, picture: Picture, command: String) -> Model {
        let mut model = Model {
            picture,
            recent: Vec::new(),
            command,
        };
        self.has_latencies |= model.picture.has_latencies;
        model.picture.has_latencies = self.has_latencies;
        for recent in self.methods.values_mut() {
            recent.push(0.0);
        }
        let picture = &model.picture;
        for figures in &picture.methods {
            let are_calls = figures.calls.is_some();
            let latest = value(&model, figures);
            let Some(name) = picture.names.get(figures.method as usize) else {
                continue;
            };
            if let Some(recent) = self.methods.get_mut(name) {
                if recent.are_calls != are_calls {
                    *recent = Recent::default();
                    recent.push(0.0);
                }
                recent.are_calls = are_calls;
                if let Some(last) = recent.values.back_mut() {
                    *last = latest;
                }
            } else if latest > 0.0 {
                let values = VecDeque::from([latest]);
                self.methods
                    .insert(name.clone(), Recent { are_calls, values });
            }
        }
        self.methods
            .retain(|_, recent| recent.values.iter().any(|value| *value > 0.0));
        let recent = picture.methods.iter().map(|figures| {
            let name = picture.names.get(figures.method as usize);
            let recent = name.and_then(|name| self.methods.get(name));
            recent.map_or(Vec::new(), |recent| recent.values.iter().copied().collect())
        });
        model.recent = recent.collect();
        model
    }
}

impl Recent {
    fn push(&mut self, value: f64) {
        self.values.push_back(value);
        if self.values.len() > REMEMBERED {
            self.values.pop_front();
        }
    }
}

/// Returns the value that is remembered: calls a second if calls are counted, otherwise the share
/// of the time.
fn value(model: &Model, figures: &MethodFigures) -> f64 {
    match figures.calls {
        Some(calls) => model.per_second(calls as f64),
        None => model.percent(figures.self_ns.unwrap_or(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(methods: &[(&str, Option<u64>, f64)]) -> Picture {
        let figures =
            |(method, (_, calls, self_ns)): (u32, &(&str, Option<u64>, f64))| MethodFigures {
                method,
                calls: *calls,
                calls_are_least: false,
                is_only_counted: false,
                self_ns: Some(*self_ns),
                total_ns: None,
                mean_ns: None,
                p99_ns: None,
                p99_is_partial: false,
            };
        Picture {
            duration_ns: 2e9,
            whole: 50.0,
            names: methods
                .iter()
                .map(|(name, ..)| (*name).to_owned())
                .collect(),
            methods: (0..).zip(methods).map(figures).collect(),
            ..Picture::default()
        }
    }

    #[test]
    fn methods_are_remembered_by_their_names() {
        let mut history = History::default();
        let mut next = |methods: &[_]| history.next(picture(methods), String::new()).recent;
        assert_eq!(
            next(&[("a", Some(4), 0.0), ("b", None, 25.0)]),
            [[2.0], [50.0]]
        );
        assert_eq!(next(&[("b", None, 5.0)]), [[50.0, 10.0]]);
        // Calls of `b` are counted from now on, so its shares are forgotten.
        assert_eq!(
            next(&[
                ("b", Some(8), 5.0),
                ("a", Some(6), 0.0),
                ("c", Some(0), 0.0)
            ]),
            [vec![4.0], vec![2.0, 0.0, 3.0], vec![]]
        );
        for _ in 0..REMEMBERED {
            next(&[]);
        }
        assert!(history.methods.is_empty());
    }
}
