//! What each object keeps.
//!
//! An object dominates what is reached from the roots only through it; that
//! is what goes when it goes. The algorithm is Lengauer's and Tarjan's with
//! path compression, in O(references × log objects) whatever the graph is.
//! All is numbered in the order in which a depth-first walk comes to it; 0 is
//! above the roots. It takes some 60 bytes an object and 4 a reference.

use std::collections::HashMap;

use crate::graph::Graph;

/// The dominator tree of the objects that roots keep.
pub struct Dominators {
    /// Object to its number in the walk, 0 of what no root keeps.
    order: Vec<u32>,
    /// Number in the walk to object.
    objects: Vec<u32>,
    /// Number to the one that dominates it.
    above: Vec<u32>,
    retained: Vec<u64>,
    /// Number to the first of those that refer to it.
    first: Vec<u32>,
    referrers: Vec<u32>,
}

impl Graph {
    /// Finds what each object keeps.
    #[must_use]
    pub fn dominators(&self) -> Dominators {
        let (order, objects, parents) = walk(self);
        let count = objects.len();
        // Who refers to each, among those that are kept.
        let mut first = vec![0_u32; count + 1];
        let numbers = |number: usize| {
            let references = match number {
                0 => &self.roots,
                _ => self.references(objects[number]),
            };
            references.iter().map(|to| order[*to as usize] as usize)
        };
        for from in 0..count {
            numbers(from).for_each(|to| first[to] += 1);
        }
        let mut sum = 0;
        for place in &mut first {
            sum += *place;
            *place = sum;
        }
        // Filled from the end of each part, which leaves its beginning.
        let mut referrers = vec![0; sum as usize];
        for from in (0..count).rev() {
            for to in numbers(from) {
                first[to] -= 1;
                referrers[first[to] as usize] = from as u32;
            }
        }
        let above = dominators(parents, &first, &referrers);
        let mut retained = vec![0];
        retained.extend(objects[1..].iter().map(|object| self.size(*object)));
        for number in (1..count).rev() {
            retained[above[number] as usize] += retained[number];
        }
        Dominators {
            order,
            objects,
            above,
            retained,
            first,
            referrers,
        }
    }
}

/// Walks from the roots: object to number, number to object, number to the
/// one from which it was reached.
fn walk(graph: &Graph) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut order = vec![0; graph.len() as usize];
    let mut objects = vec![0];
    let mut parents = vec![0];
    let mut stack: Vec<(u32, u32)> = Vec::new();
    for root in &graph.roots {
        let mut reached = Some((0, *root));
        loop {
            if let Some((from, object)) = reached.take()
                && order[object as usize] == 0
            {
                let number = objects.len() as u32;
                order[object as usize] = number;
                objects.push(object);
                parents.push(from);
                stack.push((number, 0));
            }
            let Some((number, next)) = stack.last_mut() else {
                break;
            };
            match graph
                .references(objects[*number as usize])
                .get(*next as usize)
            {
                Some(to) => {
                    *next += 1;
                    reached = Some((*number, *to));
                }
                None => drop(stack.pop()),
            }
        }
    }
    (order, objects, parents)
}

/// The immediate dominator of each.
fn dominators(parents: Vec<u32>, first: &[u32], referrers: &[u32]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = parents.len();
    let mut forest = Forest {
        // Of what is not linked yet, the parent.
        ancestor: parents,
        label: (0..count as u32).collect(),
        semi: (0..count as u32).collect(),
        path: Vec::new(),
    };
    let mut above = vec![0; count];
    let mut bucket = vec![NONE; count];
    let mut next = vec![NONE; count];
    for number in (1..count).rev() {
        let parent = forest.ancestor[number] as usize;
        let mut least = forest.semi[number];
        for referrer in &referrers[first[number] as usize..first[number + 1] as usize] {
            let best = forest.best(*referrer, number as u32);
            least = least.min(forest.semi[best as usize]);
        }
        forest.semi[number] = least;
        next[number] = bucket[least as usize];
        bucket[least as usize] = number as u32;
        // From here on, `number` is linked to its parent.
        let mut waiting = std::mem::replace(&mut bucket[parent], NONE);
        while waiting != NONE {
            let best = forest.best(waiting, number as u32 - 1);
            let is_below = forest.semi[best as usize] < forest.semi[waiting as usize];
            above[waiting as usize] = if is_below { best } else { parent as u32 };
            waiting = next[waiting as usize];
        }
    }
    for number in 1..count {
        if above[number] != forest.semi[number] {
            above[number] = above[above[number] as usize];
        }
    }
    above
}

