//! Jumps: backwards to 0, over long distances, to the next instruction, and to themselves. Also code that is
//! never reached.

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, op};
use loadhook_testclasses::shapes::mark;

use super::list::{List, STATIC};

const LOCALS: [V; 1] = [V::Integer];
const EXCEPTION: &str = "java/lang/Exception";

pub(super) fn add(list: &mut List) {
    for version in [49, 52] {
        list.test(
            &format!("back_to_zero_v{version}"),
            "loop back to pc 0, with a frame there from version 50 on",
            version,
            &[0, 3],
            back_to_zero,
        );
        list.test(
            &format!("goto_w_v{version}"),
            "goto_w forward and backward",
            version,
            &[0, 3],
            goto_w,
        );
        list.test(
            &format!("all_branches_v{version}"),
            "every conditional branch",
            version,
            &[-1, 0, 1],
            all_branches,
        );
        list.test(
            &format!("dead_code_v{version}"),
            "unreachable code after a return",
            version,
            &[1],
            dead_code,
        );
    }
    endings(list);
    list.test(
        "branch_to_next",
        "branch to the next instruction",
        52,
        &[0, 3],
        branch_to_next,
    );
    list.test(
        "branches_to_one_return",
        "branches to a return itself",
        52,
        &[0, 1, 2],
        branches_to_one_return,
    );
    list.test(
        "return_with_stack",
        "return with more values on the stack than it pops",
        52,
        &[2],
        return_with_stack,
    );
    list.test(
        "back_to_zero_twice",
        "two loops back to pc 0",
        52,
        &[0, 5],
        back_to_zero_twice,
    );
}

fn back_to_zero(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    code.frame(&LOCALS, &[]);
    mark(code, 1);
    code.iinc(0, -1)
        .iload(0)
        .branch(op::IFGT, start)
        .iload(0)
        .op(op::IRETURN);
}

fn goto_w(code: &mut CodeBuilder<'_>) {
    let (forward, backward) = (code.label(), code.label());
    code.branch_wide(op::GOTO_W, forward);
    code.bind(backward).frame(&LOCALS, &[]);
    mark(code, 2);
    code.iload(0).op(op::IRETURN);
    code.bind(forward).frame(&LOCALS, &[]);
    mark(code, 1);
    code.branch_wide(op::GOTO_W, backward);
}

/// Appends every conditional branch. A branch that is taken skips the mark after it.
fn all_branches(code: &mut CodeBuilder<'_>) {
    for opcode in op::CONDITIONAL_BRANCHES {
        let next = code.label();
        match opcode {
            op::IFEQ..=op::IFLE => code.iload(0),
            op::IF_ICMPEQ..=op::IF_ICMPLE => code.iload(0).iconst(0),
            op::IF_ACMPEQ | op::IF_ACMPNE => code.op(op::ACONST_NULL).ldc_string("x"),
            _ => code.op(op::ACONST_NULL),
        };
        code.branch(opcode, next);
        mark(code, i16::from(opcode % 10));
        code.bind(next).frame(&LOCALS, &[]);
    }
    code.iload(0).op(op::IRETURN);
}

fn dead_code(code: &mut CodeBuilder<'_>) {
    let dead = code.label();
    code.iload(0).op(op::IRETURN);
    code.bind(dead)
        .frame(&LOCALS, &[])
        .iinc(0, 1)
        .iload(0)
        .branch(op::IFGT, dead);
    code.iconst(1)
        .newarray(10)
        .op(op::ARRAYLENGTH)
        .op(op::IRETURN);
}

fn branch_to_next(code: &mut CodeBuilder<'_>) {
    let next = code.label();
    code.iload(0)
        .branch(op::IFEQ, next)
        .bind(next)
        .frame(&LOCALS, &[]);
    code.iload(0).op(op::IRETURN);
}

fn branches_to_one_return(code: &mut CodeBuilder<'_>) {
    let end = code.label();
    code.iconst(5).iload(0).branch(op::IFEQ, end).op(op::POP);
    mark(code, 1);
    code.iconst(6).iload(0).iconst(1).branch(op::IF_ICMPEQ, end);
    code.op(op::POP)
        .iconst(7)
        .bind(end)
        .frame(&LOCALS, &[V::Integer])
        .op(op::IRETURN);
}

fn return_with_stack(code: &mut CodeBuilder<'_>) {
    code.limits(5, 1)
        .op(op::LCONST_1)
        .op(op::ACONST_NULL)
        .iload(0)
        .op(op::IRETURN);
}

fn back_to_zero_twice(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    let odd = code.label();
    code.frame(&LOCALS, &[])
        .iinc(0, -1)
        .iload(0)
        .branch(op::IFLT, odd);
    mark(code, 1);
    code.iload(0)
        .iconst(2)
        .branch(op::IF_ICMPGT, start)
        .branch(op::GOTO, start);
    code.bind(odd).frame(&LOCALS, &[]).iload(0).op(op::IRETURN);
}

/// Adds methods with unusual ends: a return alone, `athrow`, an endless loop, dead code.
fn endings(list: &mut List) {
    list.class(
        "empty_method",
        "a method that is one return",
        52,
        |class, driver| {
            driver.call("test", "()V", &[]);
            class.method(STATIC, "test", "()V", |code| {
                code.limits(0, 0).op(op::RETURN);
            });
        },
    );
    list.class(
        "only_athrow",
        "a method that only throws its argument",
        52,
        |class, driver| {
            let descriptor = "(Ljava/lang/Throwable;)V";
            driver.call(
                "test",
                descriptor,
                &[loadhook_testclasses::shapes::Arg::Null],
            );
            class.method(STATIC, "test", descriptor, |code| {
                code.limits(1, 1).aload(0).op(op::ATHROW);
            });
        },
    );
    list.class(
        "endless_loop",
        "a method that never returns, one goto to itself",
        52,
        |class, driver| {
            driver.call("other", "()V", &[]);
            class.method(STATIC, "test", "()V", |code| {
                let start = code.here();
                code.limits(0, 0).frame(&[], &[]).branch(op::GOTO, start);
            });
            class.method(STATIC, "other", "()V", |code| {
                code.op(op::RETURN);
            });
        },
    );
    list.test(
        "loop_left_by_throw",
        "a loop left only by an exception",
        52,
        &[3],
        loop_left_by_throw,
    );
    list.test(
        "ends_in_goto",
        "code whose last instruction is a goto",
        52,
        &[0, 3],
        ends_in_goto,
    );
    list.test(
        "dead_code_at_end",
        "dead code that ends in athrow",
        52,
        &[1],
        dead_code_at_end,
    );
}

fn loop_left_by_throw(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    code.frame(&LOCALS, &[]);
    mark(code, 1);
    code.iinc(0, -1).iload(0).branch(op::IFGT, start);
    code.typed(op::NEW, EXCEPTION)
        .op(op::DUP)
        .init(EXCEPTION, "()V")
        .op(op::ATHROW);
}

fn ends_in_goto(code: &mut CodeBuilder<'_>) {
    let (start, on) = (code.label(), code.label());
    code.op(op::NOP)
        .bind(start)
        .frame(&LOCALS, &[])
        .iload(0)
        .branch(op::IFGT, on);
    code.iload(0).op(op::IRETURN).bind(on).frame(&LOCALS, &[]);
    mark(code, 1);
    code.iinc(0, -1).branch(op::GOTO, start);
}

fn dead_code_at_end(code: &mut CodeBuilder<'_>) {
    code.iload(0).op(op::IRETURN);
    code.frame(&[], &[V::object("java/lang/Throwable")])
        .op(op::NOP)
        .op(op::ATHROW);
}
