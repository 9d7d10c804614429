//! Attributes as text (JVMS §4.7): name and value on one line, or a line for each value if there are many.

use std::fmt::{self, Write};

use crate::class::{Attribute, Attributes};
use crate::error::Structure;
use crate::modified_utf8::short;
use crate::reader::Reader;
use crate::text::flags::Flags;
use crate::text::printer::{Printer, Stop};

/// A function that prints the content of an attribute, after the attribute's name was printed. Its arguments are the
/// printer, the name and the content. It returns false for an unknown attribute, and for an attribute that does not
/// belong to the printed structure.
pub(super) type PrintContent<'x, 'a> =
    fn(&mut Printer<'x, 'a>, &[u8], Reader<'a>) -> Result<bool, Stop>;

impl<'x, 'a> Printer<'x, 'a> {
    /// Prints the attributes, in file order.
    pub(super) fn attributes(
        &mut self,
        attributes: Attributes<'a>,
        content: PrintContent<'x, 'a>,
        structure: Structure,
    ) -> fmt::Result {
        for attribute in attributes {
            match attribute {
                Ok(attribute) => self.attribute(&attribute, content, structure)?,
                Err(error) => self.error(&error)?,
            }
        }
        Ok(())
    }

    /// Prints one attribute. The content of an unknown attribute is shown as bytes.
    pub(super) fn attribute(
        &mut self,
        attribute: &Attribute<'a>,
        content: PrintContent<'x, 'a>,
        structure: Structure,
    ) -> fmt::Result {
        let mut known = false;
        match self.pool().utf8(attribute.name_index) {
            Ok(name) => {
                write!(self, "{}", short(name))?;
                self.readable(|printer| {
                    known = true;
                    known = content(printer, name, attribute.reader(structure))?;
                    Ok(())
                })?;
            }
            Err(error) => write!(self, "<{}>", error.kind())?,
        }
        if !known {
            self.line(format_args!(" ({} bytes)", attribute.info.len()))?;
            self.indented(|printer| printer.hex(attribute.info))?;
        }
        Ok(())
    }

    /// Prints the content of an attribute of a record component, which has no `Record` attribute;
    /// see [`PrintContent`].
    fn component_attribute(&mut self, name: &[u8], reader: Reader<'a>) -> Result<bool, Stop> {
        if name == b"Record" {
            return Ok(false);
        }
        self.declaration_attribute(name, reader)
    }

    /// Prints the content of an attribute of a class, field or method; see [`PrintContent`].
    pub(super) fn declaration_attribute(
        &mut self,
        name: &[u8],
        mut content: Reader<'a>,
    ) -> Result<bool, Stop> {
        let reader = &mut content;
        match name {
            b"Synthetic" | b"Deprecated" => self.end()?,
            b"SourceFile" | b"Signature" | b"ConstantValue" | b"NestHost" | b"ModuleMainClass" => {
                self.write_char(' ')?;
                self.constant(reader.cp_index()?)?;
                self.end()?;
            }
            b"Exceptions" | b"NestMembers" | b"PermittedSubclasses" | b"ModulePackages" => {
                self.list(reader, |printer, reader| {
                    Ok(printer.constant(reader.cp_index()?)?)
                })?;
            }
            b"EnclosingMethod" => {
                self.write_str(" class ")?;
                self.constant(reader.cp_index()?)?;
                self.write_str(" method ")?;
                self.constant(reader.cp_index()?)?;
                self.end()?;
            }
            b"InnerClasses" => self.list(reader, Self::inner_class)?,
            b"BootstrapMethods" => self.bootstrap_methods(reader)?,
            b"MethodParameters" => self.method_parameters(reader)?,
            b"SourceDebugExtension" => {
                let text = reader.take(reader.left())?;
                self.line(format_args!(" {}", short(text)))?;
            }
            b"Record" => self.record(reader)?,
            b"Module" => self.module(reader)?,
            b"AnnotationDefault" => {
                self.write_char(' ')?;
                self.element_value(reader, 0)?;
                self.end()?;
            }
            b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations" => {
                self.end()?;
                self.annotations(reader)?;
            }
            b"RuntimeVisibleParameterAnnotations" | b"RuntimeInvisibleParameterAnnotations" => {
                self.end()?;
                self.parameter_annotations(reader)?;
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                self.end()?;
                self.type_annotations(reader)?;
            }
            _ => return Ok(false),
        }
        reader.finish()?;
        Ok(true)
    }

    /// Prints a count, then that many values, one per line.
    fn list(
        &mut self,
        reader: &mut Reader<'a>,
        mut value: impl FnMut(&mut Self, &mut Reader<'a>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let count = reader.u2()?;
        self.line(format_args!(" ({count})"))?;
        for _ in 0..count {
            value(self, reader)?;
            self.end()?;
        }
        Ok(())
    }

    fn inner_class(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        self.constant(reader.cp_index()?)?;
        self.write_str(" outer ")?;
        self.constant(reader.cp_index()?)?;
        self.write_str(" name ")?;
        self.constant(reader.cp_index()?)?;
        write!(
            self,
            " flags {}",
            Flags::new(reader.u2()?, Flags::INNER_CLASS)
        )?;
        Ok(())
    }

    fn bootstrap_methods(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        let count = reader.u2()?;
        self.line(format_args!(" ({count})"))?;
        for i in 0..count {
            write!(self, "{i}: ")?;
            self.constant(reader.cp_index()?)?;
            self.end()?;
            for _ in 0..reader.u2()? {
                let argument = reader.cp_index()?;
                self.indented(|printer| {
                    printer.operand(argument)?;
                    printer.end()
                })?;
            }
        }
        Ok(())
    }

    fn method_parameters(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        let count = reader.u1()?;
        self.line(format_args!(" ({count})"))?;
        for _ in 0..count {
            self.constant(reader.cp_index()?)?;
            write!(self, " flags {}", Flags::new(reader.u2()?, Flags::MANDATED))?;
            self.end()?;
        }
        Ok(())
    }

    fn record(&mut self, reader: &mut Reader<'a>) -> Result<(), Stop> {
        let count = reader.u2()?;
        self.line(format_args!(" ({count})"))?;
        for _ in 0..count {
            self.constant(reader.cp_index()?)?;
            self.write_char(' ')?;
            self.constant(reader.cp_index()?)?;
            self.end()?;
            for _ in 0..reader.u2()? {
                let offset = reader.offset();
                let name_index = reader.cp_index()?;
                let len = reader.u4()? as usize;
                let attribute = Attribute {
                    name_index,
                    offset,
                    info: reader.take(len)?,
                };
                let structure = Structure::Named("Record");
                self.indented(|printer| {
                    printer.attribute(&attribute, Self::component_attribute, structure)
                })?;
            }
        }
        Ok(())
    }

    /// Prints a `Module` (JVMS §4.7.25).
    fn module(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        self.write_char(' ')?;
        self.constant(reader.cp_index()?)?;
        write!(self, " flags {}", Flags::new(reader.u2()?, Flags::MANDATED))?;
        self.version(reader)?;
        for _ in 0..reader.u2()? {
            self.write_str("requires ")?;
            self.constant(reader.cp_index()?)?;
            write!(self, " flags {}", Flags::new(reader.u2()?, Flags::REQUIRES))?;
            self.version(reader)?;
        }
        for word in ["exports", "opens"] {
            for _ in 0..reader.u2()? {
                write!(self, "{word} ")?;
                self.constant(reader.cp_index()?)?;
                write!(self, " flags {}", Flags::new(reader.u2()?, Flags::MANDATED))?;
                self.end()?;
                self.indented(|printer| printer.module_names("to", reader))?;
            }
        }
        self.module_names("uses", reader)?;
        for _ in 0..reader.u2()? {
            self.write_str("provides ")?;
            self.constant(reader.cp_index()?)?;
            self.end()?;
            self.indented(|printer| printer.module_names("with", reader))?;
        }
        Ok(())
    }

    fn version(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        let version = reader.cp_index()?;
        if !version.is_none() {
            self.write_str(" version ")?;
            self.constant(version)?;
        }
        self.end()?;
        Ok(())
    }

    fn module_names(&mut self, word: &str, reader: &mut Reader<'_>) -> Result<(), Stop> {
        for _ in 0..reader.u2()? {
            write!(self, "{word} ")?;
            self.constant(reader.cp_index()?)?;
            self.end()?;
        }
        Ok(())
    }
}
