//! Annotations, their values and their targets as text
//! (JVMS §4.7.16 to §4.7.22).

use std::fmt::Write;

use crate::code::bci::Bci;
use crate::constant_pool::Constant;
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::modified_utf8::quoted;
use crate::reader::Reader;
use crate::text::constants::resolved;
use crate::text::printer::{Printer, Stop};

/// Maximum nesting of values that is printed. Compilers do not reach it; the limit protects the
/// stack from hostile input.
const MAX_DEPTH: u32 = 64;

/// Returns the name of a `target_type` (JVMS tables 4.7.20-A and 4.7.20-B).
fn target_name(target_type: u8) -> Option<&'static str> {
    Some(match target_type {
        0x00 => "class type parameter",
        0x01 => "method type parameter",
        0x10 => "supertype",
        0x11 => "class type parameter bound",
        0x12 => "method type parameter bound",
        0x13 => "field",
        0x14 => "return type",
        0x15 => "receiver",
        0x16 => "formal parameter",
        0x17 => "throws",
        0x40 => "local variable",
        0x41 => "resource variable",
        0x42 => "exception parameter",
        0x43 => "instanceof",
        0x44 => "new",
        0x45 => "constructor reference",
        0x46 => "method reference",
        0x47 => "cast",
        0x48 => "constructor call type argument",
        0x49 => "method call type argument",
        0x4a => "constructor reference type argument",
        0x4b => "method reference type argument",
        _ => return None,
    })
}

impl Printer<'_, '_> {
    /// Prints the annotations in a `Runtime…Annotations`, one per line.
    pub(super) fn annotations(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        for _ in 0..reader.u2()? {
            self.annotation(reader, 0)?;
            self.end()?;
        }
        Ok(())
    }

    /// Prints a `Runtime…ParameterAnnotations`: a line for each parameter, each followed by the
    /// parameter's annotations.
    pub(super) fn parameter_annotations(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        for parameter in 0..reader.u1()? {
            self.line(format_args!("parameter {parameter}"))?;
            self.indented(|printer| printer.annotations(reader))?;
        }
        Ok(())
    }

    /// Prints the annotations in a `Runtime…TypeAnnotations`, one per line.
    pub(super) fn type_annotations(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        for _ in 0..reader.u2()? {
            self.target(reader)?;
            self.type_path(reader)?;
            self.write_char(' ')?;
            self.annotation(reader, 0)?;
            self.end()?;
        }
        Ok(())
    }

    fn target(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        let at = reader.clone();
        let target_type = reader.u1()?;
        let Some(name) = target_name(target_type) else {
            return Err(at.error(ErrorKind::BadTargetType(target_type)).into());
        };
        write!(self, "0x{target_type:02x} {name}")?;
        match target_type {
            0x00 | 0x01 | 0x16 => write!(self, " {}", reader.u1()?)?,
            0x10 => match reader.u2()? {
                0xffff => write!(self, " extends")?,
                interface => write!(self, " implements {interface}")?,
            },
            0x11 | 0x12 => write!(self, " {} bound {}", reader.u1()?, reader.u1()?)?,
            0x17 => write!(self, " {}", reader.u2()?)?,
            0x40 | 0x41 => {
                for i in 0..reader.u2()? {
                    let (start, length) = (Bci(reader.u2()?), reader.u2()?);
                    let local = reader.u2()?;
                    self.write_str(if i == 0 { " " } else { ", " })?;
                    self.range(start, u32::from(start) + u32::from(length))?;
                    write!(self, " local {local}")?;
                }
            }
            0x42 => write!(self, " exception_table[{}]", reader.u2()?)?,
            0x43..=0x4b => {
                self.write_str(" at ")?;
                self.offset(i64::from(reader.u2()?))?;
                if target_type >= 0x47 {
                    write!(self, " argument {}", reader.u1()?)?;
                }
            }
            // A field, return type or receiver has no `target_info`.
            _ => {}
        }
        Ok(())
    }

    fn type_path(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        for i in 0..reader.u1()? {
            self.write_str(if i == 0 { " path " } else { "." })?;
            match (reader.u1()?, reader.u1()?) {
                (0, 0) => self.write_str("element")?,
                (1, 0) => self.write_str("nested")?,
                (2, 0) => self.write_str("bound")?,
                (3, argument) => write!(self, "argument {argument}")?,
                (kind, argument) => write!(self, "<{kind} {argument}>")?,
            }
        }
        Ok(())
    }

    fn annotation(&mut self, reader: &mut Reader<'_>, depth: u32) -> Result<(), Stop> {
        write!(self, "@{}", resolved(self.pool(), reader.cp_index()?))?;
        let pairs = reader.u2()?;
        if pairs == 0 {
            return Ok(());
        }
        self.write_char('(')?;
        for i in 0..pairs {
            let comma = if i == 0 { "" } else { ", " };
            write!(
                self,
                "{comma}{} = ",
                resolved(self.pool(), reader.cp_index()?)
            )?;
            self.element_value(reader, depth + 1)?;
        }
        self.write_char(')')?;
        Ok(())
    }

    /// Prints one `element_value` (JVMS §4.7.16.1) within a line.
    pub(super) fn element_value(
        &mut self,
        reader: &mut Reader<'_>,
        depth: u32,
    ) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            return Err(reader.error(ErrorKind::AnnotationsTooDeep).into());
        }
        let at = reader.clone();
        match reader.u1()? {
            tag @ (b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z') => {
                self.number(tag, reader.cp_index()?)?;
            }
            b's' => {
                let index = reader.cp_index()?;
                match self.pool().utf8(index) {
                    Ok(text) => write!(self, "{}", quoted(text))?,
                    Err(_) => write!(self, "{}", resolved(self.pool(), index))?,
                }
            }
            b'e' => {
                let (type_name, constant) = (reader.cp_index()?, reader.cp_index()?);
                let (type_name, constant) = (
                    resolved(self.pool(), type_name),
                    resolved(self.pool(), constant),
                );
                write!(self, "{type_name}.{constant}")?;
            }
            b'c' => write!(self, "class {}", resolved(self.pool(), reader.cp_index()?))?,
            b'@' => self.annotation(reader, depth)?,
            b'[' => {
                self.write_char('{')?;
                for i in 0..reader.u2()? {
                    self.write_str(if i == 0 { "" } else { ", " })?;
                    self.element_value(reader, depth + 1)?;
                }
                self.write_char('}')?;
            }
            other => return Err(at.error(ErrorKind::BadElementValueTag(other)).into()),
        }
        Ok(())
    }

    /// Prints the constant of a primitive `element_value`, after the letter of its type unless the value shows
    /// the type.
    fn number(&mut self, tag: u8, index: CpIndex) -> Result<(), Stop> {
        match (tag, self.pool().get(index)) {
            (b'Z', Ok(Constant::Integer(0))) => self.write_str("false")?,
            (b'Z', Ok(Constant::Integer(1))) => self.write_str("true")?,
            (b'C', Ok(Constant::Integer(unit @ 0x20..=0x7e))) => {
                write!(self, "'{}'", char::from(unit as u8))?;
            }
            (b'C', Ok(Constant::Integer(unit @ 0..=0xffff))) => write!(self, "'\\u{unit:04x}'")?,
            (b'I', Ok(Constant::Integer(value))) => write!(self, "{value}")?,
            (tag, _) => {
                let value = resolved(self.pool(), index);
                write!(self, "{} {value}", char::from(tag))?;
            }
        }
        Ok(())
    }
}
