//! The fields of some objects, and the fields by which others refer to them.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use loadhook_hprof::{Error, ErrorKind, Header, Type, Visitor, number, read_available};

use crate::contents::{Beginnings, Contents, StringClass, Value, shown};
use crate::edges::fields;
use crate::graph::Graph;
use crate::links::Links;
use crate::survey::{Survey, What};

/// Strings and arrays of numbers whose contents are read; what those hold is kept in memory.
const MOST_TEXTS: usize = 50_000;

/// What is read of some objects.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Fields of each object, elements of arrays of references.
    pub fields: HashMap<u32, Fields>,
    /// Characters of strings, elements of arrays of numbers; of the first 50,000.
    pub contents: HashMap<u32, Contents>,
    /// By which field the first object of a pair refers to the second.
    pub links: HashMap<(u32, u32), String>,
}

/// The first fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Those of the class itself first, then those of the classes above it; of a class
    /// its static fields. Of an array the elements that refer to something.
    pub first: Vec<Field>,
    /// How many fields, or elements other than null, there are in all.
    pub count: u64,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; of an element `[3]`.
    pub name: Arc<str>,
    /// Its type; a dump does not tell the class of a reference.
    pub of: Type,
    /// Its value.
    pub value: FieldValue,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A reference to nothing.
    Null,
    /// A reference to an object.
    Object(u32),
    /// A reference to an object that the dump does not have, by its identifier.
    Absent(u64),
    /// A number, as Java prints it.
    Number(String),
}

impl Graph {
    /// Reads the dump once more for at most `most` fields of each of `objects`, what
    /// strings among them and beside them hold, and how the first of each of `pairs` refers
    /// to the second.
    ///
    /// # Errors
    ///
    /// As of [`read`](fn@loadhook_hprof::read), other than that a dump is cut off; and if it is
    /// not the dump that the graph was made of.
    pub fn details(
        &self,
        source: impl Read,
        objects: &[u32],
        most: usize,
        pairs: &[(u32, u32)],
    ) -> Result<Details, Error> {
        let string_class = StringClass::of(&self.survey);
        let (strings, arrays) = self.with_texts(objects, most, string_class.as_ref());
        let of_strings = |string: &u32| self.references(*string);
        let values = strings
            .iter()
            .flat_map(of_strings)
            .chain(arrays.iter().copied());
        let ids: HashSet<u64> = values.map(|array| self.id(array)).collect();
        let mut reading = Reading {
            graph: self,
            supers: self.survey.supers(),
            strings: string_class.as_ref(),
            wanted: objects
                .iter()
                .map(|object| (self.id(*object), *object))
                .collect(),
            of_strings: strings
                .iter()
                .map(|object| (self.id(*object), *object))
                .collect(),
            values: HashMap::new(),
            most,
            fields: HashMap::new(),
            array: None,
            names: HashMap::new(),
            beginnings: Beginnings::new(&self.survey, ids.into_iter()),
            links: Links::new(self, pairs),
        };
        let (end, _) = read_available(source, &mut reading)?;
        if end != self.end || !reading.links.is_same {
            let kind = ErrorKind::Changed;
            return Err(Error { kind, at: end });
        }
        for object in objects {
            if let What::Class(class) = self.what(*object) {
                let fields = reading.statics(class);
                reading.fields.insert(*object, fields);
            }
        }
        let mut contents = HashMap::new();
        for (string, value) in &reading.values {
            contents.insert(*string, reading.beginnings.string(value));
        }
        for array in arrays {
            contents.insert(array, reading.beginnings.array(self.id(array)));
        }
        let links = pairs.iter().map(|pair| (*pair, reading.links.of(*pair)));
        Ok(Details {
            links: links.collect(),
            fields: reading.fields,
            contents,
        })
    }

    /// Strings among some objects and their fields, and arrays of numbers among them.
    fn with_texts(
        &self,
        objects: &[u32],
        most: usize,
        string_class: Option<&StringClass>,
    ) -> (HashSet<u32>, HashSet<u32>) {
        let is_string = |object: u32| match (string_class, self.what(object)) {
            (Some(strings), What::Instance(class)) => strings.class == class,
            _ => false,
        };
        let mut strings: HashSet<u32> = HashSet::new();
        let mut arrays: HashSet<u32> = HashSet::new();
        for object in objects {
            if strings.len() + arrays.len() >= MOST_TEXTS {
                break;
            }
            match self.what(*object) {
                What::Array(class) if Survey::element_type(class) != Type::Object => {
                    arrays.insert(*object);
                }
                _ => {
                    let beside = self.references(*object).into_iter().take(most + 1);
                    strings.extend(beside.chain([*object]).filter(|object| is_string(*object)));
                }
            }
        }
        (strings, arrays)
    }
}

