//! By which field one object refers to another.

use std::collections::HashMap;
use std::io::Read;

use crate::edges::fields;
use crate::error::{Error, ErrorKind, Type};
use crate::graph::Graph;
use crate::input::number;
use crate::reader::{Header, Root, Visitor, read_part};
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
    /// As of [`read`](fn@crate::read), other than that a dump is cut off; and if it is
    /// not the dump that the graph was made of.
    pub fn links(&self, source: impl Read, path: &[u32]) -> Result<Vec<String>, Error> {
        let pairs = path
            .windows(2)
            .map(|pair| (self.id(pair[1]), self.id(pair[0])));
        let mut links = Links {
            graph: self,
            supers: self.survey.supers(),
            wanted: pairs.clone().collect(),
            found: HashMap::new(),
            array: None,
            is_same: true,
        };
        let (end, _) = read_part(source, &mut links)?;
        if end != self.end || !links.is_same {
            let kind = ErrorKind::Changed;
            return Err(Error { kind, at: end });
        }
        let found = |pair: (u64, u64)| {
            let link = links.found.get(&pair.0).cloned();
            link.unwrap_or_else(|| match self.object(pair.0).map(|from| self.what(from)) {
                Some(What::Class(class)) => self.static_of(class, pair.1),
                _ => match self.object(pair.1).map(|to| self.what(to)) {
                    Some(What::Class(class)) if self.loader(class) == pair.0 => "<loaded>",
                    _ => "<class>",
                }
                .to_owned(),
            })
        };
        Ok(pairs.map(found).collect())
    }

    fn loader(&self, class: u32) -> u64 {
        let dump = self.survey.entries[class as usize].dump.as_ref();
        dump.map_or(0, |dump| dump.refers[0])
    }

    /// How a class refers to an object.
    fn static_of(&self, class: u32, to: u64) -> String {
        let Some(dump) = &self.survey.entries[class as usize].dump else {
            return String::new();
        };
        let statics = dump.statics.iter();
        let mut statics = statics.filter(|field| field.1 == Type::Object && field.2 == to);
        if let Some(field) = statics.next() {
            return self.text(field.0);
        }
        let beside = ["<loader>", "<signers>", "<protection domain>"];
        let beside = dump.refers.iter().zip(beside).find(|(id, _)| **id == to);
        match beside {
            Some((_, name)) => name,
            None if dump.super_id == to => "<superclass>",
            None => "<constant>",
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

struct Links<'g> {
    graph: &'g Graph,
    /// From which to which.
    supers: Vec<Option<u32>>,
    wanted: HashMap<u64, u64>,
    found: HashMap<u64, String>,
    /// The array whose elements come, what is looked for, and how many
    /// elements there were.
    array: Option<(u64, u64, u64)>,
    is_same: bool,
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
        let (Some(to), Some(class)) = (self.wanted.get(&id), survey.class_of(class)) else {
            return Ok(());
        };
        let id_size = survey.header.id_size as usize;
        let supers = &self.supers;
        for (offset, name, of, _) in fields(survey, supers, class, bytes.len()) {
            if of == Type::Object && number(&bytes[offset..offset + id_size]) == *to {
                self.found.insert(id, self.graph.text(name));
                break;
            }
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, _: u64, _: u32) -> Result<(), ErrorKind> {
        self.array = self.wanted.get(&id).map(|to| (id, *to, 0));
        Ok(())
    }

    fn elements(&mut self, ids: &[u8]) {
        let Some((array, to, before)) = &mut self.array else {
            return;
        };
        let id_size = self.graph.survey.header.id_size as usize;
        let mut ids = ids.chunks_exact(id_size);
        let count = ids.len() as u64;
        if let Some(at) = ids.position(|id| number(id) == *to) {
            self.found
                .insert(*array, format!("[{}]", *before + at as u64));
            self.array = None;
            return;
        }
        *before += count;
    }
}
