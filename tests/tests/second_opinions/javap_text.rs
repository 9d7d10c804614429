//! Parses the constants and the code in the text that `javap -v -p` prints.

use anyhow::{Context, Result};

/// A class as `javap` prints it.
#[derive(Debug, Default)]
pub(crate) struct Class {
    pub(crate) file: String,
    pub(crate) minor: u16,
    pub(crate) major: u16,
    pub(crate) flags: u16,
    /// The constants: index, kind, and for Utf8 constants the text.
    pub(crate) pool: Vec<(u16, String, String)>,
    pub(crate) members: Vec<Member>,
}

/// A field or method as `javap` prints it.
#[derive(Debug, Default)]
pub(crate) struct Member {
    pub(crate) header: String,
    pub(crate) descriptor: String,
    pub(crate) flags: u16,
    pub(crate) code: Option<Code>,
}

/// Code as `javap` prints it. Words are separated by single blanks.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) stack: u16,
    pub(crate) locals: u16,
    /// Each instruction as `offset: mnemonic operands`. The `key: target` pairs of a switch follow
    /// in the same line.
    pub(crate) instructions: Vec<String>,
    /// Each exception handler as `from to target type`.
    pub(crate) handlers: Vec<String>,
    /// Each line number as `line: offset`.
    pub(crate) lines: Vec<String>,
    /// Each local variable as `start length slot name signature`.
    pub(crate) variables: Vec<String>,
    pub(crate) variable_types: Vec<String>,
    /// Each frame as `type delta locals stack`; parts that `javap` does not print are left out.
    pub(crate) frames: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    None,
    Instructions,
    Switch,
    Handlers,
    Lines,
    Variables,
    VariableTypes,
    Frames,
}

