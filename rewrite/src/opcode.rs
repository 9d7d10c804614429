//! The instruction set (JVMS §6.5): one table, from which all functions and constants here are derived.

/// The layout of an instruction's operands (JVMS §6.5, "Format").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// No operand.
    None,
    /// A signed byte (`bipush`).
    Byte,
    /// A signed short (`sipush`).
    Short,
    /// A local variable index of one byte, or of two bytes after `wide`.
    Local,
    /// A constant-pool index of one byte (`ldc`).
    Constant1,
    /// A constant-pool index of two bytes.
    Constant2,
    /// A local variable index and a signed increment (`iinc`).
    Increment,
    /// A 16-bit jump offset.
    Branch2,
    /// A 32-bit jump offset.
    Branch4,
    /// Padding, default offset, low, high, jump offsets.
    TableSwitch,
    /// Padding, default offset, number of pairs, match-offset pairs.
    LookupSwitch,
    /// Constant-pool index, count, zero.
    InvokeInterface,
    /// Constant-pool index, two zero bytes.
    InvokeDynamic,
    /// The element type of `newarray` (JVMS table 6.5.newarray-A).
    ArrayType,
    /// Constant-pool index and number of dimensions.
    MultiANewArray,
    /// Another opcode with a two-byte local variable index.
    Wide,
}

/// The effect of an instruction on local variables and operand stack, in slots
/// (`long` and `double` take two, JVMS §2.6.1).
///
/// Types are written as in descriptors, with `A` for a reference and `N` for
/// `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Pops this number of slots and pushes values of these types.
    Plain(u8, &'static str),
    /// Pushes a constant, whose tag in the pool determines the type.
    Constant,
    /// Pushes the local variable that the operand names.
    Load(u8),
    /// Pushes the local variable that the opcode names.
    LoadN(u8, u8),
    /// Pops into the local variable that the operand names.
    Store(u8),
    /// Pops into the local variable that the opcode names.
    StoreN(u8, u8),
    /// `aaload`: pushes a value of the array's element type.
    ArrayElement,
    /// Copies the top slots, and puts the copies below further slots. The first number is that of the copied
    /// slots, the second that of the further slots: 1 and 1 for `dup_x1`.
    Duplicate(u8, u8),
    /// Exchanges the two top slots.
    Swap,
    /// An unconditional jump.
    Jump,
    /// `jsr`, `jsr_w`.
    Subroutine,
    /// `ret`.
    SubroutineReturn,
    /// `tableswitch`, `lookupswitch`.
    Switch,
    /// A return that pops this number of slots.
    Return(u8),
    /// Reads a field, after popping this number of slots for the object.
    GetField(u8),
    /// Writes a field: pops the value and this number of slots for the object.
    PutField(u8),
    /// Calls a method: pops the arguments and this number of slots for the receiver, and pushes the result.
    Invoke(u8),
    /// `new`.
    New,
    /// `newarray`.
    NewArray,
    /// `anewarray`.
    ANewArray,
    /// `multianewarray`.
    MultiANewArray,
    /// `athrow`.
    Throw,
    /// `checkcast`.
    CheckCast,
    /// `wide`: the effect is that of the opcode that it modifies.
    Wide,
}

macro_rules! opcodes {
    ($($byte:literal $variant:ident $mnemonic:literal $operands:ident
       $effect:ident $(($($argument:expr),*))?;)*) => {
        /// An instruction's opcode. Variants follow the mnemonics of JVMS §6.5.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Opcode { $($variant = $byte),* }

        impl Opcode {
            /// Every opcode, in numeric order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant),*];

            /// Returns the mnemonic of JVMS §6.5.
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Opcode::$variant => $mnemonic),* }
            }

            /// Returns the layout of the operands.
            pub const fn operands(self) -> Operands {
                match self { $(Opcode::$variant => Operands::$operands),* }
            }

            /// Returns the effect on local variables and operand stack.
            pub const fn effect(self) -> Effect {
                match self { $(Opcode::$variant => Effect::$effect $(($($argument),*))?),* }
            }
        }
    };
}

