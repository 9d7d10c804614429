//! Instructions that push values, with the types of these values on the operand stack.

use crate::assembler::{ClassBuilder, CodeBuilder, ReferenceKind, op};

/// Instructions that push values, and the facts about them.
pub(super) struct Source {
    /// The part of a class name that stands for this source.
    pub(super) name: &'static str,
    /// The first class file version that allows these instructions.
    pub(super) min_version: u16,
    /// The exact types of the pushed values; the last is on top. `int` also stands for `boolean`,
    /// `byte`, `char` and `short`.
    pub(super) leaves: &'static [&'static str],
    /// Pushes the values.
    pub(super) push: fn(&mut CodeBuilder<'_>, Bootstraps),
}

/// Indexes in `BootstrapMethods` of the entries that sources may use.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bootstraps {
    /// For a call site that converts an `int` to a `String`.
    concat: u16,
    /// For a dynamic constant: `Integer.toString(7)`.
    string: u16,
    /// For a dynamic constant: `Long.parseLong("7")`.
    long: u16,
}

impl Bootstraps {
    /// Adds the entries that a class of `version` may have.
    pub(super) fn add_to(class: &mut ClassBuilder, version: u16) -> Self {
        const LOOKUP: &str = "Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;";
        let mut bootstraps = Self::default();
        if version >= 51 {
            let descriptor =
                format!("({LOOKUP}Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;");
            let owner = "java/lang/invoke/StringConcatFactory";
            let member = class.pool().method(owner, "makeConcat", &descriptor);
            let handle = class
                .pool()
                .method_handle(ReferenceKind::InvokeStatic, member);
            bootstraps.concat = class.bootstrap_method(handle, &[]);
        }
        if version >= 55 {
            let descriptor = format!(
                "({LOOKUP}Ljava/lang/Class;Ljava/lang/invoke/MethodHandle;[Ljava/lang/Object;)\
                 Ljava/lang/Object;"
            );
            let owner = "java/lang/invoke/ConstantBootstraps";
            let pool = class.pool();
            let member = pool.method(owner, "invoke", &descriptor);
            let invoke = pool.method_handle(ReferenceKind::InvokeStatic, member);
            let member = pool.method("java/lang/Integer", "toString", "(I)Ljava/lang/String;");
            let to_string = pool.method_handle(ReferenceKind::InvokeStatic, member);
            let member = pool.method("java/lang/Long", "parseLong", "(Ljava/lang/String;)J");
            let parse = pool.method_handle(ReferenceKind::InvokeStatic, member);
            let (seven, text) = (pool.integer(7), pool.string("7"));
            bootstraps.string = class.bootstrap_method(invoke, &[to_string, seven]);
            bootstraps.long = class.bootstrap_method(invoke, &[parse, text]);
        }
        bootstraps
    }
}

const S: &str = "Ljava/lang/String;";
const OBJECT: &str = "java/lang/Object";
const STRING: &str = "java/lang/String";

/// Pushes an `int[]` of one element.
fn ints(code: &mut CodeBuilder<'_>) {
    code.iconst(1).newarray(10);
}

/// Pushes a `String`.
fn text(code: &mut CodeBuilder<'_>) {
    code.ldc_string("text");
}

/// Makes the table of sources. A row has the name, the version, the types pushed, and the
/// instructions.
macro_rules! sources {
    ($($name:literal $version:literal [$($leaves:expr),*] |$code:pat_param, $with:pat_param|
        $push:block)*) => {
        &[$(Source {
            name: $name,
            min_version: $version,
            leaves: &[$($leaves),*],
            push: |$code, $with| $push,
        }),*]
    };
}

