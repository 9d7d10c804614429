//! Which objects refer to which.
//!
//! Objects are numbered in the order of their identifiers. References lie in
//! one list, in the order of the file, of which each object has a part.

use std::collections::HashMap;
use std::io::{self, Read};

use crate::error::{Error, ErrorKind, Result, Type};
use crate::histogram::{Histogram, of_survey};
use crate::input::number;
use crate::reader::{RootKind, Visitor, read};
use crate::survey::{PRIMITIVES, Survey, TYPES, What};

/// Bytes that an object takes till its dominators are found, and a reference.
const OBJECT: u64 = 80;
const REFERENCE: u64 = 8;

/// Positions among the references are of 32 bits, the last of which is none.
const MOST_REFERENCES: u64 = u32::MAX as u64 - 2;

/// The objects of a dump and their references. The `referent` of weak, soft
/// and phantom references is none.
pub struct Graph {
    pub(crate) survey: Survey,
    /// How many objects each class has.
    pub histogram: Histogram,
    pub(crate) index: Index,
    pub(crate) whats: Vec<u32>,
    /// Bytes in memory, in steps of 8.
    pub(crate) sizes: Vec<u32>,
    first: Vec<u32>,
    count: Vec<u32>,
    targets: Vec<u32>,
    /// The objects that are roots, each once.
    pub(crate) roots: Vec<u32>,
    pub(crate) root_kinds: HashMap<u32, RootKind>,
}

impl Graph {
    /// Reads a dump, twice from its beginning. Of one that is cut off comes
    /// the part before, with the error. The graph and its dominators take
    /// some 80 bytes an object and 8 a reference; `memory` is how many bytes
    /// they may take together.
    ///
    /// # Errors
    ///
    /// As of [`read`](fn@read), other than that a dump is cut off; and at the
    /// object or reference for which there is not enough memory.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        memory: u64,
    ) -> std::result::Result<(Graph, Option<Error>), Error> {
        let opened = || {
            open().map_err(|error| Error {
                kind: ErrorKind::Io(error),
                at: 0,
            })
        };
        let mut survey = Survey::new(true);
        survey.most_objects = survey.most_objects.min(memory / OBJECT);
        let outcome = cut_off(read(opened()?, &mut survey).map(|_| ()))?;
        let histogram = of_survey(&survey);
        let (index, whats, sizes) = Index::of(&mut survey);
        let mut roots = Vec::new();
        let mut root_kinds = HashMap::new();
        for (id, kind) in &survey.roots {
            if let Some(object) = index.number(*id) {
                roots.push(object);
                root_kinds.insert(object, *kind);
            }
        }
        let mut edges = Edges {
            supers: survey.supers(),
            first: vec![u32::MAX; index.ids.len()],
            count: vec![0; index.ids.len()],
            targets: Vec::new(),
            most: MOST_REFERENCES.min((memory - OBJECT * index.ids.len() as u64) / REFERENCE),
            open: None,
            plans: vec![None; survey.entries.len()],
            class_objects: Vec::new(),
            loaded: HashMap::new(),
            survey: &survey,
            index: &index,
        };
        edges.class_objects = survey
            .entries
            .iter()
            // Roots keep themselves.
            .map(|entry| {
                index
                    .number(entry.id)
                    .filter(|class| !root_kinds.contains_key(class))
            })
            .collect();
        for (entry, class) in survey.entries.iter().zip(&edges.class_objects) {
            if let (Some(dump), Some(class)) = (&entry.dump, class) {
                let [loader, ..] = dump.refers;
                edges.loaded.entry(loader).or_default().push(*class);
            }
        }
        let end = read(opened()?, &mut edges).map(|_| ());
        let at = end.as_ref().map_or_else(|error| error.at, |()| 0);
        cut_off(end)?;
        edges.classes().map_err(|kind| Error { kind, at })?;
        let Edges {
            first,
            count,
            targets,
            ..
        } = edges;
        let graph = Graph {
            survey,
            histogram,
            index,
            whats,
            sizes,
            first,
            count,
            targets,
            roots,
            root_kinds,
        };
        Ok((graph, outcome))
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.index.ids.len() as u32
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.ids.is_empty()
    }

    /// An object's identifier.
    #[must_use]
    pub fn id(&self, object: u32) -> u64 {
        self.index.ids[object as usize]
    }

    /// The object of an identifier.
    #[must_use]
    pub fn object(&self, id: u64) -> Option<u32> {
        self.index.number(id)
    }

    /// The objects of a class, by its name as Java writes it.
    pub fn of_class(&self, class: &str) -> impl Iterator<Item = u32> {
        let mut is_it = vec![false; self.survey.entries.len()];
        for (entry, is_it) in (0..).zip(&mut is_it).skip(1) {
            *is_it = self.survey.name(entry) == class;
        }
        (0..self.len()).filter(move |object| {
            let class = self.class(*object);
            class.is_some_and(|class| is_it[class as usize])
        })
    }

    pub(crate) fn what(&self, object: u32) -> What {
        crate::survey::what(self.whats[object as usize])
    }

    /// The entry of an object's class; none of a class itself.
    pub(crate) fn class(&self, object: u32) -> Option<u32> {
        match self.what(object) {
            What::Instance(class) | What::Array(class) => Some(class),
            What::Class(_) => None,
        }
    }

    /// What an object is, as Java writes it: `java.lang.String`, and of
    /// classes `class java.lang.String`.
    #[must_use]
    pub fn name(&self, object: u32) -> String {
        match self.what(object) {
            What::Instance(class) | What::Array(class) => self.survey.name(class),
            What::Class(class) => format!("class {}", self.survey.name(class)),
        }
    }

    /// Bytes of an object in memory.
    #[must_use]
    pub fn size(&self, object: u32) -> u64 {
        u64::from(self.sizes[object as usize]) * 8
    }

    /// The objects that an object refers to; its class is one, unless that is
    /// a root.
    #[must_use]
    pub fn references(&self, object: u32) -> &[u32] {
        let object = object as usize;
        // None of what the second reading did not come to.
        let first = self.first[object] as usize;
        let end = first.saturating_add(self.count[object] as usize);
        self.targets.get(first..end).unwrap_or(&[])
    }
}

