//! Frames of rewritten code. Old frames are patched: their offsets move, and a frame keeps its form unless the new
//! delta does not fit into that form. New frames are inserted between the old ones.

use std::ops::Range;

use crate::code::bci::Bci;
use crate::code::frame_states::{ExpandedFrame, write_full_body};
use crate::code::frames::{FrameFormat, FrameOffsets, form, read_head};
use crate::code::relocation::{NewBci, Relocation};
use crate::code::types::{ClassRef, tag};
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::outcome::{Reason, Refusal};
use crate::reader::Reader;

/// A `full_frame` to insert.
#[derive(Clone, Debug)]
struct InsertedFrame {
    at: NewBci,
    /// The range in [`InsertedFrames::bodies`] of the bytes after `offset_delta`.
    body: Range<usize>,
}

/// The frames to insert, in the order of their offsets.
#[derive(Debug, Default)]
pub(crate) struct InsertedFrames {
    frames: Vec<InsertedFrame>,
    bodies: Vec<u8>,
}

impl InsertedFrames {
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.bodies.clear();
    }

    /// Adds a frame at `at`, which is after the frames added before. `write` appends the frame's body.
    pub(crate) fn push<E>(
        &mut self,
        at: NewBci,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bodies.len();
        write(&mut self.bodies)?;
        let body = start..self.bodies.len();
        self.frames.push(InsertedFrame { at, body });
        Ok(())
    }

    fn body(&self, frame: &InsertedFrame) -> &[u8] {
        self.bodies.get(frame.body.clone()).unwrap_or_default()
    }
}

/// The complete types of old frames, for the old frames that are written in full.
pub(crate) struct OldFrames<'s, 'a> {
    /// The old frames, in order. Empty if no frame is inserted before an old frame.
    pub(crate) states: &'s [ExpandedFrame<'a>],
    /// True if each old frame is written in full.
    pub(crate) all_in_full: bool,
}

/// Copies a `verification_type_info`, relocating the offset of an
/// `Uninitialized_variable_info`.
#[inline]
fn copy_type(
    reader: &mut Reader<'_>,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let type_tag = reader.u1()?;
    match type_tag {
        tag::TOP..=tag::UNINITIALIZED_THIS => out.push(type_tag),
        tag::OBJECT => {
            let [high, low] = reader.u2()?.to_be_bytes();
            out.extend_from_slice(&[type_tag, high, low]);
        }
        tag::UNINITIALIZED => {
            let new_at = Bci(reader.u2()?);
            let [high, low] = relocation.instruction(new_at)?.to_be_bytes();
            out.extend_from_slice(&[type_tag, high, low]);
        }
        other => return Err(reader.error(ErrorKind::BadVerificationTag(other)).into()),
    }
    Ok(())
}

fn copy_types(
    reader: &mut Reader<'_>,
    count: u16,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    for _ in 0..count {
        copy_type(reader, relocation, out)?;
    }
    Ok(())
}

/// Appends the relocated attribute content to `out`, with the frames of `inserted` between the old frames.
///
/// An inserted frame has its own list of locals, so the old frame after it is written in full. `class` returns
/// the index of a class's `CONSTANT_Class`.
pub(crate) fn relocate<'a>(
    reader: &mut Reader<'a>,
    format: FrameFormat,
    relocation: &Relocation,
    inserted: &InsertedFrames,
    old: &OldFrames<'_, 'a>,
    mut class: impl FnMut(ClassRef<'a>) -> Result<CpIndex, Refusal>,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let old_count = if reader.left() == 0 { 0 } else { reader.u2()? };
    let count = usize::from(old_count) + inserted.frames.len();
    let count = u16::try_from(count).map_err(|_| Reason::TooManyFrames)?;
    out.extend_from_slice(&count.to_be_bytes());

    let mut splice = Splice {
        format,
        previous: -1,
        last_delta: 0,
        out,
    };
    let mut waiting = inserted.frames.iter().peekable();
    let mut in_full = false;
    let mut old_offsets = FrameOffsets::new(format);
    for i in 0..usize::from(old_count) {
        let (frame_type, delta) = read_head(reader, format)?;
        let at = relocation.target(old_offsets.next(delta)?)?;
        while let Some(frame) = waiting.next_if(|frame| frame.at < at) {
            splice.full(frame.at, inserted.body(frame))?;
            in_full = format == FrameFormat::StackMapTable;
        }
        let start = splice.out.len();
        splice.begin(frame_type, at)?;
        copy_body(reader, frame_type, relocation, splice.out)?;
        if in_full || old.all_in_full {
            in_full = false;
            let frame = old
                .states
                .get(i)
                .ok_or(ErrorKind::BadFrame("not expanded"))?;
            let out = &mut *splice.out;
            out.truncate(start);
            if format == FrameFormat::StackMapTable {
                out.push(form::FULL);
            }
            out.extend_from_slice(&splice.last_delta.to_be_bytes());
            write_full_body(&frame.state, frame.values, relocation, &mut class, out)?;
        }
    }
    reader.finish()?;
    for frame in waiting {
        splice.full(frame.at, inserted.body(frame))?;
    }
    Ok(())
}

