//! One pass over a dump: its classes, how many objects each has, and what else
//! is not contents.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use loadhook_hprof::{ClassDump, ErrorKind, Header, LoadClass, Root, RootKind, Type, Visitor};

use crate::class_names::java_name;
use crate::kept::{ENTRY, Kept, MOST_BYTES};
use crate::layout::{Distances, Layout, Model, hidden_fields, up};
use crate::sort::Sorter;
use crate::stacks::{STACK_CHUNK, StackChunks, stack_bytes};
use crate::store::Store;

/// Objects are numbered by 32 bits, the last of which is none.
const MOST_OBJECTS: u64 = u32::MAX as u64 - 2;

/// What a class takes, about: its entry, layout, row and name.
const CLASS_BYTES: u64 = 8 * ENTRY;

/// A class, as far as the dump told about it.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) instances: u64,
    pub(crate) arrays: u64,
    /// Of its arrays, bytes of elements in 8-byte steps: as they are, with 4
    /// bytes before them, and those of references were they 8 bytes long.
    elements: [u64; 3],
    /// Smallest distance from an instance to what follows it.
    distance: u64,
    pub(crate) dump: Option<ClassDump>,
}

/// What an object is, with its entry: the number of its class or, of a class
/// itself, of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Instance(u32),
    Array(u32),
    Class(u32),
}

/// The objects of a dump: the two halves of an identifier, what the object is
/// and its length, of a `StackChunk` the words of its stack.
pub(crate) struct Objects {
    pub(crate) store: Store,
    pub(crate) sorter: Sorter<4>,
    count: u64,
}

impl Objects {
    pub(crate) fn new(store: Store, sorter: Sorter<4>) -> Objects {
        Objects {
            store,
            sorter,
            count: 0,
        }
    }

    fn push(&mut self, id: u64, what: u32, length: u32) -> Result<(), ErrorKind> {
        if self.count >= MOST_OBJECTS {
            let (what, most) = ("objects", MOST_OBJECTS);
            return Err(ErrorKind::TooMany { what, most });
        }
        self.count += 1;
        let record = [(id >> 32) as u32, id as u32, what, length];
        let pushed = self.sorter.push(&mut self.store, record);
        pushed.map_err(ErrorKind::Io)
    }
}

const ARRAY: u32 = 1 << 30;
const CLASS: u32 = 2 << 30;

/// What is kept of an object in [`Objects`].
pub(crate) fn what(packed: u32) -> What {
    let class = packed & (ARRAY - 1);
    match packed & (ARRAY | CLASS) {
        ARRAY => What::Array(class),
        CLASS => What::Class(class),
        _ => What::Instance(class),
    }
}

/// Arrays of primitive types come first among the entries, by their type; the
/// first is none.
pub(crate) const PRIMITIVES: u32 = 9;

enum Previous {
    None,
    Instance(u64, u32),
    Array(u64, Type, u32),
}

pub(crate) struct Survey {
    pub(crate) header: Header,
    /// The file goes on behind what gzip packed.
    pub(crate) is_followed: bool,
    pub(crate) names: HashMap<u64, Box<[u8]>>,
    /// What is kept beside objects.
    pub(crate) kept: Kept,
    /// Class to its name.
    pub(crate) loaded: HashMap<u64, u64>,
    pub(crate) entries: Vec<Entry>,
    by_id: HashMap<u64, u32>,
    /// Answers of `by_id`.
    recent: Vec<(u64, u32)>,
    distances: Distances,
    previous: Previous,
    stack_chunks: Option<StackChunks>,
    keep: bool,
    /// Where the objects are kept, if they are.
    pub(crate) objects: Option<Objects>,
    /// Each object once.
    pub(crate) roots: BTreeMap<u64, Root>,
}

