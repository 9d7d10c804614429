//! Methods that append instructions, with convenient names.
//!
//! Each method writes the shortest encoding, unless the method's name says otherwise.
//! [`CodeBuilder::op`] and raw operands give all other encodings.

use super::bytes::Put;
use super::op;
use super::{AssembleError, CodeBuilder};

impl CodeBuilder<'_> {
    /// Appends an instruction without operands.
    pub fn op(&mut self, opcode: u8) -> &mut Self {
        self.bytes.u1(opcode);
        self
    }

    /// Appends several instructions without operands.
    pub fn ops(&mut self, opcodes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(opcodes);
        self
    }

    /// Appends an instruction with a one-byte operand.
    pub fn op_u1(&mut self, opcode: u8, operand: u8) -> &mut Self {
        self.bytes.extend_from_slice(&[opcode, operand]);
        self
    }

    /// Appends an instruction with a two-byte operand.
    pub fn op_u2(&mut self, opcode: u8, operand: u16) -> &mut Self {
        self.bytes.u1(opcode);
        self.bytes.u2(operand);
        self
    }

    /// Pushes an `int`: `iconst`, `bipush`, `sipush` or `ldc`/`ldc_w`.
    pub fn iconst(&mut self, value: i32) -> &mut Self {
        if let Ok(small @ -1..=5) = i8::try_from(value) {
            return self.op(op::ICONST_0.wrapping_add_signed(small));
        }
        if let Ok(byte) = i8::try_from(value) {
            return self.op_u1(op::BIPUSH, byte.cast_unsigned());
        }
        if let Ok(short) = i16::try_from(value) {
            return self.op_u2(op::SIPUSH, short.cast_unsigned());
        }
        let index = self.pool.integer(value);
        self.ldc(index)
    }

    /// Appends `sipush` for every value, so that the code has a known length.
    pub fn sipush(&mut self, value: i16) -> &mut Self {
        self.op_u2(op::SIPUSH, value.cast_unsigned())
    }

    /// Appends `ldc` where the index fits in a byte, else `ldc_w`.
    pub fn ldc(&mut self, index: u16) -> &mut Self {
        match u8::try_from(index) {
            Ok(index) => self.op_u1(op::LDC, index),
            Err(_) => self.ldc_w(index),
        }
    }

    /// Appends `ldc_w` for every index.
    pub fn ldc_w(&mut self, index: u16) -> &mut Self {
        self.op_u2(op::LDC_W, index)
    }

    /// Appends `ldc2_w`.
    pub fn ldc2_w(&mut self, index: u16) -> &mut Self {
        self.op_u2(op::LDC2_W, index)
    }

    /// Pushes a `String` constant.
    pub fn ldc_string(&mut self, text: &str) -> &mut Self {
        let index = self.pool.string(text);
        self.ldc(index)
    }

    /// Pushes a `Class` constant (versions 49 and up).
    pub fn ldc_class(&mut self, name: &str) -> &mut Self {
        let index = self.pool.class(name);
        self.ldc(index)
    }

    /// Pushes a `long` constant.
    pub fn lconst(&mut self, value: i64) -> &mut Self {
        let index = self.pool.long(value);
        self.ldc2_w(index)
    }

    /// Pushes a `double` constant.
    pub fn dconst(&mut self, value: f64) -> &mut Self {
        let index = self.pool.double(value);
        self.ldc2_w(index)
    }

    /// Pushes a `float` constant.
    pub fn fconst(&mut self, value: f32) -> &mut Self {
        let index = self.pool.float(value);
        self.ldc(index)
    }

    /// Appends a load, a store or `ret`, given by its long form (`iload`, `astore`, …): the
    /// one-byte form for 0–3, `wide` from 256 on.
    pub fn local(&mut self, opcode: u8, index: u16) -> &mut Self {
        match (u8::try_from(index), opcode) {
            (Ok(index @ 0..=3), op::ILOAD..=op::ALOAD) => {
                self.op(op::ILOAD_0 + 4 * (opcode - op::ILOAD) + index)
            }
            (Ok(index @ 0..=3), op::ISTORE..=op::ASTORE) => {
                self.op(op::ISTORE_0 + 4 * (opcode - op::ISTORE) + index)
            }
            (Ok(index), _) => self.op_u1(opcode, index),
            (Err(_), _) => self.wide(opcode, index),
        }
    }

    /// Appends `wide` with a load, a store or `ret`, for every index.
    pub fn wide(&mut self, opcode: u8, index: u16) -> &mut Self {
        self.op(op::WIDE).op_u2(opcode, index)
    }

    /// Appends `wide iinc`.
    pub fn wide_iinc(&mut self, index: u16, by: i16) -> &mut Self {
        self.op(op::WIDE).op_u2(op::IINC, index);
        self.bytes.u2(by.cast_unsigned());
        self
    }

    /// Appends `iinc`, with `wide` where needed.
    pub fn iinc(&mut self, index: u16, by: i16) -> &mut Self {
        match (u8::try_from(index), i8::try_from(by)) {
            (Ok(index), Ok(by)) => self.op_u1(op::IINC, index).op(by.cast_unsigned()),
            _ => self.wide_iinc(index, by),
        }
    }

    /// Appends `iload`.
    pub fn iload(&mut self, index: u16) -> &mut Self {
        self.local(op::ILOAD, index)
    }

    /// Appends `istore`.
    pub fn istore(&mut self, index: u16) -> &mut Self {
        self.local(op::ISTORE, index)
    }

    /// Appends `aload`.
    pub fn aload(&mut self, index: u16) -> &mut Self {
        self.local(op::ALOAD, index)
    }

    /// Appends `astore`.
    pub fn astore(&mut self, index: u16) -> &mut Self {
        self.local(op::ASTORE, index)
    }

    /// Appends `getstatic`, `putstatic`, `getfield` or `putfield`.
    pub fn field(&mut self, opcode: u8, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let index = self.pool.field(owner, name, descriptor);
        self.op_u2(opcode, index)
    }

    /// Appends `invokestatic` of a class's method.
    pub fn invokestatic(&mut self, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let index = self.pool.method(owner, name, descriptor);
        self.op_u2(op::INVOKESTATIC, index)
    }

    /// Appends `invokevirtual`.
    pub fn invokevirtual(&mut self, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let index = self.pool.method(owner, name, descriptor);
        self.op_u2(op::INVOKEVIRTUAL, index)
    }

    /// Appends `invokespecial` of a class's method.
    pub fn invokespecial(&mut self, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let index = self.pool.method(owner, name, descriptor);
        self.op_u2(op::INVOKESPECIAL, index)
    }

    /// Appends `invokespecial` of a constructor.
    pub fn init(&mut self, owner: &str, descriptor: &str) -> &mut Self {
        self.invokespecial(owner, "<init>", descriptor)
    }

    /// Appends `invokeinterface`. The instruction repeats the number of local variables that the
    /// arguments take (JVMS §6.5.invokeinterface).
    pub fn invokeinterface(&mut self, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let index = self.pool.interface_method(owner, name, descriptor);
        let count = match super::frames::initial_locals(None, descriptor) {
            Ok(arguments) => 1 + super::frames::slots(&arguments) as u8,
            Err(error) => {
                self.fail(error);
                1
            }
        };
        self.op_u2(op::INVOKEINTERFACE, index).ops(&[count, 0])
    }

    /// Appends `invokedynamic` with an entry of `BootstrapMethods`.
    pub fn invokedynamic(&mut self, bootstrap: u16, name: &str, descriptor: &str) -> &mut Self {
        let index = self.pool.invoke_dynamic(bootstrap, name, descriptor);
        self.op_u2(op::INVOKEDYNAMIC, index).ops(&[0, 0])
    }

    /// Appends `new`, `anewarray`, `checkcast` or `instanceof`.
    pub fn typed(&mut self, opcode: u8, name: &str) -> &mut Self {
        let index = self.pool.class(name);
        self.op_u2(opcode, index)
    }

    /// Appends `newarray`; `int` is 10 (JVMS table 6.5.newarray-A).
    pub fn newarray(&mut self, atype: u8) -> &mut Self {
        self.op_u1(op::NEWARRAY, atype)
    }

    /// Appends `multianewarray`.
    pub fn multianewarray(&mut self, name: &str, dimensions: u8) -> &mut Self {
        self.typed(op::MULTIANEWARRAY, name).op(dimensions)
    }

    /// Appends `nop`s until the code is `length` bytes long.
    pub fn nops_to(&mut self, length: usize) -> &mut Self {
        if length < self.pc() {
            let needed = self.pc();
            self.fail(AssembleError::Filler {
                asked: length,
                needed,
            });
        }
        self.bytes.resize(length.max(self.bytes.len()), op::NOP);
        self
    }
}
