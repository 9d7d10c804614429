//! Adds a package, or a required module, to the description of a module (JVMS §4.7.25).

use std::ops::Range;

use loadhook_rewrite::constant_pool::{Constant, ConstantPool};
use loadhook_rewrite::reader::Reader;
use loadhook_rewrite::{ClassFile, Structure};
use thiserror::Error;

/// Constant tags (JVMS §4.4).
const UTF8: u8 = 1;
const CLASS: u8 = 7;
const MODULE: u8 = 19;
const PACKAGE: u8 = 20;

/// The first `major_version` of class files with modules.
const JAVA_9: u16 = 53;
const ACC_MODULE: u16 = 0x8000;
/// Flags of required modules (JVMS §4.7.25): `ACC_MANDATED` and
/// `ACC_STATIC_PHASE`.
const MANDATED: u16 = 0x8000;
const STATIC_PHASE: u16 = 0x0040;

/// The reason why a description cannot be changed.
#[derive(Debug, Error)]
pub(crate) enum Unchangeable {
    #[error(transparent)]
    Unreadable(#[from] loadhook_rewrite::Error),
    #[error("no room for another constant or package")]
    Full,
}

/// Maximum number of added constants: a package and a module, each with its
/// name.
const ADDED: u16 = 4;

/// The changes that a part needs in the description of its module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs<'a> {
    /// The part's package, with slashes. The module has contained this package since the part was added.
    pub(crate) package: &'a str,
    /// The location of the part's tracker.
    pub(crate) tracker: TrackerPlace<'a>,
}

/// The location of the tracker that a module's part uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TrackerPlace<'a> {
    /// In the part's package, which is exported: parts of other modules may also use this tracker.
    Package,
    /// In this module, which the part's module has to read.
    Module(&'a str),
}

/// Makes the description of the tracker's own module, which exports `package`.
///
/// The module reads `jdk.unsupported`, because without it threads are found slowly
/// before JDK 19. It reads `java.management`, if present, for `clock=cpu`.
pub(crate) fn of_tracker(module: &str, package: &str) -> Vec<u8> {
    let mut constants = Constants {
        next: 1,
        bytes: Vec::new(),
    };
    let this = constants.named(CLASS, "module-info");
    let attribute = constants.utf8("Module");
    let module = constants.named(MODULE, module);
    let requires = [
        (constants.named(MODULE, "java.base"), MANDATED),
        (constants.named(MODULE, "jdk.unsupported"), 0),
        (constants.named(MODULE, "java.management"), STATIC_PHASE),
    ];
    let package = constants.named(PACKAGE, package);
    // Name, flags and version; the `requires`; one export to all; no `opens`, `uses`
    // or `provides`.
    let mut info = vec![module, 0, 0, requires.len() as u16];
    info.extend(
        requires
            .iter()
            .flat_map(|(module, flags)| [*module, *flags, 0]),
    );
    info.extend([1, package, 0, 0, 0, 0, 0]);
    let info: Vec<u8> = info.iter().flat_map(|value| value.to_be_bytes()).collect();

    let mut out = 0xCAFE_BABE_u32.to_be_bytes().to_vec();
    let put = |out: &mut Vec<u8>, values: &[u16]| {
        out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
    };
    put(&mut out, &[0, JAVA_9, constants.next]);
    out.extend(constants.bytes);
    // No superclass, interfaces, fields or methods; one attribute.
    put(&mut out, &[ACC_MODULE, this, 0, 0, 0, 0, 1, attribute]);
    out.extend((info.len() as u32).to_be_bytes());
    out.extend(info);
    out
}

/// Adds the requirements of a part, if `needs` has any, to a description. Requirements that the description meets
/// already are not added, because nothing may be listed twice.
///
/// The package of an embedded tracker is exported, because the archives of a class loader share one
/// tracker. The list of packages is optional (JVMS §4.7.26). If the description has this list, it
/// must be complete, so the part's package is added. Hashes of other modules (the JDK's own
/// attribute `ModuleHashes`) are dropped: those modules may be rewritten, too, and Java refuses to
/// start with a module that has a wrong hash.
pub(crate) fn changed(bytes: &[u8], needs: Option<Needs<'_>>) -> Result<Vec<u8>, Unchangeable> {
    let class = ClassFile::parse(bytes)?;
    let pool = class.pool();
    if pool.count() > u16::MAX - ADDED {
        return Err(Unchangeable::Full);
    }
    let mut constants = Constants {
        next: pool.count(),
        bytes: Vec::new(),
    };
    let mut package = None;
    // Ranges to replace, with their new bytes, in ascending order.
    let mut patches: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    let mut first = None;
    let mut out = bytes.to_vec();
    for attribute in class.attributes() {
        let attribute = attribute?;
        let first = *first.get_or_insert(attribute.offset);
        let start = attribute.offset + 6;
        let mut reader = attribute.reader(Structure::Class);
        let (wanted, table) = match (pool.utf8(attribute.name_index)?, needs) {
            (b"ModulePackages", Some(needs)) => ((PACKAGE, needs.package), Table::Packages),
            (b"Module", Some(needs)) => {
                reader.skip(6)?;
                match needs.tracker {
                    TrackerPlace::Module(module) => ((MODULE, module), Table::Requires),
                    TrackerPlace::Package => {
                        let requires = reader.u2()?;
                        reader.skip(6 * usize::from(requires))?;
                        ((PACKAGE, needs.package), Table::Exports)
                    }
                }
            }
            (b"ModuleHashes", _) => {
                let count = u16::from_be_bytes([out[first - 2], out[first - 1]]);
                put2(&mut out, first - 2, count - 1);
                patches.push((attribute.offset..start + attribute.info.len(), Vec::new()));
                continue;
            }
            _ => continue,
        };
        if table.names(pool, reader.clone(), wanted.1)? {
            continue;
        }
        let constant = match wanted {
            (PACKAGE, name) => *package.get_or_insert_with(|| constants.named(PACKAGE, name)),
            (tag, name) => constants.named(tag, name),
        };
        let mut entry = constant.to_be_bytes().to_vec();
        // For a `requires`, the zeros are the flags and the version. For an `exports`, they are the flags and the
        // number of modules: an export to no named module is an export to all.
        entry.resize(table.least(), 0);
        // The new row is inserted before the others, after the count of rows.
        let count_at = reader.offset();
        let count = reader.u2()?;
        let more = count.checked_add(1).ok_or(Unchangeable::Full)?;
        put2(&mut out, count_at, more);
        let len = (attribute.info.len() + entry.len()) as u32;
        out[start - 4..start].copy_from_slice(&len.to_be_bytes());
        patches.push((reader.offset()..reader.offset(), entry));
    }
    for (place, entry) in patches.into_iter().rev() {
        out.splice(place, entry);
    }
    out.splice(pool.end()..pool.end(), constants.bytes);
    put2(&mut out, 8, constants.next);
    Ok(out)
}

