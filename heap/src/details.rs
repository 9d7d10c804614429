//! Reads the fields of selected objects, and the names of the fields that refer from one selected
//! object to another.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use loadhook_hprof::{Error, ErrorKind, Header, Type, Visitor, number, read_available};

use crate::graph::Graph;
use crate::instance_fields::{FieldPlace, instance_fields};
use crate::java_values::java_value;
use crate::memory_budget::SharedBudget;
use crate::object_kind::{ObjectKind, element_type};
use crate::passes::Result;
use crate::previews::{ArrayPrefixes, Preview};
use crate::reference_names::ReferenceNames;
use crate::strings::{StringClass, StringValue};

/// Maximum number of strings and arrays of numbers with a preview. Previews are held in memory.
const MOST_PREVIEWS: usize = 50_000;

/// Fields and previews of the requested objects, and names of the requested references.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// For each object, by its number in the graph: its fields, or for an array of references its elements.
    pub fields: HashMap<u32, Fields>,
    /// The beginnings of at most 50,000 strings and arrays of numbers, by the object's number in the graph.
    pub previews: HashMap<u32, Preview>,
    /// The name of the field by which the first object of a pair refers to the second.
    pub reference_names: HashMap<(u32, u32), String>,
}

/// The first fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// The fields that the class declares, then those of its superclasses. For a class object the static fields of
    /// the class, for an array of references the elements that are not null.
    pub first: Vec<Field>,
    /// Number of all fields, or of all elements that are not null.
    pub count: u64,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field; for an array element its index in brackets, for example `[3]`.
    pub name: Arc<str>,
    /// Type of the field. A reference has the type [`Type::Object`], because a dump does not
    /// contain the declared class of a field.
    pub value_type: Type,
    /// Value of the field.
    pub value: FieldValue,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// The null reference.
    Null,
    /// The number of the referenced object in the graph.
    Object(u32),
    /// The identifier of a referenced object that the dump does not have.
    Absent(u64),
    /// A number in Java's notation.
    Number(String),
}

impl Graph {
    /// Reads the details of `objects` in another pass over the dump: at most `most` fields of each object, and
    /// previews. A preview is read for the arrays of numbers in `objects`, and for the strings in `objects` and
    /// in their fields. For each pair in `pairs`, also reads the name of the field by which the first object
    /// refers to the second.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off. Also
    /// fails if `source` is not the dump that the graph was made of.
    pub fn details(
        &self,
        source: impl Read,
        objects: &[u32],
        most: usize,
        pairs: &[(u32, u32)],
    ) -> Result<Details> {
        let string_class = StringClass::of(&self.survey);
        let budget = SharedBudget::new(self.survey.budget);
        let string_class = string_class.as_ref();
        let mut reader = DetailsReader::new(self, string_class, objects, most, pairs, budget);
        let (end, _) = read_available(source, &mut reader)?;
        reader.finish(end)
    }

    /// Returns the array with a string's characters, which is the first array to which the string refers.
    pub(crate) fn array_of_string(&self, string: u32) -> Option<u32> {
        let mut beside = self.references(string).into_iter();
        beside.find(|object| matches!(self.kind(*object), ObjectKind::Array(_)))
    }

