//! Exception tables with thousands of rows, up to all 65,535.

use super::case::LimitCase;
use crate::assembler::{CodeBuilder, VerificationTypeInfo as V, access, op};
use crate::shapes::{Arg, mark};

const FLAGS: u16 = access::PUBLIC | access::STATIC;
const ARITHMETIC: &str = "java/lang/ArithmeticException";
const NUMBER_FORMAT: &str = "java/lang/NumberFormatException";
/// The two local variables: argument and result.
const LOCALS: [V; 2] = [V::Integer, V::Integer];

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for version in [49, 50, 52] {
        let mut add = |name: &str, body: Box<dyn Fn(&mut CodeBuilder<'_>) + Send + Sync>| {
            cases.push(LimitCase::new(
                "exceptions",
                name,
                version,
                move |class, driver| {
                    for value in [0, 4, 700] {
                        driver.call("test", "(I)I", &[Arg::Int(value)]);
                    }
                    class.method(FLAGS, "test", "(I)I", |code| {
                        code.limits(3, 2).iconst(0).istore(1);
                        body(code);
                    });
                },
            ));
        };
        for rows in [5_000, 65_530, 65_533, 65_534, 65_535] {
            add(
                &format!("rows_{rows}"),
                Box::new(move |code| rows_for_one_range(code, rows)),
            );
        }
        for rows in [5_000, 32_766, 32_767, 40_000, 65_535] {
            add(
                &format!("split_{rows}"),
                Box::new(move |code| rows_over_their_handler(code, rows)),
            );
        }
        add("split_often", Box::new(split_often));
        add("ranges", Box::new(ranges));
        add("handlers", Box::new(handlers));
        add("nested", Box::new(nested));
    }
    cases
}

/// Appends code whose rows all cover one range. Only the last row's type matches.
fn rows_for_one_range(code: &mut CodeBuilder<'_>, rows: usize) {
    let start = code.here();
    code.iconst(8).iload(0).op(op::IDIV).op(op::IRETURN);
    let end = code.here();
    let handler = code.here();
    for _ in 1..rows {
        code.handler(start, end, handler, Some(NUMBER_FORMAT));
    }
    code.handler(start, end, handler, Some(ARITHMETIC));
    code.frame(&LOCALS, &[V::object("java/lang/RuntimeException")])
        .op(op::POP);
    mark(code, 7);
    code.iconst(-5).op(op::IRETURN);
}

/// Appends code in which every row's range contains the beginning of the row's handler, so the
/// rewriter splits each row. Only the last row's type matches.
fn rows_over_their_handler(code: &mut CodeBuilder<'_>, rows: usize) {
    let start = code.here();
    code.iconst(8).iload(0).op(op::IDIV).op(op::IRETURN);
    let handler = code.here();
    code.frame(&LOCALS, &[V::object("java/lang/RuntimeException")])
        .op(op::POP);
    mark(code, 7);
    let end = code.here();
    code.iconst(-5).op(op::IRETURN);
    for _ in 1..rows {
        code.handler(start, end, handler, Some(NUMBER_FORMAT));
    }
    code.handler(start, end, handler, Some(ARITHMETIC));
}

/// Appends code for three hundred rows with the same handler. The range of each row covers the
/// beginnings of three hundred other handlers.
fn split_often(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    code.iconst(8).iload(0).op(op::IDIV).op(op::IRETURN);
    let first = code.here();
    code.frame(&LOCALS, &[V::object("java/lang/Throwable")])
        .op(op::POP);
    mark(code, 7);
    code.iload(1).op(op::IRETURN);
    let mut handlers = vec![];
    for _ in 0..300 {
        handlers.push(code.here());
        code.frame(&LOCALS, &[V::object(NUMBER_FORMAT)])
            .op(op::POP)
            .iload(1)
            .op(op::IRETURN);
    }
    let end = code.here();
    for handler in handlers {
        code.handler(start, first, handler, Some(NUMBER_FORMAT))
            .handler(start, end, first, Some(ARITHMETIC));
    }
}

/// Appends 5,000 instructions, each with its own range.
fn ranges(code: &mut CodeBuilder<'_>) {
    let mut rows = Vec::new();
    for _ in 0..5_000 {
        let start = code.here();
        code.iinc(1, 1);
        rows.push((start, code.here()));
    }
    let start = code.here();
    code.iload(1).iload(0).op(op::IDIV).op(op::IRETURN);
    rows.push((start, code.here()));
    let handler = code.here();
    for (start, end) in rows {
        code.handler(start, end, handler, None);
    }
    code.frame(&LOCALS, &[V::object("java/lang/Throwable")])
        .op(op::POP);
    mark(code, 7);
    code.iload(1).op(op::IRETURN);
}

/// Appends a thousand handlers, each with its own frame, range and jump back.
fn handlers(code: &mut CodeBuilder<'_>) {
    for step in 0..1_000 {
        let (start, next) = (code.here(), code.label());
        // Divides by zero if the argument is the number of this step.
        code.iload(1)
            .iload(0)
            .sipush(step)
            .ops(&[op::ISUB, op::IDIV])
            .op(op::POP);
        let end = code.here();
        code.iinc(1, 1).branch(op::GOTO, next);
        let handler = code.here();
        code.handler(start, end, handler, Some(ARITHMETIC));
        code.frame(&LOCALS, &[V::object(ARITHMETIC)])
            .op(op::POP)
            .iinc(1, step % 100);
        code.bind(next).frame(&LOCALS, &[]);
    }
    code.iload(1).op(op::IRETURN);
}

/// Appends a thousand ranges, each inside the previous one, whose handlers rethrow the exception.
fn nested(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    code.iconst(8).iload(0).op(op::IDIV).op(op::IRETURN);
    for _ in 0..1_000 {
        let handler = code.here();
        code.handler(start, handler, handler, Some(ARITHMETIC));
        code.frame(&LOCALS, &[V::object(ARITHMETIC)])
            .iinc(1, 1)
            .op(op::ATHROW);
    }
    let handler = code.here();
    code.handler(start, handler, handler, None);
    code.frame(&LOCALS, &[V::object("java/lang/Throwable")])
        .op(op::POP);
    mark(code, 9);
    code.iload(1).op(op::IRETURN);
}