/// A table of the `Module` or `ModulePackages` attribute to which an entry may be added. A table begins with its
/// number of entries, an entry with a constant-pool index.
#[derive(Clone, Copy)]
enum Table {
    Packages,
    Requires,
    Exports,
}

impl Table {
    /// Returns the length of the table's shortest entry in bytes.
    fn least(self) -> usize {
        match self {
            Table::Packages => 2,
            Table::Requires | Table::Exports => 6,
        }
    }

    /// Returns whether the table contains this module or package.
    fn names(
        self,
        pool: &ConstantPool<'_>,
        mut table: Reader<'_>,
        wanted: &str,
    ) -> loadhook_rewrite::Result<bool> {
        for _ in 0..table.u2()? {
            let index = table.cp_index()?;
            match self {
                Table::Packages => {}
                Table::Requires => table.skip(4)?,
                Table::Exports => {
                    table.skip(2)?;
                    let targets = table.u2()?;
                    table.skip(2 * usize::from(targets))?;
                }
            }
            if let Constant::Module { name } | Constant::Package { name } = pool.get(index)?
                && pool.utf8(name)? == wanted.as_bytes()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn put2(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Constants to append to the constant pool.
struct Constants {
    next: u16,
    bytes: Vec<u8>,
}

impl Constants {
    /// Adds a name, and a constant that refers to the name. Returns the index of that constant.
    fn named(&mut self, tag: u8, name: &str) -> u16 {
        let name = self.utf8(name);
        self.bytes.push(tag);
        self.bytes.extend(name.to_be_bytes());
        self.next += 1;
        self.next - 1
    }

    fn utf8(&mut self, text: &str) -> u16 {
        self.bytes.push(UTF8);
        self.bytes.extend((text.len() as u16).to_be_bytes());
        self.bytes.extend(text.bytes());
        self.next += 1;
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_added_twice() {
        for tracker in [
            TrackerPlace::Module("loadhook.tracker"),
            TrackerPlace::Package,
        ] {
            let needs = |package| Some(Needs { package, tracker });
            let once = changed(&of_tracker("m", "p"), needs("loadhook/a1"))
                .expect("the tracker's module can be changed");
            let twice =
                changed(&once, needs("loadhook/a1")).expect("the description can be changed");
            assert!(once == twice, "{tracker:?}");
        }
        // A second part needs one more package, but its tracker is already readable or exported.
        let needs = |package| {
            let tracker = TrackerPlace::Module("loadhook.tracker");
            Some(Needs { package, tracker })
        };
        let once = changed(&of_tracker("m", "p"), needs("loadhook/a1"))
            .expect("the tracker's module can be changed");
        let twice = changed(&once, needs("loadhook/a2")).expect("the description can be changed");
        assert!(
            once == twice,
            "the module lists no packages, so the second part should change nothing"
        );
    }

    #[test]
    fn a_full_pool_is_no_room() {
        let needs = |package| Needs {
            package,
            tracker: TrackerPlace::Module("loadhook.tracker"),
        };
        let small = of_tracker("m", "p");
        let class = ClassFile::parse(&small).expect("the class file is valid");
        let (count, end) = (class.pool().count(), class.pool().end());
        for (full, fits) in [(u16::MAX - ADDED, true), (u16::MAX - ADDED + 1, false)] {
            let mut class = small.clone();
            let empty = [UTF8, 0, 0].repeat(usize::from(full - count));
            class.splice(end..end, empty);
            put2(&mut class, 8, full);
            let changed = changed(&class, Some(needs("loadhook/a")));
            match changed {
                Ok(changed) => {
                    assert!(fits);
                    ClassFile::parse(&changed).expect("the result is a class file");
                }
                Err(fault) => assert!(!fits, "{fault}"),
            }
        }
    }
}
