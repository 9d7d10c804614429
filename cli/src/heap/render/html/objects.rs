//! The objects of the page: the dominator tree of the largest objects, and instances of each class.
//! The most important objects also have their fields, their referrers, and the path to their root.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use loadhook_heap::{
    Details, Dominators, Field, FieldValue, Graph, ShortestPaths, Suspect, THRESHOLD, Threads,
};
use loadhook_text::{clipped, printable};
use serde_json::{Map, Value, json};

use super::super::super::views::root_reason::RootReason;
use super::super::root_line::root_line;
use super::super::text::{id, shortened};

/// Maximum number of objects in the dominator tree.
pub(super) const MOST_ROWS: usize = 20_000;
/// Approximate maximum number of objects that the page names: at this number, no more fields are
/// added.
const MOST_NAMED: usize = 100_000;
/// Maximum number of objects with details.
const MOST_DETAILS: usize = 10_000;
/// The maximum number of objects that get details because of their retained size. The other objects
/// with details are instances of classes.
const MOST_LARGEST: usize = 4_000;
/// The maximum number of instances listed for a class; those with the largest retained sizes are
/// listed.
const MOST_INSTANCES: usize = 20;
/// Maximum number of fields or elements of an object.
pub(super) const MOST_FIELDS: usize = 40;
/// Maximum number of referrers of an object.
const MOST_REFERRERS: usize = 20;
/// Maximum number of objects of a path. The path begins at the object that it belongs to.
const MOST_STEPS: usize = 30;
/// Maximum number of columns of a value.
const LONGEST_VALUE: usize = 120;

/// The data of the page about objects.
pub(super) struct ObjectData {
    pub(super) objects: Value,
    /// For each class, the indexes of its listed instances among the objects.
    pub(super) instances: Vec<Vec<usize>>,
    pub(super) suspects: Value,
}

/// The objects that the page shows, before their details are read.
pub(super) struct ObjectSelection<'g> {
    graph: &'g Graph,
    dominators: &'g Dominators<'g>,
    paths: ShortestPaths<'g>,
    suspects: Vec<Suspect>,
    /// The objects of the dominator tree.
    largest: Vec<u32>,
    /// For each class, the instances that retain most.
    instances: Vec<Vec<u32>>,
    /// Objects whose details are shown.
    pub(super) detailed: Vec<u32>,
    /// For each object in `detailed`: its first referrers, and the number of all its referrers.
    referrers: Vec<(Vec<u32>, u64)>,
    /// For each object in `detailed`: the first steps of its path to a root.
    steps: Vec<Vec<u32>>,
    /// Each referrer with an object that it refers to. For these pairs the page shows the name of the reference: a
    /// field or an index.
    pub(super) pairs: Vec<(u32, u32)>,
}

impl<'g> ObjectSelection<'g> {
    /// Selects the objects for a page that has the classes `classes`.
    pub(super) fn new(
        graph: &'g Graph,
        dominators: &'g Dominators<'g>,
        classes: &[u64],
    ) -> Result<ObjectSelection<'g>> {
        let paths = graph
            .shortest_paths()
            .context("cannot find the paths to the roots")?;
        let suspects = dominators.suspects(&paths);
        let largest = dominators.largest(MOST_ROWS);
        let instances = dominators.largest_of_each(classes, MOST_INSTANCES);
        let detailed = detailed(&suspects, &largest, &instances);
        let referrers = graph.referrers(&detailed, MOST_REFERRERS);
        let steps = detailed.iter().map(|object| first_steps(&paths, *object));
        let steps: Vec<Vec<u32>> = steps.collect();
        let mut pairs: HashSet<(u32, u32)> = HashSet::new();
        for ((object, (first, _)), path) in detailed.iter().zip(&referrers).zip(&steps) {
            pairs.extend(first.iter().map(|from| (*from, *object)));
            pairs.extend(path.windows(2).map(|pair| (pair[1], pair[0])));
        }
        Ok(ObjectSelection {
            graph,
            dominators,
            paths,
            suspects,
            largest,
            instances,
            detailed,
            referrers,
            steps,
            pairs: pairs.into_iter().collect(),
        })
    }

    /// Returns the data of the page, including the details that were read.
    pub(super) fn data(self, details: Details, threads: &Threads) -> ObjectData {
        let mut page = Page {
            graph: self.graph,
            dominators: self.dominators,
            details,
            objects: Vec::new(),
            places: HashMap::new(),
            words: Words::default(),
            roots: HashMap::new(),
        };
        // The rows of the tree come first, in their order.
        for object in self.largest.iter().chain(&self.detailed) {
            page.place(*object);
        }
        let mut all = Map::new();
        let referrers = self.detailed.iter().zip(&self.referrers);
        for ((object, (first, count)), path) in referrers.zip(&self.steps) {
            if page.objects.len() >= MOST_NAMED {
                break;
            }
            let value = page.details(*object, first, *count, path, &self.paths, threads);
            all.insert(page.place(*object).to_string(), value);
        }
        let instances = self.instances.iter().map(|of_class| {
            let known = of_class.iter().filter_map(|object| page.places.get(object));
            known.copied().collect()
        });
        let instances = instances.collect();
        let suspects = self.suspects.iter();
        let suspects = suspects.map(|suspect| page.suspect(suspect)).collect();
        ObjectData {
            suspects: json!({ "threshold": THRESHOLD, "rows": Value::Array(suspects) }),
            objects: page.json(self.largest.len(), all),
            instances,
        }
    }
}