impl Survey {
    /// `keep` roots, not classes only.
    pub(crate) fn new(keep: bool) -> Survey {
        let mut entries = Vec::new();
        entries.resize_with(PRIMITIVES as usize, Entry::default);
        Survey {
            header: Header::default(),
            is_followed: false,
            names: HashMap::new(),
            kept: Kept::new(MOST_BYTES),
            loaded: HashMap::new(),
            entries,
            by_id: HashMap::new(),
            recent: vec![(0, 0); 1024],
            distances: Distances::new(),
            previous: Previous::None,
            stack_chunks: None,
            keep,
            objects: None,
            roots: BTreeMap::new(),
        }
    }

    pub(crate) fn class_of(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// A name, empty where there is none.
    pub(crate) fn text_of(&self, id: u64) -> Cow<'_, str> {
        let text = self.names.get(&id).map_or(&[][..], |text| text);
        String::from_utf8_lossy(text)
    }

    /// What an array of a class has.
    pub(crate) fn element_type(class: u32) -> Type {
        match class {
            PRIMITIVES.. => Type::Object,
            class => TYPES[class as usize],
        }
    }

    /// Of each class the next above that has fields.
    pub(crate) fn supers(&self) -> Vec<Option<u32>> {
        let has_fields = |class: u32| {
            let dump = self.entries[class as usize].dump.as_ref();
            dump.is_some_and(|dump| !dump.fields.is_empty())
        };
        let nearest = self.inherited(|class| has_fields(class).then_some(class));
        let classes = 0..self.entries.len() as u32;
        let above = |class| nearest[self.above(class)? as usize];
        classes.map(above).collect()
    }

    /// The class that a class extends.
    fn above(&self, class: u32) -> Option<u32> {
        let dump = self.entries[class as usize].dump.as_ref()?;
        self.class_of(dump.super_id)
    }

    /// What each class says of itself, or the next above that says something. Each
    /// class is asked once, however many are below it.
    pub(crate) fn inherited<T: Copy>(&self, own: impl Fn(u32) -> Option<T>) -> Vec<Option<T>> {
        let count = self.entries.len();
        let (mut is_known, mut answers) = (vec![false; count], vec![None; count]);
        let mut below = Vec::new();
        for class in 0..count as u32 {
            let mut answer = None;
            let mut next = Some(class);
            while let Some(class) = next {
                // One that extends itself ends here.
                if std::mem::replace(&mut is_known[class as usize], true) {
                    answer = answers[class as usize];
                    break;
                }
                below.push(class);
                answer = own(class);
                next = match answer {
                    Some(_) => None,
                    None => self.above(class),
                };
            }
            for class in below.drain(..) {
                answers[class as usize] = answer;
            }
        }
        answers
    }

    /// The entry of a class, that may be dumped later.
    #[inline]
    fn entry(&mut self, id: u64) -> Result<u32, ErrorKind> {
        let slot = (id >> 3) as usize & (self.recent.len() - 1);
        if self.recent[slot].0 == id && self.recent[slot].1 > 0 {
            return Ok(self.recent[slot].1);
        }
        let index = match self.by_id.get(&id) {
            Some(index) => *index,
            None => self.new_entry(id)?,
        };
        self.recent[slot] = (id, index);
        Ok(index)
    }

    fn new_entry(&mut self, id: u64) -> Result<u32, ErrorKind> {
        self.kept.keep(CLASS_BYTES)?;
        let index = self.entries.len() as u32;
        self.by_id.insert(id, index);
        self.entries.push(Entry {
            id,
            distance: u64::MAX,
            ..Entry::default()
        });
        Ok(index)
    }

    #[inline]
    fn see(&mut self, id: u64, what: u32, length: u32) -> Result<(), ErrorKind> {
        match self.previous {
            Previous::Instance(before, class) if id > before => {
                let least = &mut self.entries[class as usize].distance;
                *least = (*least).min(id - before);
            }
            Previous::Array(before, of, length) if id > before => {
                self.distances.see(of, length, id - before);
            }
            _ => {}
        }
        match &mut self.objects {
            Some(objects) => objects.push(id, what, length),
            None => Ok(()),
        }
    }