    /// Finds the objects that get a preview: the strings in `objects` and in the fields of
    /// `objects`, and the arrays of numbers in `objects`. Returns the strings, then the arrays.
    fn previewed(
        &self,
        objects: &[u32],
        most: usize,
        string_class: Option<&StringClass>,
    ) -> (HashSet<u32>, HashSet<u32>) {
        let is_string = |object: u32| match (string_class, self.kind(object)) {
            (Some(strings), ObjectKind::Instance(class)) => strings.class == class,
            _ => false,
        };
        let mut strings: HashSet<u32> = HashSet::new();
        let mut arrays: HashSet<u32> = HashSet::new();
        for object in objects {
            if strings.len() + arrays.len() >= MOST_PREVIEWS {
                break;
            }
            match self.kind(*object) {
                ObjectKind::Array(class) if element_type(class) != Type::Object => {
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

type VisitResult = std::result::Result<(), ErrorKind>;

/// A visitor that collects details while a dump is read.
pub(crate) struct DetailsReader<'g> {
    graph: &'g Graph,
    superclasses: Vec<Option<u32>>,
    string_class: Option<&'g StringClass>,
    /// The objects whose fields are read, by their identifiers.
    objects: HashMap<u64, u32>,
    /// The strings whose previews are made, by their identifiers.
    strings: HashMap<u64, u32>,
    /// The arrays of numbers whose previews are made.
    arrays: HashSet<u32>,
    string_values: HashMap<u32, StringValue>,
    /// The maximum number of fields that are read of an object.
    most: usize,
    fields: HashMap<u32, Fields>,
    /// The array whose elements are being read, and the number of elements read so far.
    array: Option<(u32, u64)>,
    /// Names of fields, each kept once.
    names: HashMap<u64, Arc<str>>,
    prefixes: ArrayPrefixes<'g>,
    pairs: Vec<(u32, u32)>,
    reference_names: ReferenceNames<'g>,
}

impl<'g> DetailsReader<'g> {
    pub(crate) fn new(
        graph: &'g Graph,
        string_class: Option<&'g StringClass>,
        objects: &[u32],
        most: usize,
        pairs: &[(u32, u32)],
        budget: SharedBudget,
    ) -> DetailsReader<'g> {
        let (strings, arrays) = graph.previewed(objects, most, string_class);
        let of_strings = strings.iter();
        let of_strings = of_strings.filter_map(|string| graph.array_of_string(*string));
        let prefixes = of_strings.chain(arrays.iter().copied());
        let prefixes: HashSet<u64> = prefixes.map(|array| graph.id(array)).collect();
        let prefixes = prefixes.into_iter().map(|id| (id, 1));
        let by_id = |object: &u32| (graph.id(*object), *object);
        DetailsReader {
            graph,
            superclasses: graph.survey.superclasses_with_fields(),
            string_class,
            objects: objects.iter().map(by_id).collect(),
            strings: strings.iter().map(by_id).collect(),
            arrays,
            string_values: HashMap::new(),
            most,
            fields: HashMap::new(),
            array: None,
            names: HashMap::new(),
            prefixes: ArrayPrefixes::within(budget, &graph.survey, prefixes),
            pairs: pairs.to_vec(),
            reference_names: ReferenceNames::new(graph, pairs),
        }
    }

    /// Returns the details after the pass, which ended at byte `end`.
    pub(crate) fn finish(mut self, end: u64) -> Result<Details> {
        let graph = self.graph;
        if end != graph.end || !self.reference_names.is_same {
            let kind = ErrorKind::Changed;
            return Err(Error { kind, at: end });
        }
        let objects: Vec<u32> = self.objects.values().copied().collect();
        for object in objects {
            if let ObjectKind::Class(class) = graph.kind(object) {
                let fields = self.static_fields(class);
                self.fields.insert(object, fields);
            }
        }
        let mut previews = HashMap::new();
        for (string, value) in &self.string_values {
            previews.insert(*string, self.prefixes.string(value));
        }
        for array in &self.arrays {
            previews.insert(*array, self.prefixes.array(graph.id(*array)));
        }
        let names = self.pairs.iter();
        let names = names.map(|pair| (*pair, self.reference_names.name(*pair)));
        Ok(Details {
            reference_names: names.collect(),
            fields: self.fields,
            previews,
        })
    }

    fn name(&mut self, id: u64) -> Arc<str> {
        let graph = self.graph;
        let name = self.names.entry(id);
        name.or_insert_with(|| graph.survey.text(id).into()).clone()
    }

    fn value(&self, value_type: Type, bits: u64) -> FieldValue {
        match (value_type, bits) {
            (Type::Object, 0) => FieldValue::Null,
            (Type::Object, id) => match self.graph.object(id) {
                Some(object) => FieldValue::Object(object),
                None => FieldValue::Absent(id),
            },
            _ => FieldValue::Number(java_value(value_type, bits)),
        }
    }

    fn static_fields(&mut self, class: u32) -> Fields {
        let graph = self.graph;
        let dump = graph.survey.classes[class as usize].dump.as_ref();
        let mut found = Fields::default();
        for field in dump.into_iter().flat_map(|dump| &dump.statics) {
            found.count += 1;
            if found.first.len() < self.most {
                found.first.push(Field {
                    name: self.name(field.name),
                    value_type: field.value_type,
                    value: self.value(field.value_type, field.value),
                });
            }
        }
        found
    }
}

impl Visitor for DetailsReader<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn header(&mut self, header: Header) {
        self.reference_names.header(header);
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> VisitResult {
        if let (Some(class), Some(string)) = (self.string_class, self.strings.get(&id))
            && let Some(value) = class.value(bytes)
        {
            self.string_values.insert(*string, value);
        }
        let survey = &self.graph.survey;
        if let (Some(object), Some(class)) = (self.objects.get(&id), survey.class_index(class)) {
            let object = *object;
            let mut found = Fields::default();
            let fields = instance_fields(survey, &self.superclasses, class, bytes.len());
            let fields: Vec<FieldPlace> = fields.collect();
            for field in fields {
                found.count += 1;
                if found.first.len() < self.most {
                    let size = field.value_type.size(survey.header.id_size) as usize;
                    let value = number(&bytes[field.offset..field.offset + size]);
                    found.first.push(Field {
                        name: self.name(field.name),
                        value_type: field.value_type,
                        value: self.value(field.value_type, value),
                    });
                }
            }
            self.fields.insert(object, found);
        }
        self.reference_names.instance(id, class, bytes)
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> VisitResult {
        self.array = self.objects.get(&id).map(|object| (*object, 0));
        if let Some((object, _)) = self.array {
            self.fields.insert(object, Fields::default());
        }
        self.reference_names.object_array(id, class, length)
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
                            value_type: Type::Object,
                            value: self.value(Type::Object, id),
                        });
                    }
                }
                at += 1;
            }
            self.fields.insert(array, found);
            self.array = Some((array, at));
        }
        self.reference_names.elements(ids);
    }

    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> VisitResult {
        self.prefixes.primitive_array(id, element, length)
    }

    fn values(&mut self, bytes: &[u8]) {
        self.prefixes.values(bytes);
    }
}
