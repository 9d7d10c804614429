//! Where `uninitializedThis` lies in a constructor, and so which handler may
//! cover which instructions.
//!
//! No handler may cover the `invokespecial` that initialises `this`: every JVM
//! answers VerifyError, whatever the handler's frame. Before that call a
//! handler's frame must say where the uninitialised `this` is, or it loses
//! `flagThisUninit` ("Bad flags"); after it, a frame without locals serves.
//! So each instruction gets a label, and each run of equal labels a range of
//! its own.
//!
//! From version 50 on the labels come from one walk through the code that
//! takes up each frame it meets: where paths join, the frames decide what the
//! verifier believes. Below 50 (and in version 50 where frames do not carry
//! through, since the VM then falls back to the old verifier) they come from
//! data flow, `jsr` included.

use std::collections::BTreeMap;

use crate::code::frames::ExpandedFrame;
use crate::code::handlers::ExceptionTable;
use crate::code::instructions::{Instruction, Instructions};
use crate::code::simulate::{Method, State, Step};
use crate::code::types::VerificationType as V;
use crate::code::work::Work;
use crate::error::ErrorKind;
use crate::opcode::{Effect, Opcode};

/// Which handler may cover an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// One without locals: `this` is initialised, or there is none.
    Initialised,
    /// One whose frame has `uninitializedThis` in this local.
    Uninitialised(u16),
    /// None.
    Uncovered,
}

/// Instructions from `start` on, up to the next run, with one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u16,
    pub(crate) label: Label,
    /// Whether any of its instructions can throw: without, no handler is
    /// needed, as in the `aload_0` before most calls of `super`.
    pub(crate) can_throw: bool,
}

/// The runs of a constructor, and how many instructions had to be left
/// uncovered besides the initialising calls.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<Run>,
    /// The calls that initialise `this`.
    pub(crate) calls: Vec<u16>,
    pub(crate) uncovered: u32,
}

impl Runs {
    fn push(&mut self, bci: usize, label: Label, can_throw: bool) {
        match self.runs.last_mut() {
            Some(last) if last.label == label => last.can_throw |= can_throw,
            _ => self.runs.push(Run {
                start: bci as u16,
                label,
                can_throw,
            }),
        }
    }
}

/// Where `this` is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum This {
    Uninitialised,
    Initialised,
    /// Initialised on one way here, not on another.
    Mixed,
}

/// Labels for a constructor that cannot be followed: no handler, which is
/// always valid.
pub(crate) fn unknown(method: &Method<'_, '_>) -> Runs {
    let mut runs = Runs::default();
    runs.push(0, Label::Uncovered, true);
    runs.uncovered = Instructions::new(method.code).count() as u32;
    runs
}

