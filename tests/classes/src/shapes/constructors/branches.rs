//! Branches, loops and several calls before and around the super call.

use super::common::{EXCEPTION, INT, OBJECT, STRING, THIS, initialized, limits, set_state};
use super::shape::ConstructorShape;
use crate::assembler::{ClassBuilder, VerificationTypeInfo as V, op};
use crate::shapes::{Arg, Driver, Filler, constructor, mark, trivial_constructor};

pub(super) const SHAPES: &[ConstructorShape] = &[
    ConstructorShape::any(
        "two_super_calls",
        "a super call in each of two branches",
        two_calls,
    ),
    ConstructorShape::any(
        "this_or_super",
        "this() in one branch, super() in the other",
        this_or,
    ),
    ConstructorShape::any(
        "this_call",
        "calls another constructor of its class",
        this_call,
    ),
    ConstructorShape::any("loop_before", "a loop before the super call", loop_before),
    ConstructorShape::any(
        "loop_at_zero",
        "a loop from pc 0 before the super call",
        loop_at_zero,
    ),
    ConstructorShape::any(
        "super_in_loop",
        "the super call inside a loop's body",
        super_in_loop,
    ),
    ConstructorShape::any(
        "super_last",
        "the code that runs after the super call stands before it",
        super_last,
    ),
    ConstructorShape::any(
        "ternary",
        "UninitializedThis on the stack across a branch",
        ternary,
    ),
    ConstructorShape::any("throw_before", "throws before the super call", throw_before),
    ConstructorShape::any(
        "only_throws",
        "never calls a constructor, only throws",
        only_throws,
    ),
    ConstructorShape::any(
        "endless",
        "never calls a constructor, loops for ever",
        endless,
    ),
    ConstructorShape::any(
        "switch_before",
        "a switch before the super call",
        switch_before,
    ),
    ConstructorShape::any(
        "many_returns",
        "a return in each branch after the call",
        many_returns,
    ),
    ConstructorShape::any("super_throws", "the super constructor throws", super_throws),
];

