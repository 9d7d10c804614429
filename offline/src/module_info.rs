//! Changing a module's description: one package more, or one module more that
//! it reads.

use std::ops::Range;

use loadhook_rewrite::{ClassFile, Error, Place};

/// Constant tags (JVMS §4.4).
const UTF8: u8 = 1;
const MODULE: u8 = 19;
const PACKAGE: u8 = 20;

/// What a part needs of the module it is put into.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs<'a> {
    /// A package that the module has now, with slashes.
    pub(crate) package: &'a str,
    /// A module that it has to read.
    pub(crate) requires: Option<&'a str>,
}

/// The description with what a part needs.
///
/// A list of packages is optional (JVMS §4.7.26); where there is one, it is
/// all packages there are, so that ours has to be in it. Hashes of other modules
/// (the JDK's own attribute `ModuleHashes`) are dropped: those may be rewritten
/// too, and a module that was hashed otherwise does not start.
pub(crate) fn changed(bytes: &[u8], needs: Needs<'_>) -> Result<Vec<u8>, Error> {
    let class = ClassFile::parse(bytes)?;
    let pool = class.pool();
    let mut constants = Constants {
        next: pool.count(),
        bytes: Vec::new(),
    };
    // What to put in the place of what, from the front on.
    let mut patches: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    let mut first = None;
    let mut out = bytes.to_vec();
    for attribute in class.attributes() {
        let attribute = attribute?;
        let first = *first.get_or_insert(attribute.offset);
        let name = pool.utf8(attribute.name_index)?;
        let start = attribute.offset + 6;
        let (count_at, entry_len, entry) = match (name, needs.requires) {
            (b"ModulePackages", _) => {
                let package = constants.named(PACKAGE, needs.package);
                (0, 2, package.to_be_bytes().to_vec())
            }
            (b"Module", Some(module)) => {
                let module = constants.named(MODULE, module);
                // Flags and version are 0.
                (6, 6, [module.to_be_bytes(), [0; 2], [0; 2]].concat())
            }
            (b"ModuleHashes", _) => {
                let count = u16::from_be_bytes([out[first - 2], out[first - 1]]);
                put2(&mut out, first - 2, count - 1);
                patches.push((attribute.offset..start + attribute.info.len(), Vec::new()));
                continue;
            }
            _ => continue,
        };
        let mut reader = attribute.reader(Place::Class);
        reader.skip(count_at)?;
        let count = reader.u2()?;
        reader.skip(entry_len * usize::from(count))?;
        let end = reader.offset() - start;
        put2(&mut out, start + count_at, count + 1);
        let len = (attribute.info.len() + entry.len()) as u32;
        out[start - 4..start].copy_from_slice(&len.to_be_bytes());
        patches.push((start + end..start + end, entry));
    }
    for (place, entry) in patches.into_iter().rev() {
        out.splice(place, entry);
    }
    out.splice(pool.end()..pool.end(), constants.bytes);
    put2(&mut out, 8, constants.next);
    Ok(out)
}

fn put2(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Constants to be put behind those that are there.
struct Constants {
    next: u16,
    bytes: Vec<u8>,
}

impl Constants {
    /// A constant that is nothing but a name.
    fn named(&mut self, tag: u8, name: &str) -> u16 {
        self.bytes.push(UTF8);
        self.bytes.extend((name.len() as u16).to_be_bytes());
        self.bytes.extend(name.bytes());
        self.bytes.push(tag);
        self.bytes.extend(self.next.to_be_bytes());
        self.next += 2;
        self.next - 1
    }
}