/// What is linked so far: all numbers above one.
struct Forest {
    ancestor: Vec<u32>,
    /// The one of the least semidominator on the compressed path.
    label: Vec<u32>,
    semi: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// The one of the least semidominator between `number` and the root of
    /// its tree, that excluded; numbers above `limit` are linked.
    #[inline]
    fn best(&mut self, number: u32, limit: u32) -> u32 {
        if number <= limit {
            return number;
        }
        if self.ancestor[number as usize] > limit {
            self.compress(number, limit);
        }
        self.label[number as usize]
    }

    fn compress(&mut self, number: u32, limit: u32) {
        let mut at = number;
        while self.ancestor[at as usize] > limit {
            self.path.push(at);
            at = self.ancestor[at as usize];
        }
        while let Some(below) = self.path.pop() {
            let ancestor = self.ancestor[below as usize] as usize;
            let [old, new] = [self.label[below as usize], self.label[ancestor]];
            if self.semi[new as usize] < self.semi[old as usize] {
                self.label[below as usize] = new;
            }
            self.ancestor[below as usize] = self.ancestor[ancestor];
        }
    }
}

impl Dominators {
    /// How many objects roots keep.
    #[must_use]
    pub fn kept(&self) -> u32 {
        self.objects.len() as u32 - 1
    }

    /// Bytes of an object and of all that it alone keeps; `None` if no root
    /// keeps it.
    #[must_use]
    pub fn retained(&self, object: u32) -> Option<u64> {
        match self.order[object as usize] {
            0 => None,
            number => Some(self.retained[number as usize]),
        }
    }

    /// The object that keeps an object; `None` where roots do, or nothing.
    #[must_use]
    pub fn dominator(&self, object: u32) -> Option<u32> {
        let above = self.above[self.order[object as usize] as usize];
        (above != 0).then(|| self.objects[above as usize])
    }

    /// The objects that keep most, the largest first, at most `most`.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..self.objects.len() as u32).collect();
        let by = |number: &u32| (std::cmp::Reverse(self.retained[*number as usize]), *number);
        if most < numbers.len() {
            numbers.select_nth_unstable_by_key(most, by);
            numbers.truncate(most);
        }
        numbers.sort_by_key(by);
        let object = |number: u32| self.objects[number as usize];
        numbers.into_iter().map(object).collect()
    }

    /// What the objects of each class keep, by the class's identifier and
    /// name: each by itself, and those inside another of the class not again.
    #[must_use]
    pub fn by_class(&self, graph: &Graph) -> HashMap<u64, u64> {
        let count = self.objects.len();
        let of_class = graph.survey.of_class().unwrap_or(0) as usize;
        let class = |number: u32| {
            let class = graph.class(self.objects[number as usize]);
            class.map_or(of_class, |class| class as usize)
        };
        let mut child = vec![0_u32; count];
        let mut next = vec![0_u32; count];
        for number in (1..count).rev() {
            let above = self.above[number] as usize;
            next[number] = child[above];
            child[above] = number as u32;
        }
        let mut open = vec![0_u32; graph.survey.entries.len()];
        let mut bytes = vec![0_u64; graph.survey.entries.len()];
        let mut at = child.first().copied().unwrap_or(0);
        while at != 0 {
            let of = class(at);
            if open[of] == 0 {
                bytes[of] += self.retained[at as usize];
            }
            open[of] += 1;
            if child[at as usize] != 0 {
                at = child[at as usize];
                continue;
            }
            // Up until there is something beside.
            loop {
                open[class(at)] -= 1;
                if next[at as usize] != 0 {
                    at = next[at as usize];
                    break;
                }
                at = self.above[at as usize];
                if at == 0 {
                    break;
                }
            }
        }
        // Arrays of primitive types have no class of their own here.
        let key = |class: usize| match graph.survey.entries[class].id {
            0 => class as u64,
            id => id,
        };
        let all = bytes.into_iter().enumerate();
        all.filter(|(_, bytes)| *bytes > 0)
            .map(|(class, bytes)| (key(class), bytes))
            .collect()
    }

    /// The shortest way from an object up to a root, both included; empty if
    /// no root keeps it.
    #[must_use]
    pub fn path(&self, object: u32) -> Vec<u32> {
        let from = self.order[object as usize];
        if from == 0 {
            return Vec::new();
        }
        const UNSEEN: u32 = u32::MAX;
        let mut below = vec![UNSEEN; self.objects.len()];
        below[from as usize] = from;
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(number) = queue.pop_front().filter(|number| *number != 0) {
            let [start, end] = [number, number + 1].map(|n| self.first[n as usize] as usize);
            for referrer in &self.referrers[start..end] {
                if below[*referrer as usize] == UNSEEN {
                    below[*referrer as usize] = number;
                    queue.push_back(*referrer);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = 0;
        while at != from {
            at = below[at as usize];
            path.push(self.objects[at as usize]);
        }
        path.reverse();
        path
    }
}
