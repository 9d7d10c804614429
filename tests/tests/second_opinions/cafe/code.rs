//! Compares the code of methods, and the tables inside `Code`, with the code that `cafebabe` reads.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};
use cafebabe::attributes::{
    AttributeData, CodeData, StackMapEntry, TypeAnnotation, TypeAnnotationTarget,
    VerificationType as Theirs,
};
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::type_annotations::{self, Target};
use loadhook_rewrite::code::types::VerificationType as Ours;
use loadhook_rewrite::code::{Code, line_table, local_table};
use loadhook_rewrite::reader::Reader;
use loadhook_rewrite::{Bci, ClassFile, CpIndex, Structure};

use super::attributes::attributes;
use super::instructions::{Known, same_instruction};
use crate::names::{same, same_text};

/// Totals over all methods that were compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) instructions: usize,
    pub(crate) frames: usize,
}

const HERE: Structure = Structure::Named("a second opinion");

pub(super) fn code<'a>(
    class: &ClassFile<'_>,
    ours: &Code<'_>,
    theirs: &CodeData<'a>,
    known: &mut Known<'a>,
    seen: &mut Seen,
) -> Result<()> {
    same!("max_stack", ours.max_stack, theirs.max_stack);
    same!("max_locals", ours.max_locals, theirs.max_locals);
    same!("code", ours.bytecode, theirs.code);
    handlers(class, ours, theirs)?;
    seen.instructions += instructions(class, ours, theirs, known)?;
    attributes(class, ours.attributes(), &theirs.attributes)?;
    for (ours, theirs) in ours.attributes().zip(&theirs.attributes) {
        table(class, ours?.reader(HERE), &theirs.data, seen)?;
    }
    Ok(())
}

fn handlers(class: &ClassFile<'_>, ours: &Code<'_>, theirs: &CodeData<'_>) -> Result<()> {
    let table = ours.exception_table();
    same!("handlers", table.len(), theirs.exception_table.len());
    for (ours, theirs) in table.zip(&theirs.exception_table) {
        same!(
            "handler",
            (ours.start_pc.0, ours.end_pc.0, ours.handler_pc.0),
            (theirs.start_pc, theirs.end_pc, theirs.handler_pc)
        );
        match &theirs.catch_type {
            Some(theirs) => same_text(
                "catch type",
                class.pool().class_name(ours.catch_type)?,
                theirs,
            )?,
            None => same!("catch type", ours.catch_type, CpIndex::NONE),
        }
    }
    Ok(())
}

/// Compares the instructions, and returns their number.
fn instructions<'a>(
    class: &ClassFile<'_>,
    ours: &Code<'_>,
    theirs: &CodeData<'a>,
    known: &mut Known<'a>,
) -> Result<usize> {
    let opcodes = &theirs
        .bytecode
        .as_ref()
        .context("cafebabe reads no bytecode")?
        .opcodes;
    let mut count = 0;
    for (instruction, (at, theirs)) in ours.instructions().zip(opcodes) {
        let instruction = instruction.map_err(|kind| anyhow::anyhow!("{kind}"))?;
        same!("offset", instruction.bci.index(), *at);
        same_instruction(class.pool(), &instruction, theirs, known)
            .with_context(|| format!("instruction at {at}"))?;
        count += 1;
    }
    same!("instructions", ours.instructions().count(), opcodes.len());
    Ok(count)
}