fn two_calls(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver
        .construct("(I)V", &[Arg::Int(0)])
        .construct("(I)V", &[Arg::Int(5)]);
    constructor(class, "(I)V", |code| {
        let this = initialized(code);
        limits(code, 2, 2);
        let (other, joined) = (code.label(), code.label());
        code.iload(1).branch(op::IFEQ, other);
        code.aload(0).init(OBJECT, "()V");
        mark(code, 1);
        filler.emit(code);
        code.branch(op::GOTO, joined);
        code.bind(other)
            .frame(&[THIS, INT], &[])
            .aload(0)
            .init(OBJECT, "()V");
        mark(code, 2);
        code.bind(joined).frame(&[this, INT], &[]);
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn this_or(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver
        .construct("(I)V", &[Arg::Int(0)])
        .construct("(I)V", &[Arg::Int(6)]);
    trivial_constructor(class);
    constructor(class, "(I)V", |code| {
        let this = initialized(code);
        let this_class = code.this_class();
        limits(code, 2, 2);
        let (other, joined) = (code.label(), code.label());
        code.iload(1)
            .branch(op::IFNE, other)
            .aload(0)
            .init(&this_class, "()V");
        filler.emit(code);
        mark(code, 3);
        code.branch(op::GOTO, joined);
        code.bind(other)
            .frame(&[THIS, INT], &[])
            .aload(0)
            .init(OBJECT, "()V");
        mark(code, 4);
        code.bind(joined).frame(&[this, INT], &[]);
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn this_call(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("()V", &[]);
    constructor(class, "(IJ)V", |code| {
        limits(code, 2, 4);
        filler.emit(code);
        code.aload(0).init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
    constructor(class, "()V", |code| {
        let this_class = code.this_class();
        code.limits(4, 1)
            .aload(0)
            .iconst(77)
            .lconst(5_000_000_000)
            .init(&this_class, "(IJ)V");
        mark(code, 1);
        code.op(op::RETURN);
    });
}

fn loop_before(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("(I)V", &[Arg::Int(3)]);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        mark(code, 1);
        let again = code.here();
        code.frame(&[THIS, INT], &[]);
        mark(code, 2);
        filler.emit(code);
        code.iinc(1, -1)
            .iload(1)
            .branch(op::IFGT, again)
            .aload(0)
            .init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn loop_at_zero(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("(I)V", &[Arg::Int(3)]);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        let again = code.here();
        code.frame(&[THIS, INT], &[]);
        mark(code, 2);
        filler.emit(code);
        code.iinc(1, -1)
            .iload(1)
            .branch(op::IFGT, again)
            .aload(0)
            .init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn super_in_loop(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver
        .construct("(I)V", &[Arg::Int(0)])
        .construct("(I)V", &[Arg::Int(4)]);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        let again = code.here();
        let decrement = code.label();
        code.frame(&[THIS, INT], &[])
            .iload(1)
            .branch(op::IFGT, decrement);
        code.aload(0).init(OBJECT, "()V");
        set_state(code, 0, 1);
        filler.emit(code);
        code.op(op::RETURN);
        code.bind(decrement).frame(&[THIS, INT], &[]);
        mark(code, 1);
        code.iinc(1, -1).branch(op::GOTO, again);
    });
}

fn super_last(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("(I)V", &[Arg::Int(9)]);
    constructor(class, "(I)V", |code| {
        let this = initialized(code);
        limits(code, 2, 2);
        let (before, after) = (code.label(), code.label());
        code.branch(op::GOTO, before);
        code.bind(after).frame(&[this, INT], &[]);
        mark(code, 2);
        set_state(code, 0, 1);
        filler.emit(code);
        code.op(op::RETURN);
        code.bind(before).frame(&[THIS, INT], &[]);
        mark(code, 1);
        code.aload(0).init(OBJECT, "()V").branch(op::GOTO, after);
    });
}

fn ternary(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver
        .construct("(I)V", &[Arg::Int(0)])
        .construct("(I)V", &[Arg::Int(1)]);
    class.extends(EXCEPTION);
    constructor(class, "(I)V", |code| {
        let this_class = code.this_class();
        limits(code, 2, 2);
        let (other, joined) = (code.label(), code.label());
        code.aload(0).iload(1).branch(op::IFEQ, other);
        filler.emit(code);
        code.ldc_string("one").branch(op::GOTO, joined);
        code.bind(other)
            .frame(&[THIS, INT], &[THIS])
            .ldc_string("three");
        code.bind(joined)
            .frame(&[THIS, INT], &[THIS, V::object(STRING)]);
        code.init(EXCEPTION, "(Ljava/lang/String;)V")
            .aload(0)
            .aload(0);
        code.invokevirtual(&this_class, "getMessage", "()Ljava/lang/String;");
        code.invokevirtual(STRING, "length", "()I");
        code.field(op::PUTFIELD, &this_class, "state", "I")
            .op(op::RETURN);
    });
}

fn throw_before(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    const ILLEGAL: &str = "java/lang/IllegalArgumentException";
    driver
        .construct("(I)V", &[Arg::Int(-1)])
        .construct("(I)V", &[Arg::Int(1)]);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        let good = code.label();
        code.iload(1).branch(op::IFGE, good);
        filler.emit(code);
        code.typed(op::NEW, ILLEGAL)
            .op(op::DUP)
            .init(ILLEGAL, "()V")
            .op(op::ATHROW);
        code.bind(good)
            .frame(&[THIS, INT], &[])
            .aload(0)
            .init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn only_throws(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("()V", &[]);
    constructor(class, "()V", |code| {
        limits(code, 2, 1);
        mark(code, 1);
        filler.emit(code);
        code.typed(op::NEW, EXCEPTION)
            .op(op::DUP)
            .init(EXCEPTION, "()V")
            .op(op::ATHROW);
    });
}

fn endless(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("()V", &[]);
    trivial_constructor(class);
    constructor(class, "(I)V", |code| {
        limits(code, 0, 2);
        let again = code.here();
        code.frame(&[THIS, INT], &[]);
        filler.emit(code);
        code.iinc(1, 1).branch(op::GOTO, again);
    });
}

fn switch_before(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    for value in 0..4 {
        driver.construct("(I)V", &[Arg::Int(value)]);
    }
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        let cases = [code.label(), code.label()];
        let (default, joined) = (code.label(), code.label());
        code.iload(1).tableswitch(default, 1, &cases);
        code.bind(cases[0]).frame(&[THIS, INT], &[]);
        mark(code, 1);
        filler.emit(code);
        code.branch(op::GOTO, joined);
        code.bind(cases[1]).frame(&[THIS, INT], &[]);
        mark(code, 2);
        code.branch(op::GOTO, joined);
        code.bind(default).frame(&[THIS, INT], &[]);
        mark(code, 3);
        code.bind(joined)
            .frame(&[THIS, INT], &[])
            .aload(0)
            .init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn many_returns(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    for value in -1..2 {
        driver.construct("(I)V", &[Arg::Int(value)]);
    }
    constructor(class, "(I)V", |code| {
        let this = initialized(code);
        limits(code, 2, 2);
        let (zero, negative) = (code.label(), code.label());
        code.aload(0)
            .init(OBJECT, "()V")
            .iload(1)
            .branch(op::IFEQ, zero);
        code.iload(1).branch(op::IFLT, negative);
        set_state(code, 0, 1);
        filler.emit(code);
        code.op(op::RETURN);
        code.bind(zero).frame(&[this.clone(), INT], &[]);
        mark(code, 1);
        code.op(op::RETURN);
        code.bind(negative).frame(&[this, INT], &[]).op(op::RETURN);
    });
}

fn super_throws(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver
        .construct("(I)V", &[Arg::Int(-1)])
        .construct("(I)V", &[Arg::Int(1)]);
    class.extends("java/util/ArrayList");
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        mark(code, 1);
        filler.emit(code);
        // The constructor throws an IllegalArgumentException if the capacity is negative.
        code.aload(0).iload(1).init("java/util/ArrayList", "(I)V");
        mark(code, 2);
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}
