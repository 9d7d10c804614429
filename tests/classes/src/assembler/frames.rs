//! Writes `StackMapTable` (JVMS §4.7.4) and the CLDC's `StackMap`.
//!
//! Frames are given in full, as lists of types. They are written in the shortest equivalent form,
//! or in the requested form.

use super::bytes::Put;
use super::error::{AssembleError, Result, u2};
use super::frame_form::FrameForm;
use super::label::{Label, Resolve};
use super::pool::ConstantPool;

/// A type in a frame (JVMS §4.7.4). `Long` and `Double` are one item each and
/// stand for two local variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerificationTypeInfo {
    /// `ITEM_Top`: a value of unknown type, which cannot be used.
    Top,
    /// `ITEM_Integer`.
    Integer,
    /// `ITEM_Float`.
    Float,
    /// `ITEM_Double`.
    Double,
    /// `ITEM_Long`.
    Long,
    /// `ITEM_Null`.
    Null,
    /// `ITEM_UninitializedThis`.
    UninitializedThis,
    /// `ITEM_Object` of an internal name or array descriptor.
    Object(String),
    /// `ITEM_Uninitialized`: an object that was created by the `new` at the label.
    Uninitialized(Label),
}

impl VerificationTypeInfo {
    /// Makes `ITEM_Object` of `name`.
    pub fn object(name: &str) -> Self {
        Self::Object(name.to_owned())
    }
}

/// The attribute into which the frames of a method are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameTable {
    /// `StackMapTable`, for versions 50 and up.
    StackMapTable,
    /// The CLDC's `StackMap`: a list of full frames at absolute offsets.
    CldcStackMap,
    /// Frames are not written. Compilers write none below version 50.
    None,
}

/// A frame whose labels are not resolved yet.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) at: Label,
    pub(crate) locals: Vec<VerificationTypeInfo>,
    pub(crate) stack: Vec<VerificationTypeInfo>,
    pub(crate) form: FrameForm,
}

/// Sorts the frames by offset. Two frames at one offset are an error.
fn sorted<'f>(frames: &'f [Frame], resolve: &Resolve<'_>) -> Result<Vec<(usize, &'f Frame)>> {
    let mut placed = Vec::with_capacity(frames.len());
    for frame in frames {
        placed.push((resolve(frame.at)?, frame));
    }
    placed.sort_by_key(|&(pc, _)| pc);
    if let Some(pair) = placed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(AssembleError::FrameTwice(pair[0].0));
    }
    Ok(placed)
}

/// Returns the contents of a `StackMapTable`. `initial` is the implicit first frame.
pub(crate) fn stack_map_table(
    frames: &[Frame],
    initial: &[VerificationTypeInfo],
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.u2(u2("number_of_entries", frames.len())?);
    let mut previous_locals = initial;
    let mut next_pc = 0;
    for (pc, frame) in sorted(frames, resolve)? {
        let delta = u2("offset_delta", pc - next_pc)?;
        let form = match frame.form {
            FrameForm::Auto => shortest(delta, previous_locals, frame),
            forced => forced,
        };
        if !fits(form, delta, previous_locals, frame) {
            return Err(AssembleError::FrameForm { pc, form });
        }
        write_frame(&mut out, form, delta, previous_locals, frame, pool, resolve)?;
        previous_locals = &frame.locals;
        next_pc = pc + 1;
    }
    Ok(out)
}

/// Returns the shortest form of `frame` that is possible after a frame with the locals `previous`.
fn shortest(delta: u16, previous: &[VerificationTypeInfo], frame: &Frame) -> FrameForm {
    use FrameForm::{Append, Chop, Same, SameExtended, SameLocals1, SameLocals1Extended};
    let by_length = [
        Same,
        SameLocals1,
        SameExtended,
        Chop,
        SameLocals1Extended,
        Append,
    ];
    by_length
        .into_iter()
        .find(|&form| fits(form, delta, previous, frame))
        .unwrap_or(FrameForm::Full)
}

/// Returns whether `form` can express `frame` after a frame with the locals `previous`.
fn fits(form: FrameForm, delta: u16, previous: &[VerificationTypeInfo], frame: &Frame) -> bool {
    let same_locals = frame.locals == previous;
    let (now, before) = (frame.locals.len(), previous.len());
    match form {
        FrameForm::Same => delta <= 63 && same_locals && frame.stack.is_empty(),
        FrameForm::SameExtended => same_locals && frame.stack.is_empty(),
        FrameForm::SameLocals1 => delta <= 63 && same_locals && frame.stack.len() == 1,
        FrameForm::SameLocals1Extended => same_locals && frame.stack.len() == 1,
        FrameForm::Chop => {
            frame.stack.is_empty()
                && (1..=3).contains(&before.saturating_sub(now))
                && previous.starts_with(&frame.locals)
        }
        FrameForm::Append => {
            frame.stack.is_empty()
                && (1..=3).contains(&now.saturating_sub(before))
                && frame.locals.starts_with(previous)
        }
        FrameForm::Full => true,
        FrameForm::Auto => false,
    }
}

