//! Makes the records of a heap dump from the callbacks of a heap walk.
//!
//! JVM TI reports references and values one by one, and those of one object consecutively. The dump gathers them into
//! the object's record. A flag in the object's tag says that the record is written. If JVM TI reports a further
//! reference or value of the object after that, the dump fails.

use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

use loadhook_hprof::{Constant, LONGEST_RECORD, Root, RootKind, Type, Writer};

use super::class_record::ClassRecord;
use super::classes::{Classes, ObjectKind, RecordLayout};
use super::fault::Fault;
use super::tags::{
    ANNOUNCED, ID_SIZE, Ids, LONG, WRITTEN, id_in, id_of_class, length_in, tag_of, tag_of_array,
};
use super::threads::Threads;
use crate::jvm::heap_walk::{Source, Tagged, Visitor, size_of};
use crate::jvm::sys::Long;

/// The object whose references and values the walk is showing.
enum Current {
    None,
    Instance {
        class: usize,
        layout: Rc<RecordLayout>,
    },
    /// An array of references. The elements before `next` are written.
    Array {
        next: u32,
        length: u32,
    },
    /// An array of primitive values. JVM TI reports all its elements in one call.
    PrimitiveArray,
    Class {
        number: usize,
        record: ClassRecord,
    },
}

/// The writer of a dump, which receives the objects that a walk shows.
pub(super) struct Dump<'c, W: Write> {
    classes: &'c Classes,
    threads: &'c Threads,
    out: Writer<W>,
    ids: Ids,
    /// Array lengths that are too large for a tag, by the identifier of the array. An entry is removed when the record
    /// of its array begins.
    lengths: HashMap<u64, u32>,
    /// Record layouts by class, once they are known.
    layouts: Vec<Option<Rc<RecordLayout>>>,
    /// True for classes whose record is written.
    dumped: Vec<bool>,
    /// Classes with fields that JVM TI did not list before the walk, if the walk has shown an instance or a static
    /// field of the class.
    partial: Vec<usize>,
    /// Objects of `java.lang.Class` that represent no class, such as `int.class`. JVM TI does not
    /// report their fields.
    mirrors: Vec<u64>,
    current: Current,
    current_id: u64,
    /// Values of the current instance.
    fields: Vec<u8>,
    /// Number of objects to which a reference was shown, without objects of `java.lang.Class`.
    reached: u64,
    /// Number of objects whose record is written, without objects of `java.lang.Class`.
    written: u64,
    /// Number of arrays that were cut, since they are too long for a record.
    cut: u64,
    fault: Option<Fault>,
}

/// Writes null references.
fn nulls(out: &mut Writer<impl Write>, count: u32) -> io::Result<()> {
    for _ in 0..count {
        out.put(&[0; ID_SIZE])?;
    }
    Ok(())
}

/// The summary of a finished dump.
pub(super) struct DumpSummary {
    /// Number of arrays that were cut, since they are too long for a record.
    pub(super) cut: u64,
    /// Classes whose fields are missing in the dump.
    pub(super) partial: Vec<usize>,
}

impl<'c, W: Write> Dump<'c, W> {
    pub(super) fn new(
        classes: &'c Classes,
        threads: &'c Threads,
        ids: Ids,
        out: Writer<W>,
    ) -> Self {
        Dump {
            classes,
            threads,
            out,
            ids,
            lengths: HashMap::new(),
            layouts: vec![None; classes.all.len()],
            dumped: vec![false; classes.all.len()],
            partial: Vec::new(),
            mirrors: Vec::new(),
            current: Current::None,
            current_id: 0,
            fields: Vec::new(),
            reached: 0,
            written: 0,
            cut: 0,
            fault: None,
        }
    }

