//! Computes the type states of frames, and writes full frames for type states.

use crate::code::bci::Bci;
use crate::code::frames::{Frames, form};
use crate::code::relocation::Relocation;
use crate::code::simulate::TypeState;
use crate::code::types::{ClassRef, VerificationType as V, tag};
use crate::code::work::{STORED_TYPE, WorkBudget};
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::probe::trace::TraceLocals;

/// A frame with its complete type state.
#[derive(Clone, Debug)]
pub(crate) struct ExpandedFrame<'a> {
    pub(crate) bci: Bci,
    pub(crate) state: TypeState<'a>,
    /// The number of values in the list of locals, including trailing `Top`s. Later frames remove values from
    /// that list or append to it.
    pub(super) values: usize,
}

impl ExpandedFrame<'_> {
    /// Adds the local variables of the trace probes after the method's own.
    pub(crate) fn add_trace(&mut self, locals: TraceLocals) {
        self.state.set_trace(locals);
    }
}

/// Returns the complete type states of `frames`, in order. `initial` is the
/// state at the method's first instruction.
pub(crate) fn expand<'a>(
    frames: Frames<'_, 'a>,
    initial: &TypeState<'a>,
    work: &mut WorkBudget,
) -> Result<Vec<ExpandedFrame<'a>>, ErrorKind> {
    // A frame lists locals by value: a `long` is one value, but takes two slots.
    // So the running list holds values, and is spread to slots for each state.
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
                locals
                    .truncate(kept.ok_or(ErrorKind::BadFrame("chops more locals than there are"))?);
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

/// Converts a list of values into a list of slots: the second slot of a `long` or `double` is `Top`.
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

/// Converts a list of slots into a list of values: the reverse of [`spread`].
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

/// Appends the body of a `full_frame` for `state` to `out`, with relocated offsets of uninitialised
/// objects. The body lists at least `values` locals, but no further trailing `Top`s. `class` returns the index of
/// a class's `CONSTANT_Class`.
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
