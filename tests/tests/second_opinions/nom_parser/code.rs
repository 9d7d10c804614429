//! Compares the code of methods, with handlers and frames, with the code that `classfile-parser`
//! reads.

use anyhow::{Context, Result, anyhow, bail, ensure};
use classfile_parser::attribute_info::{
    StackMapFrame, VerificationTypeInfo as Theirs, code_attribute_parser,
    stack_map_table_attribute_parser,
};
use classfile_parser::code_attribute::code_parser;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::types::VerificationType as Ours;
use loadhook_rewrite::{CpIndex, Structure};

use super::attributes::attributes;
use super::instructions::instruction;
use crate::names::same;

pub(super) fn code(method: &Member<'_, '_>, info: &[u8]) -> Result<()> {
    let ours = method.code()?.context("Loadhook finds no code")?;
    let (rest, theirs) = code_attribute_parser(info)
        .map_err(|_| anyhow!("classfile-parser does not read the code"))?;
    ensure!(
        rest.is_empty(),
        "classfile-parser leaves {} bytes of the attribute unread",
        rest.len()
    );
    same!("max_stack", ours.max_stack, theirs.max_stack);
    same!("max_locals", ours.max_locals, theirs.max_locals);
    same!("code", ours.bytecode, &theirs.code[..]);
    same!(
        "handlers",
        ours.exception_table().len(),
        theirs.exception_table.len()
    );
    for (ours, theirs) in ours.exception_table().zip(&theirs.exception_table) {
        same!(
            "handler",
            (
                ours.start_pc.0,
                ours.end_pc.0,
                ours.handler_pc.0,
                ours.catch_type.0
            ),
            (
                theirs.start_pc,
                theirs.end_pc,
                theirs.handler_pc,
                theirs.catch_type
            )
        );
    }
    let (rest, instructions) = code_parser(&theirs.code)
        .map_err(|_| anyhow!("classfile-parser does not read the instructions"))?;
    ensure!(
        rest.is_empty(),
        "classfile-parser does not read the last {} bytes of code",
        rest.len()
    );
    same!(
        "instructions",
        ours.instructions().count(),
        instructions.len()
    );
    for (ours, (at, theirs)) in ours.instructions().zip(&instructions) {
        let ours = ours.map_err(|kind| anyhow!("{kind}"))?;
        same!("offset", ours.bci.index(), *at);
        instruction(&ours, theirs).with_context(|| format!("instruction at {at}"))?;
    }
    let list = theirs
        .attributes
        .iter()
        .map(|it| (it.attribute_name_index, &it.info[..]));
    attributes(ours.attributes(), list)?;
    let pool = method.class().pool();
    for attribute in ours.attributes() {
        let attribute = attribute?;
        if pool.utf8(attribute.name_index)? == b"StackMapTable" {
            let (rest, theirs) = stack_map_table_attribute_parser(attribute.info)
                .map_err(|_| anyhow!("classfile-parser does not read the frames"))?;
            ensure!(
                rest.is_empty(),
                "classfile-parser leaves {} bytes of frames unread",
                rest.len()
            );
            let reader = attribute.reader(Structure::Named("StackMapTable"));
            let frames: Vec<_> =
                Frames::new(pool, reader, FrameFormat::StackMapTable)?.collect::<Result<_, _>>()?;
            same!("frames", frames.len(), theirs.entries.len());
            let mut next = 0;
            for (ours, theirs) in frames.iter().zip(&theirs.entries) {
                next = 1 + frame(ours, theirs, next)
                    .with_context(|| format!("frame at {}", ours.bci))?;
            }
        }
    }
    Ok(())
}

/// Compares two frames. Returns the offset of the frame.
fn frame(ours: &RawFrame<'_>, theirs: &StackMapFrame, next: usize) -> Result<usize> {
    let none: &[Theirs] = &[];
    let (kind, delta, locals, stack) = match theirs {
        StackMapFrame::SameFrame { frame_type } => {
            (*frame_type, u16::from(*frame_type), none, none)
        }
        StackMapFrame::SameLocals1StackItemFrame { frame_type, stack } => (
            *frame_type,
            u16::from(*frame_type) - 64,
            none,
            std::slice::from_ref(stack),
        ),
        StackMapFrame::SameLocals1StackItemFrameExtended {
            frame_type,
            offset_delta,
            stack,
        } => (
            *frame_type,
            *offset_delta,
            none,
            std::slice::from_ref(stack),
        ),
        StackMapFrame::ChopFrame {
            frame_type,
            offset_delta,
        }
        | StackMapFrame::SameFrameExtended {
            frame_type,
            offset_delta,
        } => (*frame_type, *offset_delta, none, none),
        StackMapFrame::AppendFrame {
            frame_type,
            offset_delta,
            locals,
        } => (*frame_type, *offset_delta, &locals[..], none),
        StackMapFrame::FullFrame {
            frame_type,
            offset_delta,
            locals,
            stack,
            ..
        } => (*frame_type, *offset_delta, &locals[..], &stack[..]),
    };
    same!("type", ours.frame_type, kind);
    let at = next + usize::from(delta);
    same!("offset", usize::from(ours.bci), at);
    for (ours, theirs) in [(&ours.locals, locals), (&ours.stack, stack)] {
        same!("values", ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs) {
            match (ours, theirs) {
                (Ours::Top, Theirs::Top)
                | (Ours::Integer, Theirs::Integer)
                | (Ours::Float, Theirs::Float)
                | (Ours::Long, Theirs::Long)
                | (Ours::Double, Theirs::Double)
                | (Ours::Null, Theirs::Null)
                | (Ours::UninitializedThis, Theirs::UninitializedThis) => {}
                (Ours::Uninitialized(ours), Theirs::Uninitialized { offset }) => {
                    same!("new", ours.0, *offset)
                }
                (Ours::Object(ours), Theirs::Object { class }) => {
                    same!("class", ours.index, Some(CpIndex(*class)))
                }
                (ours, theirs) => bail!("Loadhook: {ours:?}, classfile-parser: {theirs:?}"),
            }
        }
    }
    Ok(at)
}