opcodes! {
    0x00 Nop "nop" None Plain(0, "");
    0x01 AconstNull "aconst_null" None Plain(0, "N");
    0x02 IconstM1 "iconst_m1" None Plain(0, "I");
    0x03 Iconst0 "iconst_0" None Plain(0, "I");
    0x04 Iconst1 "iconst_1" None Plain(0, "I");
    0x05 Iconst2 "iconst_2" None Plain(0, "I");
    0x06 Iconst3 "iconst_3" None Plain(0, "I");
    0x07 Iconst4 "iconst_4" None Plain(0, "I");
    0x08 Iconst5 "iconst_5" None Plain(0, "I");
    0x09 Lconst0 "lconst_0" None Plain(0, "J");
    0x0a Lconst1 "lconst_1" None Plain(0, "J");
    0x0b Fconst0 "fconst_0" None Plain(0, "F");
    0x0c Fconst1 "fconst_1" None Plain(0, "F");
    0x0d Fconst2 "fconst_2" None Plain(0, "F");
    0x0e Dconst0 "dconst_0" None Plain(0, "D");
    0x0f Dconst1 "dconst_1" None Plain(0, "D");
    0x10 Bipush "bipush" Byte Plain(0, "I");
    0x11 Sipush "sipush" Short Plain(0, "I");
    0x12 Ldc "ldc" Constant1 Constant;
    0x13 LdcW "ldc_w" Constant2 Constant;
    0x14 Ldc2W "ldc2_w" Constant2 Constant;
    0x15 Iload "iload" Local Load(b'I');
    0x16 Lload "lload" Local Load(b'J');
    0x17 Fload "fload" Local Load(b'F');
    0x18 Dload "dload" Local Load(b'D');
    0x19 Aload "aload" Local Load(b'A');
    0x1a Iload0 "iload_0" None LoadN(b'I', 0);
    0x1b Iload1 "iload_1" None LoadN(b'I', 1);
    0x1c Iload2 "iload_2" None LoadN(b'I', 2);
    0x1d Iload3 "iload_3" None LoadN(b'I', 3);
    0x1e Lload0 "lload_0" None LoadN(b'J', 0);
    0x1f Lload1 "lload_1" None LoadN(b'J', 1);
    0x20 Lload2 "lload_2" None LoadN(b'J', 2);
    0x21 Lload3 "lload_3" None LoadN(b'J', 3);
    0x22 Fload0 "fload_0" None LoadN(b'F', 0);
    0x23 Fload1 "fload_1" None LoadN(b'F', 1);
    0x24 Fload2 "fload_2" None LoadN(b'F', 2);
    0x25 Fload3 "fload_3" None LoadN(b'F', 3);
    0x26 Dload0 "dload_0" None LoadN(b'D', 0);
    0x27 Dload1 "dload_1" None LoadN(b'D', 1);
    0x28 Dload2 "dload_2" None LoadN(b'D', 2);
    0x29 Dload3 "dload_3" None LoadN(b'D', 3);
    0x2a Aload0 "aload_0" None LoadN(b'A', 0);
    0x2b Aload1 "aload_1" None LoadN(b'A', 1);
    0x2c Aload2 "aload_2" None LoadN(b'A', 2);
    0x2d Aload3 "aload_3" None LoadN(b'A', 3);
    0x2e Iaload "iaload" None Plain(2, "I");
    0x2f Laload "laload" None Plain(2, "J");
    0x30 Faload "faload" None Plain(2, "F");
    0x31 Daload "daload" None Plain(2, "D");
    0x32 Aaload "aaload" None ArrayElement;
    0x33 Baload "baload" None Plain(2, "I");
    0x34 Caload "caload" None Plain(2, "I");
    0x35 Saload "saload" None Plain(2, "I");
    0x36 Istore "istore" Local Store(b'I');
    0x37 Lstore "lstore" Local Store(b'J');
    0x38 Fstore "fstore" Local Store(b'F');
    0x39 Dstore "dstore" Local Store(b'D');
    0x3a Astore "astore" Local Store(b'A');
    0x3b Istore0 "istore_0" None StoreN(b'I', 0);
    0x3c Istore1 "istore_1" None StoreN(b'I', 1);
    0x3d Istore2 "istore_2" None StoreN(b'I', 2);
    0x3e Istore3 "istore_3" None StoreN(b'I', 3);
    0x3f Lstore0 "lstore_0" None StoreN(b'J', 0);
    0x40 Lstore1 "lstore_1" None StoreN(b'J', 1);
    0x41 Lstore2 "lstore_2" None StoreN(b'J', 2);
    0x42 Lstore3 "lstore_3" None StoreN(b'J', 3);
    0x43 Fstore0 "fstore_0" None StoreN(b'F', 0);
    0x44 Fstore1 "fstore_1" None StoreN(b'F', 1);
    0x45 Fstore2 "fstore_2" None StoreN(b'F', 2);
    0x46 Fstore3 "fstore_3" None StoreN(b'F', 3);
    0x47 Dstore0 "dstore_0" None StoreN(b'D', 0);
    0x48 Dstore1 "dstore_1" None StoreN(b'D', 1);
    0x49 Dstore2 "dstore_2" None StoreN(b'D', 2);
    0x4a Dstore3 "dstore_3" None StoreN(b'D', 3);
    0x4b Astore0 "astore_0" None StoreN(b'A', 0);
    0x4c Astore1 "astore_1" None StoreN(b'A', 1);
    0x4d Astore2 "astore_2" None StoreN(b'A', 2);
    0x4e Astore3 "astore_3" None StoreN(b'A', 3);
    0x4f Iastore "iastore" None Plain(3, "");
    0x50 Lastore "lastore" None Plain(4, "");
    0x51 Fastore "fastore" None Plain(3, "");
    0x52 Dastore "dastore" None Plain(4, "");
    0x53 Aastore "aastore" None Plain(3, "");
    0x54 Bastore "bastore" None Plain(3, "");
    0x55 Castore "castore" None Plain(3, "");
    0x56 Sastore "sastore" None Plain(3, "");
    0x57 Pop "pop" None Plain(1, "");
    0x58 Pop2 "pop2" None Plain(2, "");
    0x59 Dup "dup" None Duplicate(1, 0);
    0x5a DupX1 "dup_x1" None Duplicate(1, 1);
    0x5b DupX2 "dup_x2" None Duplicate(1, 2);
    0x5c Dup2 "dup2" None Duplicate(2, 0);
    0x5d Dup2X1 "dup2_x1" None Duplicate(2, 1);
    0x5e Dup2X2 "dup2_x2" None Duplicate(2, 2);
    0x5f Swap "swap" None Swap;
    0x60 Iadd "iadd" None Plain(2, "I");
    0x61 Ladd "ladd" None Plain(4, "J");
    0x62 Fadd "fadd" None Plain(2, "F");
    0x63 Dadd "dadd" None Plain(4, "D");
    0x64 Isub "isub" None Plain(2, "I");
    0x65 Lsub "lsub" None Plain(4, "J");
    0x66 Fsub "fsub" None Plain(2, "F");
    0x67 Dsub "dsub" None Plain(4, "D");
    0x68 Imul "imul" None Plain(2, "I");
    0x69 Lmul "lmul" None Plain(4, "J");
    0x6a Fmul "fmul" None Plain(2, "F");
    0x6b Dmul "dmul" None Plain(4, "D");
    0x6c Idiv "idiv" None Plain(2, "I");
    0x6d Ldiv "ldiv" None Plain(4, "J");
    0x6e Fdiv "fdiv" None Plain(2, "F");
    0x6f Ddiv "ddiv" None Plain(4, "D");
    0x70 Irem "irem" None Plain(2, "I");
    0x71 Lrem "lrem" None Plain(4, "J");
    0x72 Frem "frem" None Plain(2, "F");
    0x73 Drem "drem" None Plain(4, "D");
    0x74 Ineg "ineg" None Plain(1, "I");
    0x75 Lneg "lneg" None Plain(2, "J");
    0x76 Fneg "fneg" None Plain(1, "F");
    0x77 Dneg "dneg" None Plain(2, "D");
    0x78 Ishl "ishl" None Plain(2, "I");
    0x79 Lshl "lshl" None Plain(3, "J");
    0x7a Ishr "ishr" None Plain(2, "I");
    0x7b Lshr "lshr" None Plain(3, "J");
    0x7c Iushr "iushr" None Plain(2, "I");
    0x7d Lushr "lushr" None Plain(3, "J");
    0x7e Iand "iand" None Plain(2, "I");
    0x7f Land "land" None Plain(4, "J");
    0x80 Ior "ior" None Plain(2, "I");
    0x81 Lor "lor" None Plain(4, "J");
    0x82 Ixor "ixor" None Plain(2, "I");
    0x83 Lxor "lxor" None Plain(4, "J");
    0x84 Iinc "iinc" Increment Plain(0, "");
    0x85 I2l "i2l" None Plain(1, "J");
    0x86 I2f "i2f" None Plain(1, "F");
    0x87 I2d "i2d" None Plain(1, "D");
    0x88 L2i "l2i" None Plain(2, "I");
    0x89 L2f "l2f" None Plain(2, "F");
    0x8a L2d "l2d" None Plain(2, "D");
    0x8b F2i "f2i" None Plain(1, "I");
    0x8c F2l "f2l" None Plain(1, "J");
    0x8d F2d "f2d" None Plain(1, "D");
    0x8e D2i "d2i" None Plain(2, "I");
    0x8f D2l "d2l" None Plain(2, "J");
    0x90 D2f "d2f" None Plain(2, "F");
    0x91 I2b "i2b" None Plain(1, "I");
    0x92 I2c "i2c" None Plain(1, "I");
    0x93 I2s "i2s" None Plain(1, "I");
    0x94 Lcmp "lcmp" None Plain(4, "I");
    0x95 Fcmpl "fcmpl" None Plain(2, "I");
    0x96 Fcmpg "fcmpg" None Plain(2, "I");
    0x97 Dcmpl "dcmpl" None Plain(4, "I");
    0x98 Dcmpg "dcmpg" None Plain(4, "I");
    0x99 Ifeq "ifeq" Branch2 Plain(1, "");
    0x9a Ifne "ifne" Branch2 Plain(1, "");
    0x9b Iflt "iflt" Branch2 Plain(1, "");
    0x9c Ifge "ifge" Branch2 Plain(1, "");
    0x9d Ifgt "ifgt" Branch2 Plain(1, "");
    0x9e Ifle "ifle" Branch2 Plain(1, "");
    0x9f IfIcmpeq "if_icmpeq" Branch2 Plain(2, "");
    0xa0 IfIcmpne "if_icmpne" Branch2 Plain(2, "");
    0xa1 IfIcmplt "if_icmplt" Branch2 Plain(2, "");
    0xa2 IfIcmpge "if_icmpge" Branch2 Plain(2, "");
    0xa3 IfIcmpgt "if_icmpgt" Branch2 Plain(2, "");
    0xa4 IfIcmple "if_icmple" Branch2 Plain(2, "");
    0xa5 IfAcmpeq "if_acmpeq" Branch2 Plain(2, "");
    0xa6 IfAcmpne "if_acmpne" Branch2 Plain(2, "");
    0xa7 Goto "goto" Branch2 Jump;
    0xa8 Jsr "jsr" Branch2 Subroutine;
    0xa9 Ret "ret" Local SubroutineReturn;
    0xaa Tableswitch "tableswitch" TableSwitch Switch;
    0xab Lookupswitch "lookupswitch" LookupSwitch Switch;
    0xac Ireturn "ireturn" None Return(1);
    0xad Lreturn "lreturn" None Return(2);
    0xae Freturn "freturn" None Return(1);
    0xaf Dreturn "dreturn" None Return(2);
    0xb0 Areturn "areturn" None Return(1);
    0xb1 Return "return" None Return(0);
    0xb2 Getstatic "getstatic" Constant2 GetField(0);
    0xb3 Putstatic "putstatic" Constant2 PutField(0);
    0xb4 Getfield "getfield" Constant2 GetField(1);
    0xb5 Putfield "putfield" Constant2 PutField(1);
    0xb6 Invokevirtual "invokevirtual" Constant2 Invoke(1);
    0xb7 Invokespecial "invokespecial" Constant2 Invoke(1);
    0xb8 Invokestatic "invokestatic" Constant2 Invoke(0);
    0xb9 Invokeinterface "invokeinterface" InvokeInterface Invoke(1);
    0xba Invokedynamic "invokedynamic" InvokeDynamic Invoke(0);
    0xbb New "new" Constant2 New;
    0xbc Newarray "newarray" ArrayType NewArray;
    0xbd Anewarray "anewarray" Constant2 ANewArray;
    0xbe Arraylength "arraylength" None Plain(1, "I");
    0xbf Athrow "athrow" None Throw;
    0xc0 Checkcast "checkcast" Constant2 CheckCast;
    0xc1 Instanceof "instanceof" Constant2 Plain(1, "I");
    0xc2 Monitorenter "monitorenter" None Plain(1, "");
    0xc3 Monitorexit "monitorexit" None Plain(1, "");
    0xc4 Wide "wide" Wide Wide;
    0xc5 Multianewarray "multianewarray" MultiANewArray MultiANewArray;
    0xc6 Ifnull "ifnull" Branch2 Plain(1, "");
    0xc7 Ifnonnull "ifnonnull" Branch2 Plain(1, "");
    0xc8 GotoW "goto_w" Branch4 Jump;
    0xc9 JsrW "jsr_w" Branch4 Subroutine;
}

