//! Names native code: finds the library and the function of an address.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loadhook_profile::Method;

use super::elf::Functions;
use super::names::Names;
use super::stack_tree::NameNumber;

/// The name of code whose library or function is not known.
const NO_SYMBOL: &str = "[native]";

/// The name of the agent's own code, which runs in threads of the program when these load classes, for example.
const OWN: &str = "[loadhook]";

/// The shortest pause between two readings of the mappings. The pause is also at least [`READINGS_IN_PAUSE`] times as
/// long as the last reading took. Without a pause, each address that lies in no mapping would cause a reading. The
/// functions of a library that is loaded during the pause have no names until the pause is over.
const PAUSE: Duration = Duration::from_millis(50);
const READINGS_IN_PAUSE: u32 = 100;

/// Maximum number of addresses whose names are kept. When this number is reached, all names are forgotten.
const MOST: usize = 1 << 16;

/// A range of memory that is mapped as code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    end: usize,
    /// The offset in the file that is mapped to `start`.
    offset: u64,
    /// The mapped file; empty for code that was generated into memory.
    path: PathBuf,
}

/// The place in which an address lies.
#[derive(Clone, Debug)]
enum Place {
    Jvm,
    /// The agent's library.
    Own,
    Function {
        library: String,
        function: String,
    },
    /// Generated code, which is in no file.
    Generated,
}

/// The mappings and libraries of the process, and the names that were found.
#[derive(Default)]
pub(super) struct NativeCode {
    mappings: Vec<Mapping>,
    /// The time before which the mappings are not read again. If it is `None`, the mappings are read at the next
    /// unknown address.
    read_again: Option<Instant>,
    libraries: HashMap<PathBuf, Functions>,
    /// Places of addresses that were looked up and have no name yet.
    places: HashMap<usize, Place>,
    known: HashMap<usize, NameNumber>,
}

impl NativeCode {
    /// Finds the library and the function of the code at an address. Must be called before the lock of the names is
    /// taken, because this may read files.
    pub(super) fn look_up(&mut self, pc: usize) {
        if self.known.contains_key(&pc) || self.places.contains_key(&pc) {
            return;
        }
        if self.known.len() >= MOST {
            self.known.clear();
        }
        if let Some(place) = self.find(pc) {
            self.places.insert(pc, place);
        }
    }

    /// Returns the name of the code at an address that was looked up: its library and function.
    pub(super) fn name(&mut self, pc: usize, names: &mut Names) -> NameNumber {
        if let Some(known) = self.known.get(&pc) {
            return *known;
        }
        let name = match self.places.remove(&pc) {
            Some(Place::Jvm) => names.vm,
            Some(Place::Own) => names.of(Method::native(OWN, "")),
            Some(Place::Function { library, function }) => {
                names.of(Method::native(&library, &function))
            }
            Some(Place::Generated) => names.of(Method::native(NO_SYMBOL, "")),
            // The name is not kept, because the next reading may find a mapping with this address.
            None => return names.of(Method::native(NO_SYMBOL, "")),
        };
        self.known.insert(pc, name);
        name
    }

    fn find(&mut self, pc: usize) -> Option<Place> {
        if self.mapping(pc).is_none() {
            // A library may have been loaded since the last reading.
            self.read_mappings();
        }
        let mapping = self.mapping(pc)?;
        let Some(library) = mapping.path.file_name() else {
            return Some(Place::Generated);
        };
        let library = library.to_string_lossy().into_owned();
        if library == "libjvm.so" {
            return Some(Place::Jvm);
        }
        let own = self.mapping(read as *const () as usize);
        if own.is_some_and(|own| own.path == mapping.path) {
            return Some(Place::Own);
        }
        let offset = mapping.offset.saturating_add((pc - mapping.start) as u64);
        let path = mapping.path.clone();
        let functions = self.libraries.entry(path);
        let functions = functions.or_insert_with_key(|path| read(path));
        let function = functions
            .at(offset)
            .unwrap_or(NO_SYMBOL.into())
            .into_owned();
        Some(Place::Function { library, function })
    }

