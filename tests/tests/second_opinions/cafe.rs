//! The comparison with `cafebabe`, which resolves the constants that a constant refers to, and
//! parses all of a class.

use anyhow::{Context, Result, bail, ensure};
use cafebabe::attributes::{
    AttributeData, AttributeInfo, CodeData, StackMapEntry, TypeAnnotation, TypeAnnotationTarget,
    VerificationType as Theirs,
};
use cafebabe::bytecode::{Opcode as TheirOpcode, PrimitiveArrayType};
use cafebabe::constant_pool::{
    ConstantPoolItem, Dynamic, InvokeDynamic, LiteralConstant, Loadable, MemberKind, MemberRef,
    MethodHandle, NameAndType, ObjectArrayType, ReferenceKind,
};
use loadhook_rewrite::class::{Attributes, Member};
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::code::type_annotations::{self, Target};
use loadhook_rewrite::code::types::VerificationType as Ours;
use loadhook_rewrite::code::{Code, line_table, local_table};
use loadhook_rewrite::constant_pool::{Constant, ConstantPool};
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{Bci, ClassFile, CpIndex, Structure};
use std::mem::{Discriminant, discriminant};

use crate::names::{same, same_text};

/// Totals of the comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) instructions: usize,
    pub(crate) frames: usize,
}

const HERE: Structure = Structure::Named("a second opinion");

/// Compares all facts that both parsers know of a class.
pub(crate) fn agree<'a>(ours: &ClassFile<'_>, theirs: &'a cafebabe::ClassFile<'a>) -> Result<Seen> {
    same!("major version", ours.major_version(), theirs.major_version);
    same!("minor version", ours.minor_version(), theirs.minor_version);
    let known = cafebabe::ClassAccessFlags::all().bits();
    same!(
        "class flags",
        ours.access_flags() & known,
        theirs.access_flags.bits()
    );
    same_text("name", ours.name(), &theirs.this_class)?;
    match (ours.super_name(), &theirs.super_class) {
        (Some(ours), Some(theirs)) => same_text("superclass", ours, theirs)?,
        (ours, theirs) => ensure!(
            ours.is_none() && theirs.is_none(),
            "superclass: {ours:?}, {theirs:?}"
        ),
    }
    same!(
        "interfaces",
        ours.interfaces().len(),
        theirs.interfaces.len()
    );
    for (ours_at, theirs) in ours.interfaces().zip(&theirs.interfaces) {
        same_text("interface", ours.pool().class_name(ours_at)?, theirs)?;
    }
    pool(ours.pool(), theirs).context("constant pool")?;
    attributes(ours, ours.attributes(), &theirs.attributes).context("class")?;

    same!("fields", ours.fields().len(), theirs.fields.len());
    for (ours, theirs) in ours.fields().zip(&theirs.fields) {
        let known = cafebabe::FieldAccessFlags::all().bits();
        same!(
            "flags",
            ours.access_flags() & known,
            theirs.access_flags.bits()
        );
        same_text("field", ours.name(), &theirs.name)?;
        same_text(
            "descriptor",
            ours.descriptor(),
            &theirs.descriptor.to_string(),
        )?;
        attributes(ours.class(), ours.attributes(), &theirs.attributes)?;
    }
    same!("methods", ours.methods().len(), theirs.methods.len());
    let mut seen = Seen::default();
    let mut known = vec![None; 256];
    for (ours, theirs) in ours.methods().zip(&theirs.methods) {
        let name = || String::from_utf8_lossy(ours.name()).into_owned();
        method(&ours, theirs, &mut known, &mut seen).with_context(name)?;
    }
    Ok(seen)
}

fn method<'a>(
    ours: &Member<'_, '_>,
    theirs: &cafebabe::MethodInfo<'a>,
    known: &mut Known<'a>,
    seen: &mut Seen,
) -> Result<()> {
    let flags = cafebabe::MethodAccessFlags::all().bits();
    same!(
        "flags",
        ours.access_flags() & flags,
        theirs.access_flags.bits()
    );
    same_text("name", ours.name(), &theirs.name)?;
    same_text(
        "descriptor",
        ours.descriptor(),
        &theirs.descriptor.to_string(),
    )?;
    attributes(ours.class(), ours.attributes(), &theirs.attributes)?;
    // Order the annotations as Loadhook does: visible ones first.
    let mut annotations = Vec::new();
    for wanted in ["RuntimeVisibleAnnotations", "RuntimeInvisibleAnnotations"] {
        for attribute in theirs.attributes.iter().filter(|it| it.name == wanted) {
            if let AttributeData::RuntimeVisibleAnnotations(list)
            | AttributeData::RuntimeInvisibleAnnotations(list) = &attribute.data
            {
                annotations.extend(list.iter().map(|it| it.type_descriptor.to_string()));
            }
        }
    }
    let ours_annotations: Vec<&[u8]> = ours.annotation_types().collect();
    same!("annotations", ours_annotations.len(), annotations.len());
    for (ours, theirs) in ours_annotations.iter().zip(&annotations) {
        same_text("annotation", ours, theirs)?;
    }
    let code_data = theirs.attributes.iter().find_map(|it| match &it.data {
        AttributeData::Code(code) => Some(code),
        _ => None,
    });
    match (ours.code()?, code_data) {
        (Some(ours_code), Some(theirs)) => code(ours.class(), &ours_code, theirs, known, seen),
        (None, None) => Ok(()),
        (ours, _) => bail!("code: {}", ours.is_some()),
    }
}

