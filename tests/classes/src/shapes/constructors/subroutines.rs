//! `jsr` and `ret` in constructors, up to version 49 (JVMS §4.9.1).

use super::common::{OBJECT, limits, set_state};
use super::shape::ConstructorShape;
use crate::assembler::{ClassBuilder, op};
use crate::shapes::{Arg, Driver, Filler, constructor, mark};

pub(super) const SHAPES: &[ConstructorShape] = &[
    ConstructorShape::old("jsr_before", "a subroutine before the super call", before),
    ConstructorShape::old(
        "jsr_both_sides",
        "a subroutine on either side of the super call",
        both_sides,
    ),
    ConstructorShape::old("jsr_around", "the super call inside a subroutine", around),
    ConstructorShape::old(
        "jsr_moves_this",
        "a subroutine moves this to another local",
        moves,
    ),
];

fn one(driver: &mut Driver) {
    driver.construct("(I)V", &[Arg::Int(8)]);
}

fn before(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    one(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 3);
        let subroutine = code.label();
        code.branch(op::JSR, subroutine).branch(op::JSR, subroutine);
        code.aload(0).init(OBJECT, "()V");
        set_state(code, 0, 1);
        filler.emit(code);
        code.op(op::RETURN).bind(subroutine).astore(2);
        mark(code, 1);
        code.local(op::RET, 2);
    });
}

/// Adds a constructor with two subroutines. One is called before the super call, the other after
/// it. A single subroutine would merge uninitialised and initialised `this`, which no JVM accepts.
fn both_sides(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    one(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 3);
        let subroutines = [code.label(), code.label()];
        code.branch(op::JSR, subroutines[0]);
        code.aload(0).init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.branch(op::JSR, subroutines[1]);
        filler.emit(code);
        code.op(op::RETURN);
        for (digit, subroutine) in (1..).zip(subroutines) {
            code.bind(subroutine).astore(2);
            mark(code, digit);
            code.local(op::RET, 2);
        }
    });
}

fn around(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    one(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 3);
        let subroutine = code.label();
        mark(code, 1);
        code.branch(op::JSR, subroutine);
        set_state(code, 0, 1);
        filler.emit(code);
        code.op(op::RETURN).bind(subroutine).astore(2);
        mark(code, 2);
        code.aload(0).init(OBJECT, "()V");
        mark(code, 3);
        code.local(op::RET, 2);
    });
}

fn moves(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    one(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 4);
        let subroutine = code.label();
        code.branch(op::JSR, subroutine);
        filler.emit(code);
        mark(code, 1);
        code.aload(3).init(OBJECT, "()V");
        set_state(code, 3, 1);
        code.op(op::RETURN).bind(subroutine).astore(2);
        code.aload(0).astore(3).op(op::ACONST_NULL).astore(0);
        mark(code, 2);
        code.local(op::RET, 2);
    });
}
