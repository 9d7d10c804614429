//! Computes the methods that the tracker's probes call while their thread is not marked.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::constant_pool::Constant;
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{ClassFile, CpIndex};
use loadhook_testkit::corpus;
use loadhook_tracker::BOOT_CLASSES;

use super::METHODS;
use crate::tracker;

/// The class, the name and the descriptor of a method.
type Method = (String, String, String);

/// The classes of `java.base` and of the tracker.
struct Classes {
    folder: PathBuf,
    bytes: HashMap<String, Option<Vec<u8>>>,
}

impl Classes {
    fn of_jdk(feature: u32) -> Result<Self> {
        let tracker = BOOT_CLASSES.iter();
        let tracker = tracker.map(|(name, bytes)| ((*name).to_owned(), Some(bytes.to_vec())));
        Ok(Classes {
            folder: corpus::jdk_classes(feature)?.join("java.base"),
            bytes: tracker.collect(),
        })
    }

    fn class(&mut self, name: &str) -> Option<ClassFile<'_>> {
        let file = self.folder.join(format!("{name}.class"));
        let bytes = self
            .bytes
            .entry(name.to_owned())
            .or_insert_with(|| fs::read(file).ok());
        ClassFile::parse(bytes.as_deref()?).ok()
    }

    /// Returns the class that declares a method that `class` has or inherits.
    fn declared(&mut self, (class, name, descriptor): &Method) -> Option<String> {
        let mut at = class.clone();
        loop {
            let file = self.class(&at)?;
            if has(&file, name, descriptor) {
                return Some(at);
            }
            at = text(file.super_name()?);
        }
    }

    /// Returns the methods of the tracker that override `callee`. Fails if `callee` is a method of
    /// the JDK that the program can override.
    fn overrides(&mut self, callee: &Method) -> Result<Vec<Method>> {
        let (owner, name, descriptor) = callee;
        if owner.starts_with(tracker::NAME) {
            let own = BOOT_CLASSES.iter().map(|(name, _)| (*name).to_owned());
            let virtual_method =
                |other: &String| other != owner && name != "<clinit>" && name != "<init>";
            let others: Vec<String> = own.filter(virtual_method).collect();
            return Ok(others
                .into_iter()
                .map(|other| (other, name.clone(), descriptor.clone()))
                .filter(|method| {
                    self.class(&method.0)
                        .is_some_and(|c| has(&c, name, descriptor))
                })
                .collect());
        }
        let class = self.class(owner).context("class found before")?;
        let method = class
            .methods()
            .find(|m| m.name() == name.as_bytes() && m.descriptor() == descriptor.as_bytes())
            .context("method found before")?;
        let private = |flags: u16| flags & 0x0002 != 0;
        let closed = method.access_flags() & (0x0002 | 0x0008 | 0x0010) != 0
            || name.starts_with('<')
            || class.access_flags() & 0x0010 != 0
            || class
                .methods()
                .filter(|m| m.name() == b"<init>")
                .all(|m| private(m.access_flags()));
        ensure!(closed, "{callee:?} can be overridden by the program");
        Ok(Vec::new())
    }
}

