//! The bytecode of a method as the JVM runs it, with the layer's probes removed: the offsets that instructions
//! have in the class file, and the data of `INSTRUCTION_START` for branches and switches.

use loadhook_rewrite::code::instructions::{Instruction, Instructions};
use loadhook_rewrite::constant_pool::{Constant, ConstantPool};
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{Bci, CpIndex};

use crate::probe_class;

/// The fields of `INSTRUCTION_START` that depend on the instruction.
pub(crate) type Info = [i32; 3];

/// The code of a method.
pub(crate) struct Bytecode {
    code: Vec<u8>,
    /// For each instruction of the class file: its offset in the rewritten code, and its offset in the class
    /// file.
    offsets: Vec<(u32, u32)>,
}

/// A call of a probe.
struct Probe {
    /// The number of instructions that push the arguments of the call.
    arguments: usize,
    /// True if the probe is called at the end of the method.
    is_end: bool,
}

impl Bytecode {
    /// Reads the code of a method. `pool` has the bytes of the class's constant pool, `pool_count` is its
    /// `constant_pool_count`.
    pub(crate) fn new(code: Vec<u8>, pool_count: u16, pool: &[u8]) -> Self {
        let mut class = vec![0; 8];
        class.extend(pool_count.to_be_bytes());
        class.extend(pool);
        let pool = ConstantPool::of_class(&class).ok();
        let offsets = offsets(&code, |index| probe(pool.as_ref()?, index));
        Bytecode { code, offsets }
    }

    /// Returns the offset in the class file of the instruction at offset `at` of the rewritten code; `None` if
    /// the instruction belongs to a probe.
    pub(crate) fn original(&self, at: u32) -> Option<u32> {
        let place = self.offsets.binary_search_by_key(&at, |it| it.0).ok()?;
        self.offsets.get(place).map(|it| it.1)
    }

    fn instruction(&self, at: u32) -> Option<Instruction<'_>> {
        let bci = Bci::try_from_target(i64::from(at)).ok()?;
        Instruction::at(&self.code, bci).ok()
    }

    /// Returns whether the data of `INSTRUCTION_START` depends on where execution continues after the
    /// instruction.
    pub(crate) fn is_decision(&self, at: u32) -> bool {
        let instruction = self.instruction(at);
        instruction.is_some_and(|it| it.opcode.inverted().is_some() || it.switch().is_some())
    }

    /// Returns the local variable that an instruction pushes as an `int`; `None` for other instructions.
    pub(crate) fn loaded_local(&self, at: u32) -> Option<u16> {
        let instruction = self.instruction(at)?;
        match instruction.acting_opcode() {
            Opcode::Iload => Some(instruction.local()),
            Opcode::Iload0 => Some(0),
            Opcode::Iload1 => Some(1),
            Opcode::Iload2 => Some(2),
            Opcode::Iload3 => Some(3),
            _ => None,
        }
    }

    /// Returns the data of `INSTRUCTION_START` for a branch or switch at `at`, after which execution continues at
    /// `next`. `key` is the key of a switch, if it is known. If not, the result has a key that leads to `next`.
    pub(crate) fn decision(&self, at: u32, next: Option<u32>, key: Option<i32>) -> Info {
        let Some(instruction) = self.instruction(at) else {
            return Info::default();
        };
        let next = next.map(i64::from);
        let Some(switch) = instruction.switch() else {
            // A `jboolean` takes the first byte.
            let is_true = next.is_some() && instruction.jump_target() == next;
            return [i32::from_ne_bytes([u8::from(is_true), 0, 0, 0]), 0, 0];
        };
        let is_chosen = |(of, offset): (i32, i32)| match key {
            Some(key) => of == key,
            None => Some(i64::from(at) + i64::from(offset)) == next,
        };
        let chosen = switch.cases().position(is_chosen);
        let count = switch.cases().count() as i32;
        match switch.low {
            Some(low) => {
                let high = low.wrapping_add(count - 1);
                let outside = high.checked_add(1).unwrap_or(low.wrapping_sub(1));
                let found = chosen.map(|place| low.wrapping_add(place as i32));
                [key.or(found).unwrap_or(outside), low, high]
            }
            None => [chosen.map_or(count, |place| place as i32), count, 0],
        }
    }
}

/// Returns the probe that an `invokestatic` of this constant calls; `None` if it does not call a probe.
fn probe(pool: &ConstantPool<'_>, index: CpIndex) -> Option<Probe> {
    let Constant::Methodref {
        class,
        name_and_type,
    } = pool.get(index).ok()?
    else {
        return None;
    };
    let (name, descriptor) = pool.name_and_type(name_and_type).ok()?;
    if pool.class_name(class).ok()? != probe_class::NAME.as_bytes() {
        return None;
    }
    let arguments = match descriptor {
        b"(I)V" => 1,
        b"(III)V" => 3,
        _ => 2,
    };
    Some(Probe {
        arguments,
        is_end: [&b"exit"[..], b"ended"].contains(&name),
    })
}

