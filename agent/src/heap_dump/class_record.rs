//! The record of a class in a heap dump, gathered from the references and values that the heap walk shows for this
//! class.

use std::io::{self, Write};

use loadhook_hprof::{ClassDump, Constant, InstanceField, StaticField, Type, Writer};

use super::classes::{Class, Classes, ObjectKind};
use super::tags::id_of_class;

/// The parts of a class's record that the walk has shown so far.
#[derive(Default)]
pub(super) struct ClassRecord {
    pub(super) loader: u64,
    pub(super) signers: u64,
    pub(super) domain: u64,
    pub(super) constants: Vec<Constant>,
    /// Values by the field's position among the fields that the class declares. Only values of static fields are set.
    values: Vec<u64>,
    /// JVM TI's number of the first field that the class declares.
    first: usize,
}

impl ClassRecord {
    /// Makes an empty record of the class with this number.
    pub(super) fn new(classes: &Classes, number: usize) -> Self {
        ClassRecord {
            values: vec![0; classes.all[number].fields.len()],
            first: classes.first_static(number),
            ..ClassRecord::default()
        }
    }

    /// Sets a static field of the class. `index` is JVM TI's number of the field. `of` is the descriptor of a primitive
    /// type, `None` for a reference. Returns `None` if the class declares no static field of this number and type.
    pub(super) fn set_static(
        &mut self,
        class: &Class,
        index: i32,
        of: Option<u8>,
        bits: u64,
    ) -> Option<()> {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let at = at.checked_sub(self.first)?;
        let field = class.fields.get(at)?;
        let is_it = field.is_static
            && match (of, field.descriptor.first()) {
                (None, first) => matches!(first, Some(b'L' | b'[')),
                (of, first) => of.as_ref() == first,
            };
        self.values[at] = bits;
        is_it.then_some(())
    }

    /// Writes the record of the class with this number.
    pub(super) fn write(
        self,
        classes: &Classes,
        number: usize,
        out: &mut Writer<impl Write>,
    ) -> io::Result<()> {
        let class = &classes.all[number];
        let size = match class.kind {
            ObjectKind::Instance => classes.layout(number).size,
            _ => 0,
        };
        let mut dump = ClassDump {
            id: id_of_class(number),
            super_id: class.superclass.map_or(0, id_of_class),
            loader: self.loader,
            signers: self.signers,
            protection_domain: self.domain,
            instance_size: size as u32,
            constants: self.constants,
            ..ClassDump::default()
        };
        for (at, field) in class.fields.iter().enumerate() {
            let descriptor = field.descriptor.first().copied().unwrap_or(b'L');
            let value_type = Type::from_descriptor(descriptor);
            let name = out.name(&field.name)?;
            if field.is_static {
                let value = self.values.get(at).copied().unwrap_or(0);
                dump.statics.push(StaticField {
                    name,
                    value_type,
                    value,
                });
            } else {
                dump.fields.push(InstanceField { name, value_type });
            }
        }
        out.class(&dump)
    }
}
