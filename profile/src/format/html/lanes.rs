//! The page's form of a thread: its tree, its methods, and the edges of its call graph.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::encode::Numbers;
use crate::analysis::call_edges::{Edge, edges};
use crate::analysis::method_rows::Row;
use crate::analysis::paths::Paths;
use crate::analysis::tree::{Entry, Tree};
use crate::analysis::view::View;
use crate::model::ThreadKind;

/// The page's form of a thread. In a page of differences it has the nodes of both sides.
pub(super) struct Lane {
    pub(super) name: String,
    kind: ThreadKind,
    whole: f64,
    /// Set if the thread only waited, and the page folds it.
    waited: bool,
    nodes: Vec<Node>,
    rows: Vec<(u32, Sides)>,
    edges: Vec<(Ends, Sides)>,
    /// For each method, the nanoseconds for which the thread waited in the method and its
    /// callees. Empty in a page of differences, which shows only running time.
    waiting: Vec<(u32, f64)>,
}

/// The caller and the callee; the caller is `None` where the thread starts.
type Ends = (Option<u32>, u32);

#[derive(Clone, Copy)]
struct Node {
    parent: Option<u32>,
    method: u32,
    sides: Sides,
    /// The weight of this node and all nodes below, both sides together.
    below: f64,
}

/// The present cost, and in a page of differences the earlier cost.
#[derive(Clone, Copy)]
struct Sides {
    now: Cost,
    before: Option<Cost>,
}

/// The cost of a node, a method or an edge.
#[derive(Clone, Copy)]
struct Cost {
    /// Calls or objects.
    count: f64,
    known_count: f64,
    /// Nanoseconds or bytes; `None` if unknown. Edges have no own cost.
    own: Option<f64>,
    /// The same as `own`, callees included.
    total: Option<f64>,
    /// The part of `total` that the calls with known times took.
    known_total: f64,
    own_error: f64,
    total_error: f64,
    is_estimated: bool,
    total_is_bound: bool,
    is_partial: bool,
}

impl Cost {
    /// The cost of a node that was not called.
    const NONE: Cost = Cost {
        count: 0.0,
        known_count: 0.0,
        own: Some(0.0),
        total: Some(0.0),
        known_total: 0.0,
        own_error: 0.0,
        total_error: 0.0,
        is_estimated: false,
        total_is_bound: false,
        is_partial: false,
    };

    fn of_entry(entry: &Entry) -> Cost {
        let weight = &entry.weight;
        Cost {
            count: weight.count as f64,
            known_count: weight.known_count as f64,
            own: weight.known_own(),
            total: weight.some_total(),
            known_total: weight.known_total,
            own_error: weight.own_error(),
            total_error: weight.total_error(),
            is_estimated: weight.is_estimated,
            total_is_bound: false,
            is_partial: weight.is_partial(),
        }
    }

    fn of_row(row: &Row) -> Cost {
        Cost {
            count: row.count as f64,
            known_count: row.known_count as f64,
            own: row.known_own(),
            total: row.some_total(),
            known_total: row.known_total,
            own_error: row.own_error(),
            total_error: row.total_error(),
            is_estimated: row.is_estimated,
            total_is_bound: row.total_is_bound,
            is_partial: row.is_partial(),
        }
    }

    fn of_edge(edge: &Edge) -> Cost {
        Cost {
            count: edge.count as f64,
            known_count: edge.count as f64,
            total: edge.some_total(),
            known_total: edge.total,
            total_is_bound: edge.total_is_bound,
            is_partial: edge.is_partial,
            ..Cost::NONE
        }
    }

    /// Returns the width of a node in the flame graph.
    fn weight(&self, counts: bool) -> f64 {
        if counts {
            self.count
        } else {
            self.own.unwrap_or(0.0)
        }
    }

    fn add(&mut self, other: &Cost) {
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (known, None) | (None, known) => known,
        };
        *self = Cost {
            count: self.count + other.count,
            known_count: self.known_count + other.known_count,
            own: sum(self.own, other.own),
            total: sum(self.total, other.total),
            known_total: self.known_total + other.known_total,
            own_error: self.own_error.hypot(other.own_error),
            total_error: self.total_error.hypot(other.total_error),
            is_estimated: self.is_estimated || other.is_estimated,
            total_is_bound: self.total_is_bound || other.total_is_bound,
            is_partial: self.is_partial || other.is_partial,
        };
    }

    fn scaled(self, factor: f64) -> Cost {
        Cost {
            count: self.count * factor,
            known_count: self.known_count * factor,
            own: self.own.map(|own| own * factor),
            total: self.total.map(|total| total * factor),
            known_total: self.known_total * factor,
            own_error: self.own_error * factor,
            total_error: self.total_error * factor,
            ..self
        }
    }

    /// Writes the cost. A total equal to `expected` is not written, to save space.
    fn write(&self, expected: Option<f64>, out: &mut Numbers) {
        let is_expected = |total: f64| {
            expected.is_some_and(|expected| (total - expected).abs() <= 2.0 + total * 1e-5)
        };
        let total = self.total.filter(|total| !is_expected(*total));
        let timed = 0.0 < self.known_count && self.known_count < self.count;
        let errors = self.own_error.max(self.total_error) >= 0.5;
        let flags = [
            self.is_estimated,
            self.own.is_none(),
            self.total.is_none(),
            timed,
            total.is_some(),
            errors,
            self.total_is_bound,
            self.is_partial,
        ];
        let bits = flags.iter().enumerate();
        out.push(bits.fold(0, |sum, (bit, is_set)| sum | u64::from(*is_set) << bit));
        out.push_rounded(self.count);
        let given = [
            (self.own.is_some(), self.own.unwrap_or(0.0)),
            (total.is_some(), total.unwrap_or(0.0)),
            (timed, self.known_count),
            (timed, self.known_total),
            (errors, self.own_error),
            (errors, self.total_error),
        ];
        for (is_given, value) in given {
            if is_given {
                out.push_rounded(value);
            }
        }
    }
}

