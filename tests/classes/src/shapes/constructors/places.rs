//! Shapes in which `uninitializedThis` is not in local variable 0.

use super::common::{EXCEPTION, INT, OBJECT, THIS, initialized, limits, set_state};
use super::shape::ConstructorShape;
use crate::assembler::{ClassBuilder, CodeBuilder, VerificationTypeInfo as V, op};
use crate::shapes::{Arg, Driver, Filler, constructor, mark, trivial_constructor};

pub(super) const SHAPES: &[ConstructorShape] = &[
    ConstructorShape::any("this_moved", "this moved to another local", moved),
    ConstructorShape::any("this_copied", "this in two locals", copied),
    ConstructorShape::any("this_wanders", "this moved away and back", wanders),
    ConstructorShape::any(
        "this_copy_dropped",
        "a copy of this lost at a join",
        copy_dropped,
    ),
    ConstructorShape::any("this_high_local", "this only in local 300", high_local),
    ConstructorShape::any(
        "this_on_stack",
        "this only on the stack across a call",
        on_stack,
    ),
    ConstructorShape::old(
        "this_on_stack_branch",
        "this only on the stack across a branch, which no frame can express",
        on_stack_branch,
    ),
    ConstructorShape::any(
        "this_duplicated",
        "this duplicated on the stack",
        duplicated,
    ),
    ConstructorShape::any(
        "flexible",
        "a field of the class set before the super call",
        flexible,
    ),
    ConstructorShape::any(
        "new_same_class",
        "an argument made by new of the same class",
        new_same,
    ),
    ConstructorShape::any(
        "new_same_class_branch",
        "new of the same class on the stack across a branch, above this",
        new_same_branch,
    ),
    ConstructorShape::any(
        "wide_arguments",
        "long and double arguments",
        wide_arguments,
    ),
    ConstructorShape::any(
        "three_uninitialized",
        "this and two new objects, all uninitialised",
        three,
    ),
];

/// Appends a conditional jump over the filler to a frame with `locals`, which must have `this` in
/// the right place.
fn branch_over(code: &mut CodeBuilder<'_>, filler: Filler, locals: &[V], stack: &[V]) {
    let over = code.label();
    code.iload(1).branch(op::IFEQ, over);
    mark(code, 8);
    filler.emit(code);
    code.bind(over).frame(locals, stack);
    mark(code, 9);
}

fn both(driver: &mut Driver) {
    driver
        .construct("(I)V", &[Arg::Int(0)])
        .construct("(I)V", &[Arg::Int(7)]);
}

fn moved(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 3);
        code.aload(0).astore(2).iconst(0).istore(0);
        branch_over(code, filler, &[INT, INT, THIS], &[]);
        code.aload(2).init(OBJECT, "()V");
        set_state(code, 2, 1);
        code.op(op::RETURN);
    });
}

fn copied(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 4);
        code.aload(0).astore(3);
        branch_over(code, filler, &[THIS, INT, V::Top, THIS], &[]);
        code.aload(3).init(OBJECT, "()V");
        mark(code, 1);
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn wanders(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 3);
        mark(code, 1);
        code.aload(0).astore(2).op(op::ACONST_NULL).astore(0);
        branch_over(code, filler, &[V::Null, INT, THIS], &[]);
        code.aload(2).astore(0).op(op::ACONST_NULL).astore(2);
        mark(code, 2);
        code.aload(0).astore(1).iconst(6).istore(0);
        mark(code, 3);
        code.aload(1).init(OBJECT, "()V");
        set_state(code, 1, 0);
        code.op(op::RETURN);
    });
}

fn copy_dropped(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 3);
        code.aload(0).astore(2);
        mark(code, 1);
        branch_over(code, filler, &[THIS, INT], &[]);
        code.aload(0).init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn high_local(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 301);
        code.aload(0).astore(300).op(op::ACONST_NULL).astore(0);
        let mut locals = vec![V::Null, INT];
        locals.resize(300, V::Top);
        locals.push(THIS);
        branch_over(code, filler, &locals, &[]);
        code.aload(300).init(OBJECT, "()V");
        set_state(code, 300, 1);
        code.op(op::RETURN);
    });
}

/// Adds a constructor with a call that can throw while `this` is only on the operand stack.
fn on_stack(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("(I)V", &[Arg::Int(7)]);
    constructor(class, "(I)V", |code| {
        let this_class = code.this_class();
        limits(code, 4, 2);
        code.aload(0).op(op::DUP).op(op::ACONST_NULL).astore(0);
        mark(code, 1);
        filler.emit(code);
        code.init(OBJECT, "()V");
        mark(code, 2);
        code.iload(1)
            .field(op::PUTFIELD, &this_class, "state", "I")
            .op(op::RETURN);
    });
}