struct Reading<'g> {
    graph: &'g Graph,
    supers: Vec<Option<u32>>,
    strings: Option<&'g StringClass>,
    /// Identifiers of the objects whose fields are read.
    wanted: HashMap<u64, u32>,
    /// Identifiers of the strings whose characters are read.
    of_strings: HashMap<u64, u32>,
    values: HashMap<u32, Value>,
    most: usize,
    fields: HashMap<u32, Fields>,
    /// The array whose elements come, and how many there were.
    array: Option<(u32, u64)>,
    /// Names of fields, each kept once.
    names: HashMap<u64, Arc<str>>,
    beginnings: Beginnings<'g>,
    links: Links<'g>,
}

impl Reading<'_> {
    fn name(&mut self, id: u64) -> Arc<str> {
        let graph = self.graph;
        let name = self.names.entry(id);
        name.or_insert_with(|| graph.text(id).into()).clone()
    }

    fn value(&self, of: Type, bits: u64) -> FieldValue {
        match (of, bits) {
            (Type::Object, 0) => FieldValue::Null,
            (Type::Object, id) => match self.graph.object(id) {
                Some(object) => FieldValue::Object(object),
                None => FieldValue::Absent(id),
            },
            _ => FieldValue::Number(shown(of, bits)),
        }
    }

    fn statics(&mut self, class: u32) -> Fields {
        let graph = self.graph;
        let dump = graph.survey.entries[class as usize].dump.as_ref();
        let mut found = Fields::default();
        for field in dump.into_iter().flat_map(|dump| &dump.statics) {
            found.count += 1;
            if found.first.len() < self.most {
                found.first.push(Field {
                    name: self.name(field.name),
                    of: field.value_type,
                    value: self.value(field.value_type, field.value),
                });
            }
        }
        found
    }
}

impl Visitor for Reading<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn header(&mut self, header: Header) {
        self.links.header(header);
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        if let (Some(strings), Some(string)) = (self.strings, self.of_strings.get(&id))
            && let Some(value) = strings.value(bytes)
        {
            self.values.insert(*string, value);
        }
        let survey = &self.graph.survey;
        if let (Some(object), Some(class)) = (self.wanted.get(&id), survey.class_of(class)) {
            let object = *object;
            let mut found = Fields::default();
            let places: Vec<_> = fields(survey, &self.supers, class, bytes.len()).collect();
            for (at, name, of, _) in places {
                found.count += 1;
                if found.first.len() < self.most {
                    let size = of.size(survey.header.id_size) as usize;
                    found.first.push(Field {
                        name: self.name(name),
                        of,
                        value: self.value(of, number(&bytes[at..at + size])),
                    });
                }
            }
            self.fields.insert(object, found);
        }
        self.links.instance(id, class, bytes)
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        self.array = self.wanted.get(&id).map(|object| (*object, 0));
        if let Some((object, _)) = self.array {
            self.fields.insert(object, Fields::default());
        }
        self.links.object_array(id, class, length)
    }

    fn elements(&mut self, ids: &[u8]) {
        if let Some((array, before)) = self.array {
            let id_size = self.graph.survey.header.id_size as usize;
            let mut found = self.fields.remove(&array).unwrap_or_default();
            let mut at = before;
            for id in ids.chunks_exact(id_size).map(number) {
                if id != 0 {
                    found.count += 1;
                    if found.first.len() < self.most {
                        found.first.push(Field {
                            name: format!("[{at}]").into(),
                            of: Type::Object,
                            value: self.value(Type::Object, id),
                        });
                    }
                }
                at += 1;
            }
            self.fields.insert(array, found);
            self.array = Some((array, at));
        }
        self.links.elements(ids);
    }

    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.beginnings.primitive_array(id, of, length)
    }

    fn values(&mut self, bytes: &[u8]) {
        self.beginnings.values(bytes);
    }
}
