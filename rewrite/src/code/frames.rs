//! `StackMapTable` (JVMS §4.7.4) and its ancestor, CLDC's `StackMap`.
//!
//! Frames are patched: offsets move, a frame keeps its form unless the delta
//! outgrows it, and new frames are spliced in.

use std::ops::Range;

use crate::code::bci::Bci;
use crate::code::relocation::{NewBci, Relocation};
use crate::code::simulate::TypeState;
use crate::code::types::{ClassRef, VerificationType as V, tag};
use crate::code::work::{STORED_TYPE, WorkBudget};
use crate::constant_pool::ConstantPool;
use crate::cp_index::CpIndex;
use crate::error::{ErrorKind, Result};
use crate::outcome::{Reason, Refusal};
use crate::reader::Reader;

/// `frame_type` values (JVMS §4.7.4).
pub(crate) mod form {
    /// The highest `same_frame`; the type is the delta.
    pub(crate) const SAME: u8 = 63;
    /// The lowest `same_locals_1_stack_item_frame`, whose delta is 0.
    pub(crate) const SAME_LOCALS_1_MIN: u8 = 64;
    /// The highest `same_locals_1_stack_item_frame`.
    pub(crate) const SAME_LOCALS_1: u8 = 127;
    pub(crate) const SAME_LOCALS_1_EXTENDED: u8 = 247;
    pub(crate) const CHOP_3: u8 = 248;
    pub(crate) const CHOP_1: u8 = 250;
    pub(crate) const SAME_EXTENDED: u8 = 251;
    pub(crate) const APPEND_1: u8 = 252;
    pub(crate) const APPEND_3: u8 = 254;
    pub(crate) const FULL: u8 = 255;
}

/// The two formats of frames, each an attribute of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFormat {
    /// `StackMapTable`: compressed frames, each at a delta from the one before
    /// (JVMS §4.7.4).
    StackMapTable,
    /// `StackMap` of CLDC 1.1: full frames at absolute offsets.
    StackMap,
}

/// One frame as the attribute holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame<'a> {
    /// The instruction that the frame describes.
    pub bci: Bci,
    /// `frame_type`; 255 in a `StackMap`, which has only full frames.
    pub frame_type: u8,
    /// The local variables that the frame lists: all of them in a full frame,
    /// the added ones in an `append_frame`.
    pub locals: Vec<V<'a>>,
    /// The operand stack that the frame lists.
    pub stack: Vec<V<'a>>,
}

/// The frames of an attribute, in file order.
#[derive(Debug)]
pub struct Frames<'p, 'a> {
    pool: &'p ConstantPool<'a>,
    reader: Reader<'a>,
    format: FrameFormat,
    left: u16,
    offsets: FrameOffsets,
}

impl<'p, 'a> Frames<'p, 'a> {
    /// Reads the attribute content that `reader` stands at.
    ///
    /// # Errors
    /// When the count is cut off.
    pub fn new(
        pool: &'p ConstantPool<'a>,
        mut reader: Reader<'a>,
        format: FrameFormat,
    ) -> Result<Self> {
        let left = reader.u2()?;
        Ok(Frames {
            pool,
            reader,
            format,
            left,
            offsets: FrameOffsets::new(format),
        })
    }

    fn read_types(&mut self, count: u16) -> Result<Vec<V<'a>>> {
        (0..count)
            .map(|_| V::read(&mut self.reader, self.pool))
            .collect()
    }

    fn read(&mut self) -> Result<RawFrame<'a>> {
        let (frame_type, delta) = read_head(&mut self.reader, self.format)?;
        let bci = self.offsets.next(delta);
        let bci = bci.map_err(|kind| self.reader.error(kind))?;
        let (mut locals, mut stack) = (Vec::new(), Vec::new());
        match frame_type {
            ..=form::SAME | form::SAME_EXTENDED | form::CHOP_3..=form::CHOP_1 => {}
            form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1_EXTENDED => stack = self.read_types(1)?,
            form::APPEND_1..=form::APPEND_3 => {
                locals = self.read_types(u16::from(frame_type - form::SAME_EXTENDED))?;
            }
            form::FULL => {
                let count = self.reader.u2()?;
                locals = self.read_types(count)?;
                let count = self.reader.u2()?;
                stack = self.read_types(count)?;
            }
        }
        if self.left == 0 {
            self.reader.finish()?;
        }
        Ok(RawFrame {
            bci,
            frame_type,
            locals,
            stack,
        })
    }
}