fn on_stack_branch(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        let this_class = code.this_class();
        limits(code, 4, 2);
        code.aload(0).op(op::DUP).op(op::ACONST_NULL).astore(0);
        branch_over(code, filler, &[V::Null, INT], &[THIS, THIS]);
        code.init(OBJECT, "()V");
        code.iload(1)
            .field(op::PUTFIELD, &this_class, "state", "I")
            .op(op::RETURN);
    });
}

fn duplicated(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        let this_class = code.this_class();
        limits(code, 4, 3);
        code.aload(0).op(op::DUP).op(op::DUP);
        branch_over(code, filler, &[THIS, INT], &[THIS, THIS, THIS]);
        code.init(OBJECT, "()V").astore(2);
        code.iload(1).field(op::PUTFIELD, &this_class, "state", "I");
        code.aload(2)
            .field(op::GETFIELD, &this_class, "state", "I")
            .op(op::POP)
            .op(op::RETURN);
    });
}

fn flexible(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    constructor(class, "(I)V", |code| {
        limits(code, 2, 2);
        // Setting a field before the super call was always legal if the class itself declares the
        // field (JVMS §4.10.1.9.putfield). Java compilers do so since version 69.
        set_state(code, 0, 1);
        branch_over(code, filler, &[THIS, INT], &[]);
        code.aload(0).init(OBJECT, "()V").op(op::RETURN);
    });
}

fn new_same(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    driver.construct("(I)V", &[Arg::Int(3)]);
    class.extends(EXCEPTION);
    trivial_constructor(class);
    constructor(class, "(I)V", |code| {
        let this_class = code.this_class();
        limits(code, 3, 2);
        code.aload(0)
            .typed(op::NEW, &this_class)
            .op(op::DUP)
            .init(&this_class, "()V");
        mark(code, 1);
        filler.emit(code);
        code.init(EXCEPTION, "(Ljava/lang/Throwable;)V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn new_same_branch(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    class.extends(EXCEPTION);
    trivial_constructor(class);
    constructor(class, "(I)V", |code| {
        let this_class = code.this_class();
        limits(code, 4, 2);
        code.aload(0);
        let new = code.here();
        code.typed(op::NEW, &this_class).op(op::DUP);
        let unfinished = V::Uninitialized(new);
        branch_over(
            code,
            filler,
            &[THIS, INT],
            &[THIS, unfinished.clone(), unfinished],
        );
        code.init(&this_class, "()V")
            .init(EXCEPTION, "(Ljava/lang/Throwable;)V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn wide_arguments(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    for value in [0, 5] {
        let arguments = [Arg::Int(value), Arg::Long(1), Arg::Double(2.5), Arg::Null];
        driver.construct("(IJD[Ljava/lang/String;)V", &arguments);
    }
    constructor(class, "(IJD[Ljava/lang/String;)V", |code| {
        let locals = code.initial_locals();
        limits(code, 2, 7);
        branch_over(code, filler, &locals, &[]);
        code.aload(0)
            .init(OBJECT, "()V")
            .local(op::LLOAD, 2)
            .op(op::L2I)
            .istore(1);
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}

fn three(class: &mut ClassBuilder, driver: &mut Driver, filler: Filler) {
    both(driver);
    class.extends(EXCEPTION);
    constructor(class, "(I)V", |code| {
        let this = initialized(code);
        limits(code, 4, 3);
        let first = code.here();
        code.typed(op::NEW, OBJECT).astore(2).aload(0);
        let second = code.here();
        code.typed(op::NEW, EXCEPTION).op(op::DUP);
        let unfinished = V::Uninitialized(second);
        let locals = [THIS, INT, V::Uninitialized(first)];
        branch_over(
            code,
            filler,
            &locals,
            &[THIS, unfinished.clone(), unfinished],
        );
        code.init(EXCEPTION, "()V")
            .init(EXCEPTION, "(Ljava/lang/Throwable;)V");
        let over = code.label();
        code.iload(1).branch(op::IFNE, over);
        mark(code, 5);
        code.bind(over)
            .frame(&[this, INT, V::Uninitialized(first)], &[]);
        code.aload(2).init(OBJECT, "()V");
        set_state(code, 0, 1);
        code.op(op::RETURN);
    });
}
