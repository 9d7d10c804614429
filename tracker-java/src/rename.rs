//! Renames classes inside a class file. build.rs uses it too.

/// Returns the class file `class` with other class names. `rename` returns the new internal name of a class, or
/// `None` if the class keeps its name.
///
/// Constants of the pool are replaced if they are the internal name of a renamed class, or a descriptor with one.
/// Everything else is copied. That is enough for the tracker's own classes: they have no signatures of generic
/// types with nested classes, and no strings that look like class names.
///
/// # Panics
///
/// When `class` is not a class file.
#[must_use]
pub fn renamed(class: &[u8], rename: &dyn Fn(&str) -> Option<String>) -> Vec<u8> {
    let mut out = class[..10].to_vec();
    let mut rest = 10;
    for entry in entries(class) {
        let bytes = &class[entry.start..entry.end];
        match entry.utf8(class).and_then(|text| replaced(text, rename)) {
            Some(text) => {
                let length = u16::try_from(text.len()).expect("a name fits into a constant");
                out.push(UTF8);
                out.extend(length.to_be_bytes());
                out.extend(text.as_bytes());
            }
            None => out.extend(bytes),
        }
        rest = entry.end;
    }
    out.extend(&class[rest..]);
    out
}

/// Returns the internal names of a class and of its superclass.
///
/// # Panics
///
/// When `class` is not a class file, or is that of `java.lang.Object`.
#[must_use]
pub fn names(class: &[u8]) -> (&str, &str) {
    let entries: Vec<Entry> = entries(class).collect();
    let constant = |number: u16| {
        let found = entries.iter().find(|entry| entry.number == number);
        *found.expect("the constant exists")
    };
    let after_flags = entries.last().expect("the pool has constants").end + 2;
    let name = |at: usize| {
        let class_constant = constant(u2(class, at));
        let utf8 = constant(u2(class, class_constant.start + 1));
        utf8.utf8(class).expect("a name is a Utf8 constant")
    };
    (name(after_flags), name(after_flags + 2))
}

const UTF8: u8 = 1;

/// A constant of the pool: its index, and the offsets of its tag and its end.
#[derive(Clone, Copy)]
struct Entry {
    number: u16,
    start: usize,
    end: usize,
}

impl Entry {
    fn utf8(self, class: &[u8]) -> Option<&str> {
        if class[self.start] != UTF8 {
            return None;
        }
        std::str::from_utf8(&class[self.start + 3..self.end]).ok()
    }
}

fn entries(class: &[u8]) -> impl Iterator<Item = Entry> {
    let count = u2(class, 8);
    let mut number = 1;
    let mut start = 10;
    std::iter::from_fn(move || {
        if number >= count {
            return None;
        }
        let tag = class[start];
        let len = match tag {
            UTF8 => 2 + usize::from(u2(class, start + 1)),
            3 | 4 | 9..=12 | 17 | 18 => 4,
            5 | 6 => 8,
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            _ => panic!("bad constant tag {tag}"),
        };
        let entry = Entry {
            number,
            start,
            end: start + 1 + len,
        };
        // A long or double takes two numbers (JVMS §4.4.5).
        number += if matches!(tag, 5 | 6) { 2 } else { 1 };
        start = entry.end;
        Some(entry)
    })
}

fn u2(class: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([class[at], class[at + 1]])
}

/// Returns a name or descriptor with its class names replaced; `None` if there is none to replace.
fn replaced(text: &str, rename: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(name) = rename(text) {
        return Some(name);
    }
    let mut out = String::new();
    let mut rest = text;
    let mut changed = false;
    // A class in a descriptor or signature is Lname; and Lname<
    while let Some(at) = rest.find('L') {
        let (before, behind) = rest.split_at(at + 1);
        let end = behind.find([';', '<']).unwrap_or(behind.len());
        let (name, tail) = behind.split_at(end);
        out.push_str(before);
        match rename(name) {
            Some(new) if !tail.is_empty() => {
                out.push_str(&new);
                rest = tail;
                changed = true;
            }
            _ => rest = behind,
        }
    }
    out.push_str(rest);
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{names, renamed, replaced};

    fn rename(name: &str) -> Option<String> {
        name.strip_prefix("loadhook/")
            .map(|rest| format!("java/lang/$Loadhook{rest}"))
    }

    #[test]
    fn names_descriptors_and_signatures() {
        let cases = [
            ("loadhook/Path", Some("java/lang/$LoadhookPath")),
            ("[Lloadhook/Path;", Some("[Ljava/lang/$LoadhookPath;")),
            (
                "(Lloadhook/Tree;ILloadhook/Path;)Ljava/lang/Thread;",
                Some("(Ljava/lang/$LoadhookTree;ILjava/lang/$LoadhookPath;)Ljava/lang/Thread;"),
            ),
            (
                "Ljava/lang/ThreadLocal<Lloadhook/Path;>;",
                Some("Ljava/lang/ThreadLocal<Ljava/lang/$LoadhookPath;>;"),
            ),
            ("Lloadhook/Unended", None),
            ("java/lang/Thread", None),
            ("LEFT", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(replaced(text, &rename).as_deref(), expected, "{text}");
        }
    }

    fn all() -> impl Iterator<Item = &'static (&'static str, &'static [u8])> {
        crate::CLASSES.iter().chain(crate::OFFLINE_CLASSES)
    }

    #[test]
    fn nothing_to_rename_changes_nothing() {
        for (_, class) in all() {
            assert_eq!(renamed(class, &|_| None), *class);
        }
    }

    #[test]
    fn no_old_name_is_left() {
        for (name, class) in all() {
            let renamed = renamed(class, &rename);
            assert_eq!(Some(names(&renamed).0.to_owned()), rename(name));
            let text = String::from_utf8_lossy(&renamed);
            // A resource keeps its name.
            let text = text.replace("META-INF/loadhook/", "");
            assert!(!text.contains("loadhook/"), "{name}");
        }
    }

    #[test]
    fn the_template_takes_its_archive() {
        let (_, template) = all()
            .find(|(name, _)| *name == crate::PART)
            .expect("the tracker has a template");
        let archive = "0123456789abcdef 42";
        let copy = renamed(template, &|text| {
            (text == crate::ARCHIVE).then(|| archive.to_owned())
        });
        let count = |class: &[u8], text: &str| {
            let windows = class.windows(text.len());
            windows.filter(|bytes| *bytes == text.as_bytes()).count()
        };
        assert_eq!(count(template, crate::ARCHIVE), 1);
        assert_eq!(count(&copy, crate::ARCHIVE), 0);
        assert_eq!(count(&copy, archive), 1);
    }
}
