//! The second pass over a dump: the references of its objects.

use std::collections::HashMap;

use loadhook_hprof::{ClassDump, ErrorKind, Header, Type, Visitor, number};

use crate::instance_fields::instance_fields;
use crate::object_index::ObjectIndex;
use crate::store::{Column, Store};
use crate::survey::Survey;

/// The number that ends the references of an object in the list.
pub(crate) const END: u32 = u32::MAX;

/// Maximum number of references. Positions in the list have 32 bits, and 0 stands for no position.
const MOST_REFERENCES: u64 = u32::MAX as u64 - 2;

/// Maximum number of bytes of stored offsets. If the offsets of a class do not fit, they are
/// computed again for each instance.
const MOST_OFFSETS: usize = 16 << 20;

type Result<T> = std::result::Result<T, ErrorKind>;

/// A visitor that reads the references of all objects into one list, in the order of the dump.
pub(crate) struct ReferenceReader<'g> {
    survey: &'g Survey,
    superclasses: Vec<Option<u32>>,
    /// For each class, true if its instances are weak, soft or phantom references.
    is_weak: Vec<bool>,
    index: &'g ObjectIndex,
    store: &'g mut Store,
    /// For each object, the position of its first reference plus 1; 0 if it has none.
    pub(crate) first: Column,
    /// The references of all objects in one list; [`END`] follows the references of each object.
    pub(crate) targets: Column,
    /// The object whose references are being read, and a flag that is true once a reference was
    /// found.
    open: Option<(u32, bool)>,
    /// The first fault in the references of the current object. The call that ends the object returns it.
    fault: Option<ErrorKind>,
    /// For each class, the offsets of references in the field values of its instances.
    offsets: Vec<Option<Box<[u32]>>>,
    /// Memory in bytes that further offsets may take.
    room: usize,
    /// For each class, its class object; `None` if the class object is a root.
    class_objects: Vec<Option<u32>>,
    /// Class objects by their class loader. A loader keeps its classes alive, although no field of the loader
    /// refers to them.
    classes_of_loader: HashMap<u64, Vec<u32>>,
}