fn label(this: This, state: &State<'_>) -> Label {
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

/// Jumps count as throwing: at them a thread can be stopped.
fn can_throw(opcode: Opcode) -> bool {
    match opcode.effect() {
        Effect::Plain(_, "") | Effect::Plain(_, "I" | "F" | "J" | "D") => !matches!(
            opcode.byte(),
            // Constants, pops, arithmetic but for integer division,
            // conversions, comparisons.
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

/// Labels the instructions by one walk with the expanded `frames`.
pub(crate) fn with_frames<'a>(
    method: &Method<'_, 'a>,
    frames: &[ExpandedFrame<'a>],
    work: &mut Work,
) -> Result<Runs, ErrorKind> {
    let mut runs = Runs::default();
    let mut state = method.initial()?;
    let mut this = This::Uninitialised;
    let mut reachable = true;
    let mut frames = frames.iter().peekable();
    // Once `this` is initialised, only a frame can bring the other state back.
    let mut open = frames
        .clone()
        .filter(|frame| knows_uninitialised(&frame.state))
        .count();
    let mut bci = 0;
    while bci < method.code.len() {
        if let Some(frame) = frames.next_if(|frame| usize::from(frame.bci) == bci) {
            state.clone_from(&frame.state);
            reachable = true;
            this = This::Initialised;
            if knows_uninitialised(&state) {
                this = This::Uninitialised;
                open -= 1;
            }
        }
        if !reachable {
            return Err(ErrorKind::BadFrame("missing after a jump"));
        }
        if this == This::Initialised && open == 0 {
            runs.push(bci, Label::Initialised, true);
            return Ok(runs);
        }
        let instruction = Instruction::at(method.code, bci)?;
        work.spend(state.locals.len())?;
        let before = label(this, &state);
        match state.step(&instruction, method)? {
            Step::InitialisedThis => {
                this = This::Initialised;
                runs.calls.push(bci as u16);
                runs.push(bci, Label::Uncovered, true);
            }
            Step::Ordinary => {
                runs.uncovered += u32::from(before == Label::Uncovered);
                runs.push(bci, before, can_throw(instruction.acting_opcode()));
            }
        }
        reachable = !instruction.opcode.ends_block();
        bci += instruction.bytes.len();
    }
    Ok(runs)
}

fn knows_uninitialised(state: &State<'_>) -> bool {
    let mut slots = state.locals.iter().chain(&state.stack);
    slots.any(|v| *v == V::UninitializedThis)
}

/// What data flow knows at the beginning of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact<'a> {
    this: This,
    state: State<'a>,
}

/// Data flow over blocks: the facts at their beginnings, to a fixed point.
struct Flow<'m, 'c, 'a> {
    method: &'m Method<'c, 'a>,
    table: ExceptionTable<'a>,
    /// Where a handler's range begins.
    begins: Vec<bool>,
    facts: BTreeMap<u16, Fact<'a>>,
    waiting: Vec<u16>,
    /// Where each subroutine returns to, and what is known at its `ret`s.
    returns: BTreeMap<u16, Vec<u16>>,
    at_ret: BTreeMap<u16, Fact<'a>>,
    work: &'m mut Work,
}

/// Labels the instructions by data flow. What no path reaches is uncovered.
pub(crate) fn by_data_flow<'a>(
    method: &Method<'_, 'a>,
    table: ExceptionTable<'a>,
    work: &mut Work,
) -> Result<Runs, ErrorKind> {
    let mut begins = vec![false; method.code.len() + 1];
    for entry in table.clone() {
        if let Some(slot) = begins.get_mut(usize::from(entry.start_pc)) {
            *slot = true;
        }
    }
    let mut flow = Flow {
        method,
        table,
        begins,
        facts: BTreeMap::new(),
        waiting: Vec::new(),
        returns: BTreeMap::new(),
        at_ret: BTreeMap::new(),
        work,
    };
    let state = method.initial()?;
    flow.join(
        0,
        &Fact {
            this: This::Uninitialised,
            state,
        },
    )?;
    while let Some(block) = flow.waiting.pop() {
        flow.walk(block, &mut |_, _, _| {})?;
    }

    let mut labels = vec![None; method.code.len()];
    let blocks: Vec<u16> = flow.facts.keys().copied().collect();
    for block in blocks {
        flow.walk(block, &mut |bci, label, throws| {
            if let Some(slot) = labels.get_mut(bci) {
                *slot = Some((label, throws));
            }
        })?;
    }
    let mut runs = Runs::default();
    let mut bci = 0;
    while bci < method.code.len() {
        let instruction = Instruction::at(method.code, bci)?;
        let known = labels.get(bci).copied().flatten();
        match known {
            Some((Some(label), throws)) => {
                runs.uncovered += u32::from(label == Label::Uncovered);
                runs.push(bci, label, throws);
            }
            Some((None, _)) => {
                runs.calls.push(bci as u16);
                runs.push(bci, Label::Uncovered, true);
            }
            // Never run.
            None => runs.push(bci, Label::Uncovered, true),
        }
        bci += instruction.bytes.len();
    }
    Ok(runs)
}

impl<'a> Flow<'_, '_, 'a> {
    /// Merges `fact` into what is known at `bci`.
    fn join(&mut self, bci: u16, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        self.work
            .spend(fact.state.locals.len() + fact.state.stack.len())?;
        let fact = Fact {
            this: fact.this,
            state: essence(&fact.state),
        };
        match self.facts.get_mut(&bci) {
            None => {
                self.facts.insert(bci, fact);
                self.waiting.push(bci);
            }
            Some(known) => {
                if merge(known, &fact)? {
                    self.waiting.push(bci);
                }
            }
        }
        Ok(())
    }

    fn jump(&mut self, target: Option<i64>, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        let target = target.unwrap_or(-1);
        match u16::try_from(target) {
            Ok(bci) if usize::from(bci) < self.method.code.len() => self.join(bci, fact),
            _ => Err(ErrorKind::BadBytecodeOffset(target)),
        }
    }

    /// Walks from a block's beginning to the first instruction that does not
    /// fall through, or that another block begins at. `see` gets offset,
    /// label (`None` for the initialising call) and whether it can throw.
    fn walk(
        &mut self,
        block: u16,
        see: &mut impl FnMut(usize, Option<Label>, bool),
    ) -> Result<(), ErrorKind> {
        let Some(mut fact) = self.facts.get(&block).cloned() else {
            return Ok(());
        };
        let mut bci = usize::from(block);
        // Whether handlers may have something new to see.
        let mut changed = true;
        loop {
            let instruction = Instruction::at(self.method.code, bci)?;
            self.work.spend(fact.state.locals.len())?;
            if changed || self.begins.get(bci) == Some(&true) {
                self.reach_handlers(bci, &fact)?;
            }
            let opcode = instruction.acting_opcode();
            let before = label(fact.this, &fact.state);
            changed = matches!(opcode.effect(), Effect::Store(_) | Effect::StoreN(..));
            if fact.state.step(&instruction, self.method)? == Step::InitialisedThis {
                fact.this = This::Initialised;
                changed = true;
                see(bci, None, can_throw(opcode));
            } else {
                see(bci, Some(before), can_throw(opcode));
            }
            let next = bci + instruction.bytes.len();
            match instruction.acting_opcode().effect() {
                Effect::Subroutine => {
                    self.subroutine(&instruction, next, &fact)?;
                }
                Effect::SubroutineReturn => {
                    self.subroutine_return(instruction.local(), &fact)?;
                }
                Effect::Switch => {
                    let switch = instruction.switch().ok_or(ErrorKind::BadSwitch)?;
                    let base = instruction.bci as i64;
                    self.jump(Some(base + i64::from(switch.default)), &fact)?;
                    for (_, offset) in switch.cases() {
                        self.jump(Some(base + i64::from(offset)), &fact)?;
                    }
                }
                _ => {
                    if let Some(target) = instruction.jump_target() {
                        self.jump(Some(target), &fact)?;
                    }
                }
            }
            if instruction.opcode.ends_block()
                || matches!(
                    instruction.acting_opcode().effect(),
                    Effect::Subroutine | Effect::SubroutineReturn
                )
            {
                return Ok(());
            }
            if next >= self.method.code.len() {
                return Err(ErrorKind::BadBytecodeOffset(next as i64));
            }
            if self.facts.contains_key(&(next as u16)) {
                return self.join(next as u16, &fact);
            }
            bci = next;
        }
    }

    fn reach_handlers(&mut self, bci: usize, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        self.work.spend(self.table.len())?;
        for entry in self.table.clone() {
            if (usize::from(entry.start_pc)..usize::from(entry.end_pc)).contains(&bci) {
                let state = State {
                    locals: fact.state.locals.clone(),
                    stack: vec![V::object(None, b"java/lang/Throwable")],
                };
                let this = fact.this;
                self.join(entry.handler_pc, &Fact { this, state })?;
            }
        }
        Ok(())
    }

    fn subroutine(
        &mut self,
        instruction: &Instruction<'a>,
        next: usize,
        fact: &Fact<'a>,
    ) -> Result<(), ErrorKind> {
        let target = instruction.jump_target();
        self.jump(target, fact)?;
        // `jump` refused what does not fit.
        let entry = target.unwrap_or(0) as u16;
        let returns = self.returns.entry(entry).or_default();
        if !returns.contains(&(next as u16)) {
            returns.push(next as u16);
        }
        match self.at_ret.get(&entry).cloned() {
            Some(fact) => self.jump(Some(next as i64), &fact),
            None => Ok(()),
        }
    }

    fn subroutine_return(&mut self, local: u16, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        let Some(&V::ReturnAddress(entry)) = fact.state.locals.get(usize::from(local)) else {
            return Err(ErrorKind::BadOperandStack("ret to no return address"));
        };
        match self.at_ret.get_mut(&entry) {
            Some(known) => {
                merge(known, fact)?;
            }
            None => {
                self.at_ret.insert(entry, fact.clone());
            }
        }
        let fact = self.at_ret.get(&entry).unwrap_or(fact).clone();
        for next in self.returns.get(&entry).cloned().unwrap_or_default() {
            self.jump(Some(i64::from(next)), &fact)?;
        }
        Ok(())
    }
}

/// What of a state data flow asks about: where the uninitialised `this` is,
/// and where subroutines return to. The rest is `Top`, so that facts are small
/// and settle soon.
fn essence<'a>(state: &State<'a>) -> State<'a> {
    let keep = |value: &V<'a>| match value {
        V::UninitializedThis | V::ReturnAddress(_) => *value,
        _ => V::Top,
    };
    let mut locals: Vec<V<'a>> = state.locals.iter().map(keep).collect();
    while locals.last() == Some(&V::Top) {
        locals.pop();
    }
    State {
        locals,
        stack: state.stack.iter().map(keep).collect(),
    }
}

/// Weakens `known` to what holds in `other` too; whether it changed.
fn merge(known: &mut Fact<'_>, other: &Fact<'_>) -> Result<bool, ErrorKind> {
    let (a, b) = (&mut known.state, &other.state);
    if a.stack.len() != b.stack.len() {
        return Err(ErrorKind::BadOperandStack("of two depths at one place"));
    }
    let mut changed = a.locals.len() > b.locals.len();
    a.locals.truncate(b.locals.len());
    for (a, b) in a
        .locals
        .iter_mut()
        .zip(&b.locals)
        .chain(a.stack.iter_mut().zip(&b.stack))
    {
        if *a != *b && *a != V::Top {
            *a = V::Top;
            changed = true;
        }
    }
    if known.this != other.this && known.this != This::Mixed {
        known.this = This::Mixed;
        changed = true;
    }
    Ok(changed)
}
