//! Names native code: finds the library and the function of an address.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use loadhook_profile::Method;

use super::elf::Functions;
use super::forest::NameNumber;
use super::names::Names;

/// The name of code whose library or function is not known.
const NO_SYMBOL: &str = "[native]";

/// Limit of the addresses whose names are kept. When it is reached, all of them are forgotten.
const MOST: usize = 1 << 16;

/// A part of a file that is mapped as code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    end: usize,
    /// The offset in the file that is mapped to `start`.
    offset: u64,
    path: PathBuf,
}

/// The libraries of the process.
#[derive(Default)]
pub(super) struct NativeCode {
    mappings: Vec<Mapping>,
    libraries: HashMap<PathBuf, Functions>,
    known: HashMap<usize, NameNumber>,
}

impl NativeCode {
    /// The name of the code at an address: its library and function.
    pub(super) fn name(&mut self, pc: usize, names: &mut Names) -> NameNumber {
        if let Some(known) = self.known.get(&pc) {
            return *known;
        }
        let name = self.find(pc, names);
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(pc, name);
        name
    }

    fn find(&mut self, pc: usize, names: &mut Names) -> NameNumber {
        let mapping = match self.mapping(pc) {
            Some(mapping) => mapping,
            None => {
                // A library may have been loaded since.
                self.mappings =
                    mappings(&fs::read_to_string("/proc/self/maps").unwrap_or_default());
                match self.mapping(pc) {
                    Some(mapping) => mapping,
                    None => return names.of(Method::native(NO_SYMBOL, "")),
                }
            }
        };
        let library = mapping.path.file_name().unwrap_or_default();
        let library = library.to_string_lossy().into_owned();
        if library == "libjvm.so" {
            return names.vm;
        }
        let offset = mapping.offset.saturating_add((pc - mapping.start) as u64);
        let path = mapping.path.clone();
        let functions = self.libraries.entry(path);
        let functions = functions.or_insert_with_key(|path| read(path));
        let function = functions.at(offset).unwrap_or(NO_SYMBOL);
        names.of(Method::native(&library, function))
    }

    fn mapping(&self, pc: usize) -> Option<&Mapping> {
        let mut mappings = self.mappings.iter();
        mappings.find(|mapping| (mapping.start..mapping.end).contains(&pc))
    }
}

/// The functions of a mapped file. Devices and the kernel's own page are not read.
fn read(path: &Path) -> Functions {
    let is_file = path.is_absolute() && fs::metadata(path).is_ok_and(|found| found.is_file());
    if is_file {
        Functions::read(path)
    } else {
        Functions::default()
    }
}

/// The executable mappings of files in the text of `/proc/self/maps`.
fn mappings(text: &str) -> Vec<Mapping> {
    let mapping = |line: &str| {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let is_code = fields.next()?.contains('x');
        let offset = fields.next()?;
        let path = fields.nth(2)?.trim_start();
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        (is_code && !path.is_empty()).then_some(())?;
        Some(Mapping {
            start: usize::try_from(number(start)?).ok()?,
            end: usize::try_from(number(end)?).ok()?,
            offset: number(offset)?,
            path: PathBuf::from(path),
        })
    };
    text.lines().filter_map(mapping).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_named_by_library_and_function() {
        let mut names = Names::new();
        let mut code = NativeCode::default();
        let name = code.name(
            rustix::time::clock_gettime as *const () as usize,
            &mut names,
        );
        let own = std::env::current_exe().expect("a file");
        let own = own.file_name().expect("a name").to_string_lossy();
        let method = names.method(name, &HashMap::new());
        assert_eq!(*method.class, *own);
        assert!(method.name.contains("clock_gettime"), "{method:?}");
        let nowhere = code.name(3, &mut names);
        assert_eq!(&*names.method(nowhere, &HashMap::new()).class, NO_SYMBOL);
    }

    #[test]
    fn mappings_are_read() {
        let text = "7f00-7f10 r-xp 00001000 08:01 12     /usr/lib/a b.so\n\
                    7f10-7f20 rw-p 00002000 08:01 12     /usr/lib/a b.so\n\
                    7f20-7f30 r-xp 00000000 00:00 0 \n\
                    7f30-7f40 r-xp 00000000 00:00 0      [vdso]\n\
                    nonsense\n";
        let found: Vec<_> = mappings(text)
            .into_iter()
            .map(|m| (m.start, m.offset, m.path.display().to_string()))
            .collect();
        assert_eq!(
            found,
            [
                (0x7f00, 0x1000, "/usr/lib/a b.so".to_owned()),
                (0x7f30, 0, "[vdso]".to_owned())
            ]
        );
    }
}
