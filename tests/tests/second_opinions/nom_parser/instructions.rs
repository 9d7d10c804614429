//! Compares instructions and their operands with the instructions that `classfile-parser` reads.

use std::cell::RefCell;

use anyhow::{Context, Result, ensure};
use classfile_parser::code_attribute::Instruction as TheirInstruction;
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::opcode::Opcode;

use crate::names::{Variants, same};

thread_local! {
    static NAMES: RefCell<Variants<TheirInstruction>> = RefCell::default();
    /// Loadhook's names of each opcode: the narrow and the wide form.
    static OURS: Vec<[String; 2]> = (0..=255)
        .map(|byte| {
            let name = Opcode::from_byte(byte).map_or(String::new(), |it| it.mnemonic().replace('_', ""));
            [name.clone(), name + "wide"]
        })
        .collect();
}

pub(super) fn instruction(ours: &Instruction<'_>, theirs: &TheirInstruction) -> Result<()> {
    use TheirInstruction as T;
    let is_wide = ours.opcode == Opcode::Wide;
    NAMES.with_borrow_mut(|names| {
        OURS.with(|all| {
            let name = &all[usize::from(ours.acting_opcode().byte())][usize::from(is_wide)];
            same!("opcode", name.as_str(), names.name(theirs));
            Ok(())
        })
    })?;
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
        | T::Ret(n) => same!("local", ours.local(), u16::from(*n)),
        T::AloadWide(n)
        | T::AstoreWide(n)
        | T::DloadWide(n)
        | T::DstoreWide(n)
        | T::FloadWide(n)
        | T::FstoreWide(n)
        | T::IloadWide(n)
        | T::IstoreWide(n)
        | T::LloadWide(n)
        | T::LstoreWide(n)
        | T::RetWide(n) => same!("local", ours.local(), *n),
        T::Iinc { index, value } => same!(
            "increment",
            (ours.local(), ours.u1(2) as i8),
            (u16::from(*index), *value)
        ),
        T::IincWide { index, value } => same!(
            "increment",
            (ours.local(), ours.u2(4) as i16),
            (*index, *value)
        ),
        T::Bipush(value) => same!("value", ours.u1(1) as i8, *value),
        T::Sipush(value) => same!("value", ours.u2(1) as i16, *value),
        T::Newarray(code) => same!("type", ours.u1(1), *code),
        T::Ldc(n) => same!("constant", ours.constant().0, u16::from(*n)),
        T::LdcW(n)
        | T::Ldc2W(n)
        | T::Getfield(n)
        | T::Getstatic(n)
        | T::Putfield(n)
        | T::Putstatic(n)
        | T::Invokevirtual(n)
        | T::Invokespecial(n)
        | T::Invokestatic(n)
        | T::Invokedynamic(n)
        | T::New(n)
        | T::Anewarray(n)
        | T::Checkcast(n)
        | T::Instanceof(n) => same!("constant", ours.constant().0, *n),
        T::Invokeinterface { index, count } => {
            same!(
                "constant",
                (ours.constant().0, ours.u1(3)),
                (*index, *count)
            )
        }
        T::Multianewarray { index, dimensions } => same!(
            "constant",
            (ours.constant().0, ours.u1(3)),
            (*index, *dimensions)
        ),
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
        T::GotoW(by) | T::JsrW(by) => same!(
            "target",
            ours.jump_target(),
            Some(i64::from(ours.bci) + i64::from(*by))
        ),
        T::Lookupswitch { default, pairs } => {
            let ours = ours.switch().context("Loadhook finds no switch")?;
            same!("default", ours.default, *default);
            ensure!(
                ours.cases().eq(pairs.iter().copied()),
                "the cases of a switch differ"
            );
        }
        T::Tableswitch {
            default,
            low,
            high,
            offsets,
        } => {
            let ours = ours.switch().context("Loadhook finds no switch")?;
            same!("bounds", (ours.default, ours.low), (*default, Some(*low)));
            same!("cases", ours.cases().last().map(|it| it.0), Some(*high));
            ensure!(
                ours.cases().map(|it| it.1).eq(offsets.iter().copied()),
                "the targets of a switch differ"
            );
        }
        // The other instructions have no operand.
        _ => same!("length", ours.bytes.len(), 1),
    }
    Ok(())
}