/// Compares the names and the order of attributes.
fn attributes(
    class: &ClassFile<'_>,
    ours: Attributes<'_>,
    theirs: &[AttributeInfo<'_>],
) -> Result<()> {
    same!("attributes", usize::from(ours.count_left()), theirs.len());
    for (ours, theirs) in ours.zip(theirs) {
        same_text(
            "attribute",
            class.pool().utf8(ours?.name_index)?,
            &theirs.name,
        )?;
    }
    Ok(())
}

fn pool<'a>(ours: &ConstantPool<'_>, theirs: &'a cafebabe::ClassFile<'a>) -> Result<()> {
    // `cafebabe` leaves out Utf8 constants.
    let mut rest = theirs.constantpool_iter();
    let mut index = CpIndex(1);
    while index.0 < ours.count() {
        let constant = ours.get(index)?;
        if !matches!(constant, Constant::Utf8(_)) {
            let item = rest.next().context("cafebabe has fewer constants")?;
            pool_item(ours, index, &item).with_context(|| format!("#{index}"))?;
        }
        index.0 += 1;
        if matches!(constant, Constant::Long(_) | Constant::Double(_)) {
            ensure!(ours.get(index).is_err(), "#{index} is usable");
            index.0 += 1;
        }
    }
    ensure!(rest.next().is_none(), "cafebabe has more constants");
    Ok(())
}

fn pool_item(pool: &ConstantPool<'_>, index: CpIndex, item: &ConstantPoolItem<'_>) -> Result<()> {
    match (pool.get(index)?, item) {
        (_, ConstantPoolItem::LiteralConstant(theirs)) => literal(pool, index, theirs),
        (Constant::Class { name }, ConstantPoolItem::ClassInfo(theirs)) => {
            same_text("class", pool.utf8(name)?, theirs)
        }
        (Constant::Fieldref { class, .. }, ConstantPoolItem::FieldRef(theirs))
        | (Constant::Methodref { class, .. }, ConstantPoolItem::MethodRef(theirs))
        | (
            Constant::InterfaceMethodref { class, .. },
            ConstantPoolItem::InterfaceMethodRef(theirs),
        ) => {
            same_text("class", pool.class_name(class)?, &theirs.class_name)?;
            name_and_type(pool.member(index)?, &theirs.name_and_type)
        }
        (Constant::NameAndType { .. }, ConstantPoolItem::NameAndType(theirs)) => {
            name_and_type(pool.name_and_type(index)?, theirs)
        }
        (Constant::MethodHandle { .. }, ConstantPoolItem::MethodHandle(theirs)) => {
            method_handle(pool, index, theirs)
        }
        (Constant::MethodType { descriptor }, ConstantPoolItem::MethodType(theirs)) => {
            same_text("method type", pool.utf8(descriptor)?, theirs)
        }
        (Constant::Dynamic { .. }, ConstantPoolItem::Dynamic(theirs)) => {
            dynamic(pool, index, theirs)
        }
        (Constant::InvokeDynamic { .. }, ConstantPoolItem::InvokeDynamic(theirs)) => {
            call_site(pool, index, theirs)
        }
        (Constant::Module { name }, ConstantPoolItem::ModuleInfo(theirs))
        | (Constant::Package { name }, ConstantPoolItem::PackageInfo(theirs)) => {
            same_text("module", pool.utf8(name)?, theirs)
        }
        (ours, theirs) => bail!("Loadhook: {ours:?}, cafebabe: {theirs:?}"),
    }
}

fn literal(pool: &ConstantPool<'_>, index: CpIndex, theirs: &LiteralConstant<'_>) -> Result<()> {
    match (pool.get(index)?, theirs) {
        (Constant::Integer(ours), LiteralConstant::Integer(theirs)) => same!("int", ours, *theirs),
        (Constant::Float(ours), LiteralConstant::Float(theirs)) => {
            same!("float", ours, theirs.to_bits())
        }
        (Constant::Long(ours), LiteralConstant::Long(theirs)) => same!("long", ours, *theirs),
        (Constant::Double(ours), LiteralConstant::Double(theirs)) => {
            same!("double", ours, theirs.to_bits())
        }
        (Constant::String { utf8 }, LiteralConstant::String(theirs)) => {
            same_text("string", pool.utf8(utf8)?, theirs)?
        }
        (Constant::String { utf8 }, LiteralConstant::StringBytes(theirs)) => {
            same!("string", pool.utf8(utf8)?, *theirs)
        }
        (ours, theirs) => bail!("Loadhook: {ours:?}, cafebabe: {theirs:?}"),
    }
    Ok(())
}

