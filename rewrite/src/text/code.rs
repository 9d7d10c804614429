//! The `Code` attribute as text (JVMS §4.7.3).

use std::fmt::{self, Write};

use crate::class::Member;
use crate::code::frames::{FrameFormat, Frames, form};
use crate::code::instructions::Instruction;
use crate::code::types::VerificationType as V;
use crate::code::{Bci, Code, line_table, local_table};
use crate::error::Structure;
use crate::modified_utf8::short;
use crate::opcode::Operands;
use crate::reader::Reader;
use crate::text::printer::{Indexes, Printer, Stop};

/// Returns the element type of a `newarray` (JVMS table 6.5.newarray-A).
fn array_type(code: u8) -> Option<&'static str> {
    Some(match code {
        4 => "boolean",
        5 => "char",
        6 => "float",
        7 => "double",
        8 => "byte",
        9 => "short",
        10 => "int",
        11 => "long",
        _ => return None,
    })
}

/// Returns the name of a `frame_type` (JVMS §4.7.4).
fn frame_name(frame_type: u8) -> &'static str {
    match frame_type {
        0..=63 => "same_frame",
        64..=127 => "same_locals_1_stack_item_frame",
        128..=246 => "reserved",
        247 => "same_locals_1_stack_item_frame_extended",
        248..=250 => "chop_frame",
        251 => "same_frame_extended",
        252..=254 => "append_frame",
        255 => "full_frame",
    }
}

