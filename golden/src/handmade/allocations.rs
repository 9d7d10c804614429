//! Array creation of every kind: next to branches, next to handlers, and with a full stack.

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

pub(super) fn add(list: &mut List) {
    let mut one = |name: &str, construct, body: fn(&mut CodeBuilder<'_>)| {
        list.test(name, construct, 52, &[0, 3, -1], body);
    };
    one(
        "newarray_each_type",
        "newarray of each element type",
        each_type,
    );
    one("anewarray", "anewarray of classes and of arrays", anewarray);
    one(
        "multianewarray_1",
        "multianewarray of one dimension",
        |code| multi(code, "[I", 1),
    );
    one(
        "multianewarray_2",
        "multianewarray of two dimensions",
        |code| multi(code, "[[J", 2),
    );
    one(
        "multianewarray_3",
        "multianewarray of three dimensions",
        |code| {
            multi(code, "[[[Ljava/lang/String;", 3);
        },
    );
    one(
        "multianewarray_2_of_3",
        "multianewarray of two dimensions of three",
        |code| {
            multi(code, "[[[D", 2);
        },
    );
    one(
        "multianewarray_5",
        "multianewarray of five dimensions",
        |code| multi(code, "[[[[[B", 5),
    );
    one(
        "array_before_frame",
        "array creation right before a frame with the array",
        before_frame,
    );
    one(
        "array_at_frame",
        "array creation that is itself a branch target",
        at_frame,
    );
    one(
        "array_in_range",
        "handler range of an array creation alone",
        in_range,
    );
    one(
        "array_above_wide",
        "array creation above a long and a double",
        above_wide,
    );
    one(
        "new_at_target",
        "new that is itself a branch target",
        new_at_target,
    );
    list.test(
        "multianewarray_255",
        "multianewarray of 255 dimensions, max_stack full",
        52,
        &[0, 1],
        |code| {
            code.limits(255, 1);
            for _ in 0..255 {
                code.iload(0);
            }
            code.multianewarray(&format!("{}I", "[".repeat(255)), 255);
            code.op(op::ARRAYLENGTH).op(op::IRETURN);
        },
    );
}

fn each_type(code: &mut CodeBuilder<'_>) {
    for atype in 4..=11 {
        code.iload(0).newarray(atype).op(op::POP);
    }
    code.iload(0).op(op::IRETURN);
}

fn anewarray(code: &mut CodeBuilder<'_>) {
    for name in ["java/lang/String", "[I", "[[Ljava/lang/Object;"] {
        code.iload(0).typed(op::ANEWARRAY, name).op(op::POP);
    }
    code.iload(0).op(op::IRETURN);
}

fn multi(code: &mut CodeBuilder<'_>, name: &str, dimensions: u8) {
    code.limits(5, 1).iload(0);
    for length in 1..dimensions {
        code.iconst(length.into());
    }
    code.multianewarray(name, dimensions)
        .op(op::ARRAYLENGTH)
        .op(op::IRETURN);
}

fn before_frame(code: &mut CodeBuilder<'_>) {
    let joined = code.label();
    code.op(op::ACONST_NULL)
        .iload(0)
        .branch(op::IFEQ, joined)
        .op(op::POP);
    code.iload(0)
        .newarray(10)
        .bind(joined)
        .frame(&[V::Integer], &[V::object("[I")]);
    code.typed(op::INSTANCEOF, "[I").op(op::IRETURN);
}

fn at_frame(code: &mut CodeBuilder<'_>) {
    let creation = code.label();
    code.iload(0)
        .op(op::DUP)
        .branch(op::IFGT, creation)
        .op(op::POP)
        .iconst(9);
    code.bind(creation)
        .frame(&[V::Integer], &[V::Integer])
        .newarray(10);
    code.op(op::ARRAYLENGTH).op(op::IRETURN);
}

fn in_range(code: &mut CodeBuilder<'_>) {
    code.iload(0);
    let start = code.here();
    code.newarray(10);
    let end = code.here();
    code.op(op::ARRAYLENGTH).op(op::IRETURN);
    let handler = code.here();
    let class = "java/lang/NegativeArraySizeException";
    code.handler(start, end, handler, Some(class));
    code.frame(&[V::Integer], &[V::object(class)]).op(op::POP);
    mark(code, 4);
    code.iconst(-4).op(op::IRETURN);
}

fn above_wide(code: &mut CodeBuilder<'_>) {
    code.limits(5, 2)
        .op(op::LCONST_1)
        .op(op::DCONST_1)
        .iload(0)
        .newarray(11);
    code.op(op::ARRAYLENGTH)
        .istore(1)
        .ops(&[op::POP2, op::L2I])
        .iload(1)
        .op(op::IADD);
    code.op(op::IRETURN);
}

fn new_at_target(code: &mut CodeBuilder<'_>) {
    let creation = code.label();
    code.iload(0).branch(op::IFGT, creation);
    mark(code, 1);
    code.bind(creation)
        .frame(&[V::Integer], &[])
        .typed(op::NEW, "java/lang/Object")
        .op(op::DUP);
    code.init("java/lang/Object", "()V")
        .op(op::POP)
        .iload(0)
        .op(op::IRETURN);
}
