//! `StackMapTable` (JVMS §4.7.4) and its ancestor, CLDC's `StackMap`.
//!
//! Frames are patched: offsets move, the forms stay unless a delta outgrows
//! them, and new frames are spliced in.

use crate::code::relocation::Relocation;
use crate::code::simulate::State;
use crate::code::types::{VerificationType as V, tag};
use crate::code::work::{KEPT, Work};
use crate::code::{Bci, NewBci};
use crate::constant_pool::ConstantPool;
use crate::error::{ErrorKind, Result};
use crate::outcome::{Reason, Refusal};
use crate::reader::Reader;

/// `frame_type` values (JVMS §4.7.4).
pub(crate) mod form {
    /// Up to here `same_frame`, the type being the delta.
    pub(crate) const SAME: u8 = 63;
    /// From here, and up to the next, `same_locals_1_stack_item_frame`.
    pub(crate) const SAME_LOCALS_1_MIN: u8 = 64;
    pub(crate) const SAME_LOCALS_1: u8 = 127;
    pub(crate) const SAME_LOCALS_1_EXTENDED: u8 = 247;
    pub(crate) const CHOP_3: u8 = 248;
    pub(crate) const CHOP_1: u8 = 250;
    pub(crate) const SAME_EXTENDED: u8 = 251;
    pub(crate) const APPEND_1: u8 = 252;
    pub(crate) const APPEND_3: u8 = 254;
    pub(crate) const FULL: u8 = 255;
}

/// Which of the two attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFormat {
    /// `StackMapTable`: compressed, relative (JVMS §4.7.4).
    StackMapTable,
    /// `StackMap` of CLDC 1.1: whole frames at absolute offsets.
    StackMap,
}

/// One frame as it is written in a `StackMapTable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame<'a> {
    /// The instruction it describes.
    pub bci: u16,
    /// `frame_type`; 255 in a `StackMap`, which has only whole frames.
    pub frame_type: u8,
    /// The local variables it names.
    pub locals: Vec<V<'a>>,
    /// The operand stack it names.
    pub stack: Vec<V<'a>>,
}

/// The frames of an attribute, in file order.
#[derive(Debug)]
pub struct Frames<'p, 'a> {
    pool: &'p ConstantPool<'a>,
    reader: Reader<'a>,
    format: FrameFormat,
    left: u16,
    previous: i32,
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
            previous: -1,
        })
    }

    fn read_types(&mut self, count: u16) -> Result<Vec<V<'a>>> {
        (0..count)
            .map(|_| V::read(&mut self.reader, self.pool))
            .collect()
    }

    fn read(&mut self) -> Result<RawFrame<'a>> {
        let frame_type = match self.format {
            FrameFormat::StackMapTable => self.reader.u1()?,
            FrameFormat::StackMap => form::FULL,
        };
        let delta = match frame_type {
            ..=form::SAME => u16::from(frame_type),
            form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1 => {
                u16::from(frame_type - form::SAME_LOCALS_1_MIN)
            }
            form::SAME_LOCALS_1_EXTENDED.. => self.reader.u2()?,
            reserved => return Err(self.reader.error(ErrorKind::BadFrameType(reserved))),
        };
        let bci = match self.format {
            FrameFormat::StackMapTable => self.previous + i32::from(delta) + 1,
            FrameFormat::StackMap => i32::from(delta),
        };
        self.previous = bci;
        let bci = u16::try_from(bci).map_err(|_| {
            self.reader
                .error(ErrorKind::BadBytecodeOffset(i64::from(bci)))
        })?;
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

/// A frame written out in full.
#[derive(Clone, Debug)]
pub(crate) struct ExpandedFrame<'a> {
    pub(crate) bci: u16,
    pub(crate) state: State<'a>,
    /// How many values its list of locals has: the frames behind it chop and
    /// append to that list, trailing `Top`s included.
    values: usize,
}

