//! Which instructions the added handlers cover, and where those lie.

use crate::code::constructor::{self, Label, Run};
use crate::code::frames::FrameFormat;
use crate::code::handlers::Cover;
use crate::code::relocation::{EventKind, Snippet};
use crate::code::simulate::Method;
use crate::code::{Bci, Code, NewBci};
use crate::error::ErrorKind;
use crate::method::{FIRST_WITH_FRAMES, MethodPlanner, Table};
use crate::outcome::Refusal;

impl MethodPlanner {
    /// Finds the ranges for the added handlers and places those behind the
    /// code, one for each label.
    pub(super) fn cover(
        &mut self,
        labelled: Option<&constructor::Runs>,
        exit: Snippet,
    ) -> Result<u32, Refusal> {
        let whole = [Run {
            start: 0,
            label: Label::Initialised,
            can_throw: true,
        }];
        let (runs, uncovered) = match labelled {
            None => (&whole[..], 0),
            Some(labelled) => (&labelled.runs[..], labelled.uncovered),
        };
        self.covers.clear();
        self.cover_runs(runs)?;

        self.handlers.clear();
        self.blocks.clear();
        let block_len = u32::from(exit.len) + 1;
        let end = self.relocation.new_length();
        for &(start, end_pc, label) in &self.covers {
            let handler = match self.blocks.iter().find(|block| block.0 == label) {
                Some(&(_, handler)) => handler,
                None => {
                    let handler = NewBci(end + block_len * self.blocks.len() as u32);
                    self.blocks.push((label, handler));
                    handler
                }
            };
            self.handlers.push(Cover {
                start,
                end: end_pc,
                handler,
            });
        }
        Ok(uncovered)
    }

    /// The ranges of `runs` that can throw, without the exit probes and their
    /// returns.
    fn cover_runs(&mut self, runs: &[Run]) -> Result<(), ErrorKind> {
        let Some((first, mut rest)) = runs.split_first() else {
            return Ok(());
        };
        let mut run = *first;
        let mut start = self.relocation.entry_len;
        let covers = &mut self.covers;
        let mut close = |run: Run, start: u32, end: u32| {
            if run.label != Label::Uncovered && run.can_throw && start < end {
                covers.push((NewBci(start), NewBci(end), run.label));
            }
        };
        let next_run = |rest: &mut &[Run], up_to: u16| match *rest {
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
                let NewBci(at) = self.relocation.target(Bci(next.start))?;
                close(run, start, at);
                (run, start) = (next, at.max(start));
            }
            close(run, start, event.position);
            start = event.position + u32::from(event.snippet.len) + 1;
        }
        while let Some(next) = next_run(&mut rest, u16::MAX) {
            let NewBci(at) = self.relocation.target(Bci(next.start))?;
            close(run, start, at);
            (run, start) = (next, at.max(start));
        }
        close(run, start, self.relocation.new_length());
        Ok(())
    }

    /// Labels a constructor's instructions; one that cannot be followed gets
    /// no handler.
    pub(super) fn label_constructor(
        &mut self,
        method: &Method<'_, '_>,
        code: &Code<'_>,
    ) -> constructor::Runs {
        let major = method.class.major_version();
        let mut labelled = None;
        if major >= FIRST_WITH_FRAMES {
            let format = FrameFormat::StackMapTable;
            let frames = self.expand_frames(method, self.located(Table::Frames(format)), format);
            labelled = frames
                .and_then(|frames| constructor::with_frames(method, &frames, &mut self.work))
                .ok();
        }
        if labelled.is_none() && major <= FIRST_WITH_FRAMES {
            let table = code.exception_table();
            labelled = constructor::by_data_flow(method, table, &mut self.work).ok();
        }
        labelled.unwrap_or_else(|| constructor::unknown(method))
    }
}