/// A dump that is cut off can be used so far.
fn cut_off(outcome: Result<()>) -> Result<Option<Error>> {
    match outcome {
        Ok(()) => Ok(None),
        Err(error) if error.is_truncated() => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// Identifiers in order, and where to begin to look.
pub(crate) struct Index {
    pub(crate) ids: Vec<u64>,
    /// How many identifiers are below each multiple of `1 << shift`.
    below: Vec<u32>,
    shift: u32,
}

impl Index {
    /// Takes the objects out of a survey: their identifiers, what they are,
    /// and their bytes in steps of 8.
    fn of(survey: &mut Survey) -> (Index, Vec<u32>, Vec<u32>) {
        let mut objects = std::mem::take(&mut survey.objects);
        // Keeps the runs that collectors leave.
        objects.sort_by_key(|object| object.id);
        objects.dedup_by_key(|object| object.id);
        let sizes = survey.sizes();
        let of_class = survey.of_class();
        let classes = 0..survey.entries.len() as u32;
        let instances: Vec<u64> = classes
            .clone()
            .map(|class| survey.instance_size(class, &sizes))
            .collect();
        let class_sizes: Vec<u64> = classes
            .map(|class| survey.class_size(class, of_class, &sizes))
            .collect();
        let size = |object: &crate::survey::Object| {
            let size = match crate::survey::what(object.what) {
                What::Instance(class) => instances[class as usize],
                What::Class(class) => class_sizes[class as usize],
                What::Array(class) => {
                    let of = if class < PRIMITIVES {
                        TYPES[class as usize]
                    } else {
                        Type::Object
                    };
                    sizes.model.array(of, object.length)
                }
            };
            u32::try_from(size.div_ceil(8)).unwrap_or(u32::MAX)
        };
        let bytes = objects.iter().map(size).collect();
        let whats = objects.iter().map(|object| object.what).collect();
        let ids: Vec<u64> = objects.iter().map(|object| object.id).collect();
        drop(objects);
        (Index::new(ids), whats, bytes)
    }

    fn new(ids: Vec<u64>) -> Index {
        let (min, max) = (
            ids.first().copied().unwrap_or(0),
            ids.last().copied().unwrap_or(0),
        );
        let span = max - min;
        let buckets = (ids.len() as u64 / 4).max(1);
        let shift = (span / buckets).max(1).ilog2() + 1;
        let shift = shift.min(63);
        let mut below = vec![0; (span >> shift) as usize + 2];
        for id in &ids {
            below[((id - min) >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut below {
            sum += *count;
            *count = sum;
        }
        Index { ids, below, shift }
    }

    #[inline]
    pub(crate) fn number(&self, id: u64) -> Option<u32> {
        let from = id.checked_sub(*self.ids.first()?)?;
        let bucket = usize::try_from(from >> self.shift).ok()?;
        let end = *self.below.get(bucket.checked_add(1)?)?;
        let start = self.below[bucket];
        let within = &self.ids[start as usize..end as usize];
        within.binary_search(&id).ok().map(|at| start + at as u32)
    }
}

/// Takes the references out of objects.
struct Edges<'g> {
    survey: &'g Survey,
    supers: Vec<Option<u32>>,
    index: &'g Index,
    first: Vec<u32>,
    count: Vec<u32>,
    targets: Vec<u32>,
    /// As many references are kept at most.
    most: u64,
    /// The object whose references come.
    open: Option<u32>,
    /// Where in the fields of each class's instances references are.
    plans: Vec<Option<Vec<u32>>>,
    /// The objects of classes that are no roots.
    class_objects: Vec<Option<u32>>,
    /// Loader to its classes, which it keeps, though no field says so.
    loaded: HashMap<u64, Vec<u32>>,
}

impl Edges<'_> {
    /// What follows are references of an object, unless it had its own
    /// already.
    fn begin(&mut self, id: u64) -> std::result::Result<(), ErrorKind> {
        self.open = None;
        // Those of the object before may have passed it.
        let (what, most) = ("references", self.most);
        if self.targets.len() as u64 > most {
            return Err(ErrorKind::TooMany { what, most });
        }
        let Some(object) = self.index.number(id) else {
            return Ok(());
        };
        let first = self.targets.len() as u32;
        if self.first[object as usize] == u32::MAX {
            self.first[object as usize] = first;
            self.open = Some(object);
        }
        Ok(())
    }

    #[inline]
    fn refer(&mut self, to: Option<u32>) {
        if let (Some(object), Some(to)) = (self.open, to)
            && self.targets.len() as u64 <= self.most
        {
            self.targets.push(to);
            self.count[object as usize] += 1;
        }
    }

    #[inline]
    fn refer_to(&mut self, id: u64) {
        if id != 0 {
            self.refer(self.index.number(id));
        }
    }

    /// Classes refer to what is above and beside them, and by static fields.
    fn classes(&mut self) -> std::result::Result<(), ErrorKind> {
        let survey = self.survey;
        for dump in survey
            .entries
            .iter()
            .filter_map(|entry| entry.dump.as_ref())
        {
            self.begin(dump.id)?;
            self.refer_to(dump.super_id);
            let statics = dump.statics.iter().filter(|field| field.1 == Type::Object);
            let others = dump.refers.iter().chain(&dump.constants).copied();
            others
                .chain(statics.map(|field| field.2))
                .for_each(|id| self.refer_to(id));
        }
        // Whether all had room.
        self.begin(0)
    }
}

/// As many classes above one are looked at: a class that extends itself does not do
/// so for ever.
const MOST_SUPERS: usize = 1000;

/// A class and those above it.
fn with_supers(supers: &[Option<u32>], class: u32) -> impl Iterator<Item = u32> {
    let above = |class: &u32| supers[*class as usize];
    std::iter::successors(Some(class), above).take(MOST_SUPERS)
}

/// The fields of an instance as dumped: class by class upwards, the offset
/// of each, its name and type. Ends where `bytes` do. `supers` are [`Survey::supers`].
pub(crate) fn fields(
    survey: &Survey,
    supers: &[Option<u32>],
    class: u32,
    bytes: usize,
) -> impl Iterator<Item = (usize, u64, Type, u32)> {
    let id_size = survey.header.id_size;
    let mut at = 0;
    with_supers(supers, class)
        .flat_map(move |class| {
            let dump = survey.entries[class as usize].dump.as_ref();
            let fields = dump.into_iter().flat_map(|dump| &dump.fields);
            fields.map(move |field| (class, field))
        })
        .map(move |(class, (name, of))| {
            let offset = at;
            at += of.size(id_size) as usize;
            (offset, *name, *of, class)
        })
        .take_while(move |(offset, _, of, _)| offset + of.size(id_size) as usize <= bytes)
}

/// Whether instances of a class do not keep what they refer to.
fn is_weak(survey: &Survey, supers: &[Option<u32>], class: u32) -> bool {
    with_supers(supers, class).any(|class| {
        matches!(
            survey.internal_name(class),
            b"java/lang/ref/WeakReference"
                | b"java/lang/ref/SoftReference"
                | b"java/lang/ref/PhantomReference"
        )
    })
}

impl Visitor for Edges<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn instance(
        &mut self,
        id: u64,
        class: u64,
        bytes: &[u8],
    ) -> std::result::Result<(), ErrorKind> {
        let Some(class) = self.survey.class_of(class) else {
            return Ok(());
        };
        self.begin(id)?;
        let slot = class as usize;
        let plan = self.plans[slot].take().unwrap_or_else(|| {
            let is_weak = is_weak(self.survey, &self.supers, class);
            let is_kept = |name: &u64, class: u32| {
                let name = self.survey.names.get(name);
                let is_referent = name.is_some_and(|name| **name == *b"referent")
                    && self.survey.internal_name(class) == b"java/lang/ref/Reference";
                !(is_weak && is_referent)
            };
            fields(self.survey, &self.supers, class, bytes.len())
                .filter(|(_, name, of, class)| *of == Type::Object && is_kept(name, *class))
                .map(|(offset, ..)| offset as u32)
                .collect()
        });
        let id_size = self.survey.header.id_size as usize;
        for offset in &plan {
            let offset = *offset as usize;
            if let Some(id) = bytes.get(offset..offset + id_size) {
                self.refer_to(number(id));
            }
        }
        self.plans[slot] = Some(plan);
        self.refer(self.class_objects[slot]);
        for class in self.loaded.remove(&id).unwrap_or_default() {
            self.refer(Some(class));
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, _: u32) -> std::result::Result<(), ErrorKind> {
        self.begin(id)?;
        if let Some(class) = self.survey.class_of(class) {
            self.refer(self.class_objects[class as usize]);
        }
        Ok(())
    }

    fn elements(&mut self, ids: &[u8]) {
        for id in ids.chunks_exact(self.survey.header.id_size as usize) {
            self.refer_to(number(id));
        }
    }
}