/// The whole states that `frames` describe, in order.
pub(crate) fn expand<'a>(
    frames: Frames<'_, 'a>,
    initial: &State<'a>,
    work: &mut Work,
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
        work.spend(KEPT * (locals.len() + frame.stack.len()))?;
        let state = State {
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

/// One element a slot: the second slot of a `long` or `double` is `Top`.
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

/// One element a value: the reverse of [`spread`].
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

/// A frame to splice in: its place, and in `Inserted::bodies` what follows
/// `offset_delta` in a `full_frame`.
#[derive(Clone, Debug)]
pub(crate) struct InsertedFrame {
    pub(crate) at: NewBci,
    pub(crate) body: std::ops::Range<usize>,
}

/// Frames to splice in, by rising place.
#[derive(Debug, Default)]
pub(crate) struct Inserted {
    pub(crate) frames: Vec<InsertedFrame>,
    pub(crate) bodies: Vec<u8>,
}

impl Inserted {
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.bodies.clear();
    }

    /// Adds a frame whose body `write` appends.
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

/// Appends the body of a `full_frame` for `state` to `out`, `Uninitialized`
/// offsets relocated. It names at least `values` locals, trailing `Top`s
/// beyond are left out. `class` gives the constant of a class.
pub(crate) fn write_full_body<'a, E: From<ErrorKind>>(
    state: &State<'a>,
    values: usize,
    relocation: &Relocation,
    mut class: impl FnMut(crate::code::types::ClassRef<'a>) -> Result<u16, E>,
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
                V::Object(of) => {
                    let [high, low] = class(of)?.to_be_bytes();
                    out.extend_from_slice(&[tag::OBJECT, high, low]);
                }
                V::Uninitialized(new_at) => {
                    let NewBci(position) = relocation.instruction(Bci(new_at))?;
                    out.push(tag::UNINITIALIZED);
                    out.extend_from_slice(&(position as u16).to_be_bytes());
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
            let NewBci(position) = relocation.instruction(new_at)?;
            let [high, low] = (position as u16).to_be_bytes();
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
/// `out`. An inserted frame carries locals of its own, so the old frame that
/// follows one is written whole, from `states`: the expanded old frames,
/// needed only when a frame is inserted before an old one.
pub(crate) fn relocate<'a>(
    reader: &mut Reader<'a>,
    format: FrameFormat,
    relocation: &Relocation,
    inserted: &Inserted,
    states: &[ExpandedFrame<'a>],
    mut class: impl FnMut(crate::code::types::ClassRef<'a>) -> Result<u16, Refusal>,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let old_count = match reader.left() {
        0 => 0,
        _ => reader.u2()?,
    };
    let count = usize::from(old_count) + inserted.frames.len();
    let count = u16::try_from(count).map_err(|_| Reason::TooManyFrames)?;
    out.extend_from_slice(&count.to_be_bytes());

    let mut splice = Splice {
        format,
        previous: -1,
        delta_of_last: 0,
        out,
    };
    let mut waiting = inserted.frames.iter().peekable();
    let mut whole = false;
    let mut old_bci = -1;
    for i in 0..usize::from(old_count) {
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
            reserved => return Err(reader.error(ErrorKind::BadFrameType(reserved)).into()),
        };
        old_bci = match format {
            FrameFormat::StackMapTable => old_bci + i32::from(delta) + 1,
            FrameFormat::StackMap => i32::from(delta),
        };
        let bci =
            u16::try_from(old_bci).map_err(|_| ErrorKind::BadBytecodeOffset(i64::from(old_bci)))?;
        let at = relocation.target(Bci(bci))?;
        while let Some(frame) = waiting.next_if(|frame| frame.at < at) {
            splice.full(frame.at, inserted.body(frame))?;
            whole = format == FrameFormat::StackMapTable;
        }
        let start = splice.out.len();
        splice.begin(frame_type, at)?;
        let out = &mut *splice.out;
        match frame_type {
            ..=form::SAME | form::SAME_EXTENDED | form::CHOP_3..=form::CHOP_1 => {}
            form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1_EXTENDED => {
                copy_type(reader, relocation, out)?
            }
            form::APPEND_1..=form::APPEND_3 => {
                let count = u16::from(frame_type - form::SAME_EXTENDED);
                copy_types(reader, count, relocation, out)?;
            }
            form::FULL => {
                for _ in 0..2 {
                    let count = reader.u2()?;
                    out.extend_from_slice(&count.to_be_bytes());
                    copy_types(reader, count, relocation, out)?;
                }
            }
        }
        if whole {
            whole = false;
            let frame = states.get(i).ok_or(ErrorKind::BadFrame("not expanded"))?;
            out.truncate(start);
            let delta = splice.delta_of_last;
            splice.out.push(form::FULL);
            splice.out.extend_from_slice(&delta.to_be_bytes());
            write_full_body(
                &frame.state,
                frame.values,
                relocation,
                &mut class,
                splice.out,
            )?;
        }
    }
    reader.finish()?;
    for frame in waiting {
        splice.full(frame.at, inserted.body(frame))?;
    }
    Ok(())
}

/// Writes frames one behind the other.
struct Splice<'o> {
    format: FrameFormat,
    previous: i64,
    delta_of_last: u16,
    out: &'o mut Vec<u8>,
}

impl Splice<'_> {
    /// Writes type and delta of a frame at `at`, in the form it had unless
    /// the delta has outgrown it.
    #[inline]
    fn begin(&mut self, frame_type: u8, at: NewBci) -> Result<(), ErrorKind> {
        let position = i64::from(at.0);
        let delta = match self.format {
            FrameFormat::StackMapTable => position - self.previous - 1,
            FrameFormat::StackMap => position,
        };
        self.previous = position;
        // Two frames at one place, or out of order.
        let delta = u16::try_from(delta).map_err(|_| ErrorKind::BadFrame("out of order"))?;
        self.delta_of_last = delta;
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

    fn full(&mut self, at: NewBci, body: &[u8]) -> Result<(), ErrorKind> {
        self.begin(form::FULL, at)?;
        self.out.extend_from_slice(body);
        Ok(())
    }
}
