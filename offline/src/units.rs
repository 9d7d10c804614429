//! Divides an archive or folder into units. A unit is the content of one class path entry or module.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use loadhook_rewrite::symbol;
use sha2::{Digest, Sha256};

use crate::class_facts::{Facts, Ids};
use crate::class_rewriter::RewrittenClass;
use crate::module_info::{self, Needs};
use crate::plan::{Plan, Tracker};
use crate::signatures::lines;
use crate::symbols::Symbols;
use crate::tally::Tally;
use crate::tracker::{self, File};
use crate::zip::Spool;

const MODULE_INFO: &str = "module-info.class";
/// Attribute in the manifest of an automatic module.
const MODULE_NAME: &[u8] = b"Automatic-Module-Name:";
/// Entry that names the tracker's package if it is not `loadhook`. Parts of other archives find the
/// tracker by this entry.
const TRACKER: &str = "META-INF/loadhook/tracker";
/// Folder of the versions in a multi-release archive.
const VERSIONS: &str = "META-INF/versions/";

/// The classes that are loaded from one root.
#[derive(Debug)]
pub(crate) struct Unit {
    /// The unit's id: 16 hexadecimal digits that no other unit has.
    pub(crate) id: String,
    /// Internal name of the unit's part, the class that the unit's probes call.
    pub(crate) owner: String,
    /// Package of the part, with a slash at the end.
    package: String,
    /// Package of the tracker, if it is embedded.
    tracker: String,
    pub(crate) ids: Ids,
    symbols: Symbols,
    left_alone: BTreeMap<&'static str, u64>,
    rewritten: bool,
}

impl Unit {
    /// Returns the package of the part, without the slash.
    fn package(&self) -> &str {
        self.package.trim_end_matches('/')
    }

    /// Returns the changes that the part needs in the description of its module.
    pub(crate) fn needs(&self, tracker: Tracker) -> Needs<'_> {
        needs(self.package(), tracker)
    }
}

/// Returns the changes that a part in `package` needs in the description of its module.
pub(crate) fn needs(package: &str, tracker: Tracker) -> Needs<'_> {
    Needs {
        package,
        tracker: match tracker {
            Tracker::Jar => module_info::TrackerPlace::Module(tracker::MODULE),
            Tracker::Embed | Tracker::None => module_info::TrackerPlace::Package,
        },
    }
}

/// The units of an archive or folder, by their roots, for example `""` or `"WEB-INF/classes/"`.
#[derive(Debug)]
pub(crate) struct Units {
    tracker: Tracker,
    /// Hash of the plan and the content, from which the ids of units are made.
    hash: Sha256,
    modules: BTreeSet<String>,
    /// Roots whose classes stay as they are.
    closed: BTreeSet<String>,
    by_root: BTreeMap<String, Unit>,
}

/// The files to add below one root.
#[derive(Debug)]
pub(crate) struct Added<'u> {
    pub(crate) root: &'u str,
    /// True if the root gets the tracker in the usual package. The files of that tracker are the
    /// same for all roots.
    pub(crate) has_usual_tracker: bool,
    /// Files that only this root gets.
    pub(crate) own: Vec<File>,
}

/// The values that a unit assigns to a class: the first ids, and the name of the class that the probes call.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) root: String,
    pub(crate) owner: String,
    pub(crate) first: Ids,
}