impl Opcode {
    /// Returns the opcode of a byte; `None` for the 54 bytes that are not opcodes.
    #[inline]
    pub const fn from_byte(byte: u8) -> Option<Opcode> {
        if (byte as usize) < Opcode::ALL.len() {
            Some(Opcode::ALL[byte as usize])
        } else {
            None
        }
    }

    /// Returns the byte that stands for the opcode in code.
    #[inline]
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the conditional jump that is taken exactly when this one is not.
    pub const fn inverted(self) -> Option<Opcode> {
        match self {
            Opcode::Ifnull => Some(Opcode::Ifnonnull),
            Opcode::Ifnonnull => Some(Opcode::Ifnull),
            // ifeq..if_acmpne come in pairs that begin at an odd byte.
            _ if self.byte() >= Opcode::Ifeq.byte() && self.byte() <= Opcode::IfAcmpne.byte() => {
                Opcode::from_byte(((self.byte() - 1) ^ 1) + 1)
            }
            _ => None,
        }
    }

    /// Returns whether execution never continues with the next instruction in the code.
    pub const fn ends_block(self) -> bool {
        matches!(
            self.effect(),
            Effect::Jump
                | Effect::SubroutineReturn
                | Effect::Switch
                | Effect::Return(_)
                | Effect::Throw
        )
    }
}