    fn array(&mut self, id: u64, class: u32, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.see(id, ARRAY | class, length)?;
        self.previous = Previous::Array(id, of, length);
        let entry = &mut self.entries[class as usize];
        entry.arrays += 1;
        let bytes = u64::from(length) * u64::from(of.size(4));
        let both = [up(bytes, 8), up(bytes + 4, 8), u64::from(length) * 8];
        for (sum, bytes) in entry.elements.iter_mut().zip(both) {
            *sum += bytes;
        }
        Ok(())
    }

    /// A class's name as the VM writes it.
    pub(crate) fn internal_name(&self, class: u32) -> &[u8] {
        let entry = &self.entries[class as usize];
        let name = self.loaded.get(&entry.id);
        let name = name.and_then(|name| self.names.get(name));
        name.map_or(&[], |name| name)
    }

    /// A class's name as Java writes it.
    pub(crate) fn name(&self, class: u32) -> String {
        if class < PRIMITIVES {
            return format!("{}[]", TYPES[class as usize]);
        }
        let name = self.internal_name(class);
        match name.is_empty() {
            true => format!("class {:#x}", self.entries[class as usize].id),
            false => java_name(&String::from_utf8_lossy(name)),
        }
    }

    pub(crate) fn sizes(&self) -> Sizes {
        let model = self.distances.model(self.header.id_size);
        let mut sizes = Sizes {
            model,
            layouts: vec![None; self.entries.len()],
        };
        for class in 0..self.entries.len() as u32 {
            self.lay_out(class, &mut sizes);
        }
        sizes
    }

    /// Lays out a class and those above that are not yet.
    fn lay_out(&self, class: u32, sizes: &mut Sizes) {
        let mut above = Vec::new();
        let mut layout = Layout::after(sizes.model.header);
        let mut next = Some(class);
        while let Some(class) = next {
            match &sizes.layouts[class as usize] {
                Some(known) => {
                    layout = known.clone();
                    break;
                }
                // One that extends itself ends here.
                None => sizes.layouts[class as usize] = Some(layout.clone()),
            }
            above.push(class);
            next = self.above(class);
        }
        for class in above.into_iter().rev() {
            let dump = self.entries[class as usize].dump.as_ref();
            let fields = || dump.into_iter().flat_map(|dump| &dump.fields);
            let is = |id: &u64, name: &[u8]| self.names.get(id).is_some_and(|text| **text == *name);
            let hidden = hidden_fields(self.internal_name(class), |name| {
                fields().any(|field| is(&field.name, name))
            });
            let types = fields()
                .map(|field| field.value_type)
                .chain(hidden.iter().copied());
            layout.add(types, sizes.model.reference);
            sizes.layouts[class as usize] = Some(layout.clone());
        }
    }

    /// Bytes of an instance, but for a stack behind it.
    pub(crate) fn instance_size(&self, class: u32, sizes: &Sizes) -> u64 {
        let laid_out = sizes.layouts[class as usize].as_ref();
        let laid_out = laid_out.map_or(0, |layout| u64::from(layout.size()));
        match self.entries[class as usize].distance {
            // There is no room for more.
            distance if distance >= 8 => laid_out.min(distance),
            _ => laid_out,
        }
    }

    /// Bytes of all instances of a class.
    pub(crate) fn instances_size(&self, class: u32, sizes: &Sizes) -> u64 {
        let entry = &self.entries[class as usize];
        let stacks = self.stack_chunks.as_ref();
        let stacks = stacks.filter(|chunks| chunks.class == entry.id);
        let stacks = stacks.map_or(0, |chunks| chunks.bytes(sizes.model.reference));
        let each = self.instance_size(class, sizes);
        entry.instances.saturating_mul(each).saturating_add(stacks)
    }

    /// Bytes of the stack behind an instance with these fields.
    pub(crate) fn stack_size(&self, class: u32, fields: &[u8], sizes: &Sizes) -> u64 {
        let id = self.entries[class as usize].id;
        let stacks = self.stack_chunks.as_ref();
        let words = stacks.filter(|chunks| chunks.class == id);
        let words = words.map_or(0, |chunks| chunks.words(fields));
        stack_bytes(words, sizes.model.reference)
    }