fn name_and_type((name, descriptor): (&[u8], &[u8]), theirs: &NameAndType<'_>) -> Result<()> {
    same_text("name", name, &theirs.name)?;
    same_text("descriptor", descriptor, &theirs.descriptor)
}

fn member(pool: &ConstantPool<'_>, index: CpIndex, theirs: &MemberRef<'_>) -> Result<()> {
    let (Constant::Fieldref { class, .. }
    | Constant::Methodref { class, .. }
    | Constant::InterfaceMethodref { class, .. }) = pool.get(index)?
    else {
        bail!("#{index} is no member");
    };
    same_text("class", pool.class_name(class)?, &theirs.class_name)?;
    name_and_type(pool.member(index)?, &theirs.name_and_type)
}

fn method_handle(pool: &ConstantPool<'_>, index: CpIndex, theirs: &MethodHandle<'_>) -> Result<()> {
    let Constant::MethodHandle { kind, reference } = pool.get(index)? else {
        bail!("#{index} is no method handle")
    };
    let their_kind = match theirs.kind {
        ReferenceKind::GetField => 1,
        ReferenceKind::GetStatic => 2,
        ReferenceKind::PutField => 3,
        ReferenceKind::PutStatic => 4,
        ReferenceKind::InvokeVirtual => 5,
        ReferenceKind::InvokeStatic => 6,
        ReferenceKind::InvokeSpecial => 7,
        ReferenceKind::NewInvokeSpecial => 8,
        ReferenceKind::InvokeInterface => 9,
    };
    same!("reference kind", kind, their_kind);
    let class = match (pool.get(reference)?, theirs.member_kind) {
        (Constant::Fieldref { class, .. }, MemberKind::Field)
        | (Constant::Methodref { class, .. }, MemberKind::Method)
        | (Constant::InterfaceMethodref { class, .. }, MemberKind::InterfaceMethod) => class,
        (ours, theirs) => bail!("Loadhook: {ours:?}, cafebabe: {theirs:?}"),
    };
    same_text("class", pool.class_name(class)?, &theirs.class_name)?;
    name_and_type(pool.member(reference)?, &theirs.member_ref)
}

fn dynamic(pool: &ConstantPool<'_>, index: CpIndex, theirs: &Dynamic<'_>) -> Result<()> {
    let Constant::Dynamic {
        bootstrap_method, ..
    } = pool.get(index)?
    else {
        bail!("#{index} is not dynamic")
    };
    same!("bootstrap method", bootstrap_method, theirs.attr_index);
    name_and_type(pool.member(index)?, &theirs.name_and_type)
}

fn call_site(pool: &ConstantPool<'_>, index: CpIndex, theirs: &InvokeDynamic<'_>) -> Result<()> {
    let Constant::InvokeDynamic {
        bootstrap_method, ..
    } = pool.get(index)?
    else {
        bail!("#{index} is no call site")
    };
    same!("bootstrap method", bootstrap_method, theirs.attr_index);
    name_and_type(pool.member(index)?, &theirs.name_and_type)
}

fn loadable(pool: &ConstantPool<'_>, index: CpIndex, theirs: &Loadable<'_>) -> Result<()> {
    match (pool.get(index)?, theirs) {
        (_, Loadable::LiteralConstant(theirs)) => literal(pool, index, theirs),
        (Constant::Class { name }, Loadable::ClassInfo(theirs)) => {
            same_text("class", pool.utf8(name)?, theirs)
        }
        (_, Loadable::MethodHandle(theirs)) => method_handle(pool, index, theirs),
        (Constant::MethodType { descriptor }, Loadable::MethodType(theirs)) => {
            same_text("method type", pool.utf8(descriptor)?, theirs)
        }
        (_, Loadable::Dynamic(theirs)) => dynamic(pool, index, theirs),
        (ours, theirs) => bail!("Loadhook: {ours:?}, cafebabe: {theirs:?}"),
    }
}

fn class_or_array(ours: &[u8], theirs: &ObjectArrayType<'_>) -> Result<()> {
    match theirs {
        ObjectArrayType::BinaryName(theirs) => same_text("class", ours, theirs),
        ObjectArrayType::ArrayType(theirs) => same_text("array type", ours, &theirs.to_string()),
    }
}

