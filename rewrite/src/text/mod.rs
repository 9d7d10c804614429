//! A class as text: the form of `loadhook inspect` and of the golden files.
//!
//! Everything stands in the order of the class file, without times or paths,
//! so that equal classes have equal texts. Bytecode offsets are absolute;
//! words are those of the Java Virtual Machine Specification. What cannot be
//! read is a line that begins with `error:`, and the rest goes on.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bytes = [
//! #     0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61, 0, 3, 1, 0, 1, b'C', 7, 0, 1,
//! #     0x02, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
//! # ];
//! let class = loadhook_rewrite::ClassFile::parse(&bytes)?;
//! let mut text = String::new();
//! loadhook_rewrite::text::print(&class, None, &mut text)?;
//! assert!(text.starts_with("class file version 61.0\n"));
//! # Ok(())
//! # }
//! ```

mod annotations;
mod attributes;
mod code;
mod names;
mod pool;
mod printer;

use std::fmt::{self, Write};

use crate::class::{ClassFile, Member};
use crate::error::Place;
use attributes::Owner;
use names::Flags;
use printer::{Indexes, Printer};

pub use names::{Display, display, fnv_1a};
pub(crate) use names::{Unit, next};
pub use printer::Line;

/// Writes the text of `class` to `out`; with `method`, only that of the
/// methods it names (see [`names_method`]).
///
/// # Errors
/// When `out` gives one. An unreadable part of the class is no error.
pub fn print(class: &ClassFile<'_>, method: Option<&str>, out: &mut impl Write) -> fmt::Result {
    let mut give = |line: &Line| {
        out.write_str(&line.text)?;
        out.write_char('\n')
    };
    Printer::new(class, Indexes::Shown, &mut give).class(method)
}

/// The text of `class` for comparison with another: without constant pool
/// and its indexes, only what they stand for, and with bytecode offsets
/// marked, since one added instruction changes all that follow.
pub fn comparable(class: &ClassFile<'_>, method: Option<&str>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut give = |line: &Line| {
        lines.push(line.clone());
        Ok(())
    };
    // `give` takes every line.
    let _ = Printer::new(class, Indexes::Hidden, &mut give).class(method);
    lines
}

/// Whether `filter`, a `name` or a `name(descriptor)`, names `method`:
/// `main` as well as `main([Ljava/lang/String;)V`.
pub fn names_method(filter: &str, method: &Member<'_, '_>) -> bool {
    let name = display(method.name()).to_string();
    let descriptor = filter.strip_prefix(&name);
    descriptor.is_some_and(|descriptor| {
        descriptor.is_empty() || display(method.descriptor()).to_string() == descriptor
    })
}

impl<'a> Printer<'_, 'a> {
    /// The whole text.
    fn class(&mut self, filter: Option<&str>) -> fmt::Result {
        let class = self.class;
        if let Some(filter) = filter {
            let mut methods = class
                .methods()
                .filter(|method| names_method(filter, method));
            return methods.try_for_each(|method| self.method(&method));
        }
        let (major, minor) = (class.major_version(), class.minor_version());
        self.line(format_args!("class file version {major}.{minor}"))?;
        let flags = Flags::new(class.access_flags(), Flags::CLASS);
        self.line(format_args!("access_flags {flags}"))?;
        self.write_str("this_class ")?;
        self.constant(class.this_class_index())?;
        self.end()?;
        self.write_str("super_class ")?;
        self.constant(class.super_class_index())?;
        self.end()?;
        self.line(format_args!("interfaces ({})", class.interfaces().len()))?;
        self.indented(|printer| {
            class.interfaces().try_for_each(|interface| {
                printer.constant(interface)?;
                printer.end()
            })
        })?;
        if self.indexes == Indexes::Shown {
            self.end()?;
            self.constant_pool()?;
        }
        self.end()?;
        self.line(format_args!("fields ({})", class.fields().len()))?;
        self.indented(|printer| class.fields().try_for_each(|field| printer.field(&field)))?;
        self.end()?;
        self.line(format_args!("methods ({})", class.methods().len()))?;
        self.indented(|printer| {
            class
                .methods()
                .try_for_each(|method| printer.method(&method))
        })?;
        self.end()?;
        let attributes = class.attributes();
        self.line(format_args!("attributes ({})", attributes.count_left()))?;
        self.indented(|printer| printer.attributes(attributes, Owner::Declaration, Place::Class))
    }

    fn field(&mut self, field: &Member<'_, 'a>) -> fmt::Result {
        self.declaration("field", field, Flags::FIELD)?;
        let place = Place::Field(field.index());
        self.indented(|printer| printer.attributes(field.attributes(), Owner::Declaration, place))
    }

    fn method(&mut self, method: &Member<'_, 'a>) -> fmt::Result {
        self.declaration("method", method, Flags::METHOD)?;
        let place = Place::Method(method.index());
        self.indented(|printer| {
            for attribute in method.attributes() {
                match attribute {
                    Ok(attribute) => {
                        if printer.pool().utf8(attribute.name_index) == Ok(b"Code") {
                            printer.in_code(|printer| printer.code(method))?;
                        } else {
                            printer.attribute(&attribute, Owner::Declaration, place)?;
                        }
                    }
                    Err(error) => printer.error(&error)?,
                }
            }
            Ok(())
        })
    }

    fn declaration(
        &mut self,
        word: &str,
        member: &Member<'_, '_>,
        words: &'static [(u16, &'static str)],
    ) -> fmt::Result {
        let (name, descriptor) = (member.name(), member.descriptor());
        let (name, descriptor) = (names::short(name), names::short(descriptor));
        // A method's descriptor begins with a parenthesis, a field's needs
        // something between.
        let between = if word == "field" { " " } else { "" };
        self.line(format_args!("{word} {name}{between}{descriptor}"))?;
        let flags = Flags::new(member.access_flags(), words);
        self.indented(|printer| printer.line(format_args!("access_flags {flags}")))
    }
}

#[cfg(test)]
mod tests;