/// Every source.
pub(super) const SOURCES: &[Source] = sources! {
    "getstatic_reference" 50 [S] |c, _| {
        let this_class = c.this_class();
        text(c);
        c.field(op::PUTSTATIC, &this_class, "text", S);
        c.field(op::GETSTATIC, &this_class, "text", S);
    }
    "getstatic_boolean" 50 ["I"] |c, _| {
        let this_class = c.this_class();
        c.field(op::GETSTATIC, &this_class, "truth", "Z");
    }
    "getstatic_double" 50 ["D"] |c, _| {
        let this_class = c.this_class();
        c.field(op::GETSTATIC, &this_class, "wide", "D");
    }
    "getfield_array" 50 ["[[J"] |c, _| {
        let this_class = c.this_class();
        c.typed(op::NEW, &this_class).op(op::DUP).init(&this_class, "()V");
        c.field(op::GETFIELD, &this_class, "longs", "[[J");
    }
    "aaload_string" 50 [S] |c, _| {
        c.iconst(1).typed(op::ANEWARRAY, STRING).iconst(0).op(op::AALOAD);
    }
    "aaload_of_two" 50 ["[I"] |c, _| {
        c.iconst(1).iconst(1).multianewarray("[[I", 2).iconst(0).op(op::AALOAD);
    }
    "aaload_of_three" 50 ["[[J"] |c, _| {
        c.iconst(1).iconst(1).multianewarray("[[[J", 2).iconst(0).op(op::AALOAD);
    }
    "aaload_strings" 50 ["[Ljava/lang/String;"] |c, _| {
        c.iconst(1).typed(op::ANEWARRAY, "[Ljava/lang/String;").iconst(0).op(op::AALOAD);
    }
    // For the verifier, an element of null is null. At run time this instruction throws an
    // exception.
    "aaload_null" 50 [S] |c, _| { c.op(op::ACONST_NULL).iconst(0).op(op::AALOAD); }
    "checkcast_class" 50 [S] |c, _| { c.op(op::ACONST_NULL).typed(op::CHECKCAST, STRING); }
    "checkcast_array" 50 ["[I"] |c, _| { c.op(op::ACONST_NULL).typed(op::CHECKCAST, "[I"); }
    "checkcast_arrays" 50 ["[[Ljava/lang/String;"] |c, _| {
        c.op(op::ACONST_NULL).typed(op::CHECKCAST, "[[Ljava/lang/String;");
    }
    "invokestatic" 50 [S] |c, _| {
        c.iconst(7).invokestatic(STRING, "valueOf", "(I)Ljava/lang/String;");
    }
    "invokevirtual" 50 [S] |c, _| {
        text(c);
        c.invokevirtual(STRING, "trim", "()Ljava/lang/String;");
    }
    "invokeinterface" 50 [S] |c, _| {
        text(c);
        c.invokeinterface("java/lang/CharSequence", "toString", "()Ljava/lang/String;");
    }
    "invoke_array" 50 ["[C"] |c, _| {
        text(c);
        c.invokevirtual(STRING, "toCharArray", "()[C");
    }
    "invoke_arrays" 50 ["[Ljava/lang/String;"] |c, _| {
        text(c);
        c.ldc_string("x").invokevirtual(STRING, "split", "(Ljava/lang/String;)[Ljava/lang/String;");
    }
    "invoke_long" 50 ["J"] |c, _| { c.invokestatic("java/lang/System", "nanoTime", "()J"); }
    "invoke_char" 50 ["I"] |c, _| {
        text(c);
        c.iconst(2).invokevirtual(STRING, "charAt", "(I)C");
    }
    "invoke_wide_arguments" 50 ["D"] |c, _| {
        c.dconst(2.5).dconst(1.5).invokestatic("java/lang/Math", "max", "(DD)D");
    }
    "clone_of_array" 50 ["[I"] |c, _| {
        ints(c);
        c.invokevirtual("[I", "clone", "()Ljava/lang/Object;").typed(op::CHECKCAST, "[I");
    }
    "invokedynamic" 51 [S] |c, with| {
        c.iconst(7).invokedynamic(with.concat, "concat", "(I)Ljava/lang/String;");
    }
    "ldc_string" 50 [S] |c, _| { text(c); }
    "ldc_w_string" 50 [S] |c, _| {
        let index = c.pool().string("wide");
        c.ldc_w(index);
    }
    "ldc_class" 50 ["Ljava/lang/Class;"] |c, _| { c.ldc_class("[I"); }
    "ldc_method_type" 51 ["Ljava/lang/invoke/MethodType;"] |c, _| {
        let index = c.pool().method_type("(I)V");
        c.ldc(index);
    }
    "ldc_method_handle" 51 ["Ljava/lang/invoke/MethodHandle;"] |c, _| {
        let member = c.pool().method("java/lang/System", "nanoTime", "()J");
        let index = c.pool().method_handle(ReferenceKind::InvokeStatic, member);
        c.ldc(index);
    }
    "ldc_dynamic" 55 [S] |c, with| {
        let index = c.pool().dynamic(with.string, "seven", S);
        c.ldc(index);
    }
    "ldc2_dynamic" 55 ["J"] |c, with| {
        let index = c.pool().dynamic(with.long, "seven", "J");
        c.ldc2_w(index);
    }
    "ldc_integer" 50 ["I"] |c, _| { c.iconst(100_000); }
    "ldc_float" 50 ["F"] |c, _| { c.fconst(7.5); }
    "ldc_long" 50 ["J"] |c, _| { c.lconst(7); }
    "ldc_double" 50 ["D"] |c, _| { c.dconst(7.5); }
    "bipush" 50 ["I"] |c, _| { c.iconst(100); }
    "sipush" 50 ["I"] |c, _| { c.iconst(1000); }
    "null" 50 [S] |c, _| { c.op(op::ACONST_NULL); }
    "null_array" 50 ["[[D"] |c, _| { c.op(op::ACONST_NULL); }
    "new" 50 ["Ljava/lang/Object;"] |c, _| {
        c.typed(op::NEW, OBJECT).op(op::DUP).init(OBJECT, "()V");
    }
    "newarray_boolean" 50 ["[Z"] |c, _| { c.iconst(1).newarray(4); }
    "newarray_char" 50 ["[C"] |c, _| { c.iconst(1).newarray(5); }
    "newarray_float" 50 ["[F"] |c, _| { c.iconst(1).newarray(6); }
    "newarray_double" 50 ["[D"] |c, _| { c.iconst(1).newarray(7); }
    "newarray_byte" 50 ["[B"] |c, _| { c.iconst(1).newarray(8); }
    "newarray_short" 50 ["[S"] |c, _| { c.iconst(1).newarray(9); }
    "newarray_int" 50 ["[I"] |c, _| { ints(c); }
    "newarray_long" 50 ["[J"] |c, _| { c.iconst(1).newarray(11); }
    "anewarray" 50 ["[Ljava/lang/String;"] |c, _| { c.iconst(1).typed(op::ANEWARRAY, STRING); }
    "anewarray_of_array" 50 ["[[I"] |c, _| { c.iconst(1).typed(op::ANEWARRAY, "[I"); }
    "multianewarray" 50 ["[[[F"] |c, _| { c.iconst(1).iconst(1).multianewarray("[[[F", 2); }
    "iaload" 50 ["I"] |c, _| { ints(c); c.iconst(0).op(op::IALOAD); }
    "laload" 50 ["J"] |c, _| { c.iconst(1).newarray(11).iconst(0).op(op::LALOAD); }
    "faload" 50 ["F"] |c, _| { c.iconst(1).newarray(6).iconst(0).op(op::FALOAD); }
    "daload" 50 ["D"] |c, _| { c.iconst(1).newarray(7).iconst(0).op(op::DALOAD); }
    "baload" 50 ["I"] |c, _| { c.iconst(1).newarray(4).iconst(0).op(op::BALOAD); }
    "instanceof" 50 ["I"] |c, _| { text(c); c.typed(op::INSTANCEOF, STRING); }
    "arraylength" 50 ["I"] |c, _| { ints(c); c.op(op::ARRAYLENGTH); }
    "i2l" 50 ["J"] |c, _| { c.iconst(7).op(op::I2L); }
    "i2f" 50 ["F"] |c, _| { c.iconst(7).op(op::I2F); }
    "i2d" 50 ["D"] |c, _| { c.iconst(7).op(op::I2D); }
    "l2f" 50 ["F"] |c, _| { c.op(op::LCONST_1).op(op::L2F); }
    "d2l" 50 ["J"] |c, _| { c.op(op::DCONST_1).op(op::D2L); }
    "d2i" 50 ["I"] |c, _| { c.op(op::DCONST_1).op(op::D2I); }
    "lcmp" 50 ["I"] |c, _| { c.ops(&[op::LCONST_1, op::LCONST_0, op::LCMP]); }
    "fcmpg" 50 ["I"] |c, _| { c.ops(&[op::FCONST_1, op::FCONST_0, op::FCMPG]); }
    "dcmpl" 50 ["I"] |c, _| { c.ops(&[op::DCONST_1, op::DCONST_0, op::DCMPL]); }
    "lshl" 50 ["J"] |c, _| { c.ops(&[op::LCONST_1, op::ICONST_3, op::LSHL]); }
    "ladd" 50 ["J"] |c, _| { c.ops(&[op::LCONST_1, op::LCONST_1, op::LADD]); }
    "dneg" 50 ["D"] |c, _| { c.ops(&[op::DCONST_1, op::DNEG]); }
    "frem" 50 ["F"] |c, _| { c.ops(&[op::FCONST_2, op::FCONST_1, op::FREM]); }
    "ixor" 50 ["I"] |c, _| { c.ops(&[op::ICONST_2, op::ICONST_1, op::IXOR]); }
    "dup" 50 [S, S] |c, _| { text(c); c.op(op::DUP); }
    "dup_x1" 50 ["[I", S, "[I"] |c, _| { text(c); ints(c); c.op(op::DUP_X1); }
    "dup_x2_singles" 50 [S, "[I", "I", S] |c, _| {
        ints(c); c.iconst(3); text(c); c.op(op::DUP_X2);
    }
    "dup_x2_wide" 50 [S, "J", S] |c, _| { c.op(op::LCONST_1); text(c); c.op(op::DUP_X2); }
    "dup2_singles" 50 [S, "[I", S, "[I"] |c, _| { text(c); ints(c); c.op(op::DUP2); }
    "dup2_wide" 50 ["J", "J"] |c, _| { c.ops(&[op::LCONST_1, op::DUP2]); }
    "dup2_x1_singles" 50 [S, "I", "[I", S, "I"] |c, _| {
        ints(c); text(c); c.iconst(3).op(op::DUP2_X1);
    }
    "dup2_x1_wide" 50 ["J", S, "J"] |c, _| { text(c); c.ops(&[op::LCONST_1, op::DUP2_X1]); }
    "dup2_x2_form_1" 50 [S, "F", "[I", "I", S, "F"] |c, _| {
        ints(c); c.iconst(3); text(c); c.ops(&[op::FCONST_1, op::DUP2_X2]);
    }
    "dup2_x2_form_2" 50 ["D", S, "[I", "D"] |c, _| {
        text(c); ints(c); c.ops(&[op::DCONST_1, op::DUP2_X2]);
    }
    "dup2_x2_form_3" 50 [S, "[I", "J", S, "[I"] |c, _| {
        c.op(op::LCONST_1); text(c); ints(c); c.op(op::DUP2_X2);
    }
    "dup2_x2_form_4" 50 ["D", "J", "D"] |c, _| {
        c.ops(&[op::LCONST_1, op::DCONST_1, op::DUP2_X2]);
    }
    "swap" 50 ["[I", S] |c, _| { text(c); ints(c); c.op(op::SWAP); }
    "pop2_wide" 50 [S] |c, _| { text(c); c.ops(&[op::LCONST_1, op::POP2]); }
    "pop2_singles" 50 [S] |c, _| { text(c); ints(c); c.ops(&[op::FCONST_1, op::POP2]); }
};