impl<'a> Iterator for Frames<'_, 'a> {
    type Item = Result<RawFrame<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let frame = self.read();
        if frame.is_err() {
            self.left = 0;
        }
        Some(frame)
    }
}

/// Reads the type of the next frame, and its `offset_delta` or absolute offset.
#[inline]
fn read_head(reader: &mut Reader<'_>, format: FrameFormat) -> Result<(u8, u16)> {
    let frame_type = match format {
        FrameFormat::StackMapTable => reader.u1()?,
        FrameFormat::StackMap => form::FULL,
    };
    let delta = match frame_type {
        ..=form::SAME => u16::from(frame_type),
        form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1 => {
            u16::from(frame_type - form::SAME_LOCALS_1_MIN)
        }
        form::SAME_LOCALS_1_EXTENDED.. => reader.u2()?,
        reserved => return Err(reader.error(ErrorKind::BadFrameType(reserved))),
    };
    Ok((frame_type, delta))
}

/// Adds up the deltas of frames.
#[derive(Debug)]
struct FrameOffsets {
    format: FrameFormat,
    /// The offset of the frame before; -1 before the first, so that its delta
    /// is its offset.
    previous: i32,
}

impl FrameOffsets {
    fn new(format: FrameFormat) -> Self {
        FrameOffsets {
            format,
            previous: -1,
        }
    }

    /// The offset of the next frame, which has this delta.
    #[inline]
    fn next(&mut self, delta: u16) -> Result<Bci, ErrorKind> {
        let offset = match self.format {
            FrameFormat::StackMapTable => self.previous + i32::from(delta) + 1,
            FrameFormat::StackMap => i32::from(delta),
        };
        self.previous = offset;
        Bci::try_from_target(i64::from(offset))
    }
}

/// A frame with the whole type state that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct ExpandedFrame<'a> {
    pub(crate) bci: Bci,
    pub(crate) state: TypeState<'a>,
    /// The number of values in the list of locals, trailing `Top`s included:
    /// the frames behind chop from that list and append to it.
    values: usize,
}

/// The whole type states that `frames` stand for, in order. `initial` is the
/// state at the method's first instruction.
pub(crate) fn expand<'a>(
    frames: Frames<'_, 'a>,
    initial: &TypeState<'a>,
    work: &mut WorkBudget,
) -> Result<Vec<ExpandedFrame<'a>>, ErrorKind> {
    // Frames name locals by value, not by slot, so the running list is kept
    // that way and spread to slots for each state.
    let mut locals = gather(&initial.locals);
    while locals.last() == Some(&V::Top) {
        locals.pop();
    }
    let mut states = Vec::new();
    for frame in frames {
        let frame = frame.map_err(|error| error.kind().clone())?;
        match frame.frame_type {
            form::FULL => locals = frame.locals,
            form::CHOP_3..=form::CHOP_1 => {
                let chopped = usize::from(form::SAME_EXTENDED - frame.frame_type);
                let kept = locals.len().checked_sub(chopped);
                locals.truncate(kept.ok_or(ErrorKind::BadFrame("chops what is not there"))?);
            }
            _ => locals.extend(frame.locals),
        }
        work.spend(STORED_TYPE * (locals.len() + frame.stack.len()))?;
        let state = TypeState {
            locals: spread(&locals),
            stack: spread(&frame.stack),
        };
        states.push(ExpandedFrame {
            bci: frame.bci,
            state,
            values: locals.len(),
        });
    }
    Ok(states)
}

/// Turns a list of values into one of slots: the second slot of a `long` or
/// `double` is `Top`.
fn spread<'a>(values: &[V<'a>]) -> Vec<V<'a>> {
    let mut slots = Vec::with_capacity(values.len());
    for &value in values {
        slots.push(value);
        if value.is_wide() {
            slots.push(V::Top);
        }
    }
    slots
}