impl Units {
    /// Makes the units of an archive or folder. `content` identifies the archive or folder, `names`
    /// are the names of its entries, `manifest` is its manifest.
    pub(crate) fn new<'n>(
        plan: &Plan,
        content: &[u8],
        names: impl Iterator<Item = &'n str>,
        manifest: Option<&[u8]>,
    ) -> Units {
        let hash = Sha256::new()
            .chain_update(env!("CARGO_PKG_VERSION"))
            .chain_update([0])
            .chain_update(plan.encoded())
            .chain_update([0])
            .chain_update(content);
        let modules = names
            .filter(|name| is_module_info(name))
            .map(|name| module_root(name).to_owned())
            .chain(
                manifest
                    .filter(|text| names_module(text))
                    .map(|_| String::new()),
            )
            .collect();
        Units {
            tracker: plan.tracker,
            hash,
            modules,
            closed: BTreeSet::new(),
            by_root: BTreeMap::new(),
        }
    }

    /// Gives a class its ids. Returns `None` if no class loader would load a class of this name
    /// from `path`.
    pub(crate) fn assign(
        &mut self,
        path: &str,
        facts: &Facts,
        outside: &mut Ids,
    ) -> Option<Assignment> {
        if self.tracker == Tracker::None {
            return Some(Assignment {
                root: String::new(),
                owner: "loadhook/Tracker".to_owned(),
                first: outside.take(facts.ids),
            });
        }
        let root = self.root(path, &facts.name)?;
        let unit = self.unit(root);
        Some(Assignment {
            root: root.to_owned(),
            owner: unit.owner.clone(),
            first: unit.ids.take(facts.ids),
        })
    }

    /// Returns the root of a class; `None` if the class cannot be loaded from `path` or must not be
    /// changed.
    pub(crate) fn root<'p>(&self, path: &'p str, class: &[u8]) -> Option<&'p str> {
        place(path, class).filter(|root| !self.closed.contains(*root))
    }

    /// Keeps the classes of a root as they are, because the description of its
    /// module cannot be changed.
    pub(crate) fn close(&mut self, root: &str) {
        self.closed.insert(root.to_owned());
    }

    fn unit(&mut self, root: &str) -> &mut Unit {
        if !self.by_root.contains_key(root) {
            let unit = self.make(root);
            self.by_root.insert(root.to_owned(), unit);
        }
        self.by_root
            .get_mut(root)
            .expect("the unit was inserted above")
    }

    fn make(&self, root: &str) -> Unit {
        let hash = self
            .hash
            .clone()
            .chain_update([0])
            .chain_update(root)
            .finalize();
        let id: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        // The part gets a package of its own. If one archive seals or signs a
        // package, no other archive may add classes to that package.
        let package = format!("loadhook/a{id}/");
        Unit {
            owner: format!("{package}Part"),
            tracker: if self.modules.contains(root) {
                // Java does not start if two modules have the same package.
                package.clone()
            } else {
                tracker::PREFIX.to_owned()
            },
            package,
            id,
            ids: Ids::default(),
            symbols: Symbols::new(),
            left_alone: BTreeMap::new(),
            rewritten: false,
        }
    }

    /// Adds a class to its unit. Returns whether the class is the first rewritten one of the unit. The tracker
    /// must then be added.
    pub(crate) fn book(
        &mut self,
        assignment: &Assignment,
        rewritten: RewrittenClass,
        tally: &mut Tally,
    ) -> io::Result<bool> {
        tally.add(rewritten.tally);
        let Some(unit) = self.by_root.get_mut(&assignment.root) else {
            return Ok(false);
        };
        for (reason, methods) in rewritten.not_instrumented {
            *unit.left_alone.entry(reason).or_default() += methods;
        }
        let is_first = rewritten.is_rewritten && !unit.rewritten;
        unit.rewritten |= rewritten.is_rewritten;
        unit.symbols.add(&rewritten.symbols)?;
        Ok(is_first)
    }

    /// Returns the unit of the module at `root`, if classes of the module are to be rewritten.
    pub(crate) fn module(
        &mut self,
        root: &str,
        is_rewritten: impl FnOnce() -> bool,
    ) -> Option<&Unit> {
        let needed = self.tracker != Tracker::None && is_rewritten();
        needed.then(|| &*self.unit(root))
    }

    /// Returns the unit of the module at `root`, if classes of the module were rewritten.
    pub(crate) fn rewritten_module(&self, root: &str) -> Option<&Unit> {
        self.by_root.get(root).filter(|unit| unit.rewritten)
    }

    /// Returns names and contents of the symbol files to add.
    pub(crate) fn into_symbols(self) -> io::Result<Vec<(String, Spool)>> {
        let rewritten = self.by_root.into_iter().filter(|(_, unit)| unit.rewritten);
        rewritten
            .map(|(root, unit)| {
                let name = format!("{root}META-INF/loadhook/{}.symbols", unit.id);
                Ok((name, unit.symbols.finish(&unit.left_alone)?))
            })
            .collect()
    }

    /// Returns the files to add, root by root.
    pub(crate) fn added(&self) -> impl Iterator<Item = Added<'_>> {
        let rewritten = self.by_root.iter().filter(|(_, unit)| unit.rewritten);
        rewritten.map(|(root, unit)| {
            let embeds = self.tracker == Tracker::Embed;
            let package = if embeds {
                &*unit.tracker
            } else {
                tracker::PREFIX
            };
            let part = tracker::part(&unit.owner, &unit.id, unit.ids.methods, package);
            if package != unit.package {
                return Added {
                    root,
                    has_usual_tracker: embeds,
                    own: vec![part],
                };
            }
            let mut own = tracker::classes(package);
            own.push(part);
            let name = unit.package().replace('/', ".");
            own.push((TRACKER.to_owned(), name.into_bytes()));
            Added {
                root,
                has_usual_tracker: false,
                own,
            }
        })
    }

    /// Returns all files to add.
    pub(crate) fn files(&self) -> impl Iterator<Item = File> {
        self.added().flat_map(|added| {
            let usual = if added.has_usual_tracker {
                tracker::classes(tracker::PREFIX)
            } else {
                Vec::new()
            };
            let all = usual.into_iter().chain(added.own);
            all.map(move |(name, content)| (format!("{}{name}", added.root), content))
        })
    }
}

