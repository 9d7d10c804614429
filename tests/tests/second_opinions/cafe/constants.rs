//! Compares constants, and the constants that instructions and bootstrap methods refer to, with
//! those that `cafebabe` reads.

use anyhow::{Context, Result, bail, ensure};
use cafebabe::constant_pool::{
    ConstantPoolItem, Dynamic, InvokeDynamic, LiteralConstant, Loadable, MemberKind, MemberRef,
    MethodHandle, NameAndType, ObjectArrayType, ReferenceKind,
};
use loadhook_rewrite::CpIndex;
use loadhook_rewrite::constant_pool::{Constant, ConstantPool};

use crate::names::{same, same_text};

pub(super) fn pool<'a>(ours: &ConstantPool<'_>, theirs: &'a cafebabe::ClassFile<'a>) -> Result<()> {
    // `cafebabe`'s iterator leaves out Utf8 constants.
    let mut rest = theirs.constantpool_iter();
    let mut index = CpIndex(1);
    while index.0 < ours.count() {
        let constant = ours.get(index)?;
        if !matches!(constant, Constant::Utf8(_)) {
            let item = rest.next().context("cafebabe found fewer constants")?;
            pool_item(ours, index, &item).with_context(|| format!("#{index}"))?;
        }
        index.0 += 1;
        if matches!(constant, Constant::Long(_) | Constant::Double(_)) {
            ensure!(
                ours.get(index).is_err(),
                "#{index} is an unusable entry of the pool, but Loadhook reads it"
            );
            index.0 += 1;
        }
    }
    ensure!(
        rest.next().is_none(),
        "cafebabe reads more constants than Loadhook"
    );
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

pub(super) fn member(
    pool: &ConstantPool<'_>,
    index: CpIndex,
    theirs: &MemberRef<'_>,
) -> Result<()> {
    let (Constant::Fieldref { class, .. }
    | Constant::Methodref { class, .. }
    | Constant::InterfaceMethodref { class, .. }) = pool.get(index)?
    else {
        bail!("#{index} is no field or method reference");
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

pub(super) fn call_site(
    pool: &ConstantPool<'_>,
    index: CpIndex,
    theirs: &InvokeDynamic<'_>,
) -> Result<()> {
    let Constant::InvokeDynamic {
        bootstrap_method, ..
    } = pool.get(index)?
    else {
        bail!("#{index} is no call site")
    };
    same!("bootstrap method", bootstrap_method, theirs.attr_index);
    name_and_type(pool.member(index)?, &theirs.name_and_type)
}

pub(super) fn loadable(
    pool: &ConstantPool<'_>,
    index: CpIndex,
    theirs: &Loadable<'_>,
) -> Result<()> {
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

pub(super) fn class_or_array(ours: &[u8], theirs: &ObjectArrayType<'_>) -> Result<()> {
    match theirs {
        ObjectArrayType::BinaryName(theirs) => same_text("class", ours, theirs),
        ObjectArrayType::ArrayType(theirs) => same_text("array type", ours, &theirs.to_string()),
    }
}
