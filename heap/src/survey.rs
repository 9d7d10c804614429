//! The first pass over a dump: its classes, the number of objects of each, names and roots.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use loadhook_hprof::{ClassDump, ErrorKind, Header, LoadClass, Root, RootKind, Type, Visitor};

use crate::java_names::java_name;
use crate::layout::{Distances, SizeModel, up};
use crate::memory_budget::{ENTRY, MOST_BYTES, MemoryBudget};
use crate::object_kind::{ObjectKind, PRIMITIVES, element_type};
use crate::object_records::ObjectRecords;
use crate::stack_chunks::{STACK_CHUNK, StackChunks};

/// Estimated bytes of a root: its entry in the survey, and its entries in the graph.
const ROOT_BYTES: u64 = 3 * ENTRY;

/// Estimated bytes of a class: its entry, layout, row and name.
const CLASS_BYTES: u64 = 8 * ENTRY;

/// A class, and counts of its objects.
#[derive(Default)]
pub(crate) struct ClassEntry {
    /// Identifier of the class object.
    pub(crate) id: u64,
    /// Number of instances.
    pub(crate) instances: u64,
    /// Number of arrays.
    pub(crate) arrays: u64,
    /// Bytes of the elements of all arrays.
    pub(crate) elements: ElementBytes,
    /// Smallest distance from an instance to the next object, in bytes.
    pub(crate) distance: u64,
    /// The record of the class; `None` until it was read.
    pub(crate) dump: Option<ClassDump>,
}

/// Bytes of the elements of arrays, rounded up to a multiple of 8 for each array, under three
/// layouts. The size model, which is known only after the first pass, says which layout the JVM used.
#[derive(Default)]
pub(crate) struct ElementBytes {
    /// Elements begin at a multiple of 8, and references have 4 bytes.
    pub(crate) plain: u64,
    /// Elements begin 4 bytes after a multiple of 8, and references have 4 bytes.
    pub(crate) behind_4_bytes: u64,
    /// All elements have 8 bytes, as uncompressed references do.
    pub(crate) wide_references: u64,
}

impl ElementBytes {
    fn add(&mut self, element: Type, length: u32) {
        let bytes = u64::from(length) * u64::from(element.size(4));
        self.plain += up(bytes, 8);
        self.behind_4_bytes += up(bytes + 4, 8);
        self.wide_references += u64::from(length) * 8;
    }
}

/// The previous object in the dump. Its size is at most the distance to the next object.
enum Previous {
    None,
    /// Identifier and class.
    Instance(u64, u32),
    /// Identifier, element type and length.
    Array(u64, Type, u32),
}

/// The classes, names and roots of a dump. Classes are numbered in the order in which they first
/// occur in the dump.
pub(crate) struct Survey {
    pub(crate) header: Header,
    /// True if bytes that are not compressed follow the compressed dump.
    pub(crate) has_trailing_bytes: bool,
    /// Names by their identifiers.
    pub(crate) names: HashMap<u64, Box<[u8]>>,
    /// Memory budget for everything but the objects.
    pub(crate) budget: MemoryBudget,
    /// The identifier of each class's name, by the class's identifier.
    pub(crate) name_of_class: HashMap<u64, u64>,
    pub(crate) classes: Vec<ClassEntry>,
    by_id: HashMap<u64, u32>,
    /// Cache of lookups in `by_id`. Bits of the class identifier select the slot of an entry.
    recent: Vec<(u64, u32)>,
    distances: Distances,
    previous: Previous,
    pub(crate) stack_chunks: Option<StackChunks>,
    keeps_roots: bool,
    /// A record for each object; `None` if only classes are counted.
    pub(crate) objects: Option<ObjectRecords>,
    /// One root record for each object that is a root, by the object's identifier.
    pub(crate) roots: BTreeMap<u64, Root>,
}

impl Survey {
    /// Returns a survey of classes and names.
    pub(crate) fn of_classes() -> Survey {
        let mut classes = Vec::new();
        classes.resize_with(PRIMITIVES as usize, ClassEntry::default);
        Survey {
            header: Header::default(),
            has_trailing_bytes: false,
            names: HashMap::new(),
            budget: MemoryBudget::new(MOST_BYTES),
            name_of_class: HashMap::new(),
            classes,
            by_id: HashMap::new(),
            recent: vec![(0, 0); 1024],
            distances: Distances::new(),
            previous: Previous::None,
            stack_chunks: None,
            keeps_roots: false,
            objects: None,
            roots: BTreeMap::new(),
        }
    }

