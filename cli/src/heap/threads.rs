//! Threads with their stacks, and what their variables refer to.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use loadhook_heap::{Error, Frame, Local, Profiler, Thread, Threads};
use loadhook_text::{bytes, clipped, count, printable, shorten};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::report::{COLUMNS, Format, ReportArgs, head, id, rest, whole};
use super::source::Source;
use super::{json, kept};
use crate::output::columns;

/// Shows the threads.
pub(super) fn run(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let (found, cut_off) = read(&Source::open(file)?, kept::profiler(args))?;
    whole(file, args, cut_off.map_or(Ok(()), Err), &found.histogram)?;
    match args.format {
        Format::Json => {
            let threads = found.threads.iter().take(args.top);
            let threads = threads.map(|thread| thread_json(thread, args.top));
            let view = json!({
                "threads": threads.collect::<Vec<_>>(),
                "left_out": found.threads.len().saturating_sub(args.top),
            });
            json::write(&found.histogram, json::map(view), out)?;
        }
        _ => text(&found, args.top, out)?,
    }
    Ok(())
}

/// Finds them, of a dump that may be cut off.
pub(super) fn read(source: &Source, profiler: Profiler) -> Result<(Threads, Option<Error>)> {
    source.several_times(|| Threads::read(|| source.again(), profiler))
}

fn text(found: &Threads, top: usize, out: &mut dyn Write) -> io::Result<()> {
    head(&found.histogram, out)?;
    if found.threads.is_empty() {
        writeln!(out, "this dump has no threads and no stacks")?;
    }
    let width = columns(io::stdout(), COLUMNS);
    let mut lines = Lines { top, width, out };
    for thread in found.threads.iter().take(top) {
        lines.thread(thread)?;
    }
    rest(found.threads.len(), top, "threads", out)
}

struct Lines<'o> {
    /// As many frames are shown of a thread, and variables of a frame.
    top: usize,
    width: usize,
    out: &'o mut dyn Write,
}

impl Lines<'_> {
    fn thread(&mut self, thread: &Thread) -> io::Result<()> {
        self.named(0, &Named::thread(thread))?;
        self.locals(1, &thread.locals)?;
        for frame in thread.frames.iter().take(self.top) {
            let room = self.width.saturating_sub(2);
            writeln!(self.out, "  {}", place_within(frame, room))?;
            self.locals(2, &frame.locals)?;
        }
        self.more(1, thread.frames.len(), "frames")?;
        writeln!(self.out)
    }

    fn locals(&mut self, depth: usize, locals: &[Local]) -> io::Result<()> {
        for local in locals.iter().take(self.top) {
            self.named(depth, &Named::variable(local))?;
        }
        self.more(depth, locals.len(), "variables")
    }

    fn more(&mut self, depth: usize, all: usize, what: &str) -> io::Result<()> {
        match all.saturating_sub(self.top) {
            0 => Ok(()),
            more => {
                let indent = 2 * depth;
                let text = format!("… {} more {what}", count(more as u64));
                let text = clipped(&text, self.width.saturating_sub(indent));
                writeln!(self.out, "{:indent$}{text}", "")
            }
        }
    }

    fn named(&mut self, depth: usize, object: &Named) -> io::Result<()> {
        let indent = 2 * depth;
        let room = self.width.saturating_sub(indent);
        writeln!(self.out, "{:indent$}{}", "", object.within(room))
    }
}

/// Least room for the name of a class, a thread or a method.
const NARROWEST_NAME: usize = 20;

/// The class of what is not in the dump.
const ABSENT: &str = "?";

/// A line about an object.
pub(super) struct Named {
    before: String,
    class: String,
    id: String,
    after: String,
}

impl Named {
    fn thread(thread: &Thread) -> Named {
        if thread.id == 0 {
            return Named {
                before: "thread".to_owned(),
                class: String::new(),
                id: format!("{},", thread.serial),
                after: "whose object is not in the dump".to_owned(),
            };
        }
        if thread.class.as_ref() == ABSENT {
            return Named::absent(thread.id, "");
        }
        Named {
            before: format!("\"{}\"", thread.name),
            class: thread.class.to_string(),
            id: id(thread.id),
            after: String::new(),
        }
    }

    /// As others name a thread beside what is its: `thread "main" 0x7f00`.
    pub(super) fn owner(thread: &Thread) -> Named {
        let named = Named::thread(thread);
        if thread.id == 0 {
            return named;
        }
        Named {
            before: format!("thread {}", named.before).trim_end().to_owned(),
            class: String::new(),
            ..named
        }
    }

