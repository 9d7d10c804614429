//! Columns of numbers that may be larger than memory.
//!
//! A column is divided into pages. When the memory limit is reached, the least recently used pages go to an
//! unnamed file, and are read back when they are used. Until then there is no file.
//!
//! A mapped file would serve the same purpose, but without a limit on memory. Also, a full or
//! faulty disk would then end the process by a signal instead of an error.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Number of low bits of a position that give the position inside its page.
const BITS: u32 = 11;
const PAGE: usize = 1 << BITS;
const BYTES: usize = PAGE * 4;

/// The number that stands for "no frame" and for "no slot".
const NONE: u32 = u32::MAX;

/// The minimum number of frames in memory.
const FEWEST_FRAMES: usize = 4;

/// The mark of a frame that was used since the clock's hand last passed it.
const USED: u8 = 1;
/// The mark of a frame whose page was changed since it came into the frame.
const CHANGED: u8 = 2;

/// A column of 32-bit numbers in a [`Store`]. Two neighbours can be used as one 64-bit number.
#[derive(Debug)]
pub(crate) struct Column {
    id: u32,
    len: usize,
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// The location of a page: in a frame of memory, in a slot of the file, or in both. A page without a location
/// consists of zeros.
#[derive(Clone, Copy)]
struct Page {
    frame: u32,
    slot: u32,
}

const NOWHERE: Page = Page {
    frame: NONE,
    slot: NONE,
};

/// The pages of all columns.
pub(crate) struct Store {
    /// The pages in memory, frame after frame.
    words: Vec<u32>,
    marks: Vec<u8>,
    /// For each frame, the column and the page that it contains.
    owners: Vec<(u32, u32)>,
    free_frames: Vec<u32>,
    most_frames: usize,
    hand: usize,
    columns: Vec<Vec<Page>>,
    free_columns: Vec<u32>,
    folder: PathBuf,
    file: Option<File>,
    slots: u32,
    free_slots: Vec<u32>,
    buffer: Box<[u8; BYTES]>,
}

impl Store {
    /// Makes a store with at most `memory` bytes of pages in memory, but at least four pages.
    pub(crate) fn new(memory: u64) -> Store {
        let frames = (memory / BYTES as u64).clamp(FEWEST_FRAMES as u64, (NONE - 1).into());
        // `/tmp` is often a file system in memory.
        let folder = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
        Store {
            words: Vec::new(),
            marks: Vec::new(),
            owners: Vec::new(),
            free_frames: Vec::new(),
            most_frames: frames as usize,
            hand: 0,
            columns: Vec::new(),
            free_columns: Vec::new(),
            folder: folder.map_or_else(|| "/var/tmp".into(), PathBuf::from),
            file: None,
            slots: 0,
            free_slots: Vec::new(),
            buffer: Box::new([0; BYTES]),
        }
    }

    /// Returns a column of zeros.
    pub(crate) fn column(&mut self, len: usize) -> Column {
        let id = self.free_columns.pop().unwrap_or_else(|| {
            self.columns.push(Vec::new());
            self.columns.len() as u32 - 1
        });
        self.columns[id as usize] = vec![NOWHERE; len.div_ceil(PAGE)];
        Column { id, len }
    }

    pub(crate) fn free(&mut self, column: Column) {
        for page in std::mem::take(&mut self.columns[column.id as usize]) {
            self.free_page(page);
        }
        self.free_columns.push(column.id);
    }

    /// Frees the page that ends at `at`, if there is one. The caller must not use that page again.
    pub(crate) fn passed(&mut self, column: &Column, at: usize) {
        if at.is_multiple_of(PAGE)
            && let Some(page) = (at / PAGE).checked_sub(1)
        {
            let page = std::mem::replace(&mut self.columns[column.id as usize][page], NOWHERE);
            self.free_page(page);
        }
    }

    fn free_page(&mut self, page: Page) {
        if page.frame != NONE {
            self.free_frames.push(page.frame);
        }
        if page.slot != NONE {
            self.free_slots.push(page.slot);
        }
    }

