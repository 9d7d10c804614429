//! Code at the limits of the format and of HotSpot's compilers.

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, LocalTable, op};
use loadhook_testclasses::shapes::{Arg, mark};

use super::list::{List, STATIC};

pub(super) fn add(list: &mut List) {
    let lengths = [
        (65_535, "code of the greatest length, tables up to its end"),
        (65_530, "code that entry and exit probes make too long"),
        (8_001, "code HotSpot does not compile anyhow"),
        (8_000, "the longest code HotSpot compiles"),
        (
            7_990,
            "code that a probe pushes over HotSpot's compile limit",
        ),
    ];
    for (length, construct) in lengths {
        list.large(&format!("code_{length}"), construct, 52, |class, driver| {
            driver
                .call("test", "(I)I", &[Arg::Int(0)])
                .call("test", "(I)I", &[Arg::Int(2)]);
            class.method(STATIC, "test", "(I)I", |code| long(code, length));
        });
    }
    list.test(
        "max_stack_exact",
        "max_stack with no room for a probe",
        52,
        &[3],
        |code| {
            code.limits(1, 1).iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "max_stack_spare",
        "max_stack with room for a probe",
        52,
        &[3],
        |code| {
            code.limits(9, 1).iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "max_stack_65535",
        "the greatest max_stack",
        52,
        &[3],
        |code| {
            code.limits(65_535, 1).iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "max_locals_65535",
        "the greatest max_locals",
        52,
        &[3],
        |code| {
            code.limits(1, 65_535)
                .iload(0)
                .istore(65_534)
                .iload(65_534)
                .op(op::IRETURN);
        },
    );
}

/// Appends code with a handler, a return before the end, and a return at the end. `nop`s make it `length` bytes
/// long.
fn long(code: &mut CodeBuilder<'_>, length: usize) {
    code.limits(2, 1);
    let (start, body) = (code.here(), code.label());
    code.line(1).branch(op::GOTO, body);
    let handler = code.here();
    code.frame(&[V::Integer], &[V::object("java/lang/Throwable")])
        .line(2)
        .op(op::POP);
    mark(code, 2);
    code.iconst(-1).op(op::IRETURN);
    code.bind(body).frame(&[V::Integer], &[]).line(3);
    code.nops_to(length - 4)
        .iconst(4)
        .iload(0)
        .op(op::IDIV)
        .line(4)
        .op(op::IRETURN);
    let end = code.here();
    code.handler(body, end, handler, None);
    code.local_variable(LocalTable::Variables, (start, end), "n", "I", 0);
}
