//! `jsr`, `jsr_w` and `ret` (JVMS §4.10.2.5), legal up to version 49.

use loadhook_testclasses::assembler::{CodeBuilder, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

pub(super) fn add(list: &mut List) {
    for version in [45, 49] {
        let mut one = |name: &str, construct, body: fn(&mut CodeBuilder<'_>)| {
            list.test(
                &format!("{name}_v{version}"),
                construct,
                version,
                &[0, 4],
                body,
            );
        };
        one("jsr_ret", "subroutine called from two places", two_calls);
        one("jsr_w", "jsr_w forward and backward", jsr_w);
        one(
            "jsr_finally",
            "try/finally as javac wrote it up to version 48",
            finally,
        );
        one("jsr_nested", "subroutine called by a subroutine", nested);
        one(
            "jsr_no_ret",
            "subroutine that returns from the method",
            no_ret,
        );
        one(
            "jsr_pops_address",
            "subroutine that drops its address",
            pops,
        );
        one(
            "jsr_in_loop",
            "subroutine called in a loop that starts at 0",
            in_loop,
        );
    }
}

fn two_calls(code: &mut CodeBuilder<'_>) {
    let subroutine = code.label();
    code.branch(op::JSR, subroutine);
    mark(code, 1);
    code.branch(op::JSR, subroutine).iload(0).op(op::IRETURN);
    code.bind(subroutine).astore(1).iinc(0, 1);
    mark(code, 2);
    code.local(op::RET, 1);
}

fn jsr_w(code: &mut CodeBuilder<'_>) {
    let (main, backward, forward) = (code.label(), code.label(), code.label());
    code.branch(op::GOTO, main);
    code.bind(backward).astore(5);
    mark(code, 1);
    code.local(op::RET, 5).bind(main);
    code.branch_wide(op::JSR_W, backward)
        .branch_wide(op::JSR_W, forward);
    code.iload(0).op(op::IRETURN);
    code.bind(forward).astore(6);
    mark(code, 2);
    code.local(op::RET, 6);
}

/// Appends `finally` with a handler that covers its own start, as old compilers generated it.
fn finally(code: &mut CodeBuilder<'_>) {
    let finally = code.label();
    let start = code.here();
    code.iconst(8)
        .iload(0)
        .op(op::IDIV)
        .istore(1)
        .branch(op::JSR, finally);
    let end = code.here();
    code.iload(1).op(op::IRETURN);
    let handler = code.here();
    code.handler(start, end, handler, None)
        .astore(2)
        .branch(op::JSR, finally);
    let handler_end = code.here();
    code.handler(handler, handler_end, handler, None);
    code.aload(2).op(op::ATHROW);
    code.bind(finally).astore(3);
    mark(code, 5);
    code.local(op::RET, 3);
}

/// Appends two nested subroutines. Only `outer` calls `inner`, because the verifier refuses a subroutine that is
/// called at two nesting depths.
fn nested(code: &mut CodeBuilder<'_>) {
    let (outer, inner) = (code.label(), code.label());
    code.branch(op::JSR, outer)
        .branch(op::JSR, outer)
        .iload(0)
        .op(op::IRETURN);
    code.bind(outer).astore(1);
    mark(code, 1);
    code.branch(op::JSR, inner);
    mark(code, 3);
    code.local(op::RET, 1);
    code.bind(inner).astore(2);
    mark(code, 2);
    code.local(op::RET, 2);
}

fn no_ret(code: &mut CodeBuilder<'_>) {
    let subroutine = code.label();
    code.iload(0)
        .istore(2)
        .branch(op::JSR, subroutine)
        .iconst(1)
        .op(op::IRETURN);
    code.bind(subroutine).astore(1);
    let back = code.label();
    code.iload(2).branch(op::IFEQ, back);
    mark(code, 3);
    code.iload(2).op(op::IRETURN);
    code.bind(back).local(op::RET, 1);
}

fn pops(code: &mut CodeBuilder<'_>) {
    let subroutine = code.label();
    code.branch(op::JSR, subroutine);
    code.bind(subroutine).op(op::POP);
    mark(code, 1);
    code.iload(0).op(op::IRETURN);
}

fn in_loop(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    let subroutine = code.label();
    code.branch(op::JSR, subroutine)
        .iload(0)
        .branch(op::IFGT, start);
    code.iload(0).op(op::IRETURN);
    code.bind(subroutine).astore(1).iinc(0, -1);
    mark(code, 1);
    code.local(op::RET, 1);
}
