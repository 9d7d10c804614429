//! Finds thread objects, and the objects to which variables of threads refer.

use std::collections::HashMap;

use loadhook_hprof::{ErrorKind, Type, Visitor, number};

use crate::instance_fields::instance_fields;
use crate::object_sizes::ObjectSizes;
use crate::strings::{StringClass, StringValue};
use crate::survey::Survey;

/// The class and the size of an object.
#[derive(Clone, Copy)]
pub(crate) struct FoundObject {
    /// For a class object, the class that it represents.
    pub(crate) class: u32,
    pub(crate) is_class: bool,
    pub(crate) bytes: u64,
}

/// The objects that were looked for, and the data of those that were found.
#[derive(Default)]
pub(crate) struct FoundObjects {
    /// The wanted objects by their identifiers; `None` for an object that was not found yet.
    objects: HashMap<u64, Option<FoundObject>>,
    /// The characters of the objects that are strings.
    pub(crate) strings: HashMap<u64, StringValue>,
    /// For each thread, the string with its name.
    pub(crate) names: HashMap<u64, u64>,
}

impl FoundObjects {
    /// Returns an object that was looked for; `None` if it was not found. Class objects are always
    /// found.
    pub(crate) fn get(
        &self,
        id: u64,
        sizes: &ObjectSizes<'_>,
        survey: &Survey,
    ) -> Option<FoundObject> {
        if let Some(found) = self.objects.get(&id).copied().flatten() {
            return Some(found);
        }
        let class = survey.class_index(id)?;
        survey.classes[class as usize].dump.as_ref()?;
        Some(FoundObject {
            class,
            is_class: true,
            bytes: sizes.class_object(class),
        })
    }
}

/// A visitor that looks for objects while a dump is read.
pub(crate) struct ObjectSearch<'s> {
    survey: &'s Survey,
    sizes: ObjectSizes<'s>,
    superclasses: Vec<Option<u32>>,
    string_class: Option<&'s StringClass>,
    found: FoundObjects,
}

impl<'s> ObjectSearch<'s> {
    pub(crate) fn new(
        survey: &'s Survey,
        string_class: Option<&'s StringClass>,
        ids: impl Iterator<Item = u64>,
    ) -> ObjectSearch<'s> {
        ObjectSearch {
            survey,
            sizes: ObjectSizes::new(survey),
            superclasses: survey.superclasses_with_fields(),
            string_class,
            found: FoundObjects {
                objects: ids.map(|id| (id, None)).collect(),
                ..FoundObjects::default()
            },
        }
    }

    pub(crate) fn finish(self) -> FoundObjects {
        self.found
    }

    /// Returns whether an object is looked for and was not found yet.
    fn is_wanted(&self, id: u64) -> bool {
        matches!(self.found.objects.get(&id), Some(None))
    }

    fn found(&mut self, id: u64, class: u32, bytes: u64) {
        let found = FoundObject {
            class,
            is_class: false,
            bytes,
        };
        self.found.objects.insert(id, Some(found));
    }

    /// Returns the string with a thread's name; `None` for an object that is not a thread.
    fn name(&self, class: u32, bytes: &[u8]) -> Option<u64> {
        let id_size = self.survey.header.id_size as usize;
        let mut fields = instance_fields(self.survey, &self.superclasses, class, bytes.len());
        let name = fields.find(|field| {
            field.value_type == Type::Object
                && self.survey.text(field.name) == "name"
                && self.survey.internal_name(field.class) == b"java/lang/Thread"
        })?;
        bytes.get(name.offset..name.offset + id_size).map(number)
    }
}

impl Visitor for ObjectSearch<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        if !self.is_wanted(id) {
            return Ok(());
        }
        let Some(class) = self.survey.class_index(class) else {
            return Ok(());
        };
        let size = self.sizes.instance(class) + self.sizes.stack(class, bytes);
        self.found(id, class, size);
        match self.string_class.filter(|strings| strings.class == class) {
            Some(strings) => {
                let value = strings.value(bytes);
                self.found.strings.extend(value.map(|value| (id, value)));
            }
            None => {
                let name = self.name(class, bytes);
                self.found.names.extend(name.map(|name| (id, name)));
            }
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        if self.is_wanted(id)
            && let Some(class) = self.survey.class_index(class)
        {
            self.found(id, class, self.sizes.array(Type::Object, length));
        }
        Ok(())
    }

    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
        if self.is_wanted(id) {
            self.found(id, element as u32, self.sizes.array(element, length));
        }
        Ok(())
    }
}
