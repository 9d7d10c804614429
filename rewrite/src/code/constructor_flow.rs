//! Labels of a constructor's instructions, found by data flow, which also follows `jsr` and `ret`. This code is
//! used if the JVM does not use the frames of a class: below version 50, and in version 50 if the JVM falls back
//! to the old verifier.

use std::collections::BTreeMap;

use crate::code::bci::Bci;
use crate::code::constructor::{Label, Runs, This, can_throw, label};
use crate::code::handlers::ExceptionTable;
use crate::code::instructions::Instruction;
use crate::code::simulate::{MethodBody, Step, TypeState};
use crate::code::types::VerificationType as V;
use crate::code::work::WorkBudget;
use crate::error::ErrorKind;
use crate::opcode::Effect;

/// The facts that data flow knows at the beginning of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact<'a> {
    this: This,
    state: TypeState<'a>,
}

/// Data flow over blocks: repeats until the facts at the beginnings of all blocks stay unchanged.
struct Flow<'m, 'c, 'a> {
    method: &'m MethodBody<'c, 'a>,
    table: ExceptionTable<'a>,
    /// For each offset of the code, true if the range of a handler starts there.
    range_starts: Vec<bool>,
    /// The facts at the beginning of each block.
    facts: BTreeMap<Bci, Fact<'a>>,
    /// The blocks whose facts have changed since they were walked last.
    waiting: Vec<Bci>,
    /// For each subroutine, by its first instruction: the offsets to which the subroutine returns.
    returns: BTreeMap<Bci, Vec<Bci>>,
    /// For each subroutine: the facts at its `ret`s.
    at_ret: BTreeMap<Bci, Fact<'a>>,
    work: &'m mut WorkBudget,
}

/// Finds by data flow which handler may cover each instruction. No handler covers
/// an instruction that no path reaches.
pub(crate) fn by_data_flow<'a>(
    method: &MethodBody<'_, 'a>,
    table: ExceptionTable<'a>,
    work: &mut WorkBudget,
) -> Result<Runs, ErrorKind> {
    let mut range_starts = vec![false; method.code.len() + 1];
    for entry in table.clone() {
        if let Some(slot) = range_starts.get_mut(entry.start_pc.index()) {
            *slot = true;
        }
    }
    let mut flow = Flow {
        method,
        table,
        range_starts,
        facts: BTreeMap::new(),
        waiting: Vec::new(),
        returns: BTreeMap::new(),
        at_ret: BTreeMap::new(),
        work,
    };
    let state = method.initial()?;
    flow.join(
        Bci::START,
        &Fact {
            this: This::Uninitialised,
            state,
        },
    )?;
    while let Some(block) = flow.waiting.pop() {
        flow.walk(block, &mut |_, _, _| {})?;
    }

    let mut labels = vec![None; method.code.len()];
    let blocks: Vec<Bci> = flow.facts.keys().copied().collect();
    for block in blocks {
        flow.walk(block, &mut |bci, label, throws| {
            if let Some(slot) = labels.get_mut(bci.index()) {
                *slot = Some((label, throws));
            }
        })?;
    }
    let mut runs = Runs::default();
    let mut bci = Bci::START;
    while bci.index() < method.code.len() {
        let instruction = Instruction::at(method.code, bci)?;
        match labels.get(bci.index()).copied().flatten() {
            Some((Some(label), throws)) => {
                runs.uncovered += u32::from(label == Label::Uncovered);
                runs.push(bci, label, throws);
            }
            Some((None, _)) => {
                runs.calls.push(bci);
                runs.push(bci, Label::Uncovered, true);
            }
            // No path reaches the instruction.
            None => runs.push(bci, Label::Uncovered, true),
        }
        bci = instruction.end();
    }
    Ok(runs)
}

impl<'a> Flow<'_, '_, 'a> {
    /// Merges `fact` into the facts at `bci`.
    fn join(&mut self, bci: Bci, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        self.work
            .spend(fact.state.locals.len() + fact.state.stack.len())?;
        let reduced = Fact {
            this: fact.this,
            state: essence(&fact.state),
        };
        match self.facts.get_mut(&bci) {
            None => {
                self.facts.insert(bci, reduced);
                self.waiting.push(bci);
            }
            Some(known) => {
                if merge(known, &reduced)? {
                    self.waiting.push(bci);
                }
            }
        }
        Ok(())
    }

    /// Merges `fact` into the facts at the target of a jump, and returns the
    /// target.
    fn jump(&mut self, target: i64, fact: &Fact<'a>) -> Result<Bci, ErrorKind> {
        let bci = Bci::try_from_target(target)?;
        if bci.index() >= self.method.code.len() {
            return Err(ErrorKind::BadBytecodeOffset(target));
        }
        self.join(bci, fact)?;
        Ok(bci)
    }