    fn variable(local: &Local) -> Named {
        let class = if local.is_class { "class" } else { "" };
        let by = if local.is_native {
            ", of native code"
        } else {
            ""
        };
        if local.class.as_ref() == ABSENT {
            return Named::absent(local.id, by);
        }
        let text = local.contents.as_ref().map_or(String::new(), |contents| {
            let more = if contents.is_cut { "…" } else { "" };
            format!("\"{}{more}\"", contents.text)
        });
        let [id, bytes] = [id(local.id), bytes(local.bytes)];
        Named {
            before: class.to_owned(),
            class: local.class.to_string(),
            id: format!("{id}, {bytes}{by}"),
            after: text,
        }
    }

    /// Of an object that a cut off dump refers to, and has not.
    fn absent(of: u64, by: &str) -> Named {
        Named {
            before: String::new(),
            class: String::new(),
            id: format!("{}, not in the dump{by}", id(of)),
            after: String::new(),
        }
    }

    fn parts(&self) -> Vec<&str> {
        let parts = [&self.before, &self.class, &self.id, &self.after];
        let parts = parts.map(String::as_str).into_iter();
        parts.filter(|part| !part.is_empty()).collect()
    }

    pub(super) fn text(&self) -> String {
        self.parts().join(" ")
    }

    /// The same, with names cut where there is no room, and never its identifier:
    /// `--path` takes that.
    pub(super) fn within(&self, room: usize) -> String {
        // With the spaces between.
        let mut room = room.saturating_sub(self.id.width() + self.parts().len() - 1);
        let [before, class, after] =
            [&self.before, &self.class, &self.after].map(|text| printable(text));
        let least = before.width().min(NARROWEST_NAME);
        let class = shorten(&class, room.saturating_sub(least).max(NARROWEST_NAME));
        room = room.saturating_sub(class.width());
        let before = clipped(&before, room.max(least));
        room = room.saturating_sub(before.width());
        Named {
            after: clipped(&after, room),
            id: self.id.clone(),
            before,
            class,
        }
        .text()
    }
}

/// `"main" java.lang.Thread 0x7f00`
pub(super) fn title(thread: &Thread) -> String {
    Named::thread(thread).text()
}

/// What a variable refers to: `java.lang.String 0x7f00, 24 bytes "text"`.
pub(super) fn variable(local: &Local) -> String {
    Named::variable(local).text()
}

/// As stack traces of Java have it.
pub(super) fn place(frame: &Frame) -> String {
    let [method, file, line] = parts(frame);
    format!("{method}({file}{line})")
}

/// The same in `room` columns, printable: the front of the class is cut, then the
/// file's name, and never the line.
pub(super) fn place_within(frame: &Frame, room: usize) -> String {
    let [method, file, line] = parts(frame);
    let [method, file] = [&method, &file].map(|text| printable(text));
    // With the parentheses.
    let room = room.saturating_sub(line.len() + 2);
    let least = method.width().min(NARROWEST_NAME);
    let file = clipped(&file, room.saturating_sub(least));
    let method = shorten(&method, room.saturating_sub(file.width()));
    format!("{method}({file}{line})")
}

/// Of a frame `class.method`, `file` and `:line`.
fn parts(frame: &Frame) -> [String; 3] {
    let (file, line) = match (&frame.file, frame.line) {
        _ if frame.is_native => ("Native Method", None),
        (Some(file), line) => (&**file, line),
        (None, _) => ("Unknown Source", None),
    };
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    let method = format!("{}.{}", frame.class, frame.method);
    [method, file.to_owned(), line]
}

/// What a thread is called.
pub(super) fn named_json(thread: &Thread) -> Value {
    json!({
        "name": thread.name,
        "class": &*thread.class,
        "id": (thread.id != 0).then(|| id(thread.id)),
    })
}

fn thread_json(thread: &Thread, top: usize) -> Value {
    let frames = thread
        .frames
        .iter()
        .map(|frame| with_locals(frame_json(frame), &frame.locals, top));
    let mut own = named_json(thread);
    own["frames"] = frames.take(top).collect();
    own["frames_left_out"] = thread.frames.len().saturating_sub(top).into();
    with_locals(own, &thread.locals, top)
}

pub(super) fn frame_json(frame: &Frame) -> Value {
    json!({
        "class": &*frame.class,
        "method": &*frame.method,
        "file": frame.file.as_deref(),
        "line": frame.line,
        "is_native": frame.is_native,
    })
}

/// With what variables refer to.
fn with_locals(mut own: Value, locals: &[Local], top: usize) -> Value {
    let shown = locals.iter().take(top).map(local_json);
    own["locals"] = shown.collect();
    own["locals_left_out"] = locals.len().saturating_sub(top).into();
    own
}

fn local_json(local: &Local) -> Value {
    let contents = local.contents.as_ref();
    json!({
        "class": &*local.class,
        "id": id(local.id),
        "is_class": local.is_class,
        "bytes": local.bytes,
        "is_native": local.is_native,
        "text": contents.map(|contents| &*contents.text),
        "length": contents.map(|contents| contents.length),
        "is_cut": contents.map(|contents| contents.is_cut),
    })
}
