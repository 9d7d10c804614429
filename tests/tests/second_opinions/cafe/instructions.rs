//! Compares instructions and their operands with the instructions that `cafebabe` reads.

use std::mem::{Discriminant, discriminant};

use anyhow::{Context, Result, ensure};
use cafebabe::bytecode::{Opcode as TheirOpcode, PrimitiveArrayType};
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::constant_pool::ConstantPool;
use loadhook_rewrite::opcode::Opcode;

use super::constants::{call_site, class_or_array, loadable, member};
use crate::names::{same, same_text};

/// Pairs of opcodes whose names were found to be equal. Comparing the names by `Debug` each time
/// would take minutes.
pub(super) type Known<'a> = Vec<Option<Discriminant<TheirOpcode<'a>>>>;

/// Fails unless both opcodes are the same instruction. `cafebabe` uses one name for the forms of an
/// instruction: narrow, wide, and with the operand in the opcode (`iload_0`).
fn same_name<'a>(opcode: Opcode, theirs: &TheirOpcode<'a>, known: &mut Known<'a>) -> Result<()> {
    let known = known
        .get_mut(usize::from(opcode.byte()))
        .context("the table has no entry for this opcode")?;
    if *known != Some(discriminant(theirs)) {
        let text = format!("{theirs:?}");
        let name = text
            .split(|it: char| !it.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let mnemonic = opcode.mnemonic();
        let ours = match opcode.byte() {
            // These opcodes have another name in `cafebabe`: iload_0 to aload_3, istore_0 to
            // astore_3; goto_w, jsr_w.
            0x1a..=0x2d | 0x3b..=0x4e | 0xc8 | 0xc9 => {
                mnemonic.split('_').next().unwrap_or(mnemonic).to_owned()
            }
            _ => mnemonic.replace('_', ""),
        };
        same!("opcode", ours, name.to_lowercase());
        *known = Some(discriminant(theirs));
    }
    Ok(())
}

/// Returns the number of the local variable that an instruction uses, from its operand or its
/// opcode.
fn local(ours: &Instruction<'_>) -> u16 {
    match ours.opcode.byte() {
        opcode @ 0x1a..=0x2d => u16::from((opcode - 0x1a) % 4),
        opcode @ 0x3b..=0x4e => u16::from((opcode - 0x3b) % 4),
        _ => ours.local(),
    }
}

pub(super) fn same_instruction<'a>(
    pool: &ConstantPool<'_>,
    ours: &Instruction<'_>,
    theirs: &TheirOpcode<'a>,
    known: &mut Known<'a>,
) -> Result<()> {
    use TheirOpcode as T;
    same_name(ours.acting_opcode(), theirs, known)?;
    let constant = || pool.class_name(ours.constant());
    match theirs {
        T::Aload(n)
        | T::Astore(n)
        | T::Dload(n)
        | T::Dstore(n)
        | T::Fload(n)
        | T::Fstore(n)
        | T::Iload(n)
        | T::Istore(n)
        | T::Lload(n)
        | T::Lstore(n)
        | T::Ret(n) => same!("local", local(ours), *n),
        T::Iinc(n, by) => {
            same!("local", ours.local(), *n);
            let increment = match ours.opcode {
                Opcode::Wide => ours.u2(4) as i16,
                _ => i16::from(ours.u1(2) as i8),
            };
            same!("increment", increment, *by);
        }
        T::Bipush(value) => same!("value", ours.u1(1) as i8, *value),
        T::Sipush(value) => same!("value", ours.u2(1) as i16, *value),
        T::Goto(by)
        | T::Jsr(by)
        | T::IfAcmpeq(by)
        | T::IfAcmpne(by)
        | T::IfIcmpeq(by)
        | T::IfIcmpge(by)
        | T::IfIcmpgt(by)
        | T::IfIcmple(by)
        | T::IfIcmplt(by)
        | T::IfIcmpne(by)
        | T::Ifeq(by)
        | T::Ifge(by)
        | T::Ifgt(by)
        | T::Ifle(by)
        | T::Iflt(by)
        | T::Ifne(by)
        | T::Ifnonnull(by)
        | T::Ifnull(by) => {
            same!(
                "target",
                ours.jump_target(),
                Some(i64::from(ours.bci) + i64::from(*by))
            );
        }
        T::Lookupswitch(theirs) => {
            let ours = ours.switch().context("Loadhook finds no switch")?;
            same!("default", ours.default, theirs.default);
            same!("low", ours.low, None);
            ensure!(
                ours.cases().eq(theirs.match_offsets.iter().copied()),
                "the cases of a switch differ"
            );
        }
        T::Tableswitch(theirs) => {
            let ours = ours.switch().context("Loadhook finds no switch")?;
            same!("default", ours.default, theirs.default);
            same!("low", ours.low, Some(theirs.low));
            same!(
                "cases",
                ours.cases().count() as i64,
                i64::from(theirs.high) - i64::from(theirs.low) + 1
            );
            ensure!(
                ours.cases().map(|it| it.1).eq(theirs.jumps.iter().copied()),
                "the targets of a switch differ"
            );
        }
        T::Ldc(theirs) | T::LdcW(theirs) | T::Ldc2W(theirs) => {
            loadable(pool, ours.constant(), theirs)?
        }
        T::Getfield(theirs)
        | T::Getstatic(theirs)
        | T::Putfield(theirs)
        | T::Putstatic(theirs)
        | T::Invokespecial(theirs)
        | T::Invokestatic(theirs)
        | T::Invokevirtual(theirs) => member(pool, ours.constant(), theirs)?,
        T::Invokeinterface(theirs, count) => {
            member(pool, ours.constant(), theirs)?;
            same!("count", ours.u1(3), *count);
        }
        T::Invokedynamic(theirs) => call_site(pool, ours.constant(), theirs)?,
        T::New(theirs) => same_text("class", constant()?, theirs)?,
        T::Anewarray(theirs) | T::Checkcast(theirs) | T::Instanceof(theirs) => {
            class_or_array(constant()?, theirs)?
        }
        T::Multianewarray(theirs, dimensions) => {
            class_or_array(constant()?, theirs)?;
            same!("dimensions", ours.u1(3), *dimensions);
        }
        T::Newarray(theirs) => {
            let theirs = match theirs {
                PrimitiveArrayType::Boolean => 4,
                PrimitiveArrayType::Char => 5,
                PrimitiveArrayType::Float => 6,
                PrimitiveArrayType::Double => 7,
                PrimitiveArrayType::Byte => 8,
                PrimitiveArrayType::Short => 9,
                PrimitiveArrayType::Int => 10,
                PrimitiveArrayType::Long => 11,
            };
            same!("type", ours.u1(1), theirs);
        }
        // The other instructions have no operand.
        _ => same!("length", ours.bytes.len(), 1),
    }
    Ok(())
}
