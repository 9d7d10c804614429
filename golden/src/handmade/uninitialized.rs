//! Frames with uninitialised objects. `ITEM_Uninitialized` has the offset of the `new` that made
//! the object, and probes change this offset (JVMS §4.7.4).

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

const BUILDER: &str = "java/lang/StringBuilder";

pub(super) fn add(list: &mut List) {
    for version in [49, 52] {
        let mut one = |name: &str, construct, body: fn(&mut CodeBuilder<'_>)| {
            list.test(
                &format!("new_{name}_v{version}"),
                construct,
                version,
                &[0, 3],
                body,
            );
        };
        one("at_zero", "new at 0 on the stack across a branch", at_zero);
        one(
            "ternary",
            "new and its copy on the stack across a ternary",
            ternary,
        );
        one(
            "in_local",
            "new in a local and on the stack across a branch",
            in_local,
        );
        one(
            "two",
            "two new of one class on the stack across a branch",
            two,
        );
        one(
            "loop",
            "new on the stack across a backward branch",
            across_loop,
        );
        one(
            "after_return",
            "new beyond a return, on the stack across a branch",
            after_return,
        );
        one("switch", "new on the stack across a switch", across_switch);
        one("never_initialized", "new whose object is dropped", dropped);
    }
}

/// Appends code that returns the capacity of the `StringBuilder` on the stack.
fn capacity(code: &mut CodeBuilder<'_>) {
    code.invokevirtual(BUILDER, "capacity", "()I")
        .op(op::IRETURN);
}

/// Appends code that pushes 20 or 30 above `stack`, depending on the argument.
fn choose(code: &mut CodeBuilder<'_>, locals: &[V], stack: &[V]) {
    let (other, joined) = (code.label(), code.label());
    code.iload(0)
        .branch(op::IFEQ, other)
        .iconst(20)
        .branch(op::GOTO, joined);
    code.bind(other).frame(locals, stack).iconst(30);
    let with_int = [stack, &[V::Integer]].concat();
    code.bind(joined).frame(locals, &with_int);
}

fn at_zero(code: &mut CodeBuilder<'_>) {
    let new = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP);
    choose(
        code,
        &[V::Integer],
        &[V::Uninitialized(new), V::Uninitialized(new)],
    );
    code.init(BUILDER, "(I)V");
    capacity(code);
}

fn ternary(code: &mut CodeBuilder<'_>) {
    mark(code, 1);
    at_zero(code);
}

fn in_local(code: &mut CodeBuilder<'_>) {
    code.iconst(1).newarray(10).op(op::POP);
    let new = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP).astore(1);
    choose(
        code,
        &[V::Integer, V::Uninitialized(new)],
        &[V::Uninitialized(new)],
    );
    code.init(BUILDER, "(I)V").aload(1);
    capacity(code);
}

fn two(code: &mut CodeBuilder<'_>) {
    let first = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP);
    let second = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP);
    let (a, b) = (V::Uninitialized(first), V::Uninitialized(second));
    code.limits(5, 1);
    choose(code, &[V::Integer], &[a.clone(), a, b.clone(), b]);
    code.init(BUILDER, "(I)V")
        .invokevirtual(BUILDER, "capacity", "()I");
    code.init(BUILDER, "(I)V");
    capacity(code);
}

fn across_loop(code: &mut CodeBuilder<'_>) {
    let new = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP);
    let again = code.here();
    code.frame(
        &[V::Integer],
        &[V::Uninitialized(new), V::Uninitialized(new)],
    );
    mark(code, 1);
    code.iinc(0, -1)
        .iload(0)
        .branch(op::IFGT, again)
        .iconst(9)
        .init(BUILDER, "(I)V");
    capacity(code);
}

fn after_return(code: &mut CodeBuilder<'_>) {
    let on = code.label();
    code.iload(0)
        .branch(op::IFNE, on)
        .iconst(-1)
        .op(op::IRETURN);
    code.bind(on).frame(&[V::Integer], &[]);
    at_zero(code);
}

fn across_switch(code: &mut CodeBuilder<'_>) {
    let new = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP).iload(0);
    let stack = [V::Uninitialized(new), V::Uninitialized(new)];
    let (three, default, joined) = (code.label(), code.label(), code.label());
    code.tableswitch(default, 3, &[three]);
    code.bind(three)
        .frame(&[V::Integer], &stack)
        .iconst(33)
        .branch(op::GOTO, joined);
    code.bind(default).frame(&[V::Integer], &stack).iconst(44);
    let with_int = [&stack[..], &[V::Integer]].concat();
    code.bind(joined)
        .frame(&[V::Integer], &with_int)
        .init(BUILDER, "(I)V");
    capacity(code);
}

fn dropped(code: &mut CodeBuilder<'_>) {
    code.typed(op::NEW, BUILDER)
        .op(op::POP)
        .iload(0)
        .op(op::IRETURN);
}