/// The kinds of instructions that the layout treats differently. All kinds but `Plain` are rare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// An instruction that is copied as it is, and has no probe.
    Plain,
    Branch2,
    Branch4,
    Switch,
    Wide,
    Return,
    New,
    Array,
    MultiArray,
    Invalid,
}

/// An instruction's kind, and its length in bytes: 0 if the length varies.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) length: u8,
}

/// The shape of each opcode byte. The table has 512 bytes, so that it stays in the cache.
pub(crate) static SHAPES: [Shape; 256] = {
    let mut shapes = [Shape {
        kind: Kind::Invalid,
        length: 0,
    }; 256];
    let mut i = 0;
    while i < Opcode::ALL.len() {
        let opcode = Opcode::ALL[i];
        shapes[i] = Shape {
            kind: kind_of(opcode),
            length: length_of(opcode.operands()),
        };
        i += 1;
    }
    shapes
};

const fn kind_of(opcode: Opcode) -> Kind {
    match opcode.effect() {
        Effect::Return(_) => Kind::Return,
        Effect::New => Kind::New,
        Effect::NewArray | Effect::ANewArray => Kind::Array,
        Effect::MultiANewArray => Kind::MultiArray,
        _ => match opcode.operands() {
            Operands::Branch2 => Kind::Branch2,
            Operands::Branch4 => Kind::Branch4,
            Operands::TableSwitch | Operands::LookupSwitch => Kind::Switch,
            Operands::Wide => Kind::Wide,
            _ => Kind::Plain,
        },
    }
}

