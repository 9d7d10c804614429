//! The comparison with `classfile-parser`, which does not resolve indexes, and leaves the tables
//! inside `Code` to the caller.

use anyhow::{Context, Result, anyhow, bail, ensure};
use classfile_parser::attribute_info::{
    StackMapFrame, VerificationTypeInfo as Theirs, code_attribute_parser,
    stack_map_table_attribute_parser,
};
use classfile_parser::code_attribute::{Instruction as TheirInstruction, code_parser};
use classfile_parser::constant_info::ConstantInfo;
use classfile_parser::field_info::FieldAccessFlags;
use classfile_parser::method_info::MethodAccessFlags;
use classfile_parser::{ClassAccessFlags, ClassFile as TheirClass};
use loadhook_rewrite::class::{Attributes, Member};
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::code::types::VerificationType as Ours;
use loadhook_rewrite::constant_pool::{Constant, ConstantPool};
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{ClassFile, CpIndex, Structure};
use std::cell::RefCell;

use crate::names::{Variants, same};

/// Compares all facts that both parsers know of a class.
pub(crate) fn agree(ours: &ClassFile<'_>, rest: &[u8], theirs: &TheirClass) -> Result<()> {
    ensure!(
        rest.is_empty(),
        "classfile-parser leaves {} bytes",
        rest.len()
    );
    same!("major version", ours.major_version(), theirs.major_version);
    same!("minor version", ours.minor_version(), theirs.minor_version);
    same!(
        "class flags",
        ours.access_flags() & ClassAccessFlags::all().bits(),
        theirs.access_flags.bits()
    );
    pool(ours.pool(), theirs)?;
    same!(
        "name",
        ours.name(),
        ours.pool().class_name(CpIndex(theirs.this_class))?
    );
    match theirs.super_class {
        0 => same!("superclass", ours.super_name(), None),
        index => same!(
            "superclass",
            ours.super_name(),
            Some(ours.pool().class_name(CpIndex(index))?)
        ),
    }
    ensure!(
        ours.interfaces()
            .eq(theirs.interfaces.iter().copied().map(CpIndex)),
        "interfaces"
    );
    attributes(
        ours.attributes(),
        theirs
            .attributes
            .iter()
            .map(|it| (it.attribute_name_index, &it.info[..])),
    )?;
    same!("fields", ours.fields().len(), theirs.fields.len());
    for (ours, theirs) in ours.fields().zip(&theirs.fields) {
        same!(
            "flags",
            ours.access_flags() & FieldAccessFlags::all().bits(),
            theirs.access_flags.bits()
        );
        names(&ours, theirs.name_index, theirs.descriptor_index)?;
        attributes(
            ours.attributes(),
            theirs
                .attributes
                .iter()
                .map(|it| (it.attribute_name_index, &it.info[..])),
        )?;
    }
    same!("methods", ours.methods().len(), theirs.methods.len());
    for (ours, theirs) in ours.methods().zip(&theirs.methods) {
        let name = || String::from_utf8_lossy(ours.name()).into_owned();
        same!(
            "flags",
            ours.access_flags() & MethodAccessFlags::all().bits(),
            theirs.access_flags.bits()
        );
        names(&ours, theirs.name_index, theirs.descriptor_index)?;
        attributes(
            ours.attributes(),
            theirs
                .attributes
                .iter()
                .map(|it| (it.attribute_name_index, &it.info[..])),
        )?;
        for attribute in &theirs.attributes {
            if ours
                .class()
                .pool()
                .utf8(CpIndex(attribute.attribute_name_index))?
                == b"Code"
            {
                code(&ours, &attribute.info).with_context(name)?;
            }
        }
    }
    Ok(())
}

fn names(ours: &Member<'_, '_>, name: u16, descriptor: u16) -> Result<()> {
    let pool = ours.class().pool();
    same!("name", ours.name(), pool.utf8(CpIndex(name))?);
    same!(
        "descriptor",
        ours.descriptor(),
        pool.utf8(CpIndex(descriptor))?
    );
    Ok(())
}

fn attributes<'t>(
    ours: Attributes<'_>,
    theirs: impl ExactSizeIterator<Item = (u16, &'t [u8])>,
) -> Result<()> {
    same!("attributes", usize::from(ours.count_left()), theirs.len());
    for (ours, theirs) in ours.zip(theirs) {
        let ours = ours?;
        same!("attribute", ours.name_index.0, theirs.0);
        ensure!(ours.info == theirs.1, "the contents of an attribute differ");
    }
    Ok(())
}

fn pool(ours: &ConstantPool<'_>, theirs: &TheirClass) -> Result<()> {
    same!("pool", ours.count(), theirs.const_pool_size);
    same!(
        "pool",
        usize::from(ours.count()),
        1 + theirs.const_pool.len()
    );
    for (index, theirs) in ours.indexes().zip(&theirs.const_pool) {
        constant(ours, index, theirs).with_context(|| format!("constant #{index}"))?;
    }
    Ok(())
}

