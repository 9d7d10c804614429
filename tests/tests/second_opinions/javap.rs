//! Compares Loadhook's parser with `javap -v -p`, the JDK's own disassembler: the text of `javap`
//! must equal a text made from Loadhook's parser.

use anyhow::{Context, Result, anyhow, ensure};
use loadhook_rewrite::class::Member;
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::code::types::VerificationType;
use loadhook_rewrite::code::{Code, line_table, local_table};
use loadhook_rewrite::constant_pool::{Constant, ConstantPool};
use loadhook_rewrite::opcode::{Opcode, Operands};
use loadhook_rewrite::{ClassFile, CpIndex, Structure};
use loadhook_testkit::jdk::Jdk;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::javap_text as text;
use crate::names::same;

/// Totals of the comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) classes: usize,
    pub(crate) instructions: usize,
    pub(crate) handlers: usize,
    pub(crate) lines: usize,
    pub(crate) locals: usize,
    pub(crate) frames: usize,
}

/// Returns the output of `javap` for some files, followed by its error messages. The exit status is
/// ignored.
pub(crate) fn print(jdk: &Jdk, files: &[PathBuf]) -> Result<String> {
    let mut command: Command = jdk.tool("javap")?;
    // The encodings prevent a `?` in place of a letter that is not ASCII.
    command
        .args([
            "-J-Dfile.encoding=UTF-8",
            "-J-Dstdout.encoding=UTF-8",
            "-v",
            "-p",
        ])
        .args(files);
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr))
}

