//! `--focus`: the part of a tree that runs in certain methods.

use super::tree::Entry;
use crate::model::Waiting;

/// Keeps the paths through focused methods. Entries above a focused method stay as its context:
/// they have no own weight, and their total is the sum of the kept callees.
pub(crate) fn focus(mut entries: Vec<Entry>, is_focused: &[bool]) -> Vec<Entry> {
    // Set for a focused method and everything below it.
    let mut is_inside = vec![false; entries.len()];
    for (at, entry) in entries.iter().enumerate() {
        let above = entry
            .parent
            .is_some_and(|parent| is_inside[parent as usize]);
        is_inside[at] = above || is_focused[entry.method as usize];
    }
    // Set above a focused method, too.
    let mut is_kept = is_inside.clone();
    // Sums over the kept callees of each entry: total, variance of the total, and error of the cost.
    let mut callees = vec![[0.0f64; 3]; entries.len()];
    for at in (0..entries.len()).rev() {
        let weight = &mut entries[at].weight;
        if !is_inside[at] {
            weight.own = 0.0;
            weight.waiting = Waiting::default();
            weight.own_variance = 0.0;
            weight.once_variance = 0.0;
            weight.own_cost_error = 0.0;
            let [total, variance, cost_error] = callees[at];
            weight.total = total.min(weight.total);
            weight.known_total = weight.known_total.min(weight.total);
            weight.total_variance = variance;
            weight.total_cost_error = cost_error;
        }
        let total = [weight.total, weight.total_variance, weight.total_cost_error];
        if let Some(parent) = entries[at].parent.filter(|_| is_kept[at]) {
            let parent = parent as usize;
            is_kept[parent] = true;
            for (sum, more) in callees[parent].iter_mut().zip(total) {
                *sum += more;
            }
        }
    }
    keep(entries, &is_kept)
}

fn keep(entries: Vec<Entry>, is_kept: &[bool]) -> Vec<Entry> {
    let mut new_index = vec![None; entries.len()];
    let mut kept = Vec::new();
    for (at, mut entry) in entries.into_iter().enumerate() {
        if is_kept[at] {
            new_index[at] = Some(kept.len() as u32);
            entry.parent = entry.parent.and_then(|parent| new_index[parent as usize]);
            let recursion = entry.weight.recursion;
            entry.weight.recursion = recursion.and_then(|at| new_index[at as usize]);
            kept.push(entry);
        }
    }
    kept
}