fn has(class: &ClassFile<'_>, name: &str, descriptor: &str) -> bool {
    let is = |m: &loadhook_rewrite::class::Member<'_, '_>| {
        m.name() == name.as_bytes() && m.descriptor() == descriptor.as_bytes()
    };
    class.methods().any(|method| is(&method))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the methods with code that the probes reach while their thread is not marked. The tracker's own methods are
/// left out.
fn reached(feature: u32) -> Result<BTreeSet<Method>> {
    let mut classes = Classes::of_jdk(feature)?;
    let probes = [
        ("enter", "(I)V"),
        ("count", "(I)V"),
        ("exit", "(I)V"),
        ("caught", "(I)V"),
        ("construct", "(III)V"),
        ("constructed", "(I)V"),
        ("ended", "(II)V"),
        ("alloc", "(I)V"),
        ("allocArray", "(II)V"),
        ("allocDimension", "(III)V"),
    ];
    let mut left: Vec<Method> = probes
        .map(|(probe, descriptor)| (tracker::NAME.into(), probe.into(), descriptor.into()))
        .into();
    let mut seen: BTreeSet<Method> = left.iter().cloned().collect();
    let mut reached = BTreeSet::new();
    while let Some(method) = left.pop() {
        let ours = method.0.starts_with(tracker::NAME);
        let class = classes.class(&method.0).context("class found before")?;
        let calls = calls(&class, &method).with_context(|| format!("{method:?}"))?;
        let Some(calls) = calls else {
            continue;
        };
        if !ours {
            reached.insert(method.clone());
        }
        for (class, name, descriptor) in calls {
            // The tracker's own initialisers run before any class is instrumented.
            if name == "<clinit>" && class.starts_with(tracker::NAME) {
                continue;
            }
            let mut callee = (class, name, descriptor);
            match classes.declared(&callee) {
                Some(class) => callee.0 = class,
                // The class has no initialiser, or the method is `clone()` of an array.
                None if callee.1 == "<clinit>" || callee.0.starts_with('[') => continue,
                // The tracker's calls of methods of later JDKs are never reached on this JDK.
                None if ours => continue,
                None => bail!("{callee:?}, called by {method:?}, is not in java.base"),
            }
            let overridden = classes.overrides(&callee)?;
            for callee in overridden.into_iter().chain([callee]) {
                if seen.insert(callee.clone()) {
                    left.push(callee);
                }
            }
        }
    }
    ensure!(seen.len() > 30, "the probes call almost nothing: {seen:?}");
    Ok(reached)
}

/// Returns the methods that a method calls, including initialisers. `None` if the method has no code or marks its
/// thread.
fn calls(class: &ClassFile<'_>, wanted: &Method) -> Result<Option<Vec<Method>>> {
    let method = class
        .methods()
        .find(|m| m.name() == wanted.1.as_bytes() && m.descriptor() == wanted.2.as_bytes())
        .context("method found before")?;
    let guarded = format!("L{}Guarded;", tracker::NAME);
    let Some(code) = method.code()? else {
        return Ok(None);
    };
    if method
        .annotation_types()
        .any(|name| name == guarded.as_bytes())
    {
        return Ok(None);
    }
    let instructions: Vec<Instruction<'_>> = code
        .instructions()
        .collect::<Result<_, _>>()
        .map_err(|e| anyhow::anyhow!("{e:?}"))?;
    let mut calls = Vec::new();
    for (at, instruction) in instructions.iter().enumerate() {
        // The probes get valid arguments, so code that only leads to an exception
        // never runs.
        if is_thrown(&instructions[at..]) {
            continue;
        }
        let pool = class.pool();
        let initialised = |class: &[u8]| (text(class), "<clinit>".to_owned(), "()V".to_owned());
        match instruction.opcode {
            Opcode::Invokestatic | Opcode::Invokespecial | Opcode::Invokevirtual => {
                let constant = instruction.constant();
                let (owner, name, descriptor) = member(class, constant)?;
                if instruction.opcode == Opcode::Invokestatic {
                    calls.push(initialised(owner.as_bytes()));
                }
                calls.push((owner, name, descriptor));
            }
            Opcode::Getstatic | Opcode::Putstatic => {
                calls.push(initialised(
                    member(class, instruction.constant())?.0.as_bytes(),
                ));
            }
            Opcode::New => calls.push(initialised(pool.class_name(instruction.constant())?)),
            Opcode::Invokeinterface | Opcode::Invokedynamic => {
                bail!("{} cannot be followed", instruction.opcode.mnemonic());
            }
            _ => {}
        }
    }
    Ok(Some(calls))
}

/// Returns whether the code from here on reaches an `athrow` without a branch.
fn is_thrown(rest: &[Instruction<'_>]) -> bool {
    rest.iter()
        .map(|instruction| instruction.opcode)
        .find(|opcode| opcode.ends_block() || opcode.inverted().is_some())
        == Some(Opcode::Athrow)
}

/// Returns the class, the name and the descriptor of a field or method constant.
fn member(class: &ClassFile<'_>, constant: CpIndex) -> Result<Method> {
    let pool = class.pool();
    let owner = match pool.get(constant)? {
        Constant::Fieldref { class, .. }
        | Constant::Methodref { class, .. }
        | Constant::InterfaceMethodref { class, .. } => class,
        other => bail!("{other:?} is no member"),
    };
    let (name, descriptor) = pool.member(constant)?;
    Ok((text(pool.class_name(owner)?), text(name), text(descriptor)))
}

/// The list contains the methods that the probes reach on any JDK, and no others.
#[test]
fn methods_called_by_probes_are_excluded() -> Result<()> {
    let mut needed = BTreeSet::new();
    for feature in [11, 17, 21, 25] {
        needed.extend(reached(feature)?);
    }
    let listed: BTreeSet<Method> = METHODS
        .iter()
        .flat_map(|(class, methods)| {
            methods.iter().map(|method| {
                let (name, descriptor) = method.split_at(method.find('(').unwrap_or(0));
                ((*class).to_owned(), name.to_owned(), descriptor.to_owned())
            })
        })
        .collect();
    let lines = |methods: Vec<&Method>| {
        let line = |(class, name, descriptor): &Method| format!("\n  {class} {name}{descriptor}");
        methods.into_iter().map(line).collect::<String>()
    };
    let missing = lines(needed.difference(&listed).collect());
    let in_vain = lines(listed.difference(&needed).collect());
    ensure!(
        needed == listed,
        "methods that probes reach, but the list lacks:{missing}\nlisted methods that no probe reaches:{in_vain}"
    );
    Ok(())
}