impl Default for Sides {
    fn default() -> Sides {
        Sides::now(Cost::NONE)
    }
}

impl Sides {
    fn now(now: Cost) -> Sides {
        Sides { now, before: None }
    }

    fn add(&mut self, cost: &Cost, is_now: bool) {
        if is_now {
            self.now.add(cost)
        } else {
            self.before.get_or_insert(Cost::NONE).add(cost)
        }
    }

    fn write(&self, expected: Option<f64>, is_diff: bool, out: &mut Numbers) {
        self.now.write(expected, out);
        if is_diff {
            self.before.unwrap_or(Cost::NONE).write(None, out);
        }
    }
}

impl Lane {
    /// Returns the lanes of a view, one for each thread. `folds` is false if the user named threads
    /// or methods, which are then shown even if they only waited.
    pub(super) fn all(view: &View<'_>, folds: bool) -> Vec<Lane> {
        let rows = view.rows_by_tree();
        let trees = view.trees.iter().zip(rows);
        let lane = |(tree, rows): (&Tree, Vec<Row>)| Lane {
            name: tree.name.clone(),
            kind: tree.kind,
            whole: tree.whole,
            waited: folds && tree.only_waited,
            nodes: tree.entries.iter().map(Node::of).collect(),
            waiting: rows
                .iter()
                .filter(|row| row.waiting > 0.0)
                .map(|row| (row.method, row.waiting))
                .collect(),
            rows: rows
                .iter()
                .map(|row| (row.method, Sides::now(Cost::of_row(row))))
                .collect(),
            edges: edges(tree)
                .iter()
                .map(|edge| ((edge.caller, edge.callee), Sides::now(Cost::of_edge(edge))))
                .collect(),
        };
        trees.map(lane).collect()
    }

    /// Returns the number of nodes of the lane.
    pub(super) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Divides all costs by a number of runs, and renumbers the methods.
    pub(super) fn share(&mut self, runs: usize, methods: &[u32]) {
        let factor = 1.0 / runs as f64;
        let number = |method: u32| methods[method as usize];
        let share = |sides: &mut Sides| sides.now = sides.now.scaled(factor);
        self.whole *= factor;
        for node in &mut self.nodes {
            node.method = number(node.method);
            node.below *= factor;
            share(&mut node.sides);
        }
        for (method, sides) in &mut self.rows {
            *method = number(*method);
            share(sides);
        }
        for (method, waiting) in &mut self.waiting {
            *method = number(*method);
            *waiting *= factor;
        }
        for ((caller, callee), sides) in &mut self.edges {
            *caller = caller.map(number);
            *callee = number(*callee);
            share(sides);
        }
    }

    /// Writes the columns of the tree, the methods and the edges. `keep` decides which nodes are
    /// written.
    pub(super) fn write(&self, keep: &mut Heaviest, is_diff: bool, counts: bool) -> Value {
        let kept = self.kept(keep);
        let mut places = vec![0u64; self.nodes.len()];
        let mut expected = vec![0.0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if kept[at] {
                expected[at] += node.sides.now.weight(counts).round();
                if let Some(parent) = node.parent {
                    expected[parent as usize] += expected[at];
                }
            }
        }
        let mut count = 0;
        let mut nodes = Numbers::default();
        for (at, node) in self.nodes.iter().enumerate().filter(|(at, _)| kept[*at]) {
            places[at] = count;
            // The distance to the caller; the caller comes first.
            nodes.push(
                node.parent
                    .map_or(0, |parent| count - places[parent as usize]),
            );
            nodes.push(node.method.into());
            node.sides.write(Some(expected[at]), is_diff, &mut nodes);
            count += 1;
        }
        let mut rows = Numbers::default();
        for (method, sides) in &self.rows {
            rows.push((*method).into());
            sides.write(None, is_diff, &mut rows);
        }
        let mut edges = Numbers::default();
        for ((caller, callee), sides) in &self.edges {
            edges.push(caller.map_or(0, |caller| u64::from(caller) + 1));
            edges.push((*callee).into());
            sides.write(None, is_diff, &mut edges);
        }
        let waiting: Vec<(u32, f64)> = self
            .waiting
            .iter()
            .map(|(method, ns)| (*method, ns.round()))
            .collect();
        let column = |numbers: &Numbers, count: usize| json!({ "count": count, "numbers": numbers.base64() });
        json!({
            "name": self.name,
            "kind": self.kind.as_str(),
            "whole": self.whole.round(),
            "waited": self.waited,
            "nodes": column(&nodes, count as usize),
            "rows": column(&rows, self.rows.len()),
            "edges": column(&edges, self.edges.len()),
            "waiting": waiting,
        })
    }

