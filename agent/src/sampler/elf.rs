//! Reads the functions of an ELF file from its symbol tables.
//!
//! Only 64-bit little-endian files are read, because native code is sampled on x86-64 only. A file may be damaged, so
//! every number in it is checked.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Maximum size of a symbol or name table in bytes. A larger table is left out.
const MOST: u64 = 64 << 20;

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const PT_LOAD: u32 = 1;

/// A function.
#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    /// The size in bytes; 0 if it is not known.
    size: u64,
    /// The offset of the name in [`Functions::names`].
    name: usize,
}

/// A part of the file that is loaded into memory (`PT_LOAD`).
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    address: u64,
    size: u64,
}

/// The functions of a library.
#[derive(Clone, Debug, Default)]
pub(super) struct Functions {
    /// The functions, in the order of their addresses.
    all: Vec<Function>,
    /// The name tables of the file, one after the other. A name is decoded only when it is needed, because a library
    /// has thousands of names, and few of them are needed.
    names: Vec<u8>,
    segments: Vec<Segment>,
}

impl Functions {
    /// Reads the functions of a file. A file that is no ELF file has none.
    pub(super) fn read(path: &Path) -> Self {
        let read = |file: &File| -> io::Result<Self> {
            let read = |offset: u64, len: u64| {
                let len = usize::try_from(len.min(MOST)).unwrap_or(0);
                let mut bytes = vec![0; len];
                file.read_exact_at(&mut bytes, offset).map(|()| bytes)
            };
            Ok(Functions::parse(&read).unwrap_or_default())
        };
        let functions = File::open(path).and_then(|file| {
            let size = file.metadata()?.len();
            if size == 0 {
                Ok(Functions::default())
            } else {
                read(&file)
            }
        });
        functions.unwrap_or_default()
    }

    /// Reads the tables. `read` reads bytes of the file from two arguments: offset and length.
    fn parse(read: &dyn Fn(u64, u64) -> io::Result<Vec<u8>>) -> Option<Self> {
        let header = read(0, 64).ok()?;
        // The first bytes must be the magic number, 64 bits, and little-endian.
        if header.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
            return None;
        }
        let (programs, sections) = (u64_at(&header, 32)?, u64_at(&header, 40)?);
        let (program_size, program_count) = (u16_at(&header, 54)?, u16_at(&header, 56)?);
        let (section_size, section_count) = (u16_at(&header, 58)?, u16_at(&header, 60)?);
        let table = |offset: u64, size: u16, count: u16| {
            read(offset, u64::from(size) * u64::from(count)).unwrap_or_default()
        };
        let mut functions = Functions::default();
        let programs = table(programs, program_size, program_count);
        for program in programs.chunks_exact(usize::from(program_size).max(1)) {
            if u32_at(program, 0) == Some(PT_LOAD) {
                functions.segments.push(Segment {
                    offset: u64_at(program, 8)?,
                    address: u64_at(program, 16)?,
                    size: u64_at(program, 32)?,
                });
            }
        }
        let sections = table(sections, section_size, section_count);
        let sections: Vec<&[u8]> = sections
            .chunks_exact(usize::from(section_size).max(1))
            .collect();
        for section in &sections {
            if matches!(u32_at(section, 4), Some(SHT_SYMTAB | SHT_DYNSYM)) {
                let content = |section: &[u8]| {
                    let (offset, size) = (u64_at(section, 24)?, u64_at(section, 32)?);
                    (size <= MOST).then(|| read(offset, size).ok())?
                };
                let names = u32_at(section, 40).and_then(|link| sections.get(link as usize));
                let names = names.and_then(|names| content(names));
                if let (Some(symbols), Some(names)) = (content(section), names) {
                    functions.add(&symbols, &names);
                }
            }
        }
        let names = &functions.names;
        // If several functions begin at the same address, only the first in this order is kept.
        functions.all.sort_unstable_by(|one, other| {
            let key = |function: &Function| (function.start, function.size);
            let order = key(one).cmp(&key(other));
            order.then_with(|| bytes_of_name(names, one).cmp(bytes_of_name(names, other)))
        });
        functions.all.dedup_by_key(|function| function.start);
        Some(functions)
    }

    fn add(&mut self, symbols: &[u8], names: &[u8]) {
        let first = self.names.len();
        self.names.extend_from_slice(names);
        // The table of names should end in a zero byte; a damaged one may not.
        self.names.push(0);
        for symbol in symbols.chunks_exact(24) {
            let kind = symbol[4] & 0xf;
            let (Some(name), Some(section), Some(start), Some(size)) = (
                u32_at(symbol, 0),
                u16_at(symbol, 6),
                u64_at(symbol, 8),
                u64_at(symbol, 16),
            ) else {
                continue;
            };
            if !matches!(kind, STT_FUNC | STT_GNU_IFUNC) || section == 0 {
                continue;
            }
            if names.get(name as usize).is_some_and(|byte| *byte != 0) {
                self.all.push(Function {
                    start,
                    size,
                    name: first + name as usize,
                });
            }
        }
    }

    /// Returns the name of the function at an offset in the file; `None` if the tables have no function there.
    pub(super) fn at(&self, offset: u64) -> Option<Cow<'_, str>> {
        let is_in =
            |segment: &&Segment| offset >= segment.offset && offset - segment.offset < segment.size;
        let segment = self.segments.iter().find(is_in)?;
        let address = (offset - segment.offset).checked_add(segment.address)?;
        let behind = self
            .all
            .partition_point(|function| function.start <= address);
        let function = self.all.get(behind.checked_sub(1)?)?;
        let is_in = function.size == 0 || address - function.start < function.size;
        is_in.then(|| self.name(function))
    }

    fn name(&self, function: &Function) -> Cow<'_, str> {
        String::from_utf8_lossy(bytes_of_name(&self.names, function))
    }
}

