//! What became of everything together.

use std::collections::BTreeMap;

use serde::Serialize;

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

/// Counts, and names of what a user may want to know.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
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
    pub left_alone: BTreeMap<&'static str, Vec<String>>,
    /// Those of them that are too large or unreadable, with the fault: a user
    /// may want to know each, where the others are left alone by rule.
    pub refused: Vec<String>,
    /// Constructors covered only in part.
    pub uncovered: Vec<String>,
    /// Classes and entries that cannot be read, with the fault: they stay.
    pub unreadable: Vec<String>,
    /// Classes that carry probes already and stay.
    pub already_instrumented: u64,
    /// Archives whose signatures were removed.
    pub unsigned: Vec<String>,
    /// Archives whose index of packages was removed, since it would hide ours.
    pub unindexed: Vec<String>,
    /// Modules that stay but for the hashes of others, which may change.
    pub unhashed: Vec<String>,
    /// What the ids stand for, if asked for.
    pub methods: Vec<Identified>,
    /// See [`Tally::methods`].
    pub sites: Vec<Identified>,
}

impl Tally {
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
        for (reason, methods) in other.left_alone {
            self.left_alone.entry(reason).or_default().extend(methods);
        }
        self.refused.extend(other.refused);
        self.uncovered.extend(other.uncovered);
        self.unreadable.extend(other.unreadable);
        self.already_instrumented += other.already_instrumented;
        self.unsigned.extend(other.unsigned);
        self.unindexed.extend(other.unindexed);
        self.unhashed.extend(other.unhashed);
        self.methods.extend(other.methods);
        self.sites.extend(other.sites);
    }
}