/// Returns the objects whose fields are read: suspects, the largest objects, and instances of
/// classes. In each of these three groups, the largest come first.
fn detailed(suspects: &[Suspect], largest: &[u32], instances: &[Vec<u32>]) -> Vec<u32> {
    let of_suspects = suspects.iter().flat_map(|suspect| {
        let below = suspect.dominated.iter().map(|class| class.object);
        suspect
            .objects
            .iter()
            .chain(&suspect.path_down)
            .copied()
            .chain(below)
    });
    let of_suspects: Vec<u32> = of_suspects.take(MOST_DETAILS).collect();
    let ranks = (0..MOST_INSTANCES).flat_map(|rank| {
        let of_rank = move |of_class: &Vec<u32>| of_class.get(rank).copied();
        instances.iter().filter_map(of_rank)
    });
    let largest = largest.iter().copied().take(MOST_LARGEST);
    let mut seen = HashSet::new();
    let all = of_suspects.into_iter().chain(largest).chain(ranks);
    all.filter(|object| seen.insert(*object))
        .take(MOST_DETAILS)
        .collect()
}

/// Returns the path from an object to its root, as far as the page shows it.
fn first_steps(paths: &ShortestPaths, object: u32) -> Vec<u32> {
    let path = std::iter::successors(Some(object), |object| paths.previous(*object));
    path.take(MOST_STEPS).collect()
}

/// Texts, each stored once.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    places: HashMap<String, usize>,
}

impl Words {
    fn place(&mut self, word: &str) -> usize {
        if let Some(place) = self.places.get(word) {
            return *place;
        }
        self.words.push(word.to_owned());
        self.places.insert(word.to_owned(), self.words.len() - 1);
        self.words.len() - 1
    }
}

/// The data of the page while it is built.
struct Page<'g> {
    graph: &'g Graph,
    dominators: &'g Dominators<'g>,
    details: Details,
    /// All objects that the page names.
    objects: Vec<u32>,
    places: HashMap<u32, usize>,
    words: Words,
    /// For each root, the index of the line about it in `words`.
    roots: HashMap<u32, usize>,
}

