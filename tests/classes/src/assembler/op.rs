//! Constants with the bytes of all opcodes (JVMS §6.5).
//!
//! This table is independent of the rewriter's: a mistake in one of them must not be repeated in
//! the other.

macro_rules! opcodes {
    ($($name:ident $mnemonic:literal $byte:literal;)*) => {
        $(
            #[doc = concat!("`", $mnemonic, "` (JVMS §6.5).")]
            pub const $name: u8 = $byte;
        )*

        /// Every opcode with its mnemonic, in the order of the bytes.
        pub const ALL: &[(u8, &str)] = &[$(($name, $mnemonic)),*];
    };
}

opcodes! {
    NOP "nop" 0x00;
    ACONST_NULL "aconst_null" 0x01;
    ICONST_M1 "iconst_m1" 0x02;
    ICONST_0 "iconst_0" 0x03;
    ICONST_1 "iconst_1" 0x04;
    ICONST_2 "iconst_2" 0x05;
    ICONST_3 "iconst_3" 0x06;
    ICONST_4 "iconst_4" 0x07;
    ICONST_5 "iconst_5" 0x08;
    LCONST_0 "lconst_0" 0x09;
    LCONST_1 "lconst_1" 0x0a;
    FCONST_0 "fconst_0" 0x0b;
    FCONST_1 "fconst_1" 0x0c;
    FCONST_2 "fconst_2" 0x0d;
    DCONST_0 "dconst_0" 0x0e;
    DCONST_1 "dconst_1" 0x0f;
    BIPUSH "bipush" 0x10;
    SIPUSH "sipush" 0x11;
    LDC "ldc" 0x12;
    LDC_W "ldc_w" 0x13;
    LDC2_W "ldc2_w" 0x14;
    ILOAD "iload" 0x15;
    LLOAD "lload" 0x16;
    FLOAD "fload" 0x17;
    DLOAD "dload" 0x18;
    ALOAD "aload" 0x19;
    ILOAD_0 "iload_0" 0x1a;
    ILOAD_1 "iload_1" 0x1b;
    ILOAD_2 "iload_2" 0x1c;
    ILOAD_3 "iload_3" 0x1d;
    LLOAD_0 "lload_0" 0x1e;
    LLOAD_1 "lload_1" 0x1f;
    LLOAD_2 "lload_2" 0x20;
    LLOAD_3 "lload_3" 0x21;
    FLOAD_0 "fload_0" 0x22;
    FLOAD_1 "fload_1" 0x23;
    FLOAD_2 "fload_2" 0x24;
    FLOAD_3 "fload_3" 0x25;
    DLOAD_0 "dload_0" 0x26;
    DLOAD_1 "dload_1" 0x27;
    DLOAD_2 "dload_2" 0x28;
    DLOAD_3 "dload_3" 0x29;
    ALOAD_0 "aload_0" 0x2a;
    ALOAD_1 "aload_1" 0x2b;
    ALOAD_2 "aload_2" 0x2c;
    ALOAD_3 "aload_3" 0x2d;
    IALOAD "iaload" 0x2e;
    LALOAD "laload" 0x2f;
    FALOAD "faload" 0x30;
    DALOAD "daload" 0x31;
    AALOAD "aaload" 0x32;
    BALOAD "baload" 0x33;
    CALOAD "caload" 0x34;
    SALOAD "saload" 0x35;
    ISTORE "istore" 0x36;
    LSTORE "lstore" 0x37;
    FSTORE "fstore" 0x38;
    DSTORE "dstore" 0x39;
    ASTORE "astore" 0x3a;
    ISTORE_0 "istore_0" 0x3b;
    ISTORE_1 "istore_1" 0x3c;
    ISTORE_2 "istore_2" 0x3d;
    ISTORE_3 "istore_3" 0x3e;
    LSTORE_0 "lstore_0" 0x3f;
    LSTORE_1 "lstore_1" 0x40;
    LSTORE_2 "lstore_2" 0x41;
    LSTORE_3 "lstore_3" 0x42;
    FSTORE_0 "fstore_0" 0x43;
    FSTORE_1 "fstore_1" 0x44;
    FSTORE_2 "fstore_2" 0x45;
    FSTORE_3 "fstore_3" 0x46;
    DSTORE_0 "dstore_0" 0x47;
    DSTORE_1 "dstore_1" 0x48;
    DSTORE_2 "dstore_2" 0x49;
    DSTORE_3 "dstore_3" 0x4a;
    ASTORE_0 "astore_0" 0x4b;
    ASTORE_1 "astore_1" 0x4c;
    ASTORE_2 "astore_2" 0x4d;
    ASTORE_3 "astore_3" 0x4e;
    IASTORE "iastore" 0x4f;
    LASTORE "lastore" 0x50;
    FASTORE "fastore" 0x51;
    DASTORE "dastore" 0x52;
    AASTORE "aastore" 0x53;
    BASTORE "bastore" 0x54;
    CASTORE "castore" 0x55;
    SASTORE "sastore" 0x56;
    POP "pop" 0x57;
    POP2 "pop2" 0x58;
    DUP "dup" 0x59;
    DUP_X1 "dup_x1" 0x5a;
    DUP_X2 "dup_x2" 0x5b;
    DUP2 "dup2" 0x5c;
    DUP2_X1 "dup2_x1" 0x5d;
    DUP2_X2 "dup2_x2" 0x5e;
    SWAP "swap" 0x5f;
    IADD "iadd" 0x60;
    LADD "ladd" 0x61;
    FADD "fadd" 0x62;
    DADD "dadd" 0x63;
    ISUB "isub" 0x64;
    LSUB "lsub" 0x65;
    FSUB "fsub" 0x66;
    DSUB "dsub" 0x67;
    IMUL "imul" 0x68;
    LMUL "lmul" 0x69;
    FMUL "fmul" 0x6a;
    DMUL "dmul" 0x6b;
    IDIV "idiv" 0x6c;
    LDIV "ldiv" 0x6d;
    FDIV "fdiv" 0x6e;
    DDIV "ddiv" 0x6f;
    IREM "irem" 0x70;
    LREM "lrem" 0x71;
    FREM "frem" 0x72;
    DREM "drem" 0x73;
    INEG "ineg" 0x74;
    LNEG "lneg" 0x75;
    FNEG "fneg" 0x76;
    DNEG "dneg" 0x77;
    ISHL "ishl" 0x78;
    LSHL "lshl" 0x79;
    ISHR "ishr" 0x7a;
    LSHR "lshr" 0x7b;
    IUSHR "iushr" 0x7c;
    LUSHR "lushr" 0x7d;
    IAND "iand" 0x7e;
    LAND "land" 0x7f;
    IOR "ior" 0x80;
    LOR "lor" 0x81;
    IXOR "ixor" 0x82;
    LXOR "lxor" 0x83;
    IINC "iinc" 0x84;
    I2L "i2l" 0x85;
    I2F "i2f" 0x86;
    I2D "i2d" 0x87;
    L2I "l2i" 0x88;
    L2F "l2f" 0x89;
    L2D "l2d" 0x8a;
    F2I "f2i" 0x8b;
    F2L "f2l" 0x8c;
    F2D "f2d" 0x8d;
    D2I "d2i" 0x8e;
    D2L "d2l" 0x8f;
    D2F "d2f" 0x90;
    I2B "i2b" 0x91;
    I2C "i2c" 0x92;
    I2S "i2s" 0x93;
    LCMP "lcmp" 0x94;
    FCMPL "fcmpl" 0x95;
    FCMPG "fcmpg" 0x96;
    DCMPL "dcmpl" 0x97;
    DCMPG "dcmpg" 0x98;
    IFEQ "ifeq" 0x99;
    IFNE "ifne" 0x9a;
    IFLT "iflt" 0x9b;
    IFGE "ifge" 0x9c;
    IFGT "ifgt" 0x9d;
    IFLE "ifle" 0x9e;
    IF_ICMPEQ "if_icmpeq" 0x9f;
    IF_ICMPNE "if_icmpne" 0xa0;
    IF_ICMPLT "if_icmplt" 0xa1;
    IF_ICMPGE "if_icmpge" 0xa2;
    IF_ICMPGT "if_icmpgt" 0xa3;
    IF_ICMPLE "if_icmple" 0xa4;
    IF_ACMPEQ "if_acmpeq" 0xa5;
    IF_ACMPNE "if_acmpne" 0xa6;
    GOTO "goto" 0xa7;
    JSR "jsr" 0xa8;
    RET "ret" 0xa9;
    TABLESWITCH "tableswitch" 0xaa;
    LOOKUPSWITCH "lookupswitch" 0xab;
    IRETURN "ireturn" 0xac;
    LRETURN "lreturn" 0xad;
    FRETURN "freturn" 0xae;
    DRETURN "dreturn" 0xaf;
    ARETURN "areturn" 0xb0;
    RETURN "return" 0xb1;
    GETSTATIC "getstatic" 0xb2;
    PUTSTATIC "putstatic" 0xb3;
    GETFIELD "getfield" 0xb4;
    PUTFIELD "putfield" 0xb5;
    INVOKEVIRTUAL "invokevirtual" 0xb6;
    INVOKESPECIAL "invokespecial" 0xb7;
    INVOKESTATIC "invokestatic" 0xb8;
    INVOKEINTERFACE "invokeinterface" 0xb9;
    INVOKEDYNAMIC "invokedynamic" 0xba;
    NEW "new" 0xbb;
    NEWARRAY "newarray" 0xbc;
    ANEWARRAY "anewarray" 0xbd;
    ARRAYLENGTH "arraylength" 0xbe;
    ATHROW "athrow" 0xbf;
    CHECKCAST "checkcast" 0xc0;
    INSTANCEOF "instanceof" 0xc1;
    MONITORENTER "monitorenter" 0xc2;
    MONITOREXIT "monitorexit" 0xc3;
    WIDE "wide" 0xc4;
    MULTIANEWARRAY "multianewarray" 0xc5;
    IFNULL "ifnull" 0xc6;
    IFNONNULL "ifnonnull" 0xc7;
    GOTO_W "goto_w" 0xc8;
    JSR_W "jsr_w" 0xc9;
}

/// Returns the mnemonic of `opcode`, or `"?"` if the specification has none.
pub fn mnemonic(opcode: u8) -> &'static str {
    ALL.get(usize::from(opcode)).map_or("?", |&(_, name)| name)
}

/// The opcodes of the conditional branches, in ascending order.
pub const CONDITIONAL_BRANCHES: [u8; 16] = [
    IFEQ, IFNE, IFLT, IFGE, IFGT, IFLE, IF_ICMPEQ, IF_ICMPNE, IF_ICMPLT, IF_ICMPGE, IF_ICMPGT,
    IF_ICMPLE, IF_ACMPEQ, IF_ACMPNE, IFNULL, IFNONNULL,
];