/// Compares a table inside `Code`. `reader` reads ours.
fn table(
    class: &ClassFile<'_>,
    reader: Reader<'_>,
    theirs: &AttributeData<'_>,
    seen: &mut Seen,
) -> Result<()> {
    match theirs {
        AttributeData::LineNumberTable(theirs) => {
            let theirs = theirs.iter().map(|it| (Bci(it.start_pc), it.line_number));
            ensure!(
                line_table::entries(reader)?.eq(theirs),
                "the line tables differ"
            );
        }
        AttributeData::LocalVariableTable(theirs) => {
            let theirs = theirs.iter().map(|it| {
                let descriptor = it.descriptor.to_string().into();
                (it.start_pc, it.length, it.index, &*it.name, descriptor)
            });
            locals(class, reader, theirs)?;
        }
        AttributeData::LocalVariableTypeTable(theirs) => {
            let theirs = theirs.iter().map(|it| {
                let signature = Cow::Borrowed(&*it.signature);
                (it.start_pc, it.length, it.index, &*it.name, signature)
            });
            locals(class, reader, theirs)?;
        }
        AttributeData::StackMapTable(theirs) => {
            let frames: Vec<_> = Frames::new(class.pool(), reader, FrameFormat::StackMapTable)?
                .collect::<Result<_, _>>()?;
            same!("frames", frames.len(), theirs.len());
            let mut next = 0;
            for (ours, theirs) in frames.iter().zip(theirs) {
                next = 1 + frame(ours, theirs, next)
                    .with_context(|| format!("frame at {}", ours.bci))?;
            }
            seen.frames += frames.len();
        }
        AttributeData::RuntimeVisibleTypeAnnotations(theirs)
        | AttributeData::RuntimeInvisibleTypeAnnotations(theirs) => {
            let ours = type_annotations::entries(reader)?;
            same!("type annotations", ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(theirs) {
                type_annotation(class, ours, theirs)?;
            }
        }
        AttributeData::Other(_) => {}
        theirs => {
            bail!("cafebabe reads an attribute that this code should not have: {theirs:?}")
        }
    }
    Ok(())
}

/// Compares a table of local variables with entries of start, length, index, name, and descriptor or signature.
fn locals<'t>(
    class: &ClassFile<'_>,
    reader: Reader<'_>,
    theirs: impl ExactSizeIterator<Item = (u16, u16, u16, &'t str, Cow<'t, str>)>,
) -> Result<()> {
    let ours: Vec<_> = local_table::entries(reader)?.collect();
    same!("locals", ours.len(), theirs.len());
    for (ours, (start, length, index, name, descriptor)) in ours.iter().zip(theirs) {
        same!(
            "local",
            (ours.start_pc.0, ours.length, ours.index),
            (start, length, index)
        );
        let pool = class.pool();
        same_text("local", pool.utf8(ours.name_index)?, name)?;
        same_text("local", pool.utf8(ours.descriptor_index)?, &descriptor)?;
    }
    Ok(())
}

/// Compares two frames. Returns the offset of the frame.
fn frame(ours: &RawFrame<'_>, theirs: &StackMapEntry<'_>, next: usize) -> Result<usize> {
    let none: &[Theirs<'_>] = &[];
    let (delta, locals, stack) = match theirs {
        StackMapEntry::Same { offset_delta } => {
            ensure!(matches!(ours.frame_type, 0..=63 | 251));
            (offset_delta, none, none)
        }
        StackMapEntry::SameLocals1StackItem {
            offset_delta,
            stack,
        } => {
            ensure!(matches!(ours.frame_type, 64..=127 | 247));
            (offset_delta, none, std::slice::from_ref(stack))
        }
        StackMapEntry::Chop {
            offset_delta,
            chop_count,
        } => {
            same!("chopped", 251 - u16::from(ours.frame_type), *chop_count);
            (offset_delta, none, none)
        }
        StackMapEntry::Append {
            offset_delta,
            locals,
        } => {
            same!("appended", usize::from(ours.frame_type) - 251, locals.len());
            (offset_delta, &locals[..], none)
        }
        StackMapEntry::FullFrame {
            offset_delta,
            locals,
            stack,
        } => {
            same!("type", ours.frame_type, 255);
            (offset_delta, &locals[..], &stack[..])
        }
    };
    let at = next + usize::from(*delta);
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
                (Ours::Uninitialized(ours), Theirs::Uninitialized { code_offset }) => {
                    same!("new", ours.0, *code_offset)
                }
                (Ours::Object(ours), Theirs::Object { class_name }) => {
                    same!("dimensions", ours.dimensions, 0);
                    same_text("class", ours.name, class_name)?;
                }
                (ours, theirs) => bail!("Loadhook: {ours:?}, cafebabe: {theirs:?}"),
            }
        }
    }
    Ok(at)
}

fn type_annotation(
    class: &ClassFile<'_>,
    ours: &type_annotations::TypeAnnotation<'_>,
    theirs: &TypeAnnotation<'_>,
) -> Result<()> {
    same!("type path", ours.path.len(), 2 * theirs.target_path.len());
    same_text(
        "type",
        class.pool().utf8(ours.type_index)?,
        &theirs.annotation.type_descriptor.to_string(),
    )?;
    match (&ours.target, &theirs.target_type) {
        (Target::LocalVariable(ours), TypeAnnotationTarget::LocalVar(theirs)) => {
            let theirs: Vec<_> = theirs
                .iter()
                .map(|it| (Bci(it.start_pc), it.length, it.index))
                .collect();
            same!("ranges", ours, &theirs);
        }
        (
            Target::Catch(ours),
            TypeAnnotationTarget::Catch {
                exception_table_index,
            },
        ) => same!("handler", ours, exception_table_index),
        (Target::Offset(ours), TypeAnnotationTarget::Offset { offset }) => {
            same!("offset", ours.0, *offset)
        }
        (
            Target::TypeArgument(ours, which),
            TypeAnnotationTarget::TypeArgument {
                offset,
                type_argument_index,
            },
        ) => {
            same!(
                "argument",
                (ours.0, *which),
                (*offset, *type_argument_index)
            );
        }
        (ours, theirs) => bail!("Loadhook: {ours:?}, cafebabe: {theirs:?}"),
    }
    Ok(())
}