fn code<'a>(
    class: &ClassFile<'_>,
    ours: &Code<'_>,
    theirs: &CodeData<'a>,
    known: &mut Known<'a>,
    seen: &mut Seen,
) -> Result<()> {
    same!("max_stack", ours.max_stack, theirs.max_stack);
    same!("max_locals", ours.max_locals, theirs.max_locals);
    same!("code", ours.bytecode, theirs.code);
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
    let opcodes = &theirs.bytecode.as_ref().context("no bytecode")?.opcodes;
    let mut count = 0;
    for (instruction, (at, theirs)) in ours.instructions().zip(opcodes) {
        let instruction = instruction.map_err(|kind| anyhow::anyhow!("{kind}"))?;
        same!("offset", instruction.bci.index(), *at);
        same_instruction(class.pool(), &instruction, theirs, known)
            .with_context(|| format!("instruction at {at}"))?;
        count += 1;
    }
    same!("instructions", ours.instructions().count(), opcodes.len());
    seen.instructions += count;
    attributes(class, ours.attributes(), &theirs.attributes)?;
    for (ours, theirs) in ours.attributes().zip(&theirs.attributes) {
        let ours = ours?;
        let reader = ours.reader(HERE);
        match &theirs.data {
            AttributeData::LineNumberTable(theirs) => {
                let theirs = theirs.iter().map(|it| (Bci(it.start_pc), it.line_number));
                ensure!(line_table::entries(reader)?.eq(theirs), "lines");
            }
            AttributeData::LocalVariableTable(theirs) => {
                let ours: Vec<_> = local_table::entries(reader)?.collect();
                same!("locals", ours.len(), theirs.len());
                for (ours, theirs) in ours.iter().zip(theirs) {
                    same!(
                        "local",
                        (ours.start_pc.0, ours.length, ours.index),
                        (theirs.start_pc, theirs.length, theirs.index)
                    );
                    same_text("local", class.pool().utf8(ours.name_index)?, &theirs.name)?;
                    same_text(
                        "local",
                        class.pool().utf8(ours.descriptor_index)?,
                        &theirs.descriptor.to_string(),
                    )?;
                }
            }
            AttributeData::LocalVariableTypeTable(theirs) => {
                let ours: Vec<_> = local_table::entries(reader)?.collect();
                same!("local types", ours.len(), theirs.len());
                for (ours, theirs) in ours.iter().zip(theirs) {
                    same!(
                        "local",
                        (ours.start_pc.0, ours.length, ours.index),
                        (theirs.start_pc, theirs.length, theirs.index)
                    );
                    same_text("local", class.pool().utf8(ours.name_index)?, &theirs.name)?;
                    same_text(
                        "local",
                        class.pool().utf8(ours.descriptor_index)?,
                        &theirs.signature,
                    )?;
                }
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
            theirs => bail!("unexpected attribute of code: {theirs:?}"),
        }
    }
    Ok(())
}

/// The offset of the frame.
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

/// Pairs of opcodes that were found to be equal. Comparing the names by `Debug` each time would
/// take minutes.
type Known<'a> = Vec<Option<Discriminant<TheirOpcode<'a>>>>;

/// Fails unless both opcodes are the same instruction. `cafebabe` has one name for narrow, wide and
/// implied operands.
fn same_name<'a>(opcode: Opcode, theirs: &TheirOpcode<'a>, known: &mut Known<'a>) -> Result<()> {
    let known = known
        .get_mut(usize::from(opcode.byte()))
        .context("a byte")?;
    if *known != Some(discriminant(theirs)) {
        let text = format!("{theirs:?}");
        let name = text
            .split(|it: char| !it.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let mnemonic = opcode.mnemonic();
        let ours = match opcode.byte() {
            // iload_0 to aload_3, istore_0 to astore_3; goto_w, jsr_w.
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

/// The local variable that an instruction names by operand or by opcode.
fn local(ours: &Instruction<'_>) -> u16 {
    match ours.opcode.byte() {
        opcode @ 0x1a..=0x2d => u16::from((opcode - 0x1a) % 4),
        opcode @ 0x3b..=0x4e => u16::from((opcode - 0x3b) % 4),
        _ => ours.local(),
    }
}

fn same_instruction<'a>(
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
            let ours = ours.switch().context("no switch")?;
            same!("default", ours.default, theirs.default);
            same!("low", ours.low, None);
            ensure!(
                ours.cases().eq(theirs.match_offsets.iter().copied()),
                "cases"
            );
        }
        T::Tableswitch(theirs) => {
            let ours = ours.switch().context("no switch")?;
            same!("default", ours.default, theirs.default);
            same!("low", ours.low, Some(theirs.low));
            same!(
                "cases",
                ours.cases().count() as i64,
                i64::from(theirs.high) - i64::from(theirs.low) + 1
            );
            ensure!(
                ours.cases().map(|it| it.1).eq(theirs.jumps.iter().copied()),
                "cases"
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
