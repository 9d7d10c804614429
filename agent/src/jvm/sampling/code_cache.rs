//! Finds the frame sizes of generated code: from the header that HotSpot keeps before the code, and from the first
//! instructions of the code.

use std::sync::OnceLock;

use super::memory::SafeMemory;
use super::vm_structs::CodeOffsets;

/// The maximum number of heaps of a code cache.
const MAX_HEAPS: usize = 8;

/// The maximum number of steps from a segment of the code cache back to the first segment of its block.
pub(super) const MAX_STEPS: usize = 4096;

/// The largest frame, in words.
const MAX_FRAME: i32 = 1 << 17;

/// HotSpot's code cache.
pub(super) struct CodeCache {
    memory: SafeMemory,
    offsets: CodeOffsets,
    heaps: OnceLock<Vec<Heap>>,
}

/// A heap of the code cache: reserved memory, which does not move.
#[derive(Clone, Copy)]
pub(super) struct Heap {
    low: usize,
    high: usize,
    /// The address of a word. The word holds the address at which the used part of the heap ends.
    pub(super) committed: usize,
    segments: usize,
    log2_segment_size: u32,
}

impl Heap {
    pub(super) fn contains(&self, pc: usize) -> bool {
        self.low <= pc && pc < self.high
    }

    /// Returns the number of the segment at `pc`, which is in the heap.
    fn segment(&self, pc: usize) -> usize {
        (pc - self.low) >> self.log2_segment_size
    }

    /// Returns the start of the block that contains `pc`; `None` if it is not found in `most` steps. The heap has a
    /// byte for each segment: how many segments to step back towards the first segment of the block. The byte of the
    /// first segment is 0.
    pub(super) fn block(
        &self,
        pc: usize,
        most: usize,
        byte: impl Fn(usize) -> Option<u8>,
    ) -> Option<usize> {
        const FREE: u8 = 0xff;
        if !self.contains(pc) {
            return None;
        }
        let mut segment = self.segment(pc);
        for _ in 0..most {
            match byte(self.segments + segment)? {
                FREE => return None,
                0 => return Some(self.low + (segment << self.log2_segment_size)),
                back => segment = segment.checked_sub(usize::from(back))?,
            }
        }
        None
    }
}

/// The fields that the walker needs from the header of a code blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the frame, with the return address.
    pub(super) frame_size: u32,
    /// Offset in bytes from the stack pointer at which a deoptimised frame has its original return address; 0 if the
    /// code has no such place.
    pub(super) orig_pc: u32,
}

impl CodeCache {
    pub(super) fn new(memory: SafeMemory, offsets: CodeOffsets) -> Self {
        CodeCache {
            memory,
            offsets,
            heaps: OnceLock::new(),
        }
    }

    /// Returns the reader for memory that another thread may unmap at any moment.
    pub(super) fn memory(&self) -> &SafeMemory {
        &self.memory
    }

    /// Returns the bounds of the code cache, once it exists.
    pub(super) fn bounds(&self) -> Option<(usize, usize)> {
        let low = self.memory.word(self.offsets.low_bound)?;
        let high = self.memory.word(self.offsets.high_bound)?;
        (low != 0 && low < high).then_some((low, high))
    }

    pub(super) fn heaps(&self) -> &[Heap] {
        if let Some(heaps) = self.heaps.get() {
            return heaps;
        }
        // The JVM completes the list of heaps before it generates the first code.
        let heaps = self.read_heaps().unwrap_or_default();
        self.heaps.get_or_init(|| heaps)
    }

    fn read_heaps(&self) -> Option<Vec<Heap>> {
        let (memory, offsets) = (&self.memory, &self.offsets);
        let list = memory.word(offsets.heaps)?;
        let len = usize::try_from(memory.int(list + offsets.array_len)?).ok()?;
        let data = memory.word(list + offsets.array_data)?;
        let heap = |index: usize| {
            let descriptor = memory.word(data + index * size_of::<usize>())?;
            Some(Heap {
                low: memory.word(descriptor + offsets.heap_low)?,
                high: memory.word(descriptor + offsets.heap_high)?,
                committed: descriptor + offsets.heap_committed,
                segments: memory.word(descriptor + offsets.segment_map)?,
                log2_segment_size: u32::try_from(
                    memory.int(descriptor + offsets.log2_segment_size)?,
                )
                .ok()
                .filter(|log2| *log2 < 16)?,
            })
        };
        (0..len.min(MAX_HEAPS)).map(heap).collect()
    }

    /// Returns the header of the compiled method at `pc`.
    pub(super) fn header(&self, pc: usize) -> Option<Header> {
        let mut heaps = self.heaps().iter();
        let block = heaps.find_map(|heap| heap.block(pc, MAX_STEPS, |at| self.memory.byte(at)))?;
        let blob = self.offsets.blob_of(block);
        let [size, orig_pc] = self
            .memory
            .ints([blob + self.offsets.frame_size, blob + self.offsets.orig_pc])?;
        let frame_size = frame_bytes(size)?;
        let is_in_frame = orig_pc > 0 && (orig_pc as u32) < frame_size && orig_pc % 8 == 0;
        Some(Header {
            frame_size,
            orig_pc: if is_in_frame { orig_pc as u32 } else { 0 },
        })
    }