/// Turns a list of slots into one of values: the reverse of [`spread`].
fn gather<'a>(slots: &[V<'a>]) -> Vec<V<'a>> {
    let mut values = Vec::with_capacity(slots.len());
    let mut slots = slots.iter();
    while let Some(&value) = slots.next() {
        values.push(value);
        if value.is_wide() {
            slots.next();
        }
    }
    values
}

/// A `full_frame` to splice in.
#[derive(Clone, Debug)]
struct InsertedFrame {
    at: NewBci,
    /// The part of [`InsertedFrames::bodies`] that follows `offset_delta`.
    body: Range<usize>,
}

/// The frames to splice in, in the order of their offsets.
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

    /// Adds a frame at `at`, behind those added before; `write` appends its
    /// body.
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

/// Appends the body of a `full_frame` for `state` to `out`, with relocated
/// offsets of uninitialised objects. It lists at least `values` locals; trailing
/// `Top`s beyond them are left out. `class` gives the constant of a class.
pub(crate) fn write_full_body<'a, E: From<ErrorKind>>(
    state: &TypeState<'a>,
    values: usize,
    relocation: &Relocation,
    mut class: impl FnMut(ClassRef<'a>) -> Result<CpIndex, E>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    for (slots, least) in [(&state.locals, values), (&state.stack, usize::MAX)] {
        let mut list = gather(slots);
        while list.len() > least && list.last() == Some(&V::Top) {
            list.pop();
        }
        let count =
            u16::try_from(list.len()).map_err(|_| ErrorKind::BadFrame("too many values"))?;
        out.extend_from_slice(&count.to_be_bytes());
        for value in list {
            match value {
                V::Top => out.push(tag::TOP),
                V::Integer => out.push(tag::INTEGER),
                V::Float => out.push(tag::FLOAT),
                V::Double => out.push(tag::DOUBLE),
                V::Long => out.push(tag::LONG),
                V::Null => out.push(tag::NULL),
                V::UninitializedThis => out.push(tag::UNINITIALIZED_THIS),
                V::Object(object_type) => {
                    let [high, low] = class(object_type)?.to_be_bytes();
                    out.extend_from_slice(&[tag::OBJECT, high, low]);
                }
                V::Uninitialized(new_at) => {
                    let [high, low] = relocation.instruction(new_at)?.to_be_bytes();
                    out.extend_from_slice(&[tag::UNINITIALIZED, high, low]);
                }
                V::ReturnAddress(_) => {
                    return Err(ErrorKind::BadFrame("return address in a frame").into());
                }
            }
        }
    }
    Ok(())
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

/// Appends the relocated attribute content with `inserted` spliced in to
/// `out`.
///
/// An inserted frame has a list of locals of its own, so the old frame behind
/// one is written in full, from `states`: the expanded old frames, needed only
/// if a frame is inserted before an old one. `class` gives the constant of a
/// class.
pub(crate) fn relocate<'a>(
    reader: &mut Reader<'a>,
    format: FrameFormat,
    relocation: &Relocation,
    inserted: &InsertedFrames,
    states: &[ExpandedFrame<'a>],
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
        if in_full {
            in_full = false;
            let frame = states.get(i).ok_or(ErrorKind::BadFrame("not expanded"))?;
            let out = &mut *splice.out;
            out.truncate(start);
            out.push(form::FULL);
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

/// Copies what follows type and delta in a frame of this type, and relocates
/// the offsets of uninitialised objects.
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

/// Writes frames one behind the other.
struct Splice<'o> {
    format: FrameFormat,
    /// The new offset of the frame before; -1 before the first.
    previous: i64,
    /// The `offset_delta` of the frame written last.
    last_delta: u16,
    out: &'o mut Vec<u8>,
}

impl Splice<'_> {
    /// Writes type and delta of a frame at `at`, in its old form unless the delta
    /// has outgrown that.
    #[inline]
    fn begin(&mut self, frame_type: u8, at: NewBci) -> Result<(), ErrorKind> {
        let position = i64::from(at.from_start());
        let delta = match self.format {
            FrameFormat::StackMapTable => position - self.previous - 1,
            FrameFormat::StackMap => position,
        };
        self.previous = position;
        // Negative for a second frame at one offset, or one out of order.
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