const fn length_of(operands: Operands) -> u8 {
    match operands {
        Operands::None => 1,
        Operands::Byte | Operands::Local | Operands::Constant1 | Operands::ArrayType => 2,
        Operands::Short | Operands::Constant2 | Operands::Increment | Operands::Branch2 => 3,
        Operands::MultiANewArray => 4,
        Operands::Branch4 | Operands::InvokeInterface | Operands::InvokeDynamic => 5,
        Operands::TableSwitch | Operands::LookupSwitch | Operands::Wide => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_202_opcodes_and_no_other() {
        assert_eq!(Opcode::ALL.len(), 202);
        for byte in 0..=255u8 {
            match Opcode::from_byte(byte) {
                Some(opcode) => assert_eq!(opcode.byte(), byte),
                None => {
                    assert!(byte > 201);
                    assert_eq!(SHAPES[byte as usize].kind, Kind::Invalid);
                }
            }
        }
    }

    #[test]
    fn inverting_twice_gives_the_same_jump() {
        let mut conditional = 0;
        for &opcode in Opcode::ALL {
            if let Some(inverted) = opcode.inverted() {
                assert_eq!(inverted.inverted(), Some(opcode), "{opcode:?}");
                conditional += 1;
            }
        }
        assert_eq!(conditional, 16);
        assert_eq!(Opcode::Ifeq.inverted(), Some(Opcode::Ifne));
        assert_eq!(Opcode::IfIcmplt.inverted(), Some(Opcode::IfIcmpge));
        assert_eq!(Opcode::IfAcmpne.inverted(), Some(Opcode::IfAcmpeq));
    }
}