    /// Finishes the dump after the walk.
    pub(super) fn finish(mut self) -> Result<DumpSummary, Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.end()?;
        if self.reached != self.written {
            return Err(Fault::Unspecified(
                "JVM TI showed references to objects, but not their content",
            ));
        }
        for number in 0..self.classes.all.len() {
            if !self.dumped[number] {
                self.class(number, ClassRecord::default())?;
            }
        }
        let of_classes = self.classes.of_classes;
        let size = self.layout(of_classes).size;
        for id in std::mem::take(&mut self.mirrors) {
            self.fields.clear();
            self.fields.resize(size, 0);
            self.instance(id, of_classes)?;
        }
        self.out.finish()?;
        Ok(DumpSummary {
            cut: self.cut,
            partial: self.partial,
        })
    }

    /// Returns the number of an object's class. Fails if the class was loaded after the classes were listed.
    fn class_of(&self, object: Tagged<'_>) -> Result<usize, Fault> {
        let number = self.classes.number(id_in(object.class_tag));
        number.ok_or(Fault::ClassesChanged)
    }

    fn layout(&mut self, class: usize) -> Rc<RecordLayout> {
        if let Some(layout) = &self.layouts[class] {
            return layout.clone();
        }
        let layout = Rc::new(self.classes.layout(class));
        if layout.is_partial {
            self.partial.push(class);
        }
        self.layouts[class] = Some(layout.clone());
        layout
    }

    /// Returns the identifier of an object. An object that is shown for the first time gets one.
    fn id(&mut self, to: Tagged<'_>, size: Long, length: Option<u32>) -> Result<u64, Fault> {
        let tag = to.tag.get();
        if tag & ANNOUNCED != 0 {
            to.tag.set(tag & !ANNOUNCED);
            self.reached += 1;
        }
        if tag != 0 {
            return Ok(id_in(tag));
        }
        let class = self.class_of(to)?;
        let id = self.ids.next(size);
        if self.classes.all[class].kind == ObjectKind::ObjectArray {
            let length = length.unwrap_or(0);
            to.tag.set(tag_of_array(id, length));
            if length >= LONG {
                self.lengths.insert(id, length);
            }
        } else {
            to.tag.set(tag_of(id));
        }
        if class == self.classes.of_classes {
            self.mirrors.push(id);
            return Ok(id);
        }
        self.reached += 1;
        Ok(id)
    }

    /// Begins the record of an object, unless it is the current one.
    fn begin(&mut self, from: Tagged<'_>) -> Result<(), Fault> {
        let tag = from.tag.get();
        let id = id_in(tag);
        if id == self.current_id {
            return Ok(());
        }
        self.end()?;
        if tag & WRITTEN != 0 {
            return Err(Fault::Unspecified("JVM TI showed an object twice"));
        }
        from.tag.set(tag | WRITTEN);
        self.current_id = id;
        if let Some(number) = self.classes.number(id) {
            let record = ClassRecord::new(self.classes, number);
            self.current = Current::Class { number, record };
            return Ok(());
        }
        let class = self.class_of(from)?;
        self.current = match self.classes.all[class].kind {
            // The object is a class that was loaded after the classes were listed.
            ObjectKind::Instance if class == self.classes.of_classes => {
                return Err(Fault::ClassesChanged);
            }
            ObjectKind::Instance => {
                let layout = self.layout(class);
                self.fields.clear();
                self.fields.resize(layout.size, 0);
                Current::Instance { class, layout }
            }
            ObjectKind::PrimitiveArray => Current::PrimitiveArray,
            ObjectKind::ObjectArray => {
                let length = match length_in(tag) {
                    LONG => self.lengths.remove(&id).unwrap_or(0),
                    length => length,
                };
                let length = self.fitting(length, ID_SIZE);
                self.out
                    .begin_object_array(id, id_of_class(class), length)?;
                Current::Array { next: 0, length }
            }
        };
        Ok(())
    }

    /// Returns how many of an array's `length` elements fit into a record. An element has `size` bytes. If not all
    /// fit, counts the array as cut.
    fn fitting(&mut self, length: u32, size: usize) -> u32 {
        // 64 bytes are left for the head of the record, which is smaller.
        let most = ((LONGEST_RECORD - 64) / size as u64) as u32;
        self.cut += u64::from(length > most);
        length.min(most)
    }

    /// Ends the record of the current object.
    fn end(&mut self) -> Result<(), Fault> {
        let id = std::mem::take(&mut self.current_id);
        match std::mem::replace(&mut self.current, Current::None) {
            Current::None | Current::PrimitiveArray => {}
            Current::Instance { class, .. } => {
                self.instance(id, class)?;
                self.written += 1;
            }
            Current::Array { next, length } => {
                nulls(&mut self.out, length - next)?;
                self.out.end_array()?;
                self.written += 1;
            }
            Current::Class { number, record } => self.class(number, record)?,
        }
        Ok(())
    }

    /// Writes an instance, whose values are in `fields`.
    fn instance(&mut self, id: u64, class: usize) -> io::Result<()> {
        self.out.instance(id, id_of_class(class), &self.fields)
    }

    fn class(&mut self, number: usize, shown: ClassRecord) -> Result<(), Fault> {
        self.dumped[number] = true;
        Ok(shown.write(self.classes, number, &mut self.out)?)
    }

    /// Sets a field of the current instance, or a static field of the current class.
    fn field(&mut self, index: i32, of: Option<u8>, bits: u64) -> Result<(), Fault> {
        const NONE: Fault =
            Fault::Unspecified("JVM TI showed a field that the class does not have");
        match &mut self.current {
            Current::Instance { layout, .. } if layout.is_partial => Ok(()),
            Current::Instance { layout, .. } => {
                let slot = layout.slot(index, of.is_none()).ok_or(NONE)?;
                let size = size_of(slot.of);
                let bytes = bits.to_be_bytes();
                let place = self.fields.get_mut(slot.offset..slot.offset + size);
                place.ok_or(NONE)?.copy_from_slice(&bytes[ID_SIZE - size..]);
                of.is_none_or(|of| of == slot.of).then_some(()).ok_or(NONE)
            }
            Current::Class { number, .. } if !self.classes.all[*number].is_prepared => {
                self.partial.push(*number);
                Ok(())
            }
            Current::Class { number, record } => {
                let class = &self.classes.all[*number];
                record.set_static(class, index, of, bits).ok_or(NONE)
            }
            _ => Err(NONE),
        }
    }

    fn refer(&mut self, source: Source, from: Tagged<'_>, to: u64) -> Result<(), Fault> {
        self.begin(from)?;
        match (source, &mut self.current) {
            // The record of an object names its class already.
            (Source::Class, _) => Ok(()),
            (Source::Field(index) | Source::StaticField(index), _) => self.field(index, None, to),
            (Source::Element(index), Current::Array { next, length }) => {
                let index = index.cast_unsigned();
                let gap = index.checked_sub(*next);
                let gap = gap.ok_or(Fault::Unspecified("JVM TI showed elements out of order"))?;
                if index < *length {
                    *next = index + 1;
                    nulls(&mut self.out, gap)?;
                    self.out.put(&to.to_be_bytes())?;
                }
                Ok(())
            }
            (Source::Constant(index), Current::Class { record, .. }) => {
                record.constants.push(Constant {
                    index: index as u16,
                    value_type: Type::Object,
                    value: to,
                });
                Ok(())
            }
            (Source::ClassLoader, Current::Class { record, .. }) => {
                record.loader = to;
                Ok(())
            }
            (Source::Signers, Current::Class { record, .. }) => {
                record.signers = to;
                Ok(())
            }
            (Source::ProtectionDomain, Current::Class { record, .. }) => {
                record.domain = to;
                Ok(())
            }
            _ => Err(Fault::Unspecified(
                "JVM TI showed a reference of an unknown kind",
            )),
        }
    }

    fn root(&mut self, source: Source, id: u64) -> Result<(), Fault> {
        // A root is no object, so the current object ends.
        self.end()?;
        let (kind, thread, frame) = match source {
            Source::JniGlobal => (RootKind::JniGlobal, 0, u32::MAX),
            Source::JniLocal(variable) | Source::StackLocal(variable) => {
                let thread = id_in(variable.thread_tag);
                let (thread, frame) = self.threads.frame(&variable, thread);
                let kind = match source {
                    Source::JniLocal(_) => RootKind::JniLocal,
                    _ => RootKind::JavaFrame,
                };
                (kind, thread, frame)
            }
            Source::SystemClass => (RootKind::StickyClass, 0, u32::MAX),
            Source::Monitor => (RootKind::MonitorUsed, 0, u32::MAX),
            Source::Thread => {
                let (serial, trace) = self.threads.serials(id);
                (RootKind::ThreadObject, serial, trace)
            }
            _ => (RootKind::Unknown, 0, u32::MAX),
        };
        let root = Root {
            id,
            kind,
            thread,
            frame,
        };
        Ok(self.out.root(&root)?)
    }

    /// Writes an array of primitive values.
    fn primitive_values(
        &mut self,
        of: u8,
        from: Tagged<'_>,
        length: u32,
        elements: &[u8],
    ) -> Result<(), Fault> {
        self.begin(from)?;
        let id = self.current_id;
        if !matches!(self.current, Current::PrimitiveArray) {
            return Err(Fault::Unspecified(
                "JVM TI showed elements of an object that is not an array",
            ));
        }
        let size = size_of(of);
        let length = self.fitting(length, size);
        let bytes = length as usize * size;
        let element = Type::from_descriptor(of);
        self.out.begin_primitive_array(id, element, length)?;
        let elements = elements.get(..bytes).unwrap_or_default();
        if size == 1 {
            self.out.put(elements)?;
        } else {
            let mut turned = [0; 4096];
            for part in elements.chunks(turned.len()) {
                let turned = &mut turned[..part.len()];
                turned.copy_from_slice(part);
                if cfg!(target_endian = "little") {
                    turned.chunks_exact_mut(size).for_each(<[u8]>::reverse);
                }
                self.out.put(turned)?;
            }
        }
        self.out.end_array()?;
        self.written += 1;
        Ok(())
    }

    /// Stores the fault of an outcome, if it is the first fault. Returns whether the walk continues.
    fn noted(&mut self, outcome: Result<(), Fault>) -> bool {
        let goes_on = outcome.is_ok();
        if let Err(fault) = outcome {
            self.fault.get_or_insert(fault);
        }
        goes_on
    }
}

impl<W: Write> Visitor for Dump<'_, W> {
    fn reference(
        &mut self,
        source: Source,
        from: Option<Tagged<'_>>,
        to: Tagged<'_>,
        size: Long,
        length: Option<u32>,
    ) -> bool {
        let outcome = self.id(to, size, length).and_then(|id| match from {
            Some(from) => self.refer(source, from, id),
            None => self.root(source, id),
        });
        self.noted(outcome)
    }

    fn primitive_field(&mut self, of: u8, index: i32, from: Tagged<'_>, bits: u64) -> bool {
        let outcome = self.begin(from);
        let outcome = outcome.and_then(|()| self.field(index, Some(of), bits));
        self.noted(outcome)
    }

    fn primitive_array(&mut self, of: u8, from: Tagged<'_>, length: u32, elements: &[u8]) -> bool {
        let outcome = self.primitive_values(of, from, length, elements);
        self.noted(outcome)
    }
}

#[cfg(test)]
mod tests;