    /// Walks from a block's first instruction to the first instruction that does not fall through, or up to the
    /// beginning of another block. `see` gets the offset of each instruction, its label (`None` for the call that
    /// initialises `this`), and true if the instruction can throw.
    fn walk(
        &mut self,
        block: Bci,
        see: &mut impl FnMut(Bci, Option<Label>, bool),
    ) -> Result<(), ErrorKind> {
        let Some(mut fact) = self.facts.get(&block).cloned() else {
            return Ok(());
        };
        let mut bci = block;
        // True if the facts for handlers may have changed.
        let mut changed = true;
        loop {
            let instruction = Instruction::at(self.method.code, bci)?;
            self.work.spend(fact.state.locals.len())?;
            if changed || self.range_starts.get(bci.index()) == Some(&true) {
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
            self.follow(&instruction, &fact)?;
            let is_last = instruction.opcode.ends_block()
                || matches!(
                    opcode.effect(),
                    Effect::Subroutine | Effect::SubroutineReturn
                );
            if is_last {
                return Ok(());
            }
            let next = instruction.end();
            if next.index() >= self.method.code.len() {
                return Err(ErrorKind::BadBytecodeOffset(i64::from(next)));
            }
            if self.facts.contains_key(&next) {
                return self.join(next, &fact);
            }
            bci = next;
        }
    }

    /// Merges `fact` into the facts at every offset that `instruction` jumps to.
    fn follow(&mut self, instruction: &Instruction<'a>, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        match instruction.acting_opcode().effect() {
            Effect::Subroutine => self.subroutine(instruction, fact),
            Effect::SubroutineReturn => self.subroutine_return(instruction.local(), fact),
            Effect::Switch => {
                let switch = instruction.switch().ok_or(ErrorKind::BadSwitch)?;
                let base = i64::from(instruction.bci);
                self.jump(base + i64::from(switch.default), fact)?;
                for (_, offset) in switch.cases() {
                    self.jump(base + i64::from(offset), fact)?;
                }
                Ok(())
            }
            _ => {
                if let Some(target) = instruction.jump_target() {
                    self.jump(target, fact)?;
                }
                Ok(())
            }
        }
    }

    /// Merges `fact` into the facts at the handlers that cover `bci`.
    fn reach_handlers(&mut self, bci: Bci, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        self.work.spend(self.table.len())?;
        for entry in self.table.clone() {
            if (entry.start_pc..entry.end_pc).contains(&bci) {
                let state = TypeState {
                    locals: fact.state.locals.clone(),
                    stack: vec![V::object(None, b"java/lang/Throwable")],
                };
                let this = fact.this;
                self.join(entry.handler_pc, &Fact { this, state })?;
            }
        }
        Ok(())
    }

    /// Follows a `jsr` into the subroutine. Also continues after the `jsr`, with the facts at the subroutine's
    /// `ret`s.
    fn subroutine(&mut self, jsr: &Instruction<'a>, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        let next = jsr.end();
        let entry = self.jump(jsr.jump_target().unwrap_or(-1), fact)?;
        let returns = self.returns.entry(entry).or_default();
        if !returns.contains(&next) {
            returns.push(next);
        }
        if let Some(at_ret) = self.at_ret.get(&entry).cloned() {
            self.jump(i64::from(next), &at_ret)?;
        }
        Ok(())
    }

    /// Follows a `ret`, which takes the return address from the slot `local`.
    fn subroutine_return(&mut self, local: u16, fact: &Fact<'a>) -> Result<(), ErrorKind> {
        let Some(&V::ReturnAddress(entry)) = fact.state.locals.get(usize::from(local)) else {
            return Err(ErrorKind::BadOperandStack("ret without a return address"));
        };
        match self.at_ret.get_mut(&entry) {
            Some(known) => {
                merge(known, fact)?;
            }
            None => {
                self.at_ret.insert(entry, fact.clone());
            }
        }
        let at_ret = self.at_ret.get(&entry).unwrap_or(fact).clone();
        for next in self.returns.get(&entry).cloned().unwrap_or_default() {
            self.jump(i64::from(next), &at_ret)?;
        }
        Ok(())
    }
}

/// Returns the part of a state that data flow needs: the slots that hold the uninitialised `this`, and those that
/// hold return addresses. All other slots become `Top`, so that facts are small and soon stop changing.
fn essence<'a>(state: &TypeState<'a>) -> TypeState<'a> {
    let keep = |value: &V<'a>| match value {
        V::UninitializedThis | V::ReturnAddress(_) => *value,
        _ => V::Top,
    };
    let mut locals: Vec<V<'a>> = state.locals.iter().map(keep).collect();
    while locals.last() == Some(&V::Top) {
        locals.pop();
    }
    TypeState {
        locals,
        stack: state.stack.iter().map(keep).collect(),
    }
}

/// Weakens `known` to the facts that also hold in `other`. Returns whether `known` changed.
fn merge(known: &mut Fact<'_>, other: &Fact<'_>) -> Result<bool, ErrorKind> {
    let (a, b) = (&mut known.state, &other.state);
    if a.stack.len() != b.stack.len() {
        return Err(ErrorKind::BadOperandStack("two depths at one instruction"));
    }
    let mut changed = a.locals.len() > b.locals.len();
    a.locals.truncate(b.locals.len());
    let locals = a.locals.iter_mut().zip(&b.locals);
    let stack = a.stack.iter_mut().zip(&b.stack);
    for (known_type, other_type) in locals.chain(stack) {
        if *known_type != *other_type && *known_type != V::Top {
            *known_type = V::Top;
            changed = true;
        }
    }
    if known.this != other.this && known.this != This::Mixed {
        known.this = This::Mixed;
        changed = true;
    }
    Ok(changed)
}
