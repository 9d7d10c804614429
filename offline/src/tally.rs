//! Counts of a rewriting, and names for the summary.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// A method or allocation site with its id.
#[derive(Clone, Debug, Serialize)]
pub struct Identified {
    /// The id that probes pass to the part or tracker. A part adds its base.
    pub id: u32,
    /// The class in Java's notation.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The method's descriptor.
    pub descriptor: String,
    /// Offset in bytes of a site in the original code; `None` for methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bci: Option<u16>,
    /// Type that a site allocates; `None` for methods.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
}

/// Options of a [`Tally`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Detail {
    /// True if the tally lists the methods and sites of all ids.
    pub ids: bool,
    /// True if the tally keeps all names, of which there may be as many as methods. Otherwise the
    /// tally keeps the first few of each list.
    pub names: bool,
}

/// A list of names: all of them, or the first few together with the number of all.
#[derive(Clone, Debug)]
pub struct Names {
    total: u64,
    kept: Vec<String>,
    most: usize,
}

impl Names {
    /// Number of names that are kept unless [`Detail`] requests all.
    pub const FEW: usize = 10;

    fn new(detail: Detail) -> Names {
        Names {
            total: 0,
            kept: Vec::new(),
            most: if detail.names { usize::MAX } else { Names::FEW },
        }
    }

    /// Returns the number of all names.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the names that were kept.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    /// Returns the first name.
    pub fn first(&self) -> Option<&String> {
        self.kept.first()
    }

    /// Adds a name.
    pub fn push(&mut self, name: String) {
        self.push_with(|| name);
    }

    /// Adds a name. `name` is called only if the name is kept.
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

/// Counts of a rewriting, and names for the summary. Unprintable characters in names are escaped.
#[derive(Clone, Debug, Serialize)]
pub struct Tally {
    #[serde(skip)]
    detail: Detail,
    /// Archives, nested ones included.
    pub archives: u64,
    /// Classes that were read.
    pub classes: u64,
    /// Classes that were rewritten.
    pub rewritten: u64,
    /// Files and entries that are not classes.
    pub other_files: u64,
    /// Bytes of the classes that were read.
    pub class_bytes: u64,
    /// Methods with code in the classes that were read.
    pub methods_with_code: u64,
    /// Methods that have probes now.
    pub instrumented: u64,
    /// Trivial methods, which take less time than their probes.
    pub trivial: u64,
    /// Methods that are not instrumented, by reason.
    pub left_alone: BTreeMap<&'static str, Names>,
    /// Methods that are not instrumented because they are too large or unreadable, with the fault.
    /// Each is listed, unlike methods that a rule excludes.
    pub refused: Names,
    /// Constructors in which the added handlers do not cover all instructions.
    pub uncovered: Names,
    /// Classes and entries that cannot be read, with the fault. They are kept.
    pub unreadable: Names,
    /// Entries that may contain classes and are kept, with the reason: no class loader finds the classes, or the
    /// entry is not opened.
    pub left_out: Names,
    /// Classes that have probes already and are kept.
    pub already_instrumented: u64,
    /// Archives whose signatures were removed.
    pub unsigned: Names,
    /// Archives whose index of packages was removed, because it would hide the
    /// tracker.
    pub unindexed: Names,
    /// Modules in which only the hashes of other modules were removed, because those modules may
    /// change.
    pub unhashed: Names,
    /// Methods of all ids, if [`Detail::ids`] is set.
    pub methods: Vec<Identified>,
    /// Sites of all ids, if [`Detail::ids`] is set.
    pub sites: Vec<Identified>,
}

impl Tally {
    /// Makes an empty tally.
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

    /// Counts a method that is not instrumented.
    pub(crate) fn leave_alone(&mut self, reason: &'static str, name: impl FnOnce() -> String) {
        self.names(reason).push_with(name);
    }

    fn names(&mut self, reason: &'static str) -> &mut Names {
        let new = || Names::new(self.detail);
        self.left_alone.entry(reason).or_insert_with(new)
    }

    /// Adds the counts of `other` to the counts, and appends its names.
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
