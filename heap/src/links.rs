//! By which field one object refers to another.

use std::collections::HashMap;
use std::io::Read;

use loadhook_hprof::{Error, ErrorKind, Header, Root, Type, Visitor, number, read_available};

use crate::edges::fields;
use crate::graph::Graph;
use crate::survey::What;

impl Graph {
    /// Why an object is a root, if it is one.
    #[must_use]
    pub fn root(&self, object: u32) -> Option<Root> {
        self.whys.get(&object).copied()
    }

    /// Reads the dump again for how each object of a way refers to the one
    /// before it: `next`, `[3]`, of its class `<class>`, of what a loader
    /// loaded `<loaded>`. There is one less than objects.
    ///
    /// # Errors
    ///
    /// As of [`read`](fn@loadhook_hprof::read), other than that a dump is cut off; and if it is
    /// not the dump that the graph was made of.
    pub fn links(&self, source: impl Read, path: &[u32]) -> Result<Vec<String>, Error> {
        let pairs: Vec<(u32, u32)> = path.windows(2).map(|pair| (pair[1], pair[0])).collect();
        let mut links = Links::new(self, &pairs);
        let (end, _) = read_available(source, &mut links)?;
        if end != self.end || !links.is_same {
            let kind = ErrorKind::Changed;
            return Err(Error { kind, at: end });
        }
        Ok(pairs.iter().map(|pair| links.of(*pair)).collect())
    }

    fn loader(&self, class: u32) -> u64 {
        let dump = self.survey.entries[class as usize].dump.as_ref();
        dump.map_or(0, |dump| dump.loader)
    }

    /// How a class refers to an object.
    fn static_of(&self, class: u32, to: u64) -> String {
        let Some(dump) = &self.survey.entries[class as usize].dump else {
            return String::new();
        };
        let statics = dump.statics.iter();
        let mut statics =
            statics.filter(|field| field.value_type == Type::Object && field.value == to);
        if let Some(field) = statics.next() {
            return self.text(field.name);
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

    pub(crate) fn text(&self, id: u64) -> String {
        let text = self.survey.names.get(&id);
        text.map_or_else(String::new, |text| {
            String::from_utf8_lossy(text).into_owned()
        })
    }
}

pub(crate) struct Links<'g> {
    graph: &'g Graph,
    supers: Vec<Option<u32>>,
    /// From which to which, by identifiers.
    wanted: HashMap<u64, Vec<u64>>,
    found: HashMap<(u64, u64), String>,
    /// The array whose elements come, which of them are looked for, and how many
    /// elements there were.
    array: Option<(u64, Vec<u64>, u64)>,
    pub(crate) is_same: bool,
}

impl<'g> Links<'g> {
    /// Looks for how the first of each pair refers to the second.
    pub(crate) fn new(graph: &'g Graph, pairs: &[(u32, u32)]) -> Links<'g> {
        let mut wanted: HashMap<u64, Vec<u64>> = HashMap::new();
        for (from, to) in pairs {
            wanted
                .entry(graph.id(*from))
                .or_default()
                .push(graph.id(*to));
        }
        Links {
            graph,
            supers: graph.survey.supers(),
            wanted,
            found: HashMap::new(),
            array: None,
            is_same: true,
        }
    }

    /// How an object refers to another.
    pub(crate) fn of(&self, (from, to): (u32, u32)) -> String {
        let graph = self.graph;
        let [from_id, to_id] = [from, to].map(|object| graph.id(object));
        if let Some(link) = self.found.get(&(from_id, to_id)) {
            return link.clone();
        }
        match (graph.what(from), graph.what(to)) {
            (What::Class(class), _) => graph.static_of(class, to_id),
            (_, What::Class(class)) if graph.loader(class) == from_id => "<loaded>".to_owned(),
            _ => "<class>".to_owned(),
        }
    }
}

impl Visitor for Links<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn header(&mut self, header: Header) {
        self.is_same = header == self.graph.survey.header;
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        let survey = &self.graph.survey;
        let (Some(wanted), Some(class)) = (self.wanted.get(&id), survey.class_of(class)) else {
            return Ok(());
        };
        let id_size = survey.header.id_size as usize;
        let supers = &self.supers;
        for (offset, name, of, _) in fields(survey, supers, class, bytes.len()) {
            if of != Type::Object {
                continue;
            }
            let to = number(&bytes[offset..offset + id_size]);
            if wanted.contains(&to) {
                let link = self.found.entry((id, to));
                link.or_insert_with(|| self.graph.text(name));
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
                let link = format!("[{before}]");
                self.found.entry((*array, to)).or_insert(link);
                if wanted.is_empty() {
                    self.array = None;
                    return;
                }
            }
            *before += 1;
        }
    }
}