/// Copies the part of a frame after its type and delta, and relocates the offsets of uninitialised
/// objects. The layout of that part depends on `frame_type`.
#[inline]
fn copy_body(
    reader: &mut Reader<'_>,
    frame_type: u8,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    match frame_type {
        ..=form::SAME | form::SAME_EXTENDED | form::CHOP_3..=form::CHOP_1 => Ok(()),
        form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1_EXTENDED => {
            copy_type(reader, relocation, out)
        }
        form::APPEND_1..=form::APPEND_3 => {
            let count = u16::from(frame_type - form::SAME_EXTENDED);
            copy_types(reader, count, relocation, out)
        }
        form::FULL => {
            for _ in 0..2 {
                let count = reader.u2()?;
                out.extend_from_slice(&count.to_be_bytes());
                copy_types(reader, count, relocation, out)?;
            }
            Ok(())
        }
    }
}

/// Writes frames one after the other.
struct Splice<'o> {
    format: FrameFormat,
    /// The new offset of the previous frame; -1 before the first frame.
    previous: i64,
    /// The `offset_delta` of the frame written last.
    last_delta: u16,
    out: &'o mut Vec<u8>,
}

impl Splice<'_> {
    /// Writes the type and delta of a frame at `at`. The frame keeps its old form unless the new delta does not
    /// fit into that form.
    #[inline]
    fn begin(&mut self, frame_type: u8, at: NewBci) -> Result<(), ErrorKind> {
        let position = i64::from(at.offset());
        let delta = match self.format {
            FrameFormat::StackMapTable => position - self.previous - 1,
            FrameFormat::StackMap => position,
        };
        self.previous = position;
        // The delta is negative for a second frame at the same offset, and for a frame out of order.
        let delta = u16::try_from(delta).map_err(|_| ErrorKind::BadFrame("out of order"))?;
        self.last_delta = delta;
        let [high, low] = delta.to_be_bytes();
        match (self.format, frame_type) {
            (FrameFormat::StackMap, _) => self.out.extend_from_slice(&[high, low]),
            (_, ..=form::SAME) if delta <= 63 => self.out.push(low),
            (_, ..=form::SAME) => {
                self.out
                    .extend_from_slice(&[form::SAME_EXTENDED, high, low]);
            }
            (_, ..=form::SAME_LOCALS_1) if delta <= 63 => self.out.push(form::SAME + 1 + low),
            (_, ..=form::SAME_LOCALS_1) => {
                let extended = form::SAME_LOCALS_1_EXTENDED;
                self.out.extend_from_slice(&[extended, high, low]);
            }
            _ => self.out.extend_from_slice(&[frame_type, high, low]),
        }
        Ok(())
    }

    /// Writes a `full_frame` with this body.
    fn full(&mut self, at: NewBci, body: &[u8]) -> Result<(), ErrorKind> {
        self.begin(form::FULL, at)?;
        self.out.extend_from_slice(body);
        Ok(())
    }
}