impl<'g> ReferenceReader<'g> {
    pub(crate) fn new(
        survey: &'g Survey,
        index: &'g ObjectIndex,
        store: &'g mut Store,
        is_root: impl Fn(u32) -> bool,
    ) -> Result<ReferenceReader<'g>> {
        let mut class_objects = Vec::new();
        let mut classes_of_loader: HashMap<u64, Vec<u32>> = HashMap::new();
        for entry in &survey.classes {
            let class = index.number(store, entry.id).map_err(ErrorKind::Io)?;
            // A root needs no reference to stay alive.
            let class = class.filter(|class| !is_root(*class));
            class_objects.push(class);
            if let (Some(dump), Some(class)) = (&entry.dump, class) {
                classes_of_loader
                    .entry(dump.loader)
                    .or_default()
                    .push(class);
            }
        }
        let is_weak = survey.inherited(|class| is_weak(survey.internal_name(class)).then_some(()));
        Ok(ReferenceReader {
            superclasses: survey.superclasses_with_fields(),
            is_weak: is_weak.iter().map(Option::is_some).collect(),
            first: store.column(index.len() as usize),
            targets: store.column(0),
            open: None,
            fault: None,
            offsets: vec![None; survey.classes.len()],
            room: MOST_OFFSETS,
            class_objects,
            classes_of_loader,
            survey,
            index,
            store,
        })
    }

    /// Begins the references of an object. If the dump has an object twice, only the first record
    /// counts.
    fn begin(&mut self, id: u64) -> Result<()> {
        self.end()?;
        let object = self.index.number(self.store, id).map_err(ErrorKind::Io)?;
        let Some(object) = object else {
            // The first pass did not count the array because it is cut off. Then no other record can follow the
            // array.
            self.fault = Some(ErrorKind::Changed);
            return Ok(());
        };
        let first = self.store.get(&self.first, object as usize);
        if first.map_err(ErrorKind::Io)? == 0 {
            self.open = Some((object, false));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if let Some((_, true)) = self.open.take() {
            self.push(END)?;
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Returns the offsets of references in the field values of an instance, which take `bytes`
    /// bytes.
    fn reference_offsets(&self, class: u32, bytes: usize) -> Box<[u32]> {
        let is_weak = self.is_weak[class as usize];
        let is_referent = |name: &u64, class: u32| {
            let name = self.survey.names.get(name);
            name.is_some_and(|name| **name == *b"referent")
                && self.survey.internal_name(class) == b"java/lang/ref/Reference"
        };
        instance_fields(self.survey, &self.superclasses, class, bytes)
            .filter(|field| {
                let is_weak = is_weak && is_referent(&field.name, field.class);
                field.value_type == Type::Object && !is_weak
            })
            .map(|field| field.offset as u32)
            .collect()
    }

    fn push(&mut self, value: u32) -> Result<()> {
        if self.targets.len() as u64 >= MOST_REFERENCES {
            let (what, most) = ("references", MOST_REFERENCES);
            return Err(ErrorKind::TooMany { what, most });
        }
        let pushed = self.store.push(&mut self.targets, value);
        pushed.map_err(ErrorKind::Io)
    }

    #[inline]
    fn refer(&mut self, to: Option<u32>) {
        if let (Some((object, has_some)), Some(to), None) = (self.open, to, &self.fault) {
            let begun = if has_some {
                Ok(())
            } else {
                self.open = Some((object, true));
                let first = self.targets.len() as u32 + 1;
                let set = self.store.set(&self.first, object as usize, first);
                set.map_err(ErrorKind::Io)
            };
            self.fault = begun.and_then(|()| self.push(to)).err();
        }
    }

    #[inline]
    fn refer_to(&mut self, id: u64) {
        if id != 0 && self.fault.is_none() {
            match self.index.number(self.store, id) {
                Ok(to) => self.refer(to),
                Err(error) => self.fault = Some(ErrorKind::Io(error)),
            }
        }
    }

    /// Adds the references of class objects: superclass, loader, signers, protection domain, constants
    /// and static fields.
    pub(crate) fn classes(&mut self, is_cut_off: bool) -> Result<()> {
        if is_cut_off && matches!(self.fault, Some(ErrorKind::Changed)) {
            self.fault = None;
        }
        self.end()?;
        let survey = self.survey;
        for dump in survey
            .classes
            .iter()
            .filter_map(|entry| entry.dump.as_ref())
        {
            self.class_references(dump)?;
        }
        self.end()
    }

    fn class_references(&mut self, dump: &ClassDump) -> Result<()> {
        self.begin(dump.id)?;
        self.refer_to(dump.super_id);
        for id in [dump.loader, dump.signers, dump.protection_domain] {
            self.refer_to(id);
        }
        let constants = dump.constants.iter();
        let constants = constants.map(|constant| (constant.value_type, constant.value));
        let statics = dump.statics.iter();
        let statics = statics.map(|field| (field.value_type, field.value));
        for (value_type, id) in constants.chain(statics) {
            if value_type == Type::Object {
                self.refer_to(id);
            }
        }
        Ok(())
    }
}

fn is_weak(class: &[u8]) -> bool {
    matches!(
        class,
        b"java/lang/ref/WeakReference"
            | b"java/lang/ref/SoftReference"
            | b"java/lang/ref/PhantomReference"
    )
}

impl Visitor for ReferenceReader<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn header(&mut self, header: Header) {
        if header != self.survey.header {
            self.fault = Some(ErrorKind::Changed);
        }
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<()> {
        let Some(class) = self.survey.class_index(class) else {
            return Err(ErrorKind::Changed);
        };
        self.begin(id)?;
        let slot = class as usize;
        let known = self.offsets[slot].take();
        let is_new = known.is_none();
        let offsets = known.unwrap_or_else(|| self.reference_offsets(class, bytes.len()));
        let id_size = self.survey.header.id_size as usize;
        for offset in &offsets {
            let offset = *offset as usize;
            if let Some(id) = bytes.get(offset..offset + id_size) {
                self.refer_to(number(id));
            }
        }
        let more = if is_new { size_of_val(&*offsets) } else { 0 };
        if let Some(room) = self.room.checked_sub(more) {
            self.room = room;
            self.offsets[slot] = Some(offsets);
        }
        self.refer(self.class_objects[slot]);
        for class in self.classes_of_loader.remove(&id).unwrap_or_default() {
            self.refer(Some(class));
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, _: u32) -> Result<()> {
        self.begin(id)?;
        if let Some(class) = self.survey.class_index(class) {
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