/// Compares the output of `javap` for these classes with Loadhook's parser. Two processes print
/// half of the classes each.
pub(crate) fn agree(jdk: &Jdk, files: &[PathBuf]) -> Result<Seen> {
    let (first, second) = files.split_at(files.len() / 2);
    let halves = thread::scope(|scope| {
        let halves = [first, second].map(|half| scope.spawn(move || print(jdk, half)));
        halves.map(|it| {
            it.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    let mut seen = Seen::default();
    for printed in halves {
        for class in text::parse(&printed?)? {
            let bytes = fs::read(Path::new(&class.file))?;
            let ours = ClassFile::parse(&bytes)?;
            agree_on(&ours, &class, &mut seen).with_context(|| class.file.clone())?;
            seen.classes += 1;
        }
    }
    Ok(seen)
}

pub(crate) fn agree_on(ours: &ClassFile<'_>, theirs: &text::Class, seen: &mut Seen) -> Result<()> {
    same!(
        "version",
        (ours.minor_version(), ours.major_version()),
        (theirs.minor, theirs.major)
    );
    same!("flags", ours.access_flags(), theirs.flags);
    pool(ours.pool(), &theirs.pool)?;
    let members: Vec<Member<'_, '_>> = ours.fields().chain(ours.methods()).collect();
    same!("members", members.len(), theirs.members.len());
    for (ours, theirs) in members.iter().zip(&theirs.members) {
        member(ours, theirs, seen).with_context(|| theirs.header.clone())?;
    }
    Ok(())
}

fn pool(ours: &ConstantPool<'_>, theirs: &[(u16, String, String)]) -> Result<()> {
    let indexes: Vec<CpIndex> = ours.indexes().filter(|&it| ours.get(it).is_ok()).collect();
    same!("constants", indexes.len(), theirs.len());
    for (index, (their_index, kind, text)) in indexes.into_iter().zip(theirs) {
        same!("constant", index.0, *their_index);
        let two = |a: CpIndex, b: CpIndex| format!("#{a}.#{b}");
        let dynamic = |a: u16, b: CpIndex| format!("#{a}:#{b}");
        let (ours_kind, ours_text) = match ours.get(index)? {
            Constant::Utf8(bytes) => ("Utf8", ascii(bytes)),
            Constant::Integer(value) => ("Integer", Some(value.to_string())),
            Constant::Float(_) => ("Float", None),
            Constant::Long(value) => ("Long", Some(format!("{value}l"))),
            Constant::Double(_) => ("Double", None),
            Constant::Class { name } => ("Class", Some(format!("#{name}"))),
            Constant::String { utf8 } => ("String", Some(format!("#{utf8}"))),
            Constant::Fieldref {
                class,
                name_and_type,
            } => ("Fieldref", Some(two(class, name_and_type))),
            Constant::Methodref {
                class,
                name_and_type,
            } => ("Methodref", Some(two(class, name_and_type))),
            Constant::InterfaceMethodref {
                class,
                name_and_type,
            } => ("InterfaceMethodref", Some(two(class, name_and_type))),
            Constant::NameAndType { name, descriptor } => {
                ("NameAndType", Some(dynamic(name.0, descriptor)))
            }
            Constant::MethodHandle { kind, reference } => {
                ("MethodHandle", Some(format!("{kind}:#{reference}")))
            }
            Constant::MethodType { descriptor } => ("MethodType", Some(format!("#{descriptor}"))),
            Constant::Dynamic {
                bootstrap_method,
                name_and_type,
            } => ("Dynamic", Some(dynamic(bootstrap_method, name_and_type))),
            Constant::InvokeDynamic {
                bootstrap_method,
                name_and_type,
            } => (
                "InvokeDynamic",
                Some(dynamic(bootstrap_method, name_and_type)),
            ),
            Constant::Module { name } => ("Module", Some(format!("#{name}"))),
            Constant::Package { name } => ("Package", Some(format!("#{name}"))),
        };
        same!(format!("kind of #{index}"), ours_kind, kind.as_str());
        if let Some(ours) = ours_text {
            let theirs = if ours_kind == "Utf8" {
                text.as_str()
            } else {
                text.split("//").next().unwrap_or(text).trim_end()
            };
            same!(format!("#{index}"), ours.as_str(), theirs);
        }
    }
    Ok(())
}

/// Returns the text if `javap` prints it without escapes.
fn ascii(bytes: &[u8]) -> Option<String> {
    let plain = bytes
        .iter()
        .all(|it| (0x21..0x7f).contains(it) && !matches!(it, b'\\' | b'"' | b'\''));
    plain.then(|| bytes.iter().map(|&it| char::from(it)).collect())
}

fn member(ours: &Member<'_, '_>, theirs: &text::Member, seen: &mut Seen) -> Result<()> {
    same!("flags", ours.access_flags(), theirs.flags);
    if let Some(ours) = ascii(ours.descriptor()) {
        same!("descriptor", ours.as_str(), theirs.descriptor.as_str());
    }
    match (ours.code()?, &theirs.code) {
        (Some(ours_code), Some(theirs)) => code(ours.class().pool(), &ours_code, theirs, seen),
        (ours, theirs) => {
            ensure!(
                ours.is_none() && theirs.is_none(),
                "only one of the two reads code. Loadhook does: {}, javap does: {}",
                ours.is_some(),
                theirs.is_some()
            );
            Ok(())
        }
    }
}

/// Fails with the first difference between two lists.
fn lists(what: &str, ours: &[String], theirs: &[String]) -> Result<usize> {
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        ensure!(
            ours == theirs,
            "{what} {i}: Loadhook: {ours:?}, javap: {theirs:?}"
        );
    }
    same!(what, ours.len(), theirs.len());
    Ok(ours.len())
}

fn code(
    pool: &ConstantPool<'_>,
    ours: &Code<'_>,
    theirs: &text::Code,
    seen: &mut Seen,
) -> Result<()> {
    same!("max_stack", ours.max_stack, theirs.stack);
    same!("max_locals", ours.max_locals, theirs.locals);
    let instructions: Vec<String> = ours
        .instructions()
        .map(|it| {
            it.map(|it| print_instruction(&it))
                .map_err(|kind| anyhow!("{kind}"))
        })
        .collect::<Result<_>>()?;
    seen.instructions += lists("instruction", &instructions, &theirs.instructions)?;
    let handlers: Vec<String> = ours
        .exception_table()
        .map(|it| {
            let name = match it.catch_type {
                CpIndex::NONE => "any".to_owned(),
                index => format!("Class {}", class_name(pool.class_name(index)?)),
            };
            Ok(format!(
                "{} {} {} {name}",
                it.start_pc, it.end_pc, it.handler_pc
            ))
        })
        .collect::<Result<_>>()?;
    seen.handlers += lists("handler", &handlers, &theirs.handlers)?;
    let (mut lines, mut variables, mut types, mut frames) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for attribute in ours.attributes() {
        let attribute = attribute?;
        let reader = attribute.reader(Structure::Named("a second opinion"));
        match pool.utf8(attribute.name_index)? {
            b"LineNumberTable" => {
                lines.extend(line_table::entries(reader)?.map(|(pc, line)| format!("{line}: {pc}")))
            }
            name @ (b"LocalVariableTable" | b"LocalVariableTypeTable") => {
                let to = if name == b"LocalVariableTable" {
                    &mut variables
                } else {
                    &mut types
                };
                for it in local_table::entries(reader)? {
                    let text =
                        |index| anyhow::Ok(String::from_utf8_lossy(pool.utf8(index)?).into_owned());
                    let (name, descriptor) = (text(it.name_index)?, text(it.descriptor_index)?);
                    to.push(format!(
                        "{} {} {} {name} {descriptor}",
                        it.start_pc, it.length, it.index
                    ));
                }
            }
            b"StackMapTable" => {
                let mut next = 0;
                for frame in Frames::new(pool, reader, FrameFormat::StackMapTable)? {
                    let frame = frame?;
                    frames.push(print_frame(&frame, frame.bci.0 - next)?);
                    next = frame.bci.0 + 1;
                }
            }
            _ => {}
        }
    }
    seen.lines += lists("line", &lines, &theirs.lines)?;
    seen.locals += lists("local variable", &variables, &theirs.variables)?;
    seen.locals += lists("local variable's type", &types, &theirs.variable_types)?;
    seen.frames += lists("frame", &frames, &theirs.frames)?;
    Ok(())
}

/// Returns a class name as `javap` prints it, with arrays in quotes.
fn class_name(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name).into_owned();
    if name.starts_with('[') {
        format!("\"{name}\"")
    } else {
        name
    }
}

fn print_frame(frame: &RawFrame<'_>, delta: u16) -> Result<String> {
    let mut out = frame.frame_type.to_string();
    if frame.frame_type >= 247 {
        write!(out, " offset_delta = {delta}")?;
    }
    let list = |name: &str, values: &[VerificationType<'_>]| {
        let values: Vec<String> = values.iter().map(print_type).collect();
        match values.is_empty() {
            true => format!(" {name} = []"),
            false => format!(" {name} = [ {} ]", values.join(", ")),
        }
    };
    match frame.frame_type {
        64..=127 | 247 => out += &list("stack", &frame.stack),
        252..=254 => out += &list("locals", &frame.locals),
        255 => out += &(list("locals", &frame.locals) + &list("stack", &frame.stack)),
        _ => {}
    }
    Ok(out)
}

fn print_type(of: &VerificationType<'_>) -> String {
    match of {
        VerificationType::Top => "top".to_owned(),
        VerificationType::Integer => "int".to_owned(),
        VerificationType::Float => "float".to_owned(),
        VerificationType::Double => "double".to_owned(),
        VerificationType::Long => "long".to_owned(),
        VerificationType::Null => "null".to_owned(),
        VerificationType::UninitializedThis => "this".to_owned(),
        VerificationType::Object(class) => format!("class {}", class_name(class.name)),
        VerificationType::Uninitialized(at) => format!("uninitialized {at}"),
        VerificationType::ReturnAddress(_) => {
            "a return address is not a type of a frame".to_owned()
        }
    }
}

fn print_instruction(it: &Instruction<'_>) -> String {
    let acting = it.acting_opcode();
    let mut out = format!("{}: {}", it.bci, acting.mnemonic());
    if it.opcode == Opcode::Wide {
        out += "_w";
    }
    let constant = it.constant();
    let operands = match it.opcode.operands() {
        Operands::None => return out,
        Operands::Byte => (it.u1(1) as i8).to_string(),
        Operands::Short => (it.u2(1) as i16).to_string(),
        Operands::Local => it.local().to_string(),
        Operands::Constant1 | Operands::Constant2 => format!("#{constant}"),
        Operands::Increment => format!("{}, {}", it.local(), it.u1(2) as i8),
        Operands::Wide if acting == Opcode::Iinc => format!("{}, {}", it.local(), it.u2(4) as i16),
        Operands::Wide => it.local().to_string(),
        Operands::Branch2 | Operands::Branch4 => it.jump_target().unwrap_or(-1).to_string(),
        Operands::TableSwitch | Operands::LookupSwitch => return out + &print_switch(it),
        Operands::InvokeInterface => format!("#{constant}, {}", it.u1(3)),
        Operands::InvokeDynamic => format!("#{constant}, 0"),
        Operands::MultiANewArray => format!("#{constant}, {}", it.u1(3)),
        Operands::ArrayType => {
            let names = [
                "boolean", "char", "float", "double", "byte", "short", "int", "long",
            ];
            let name = usize::from(it.u1(1))
                .checked_sub(4)
                .and_then(|it| names.get(it));
            (*name.unwrap_or(&"?")).to_owned()
        }
    };
    out + " " + &operands
}

/// Prints a switch as `javap` does, without the comment after the opening brace.
fn print_switch(it: &Instruction<'_>) -> String {
    let Some(switch) = it.switch() else {
        return " no switch".to_owned();
    };
    let target = |offset: i32| i64::from(it.bci) + i64::from(offset);
    let mut out = String::new();
    for (key, offset) in switch.cases() {
        out += &format!(" {key}: {}", target(offset));
    }
    out + &format!(" default: {}", target(switch.default))
}