    fn read_mappings(&mut self) {
        let begin = Instant::now();
        if self.read_again.is_some_and(|at| begin < at) {
            return;
        }
        self.mappings = mappings(&fs::read_to_string("/proc/self/maps").unwrap_or_default());
        let end = Instant::now();
        self.read_again = Some(end + PAUSE.max((end - begin) * READINGS_IN_PAUSE));
    }

    /// Ends the pause, so that the mappings are read again at the next unknown address. Called before the last samples
    /// are handled, because the addresses in these samples cannot be named later.
    pub(super) fn end_pause(&mut self) {
        self.read_again = None;
    }

    fn mapping(&self, pc: usize) -> Option<&Mapping> {
        let mut mappings = self.mappings.iter();
        mappings.find(|mapping| (mapping.start..mapping.end).contains(&pc))
    }
}

/// Reads the functions of a mapped file. Devices and the page of the kernel are left out.
fn read(path: &Path) -> Functions {
    let is_file = path.is_absolute() && fs::metadata(path).is_ok_and(|found| found.is_file());
    if is_file {
        Functions::read(path)
    } else {
        Functions::default()
    }
}

/// Returns the executable mappings from the text of `/proc/self/maps`.
fn mappings(text: &str) -> Vec<Mapping> {
    let mapping = |line: &str| {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let is_code = fields.next()?.contains('x');
        let offset = fields.next()?;
        let path = fields.nth(2).unwrap_or_default().trim_start();
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        is_code.then_some(())?;
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

    fn name(code: &mut NativeCode, names: &mut Names, pc: usize) -> Method {
        code.look_up(pc);
        let name = code.name(pc, names);
        names.method(name, &HashMap::new())
    }

    #[test]
    fn code_is_named_by_library_and_function() {
        let mut names = Names::new();
        let mut code = NativeCode::default();
        let own = rustix::time::clock_gettime as *const () as usize;
        assert_eq!(&*name(&mut code, &mut names, own).class, OWN);
        let is_libc = |mapping: &&Mapping| mapping.path.ends_with("libc.so.6");
        let libc = code.mappings.iter().find(is_libc);
        let libc = libc.expect("the test uses the C library").clone();
        let file = Functions::read(&libc.path);
        let of_function = |pc: &usize| file.at(libc.offset + (pc - libc.start) as u64).is_some();
        let function = (libc.start..libc.end).step_by(16).find(of_function);
        let function = function.expect("the C library has functions");
        let method = name(&mut code, &mut names, function);
        assert_eq!(&*method.class, "libc.so.6");
        assert!(
            !method.name.is_empty() && &*method.name != NO_SYMBOL,
            "{method:?}"
        );
        let nowhere = name(&mut code, &mut names, 3);
        assert_eq!(&*nowhere.class, NO_SYMBOL);
        assert!(code.places.is_empty());
    }

    /// The JIT compiler of another language generates code at many addresses, in no mapped file.
    #[test]
    fn mappings_are_not_read_again_for_each_unknown_address() {
        let mut names = Names::new();
        let mut code = NativeCode::default();
        name(&mut code, &mut names, 3);
        assert!(code.read_again.is_some());
        let later = Some(Instant::now() + Duration::from_secs(3600));
        code.read_again = later;
        code.mappings.push(Mapping {
            start: 0x1000,
            end: 0x2000,
            offset: 0,
            path: PathBuf::new(),
        });
        for pc in (4..100).chain(0x1000..0x1100) {
            assert_eq!(&*name(&mut code, &mut names, pc).class, NO_SYMBOL);
        }
        assert_eq!(code.read_again, later);
    }

    /// A library may be loaded right after a reading, and the program may end then.
    #[test]
    fn mappings_are_read_once_more_at_the_end() {
        let mut names = Names::new();
        let mut code = NativeCode {
            read_again: Some(Instant::now() + Duration::from_secs(3600)),
            ..NativeCode::default()
        };
        let function = rustix::time::clock_gettime as *const () as usize;
        let class = |method: Method| method.class.to_string();
        assert_eq!(class(name(&mut code, &mut names, function)), NO_SYMBOL);
        code.end_pause();
        assert_ne!(class(name(&mut code, &mut names, function)), NO_SYMBOL);
        assert!(code.read_again.is_some());
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
                (0x7f20, 0, String::new()),
                (0x7f30, 0, "[vdso]".to_owned())
            ]
        );
    }
}
