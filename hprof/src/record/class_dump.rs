//! A class (the heap record `HPROF_GC_CLASS_DUMP`).

use std::io::{self, Read};

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;
use crate::tag::heap::CLASS_DUMP;
use crate::types::Type;

/// A class. Its name is in a [`LoadClass`](crate::LoadClass).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassDump {
    /// Identifier of the class object.
    pub id: u64,
    /// The superclass; 0 for `java.lang.Object`.
    pub super_id: u64,
    /// The class loader; 0 for the bootstrap loader.
    pub loader: u64,
    /// The signers; 0 if there are none.
    pub signers: u64,
    /// The protection domain; 0 if there is none.
    pub protection_domain: u64,
    /// Number of bytes of an instance's field values, including those of all superclasses.
    pub instance_size: u32,
    /// Entries of the constant pool. Few JVMs write any.
    pub constants: Vec<Constant>,
    /// Static fields.
    pub statics: Vec<StaticField>,
    /// Instance fields that the class itself declares, in the order of their values in instances.
    pub fields: Vec<InstanceField>,
}

/// A constant pool entry of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Index in the constant pool.
    pub index: u16,
    /// Type of the value.
    pub value_type: Type,
    /// Bits of the value. For a reference, the identifier.
    pub value: u64,
}

/// A static field of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticField {
    /// Identifier of the field's name.
    pub name: u64,
    /// Type of the field.
    pub value_type: Type,
    /// Bits of the value. For a reference, the identifier.
    pub value: u64,
}

/// An instance field that a class declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceField {
    /// Identifier of the field's name.
    pub name: u64,
    /// Type of the field.
    pub value_type: Type,
}

impl ClassDump {
    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<ClassDump> {
        let what = "a class";
        input.reserve(7 * input.id_size as u64 + 8, what)?;
        let id = input.id(what)?;
        let _stack_trace = input.input.u4(what)?;
        let mut class = ClassDump {
            id,
            super_id: input.id(what)?,
            loader: input.id(what)?,
            signers: input.id(what)?,
            protection_domain: input.id(what)?,
            ..ClassDump::default()
        };
        for _reserved in 0..2 {
            input.id(what)?;
        }
        class.instance_size = input.input.u4(what)?;
        for _ in 0..input.heap_u2(what)? {
            let index = input.heap_u2(what)?;
            let value_type = input.heap_type(what)?;
            let value = input.heap_value(value_type, what)?;
            class.constants.push(Constant {
                index,
                value_type,
                value,
            });
        }
        for _ in 0..input.heap_u2(what)? {
            let name = input.heap_value(Type::Object, what)?;
            let value_type = input.heap_type(what)?;
            let value = input.heap_value(value_type, what)?;
            class.statics.push(StaticField {
                name,
                value_type,
                value,
            });
        }
        for _ in 0..input.heap_u2(what)? {
            let name = input.heap_value(Type::Object, what)?;
            let value_type = input.heap_type(what)?;
            class.fields.push(InstanceField { name, value_type });
        }
        Ok(class)
    }

    /// Writes the class. Fails if it has more than 65,535 constants, static fields or fields, which a class file
    /// cannot have.
    pub(crate) fn write(&self, stack_trace: u32, out: &mut RecordBuffer) -> io::Result<()> {
        let count = |length| u16::try_from(length).map_err(io::Error::other);
        out.u1(CLASS_DUMP);
        out.id(self.id);
        out.u4(stack_trace);
        out.id(self.super_id);
        out.id(self.loader);
        out.id(self.signers);
        out.id(self.protection_domain);
        for _reserved in 0..2 {
            out.id(0);
        }
        out.u4(self.instance_size);
        out.u2(count(self.constants.len())?);
        for constant in &self.constants {
            out.u2(constant.index);
            out.u1(constant.value_type.code());
            out.value(constant.value_type, constant.value);
        }
        out.u2(count(self.statics.len())?);
        for field in &self.statics {
            out.id(field.name);
            out.u1(field.value_type.code());
            out.value(field.value_type, field.value);
        }
        out.u2(count(self.fields.len())?);
        for field in &self.fields {
            out.id(field.name);
            out.u1(field.value_type.code());
        }
        Ok(())
    }
}
