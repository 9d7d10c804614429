//! Labels of a constructor's instructions. A label tells which handler may cover an instruction.
//!
//! No handler may cover the `invokespecial` that initialises `this`: whatever
//! frame the handler has, JVMs throw a VerifyError. The frame of a handler that
//! covers earlier instructions must have the uninitialised `this` in its local.
//! Otherwise the frame lacks `flagThisUninit` ("Bad flags", JVMS §4.10.1.4). The
//! frame of a handler that covers only later instructions needs no locals. So
//! each instruction gets a label, and each run of equal labels is a range of the
//! exception table.
//!
//! From version 50 on, the labels come from one walk through the code. At each
//! frame the walk continues with the types of the frame, as the verifier does.
//! For older versions the labels come from data flow, see `constructor_flow.rs`. So do the labels for version 50
//! if the frames are wrong, because the JVM then falls back to the old verifier.

use crate::code::bci::Bci;
use crate::code::frame_states::ExpandedFrame;
use crate::code::instructions::{Instruction, Instructions};
use crate::code::simulate::{MethodBody, Step, TypeState};
use crate::code::types::VerificationType as V;
use crate::code::work::WorkBudget;
use crate::error::ErrorKind;
use crate::opcode::{Effect, Opcode};

/// The handler that may cover an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// A handler whose frame has no locals: `this` is initialised.
    Initialised,
    /// A handler whose frame has `uninitializedThis` in this local variable.
    Uninitialised(u16),
    /// No handler.
    Uncovered,
}

/// The instructions from `start` up to the next run, all with one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: Bci,
    pub(crate) label: Label,
    /// True if an instruction of the run can throw. A run that cannot throw needs no handler, for example the
    /// `aload_0` before most calls of `super`.
    pub(crate) can_throw: bool,
}

/// The runs of equal labels of a constructor, which together contain all instructions of the constructor.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<Run>,
    /// The calls that initialise `this`. No handler covers them.
    pub(crate) calls: Vec<Bci>,
    /// The number of instructions that no handler covers, besides `calls`.
    pub(crate) uncovered: u32,
}

impl Runs {
    /// Adds the instruction at `bci`, which follows the instructions added before.
    pub(crate) fn push(&mut self, bci: Bci, label: Label, can_throw: bool) {
        match self.runs.last_mut() {
            Some(last) if last.label == label => last.can_throw |= can_throw,
            _ => self.runs.push(Run {
                start: bci,
                label,
                can_throw,
            }),
        }
    }
}

/// The state of `this` before an instruction of a constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum This {
    Uninitialised,
    Initialised,
    /// `this` is initialised on one path to the instruction, but not on another.
    Mixed,
}

/// Labels a constructor whose types cannot be followed. No added handler covers its instructions, which is always
/// valid.
pub(crate) fn unknown(method: &MethodBody<'_, '_>) -> Runs {
    let mut runs = Runs::default();
    runs.push(Bci::START, Label::Uncovered, true);
    runs.uncovered = Instructions::new(method.code).count() as u32;
    runs
}

/// Returns the label of an instruction, from the state of `this` and the types before the instruction.
pub(crate) fn label(this: This, state: &TypeState<'_>) -> Label {
    let local = match this {
        This::Uninitialised => state.locals.iter().position(|v| *v == V::UninitializedThis),
        This::Initialised | This::Mixed => None,
    };
    match (this, local) {
        (This::Initialised, _) => Label::Initialised,
        (This::Uninitialised, Some(local)) => Label::Uninitialised(local as u16),
        _ => Label::Uncovered,
    }
}

/// Returns whether an instruction can throw. Jumps can, because a thread may be stopped at them.
pub(crate) fn can_throw(opcode: Opcode) -> bool {
    match opcode.effect() {
        Effect::Plain(_, "") | Effect::Plain(_, "I" | "F" | "J" | "D") => !matches!(
            opcode.byte(),
            // Constants, pops, arithmetic (except integer division), conversions, comparisons.
            0x00..=0x11 | 0x57..=0x58 | 0x60..=0x6b | 0x6e..=0x6f | 0x72..=0x98
        ),
        Effect::Plain(..) => false,
        Effect::Load(_) | Effect::LoadN(..) | Effect::Store(_) | Effect::StoreN(..) => false,
        Effect::Duplicate(..) | Effect::Swap | Effect::Wide => false,
        Effect::Constant
        | Effect::ArrayElement
        | Effect::Jump
        | Effect::Subroutine
        | Effect::SubroutineReturn
        | Effect::Switch
        | Effect::Return(_)
        | Effect::GetField(_)
        | Effect::PutField(_)
        | Effect::Invoke(_)
        | Effect::New
        | Effect::NewArray
        | Effect::ANewArray
        | Effect::MultiANewArray
        | Effect::Throw
        | Effect::CheckCast => true,
    }
}

/// Labels the instructions in one walk through the code with the expanded
/// `frames`.
pub(crate) fn with_frames<'a>(
    method: &MethodBody<'_, 'a>,
    frames: &[ExpandedFrame<'a>],
    work: &mut WorkBudget,
) -> Result<Runs, ErrorKind> {
    let mut runs = Runs::default();
    let mut state = method.initial()?;
    let mut this = This::Uninitialised;
    let mut reachable = true;
    let mut frames = frames.iter().peekable();
    // Once `this` is initialised, only a frame can make it uninitialised again.
    let mut uninitialised_frames = frames
        .clone()
        .filter(|frame| has_uninitialised_this(&frame.state))
        .count();
    let mut bci = Bci::START;
    while bci.index() < method.code.len() {
        if let Some(frame) = frames.next_if(|frame| frame.bci == bci) {
            state.clone_from(&frame.state);
            reachable = true;
            this = This::Initialised;
            if has_uninitialised_this(&state) {
                this = This::Uninitialised;
                uninitialised_frames -= 1;
            }
        }
        if !reachable {
            return Err(ErrorKind::BadFrame("missing after a jump"));
        }
        if this == This::Initialised && uninitialised_frames == 0 {
            runs.push(bci, Label::Initialised, true);
            return Ok(runs);
        }
        let instruction = Instruction::at(method.code, bci)?;
        work.spend(state.locals.len())?;
        let before = label(this, &state);
        match state.step(&instruction, method)? {
            Step::InitialisedThis => {
                this = This::Initialised;
                runs.calls.push(bci);
                runs.push(bci, Label::Uncovered, true);
            }
            Step::Ordinary => {
                runs.uncovered += u32::from(before == Label::Uncovered);
                runs.push(bci, before, can_throw(instruction.acting_opcode()));
            }
        }
        reachable = !instruction.opcode.ends_block();
        bci = instruction.end();
    }
    Ok(runs)
}

fn has_uninitialised_this(state: &TypeState<'_>) -> bool {
    let mut slots = state.locals.iter().chain(&state.stack);
    slots.any(|v| *v == V::UninitializedThis)
}
