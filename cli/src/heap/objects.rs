//! The objects of the page: those that retain most as a tree, instances of each class, and
//! of the most important ones fields, what refers to them, and the way to their root.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use loadhook_heap::{
    Details, Dominators, Field, FieldValue, Graph, Suspect, THRESHOLD, Threads, Ways,
};
use loadhook_text::{clipped, printable};
use serde_json::{Map, Value, json};

use super::page::shortened;
use super::path::Why;
use super::report::id;
use super::source::Source;

/// Objects of the tree.
pub(super) const MOST_ROWS: usize = 20_000;
/// Objects that are named at all, about: when there are so many, no more fields are added.
const MOST_NAMED: usize = 100_000;
/// Objects with their fields.
const MOST_DETAILS: usize = 10_000;
/// Of these, how many because they retain most; the others are instances of classes.
const MOST_LARGEST: usize = 4_000;
/// Instances of a class, those that retain most.
const MOST_INSTANCES: usize = 20;
/// Fields or elements of an object.
const MOST_FIELDS: usize = 40;
/// Objects that refer to an object.
const MOST_REFERRERS: usize = 20;
/// Objects of the way to a root, from the object on.
const MOST_STEPS: usize = 30;
/// Columns of a value.
const LONGEST_VALUE: usize = 120;

/// What the page's data have about objects.
pub(super) struct Objects {
    pub(super) objects: Value,
    /// For each class, instances by their places among the objects.
    pub(super) instances: Vec<Vec<usize>>,
    pub(super) suspects: Value,
}

/// Collects the objects of a page that has these classes. The dump is read once more.
pub(super) fn collect(
    source: &Source,
    graph: &Graph,
    found: &Dominators,
    threads: &Threads,
    classes: &[u64],
) -> Result<Objects> {
    let ways = graph.ways().context("ways to the roots")?;
    let suspects = found.suspects(&ways);
    let largest = found.largest(MOST_ROWS);
    let instances = found.largest_of_each(classes, MOST_INSTANCES);
    let detailed = detailed(&suspects, &largest, &instances);
    let referrers = graph.referrers(&detailed, MOST_REFERRERS);
    let steps: Vec<Vec<u32>> = detailed.iter().map(|object| way(&ways, *object)).collect();
    let mut pairs: HashSet<(u32, u32)> = HashSet::new();
    for ((object, (first, _)), way) in detailed.iter().zip(&referrers).zip(&steps) {
        pairs.extend(first.iter().map(|from| (*from, *object)));
        pairs.extend(way.windows(2).map(|pair| (pair[1], pair[0])));
    }
    let pairs: Vec<(u32, u32)> = pairs.into_iter().collect();
    let details = graph.details(source.again()?, &detailed, MOST_FIELDS, &pairs);
    source.is_unchanged()?;
    let mut page = Page {
        graph,
        found,
        details: details?,
        objects: Vec::new(),
        places: HashMap::new(),
        words: Words::default(),
        roots: HashMap::new(),
    };
    // The tree's rows come first, in their order.
    for object in largest.iter().chain(&detailed) {
        page.place(*object);
    }
    let mut all = Map::new();
    for ((object, (first, count)), way) in detailed.iter().zip(&referrers).zip(&steps) {
        if page.objects.len() >= MOST_NAMED {
            break;
        }
        let value = page.details(*object, first, *count, way, &ways, threads);
        all.insert(page.place(*object).to_string(), value);
    }
    let instances = instances.iter().map(|of_class| {
        let known = of_class.iter().filter_map(|object| page.places.get(object));
        known.copied().collect()
    });
    let instances = instances.collect();
    let suspects = suspects
        .iter()
        .map(|suspect| page.suspect(suspect))
        .collect();
    Ok(Objects {
        suspects: json!({ "threshold": THRESHOLD, "rows": Value::Array(suspects) }),
        objects: page.json(largest.len(), all),
        instances,
    })
}