    /// Returns a survey of classes, names, roots and objects.
    pub(crate) fn of_objects(objects: ObjectRecords) -> Survey {
        Survey {
            keeps_roots: true,
            objects: Some(objects),
            ..Survey::of_classes()
        }
    }

    /// Returns the index of the class with this identifier.
    pub(crate) fn class_index(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// Returns a name by its identifier; an empty name if the dump does not have it.
    pub(crate) fn text(&self, id: u64) -> Cow<'_, str> {
        let text = self.names.get(&id).map_or(&[][..], |text| text);
        String::from_utf8_lossy(text)
    }

    /// Returns for each class its nearest superclass that declares fields.
    pub(crate) fn superclasses_with_fields(&self) -> Vec<Option<u32>> {
        let has_fields = |class: u32| {
            let dump = self.classes[class as usize].dump.as_ref();
            dump.is_some_and(|dump| !dump.fields.is_empty())
        };
        let nearest = self.inherited(|class| has_fields(class).then_some(class));
        let classes = 0..self.classes.len() as u32;
        let above = |class| nearest[self.superclass(class)? as usize];
        classes.map(above).collect()
    }

    pub(crate) fn superclass(&self, class: u32) -> Option<u32> {
        let dump = self.classes[class as usize].dump.as_ref()?;
        self.class_index(dump.super_id)
    }

    /// Returns for each class its own value, or else the value of the nearest superclass that has
    /// one. `own` is called once for each class, however many classes extend it.
    pub(crate) fn inherited<T: Copy>(&self, own: impl Fn(u32) -> Option<T>) -> Vec<Option<T>> {
        let count = self.classes.len();
        let (mut is_known, mut values) = (vec![false; count], vec![None; count]);
        let mut pending = Vec::new();
        for class in 0..count as u32 {
            let mut value = None;
            let mut next = Some(class);
            while let Some(class) = next {
                // In a broken dump a class may be its own superclass. The search
                // ends here then.
                if std::mem::replace(&mut is_known[class as usize], true) {
                    value = values[class as usize];
                    break;
                }
                pending.push(class);
                value = own(class);
                next = match value {
                    Some(_) => None,
                    None => self.superclass(class),
                };
            }
            for class in pending.drain(..) {
                values[class as usize] = value;
            }
        }
        values
    }

    /// Adds a root, for which `reserved` bytes were already taken from the budget.
    pub(crate) fn keep_root(&mut self, root: Root, reserved: u64) -> Result<(), ErrorKind> {
        if !self.keeps_roots {
            return Ok(());
        }
        match self.roots.get_mut(&root.id) {
            Some(known) if rank(known.kind) < rank(root.kind) => *known = root,
            Some(_) => {}
            None => {
                self.budget.reserve(ROOT_BYTES.saturating_sub(reserved))?;
                self.roots.insert(root.id, root);
            }
        }
        Ok(())
    }

    /// Returns the index of the class with this identifier. Makes a new entry if the class has none.
    #[inline]
    fn class_entry(&mut self, id: u64) -> Result<u32, ErrorKind> {
        let slot = (id >> 3) as usize & (self.recent.len() - 1);
        if self.recent[slot].0 == id && self.recent[slot].1 > 0 {
            return Ok(self.recent[slot].1);
        }
        let index = match self.by_id.get(&id) {
            Some(index) => *index,
            None => self.new_class_entry(id)?,
        };
        self.recent[slot] = (id, index);
        Ok(index)
    }

    fn new_class_entry(&mut self, id: u64) -> Result<u32, ErrorKind> {
        self.budget.reserve(CLASS_BYTES)?;
        let index = self.classes.len() as u32;
        self.by_id.insert(id, index);
        self.classes.push(ClassEntry {
            id,
            distance: u64::MAX,
            ..ClassEntry::default()
        });
        Ok(index)
    }

    /// Notes the distance from the previous object, and records the object.
    #[inline]
    fn note_object(&mut self, id: u64, kind: ObjectKind, length: u32) -> Result<(), ErrorKind> {
        match self.previous {
            Previous::Instance(before, class) if id > before => {
                let least = &mut self.classes[class as usize].distance;
                *least = (*least).min(id - before);
            }
            Previous::Array(before, element, length) if id > before => {
                self.distances.see(element, length, id - before);
            }
            _ => {}
        }
        match &mut self.objects {
            Some(objects) => objects.push(id, kind, length),
            None => Ok(()),
        }
    }