    #[inline(always)]
    pub(crate) fn get(&mut self, column: &Column, at: usize) -> io::Result<u32> {
        let place = self.place(column, at, USED)?;
        Ok(self.words[place])
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, column: &Column, at: usize, value: u32) -> io::Result<()> {
        let place = self.place(column, at, USED | CHANGED)?;
        self.words[place] = value;
        Ok(())
    }

    #[inline]
    pub(crate) fn push(&mut self, column: &mut Column, value: u32) -> io::Result<()> {
        let pages = &mut self.columns[column.id as usize];
        if column.len >> BITS == pages.len() {
            pages.push(NOWHERE);
        }
        self.set(column, column.len, value)?;
        column.len += 1;
        Ok(())
    }

    pub(crate) fn pop(&mut self, column: &mut Column) -> io::Result<u32> {
        column.len -= 1;
        let value = self.get(column, column.len)?;
        // The page after the end stays, because a push may come next.
        let pages = &mut self.columns[column.id as usize];
        if pages.len() > (column.len >> BITS) + 1
            && let Some(page) = pages.pop()
        {
            self.free_page(page);
        }
        Ok(value)
    }

    /// Returns the 64-bit number at a position. Positions count pairs of 32-bit numbers.
    #[inline(always)]
    pub(crate) fn get64(&mut self, column: &Column, at: usize) -> io::Result<u64> {
        let place = self.place(column, 2 * at, USED)?;
        let [high, low] = [self.words[place], self.words[place + 1]];
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    #[inline(always)]
    pub(crate) fn set64(&mut self, column: &Column, at: usize, value: u64) -> io::Result<()> {
        let place = self.place(column, 2 * at, USED | CHANGED)?;
        self.words[place] = (value >> 32) as u32;
        self.words[place + 1] = value as u32;
        Ok(())
    }

    pub(crate) fn push64(&mut self, column: &mut Column, value: u64) -> io::Result<()> {
        self.push(column, (value >> 32) as u32)?;
        self.push(column, value as u32)
    }

    /// Brings the page of a number to memory, and returns the number's index in `words`.
    #[inline(always)]
    fn place(&mut self, column: &Column, at: usize, mark: u8) -> io::Result<usize> {
        let page = at >> BITS;
        let mut frame = self.columns[column.id as usize][page].frame;
        if frame == NONE {
            frame = self.bring(column.id, page)?;
        }
        // The page is usually marked already. Then nothing is written, which keeps the cache line
        // clean.
        let marks = &mut self.marks[frame as usize];
        if *marks & mark != mark {
            *marks |= mark;
        }
        Ok((frame as usize) << BITS | at & (PAGE - 1))
    }

    /// Brings a page to memory.
    #[cold]
    fn bring(&mut self, column: u32, page: usize) -> io::Result<u32> {
        let frame = match self.free_frames.pop() {
            Some(frame) => frame,
            None => match self.new_frame()? {
                Some(frame) => frame,
                None => self.emptied()?,
            },
        };
        let start = (frame as usize) << BITS;
        let words = &mut self.words[start..start + PAGE];
        let slot = self.columns[column as usize][page].slot;
        match &self.file {
            Some(file) if slot != NONE => {
                let read = file.read_exact_at(&mut self.buffer[..], position(slot));
                if let Err(error) = read {
                    self.free_frames.push(frame);
                    return Err(self.placed(error));
                }
                for (word, bytes) in words.iter_mut().zip(self.buffer.as_chunks().0) {
                    *word = u32::from_ne_bytes(*bytes);
                }
            }
            _ => words.fill(0),
        }
        self.marks[frame as usize] = 0;
        self.owners[frame as usize] = (column, page as u32);
        self.columns[column as usize][page].frame = frame;
        Ok(frame)
    }

    /// Returns a new frame; `None` if memory is full.
    fn new_frame(&mut self) -> io::Result<Option<u32>> {
        let frame = self.owners.len();
        if frame >= self.most_frames {
            return Ok(None);
        }
        if self.words.len() + PAGE > self.words.capacity() {
            // Memory grows by an eighth, because doubling it might exceed the limit.
            let more = (frame / 8).max(64).min(self.most_frames - frame);
            let reserved = self.words.try_reserve_exact(more * PAGE);
            if reserved.is_err() && frame >= FEWEST_FRAMES {
                // The process has less memory than expected, so the file takes the rest.
                self.most_frames = frame;
                return Ok(None);
            }
            reserved.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        }
        self.words.resize(self.words.len() + PAGE, 0);
        self.marks.push(0);
        self.owners.push((NONE, 0));
        Ok(Some(frame as u32))
    }

    /// Gives back `bytes` bytes of memory, but keeps the minimum number of frames. The pages of the
    /// other frames go to the file, and memory does not grow again.
    pub(crate) fn give_back(&mut self, bytes: u64) -> io::Result<()> {
        let frames = usize::try_from(bytes.div_ceil(BYTES as u64)).unwrap_or(usize::MAX);
        let frames = self.owners.len().saturating_sub(frames);
        let frames = frames.max(FEWEST_FRAMES);
        self.most_frames = self.most_frames.min(frames);
        self.free_frames.sort_unstable();
        for frame in (self.most_frames..self.owners.len()).rev() {
            if self.free_frames.last() == Some(&(frame as u32)) {
                self.free_frames.pop();
            } else {
                self.empty(frame)?;
            }
            self.owners.pop();
            self.marks.pop();
            self.words.truncate(frame << BITS);
        }
        self.words.shrink_to_fit();
        self.hand = 0;
        Ok(())
    }

    /// Empties and returns a frame by the clock algorithm: the next frame whose page was not used
    /// since the clock's hand last passed it.
    fn emptied(&mut self) -> io::Result<u32> {
        while self.marks[self.hand] & USED != 0 {
            self.marks[self.hand] &= !USED;
            self.hand = (self.hand + 1) % self.owners.len();
        }
        let frame = self.hand;
        self.hand = (self.hand + 1) % self.owners.len();
        self.empty(frame)?;
        Ok(frame as u32)
    }

    /// Empties a frame: writes its page to the file if the page changed.
    fn empty(&mut self, frame: usize) -> io::Result<()> {
        let (column, page) = self.owners[frame];
        let slot = self.columns[column as usize][page as usize].slot;
        if self.marks[frame] & CHANGED != 0 {
            let slot = self.write(frame, slot)?;
            self.columns[column as usize][page as usize].slot = slot;
        }
        self.columns[column as usize][page as usize].frame = NONE;
        Ok(())
    }

    /// Writes a frame to its slot, or to a free slot if it has none.
    fn write(&mut self, frame: usize, slot: u32) -> io::Result<u32> {
        let words = &self.words[frame << BITS..(frame + 1) << BITS];
        for (word, bytes) in words.iter().zip(self.buffer.as_chunks_mut().0) {
            *bytes = word.to_ne_bytes();
        }
        if self.file.is_none() {
            // On systems that support it, the file never has a name in the
            // folder.
            let made = tempfile::tempfile_in(&self.folder);
            self.file = Some(made.map_err(|error| self.placed(error))?);
        }
        let taken = match slot {
            NONE => self.free_slots.pop().unwrap_or_else(|| {
                self.slots += 1;
                self.slots - 1
            }),
            slot => slot,
        };
        if let Some(file) = &self.file
            && let Err(error) = file.write_all_at(&self.buffer[..], position(taken))
        {
            if slot == NONE {
                self.free_slots.push(taken);
            }
            return Err(self.placed(error));
        }
        Ok(taken)
    }

    /// Makes the file unreadable and read-only, as a fault of the disk does.
    #[cfg(test)]
    pub(crate) fn lose_file(&mut self) {
        assert!(
            self.file.is_some(),
            "memory for few pages is given, but no page was moved to a file"
        );
        self.file = Some(File::open("/dev/null").expect("/dev/null can be opened"));
    }

    fn placed(&self, error: io::Error) -> io::Error {
        let folder = self.folder.display();
        let text = format!(
            "temporary file in {folder}, for data that does not fit into memory: {error}; \
             set TMPDIR to a folder with room"
        );
        io::Error::new(error.kind(), text)
    }
}

fn position(slot: u32) -> u64 {
    u64::from(slot) * BYTES as u64
}

#[cfg(test)]
mod tests;
