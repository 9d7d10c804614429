//! Exception handlers before, after and around the super call.

use super::common::{INT, OBJECT, STRING, THIS, initialized, limits, set_state};
use super::shape::ConstructorShape;
use crate::assembler::{ClassBuilder, CodeBuilder, Label, VerificationTypeInfo as V, op};
use crate::shapes::{Arg, Driver, Filler, constructor, mark};

const NUMBER_FORMAT: &str = "java/lang/NumberFormatException";
const THROWABLE: &str = "java/lang/Throwable";
const DESCRIPTOR: &str = "(Ljava/lang/String;)V";

pub(super) const SHAPES: &[ConstructorShape] = &[
    ConstructorShape::any(
        "handler_before",
        "a user handler before the super call",
        before,
    ),
    ConstructorShape::any("handler_at_zero", "a user handler from pc 0", at_zero),
    ConstructorShape::any(
        "handler_up_to_call",
        "handler ranges that end or begin at the super call",
        touching,
    ),
    ConstructorShape::any(
        "handler_retries",
        "a handler before the super call, which jumps back",
        retries,
    ),
    ConstructorShape::any(
        "handler_rethrows",
        "nested handlers before the super call, which rethrow",
        rethrows,
    ),
    ConstructorShape::any(
        "handler_moves_this",
        "this moved to another local within a handler's range",
        moves,
    ),
    ConstructorShape::old(
        "handler_shared",
        "one handler for ranges before and after the super call",
        shared,
    ),
];

fn good_and_bad(driver: &mut Driver) {
    driver
        .construct(DESCRIPTOR, &[Arg::Text("12")])
        .construct(DESCRIPTOR, &[Arg::Text("x")]);
}

fn string() -> V {
    V::object(STRING)
}

/// Appends `local 2 = Integer.parseInt(local 1)`, which throws if the string is not a number.
fn parse(code: &mut CodeBuilder<'_>) -> (Label, Label) {
    let start = code.here();
    code.aload(1)
        .invokestatic("java/lang/Integer", "parseInt", "(Ljava/lang/String;)I")
        .istore(2);
    (start, code.here())
}

/// Appends `try { i = parse(s); } catch (NumberFormatException e) { i = -1; }` before the super
/// call.
fn parse_then_call(code: &mut CodeBuilder<'_>, filler: Filler) {
    limits(code, 2, 3);
    let (start, end) = parse(code);
    let joined = code.label();
    code.branch(op::GOTO, joined);
    let handler = code.here();
    code.handler(start, end, handler, Some(NUMBER_FORMAT));
    code.frame(&[THIS, string()], &[V::object(NUMBER_FORMAT)])
        .op(op::POP)
        .iconst(-1)
        .istore(2);
    mark(code, 2);
    filler.emit(code);
    code.bind(joined)
        .frame(&[THIS, string(), INT], &[])
        .aload(0)
        .init(OBJECT, "()V");
    set_state(code, 0, 2);
    code.op(op::RETURN);
}

fn before(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| {
        mark(code, 1);
        parse_then_call(code, filler);
    });
}

fn at_zero(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| parse_then_call(code, filler));
}

fn touching(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| {
        let this = initialized(code);
        limits(code, 2, 3);
        let start = code.here();
        code.iconst(0).istore(2);
        mark(code, 1);
        code.aload(0);
        let call = code.here();
        code.init(OBJECT, "()V");
        let after = code.here();
        parse(code);
        set_state(code, 0, 2);
        let end = code.here();
        filler.emit(code);
        code.op(op::RETURN);
        let first = code.here();
        code.handler(start, call, first, None)
            .frame(&[THIS, string()], &[V::object(THROWABLE)]);
        code.op(op::ATHROW);
        let second = code.here();
        code.handler(after, end, second, None);
        code.frame(&[this, string(), INT], &[V::object(THROWABLE)])
            .op(op::POP);
        mark(code, 4);
        code.op(op::RETURN);
    });
}

fn retries(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| {
        limits(code, 2, 3);
        let again = code.here();
        code.frame(&[THIS, string()], &[]);
        filler.emit(code);
        let (start, end) = parse(code);
        code.aload(0).init(OBJECT, "()V");
        set_state(code, 0, 2);
        code.op(op::RETURN);
        let handler = code.here();
        code.handler(start, end, handler, Some(NUMBER_FORMAT));
        code.frame(&[THIS, string()], &[V::object(NUMBER_FORMAT)])
            .op(op::POP);
        mark(code, 5);
        code.ldc_string("5").astore(1).branch(op::GOTO, again);
    });
}

fn rethrows(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| {
        limits(code, 2, 3);
        let (start, end) = parse(code);
        let joined = code.label();
        code.branch(op::GOTO, joined);
        let inner = code.here();
        code.handler(start, end, inner, Some(NUMBER_FORMAT));
        code.frame(&[THIS, string()], &[V::object(NUMBER_FORMAT)]);
        mark(code, 1);
        filler.emit(code);
        code.op(op::ATHROW);
        let outer = code.here();
        code.handler(start, outer, outer, None);
        code.frame(&[THIS, string()], &[V::object(THROWABLE)]);
        mark(code, 2);
        code.op(op::ATHROW);
        code.bind(joined)
            .frame(&[THIS, string(), INT], &[])
            .aload(0)
            .init(OBJECT, "()V");
        set_state(code, 0, 2);
        code.op(op::RETURN);
    });
}

/// Adds a constructor that moves `this` out of local 0 inside a range. So in the handler's frame
/// neither local can have `this`.
fn moves(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| {
        limits(code, 2, 5);
        code.aload(0).astore(4);
        let start = code.here();
        mark(code, 1);
        code.op(op::ACONST_NULL).astore(0);
        parse(code);
        code.aload(4).astore(0);
        let end = code.here();
        let joined = code.label();
        code.branch(op::GOTO, joined);
        let handler = code.here();
        code.handler(start, end, handler, None);
        let caught = [V::Top, string(), V::Top, V::Top, THIS];
        code.frame(&caught, &[V::object(THROWABLE)]).op(op::POP);
        mark(code, 3);
        filler.emit(code);
        code.iconst(-3).istore(2);
        code.bind(joined)
            .frame(&[V::Top, string(), INT, V::Top, THIS], &[]);
        code.aload(4).init(OBJECT, "()V");
        set_state(code, 4, 2);
        code.op(op::RETURN);
    });
}

/// Adds a constructor with one handler for ranges before and after the super call. Merging
/// uninitialised and initialised `this` gives an unusable type, so the handler can only throw. No
/// frame can express this (JVMS §4.10.1.2, flags).
fn shared(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    good_and_bad(driver);
    constructor(class, DESCRIPTOR, |code| {
        limits(code, 2, 3);
        let start = code.here();
        mark(code, 1);
        let call = code.here();
        code.aload(0).init(OBJECT, "()V");
        let (after, end) = parse(code);
        set_state(code, 0, 2);
        filler.emit(code);
        code.op(op::RETURN);
        let handler = code.here();
        code.handler(start, call, handler, None)
            .handler(after, end, handler, None);
        mark(code, 6);
        code.op(op::ATHROW);
    });
}
