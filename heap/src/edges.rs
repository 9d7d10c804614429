//! Takes the references out of a dump's objects.

use std::collections::HashMap;

use loadhook_hprof::{ErrorKind, Header, Type, Visitor, number};

use crate::index::Index;
use crate::store::{Column, Store};
use crate::survey::Survey;

/// Ends an object's part of the list.
pub(crate) const END: u32 = u32::MAX;

/// Places in the list are of 32 bits, the first of which is none.
const MOST_REFERENCES: u64 = u32::MAX as u64 - 2;

/// Bytes of plans that are kept. One for which there is no room is made anew for
/// each object.
const MOST_PLANS: usize = 16 << 20;

type Result<T> = std::result::Result<T, ErrorKind>;

/// Reads the references, all in one list.
pub(crate) struct Edges<'g> {
    survey: &'g Survey,
    supers: Vec<Option<u32>>,
    /// Whether instances of a class do not keep what they refer to.
    is_weak: Vec<bool>,
    index: &'g Index,
    store: &'g mut Store,
    /// Where each object's part begins, from 1 on; 0 of those without one.
    pub(crate) first: Column,
    pub(crate) targets: Column,
    /// The object whose references come, and whether there were any.
    open: Option<(u32, bool)>,
    /// What was wrong with the references of the object before.
    fault: Option<ErrorKind>,
    /// Where in the fields of each class's instances references are.
    plans: Vec<Option<Box<[u32]>>>,
    /// Bytes that more plans may take.
    room: usize,
    /// The objects of classes that are no roots.
    class_objects: Vec<Option<u32>>,
    /// Loader to its classes, which it keeps, though no field says so.
    loaded: HashMap<u64, Vec<u32>>,
}

impl<'g> Edges<'g> {
    pub(crate) fn new(
        survey: &'g Survey,
        index: &'g Index,
        store: &'g mut Store,
        is_root: impl Fn(u32) -> bool,
    ) -> Result<Edges<'g>> {
        let mut class_objects = Vec::new();
        let mut loaded: HashMap<u64, Vec<u32>> = HashMap::new();
        for entry in &survey.entries {
            let class = index.number(store, entry.id).map_err(ErrorKind::Io)?;
            // Roots keep themselves.
            let class = class.filter(|class| !is_root(*class));
            class_objects.push(class);
            if let (Some(dump), Some(class)) = (&entry.dump, class) {
                loaded.entry(dump.loader).or_default().push(class);
            }
        }
        let is_weak = survey.inherited(|class| is_weak(survey.internal_name(class)).then_some(()));
        Ok(Edges {
            supers: survey.supers(),
            is_weak: is_weak.iter().map(Option::is_some).collect(),
            first: store.column(index.len() as usize),
            targets: store.column(0),
            open: None,
            fault: None,
            plans: vec![None; survey.entries.len()],
            room: MOST_PLANS,
            class_objects,
            loaded,
            survey,
            index,
            store,
        })
    }

    /// What follows are references of an object, unless it had its own
    /// already.
    fn begin(&mut self, id: u64) -> Result<()> {
        self.end()?;
        let object = self.index.number(self.store, id).map_err(ErrorKind::Io)?;
        let Some(object) = object else {
            // An array that is cut off was not there when the dump was read before,
            // but nothing comes after it.
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

    /// Where references are in `bytes` of an instance.
    fn plan(&self, class: u32, bytes: usize) -> Box<[u32]> {
        let is_weak = self.is_weak[class as usize];
        let is_referent = |name: &u64, class: u32| {
            let name = self.survey.names.get(name);
            name.is_some_and(|name| **name == *b"referent")
                && self.survey.internal_name(class) == b"java/lang/ref/Reference"
        };
        fields(self.survey, &self.supers, class, bytes)
            .filter(|(_, name, of, class)| {
                *of == Type::Object && !(is_weak && is_referent(name, *class))
            })
            .map(|(offset, ..)| offset as u32)
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

    /// Classes refer to what is above and beside them, and by static fields.
    pub(crate) fn classes(&mut self, is_cut_off: bool) -> Result<()> {
        if is_cut_off && matches!(self.fault, Some(ErrorKind::Changed)) {
            self.fault = None;
        }
        self.end()?;
        let survey = self.survey;
        for dump in survey
            .entries
            .iter()
            .filter_map(|entry| entry.dump.as_ref())
        {
            self.begin(dump.id)?;
            self.refer_to(dump.super_id);
            let constants = dump.constants.iter();
            let constants = constants.map(|constant| (constant.value_type, constant.value));
            let statics = dump.statics.iter();
            let statics = statics.map(|field| (field.value_type, field.value));
            for id in [dump.loader, dump.signers, dump.protection_domain] {
                self.refer_to(id);
            }
            for (value_type, id) in constants.chain(statics) {
                if value_type == Type::Object {
                    self.refer_to(id);
                }
            }
        }
        self.end()
    }
}

/// As many classes with fields above one are looked at: a class that extends itself
/// does not do so for ever.
const MOST_SUPERS: usize = 1000;

/// A class and those above it that have fields.
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
        .map(move |(class, field)| {
            let offset = at;
            at += field.value_type.size(id_size) as usize;
            (offset, field.name, field.value_type, class)
        })
        .take_while(move |(offset, _, of, _)| offset + of.size(id_size) as usize <= bytes)
}

fn is_weak(class: &[u8]) -> bool {
    matches!(
        class,
        b"java/lang/ref/WeakReference"
            | b"java/lang/ref/SoftReference"
            | b"java/lang/ref/PhantomReference"
    )
}

impl Visitor for Edges<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn header(&mut self, header: Header) {
        if header != self.survey.header {
            self.fault = Some(ErrorKind::Changed);
        }
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<()> {
        let Some(class) = self.survey.class_of(class) else {
            return Err(ErrorKind::Changed);
        };
        self.begin(id)?;
        let slot = class as usize;
        let known = self.plans[slot].take();
        let is_new = known.is_none();
        let plan = known.unwrap_or_else(|| self.plan(class, bytes.len()));
        let id_size = self.survey.header.id_size as usize;
        for offset in &plan {
            let offset = *offset as usize;
            if let Some(id) = bytes.get(offset..offset + id_size) {
                self.refer_to(number(id));
            }
        }
        let more = if is_new { size_of_val(&*plan) } else { 0 };
        if let Some(room) = self.room.checked_sub(more) {
            self.room = room;
            self.plans[slot] = Some(plan);
        }
        self.refer(self.class_objects[slot]);
        for class in self.loaded.remove(&id).unwrap_or_default() {
            self.refer(Some(class));
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, _: u32) -> Result<()> {
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