    /// Returns the sizes in bytes of the frames of stubs that begin at these addresses; 0 for a stub whose size is not
    /// known. All stubs together take a few system calls.
    pub(super) fn frame_sizes(&self, stubs: &[usize]) -> Vec<u32> {
        let blobs = self.blobs(stubs);
        let mut different: Vec<usize> = blobs.iter().flatten().copied().collect();
        different.sort_unstable();
        different.dedup();
        let field = |blob: &usize| blob + self.offsets.frame_size;
        let fields: Vec<usize> = different.iter().map(field).collect();
        // The lower half of a word comes first on x86-64, the only platform of the engine.
        let sizes: Vec<i32> = match self.memory.words(&fields) {
            Some(words) => words.iter().map(|word| *word as u32 as i32).collect(),
            None => fields
                .iter()
                .map(|field| self.memory.int(*field).unwrap_or(0))
                .collect(),
        };
        let size = |blob: &Option<usize>| {
            let index = different.binary_search(blob.as_ref()?).ok()?;
            frame_bytes(*sizes.get(index)?)
        };
        blobs.iter().map(|blob| size(blob).unwrap_or(0)).collect()
    }

    /// Returns the addresses of the blobs with these places; `None` for a place in no blob.
    fn blobs(&self, places: &[usize]) -> Vec<Option<usize>> {
        /// This number of segments before the first place is read, too. Blocks that begin before are rare.
        const BEFORE: usize = 256;
        let mut blobs = vec![None; places.len()];
        for heap in self.heaps() {
            let within = || places.iter().filter(|pc| heap.contains(**pc));
            let (Some(lowest), Some(highest)) = (within().min(), within().max()) else {
                continue;
            };
            let first = heap.segment(*lowest).saturating_sub(BEFORE);
            let mut map = vec![0; heap.segment(*highest) + 1 - first];
            if !self.memory.read(heap.segments + first, &mut map) {
                map.clear();
            }
            let byte = |at: usize| {
                let index = at.checked_sub(heap.segments + first);
                let known = index.and_then(|index| map.get(index).copied());
                known.or_else(|| self.memory.byte(at))
            };
            for (place, blob) in places.iter().zip(&mut blobs) {
                let block = heap.block(*place, MAX_STEPS, byte);
                *blob = blob.or(block.map(|block| self.offsets.blob_of(block)));
            }
        }
        blobs
    }
}

/// Converts the size of a frame in words to bytes; `None` if no frame has this size.
fn frame_bytes(words: i32) -> Option<u32> {
    let words = (0..MAX_FRAME).contains(&words).then_some(words as u32)?;
    Some(words * size_of::<usize>() as u32)
}

/// The prologue of a compiled method, found in the first instructions of its code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prologue {
    /// Offset of the instruction that saves the frame pointer.
    pub(super) push: u32,
    /// Offset of the end of the instruction that makes the frame; 0 if no such instruction was found.
    pub(super) body: u32,
    /// Bytes of the frame, with the return address.
    pub(super) frame_size: u32,
}

/// The prologue is searched for in this number of bytes at the beginning of a method.
pub(super) const PROLOGUE: usize = 160;

/// Finds the prologue of a method: `push rbp`, perhaps `mov rbp, rsp`, and `sub rsp, size`.
pub(super) fn prologue(code: &[u8]) -> Prologue {
    const PUSH_RBP: u8 = 0x55;
    let code = code.get(..PROLOGUE).unwrap_or(code);
    let mut found = Prologue::default();
    for (push, byte) in code.iter().enumerate() {
        if *byte != PUSH_RBP {
            continue;
        }
        let mut body = push + 1;
        let after = |at: usize| code.get(at..).unwrap_or_default();
        if let [0x48, 0x8b, 0xec, ..] = after(body) {
            body += 3;
        }
        let (size, len) = match after(body) {
            [0x48, 0x81, 0xec, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]), 7),
            [0x48, 0x83, 0xec, size, ..] => (u32::from(*size), 4),
            _ => {
                let is_first = found.frame_size == 0 && push >= 3;
                if is_first && code.get(push - 3) != Some(&0x48) {
                    // This is the whole prologue of a method without locals, unless the search finds more.
                    found = Prologue {
                        push: push as u32,
                        body: push as u32 + 1,
                        frame_size: 16,
                    };
                }
                continue;
            }
        };
        return Prologue {
            push: push as u32,
            body: (body + len) as u32,
            frame_size: size.saturating_add(16),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_begin_of_a_method_gives_its_frame() {
        // C2: mov [rsp - 0x14000], eax; push rbp; sub rsp, 0x20
        let c2 = [
            0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x90,
        ];
        let expected = Prologue {
            push: 7,
            body: 12,
            frame_size: 48,
        };
        assert_eq!(prologue(&c2), expected);
        // C1: the same with a larger frame, and with mov rbp, rsp.
        let c1 = [
            0x90, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x81, 0xec, 0x10, 0x01, 0, 0,
        ];
        let expected = Prologue {
            push: 1,
            body: 12,
            frame_size: 288,
        };
        assert_eq!(prologue(&c1), expected);
        assert_eq!(prologue(&[0x90; 300]), Prologue::default());
        assert_eq!(prologue(&[]), Prologue::default());
        assert_eq!(prologue(&[0x55]), Prologue::default());
    }
}