    fn array(&mut self, id: u64, class: u32, element: Type, length: u32) -> Result<(), ErrorKind> {
        self.note_object(id, ObjectKind::Array(class), length)?;
        self.previous = Previous::Array(id, element, length);
        let entry = &mut self.classes[class as usize];
        entry.arrays += 1;
        entry.elements.add(element, length);
        Ok(())
    }

    /// Returns the name of a class in the JVM's form: `java/lang/String`. Returns an empty name if the dump does
    /// not have it.
    pub(crate) fn internal_name(&self, class: u32) -> &[u8] {
        let entry = &self.classes[class as usize];
        let name = self.name_of_class.get(&entry.id);
        let name = name.and_then(|name| self.names.get(name));
        name.map_or(&[], |name| name)
    }

    /// Returns the name of a class in Java: `java.lang.String`.
    pub(crate) fn name(&self, class: u32) -> String {
        if class < PRIMITIVES {
            return format!("{}[]", element_type(class));
        }
        let name = self.internal_name(class);
        if name.is_empty() {
            return format!("class {:#x}", self.classes[class as usize].id);
        }
        java_name(&String::from_utf8_lossy(name))
    }

    /// Infers the size model from the distances between objects.
    pub(crate) fn size_model(&self) -> SizeModel {
        self.distances.model(self.header.id_size)
    }

    /// Returns the index of `java.lang.Class`.
    pub(crate) fn java_lang_class(&self) -> Option<u32> {
        let mut all = PRIMITIVES..self.classes.len() as u32;
        all.find(|class| self.internal_name(*class) == b"java/lang/Class")
    }
}

/// Returns the rank of a kind of root. If an object is a root for several reasons, the kind with the highest rank
/// is shown. Monitors and unknown kinds have the lowest rank, then variables of threads, then all other kinds.
fn rank(kind: RootKind) -> u8 {
    match kind {
        RootKind::Unknown | RootKind::MonitorUsed => 0,
        RootKind::JavaFrame | RootKind::JniLocal => 1,
        _ => 2,
    }
}

impl Visitor for Survey {
    fn header(&mut self, header: Header) {
        self.header = header;
    }

    fn trailing_bytes(&mut self) {
        self.has_trailing_bytes = true;
    }

    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.budget.reserve(ENTRY + text.len() as u64)?;
        self.names.insert(id, text.into());
        Ok(())
    }

    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.budget.reserve(ENTRY)?;
        self.name_of_class.insert(class.class, class.name);
        Ok(())
    }

    fn root(&mut self, root: Root) -> Result<(), ErrorKind> {
        self.keep_root(root, 0)
    }

    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        let index = self.class_entry(class.id)?;
        if self.classes[index as usize].dump.is_some() {
            return Ok(());
        }
        let parts = class.fields.len() + class.statics.len() + class.constants.len();
        self.budget.reserve(24 * parts as u64)?;
        self.previous = Previous::None;
        self.note_object(class.id, ObjectKind::Class(index), 0)?;
        if self.internal_name(index) == STACK_CHUNK {
            let is_size = |name| self.names.get(&name).is_some_and(|name| **name == *b"size");
            self.stack_chunks = StackChunks::of(class, self.header.id_size, is_size);
        }
        self.classes[index as usize].dump = Some(class.clone());
        Ok(())
    }

    fn wants_fields(&self, class: u64) -> bool {
        let chunks = self.stack_chunks.as_ref();
        chunks.is_some_and(|chunks| chunks.class == class)
    }

    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        let mut words = 0;
        if let Some(chunks) = &mut self.stack_chunks
            && chunks.class == class
        {
            words = chunks.words(fields);
            chunks.add(words);
        }
        let class = self.class_entry(class)?;
        self.note_object(id, ObjectKind::Instance(class), words)?;
        self.previous = Previous::Instance(id, class);
        self.classes[class as usize].instances += 1;
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        let class = self.class_entry(class)?;
        self.array(id, class, Type::Object, length)
    }

    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
        self.array(id, element as u32, element, length)
    }
}