/// Returns the bytes of a function's name. `names` has the names of all functions.
fn bytes_of_name<'n>(names: &'n [u8], function: &Function) -> &'n [u8] {
    let names = names.get(function.name..).unwrap_or_default();
    names.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn loadhook_elf_probe(x: u32) -> u32 {
        std::hint::black_box(x) + 1
    }

    #[test]
    fn a_function_is_found_by_its_place_in_the_file() {
        assert_eq!(loadhook_elf_probe(1), 2);
        let own = std::env::current_exe().expect("the test has an executable");
        let functions = Functions::read(&own);
        let probe = functions
            .all
            .iter()
            .find(|f| functions.name(f).contains("loadhook_elf_probe"));
        let probe = probe.expect("the executable has the symbol");
        let segments = functions.segments.iter();
        let mut holding = segments.filter(|s| probe.start.wrapping_sub(s.address) < s.size);
        let segment = holding.next().expect("a segment holds the function");
        let offset = probe.start - segment.address + segment.offset;
        let name = functions.name(probe);
        assert_eq!(functions.at(offset), Some(name.clone()));
        assert_eq!(functions.at(offset + probe.size - 1), Some(name));
        assert_eq!(functions.at(u64::MAX), None);
    }

    /// Damaged files are read without a panic.
    #[test]
    fn damaged_files_have_no_functions_or_others() {
        let own = std::fs::read(std::env::current_exe().expect("the test has an executable"))
            .expect("the file can be read");
        let head = &own[..own.len().min(1 << 16)];
        let mut seed = 7u32;
        for _ in 0..2000 {
            let mut bytes = head.to_vec();
            for _ in 0..4 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (seed >> 8) as usize % 256;
                bytes[at] = seed as u8;
            }
            let read = |offset: u64, len: u64| {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(len as usize);
                bytes
                    .get(start..end)
                    .map(<[u8]>::to_vec)
                    .ok_or(io::ErrorKind::UnexpectedEof.into())
            };
            if let Some(functions) = Functions::parse(&read) {
                functions.at(u64::from(seed));
            }
        }
        assert!(Functions::read(Path::new("/dev/null")).all.is_empty());
        assert!(Functions::read(Path::new("/missing")).all.is_empty());
    }
}
