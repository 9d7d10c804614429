//! Reads memory that another thread may unmap at any moment. The reads are system calls, so that an unmapped address
//! gives `None` instead of a fault.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Reads memory of this process without faults. Only event callbacks use this, not the signal handler.
#[derive(Debug)]
pub(crate) struct SafeMemory {
    /// The process's id. Asking the system for it each time would take half as long as a reading.
    pid: i32,
    /// `/proc/self/mem`, for systems that forbid `process_vm_readv`.
    file: Option<File>,
}

impl SafeMemory {
    /// Finds a way to read memory; `None` if the system forbids every way.
    pub(crate) fn open() -> Option<SafeMemory> {
        static PROBE: OnceLock<u64> = OnceLock::new();
        const PATTERN: u64 = 0x4c6f_6164_686f_6f6b;
        let probe = std::ptr::from_ref(PROBE.get_or_init(|| PATTERN)).expose_provenance();
        // SAFETY: the call has no arguments.
        let pid = unsafe { libc::getpid() };
        let by_call = SafeMemory { pid, file: None };
        if by_call.word(probe) == Some(PATTERN as usize) {
            return Some(by_call);
        }
        let by_file = SafeMemory {
            pid,
            file: Some(File::open("/proc/self/mem").ok()?),
        };
        (by_file.word(probe) == Some(PATTERN as usize)).then_some(by_file)
    }

    /// Fills `into` with the bytes from `address` on. Returns false if not all of them can be read.
    pub(crate) fn read(&self, address: usize, into: &mut [u8]) -> bool {
        if let Some(file) = &self.file {
            return file.read_exact_at(into, address as u64).is_ok();
        }
        let local = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(address),
            iov_len: into.len(),
        };
        // SAFETY: the kernel writes at most `iov_len` bytes to `into`, and checks the other address.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        usize::try_from(read) == Ok(into.len())
    }

    /// Returns the word at `address`.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let mut bytes = [0; size_of::<usize>()];
        self.read(address, &mut bytes)
            .then(|| usize::from_ne_bytes(bytes))
    }

    /// Reads the words at these addresses. Returns `None` if any word cannot be read. Adjacent words are read together.
    pub(super) fn words(&self, addresses: &[usize]) -> Option<Vec<usize>> {
        const WORD: usize = size_of::<usize>();
        /// The maximum number of ranges for one call: `UIO_MAXIOV`.
        const MOST: usize = 1024;
        if self.file.is_some() {
            return addresses
                .iter()
                .map(|address| self.word(*address))
                .collect();
        }
        let mut words = vec![0_usize; addresses.len()];
        let mut left = &mut words[..];
        let is_next = |before: &usize, next: &usize| *next == before.wrapping_add(WORD);
        let runs: Vec<&[usize]> = addresses.chunk_by(is_next).collect();
        for part in runs.chunks(MOST) {
            let remote: Vec<libc::iovec> = part
                .iter()
                .map(|run| libc::iovec {
                    iov_base: std::ptr::without_provenance_mut(run[0]),
                    iov_len: size_of_val(*run),
                })
                .collect();
            let words_of_part = part.iter().map(|run| run.len()).sum();
            let (into, behind) = std::mem::take(&mut left).split_at_mut(words_of_part);
            left = behind;
            let local = libc::iovec {
                iov_base: into.as_mut_ptr().cast(),
                iov_len: size_of_val(into),
            };
            let count = remote.len() as libc::c_ulong;
            // SAFETY: the kernel writes at most the words of `into`, and checks the other addresses.
            let read =
                unsafe { libc::process_vm_readv(self.pid, &local, 1, remote.as_ptr(), count, 0) };
            if usize::try_from(read) != Ok(size_of_val(into)) {
                return None;
            }
        }
        Some(words)
    }

    /// Returns the `int` at `address`.
    pub(super) fn int(&self, address: usize) -> Option<i32> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)
            .then(|| i32::from_ne_bytes(bytes))
    }

    /// Returns the `int`s at these addresses, by one system call; `None` if one of them, or the 4 bytes behind it,
    /// cannot be read.
    pub(super) fn ints<const N: usize>(&self, addresses: [usize; N]) -> Option<[i32; N]> {
        let words = self.words(&addresses)?;
        let words: [usize; N] = words.try_into().ok()?;
        // The lower half of a word comes first on x86-64, the only platform of the engine.
        Some(words.map(|word| word as u32 as i32))
    }

    /// Returns the unsigned number of 2 bytes at `address`.
    pub(super) fn short(&self, address: usize) -> Option<u16> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)
            .then(|| u16::from_ne_bytes(bytes))
    }

    /// Returns the byte at `address`.
    pub(super) fn byte(&self, address: usize) -> Option<u8> {
        let mut bytes = [0];
        self.read(address, &mut bytes).then_some(bytes[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_memory_is_read() {
        let memory = SafeMemory::open().unwrap();
        let word = 0x0123_4567_89ab_cdef_usize;
        let address = std::ptr::from_ref(&word).expose_provenance();
        assert_eq!(memory.word(address), Some(word));
        assert_eq!(memory.int(address), Some(0x89ab_cdef_u32 as i32));
        assert_eq!(memory.short(address + 6), Some(0x0123));
        let two = [word, 5];
        let second = std::ptr::from_ref(&two).expose_provenance();
        let ints = memory.ints([second + 4, second]);
        assert_eq!(ints, Some([0x0123_4567, 0x89ab_cdef_u32 as i32]));
        assert_eq!(memory.byte(address + 7), Some(0x01));
        let many: Vec<usize> = (0..3000).collect();
        let addresses: Vec<usize> = many
            .iter()
            .map(|word| std::ptr::from_ref(word).expose_provenance())
            .collect();
        assert_eq!(memory.words(&addresses), Some(many.clone()));
        let backwards: Vec<usize> = addresses.iter().rev().copied().collect();
        assert_eq!(
            memory.words(&backwards),
            Some(many.iter().rev().copied().collect()),
            "more parts than one call takes"
        );
        let mixed = [addresses[7], addresses[8], addresses[2], addresses[3]];
        assert_eq!(memory.words(&mixed), Some(vec![7, 8, 2, 3]));
        assert_eq!(memory.words(&[]), Some(vec![]));
    }

    #[test]
    fn an_address_that_is_not_mapped_gives_none() {
        let memory = SafeMemory::open().unwrap();
        assert_eq!(memory.word(0), None);
        assert_eq!(memory.word(8), None);
        assert_eq!(memory.words(&[8]), None);
        assert_eq!(memory.byte(usize::MAX), None);
        let file = SafeMemory {
            pid: 0,
            file: Some(File::open("/proc/self/mem").unwrap()),
        };
        assert_eq!(file.word(0), None);
        assert_eq!(file.int(4096 - 2), None);
    }
}