/// Returns whether an entry is a module's description.
pub(crate) fn is_module_info(path: &str) -> bool {
    path.strip_suffix(MODULE_INFO)
        .is_some_and(|root| root.is_empty() || root.ends_with('/'))
}

/// Returns the root of the module that an entry describes.
pub(crate) fn module_root(path: &str) -> &str {
    unversioned(path.strip_suffix(MODULE_INFO).unwrap_or(path))
}

/// Returns whether the main section of a manifest, which ends with an empty line,
/// names an automatic module.
fn names_module(manifest: &[u8]) -> bool {
    lines(manifest)
        .into_iter()
        .take_while(|line| !matches!(line[0], b'\r' | b'\n'))
        .filter_map(|line| line.get(..MODULE_NAME.len()))
        .any(|name| name.eq_ignore_ascii_case(MODULE_NAME))
}

/// Returns the root of a class. Returns `None` if a class of this internal name (in modified UTF-8) cannot be
/// loaded from `path`.
pub(crate) fn place<'p>(path: &'p str, class: &[u8]) -> Option<&'p str> {
    let name = symbol::text(class);
    let root = path.strip_suffix(".class")?.strip_suffix(&*name)?;
    let root = unversioned(root);
    (root.is_empty() || root.ends_with('/')).then_some(root)
}

/// Returns the root that all versions of a multi-release archive share.
fn unversioned(root: &str) -> &str {
    let Some((before, behind)) = root.rsplit_once(VERSIONS) else {
        return root;
    };
    let version = behind.trim_end_matches('/');
    if version.bytes().all(|byte| byte.is_ascii_digit()) && !version.is_empty() {
        before
    } else {
        root
    }
}

#[cfg(test)]
mod tests {
    use super::{names_module, unversioned};

    #[test]
    fn a_manifest_names_a_module_in_its_main_section() {
        let named: &[&[u8]] = &[
            b"Manifest-Version: 1.0\r\nAutomatic-Module-Name: a.b\r\n\r\n",
            b"automatic-module-name: a\n",
            b"Manifest-Version: 1.0\rAutomatic-Module-Name: a\r\r",
        ];
        let not: &[&[u8]] = &[
            b"",
            b"Manifest-Version: 1.0\r\n\r\nName: x\r\nAutomatic-Module-Name: a\r\n",
            b"Manifest-Version: 1.0\n\nAutomatic-Module-Name: a\n",
            b"Manifest-Version: 1.0\r\rAutomatic-Module-Name: a\r",
            b"X: y\n Automatic-Module-Name: a\n",
        ];
        assert!(named.iter().all(|manifest| names_module(manifest)));
        assert!(!not.iter().any(|manifest| names_module(manifest)));
    }

    #[test]
    fn versions_belong_to_the_root() {
        assert_eq!(unversioned("META-INF/versions/11/"), "");
        assert_eq!(unversioned("lib/META-INF/versions/9/"), "lib/");
        assert_eq!(unversioned("META-INF/versions/x/"), "META-INF/versions/x/");
        assert_eq!(unversioned("META-INF/versions/"), "META-INF/versions/");
        assert_eq!(unversioned("BOOT-INF/classes/"), "BOOT-INF/classes/");
    }
}