    /// Bytes of a class's object, in which its static fields lie.
    pub(crate) fn class_size(&self, class: u32, of_class: Option<u32>, sizes: &Sizes) -> u64 {
        let base = of_class.and_then(|of_class| sizes.layouts[of_class as usize].as_ref());
        let base = base.map_or(0, Layout::size);
        let mut layout = Layout::after(base);
        if let Some(dump) = &self.entries[class as usize].dump {
            // `<resolved_references>` and such are no fields of the class.
            let is_field = |name| {
                self.names
                    .get(name)
                    .is_none_or(|name| !name.starts_with(b"<"))
            };
            let fields = dump.statics.iter().filter(|field| is_field(&field.name));
            layout.add(fields.map(|field| field.value_type), sizes.model.reference);
        }
        layout.size().into()
    }

    /// The class of classes.
    pub(crate) fn of_class(&self) -> Option<u32> {
        let mut all = PRIMITIVES..self.entries.len() as u32;
        all.find(|class| self.internal_name(*class) == b"java/lang/Class")
    }

    /// Bytes of all arrays of a class.
    pub(crate) fn arrays_size(&self, class: u32, model: &Model) -> u64 {
        let entry = &self.entries[class as usize];
        let size = match class {
            PRIMITIVES.. => model.reference,
            class => TYPES[class as usize].size(4),
        };
        let base = model.base(size);
        let (before, elements) = match (size, base % 8) {
            (8, _) => (base, entry.elements[2]),
            (_, 4) => (base - 4, entry.elements[1]),
            _ => (base, entry.elements[0]),
        };
        before * entry.arrays + elements
    }
}

/// By the number of their arrays' entries.
pub(crate) const TYPES: [Type; PRIMITIVES as usize] = [
    Type::Object,
    Type::Boolean,
    Type::Char,
    Type::Float,
    Type::Double,
    Type::Byte,
    Type::Short,
    Type::Int,
    Type::Long,
];

/// What instances take in memory.
pub(crate) struct Sizes {
    pub(crate) model: Model,
    layouts: Vec<Option<Layout>>,
}

/// How much a reason says of what holds an object, if there are several: more
/// than that some thread has it at hand, and that more than no thread.
fn holds(kind: RootKind) -> u8 {
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
        self.is_followed = true;
    }

    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.kept.keep(ENTRY + text.len() as u64)?;
        self.names.insert(id, text.into());
        Ok(())
    }

    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.kept.keep(ENTRY)?;
        self.loaded.insert(class.class, class.name);
        Ok(())
    }

    fn root(&mut self, root: Root) -> Result<(), ErrorKind> {
        if !self.keep {
            return Ok(());
        }
        match self.roots.get_mut(&root.id) {
            Some(known) if holds(known.kind) < holds(root.kind) => *known = root,
            Some(_) => {}
            None => {
                self.kept.keep(3 * ENTRY)?;
                self.roots.insert(root.id, root);
            }
        }
        Ok(())
    }

    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        let index = self.entry(class.id)?;
        let is_new = self.entries[index as usize].dump.is_none();
        if is_new {
            let parts = class.fields.len() + class.statics.len() + class.constants.len();
            self.kept.keep(24 * parts as u64)?;
            self.previous = Previous::None;
            self.see(class.id, CLASS | index, 0)?;
            if self.internal_name(index) == STACK_CHUNK {
                let is_size = |name| self.names.get(&name).is_some_and(|name| **name == *b"size");
                self.stack_chunks = StackChunks::of(class, self.header.id_size, is_size);
            }
            self.entries[index as usize].dump = Some(class.clone());
        }
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
        let class = self.entry(class)?;
        self.see(id, class, words)?;
        self.previous = Previous::Instance(id, class);
        self.entries[class as usize].instances += 1;
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        let class = self.entry(class)?;
        self.array(id, class, Type::Object, length)
    }

    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.array(id, of as u32, of, length)
    }
}
