//! Parses the frames of a `StackMapTable`, as far as mutations need them.

use super::class::u2;

/// A frame: its offset, and the bytes of its verification types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) at: usize,
    pub(super) form: Form,
    /// True if the frame has the form with an explicit offset_delta, although a shorter form would
    /// do.
    pub(super) extended: bool,
}

/// The forms of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Same,
    SameLocals1(Vec<u8>),
    Chop(u8),
    Append(u8, Vec<u8>),
    /// A full frame, with all bytes after its offset_delta.
    Full(Vec<u8>),
}

/// Returns the length in bytes of `count` verification types.
fn types(bytes: &[u8], count: usize) -> Option<usize> {
    let mut length = 0;
    for _ in 0..count {
        length += if matches!(bytes.get(length)?, 7 | 8) {
            3
        } else {
            1
        };
    }
    (length <= bytes.len()).then_some(length)
}

/// Parses the frames of an attribute's content.
pub(super) fn parse(info: &[u8]) -> Option<Vec<Frame>> {
    let count = u2(info, 0)?;
    let mut rest = &info[2..];
    let mut frames: Vec<Frame> = Vec::new();
    for _ in 0..count {
        let (&kind, behind) = rest.split_first()?;
        rest = behind;
        let mut extended = true;
        let delta = match kind {
            0..=127 => {
                extended = false;
                usize::from(kind % 64)
            }
            247.. => {
                let delta = u2(rest, 0)?;
                rest = &rest[2..];
                usize::from(delta)
            }
            _ => return None,
        };
        let length = match kind {
            0..=63 | 248..=251 => 0,
            64..=127 | 247 => types(rest, 1)?,
            252..=254 => types(rest, usize::from(kind - 251))?,
            _ => {
                let locals = 2 + types(rest.get(2..)?, usize::from(u2(rest, 0)?))?;
                let stack = types(rest.get(locals + 2..)?, usize::from(u2(rest, locals)?))?;
                locals + 2 + stack
            }
        };
        let (taken, behind) = rest.split_at_checked(length)?;
        rest = behind;
        let form = match kind {
            0..=63 | 251 => Form::Same,
            64..=127 | 247 => Form::SameLocals1(taken.to_vec()),
            248..=250 => Form::Chop(251 - kind),
            252..=254 => Form::Append(kind - 251, taken.to_vec()),
            _ => Form::Full(taken.to_vec()),
        };
        let at = frames.last().map_or(delta, |last| last.at + 1 + delta);
        frames.push(Frame { at, form, extended });
    }
    rest.is_empty().then_some(frames)
}

/// Returns the content of an attribute with these frames; `None` if the frames are not in order.
pub(super) fn write(frames: &[Frame]) -> Option<Vec<u8>> {
    let mut out = u16::try_from(frames.len()).ok()?.to_be_bytes().to_vec();
    let mut next = 0;
    for frame in frames {
        let delta = u16::try_from(frame.at.checked_sub(next)?).ok()?;
        next = frame.at + 1;
        let short = (delta < 64 && !frame.extended).then_some(delta as u8);
        let (kind, bytes): (u8, &[u8]) = match &frame.form {
            Form::Same => (short.unwrap_or(251), &[]),
            Form::SameLocals1(bytes) => (short.map_or(247, |it| it + 64), bytes),
            Form::Chop(count) => (251 - count, &[]),
            Form::Append(count, bytes) => (251 + count, bytes),
            Form::Full(bytes) => (255, bytes),
        };
        out.push(kind);
        if kind >= 247 {
            out.extend_from_slice(&delta.to_be_bytes());
        }
        out.extend_from_slice(bytes);
    }
    Some(out)
}