fn words(line: &str) -> String {
    // Remove comments, in which `javap` resolves indexes.
    let line = line.split(" //").next().unwrap_or(line);
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn flags(line: &str) -> Option<u16> {
    u16::from_str_radix(line.split("(0x").nth(1)?.split(')').next()?, 16).ok()
}

/// Returns the classes in `javap`'s output, in the same order.
pub(crate) fn parse(text: &str) -> Result<Vec<Class>> {
    let mut classes: Vec<Class> = Vec::new();
    let mut section = Section::None;
    let mut in_members = false;
    for (number, line) in text.lines().enumerate() {
        if let Some(file) = line.strip_prefix("Classfile ") {
            classes.push(Class {
                file: file.to_owned(),
                ..Class::default()
            });
            (section, in_members) = (Section::None, false);
            continue;
        }
        let class = classes
            .last_mut()
            .with_context(|| format!("this line precedes the first class: {line}"))?;
        match line {
            "{" => in_members = true,
            "}" => in_members = false,
            _ if in_members => {
                section = member_line(class, section, line)
                    .with_context(|| format!("line {number}: {line}"))?
            }
            _ => head_line(class, line),
        }
    }
    Ok(classes)
}

fn head_line(class: &mut Class, line: &str) {
    let trimmed = line.trim_start();
    if let Some(version) = line.strip_prefix("  minor version: ") {
        class.minor = version.parse().unwrap_or(u16::MAX);
    } else if let Some(version) = line.strip_prefix("  major version: ") {
        class.major = version.parse().unwrap_or(u16::MAX);
    } else if line.starts_with("  flags: ") {
        class.flags = flags(line).unwrap_or(u16::MAX);
    } else if let Some((index, rest)) = trimmed
        .strip_prefix('#')
        .and_then(|it| it.split_once(" = "))
    {
        let (kind, text) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Ok(index) = index.parse() {
            class
                .pool
                .push((index, kind.to_owned(), text.trim_start().to_owned()));
        }
    }
}

fn member_line(class: &mut Class, section: Section, line: &str) -> Result<Section> {
    let indent = line.len() - line.trim_start().len();
    let text = line.trim_start();
    if section == Section::Switch {
        return switch_line(class, text);
    }
    // Offsets are right-aligned, so an offset of five digits has the same indent as a heading.
    let is_instruction =
        section == Section::Instructions && text.starts_with(|it: char| it.is_ascii_digit());
    match indent {
        _ if is_instruction => {}
        _ if text.is_empty() => return Ok(Section::None),
        2 => {
            class.members.push(Member {
                header: text.to_owned(),
                ..Member::default()
            });
            return Ok(Section::None);
        }
        4 => return member_part(class, text),
        6 => return code_part(class, section, text),
        _ => {}
    }
    if section == Section::None {
        return Ok(section);
    }
    code_line(code(class)?, section, text)
}

/// Reads a case of a switch, or its closing brace, which has the indent of an instruction.
fn switch_line(class: &mut Class, text: &str) -> Result<Section> {
    let code = code(class)?;
    let last = code
        .instructions
        .last_mut()
        .context("a case precedes all instructions")?;
    if text == "}" {
        return Ok(Section::Instructions);
    }
    last.push(' ');
    last.push_str(&words(text));
    Ok(Section::Switch)
}

/// Reads a line with the indent of the parts of a member.
fn member_part(class: &mut Class, text: &str) -> Result<Section> {
    let member = class
        .members
        .last_mut()
        .context("a line precedes all members")?;
    if let Some(descriptor) = text.strip_prefix("descriptor: ") {
        descriptor.clone_into(&mut member.descriptor);
    } else if text.starts_with("flags: ") {
        member.flags = flags(text).context("the flags cannot be read")?;
    } else if text == "Code:" {
        member.code = Some(Code::default());
        return Ok(Section::Instructions);
    }
    Ok(Section::None)
}

/// Reads a line with the indent of the headings of code and of its tables.
fn code_part(class: &mut Class, section: Section, text: &str) -> Result<Section> {
    let is_code = class.members.last().is_some_and(|it| it.code.is_some());
    Ok(match text {
        "Exception table:" => Section::Handlers,
        "LineNumberTable:" => Section::Lines,
        "LocalVariableTable:" => Section::Variables,
        "LocalVariableTypeTable:" => Section::VariableTypes,
        _ if text.starts_with("StackMapTable:") => Section::Frames,
        _ if is_code && section == Section::Instructions && text.starts_with("stack=") => {
            let code = code(class)?;
            for part in text.split(", ") {
                match part.split_once('=') {
                    Some(("stack", value)) => code.stack = value.parse()?,
                    Some(("locals", value)) => code.locals = value.parse()?,
                    _ => {}
                }
            }
            section
        }
        _ => Section::None,
    })
}

/// Reads an instruction or an entry of a table.
fn code_line(code: &mut Code, section: Section, text: &str) -> Result<Section> {
    let line = words(text);
    let is_header = line.starts_with("from to") || line.starts_with("Start Length");
    match section {
        _ if is_header => {}
        Section::Instructions => {
            let is_switch = line.ends_with('{');
            code.instructions
                .push(line.trim_end_matches([' ', '{']).to_owned());
            if is_switch {
                return Ok(Section::Switch);
            }
        }
        Section::Handlers => code.handlers.push(line),
        Section::Lines => code.lines.push(line.trim_start_matches("line ").to_owned()),
        Section::Variables => code.variables.push(line),
        Section::VariableTypes => code.variable_types.push(line),
        Section::Frames => match line.strip_prefix("frame_type = ") {
            Some(rest) => code
                .frames
                .push(rest.split(' ').next().unwrap_or(rest).to_owned()),
            None => {
                let frame = code
                    .frames
                    .last_mut()
                    .context("javap printed a part of a frame before the first frame")?;
                frame.push(' ');
                frame.push_str(&line);
            }
        },
        Section::None | Section::Switch => {}
    }
    Ok(section)
}

fn code(class: &mut Class) -> Result<&mut Code> {
    let member = class
        .members
        .last_mut()
        .context("a line precedes all members")?;
    member.code.as_mut().context("the member has no code")
}