/// Objects whose fields are read: those of suspects, the largest, and instances of
/// classes, the largest of each class first.
fn detailed(suspects: &[Suspect], largest: &[u32], instances: &[Vec<u32>]) -> Vec<u32> {
    let of_suspects = suspects.iter().flat_map(|suspect| {
        let below = suspect.below.iter().map(|below| below.object);
        suspect
            .objects
            .iter()
            .chain(&suspect.down)
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

/// From an object up to its root, or as far as the page shows it.
fn way(ways: &Ways, object: u32) -> Vec<u32> {
    let way = std::iter::successors(Some(object), |object| ways.before(*object));
    way.take(MOST_STEPS).collect()
}

/// Texts, each kept once.
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

struct Page<'g> {
    graph: &'g Graph,
    found: &'g Dominators<'g>,
    details: Details,
    /// All objects that the page names.
    objects: Vec<u32>,
    places: HashMap<u32, usize>,
    words: Words,
    /// Texts of roots.
    roots: HashMap<u32, usize>,
}

impl Page<'_> {
    /// The place of an object among those that the page names.
    fn place(&mut self, object: u32) -> usize {
        *self.places.entry(object).or_insert_with(|| {
            self.objects.push(object);
            self.objects.len() - 1
        })
    }

    /// An object's fields, what refers to it, and its way.
    fn details(
        &mut self,
        object: u32,
        referrers: &[u32],
        referrers_count: u64,
        way: &[u32],
        ways: &Ways,
        threads: &Threads,
    ) -> Value {
        let fields = self.details.fields.remove(&object).unwrap_or_default();
        let shown: Vec<Value> = fields.first.iter().map(|field| self.field(field)).collect();
        let mut by = Vec::new();
        for from in referrers {
            by.push(self.link(*from, object));
        }
        let mut steps = Vec::new();
        for pair in way.windows(2) {
            steps.push(self.link(pair[1], pair[0]));
        }
        let root = ways.root(object);
        // A way that is cut off does not reach its root.
        let is_cut = way.last().is_some_and(|last| Some(*last) != root);
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

    /// Why an object is a root. Many ways begin at one.
    fn root(&mut self, root: u32, threads: &Threads) -> usize {
        if let Some(place) = self.roots.get(&root) {
            return *place;
        }
        let why = Why::among(self.graph.root(root), &threads.threads);
        let place = self.words.place(&shortened(&why.text(usize::MAX)));
        self.roots.insert(root, place);
        place
    }

    /// An object that refers to another, and by which field.
    fn link(&mut self, from: u32, to: u32) -> Value {
        let link = self.details.links.get(&(from, to));
        let link = shortened(link.map_or("", |link| link));
        json!([self.place(from), self.words.place(&link)])
    }

    /// Name, type and value.
    fn field(&mut self, field: &Field) -> Value {
        let name = self.words.place(&shortened(&field.name));
        let of = match field.of {
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
            .below
            .iter()
            .map(|below| json!([self.place(below.object), below.count, below.retained]))
            .collect();
        json!({
            "objects": places(self, &suspect.objects),
            "count": suspect.count,
            "retained": suspect.retained,
            "down": places(self, &suspect.down),
            "below": below,
        })
    }

    /// All objects in columns; the first `rows` are those of the tree.
    fn json(mut self, rows: usize, details: Map<String, Value>) -> Value {
        let (graph, found) = (self.graph, self.found);
        let objects = std::mem::take(&mut self.objects);
        let name = |object: &u32| self.words.place(&shortened(&graph.name(*object)));
        let name: Vec<usize> = objects.iter().map(name).collect();
        let above = |object: &u32| {
            let above = found.dominator(*object);
            let place = above.and_then(|above| self.places.get(&above).copied());
            place
                .filter(|place| *place < rows)
                .map_or(-1, |place| place as i64)
        };
        let retained = |object: &u32| found.retained(*object).map_or(-1, |bytes| bytes as i64);
        let mut texts = Map::new();
        for (place, object) in objects.iter().enumerate() {
            if let Some(contents) = self.details.contents.get(object) {
                let more = if contents.is_cut { "…" } else { "" };
                let text = format!("{}{more}", printable(&contents.text));
                let text = json!([clipped(&text, LONGEST_VALUE), contents.length]);
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