    fn kept(&self, keep: &mut Heaviest) -> Vec<bool> {
        self.nodes
            .iter()
            .map(|node| keep.keep(node.below))
            .collect()
    }
}

impl Node {
    fn of(entry: &Entry) -> Node {
        Node {
            parent: entry.parent,
            method: entry.method,
            sides: Sides::now(Cost::of_entry(entry)),
            below: entry.below,
        }
    }
}

/// Merges the earlier lanes into the present ones: threads of one name and kind, and nodes of one
/// path, become one.
pub(super) fn overlay(before: &[Lane], now: &[Lane]) -> Vec<Lane> {
    let mut sums: Vec<Sum<'_>> = Vec::new();
    let mut places: HashMap<(ThreadKind, &str), usize> = HashMap::new();
    for (side, is_now) in [(now, true), (before, false)] {
        for lane in side {
            let place = *places.entry((lane.kind, &lane.name)).or_insert_with(|| {
                sums.push(Sum::default());
                sums.len() - 1
            });
            sums[place].add(lane, is_now);
        }
    }
    sums.into_iter().map(Sum::lane).collect()
}

/// The sum of several lanes.
#[derive(Default)]
struct Sum<'l> {
    first: Option<&'l Lane>,
    whole: f64,
    /// True if the thread of one of the lanes did more than wait.
    worked: bool,
    paths: Paths,
    nodes: Vec<Node>,
    rows: BTreeMap<u32, Sides>,
    edges: BTreeMap<Ends, Sides>,
}

impl<'l> Sum<'l> {
    fn add(&mut self, lane: &'l Lane, is_now: bool) {
        self.first.get_or_insert(lane);
        self.worked |= !lane.waited;
        if is_now {
            self.whole += lane.whole;
        }
        let mut places: Vec<u32> = Vec::with_capacity(lane.nodes.len());
        for node in &lane.nodes {
            let parent = node.parent.map(|parent| places[parent as usize]);
            let place = self.paths.number(parent, node.method);
            places.push(place);
            if place as usize == self.nodes.len() {
                self.nodes.push(Node {
                    parent,
                    sides: Sides::default(),
                    below: 0.0,
                    ..*node
                });
            }
            let sum = &mut self.nodes[place as usize];
            sum.below += node.below;
            sum.sides.add(&node.sides.now, is_now);
        }
        for (method, sides) in &lane.rows {
            let sum = self.rows.entry(*method).or_default();
            sum.add(&sides.now, is_now);
        }
        for (ends, sides) in &lane.edges {
            let sum = self.edges.entry(*ends).or_default();
            sum.add(&sides.now, is_now);
        }
    }

    fn lane(self) -> Lane {
        Lane {
            name: self.first.map_or(String::new(), |lane| lane.name.clone()),
            kind: self.first.map_or(ThreadKind::default(), |lane| lane.kind),
            whole: self.whole,
            waited: !self.worked,
            nodes: self.nodes,
            rows: self.rows.into_iter().collect(),
            edges: self.edges.into_iter().collect(),
            // A page of differences shows only running time, no waiting.
            waiting: Vec::new(),
        }
    }
}

/// The limit that chooses the heaviest nodes, as many as a page has room for.
pub(super) struct Heaviest {
    /// All nodes heavier than this are kept.
    weight: f64,
    /// The number of nodes of exactly this weight that are kept. Very many nodes can have the
    /// weight 0.
    equal: usize,
}

impl Heaviest {
    /// Chooses at most `most` nodes of all lanes together.
    pub(super) fn of(lanes: &[Lane], most: usize) -> Heaviest {
        let nodes = lanes.iter().flat_map(|lane| &lane.nodes);
        let mut weights: Vec<f64> = nodes.map(|node| node.below).collect();
        if weights.len() <= most {
            let (weight, equal) = (f64::NEG_INFINITY, 0);
            return Heaviest { weight, equal };
        }
        let (heavier, weight, _) = weights.select_nth_unstable_by(most, |a, b| b.total_cmp(a));
        let weight = *weight;
        let heavier = heavier.iter().filter(|other| **other > weight).count();
        Heaviest {
            weight,
            equal: most - heavier,
        }
    }

    /// Returns whether the next node is kept. No node weighs more than its caller, and the caller
    /// comes first, so the callers of a kept node are kept too.
    fn keep(&mut self, weight: f64) -> bool {
        if weight == self.weight && self.equal > 0 {
            self.equal -= 1;
            return true;
        }
        weight > self.weight
    }
}