fn write_frame(
    out: &mut Vec<u8>,
    form: FrameForm,
    delta: u16,
    previous: &[VerificationTypeInfo],
    frame: &Frame,
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<()> {
    let (now, before) = (frame.locals.len(), previous.len());
    match form {
        // `fits` has checked that the deltas and counts below fit into the narrower types.
        FrameForm::Same => out.u1(delta as u8),
        FrameForm::SameExtended => {
            out.u1(251);
            out.u2(delta);
        }
        FrameForm::SameLocals1 => {
            out.u1(64 + delta as u8);
            write_types(out, &frame.stack, pool, resolve)?;
        }
        FrameForm::SameLocals1Extended => {
            out.u1(247);
            out.u2(delta);
            write_types(out, &frame.stack, pool, resolve)?;
        }
        FrameForm::Chop => {
            out.u1(251 - (before - now) as u8);
            out.u2(delta);
        }
        FrameForm::Append => {
            out.u1(251 + (now - before) as u8);
            out.u2(delta);
            write_types(out, &frame.locals[before..], pool, resolve)?;
        }
        FrameForm::Full | FrameForm::Auto => {
            out.u1(255);
            out.u2(delta);
            write_lists(out, frame, pool, resolve)?;
        }
    }
    Ok(())
}

/// Returns the contents of a CLDC `StackMap`: full frames at absolute offsets, with the same item
/// tags as `StackMapTable` (CLDC 1.1, appendix 1).
pub(crate) fn cldc_stack_map(
    frames: &[Frame],
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.u2(u2("number_of_entries", frames.len())?);
    for (pc, frame) in sorted(frames, resolve)? {
        out.u2(u2("offset", pc)?);
        write_lists(&mut out, frame, pool, resolve)?;
    }
    Ok(out)
}

/// Writes the locals, then the stack, each with its count.
fn write_lists(
    out: &mut Vec<u8>,
    frame: &Frame,
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<()> {
    out.u2(u2("number_of_locals", frame.locals.len())?);
    write_types(out, &frame.locals, pool, resolve)?;
    out.u2(u2("number_of_stack_items", frame.stack.len())?);
    write_types(out, &frame.stack, pool, resolve)
}

fn write_types(
    out: &mut Vec<u8>,
    types: &[VerificationTypeInfo],
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<()> {
    for item in types {
        match item {
            VerificationTypeInfo::Top => out.u1(0),
            VerificationTypeInfo::Integer => out.u1(1),
            VerificationTypeInfo::Float => out.u1(2),
            VerificationTypeInfo::Double => out.u1(3),
            VerificationTypeInfo::Long => out.u1(4),
            VerificationTypeInfo::Null => out.u1(5),
            VerificationTypeInfo::UninitializedThis => out.u1(6),
            VerificationTypeInfo::Object(name) => {
                out.u1(7);
                out.u2(pool.class(name));
            }
            VerificationTypeInfo::Uninitialized(label) => {
                out.u1(8);
                out.u2(u2("offset", resolve(*label)?)?);
            }
        }
    }
    Ok(())
}

/// Returns the locals of the implicit first frame (JVMS §4.10.1.6): `this`, then the arguments.
pub(crate) fn initial_locals(
    this: Option<VerificationTypeInfo>,
    descriptor: &str,
) -> Result<Vec<VerificationTypeInfo>> {
    let bad = || AssembleError::Descriptor(descriptor.to_owned());
    let mut locals: Vec<_> = this.into_iter().collect();
    let arguments = descriptor.strip_prefix('(').ok_or_else(bad)?;
    let mut rest = arguments.split_once(')').ok_or_else(bad)?.0;
    while !rest.is_empty() {
        let dimensions = rest.len() - rest.trim_start_matches('[').len();
        let element = *rest.as_bytes().get(dimensions).ok_or_else(bad)?;
        let end = match element {
            b'L' => rest.find(';').ok_or_else(bad)? + 1,
            _ => dimensions + 1,
        };
        let item = match (dimensions, element) {
            (0, b'L') => VerificationTypeInfo::object(&rest[1..end - 1]),
            (0, b'J') => VerificationTypeInfo::Long,
            (0, b'D') => VerificationTypeInfo::Double,
            (0, b'F') => VerificationTypeInfo::Float,
            (0, b'B' | b'C' | b'I' | b'S' | b'Z') => VerificationTypeInfo::Integer,
            (0, _) => return Err(bad()),
            _ => VerificationTypeInfo::object(&rest[..end]),
        };
        locals.push(item);
        rest = &rest[end..];
    }
    Ok(locals)
}

/// Returns the number of local variables that a list of items occupies.
pub(crate) fn slots(types: &[VerificationTypeInfo]) -> usize {
    let two = |item: &&VerificationTypeInfo| {
        matches!(
            item,
            VerificationTypeInfo::Long | VerificationTypeInfo::Double
        )
    };
    types.len() + types.iter().filter(two).count()
}
