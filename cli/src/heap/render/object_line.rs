//! Lines about objects and frames of threads.

use loadhook_heap::{Frame, Local, Thread};
use loadhook_text::{bytes, clipped, printable, shorten};
use unicode_width::UnicodeWidthStr;

use super::text::id;

/// Minimum number of columns for the name of a class, a thread or a method.
const NARROWEST_NAME: usize = 20;

/// The class of an object that the dump does not have.
const ABSENT: &str = "?";

/// A line about an object.
pub(in crate::heap) struct ObjectLine {
    before: String,
    class: String,
    id: String,
    after: String,
}

impl ObjectLine {
    pub(in crate::heap) fn thread(thread: &Thread) -> ObjectLine {
        if thread.id == 0 {
            return ObjectLine {
                before: "thread".to_owned(),
                class: String::new(),
                id: format!("{},", thread.serial),
                after: "whose object is not in the dump".to_owned(),
            };
        }
        if thread.class.as_ref() == ABSENT {
            return ObjectLine::absent(thread.id, "");
        }
        ObjectLine {
            before: format!("\"{}\"", thread.name),
            class: thread.class.to_string(),
            id: id(thread.id),
            after: String::new(),
        }
    }

    /// Makes the line of the thread that a root belongs to: `thread "main" 0x7f00`.
    pub(in crate::heap) fn owner(thread: &Thread) -> ObjectLine {
        let named = ObjectLine::thread(thread);
        if thread.id == 0 {
            return named;
        }
        ObjectLine {
            before: format!("thread {}", named.before).trim_end().to_owned(),
            class: String::new(),
            ..named
        }
    }

    pub(in crate::heap) fn variable(local: &Local) -> ObjectLine {
        let class = if local.is_class { "class" } else { "" };
        let by = if local.is_native {
            ", of native code"
        } else {
            ""
        };
        if local.class.as_ref() == ABSENT {
            return ObjectLine::absent(local.id, by);
        }
        let text = local.preview.as_ref().map_or(String::new(), |contents| {
            let more = if contents.is_cut { "…" } else { "" };
            format!("\"{}{more}\"", contents.text)
        });
        let [id, bytes] = [id(local.id), bytes(local.bytes)];
        ObjectLine {
            before: class.to_owned(),
            class: local.class.to_string(),
            id: format!("{id}, {bytes}{by}"),
            after: text,
        }
    }

    /// Makes the line of an object that a cut-off dump refers to but does not contain.
    fn absent(of: u64, by: &str) -> ObjectLine {
        ObjectLine {
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

    pub(in crate::heap) fn text(&self) -> String {
        self.parts().join(" ")
    }

    /// Returns the line, shortened to `room` columns. Names are cut, but not the identifier, since
    /// the user may give it to `--path`.
    pub(in crate::heap) fn within(&self, room: usize) -> String {
        // The columns that are left after the identifier and the spaces between the parts.
        let mut room = room.saturating_sub(self.id.width() + self.parts().len() - 1);
        let [before, class, after] =
            [&self.before, &self.class, &self.after].map(|text| printable(text));
        let least = before.width().min(NARROWEST_NAME);
        let class = shorten(&class, room.saturating_sub(least).max(NARROWEST_NAME));
        room = room.saturating_sub(class.width());
        let before = clipped(&before, room.max(least));
        room = room.saturating_sub(before.width());
        ObjectLine {
            after: clipped(&after, room),
            id: self.id.clone(),
            before,
            class,
        }
        .text()
    }
}

/// Returns the name, class and identifier of a thread: `"main" java.lang.Thread 0x7f00`.
pub(in crate::heap) fn title(thread: &Thread) -> String {
    ObjectLine::thread(thread).text()
}

/// Returns the object of a variable: `java.lang.String 0x7f00, 24 bytes "text"`.
pub(in crate::heap) fn variable(local: &Local) -> String {
    ObjectLine::variable(local).text()
}

/// Returns a frame as in a Java stack trace.
pub(in crate::heap) fn place(frame: &Frame) -> String {
    let [method, file, line] = parts(frame);
    format!("{method}({file}{line})")
}

/// Returns a frame in `room` columns, printable. If it is too long, the front of the class is cut,
/// then the name of the file, but never the line.
pub(in crate::heap) fn place_within(frame: &Frame, room: usize) -> String {
    let [method, file, line] = parts(frame);
    let [method, file] = [&method, &file].map(|text| printable(text));
    // The columns that are left after the line and the two parentheses.
    let room = room.saturating_sub(line.len() + 2);
    let least = method.width().min(NARROWEST_NAME);
    let file = clipped(&file, room.saturating_sub(least));
    let method = shorten(&method, room.saturating_sub(file.width()));
    format!("{method}({file}{line})")
}

/// Returns the parts of a frame: `class.method`, `file` and `:line`.
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
