//! The added handlers: the ranges that they cover, and their positions.

use crate::code::Code;
use crate::code::bci::Bci;
use crate::code::constructor::{self, Label, Run, Runs};
use crate::code::constructor_flow;
use crate::code::frames::FrameFormat;
use crate::code::handlers::AddedHandler;
use crate::code::layout::MethodProbes;
use crate::code::relocation::{EventKind, NewBci};
use crate::code::simulate::MethodBody;
use crate::error::ErrorKind;
use crate::method::located::{FIRST_WITH_FRAMES, TableKind};
use crate::method::planner::{CoveredRange, HandlerBlock, MethodPlanner};
use crate::outcome::Refusal;

impl MethodPlanner {
    /// Finds the ranges that added handlers cover, and places the handlers after the code, one for each [`Label`].
    /// `labels` has the labels of a constructor's instructions; in another method, one handler covers all instructions.
    /// Returns the number of instructions that no handler covers.
    pub(super) fn cover(
        &mut self,
        probes: &MethodProbes,
        labels: Option<&Runs>,
    ) -> Result<u32, Refusal> {
        self.covered.clear();
        self.added_handlers.clear();
        self.blocks.clear();
        if probes.exit.is_none() {
            return Ok(0);
        }
        let whole = [Run {
            start: Bci::START,
            label: Label::Initialised,
            can_throw: true,
        }];
        let (runs, uncovered) = match labels {
            None => (&whole[..], 0),
            Some(labels) => (&labels.runs[..], labels.uncovered),
        };
        self.cover_runs(runs)?;
        let block_len = u32::from(probes.thrown.len) + 1;
        let end = self.relocation.code_end();
        for range in &self.covered {
            let placed = self.blocks.iter().find(|block| block.label == range.label);
            let handler = match placed {
                Some(block) => block.start,
                None => {
                    let start = end + block_len * self.blocks.len() as u32;
                    let label = range.label;
                    self.blocks.push(HandlerBlock { label, start });
                    start
                }
            };
            self.added_handlers.push(AddedHandler {
                start: range.start,
                end: range.end,
                handler,
            });
        }
        Ok(uncovered)
    }

    /// Finds the ranges of the runs that can throw. An exit probe and the return
    /// after it belong to no range.
    fn cover_runs(&mut self, runs: &[Run]) -> Result<(), ErrorKind> {
        let Some((first, mut rest)) = runs.split_first() else {
            return Ok(());
        };
        let mut run = *first;
        let mut start = self.relocation.entry_end;
        let covered = &mut self.covered;
        let mut close = |run: Run, start: NewBci, end: NewBci| {
            if run.label != Label::Uncovered && run.can_throw && start < end {
                covered.push(CoveredRange {
                    start,
                    end,
                    label: run.label,
                });
            }
        };
        let next_run = |rest: &mut &[Run], up_to: Bci| match *rest {
            [next, behind @ ..] if next.start <= up_to => {
                let next = *next;
                *rest = behind;
                Some(next)
            }
            _ => None,
        };
        for event in &self.relocation.events {
            if event.kind != EventKind::InsertExit {
                continue;
            }
            while let Some(next) = next_run(&mut rest, event.bci) {
                let at = self.relocation.target(next.start)?;
                close(run, start, at);
                (run, start) = (next, at.max(start));
            }
            close(run, start, event.position);
            // The return after the probe has one byte.
            start = event.position + u32::from(event.snippet.len) + 1;
        }
        while let Some(next) = next_run(&mut rest, Bci(u16::MAX)) {
            let at = self.relocation.target(next.start)?;
            close(run, start, at);
            (run, start) = (next, at.max(start));
        }
        close(run, start, self.relocation.code_end());
        Ok(())
    }

    /// Labels the instructions of a constructor. If the types in the code cannot be followed, the constructor gets no
    /// handler.
    pub(super) fn label_constructor(
        &mut self,
        method: &MethodBody<'_, '_>,
        code: &Code<'_>,
    ) -> Runs {
        let major = method.class.major_version();
        let mut labelled = None;
        if major >= FIRST_WITH_FRAMES {
            let format = FrameFormat::StackMapTable;
            let table = self.table(TableKind::Frames(format));
            let frames = self.expand_frames(method, table, format);
            labelled = frames
                .and_then(|frames| constructor::with_frames(method, &frames, &mut self.work))
                .ok();
        }
        if labelled.is_none() && major <= FIRST_WITH_FRAMES {
            let table = code.exception_table();
            labelled = constructor_flow::by_data_flow(method, table, &mut self.work).ok();
        }
        labelled.unwrap_or_else(|| constructor::unknown(method))
    }
}