fn constant(pool: &ConstantPool<'_>, index: CpIndex, theirs: &ConstantInfo) -> Result<()> {
    let ours = match pool.get(index) {
        Ok(ours) => ours,
        Err(_) if matches!(theirs, ConstantInfo::Unusable) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match (ours, theirs) {
        (Constant::Utf8(ours), ConstantInfo::Utf8(theirs)) => {
            same!("text", ours, &theirs.bytes[..])
        }
        (Constant::Integer(ours), ConstantInfo::Integer(theirs)) => {
            same!("int", ours, theirs.value)
        }
        (Constant::Float(ours), ConstantInfo::Float(theirs)) => {
            same!("float", ours, theirs.value.to_bits())
        }
        (Constant::Long(ours), ConstantInfo::Long(theirs)) => same!("long", ours, theirs.value),
        (Constant::Double(ours), ConstantInfo::Double(theirs)) => {
            same!("double", ours, theirs.value.to_bits())
        }
        (Constant::Class { name }, ConstantInfo::Class(theirs)) => {
            same!("class", name.0, theirs.name_index)
        }
        (Constant::String { utf8 }, ConstantInfo::String(theirs)) => {
            same!("string", utf8.0, theirs.string_index)
        }
        (
            Constant::Fieldref {
                class,
                name_and_type,
            },
            ConstantInfo::FieldRef(theirs),
        ) => {
            same!(
                "field",
                (class.0, name_and_type.0),
                (theirs.class_index, theirs.name_and_type_index)
            );
        }
        (
            Constant::Methodref {
                class,
                name_and_type,
            },
            ConstantInfo::MethodRef(theirs),
        ) => {
            same!(
                "method",
                (class.0, name_and_type.0),
                (theirs.class_index, theirs.name_and_type_index)
            );
        }
        (
            Constant::InterfaceMethodref {
                class,
                name_and_type,
            },
            ConstantInfo::InterfaceMethodRef(theirs),
        ) => {
            same!(
                "method",
                (class.0, name_and_type.0),
                (theirs.class_index, theirs.name_and_type_index)
            );
        }
        (Constant::NameAndType { name, descriptor }, ConstantInfo::NameAndType(theirs)) => {
            same!(
                "name and type",
                (name.0, descriptor.0),
                (theirs.name_index, theirs.descriptor_index)
            );
        }
        (Constant::MethodHandle { kind, reference }, ConstantInfo::MethodHandle(theirs)) => {
            same!(
                "method handle",
                (kind, reference.0),
                (theirs.reference_kind, theirs.reference_index)
            );
        }
        (Constant::MethodType { descriptor }, ConstantInfo::MethodType(theirs)) => {
            same!("method type", descriptor.0, theirs.descriptor_index);
        }
        (
            Constant::InvokeDynamic {
                bootstrap_method,
                name_and_type,
            },
            ConstantInfo::InvokeDynamic(theirs),
        ) => {
            let theirs = (
                theirs.bootstrap_method_attr_index,
                theirs.name_and_type_index,
            );
            same!("call site", (bootstrap_method, name_and_type.0), theirs);
        }
        (ours, theirs) => bail!("Loadhook: {ours:?}, classfile-parser: {theirs:?}"),
    }
    Ok(())
}

fn code(method: &Member<'_, '_>, info: &[u8]) -> Result<()> {
    let ours = method.code()?.context("Loadhook finds no code")?;
    let (rest, theirs) = code_attribute_parser(info)
        .map_err(|_| anyhow!("classfile-parser does not read the code"))?;
    ensure!(
        rest.is_empty(),
        "classfile-parser leaves {} bytes",
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
                "classfile-parser leaves {} bytes of frames",
                rest.len()
            );
            let reader = attribute.reader(Structure::Named("a second opinion"));
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

/// The offset of the frame.
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

thread_local! {
    static NAMES: RefCell<Variants<TheirInstruction>> = RefCell::default();
    /// Loadhook's names by opcode, narrow and wide.
    static OURS: Vec<[String; 2]> = (0..=255)
        .map(|byte| {
            let name = Opcode::from_byte(byte).map_or(String::new(), |it| it.mnemonic().replace('_', ""));
            [name.clone(), name + "wide"]
        })
        .collect();
}

fn instruction(ours: &Instruction<'_>, theirs: &TheirInstruction) -> Result<()> {
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
            let ours = ours.switch().context("no switch")?;
            same!("default", ours.default, *default);
            ensure!(ours.cases().eq(pairs.iter().copied()), "cases");
        }
        T::Tableswitch {
            default,
            low,
            high,
            offsets,
        } => {
            let ours = ours.switch().context("no switch")?;
            same!("bounds", (ours.default, ours.low), (*default, Some(*low)));
            same!("cases", ours.cases().last().map(|it| it.0), Some(*high));
            ensure!(
                ours.cases().map(|it| it.1).eq(offsets.iter().copied()),
                "cases"
            );
        }
        // The other instructions have no operand.
        _ => same!("length", ours.bytes.len(), 1),
    }
    Ok(())
}