impl Page<'_> {
    /// Returns the index of an object among the objects that the page names.
    fn place(&mut self, object: u32) -> usize {
        *self.places.entry(object).or_insert_with(|| {
            self.objects.push(object);
            self.objects.len() - 1
        })
    }

    /// Returns an object's fields, its referrers, and its path to a root.
    fn details(
        &mut self,
        object: u32,
        referrers: &[u32],
        referrers_count: u64,
        path: &[u32],
        paths: &ShortestPaths,
        threads: &Threads,
    ) -> Value {
        let fields = self.details.fields.remove(&object).unwrap_or_default();
        let shown: Vec<Value> = fields.first.iter().map(|field| self.field(field)).collect();
        let mut by = Vec::new();
        for from in referrers {
            by.push(self.link(*from, object));
        }
        let mut steps = Vec::new();
        for pair in path.windows(2) {
            steps.push(self.link(pair[1], pair[0]));
        }
        let root = paths.root(object);
        // A path that is cut does not reach its root.
        let is_cut = path.last().is_some_and(|last| Some(*last) != root);
        let why = root.map(|root| self.root(root, threads));
        json!({
            "fields": shown,
            "more": fields.count.saturating_sub(fields.first.len() as u64),
            "by": by,
            "by_count": referrers_count,
            "way": steps,
            "is_cut": is_cut && root.is_some(),
            "root": why,
        })
    }

    /// Returns the index of the line about a root. Many paths share a root.
    fn root(&mut self, root: u32, threads: &Threads) -> usize {
        if let Some(place) = self.roots.get(&root) {
            return *place;
        }
        let reason = RootReason::among(self.graph.root(root), &threads.threads);
        let line = root_line(&reason, usize::MAX);
        let place = self.words.place(&shortened(&line));
        self.roots.insert(root, place);
        place
    }

    /// Returns, as indexes, the object `from` and the name of the field by which this object refers to `to`.
    fn link(&mut self, from: u32, to: u32) -> Value {
        let link = self.details.reference_names.get(&(from, to));
        let link = shortened(link.map_or("", |link| link));
        json!([self.place(from), self.words.place(&link)])
    }

    /// Returns a field: the indexes of its name and its type, and its value.
    fn field(&mut self, field: &Field) -> Value {
        let name = self.words.place(&shortened(&field.name));
        let of = match field.value_type {
            loadhook_heap::Type::Object => String::new(),
            of => of.to_string(),
        };
        let of = self.words.place(&of);
        let value = match &field.value {
            FieldValue::Null => Value::Null,
            FieldValue::Object(object) => self.place(*object).into(),
            FieldValue::Absent(absent) => format!("{}, not in the dump", id(*absent)).into(),
            FieldValue::Number(text) => printable(text).into(),
        };
        json!([name, of, value])
    }

    fn suspect(&mut self, suspect: &Suspect) -> Value {
        let places = |page: &mut Self, objects: &[u32]| -> Vec<usize> {
            objects.iter().map(|object| page.place(*object)).collect()
        };
        let below: Vec<Value> = suspect
            .dominated
            .iter()
            .map(|below| json!([self.place(below.object), below.count, below.retained]))
            .collect();
        json!({
            "objects": places(self, &suspect.objects),
            "count": suspect.count,
            "retained": suspect.retained,
            "down": places(self, &suspect.path_down),
            "below": below,
        })
    }

    /// Returns all objects in columns. The first `rows` objects are the rows of the tree.
    fn json(mut self, rows: usize, details: Map<String, Value>) -> Value {
        let (graph, dominators) = (self.graph, self.dominators);
        let objects = std::mem::take(&mut self.objects);
        let name = |object: &u32| self.words.place(&shortened(&graph.name(*object)));
        let name: Vec<usize> = objects.iter().map(name).collect();
        let above = |object: &u32| {
            let above = dominators.dominator(*object);
            let place = above.and_then(|above| self.places.get(&above).copied());
            place
                .filter(|place| *place < rows)
                .map_or(-1, |place| place as i64)
        };
        let retained = |object: &u32| {
            dominators
                .retained(*object)
                .map_or(-1, |bytes| bytes as i64)
        };
        let mut texts = Map::new();
        for (place, object) in objects.iter().enumerate() {
            if let Some(preview) = self.details.previews.get(object) {
                let more = if preview.is_cut { "…" } else { "" };
                let text = format!("{}{more}", printable(&preview.text));
                let text = json!([clipped(&text, LONGEST_VALUE), preview.length]);
                texts.insert(place.to_string(), text);
            }
        }
        json!({
            "names": self.words.words,
            "name": name,
            "id": objects.iter().map(|object| id(graph.id(*object))).collect::<Vec<_>>(),
            "bytes": objects.iter().map(|object| graph.size(*object)).collect::<Vec<_>>(),
            "retained": objects.iter().map(retained).collect::<Vec<_>>(),
            "above": objects[..rows].iter().map(above).collect::<Vec<_>>(),
            "texts": texts,
            "details": details,
        })
    }
}
