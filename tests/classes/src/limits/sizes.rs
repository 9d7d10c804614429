//! Code with nearly 65,535 bytes, or nearly the 8,000 bytes that HotSpot compiles at most; the
//! greatest `max_stack` and `max_locals`.

use super::case::LimitCase;
use crate::assembler::{
    ClassBuilder, CodeBuilder, FrameForm, LocalTable, VerificationTypeInfo as V, access, op,
};
use crate::shapes::{Arg, Driver, Filler, SITE_STACK, mark};

const FLAGS: u16 = access::PUBLIC | access::STATIC;
const THROWABLE: &str = "java/lang/Throwable";

/// The lengths of the code.
const LENGTHS: [usize; 20] = [
    7_950, 7_980, 7_990, 7_995, 7_999, 8_000, 8_001, 65_400, 65_450, 65_500, 65_520, 65_528,
    65_529, 65_530, 65_531, 65_532, 65_533, 65_534, 65_535, 100,
];

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for version in [49, 50, 52] {
        for length in LENGTHS {
            for (name, body) in [
                ("straight", straight as fn(&mut CodeBuilder<'_>, usize)),
                ("handler", handler),
                ("loop", looping),
            ] {
                let what = format!("{name}_{length}");
                cases.push(LimitCase::new(
                    "sizes",
                    &what,
                    version,
                    move |class, driver| {
                        driver.call("test", "(I)I", &[Arg::Int(0)]).call(
                            "test",
                            "(I)I",
                            &[Arg::Int(2)],
                        );
                        class.method(FLAGS, "test", "(I)I", |code| body(code, length));
                    },
                ));
            }
        }
        for max_stack in [65_530, 65_534, 65_535] {
            let what = format!("max_stack_{max_stack}");
            cases.push(LimitCase::new(
                "sizes",
                &what,
                version,
                move |class, driver| {
                    small(class, driver, max_stack, 1);
                },
            ));
        }
        for max_locals in [65_534, 65_535] {
            let what = format!("max_locals_{max_locals}");
            cases.push(LimitCase::new(
                "sizes",
                &what,
                version,
                move |class, driver| {
                    small(class, driver, 4, max_locals);
                },
            ));
        }
        cases.push(LimitCase::new(
            "sizes",
            "this_in_last_local",
            version,
            this_in_last_local,
        ));
        cases.push(LimitCase::new("sizes", "many_new", version, many_new));
        cases.push(LimitCase::new("sizes", "full_frames", version, full_frames));
    }
    cases
}

/// Appends code without branches: allocations, then one return.
fn straight(code: &mut CodeBuilder<'_>, length: usize) {
    code.limits(1 + SITE_STACK, 1);
    mark(code, 3);
    Filler {
        length: length - code.pc() - 2,
        sites: 3,
    }
    .emit(code);
    code.iload(0).op(op::IRETURN);
}

/// Appends a handler range and debug tables that end at the end of the code.
fn handler(code: &mut CodeBuilder<'_>, length: usize) {
    code.limits(2 + SITE_STACK, 2);
    let (start, body) = (code.here(), code.label());
    code.line(1).branch(op::GOTO, body);
    let handler = code.here();
    code.frame(&[V::Integer], &[V::object(THROWABLE)])
        .line(2)
        .op(op::POP);
    mark(code, 2);
    code.iconst(-1).op(op::IRETURN);
    code.bind(body).frame(&[V::Integer], &[]).line(3);
    Filler {
        length: length - code.pc() - 4,
        sites: 3,
    }
    .emit(code);
    code.iconst(5).iload(0).op(op::IDIV).line(4).op(op::IRETURN);
    let end = code.here();
    code.handler(body, end, handler, None);
    code.local_variable(LocalTable::Variables, (start, end), "n", "I", 0);
}

/// Appends a loop that consists of all of the code: from pc 0 to a `goto_w` at the end.
fn looping(code: &mut CodeBuilder<'_>, length: usize) {
    code.limits(1 + SITE_STACK, 1);
    let start = code.here();
    let on = code.label();
    code.frame(&[V::Integer], &[])
        .iinc(0, -1)
        .iload(0)
        .branch(op::IFGE, on);
    code.iload(0)
        .op(op::IRETURN)
        .bind(on)
        .frame(&[V::Integer], &[]);
    mark(code, 1);
    Filler {
        length: length - code.pc() - 5,
        sites: 3,
    }
    .emit(code);
    code.branch_wide(op::GOTO_W, start);
}

/// Adds a method that gets every kind of probe, but has little room for the probes' operands.
fn small(class: &mut ClassBuilder, driver: &mut Driver, max_stack: u16, max_locals: u16) {
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("test", "(I)I", &[Arg::Int(4)]);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(max_stack, max_locals);
        let start = code.here();
        code.iconst(8)
            .iload(0)
            .op(op::IDIV)
            .newarray(10)
            .op(op::ARRAYLENGTH);
        let last = max_locals - 1;
        code.istore(last).iload(last).op(op::IRETURN);
        let end = code.here();
        let handler = code.here();
        code.handler(start, end, handler, Some("java/lang/ArithmeticException"));
        code.frame(&[V::Integer], &[V::object("java/lang/ArithmeticException")])
            .op(op::POP);
        mark(code, 7);
        code.iconst(-5).op(op::IRETURN);
    });
}

/// Adds a constructor whose `this` is in the last possible local variable when an exception is
/// thrown.
fn this_in_last_local(class: &mut ClassBuilder, driver: &mut Driver) {
    driver
        .construct("(I)V", &[Arg::Int(0)])
        .construct("(I)V", &[Arg::Int(4)]);
    class.method(access::PUBLIC, "<init>", "(I)V", |code| {
        let this_class = code.this_class();
        code.limits(2, 65_535)
            .aload(0)
            .astore(65_534)
            .op(op::ACONST_NULL)
            .astore(0);
        code.iconst(8).iload(1).op(op::IDIV).istore(1);
        code.aload(65_534).init("java/lang/Object", "()V");
        code.aload(65_534)
            .iload(1)
            .field(op::PUTFIELD, &this_class, "state", "I")
            .op(op::RETURN);
    });
}

/// Adds a method with three hundred uninitialised objects that are on the stack across a branch.
fn many_new(class: &mut ClassBuilder, driver: &mut Driver) {
    const BUILDER: &str = "java/lang/StringBuilder";
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("test", "(I)I", &[Arg::Int(4)]);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(304, 2);
        let fresh: Vec<_> = (0..300)
            .map(|_| {
                let new = code.here();
                code.typed(op::NEW, BUILDER);
                V::Uninitialized(new)
            })
            .collect();
        let over = code.label();
        code.iload(0).branch(op::IFEQ, over);
        mark(code, 1);
        code.bind(over)
            .frame(&[V::Integer], &fresh)
            .iconst(9)
            .istore(1);
        for _ in &fresh {
            code.op(op::DUP).iload(1).init(BUILDER, "(I)V");
            code.invokevirtual(BUILDER, "capacity", "()I")
                .iinc(1, 1)
                .op(op::POP);
        }
        code.iload(1).op(op::IRETURN);
    });
}

/// Adds a method with a `full_frame` at every second instruction.
fn full_frames(class: &mut ClassBuilder, driver: &mut Driver) {
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("test", "(I)I", &[Arg::Int(4)]);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(1, 1);
        for _ in 0..5_000 {
            let next = code.label();
            code.iload(0).branch(op::IFEQ, next).iinc(0, 1);
            code.bind(next)
                .frame_as(FrameForm::Full, &[V::Integer], &[]);
        }
        code.iload(0).op(op::IRETURN);
    });
}
