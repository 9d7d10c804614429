//! Threads with their stacks, and the objects that their variables refer to, as text.

use std::io::{self, Write};

use loadhook_heap::{Local, Thread, Threads};
use loadhook_text::clipped;

use super::super::object_line::{ObjectLine, place_within};
use super::super::text::{head, more_of, rest, width};

/// Writes the threads, one line per frame or variable.
pub(in crate::heap) fn write(found: &Threads, top: usize, out: &mut dyn Write) -> io::Result<()> {
    head(&found.histogram, out)?;
    if found.threads.is_empty() {
        writeln!(out, "this dump has no threads and no stacks")?;
    }
    let width = width();
    let mut lines = Lines { top, width, out };
    for thread in found.threads.iter().take(top) {
        lines.thread(thread)?;
    }
    rest(found.threads.len(), top, ["thread", "threads"], out)
}

struct Lines<'o> {
    /// Maximum number of frames per thread, and of variables per frame.
    top: usize,
    width: usize,
    out: &'o mut dyn Write,
}

impl Lines<'_> {
    fn thread(&mut self, thread: &Thread) -> io::Result<()> {
        self.named(0, &ObjectLine::thread(thread))?;
        self.locals(1, &thread.locals)?;
        for frame in thread.frames.iter().take(self.top) {
            let room = self.width.saturating_sub(2);
            writeln!(self.out, "  {}", place_within(frame, room))?;
            self.locals(2, &frame.locals)?;
        }
        self.more(1, thread.frames.len(), ["frame", "frames"])?;
        writeln!(self.out)
    }

    fn locals(&mut self, depth: usize, locals: &[Local]) -> io::Result<()> {
        for local in locals.iter().take(self.top) {
            self.named(depth, &ObjectLine::variable(local))?;
        }
        self.more(depth, locals.len(), ["variable", "variables"])
    }

    fn more(&mut self, depth: usize, all: usize, nouns: [&str; 2]) -> io::Result<()> {
        match all.saturating_sub(self.top) {
            0 => Ok(()),
            more => {
                let indent = 2 * depth;
                let text = format!("… {}", more_of(more, nouns));
                let text = clipped(&text, self.width.saturating_sub(indent));
                writeln!(self.out, "{:indent$}{text}", "")
            }
        }
    }

    fn named(&mut self, depth: usize, object: &ObjectLine) -> io::Result<()> {
        let indent = 2 * depth;
        let room = self.width.saturating_sub(indent);
        writeln!(self.out, "{:indent$}{}", "", object.within(room))
    }
}
