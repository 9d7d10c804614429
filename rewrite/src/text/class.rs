//! The class itself, its fields and methods as text (JVMS §4.1, §4.5, §4.6).

use std::fmt::{self, Write};

use crate::class::Member;
use crate::error::Structure;
use crate::modified_utf8::{display, short};
use crate::text::flags::Flags;
use crate::text::printer::{Indexes, Printer};

/// Returns whether `filter` is the name of `method`, with or without its descriptor: `main` or
/// `main([Ljava/lang/String;)V`.
pub fn names_method(filter: &str, method: &Member<'_, '_>) -> bool {
    let name = display(method.name()).to_string();
    let descriptor = filter.strip_prefix(&name);
    descriptor.is_some_and(|descriptor| {
        descriptor.is_empty() || display(method.descriptor()).to_string() == descriptor
    })
}

impl<'a> Printer<'_, 'a> {
    /// Prints the whole class, or only the methods that `filter` names.
    pub(super) fn class(&mut self, filter: Option<&str>) -> fmt::Result {
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
        self.indented(|printer| {
            printer.attributes(attributes, Self::declaration_attribute, Structure::Class)
        })
    }

    fn field(&mut self, field: &Member<'_, 'a>) -> fmt::Result {
        self.declaration("field", field, Flags::FIELD)?;
        let structure = Structure::Field(field.index());
        self.indented(|printer| {
            printer.attributes(field.attributes(), Self::declaration_attribute, structure)
        })
    }

    fn method(&mut self, method: &Member<'_, 'a>) -> fmt::Result {
        self.declaration("method", method, Flags::METHOD)?;
        let structure = Structure::Method(method.index());
        self.indented(|printer| {
            for attribute in method.attributes() {
                match attribute {
                    Ok(attribute) => {
                        if printer.pool().utf8(attribute.name_index) == Ok(b"Code") {
                            printer.in_code(|printer| printer.code(method))?;
                        } else {
                            printer.attribute(
                                &attribute,
                                Self::declaration_attribute,
                                structure,
                            )?;
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
        let (name, descriptor) = (short(name), short(descriptor));
        // A method's descriptor begins with a parenthesis. A field's descriptor does not, so a blank separates it
        // from the name.
        let between = if word == "field" { " " } else { "" };
        self.line(format_args!("{word} {name}{between}{descriptor}"))?;
        let flags = Flags::new(member.access_flags(), words);
        self.indented(|printer| printer.line(format_args!("access_flags {flags}")))
    }
}