/// Returns the offsets of the instructions that come from the class file. Leaves out the calls of probes with
/// their arguments, and the added handlers, each of which is a probe and `athrow`.
fn offsets(code: &[u8], probe: impl Fn(CpIndex) -> Option<Probe>) -> Vec<(u32, u32)> {
    let mut kept: Vec<Instruction<'_>> = Vec::new();
    let mut follows_end = false;
    for instruction in Instructions::new(code).map_while(Result::ok) {
        let called = match instruction.opcode {
            Opcode::Invokestatic => probe(instruction.constant()),
            _ => None,
        };
        if let Some(Probe { arguments, is_end }) = called {
            kept.truncate(kept.len().saturating_sub(arguments));
            follows_end = is_end;
        } else if !(follows_end && instruction.opcode == Opcode::Athrow) {
            kept.push(instruction);
            // The arguments of the next probe may follow.
            follows_end = false;
        }
    }
    let mut original = 0;
    let mut offsets = Vec::new();
    for instruction in kept {
        let now = u32::from(instruction.bci);
        offsets.push((now, original));
        let mut length = instruction.bytes.len() as u32;
        if instruction.switch().is_some() {
            // The length of a switch's padding depends on its offset.
            length = length - padding(now) + padding(original);
        }
        original += length;
    }
    offsets
}

/// Returns the number of bytes between the opcode of a switch and its operands, which begin at a multiple of four.
fn padding(at: u32) -> u32 {
    3 - (at & 3)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use loadhook_rewrite::{ClassFile, Everything, Options, Rewriter};

    use super::*;

    /// Returns the code of each method of a class, as the JVM would return it.
    fn codes(class: &[u8]) -> Vec<Option<Bytecode>> {
        let class = ClassFile::parse(class).expect("a class");
        let pool = class.pool();
        let bytes = &pool.class_bytes()[10..pool.end()];
        let code = |code: &[u8]| Bytecode::new(code.to_vec(), pool.count(), bytes);
        class
            .methods()
            .map(|method| {
                method
                    .code()
                    .expect("readable code")
                    .map(|it| code(it.bytecode))
            })
            .collect()
    }

    /// Returns the offsets in the class file, in ascending order.
    fn originals(code: &Option<Bytecode>) -> Vec<u32> {
        let offsets = code.iter().flat_map(|code| &code.offsets);
        offsets.map(|it| it.1).collect()
    }

    #[test]
    fn instructions_with_probes_have_the_offsets_of_the_class_file() {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/inputs");
        let mut rewritten = 0;
        for entry in fs::read_dir(inputs).expect("golden inputs") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|it| it != "class") {
                continue;
            }
            let class = fs::read(&path).expect("a file");
            for receiver in [false, true] {
                let mut rewriter = Rewriter::new(Options {
                    owner: probe_class::NAME.to_owned(),
                    receiver,
                    ..Options::default()
                });
                let mut everything = Everything::timing(0);
                let outcome = rewriter.rewrite(&class, &mut everything, |len| Some(vec![0; len]));
                if let Ok(loadhook_rewrite::Outcome::Rewritten(new)) = outcome {
                    rewritten += 1;
                    let (before, after) = (codes(&class), codes(&new));
                    for (before, after) in before.iter().zip(&after) {
                        assert_eq!(originals(before), originals(after), "{}", path.display());
                    }
                }
            }
        }
        assert!(rewritten > 10, "{rewritten} classes were rewritten");
    }

    fn of(code: &[u8]) -> Bytecode {
        Bytecode::new(code.to_vec(), 1, &[])
    }

    #[test]
    fn a_branch_is_true_if_it_is_taken() {
        // ifeq +5; nop; nop; return
        let code = of(&[0x99, 0, 5, 0, 0, 0xb1]);
        assert!(code.is_decision(0) && !code.is_decision(3));
        let is_true = |next| code.decision(0, next, None)[0] != 0;
        assert_eq!([5, 3].map(|next| is_true(Some(next))), [true, false]);
        assert!(!is_true(None));
    }

    /// Makes code with a switch at offset 0, and these words after the switch's padding.
    fn switch(opcode: u8, words: &[i32]) -> Bytecode {
        let mut code = vec![opcode, 0, 0, 0];
        code.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        of(&code)
    }

    #[test]
    fn a_table_switch_has_its_key() {
        // default: 90, keys 5 to 7: 30, 40, 30
        let code = switch(0xaa, &[90, 5, 7, 30, 40, 30]);
        assert_eq!(code.decision(0, Some(40), None), [6, 5, 7]);
        assert_eq!(code.decision(0, Some(30), None), [5, 5, 7]);
        assert_eq!(code.decision(0, Some(30), Some(7)), [7, 5, 7]);
        assert_eq!(code.decision(0, Some(90), None), [8, 5, 7]);
        assert_eq!(code.decision(0, Some(90), Some(-3)), [-3, 5, 7]);
    }

    #[test]
    fn a_lookup_switch_has_the_chosen_pair() {
        // default: 90, keys -1 and 1000: 30, 40
        let code = switch(0xab, &[90, 2, -1, 30, 1000, 40]);
        assert_eq!(code.decision(0, Some(30), None), [0, 2, 0]);
        assert_eq!(code.decision(0, Some(40), Some(1000)), [1, 2, 0]);
        assert_eq!(code.decision(0, Some(90), None), [2, 2, 0]);
        assert_eq!(code.decision(0, Some(90), Some(7)), [2, 2, 0]);
    }

    #[test]
    fn the_local_variable_of_a_key_is_known() {
        // iload 7; iload_2; wide iload 300; nop
        let code = of(&[0x15, 7, 0x1c, 0xc4, 0x15, 1, 44, 0]);
        let locals = [0, 2, 3, 7].map(|at| code.loaded_local(at));
        assert_eq!(locals, [Some(7), Some(2), Some(300), None]);
    }
}
