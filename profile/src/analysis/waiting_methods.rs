//! Methods that mostly waited.

use std::collections::HashMap;

use loadhook_text::java::shorten;
use loadhook_text::units;

use super::method_rows::Row;
use super::view::View;
use crate::model::Clock;

/// The maximum number of methods in the line below a table.
const NAMED: usize = 4;

/// Names the methods among `rows` that mostly waited. A thread cannot run longer than its processor
/// time. So the part of a method's time that exceeds its thread's processor time is waiting: a
/// lower bound.
pub(crate) fn mostly_waiting(view: &View<'_>, rows: &[Row]) -> Option<String> {
    if view.counts_only() || view.is_sampled() || view.profile.header.clock != Clock::Wall {
        return None;
    }
    let mut waited = vec![0.0; view.names.len()];
    for tree in &view.trees {
        let Some(cpu) = tree.cpu_ns else {
            continue;
        };
        let mut own: HashMap<u32, (f64, f64)> = HashMap::new();
        for entry in &tree.entries {
            let (ns, variance) = own.entry(entry.method).or_default();
            *ns += entry.weight.own;
            *variance += entry.weight.own_variance;
        }
        for (method, (ns, variance)) in own {
            waited[method as usize] += (ns - 2.0 * variance.sqrt() - cpu as f64).max(0.0);
        }
    }
    let is_large = |row: &&Row| {
        let waited = waited[row.method as usize];
        waited >= 0.5 * row.own && waited >= 0.02 * view.whole && waited > 0.0
    };
    let told = |row: &Row| {
        let name = shorten(&view.names[row.method as usize], 40);
        let waited = units::time(waited[row.method as usize]);
        format!("{name} (at least {waited} of {})", units::time(row.own))
    };
    let told: Vec<String> = rows.iter().filter(is_large).take(NAMED).map(told).collect();
    (!told.is_empty()).then(|| format!("mostly waiting: {}", told.join(", ")))
}
