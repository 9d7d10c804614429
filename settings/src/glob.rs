//! Globs: literal bytes and wildcards, for names in modified UTF-8.

use loadhook_rewrite::symbol::modified_utf8;

/// A sequence of wildcards and of literal bytes in modified UTF-8 (JVMS §4.4.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob(Vec<Part>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// Any bytes except `/`.
    Segment,
    /// Any bytes.
    Any,
}

impl Glob {
    /// Compiles a class name; dots become the slashes of internal names.
    pub(crate) fn class(text: &str) -> Glob {
        let mut parts = Vec::new();
        let mut bytes = modified_utf8(text).into_iter().peekable();
        while let Some(byte) = bytes.next() {
            parts.push(match byte {
                b'*' if bytes.next_if_eq(&b'*').is_some() => Part::Any,
                b'*' => Part::Segment,
                b'.' => Part::Byte(b'/'),
                byte => Part::Byte(byte),
            });
        }
        Glob(parts)
    }

    /// Compiles a method name or descriptor.
    pub(crate) fn text(text: &str) -> Glob {
        let mut parts: Vec<Part> = modified_utf8(text)
            .into_iter()
            .map(|byte| match byte {
                b'*' => Part::Any,
                byte => Part::Byte(byte),
            })
            .collect();
        parts.dedup_by(|a, b| *a == Part::Any && *b == Part::Any);
        Glob(parts)
    }

    /// Compiles a class name to a glob for the class's descriptor,
    /// `Lcom/example/Timed;`.
    pub(crate) fn class_descriptor(text: &str) -> Glob {
        let mut glob = Glob::class(text);
        glob.0.insert(0, Part::Byte(b'L'));
        glob.0.push(Part::Byte(b';'));
        glob
    }

    /// Returns whether there are no wildcards.
    pub(crate) fn is_literal(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Byte(_)))
    }

    /// Allows any bytes after those that were compiled so far.
    pub(crate) fn push_any(&mut self) {
        self.0.push(Part::Any);
    }

    /// Returns whether the whole of `text` matches.
    ///
    /// Backtracking to the last wildcard suffices for `Any`. If a `Segment` reaches a `/`, matching
    /// falls back to the last `Any`.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let (mut part, mut at) = (0, 0);
        let mut any: Option<(usize, usize)> = None;
        let mut segment: Option<(usize, usize)> = None;
        loop {
            match (self.0.get(part), text.get(at)) {
                (None, None) => return true,
                (Some(Part::Any), _) => {
                    part += 1;
                    any = Some((part, at));
                    segment = None;
                    continue;
                }
                (Some(Part::Segment), _) => {
                    part += 1;
                    segment = Some((part, at));
                    continue;
                }
                (Some(Part::Byte(expected)), Some(found)) if expected == found => {
                    part += 1;
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let retry = |from: &mut Option<(usize, usize)>, stop: Option<u8>| {
                let (part, at) = (*from)?;
                let byte = *text.get(at)?;
                if Some(byte) == stop {
                    return None;
                }
                *from = Some((part, at + 1));
                Some((part, at + 1))
            };
            let next = retry(&mut segment, Some(b'/')).or_else(|| {
                segment = None;
                retry(&mut any, None)
            });
            match next {
                Some(next) => (part, at) = next,
                None => return false,
            }
        }
    }
}
