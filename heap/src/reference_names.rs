//! Names of the fields by which objects refer to others.

use std::collections::HashMap;
use std::io::Read;

use loadhook_hprof::{Error, ErrorKind, Header, Type, Visitor, number, read_available};

use crate::graph::Graph;
use crate::instance_fields::instance_fields;
use crate::object_kind::ObjectKind;

impl Graph {
    /// Reads the dump again to find how each object of a path refers to the object before it. The result is the
    /// name of a field, for example `next`; `[3]` for an array element, `<class>` for the object's class,
    /// `<loaded>` for a class that a class loader loaded. The first object of the path has no name in the result.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off. Also
    /// fails if `source` is not the dump that the graph was made of.
    pub fn reference_names(&self, source: impl Read, path: &[u32]) -> Result<Vec<String>, Error> {
        let pairs: Vec<(u32, u32)> = path.windows(2).map(|pair| (pair[1], pair[0])).collect();
        let mut names = ReferenceNames::new(self, &pairs);
        let (end, _) = read_available(source, &mut names)?;
        if end != self.end || !names.is_same {
            let kind = ErrorKind::Changed;
            return Err(Error { kind, at: end });
        }
        Ok(pairs.iter().map(|pair| names.name(*pair)).collect())
    }

    fn loader(&self, class: u32) -> u64 {
        let dump = self.survey.classes[class as usize].dump.as_ref();
        dump.map_or(0, |dump| dump.loader)
    }

    /// Returns the name by which a class refers to an object.
    fn static_of(&self, class: u32, to: u64) -> String {
        let Some(dump) = &self.survey.classes[class as usize].dump else {
            return String::new();
        };
        let statics = dump.statics.iter();
        let mut statics =
            statics.filter(|field| field.value_type == Type::Object && field.value == to);
        if let Some(field) = statics.next() {
            return self.survey.text(field.name).into_owned();
        }
        match to {
            to if to == dump.loader => "<loader>",
            to if to == dump.signers => "<signers>",
            to if to == dump.protection_domain => "<protection domain>",
            to if to == dump.super_id => "<superclass>",
            _ => "<constant>",
        }
        .to_owned()
    }
}

/// A visitor that finds the names of the wanted references while a dump is read.
pub(crate) struct ReferenceNames<'g> {
    graph: &'g Graph,
    superclasses: Vec<Option<u32>>,
    /// The wanted references: for the identifier of each referring object, the identifiers of the objects to
    /// which it refers.
    wanted: HashMap<u64, Vec<u64>>,
    found: HashMap<(u64, u64), String>,
    /// The array that is being read: its identifier, the wanted elements, and the number of elements read so far.
    array: Option<(u64, Vec<u64>, u64)>,
    /// False if the dump has another header than the dump from which the graph was made.
    pub(crate) is_same: bool,
}

impl<'g> ReferenceNames<'g> {
    /// Makes a reader that finds the name by which the first object of each pair refers to the
    /// second.
    pub(crate) fn new(graph: &'g Graph, pairs: &[(u32, u32)]) -> ReferenceNames<'g> {
        let mut wanted: HashMap<u64, Vec<u64>> = HashMap::new();
        for (from, to) in pairs {
            wanted
                .entry(graph.id(*from))
                .or_default()
                .push(graph.id(*to));
        }
        ReferenceNames {
            graph,
            superclasses: graph.survey.superclasses_with_fields(),
            wanted,
            found: HashMap::new(),
            array: None,
            is_same: true,
        }
    }

    /// Returns the name by which an object refers to another.
    pub(crate) fn name(&self, (from, to): (u32, u32)) -> String {
        let graph = self.graph;
        let [from_id, to_id] = [from, to].map(|object| graph.id(object));
        if let Some(name) = self.found.get(&(from_id, to_id)) {
            return name.clone();
        }
        match (graph.kind(from), graph.kind(to)) {
            (ObjectKind::Class(class), _) => graph.static_of(class, to_id),
            (_, ObjectKind::Class(class)) if graph.loader(class) == from_id => {
                "<loaded>".to_owned()
            }
            _ => "<class>".to_owned(),
        }
    }
}

impl Visitor for ReferenceNames<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn header(&mut self, header: Header) {
        self.is_same = header == self.graph.survey.header;
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        let survey = &self.graph.survey;
        let (Some(wanted), Some(class)) = (self.wanted.get(&id), survey.class_index(class)) else {
            return Ok(());
        };
        let id_size = survey.header.id_size as usize;
        let superclasses = &self.superclasses;
        for field in instance_fields(survey, superclasses, class, bytes.len()) {
            if field.value_type != Type::Object {
                continue;
            }
            let to = number(&bytes[field.offset..field.offset + id_size]);
            if wanted.contains(&to) {
                let name = self.found.entry((id, to));
                name.or_insert_with(|| self.graph.survey.text(field.name).into_owned());
            }
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, _: u64, _: u32) -> Result<(), ErrorKind> {
        self.array = self.wanted.get(&id).map(|to| (id, to.clone(), 0));
        Ok(())
    }

    fn elements(&mut self, ids: &[u8]) {
        let Some((array, wanted, before)) = &mut self.array else {
            return;
        };
        let id_size = self.graph.survey.header.id_size as usize;
        for to in ids.chunks_exact(id_size).map(number) {
            if let Some(at) = wanted.iter().position(|wanted| *wanted == to) {
                wanted.swap_remove(at);
                let name = format!("[{before}]");
                self.found.entry((*array, to)).or_insert(name);
                if wanted.is_empty() {
                    self.array = None;
                    return;
                }
            }
            *before += 1;
        }
    }
}
