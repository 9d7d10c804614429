//! A copy of the tables of samples, so that threads that allocate do not wait while a profile is built.

use std::collections::HashMap;
use std::sync::Arc;

use super::estimate::Estimate;
use super::owners::{Owners, Site};
use super::sample_tables::{EventSource, SampleTables};
use super::stacks::{Node, SourceLine};
use super::weak_records::LiveRecord;
use crate::frames::symbol::{CopyLoaders, Symbol};
use crate::instrument::loaders::Loader;

/// A site without its callers: the line of code that allocates, and the number of the allocated type.
pub(super) type Leaf = (Option<SourceLine>, u32);

/// A copy of the tables at one moment.
pub(crate) struct SampleSnapshot {
    /// Number of collections that have ended.
    pub(super) now: u32,
    /// Liveness is known up to this number of collections: an object that was made earlier and still exists is alive.
    pub(super) judged: u32,
    /// True if a liveness scan has succeeded, or if no scan is needed.
    pub(super) was_scanned: bool,
    /// True if no collection could be requested before the scan.
    pub(super) is_late: bool,
    pub(super) symbols: Vec<Symbol>,
    pub(super) copies: Vec<CopyLoaders>,
    pub(super) nodes: Vec<Node>,
    pub(super) types: Vec<Arc<str>>,
    pub(super) owners: Owners,
    /// Objects that are alive, under their present owners. Objects whose liveness is not known are left out.
    pub(super) survivors: Vec<LiveRecord>,
    /// Notes about samples for which the tables had no room.
    pub(super) notes: Vec<String>,
}

/// The live objects of a site.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alive {
    pub(super) estimate: Estimate,
    /// Number of collections that the objects have survived, summed over the objects.
    pub(super) ages: f64,
}

impl SampleSnapshot {
    /// Copies the tables. `now` is the number of collections that have ended. Liveness is known of objects that were
    /// made before the collection `judged`.
    pub(super) fn of(tables: &SampleTables, source: EventSource, now: u32, judged: u32) -> Self {
        let records = tables.followed.all().into_iter();
        let survivors = records.filter(|record| record.born < judged);
        let owned = survivors.map(|record| LiveRecord {
            owner: tables.owners.current(record.owner),
            ..record
        });
        SampleSnapshot {
            now,
            judged,
            was_scanned: true,
            is_late: false,
            survivors: owned.collect(),
            symbols: tables.stacks.symbols().to_vec(),
            copies: tables.stacks.copies().to_vec(),
            nodes: tables.stacks.nodes().to_vec(),
            types: tables.types.all().to_vec(),
            owners: tables.owners.clone(),
            notes: tables.notes(source),
        }
    }

    /// Returns the loaders of the methods in the snapshot.
    pub(crate) fn loaders(&self) -> impl Iterator<Item = Loader> {
        let symbols = self.symbols.iter().zip(&self.copies);
        symbols.map(|(symbol, copies)| Loader {
            number: copies.first,
            kind: symbol.kind,
        })
    }

    /// Returns the sums of the live objects by owner and site.
    pub(super) fn alive(&self) -> HashMap<(u32, Site), Alive> {
        let mut alive: HashMap<(u32, Site), Alive> = HashMap::new();
        for record in &self.survivors {
            let sum = alive.entry((record.owner, record.site)).or_default();
            let age = f64::from(self.now.wrapping_sub(record.born));
            sum.ages += record.estimate.objects * age;
            sum.estimate.add(record.estimate);
        }
        alive
    }

    /// Returns the line that has allocated an object, and the number of the object's type.
    pub(super) fn leaf(&self, record: &LiveRecord) -> Leaf {
        let node = record.site.node.map(|node| node as usize);
        let line = node.and_then(|node| Some(self.nodes.get(node)?.at));
        (line, record.site.type_number)
    }

    /// Returns a site as text for a note: `byte[] from com.example.Service.read:17`.
    pub(super) fn describe(&self, (line, type_number): Leaf) -> String {
        let type_name = self.types.get(type_number as usize);
        let type_name = type_name.map_or("?", |name| name);
        let at = line.and_then(|at| {
            let symbol = self.symbols.get(at.symbol as usize)?;
            let line = at.line.map_or(String::new(), |line| format!(":{line}"));
            Some(format!(" from {}.{}{line}", symbol.class, symbol.name))
        });
        format!("{type_name}{}", at.unwrap_or_default())
    }
}