impl<'a> Printer<'_, 'a> {
    /// Prints the `Code` attribute of `method`.
    pub(super) fn code(&mut self, method: &Member<'_, 'a>) -> fmt::Result {
        self.line(format_args!("Code"))?;
        self.readable(|printer| {
            let Some(code) = method.code()? else {
                return Ok(());
            };
            let structure = Structure::Method(method.index());
            let (max_stack, max_locals) = (code.max_stack, code.max_locals);
            printer.line(format_args!(
                "max_stack {max_stack}, max_locals {max_locals}"
            ))?;
            // `code_length` has its own line, because probes change it like an offset.
            printer.write_str("code_length ")?;
            printer.offset(i64::from(code.len()))?;
            printer.end()?;
            printer.instructions(&code)?;
            printer.exception_table(&code)?;
            printer.attributes(code.attributes(), Self::code_attribute, structure)?;
            let mut attributes = code.attributes();
            attributes.by_ref().for_each(drop);
            attributes.finish()?;
            Ok(())
        })
    }

    fn instructions(&mut self, code: &Code<'a>) -> fmt::Result {
        let mut end = Bci::START;
        for instruction in code.instructions() {
            match instruction {
                Ok(instruction) => {
                    self.one_instruction(&instruction)?;
                    end = instruction.end();
                }
                Err(kind) => {
                    self.error(&code.error(kind, end))?;
                    self.hex(code.bytecode.get(end.index()..).unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }

    fn one_instruction(&mut self, instruction: &Instruction<'_>) -> fmt::Result {
        let (opcode, operands) = (instruction.opcode, instruction.opcode.operands());
        self.instruction(instruction.bci)?;
        write!(self, ": {}", opcode.mnemonic())?;
        if operands != Operands::None {
            self.write_char(' ')?;
        }
        match operands {
            Operands::None => {}
            Operands::Byte => write!(self, "{}", instruction.u1(1) as i8)?,
            Operands::Short => write!(self, "{}", instruction.u2(1) as i16)?,
            Operands::Local => write!(self, "{}", instruction.local())?,
            Operands::Constant1 | Operands::Constant2 => self.operand(instruction.constant())?,
            Operands::Increment => {
                write!(self, "{} {}", instruction.local(), instruction.u1(2) as i8)?;
            }
            Operands::Branch2 | Operands::Branch4 => {
                self.offset(instruction.jump_target().unwrap_or(-1))?;
            }
            Operands::TableSwitch | Operands::LookupSwitch => return self.switch(instruction),
            Operands::InvokeInterface => {
                write!(self, "count {} ", instruction.u1(3))?;
                self.operand(instruction.constant())?;
            }
            Operands::InvokeDynamic => self.operand(instruction.constant())?,
            Operands::ArrayType => match array_type(instruction.u1(1)) {
                Some(name) => self.write_str(name)?,
                None => write!(self, "atype {}", instruction.u1(1))?,
            },
            Operands::MultiANewArray => {
                write!(self, "dimensions {} ", instruction.u1(3))?;
                self.operand(instruction.constant())?;
            }
            Operands::Wide => {
                let acting = instruction.acting_opcode();
                write!(self, "{} {}", acting.mnemonic(), instruction.local())?;
                if acting.operands() == Operands::Increment {
                    write!(self, " {}", instruction.u2(4) as i16)?;
                }
            }
        }
        // The specification requires these bytes to be zero (JVMS §6.5).
        let reserved = match operands {
            Operands::InvokeInterface => u16::from(instruction.u1(4)),
            Operands::InvokeDynamic => instruction.u2(3),
            _ => 0,
        };
        if reserved != 0 {
            write!(self, "  // not zero: {reserved}")?;
        }
        self.end()
    }

    /// Prints the operands of a switch, with a line for each case.
    fn switch(&mut self, instruction: &Instruction<'_>) -> fmt::Result {
        let Some(switch) = instruction.switch() else {
            return self.end();
        };
        let count = switch.cases().count();
        match switch.low {
            Some(low) => {
                let high = i64::from(low) + count as i64 - 1;
                write!(self, "{low} to {high}")?;
            }
            None => write!(self, "({count})")?,
        }
        let padding = instruction
            .bytes
            .get(1..switch.operands_at - instruction.bci.index());
        if padding.is_some_and(|padding| padding.iter().any(|&byte| byte != 0)) {
            self.write_str("  // padding not zero")?;
        }
        self.end()?;
        let from = i64::from(instruction.bci);
        self.indented(|printer| {
            for (key, offset) in switch.cases() {
                write!(printer, "{key:>10}: ")?;
                printer.offset(from + i64::from(offset))?;
                printer.end()?;
            }
            printer.write_str("   default: ")?;
            printer.offset(from + i64::from(switch.default))?;
            printer.end()
        })
    }

    fn exception_table(&mut self, code: &Code<'_>) -> fmt::Result {
        let entries = code.exception_table();
        if entries.len() == 0 {
            return Ok(());
        }
        self.line(format_args!("exception_table ({})", entries.len()))?;
        self.indented(|printer| {
            for entry in entries {
                printer.range(entry.start_pc, u32::from(entry.end_pc))?;
                printer.write_str(" handler ")?;
                printer.offset(i64::from(entry.handler_pc))?;
                if entry.catch_type.is_none() {
                    printer.write_str(" any")?;
                } else {
                    printer.write_char(' ')?;
                    printer.constant(entry.catch_type)?;
                }
                printer.end()?;
            }
            Ok(())
        })
    }

    /// Prints the content of an attribute of `Code`, after its name. Returns false for an unknown
    /// attribute.
    fn code_attribute(&mut self, name: &[u8], mut reader: Reader<'a>) -> Result<bool, Stop> {
        match name {
            b"LineNumberTable" => {
                self.end()?;
                for (start_pc, line) in line_table::entries(reader)? {
                    self.offset(i64::from(start_pc))?;
                    self.line(format_args!(": line {line}"))?;
                }
            }
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                self.end()?;
                for variable in local_table::entries(reader)? {
                    let start = variable.start_pc;
                    self.range(start, u32::from(start) + u32::from(variable.length))?;
                    write!(self, " local {} ", variable.index)?;
                    self.constant(variable.name_index)?;
                    self.write_char(' ')?;
                    self.constant(variable.descriptor_index)?;
                    self.end()?;
                }
            }
            b"StackMapTable" => self.frames(reader, FrameFormat::StackMapTable)?,
            b"StackMap" => self.frames(reader, FrameFormat::StackMap)?,
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                self.end()?;
                self.type_annotations(&mut reader)?;
                reader.finish()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn frames(&mut self, reader: Reader<'a>, format: FrameFormat) -> Result<(), Stop> {
        self.end()?;
        let is_empty = reader.clone().u2()? == 0;
        if is_empty && reader.left() > 2 {
            let mut rest = reader.clone();
            rest.skip(2)?;
            rest.finish()?;
        }
        for frame in Frames::new(self.pool(), reader, format)? {
            let frame = frame?;
            self.offset(i64::from(frame.bci))?;
            write!(self, ": {}", frame_name(frame.frame_type))?;
            if let form::CHOP_3..=form::CHOP_1 = frame.frame_type {
                write!(self, " {}", form::SAME_EXTENDED - frame.frame_type)?;
            }
            let is_full = frame.frame_type == form::FULL;
            for (word, types) in [("locals", &frame.locals), ("stack", &frame.stack)] {
                if is_full || !types.is_empty() {
                    write!(self, " {word} [")?;
                    for (i, &value) in types.iter().enumerate() {
                        self.write_str(if i == 0 { "" } else { ", " })?;
                        self.verification_type(value)?;
                    }
                    self.write_char(']')?;
                }
            }
            self.end()?;
        }
        Ok(())
    }

    fn verification_type(&mut self, value: V<'_>) -> fmt::Result {
        self.write_str(match value {
            V::Top => "top",
            V::Integer => "int",
            V::Float => "float",
            V::Double => "double",
            V::Long => "long",
            V::Null => "null",
            V::UninitializedThis => "uninitializedThis",
            V::Object(class) => {
                if let (Some(index), Indexes::Shown) = (class.index, self.indexes) {
                    write!(self, "#{index} ")?;
                }
                return write!(self, "{}", short(class.name));
            }
            V::Uninitialized(at) => {
                self.write_str("uninitialized ")?;
                return self.offset(i64::from(at));
            }
            V::ReturnAddress(at) => {
                self.write_str("returnAddress ")?;
                return self.offset(i64::from(at));
            }
        })
    }
}
