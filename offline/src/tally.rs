//! What became of everything together.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// A method or allocation site with its id.
#[derive(Clone, Debug, Serialize)]
pub struct Identified {
    /// What the probes pass, as long as no part adds its base.
    pub id: u32,
    /// The class as Java writes it.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The method's descriptor.
    pub descriptor: String,
    /// Of a site: its offset in the code as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bci: Option<u16>,
    /// Of a site: the type that is allocated.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
}

/// What a tally has besides counts and a few names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detail {
    /// What the ids stand for.
    pub ids: bool,
    /// All names, not the first few only: there are as many as methods.
    pub names: bool,
}

/// Names of what a user may want to know: all of them, or the first few.
#[derive(Clone, Debug)]
pub struct Names {
    total: u64,
    kept: Vec<String>,
    most: usize,
}

impl Names {
    /// How many are kept unless all are asked for.
    pub const FEW: usize = 10;

    fn new(detail: Detail) -> Names {
        Names {
            total: 0,
            kept: Vec::new(),
            most: if detail.names { usize::MAX } else { Names::FEW },
        }
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Those that were kept.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    /// The first one.
    pub fn first(&self) -> Option<&String> {
        self.kept.first()
    }

    /// Adds one.
    pub fn push(&mut self, name: String) {
        self.push_with(|| name);
    }

    /// Adds one that is only made if it is kept.
    pub(crate) fn push_with(&mut self, name: impl FnOnce() -> String) {
        self.total += 1;
        if self.kept.len() < self.most {
            self.kept.push(name());
        }
    }

    fn append(&mut self, other: Names) {
        self.total += other.total;
        let room = self.most - self.kept.len();
        self.kept.extend(other.kept.into_iter().take(room));
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.kept.serialize(to)
    }
}

/// Counts, and names of what a user may want to know. What is unprintable in
/// the names of files and entries is escaped.
#[derive(Clone, Debug, Serialize)]
pub struct Tally {
    #[serde(skip)]
    detail: Detail,
    /// Archives, those inside others included.
    pub archives: u64,
    /// Classes looked at.
    pub classes: u64,
    /// Those that were rewritten.
    pub rewritten: u64,
    /// Files and entries that are no classes.
    pub other_files: u64,
    /// Bytes of the classes looked at.
    pub class_bytes: u64,
    /// Methods that have code, in classes looked at.
    pub methods_with_code: u64,
    /// Methods that carry probes now.
    pub instrumented: u64,
    /// Methods left out since they cost less than their probes.
    pub trivial: u64,
    /// Methods left alone, by reason.
    pub left_alone: BTreeMap<&'static str, Names>,
    /// Those of them that are too large or unreadable, with the fault: a user
    /// may want to know each, where the others are left alone by rule.
    pub refused: Names,
    /// Constructors covered only in part.
    pub uncovered: Names,
    /// Classes and entries that cannot be read, with the fault: they stay.
    pub unreadable: Names,
    /// Entries that may hold classes and stay, since no class loader or we do
    /// not look there, with the reason.
    pub left_out: Names,
    /// Classes that carry probes already and stay.
    pub already_instrumented: u64,
    /// Archives whose signatures were removed.
    pub unsigned: Names,
    /// Archives whose index of packages was removed, since it would hide ours.
    pub unindexed: Names,
    /// Modules that stay but for the hashes of others, which may change.
    pub unhashed: Names,
    /// What the ids stand for, if asked for.
    pub methods: Vec<Identified>,
    /// See [`Tally::methods`].
    pub sites: Vec<Identified>,
}

impl Tally {
    /// One of nothing so far.
    pub fn new(detail: Detail) -> Tally {
        let names = Names::new(detail);
        Tally {
            detail,
            archives: 0,
            classes: 0,
            rewritten: 0,
            other_files: 0,
            class_bytes: 0,
            methods_with_code: 0,
            instrumented: 0,
            trivial: 0,
            left_alone: BTreeMap::new(),
            refused: names.clone(),
            uncovered: names.clone(),
            unreadable: names.clone(),
            left_out: names.clone(),
            already_instrumented: 0,
            unsigned: names.clone(),
            unindexed: names.clone(),
            unhashed: names,
            methods: Vec::new(),
            sites: Vec::new(),
        }
    }

    /// Counts a method that is left alone.
    pub(crate) fn leave_alone(&mut self, reason: &'static str, name: impl FnOnce() -> String) {
        self.names(reason).push_with(name);
    }

    fn names(&mut self, reason: &'static str) -> &mut Names {
        let new = || Names::new(self.detail);
        self.left_alone.entry(reason).or_insert_with(new)
    }

    /// Adds what became of others, which come behind.
    pub fn add(&mut self, other: Tally) {
        self.archives += other.archives;
        self.classes += other.classes;
        self.rewritten += other.rewritten;
        self.other_files += other.other_files;
        self.class_bytes += other.class_bytes;
        self.methods_with_code += other.methods_with_code;
        self.instrumented += other.instrumented;
        self.trivial += other.trivial;
        for (reason, names) in other.left_alone {
            self.names(reason).append(names);
        }
        self.refused.append(other.refused);
        self.uncovered.append(other.uncovered);
        self.unreadable.append(other.unreadable);
        self.left_out.append(other.left_out);
        self.already_instrumented += other.already_instrumented;
        self.unsigned.append(other.unsigned);
        self.unindexed.append(other.unindexed);
        self.unhashed.append(other.unhashed);
        self.methods.extend(other.methods);
        self.sites.extend(other.sites);
    }
}
