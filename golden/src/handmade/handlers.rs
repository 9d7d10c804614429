//! Exception tables (JVMS §4.7.3): beginnings and ends of ranges, and handlers that are also
//! reached by jumps.

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, Label, op};
use loadhook_testclasses::shapes::mark;

use super::list::{List, STATIC};

const ARITHMETIC: &str = "java/lang/ArithmeticException";
const RUNTIME: &str = "java/lang/RuntimeException";
const THROWABLE: &str = "java/lang/Throwable";
const LOCALS: [V; 1] = [V::Integer];

pub(super) fn add(list: &mut List) {
    for version in [49, 52] {
        let mut one = |name: &str, construct, body: fn(&mut CodeBuilder<'_>)| {
            let name = format!("handler_{name}_v{version}");
            list.test(&name, construct, version, &[0, 4, -1], body);
        };
        one("from_zero", "handler range from 0", from_zero);
        one(
            "to_code_end",
            "handler range up to code_length, the handler before it",
            to_code_end,
        );
        one(
            "whole_method",
            "handler range of the whole code, handler included",
            whole_method,
        );
        one(
            "ends_before_return",
            "handler range that ends at the return",
            ends_before_return,
        );
        one(
            "of_return_only",
            "handler range of one return",
            of_return_only,
        );
        one(
            "is_branch_target",
            "handler that is also jumped to",
            branch_target,
        );
        one(
            "fallen_into",
            "handler that is also fallen into",
            fallen_into,
        );
        one("nested", "ranges within ranges", nested);
        one("overlapping", "ranges that overlap", overlapping);
        one("shared", "one handler for two ranges and types", shared);
        one(
            "covers_itself",
            "catch-any handler that covers its own start",
            covers_itself,
        );
        one(
            "circle",
            "two handlers that cover each other's start",
            circle,
        );
        one(
            "covers_two",
            "range that contains two handlers, one of them for another range",
            covers_two,
        );
        one(
            "is_last",
            "handler that is one athrow at the code's end",
            is_last,
        );
        one(
            "at_range_end",
            "handler that starts where its range ends",
            at_range_end,
        );
        one(
            "loops_to_zero",
            "handler that jumps back to 0",
            loops_to_zero,
        );
        one(
            "after_jump",
            "range whose start is a jump's target",
            after_jump,
        );
    }
    list.class(
        "monitor",
        "synchronized block as javac writes it",
        52,
        |class, driver| {
            for value in [0, 4] {
                driver.call(
                    "test",
                    "(I)I",
                    &[loadhook_testclasses::shapes::Arg::Int(value)],
                );
            }
            class.method(STATIC, "test", "(I)I", monitor);
        },
    );
}

/// Appends `8 / n`, which throws for 0. Returns the range of the code.
fn divide(code: &mut CodeBuilder<'_>) -> (Label, Label) {
    let start = code.here();
    code.iconst(8).iload(0).op(op::IDIV);
    (start, code.here())
}

/// Adds a handler for the range, and binds it to the next instruction, with a frame.
fn catch(code: &mut CodeBuilder<'_>, (start, end): (Label, Label), class: Option<&str>) -> Label {
    let handler = code.here();
    code.handler(start, end, handler, class);
    code.frame(&LOCALS, &[V::object(class.unwrap_or(THROWABLE))]);
    handler
}

/// Appends code that drops the exception and returns `value`.
fn answer(code: &mut CodeBuilder<'_>, value: i32) {
    code.op(op::POP);
    mark(code, 3);
    code.iconst(value).op(op::IRETURN);
}

fn from_zero(code: &mut CodeBuilder<'_>) {
    let range = divide(code);
    code.op(op::IRETURN);
    catch(code, range, Some(ARITHMETIC));
    answer(code, -1);
}

fn to_code_end(code: &mut CodeBuilder<'_>) {
    let body = code.label();
    code.branch(op::GOTO, body);
    let handler = code.here();
    code.frame(&LOCALS, &[V::object(THROWABLE)]);
    answer(code, -2);
    code.bind(body).frame(&LOCALS, &[]);
    divide(code);
    code.op(op::IRETURN);
    let end = code.here();
    code.handler(body, end, handler, None);
}

fn whole_method(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    divide(code);
    code.op(op::IRETURN);
    let handler = code.here();
    code.frame(&LOCALS, &[V::object(THROWABLE)]);
    answer(code, -3);
    let end = code.here();
    code.handler(start, end, handler, None);
}

fn ends_before_return(code: &mut CodeBuilder<'_>) {
    mark(code, 1);
    let range = divide(code);
    code.op(op::IRETURN);
    catch(code, range, None);
    answer(code, -4);
}

fn of_return_only(code: &mut CodeBuilder<'_>) {
    code.iload(0);
    let start = code.here();
    code.op(op::IRETURN);
    let end = code.here();
    catch(code, (start, end), None);
    answer(code, -5);
}

fn branch_target(code: &mut CodeBuilder<'_>) {
    let handler = code.label();
    code.op(op::ACONST_NULL)
        .iload(0)
        .branch(op::IFLT, handler)
        .op(op::POP);
    let (start, end) = divide(code);
    code.op(op::IRETURN)
        .bind(handler)
        .handler(start, end, handler, None);
    code.frame(&LOCALS, &[V::object(THROWABLE)]);
    answer(code, -6);
}

fn fallen_into(code: &mut CodeBuilder<'_>) {
    let on = code.label();
    code.iload(0).branch(op::IFGE, on).op(op::ACONST_NULL);
    let handler = code.here();
    code.frame(&LOCALS, &[V::object(THROWABLE)]);
    code.op(op::POP);
    mark(code, 2);
    code.iconst(-7).op(op::IRETURN);
    code.bind(on).frame(&LOCALS, &[]);
    let (start, end) = divide(code);
    code.op(op::IRETURN).handler(start, end, handler, None);
}

fn nested(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    mark(code, 1);
    let inner = divide(code);
    code.op(op::IRETURN);
    catch(code, inner, Some(ARITHMETIC));
    mark(code, 2);
    code.op(op::ATHROW);
    let end = code.here();
    catch(code, (start, end), Some(RUNTIME));
    answer(code, -8);
}

fn overlapping(code: &mut CodeBuilder<'_>) {
    let first = code.here();
    mark(code, 1);
    let second = code.here();
    divide(code);
    let first_end = code.here();
    code.op(op::NOP).op(op::IRETURN);
    let second_end = code.here();
    catch(
        code,
        (first, first_end),
        Some("java/lang/NullPointerException"),
    );
    answer(code, -9);
    catch(code, (second, second_end), Some(ARITHMETIC));
    answer(code, -10);
}

fn shared(code: &mut CodeBuilder<'_>) {
    let first = divide(code);
    code.op(op::POP);
    mark(code, 1);
    let second = divide(code);
    code.op(op::IRETURN);
    let handler = code.here();
    code.handler(first.0, first.1, handler, Some(ARITHMETIC));
    code.handler(
        second.0,
        second.1,
        handler,
        Some("java/lang/NullPointerException"),
    );
    code.frame(&LOCALS, &[V::object(RUNTIME)]);
    answer(code, -11);
}

fn covers_itself(code: &mut CodeBuilder<'_>) {
    let (start, end) = divide(code);
    code.op(op::IRETURN);
    let handler = code.here();
    code.handler(start, end, handler, None);
    code.frame(&LOCALS, &[V::object(THROWABLE)]).astore(1);
    let handler_end = code.here();
    code.handler(handler, handler_end, handler, None);
    mark(code, 4);
    code.aload(1).op(op::ATHROW);
}

fn circle(code: &mut CodeBuilder<'_>) {
    let (start, end) = divide(code);
    code.op(op::IRETURN);
    let first = catch(code, (start, end), None);
    code.astore(1);
    let first_end = code.here();
    mark(code, 4);
    code.iconst(-14).op(op::IRETURN);
    let second = catch(code, (first, first_end), None);
    code.astore(1);
    let second_end = code.here();
    code.handler(second, second_end, first, None);
    mark(code, 5);
    code.aload(1).op(op::ATHROW);
}

fn covers_two(code: &mut CodeBuilder<'_>) {
    let (start, end) = divide(code);
    code.op(op::POP);
    let second_range = divide(code);
    code.op(op::IRETURN);
    let first = catch(code, (start, end), None);
    answer(code, -15);
    let second = catch(code, second_range, None);
    answer(code, -16);
    let behind = code.here();
    code.handler(start, behind, first, Some(ARITHMETIC))
        .handler(start, behind, second, None);
}

fn is_last(code: &mut CodeBuilder<'_>) {
    let range = divide(code);
    code.op(op::IRETURN);
    catch(code, range, None);
    code.op(op::ATHROW);
}

fn at_range_end(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    divide(code);
    code.op(op::IRETURN);
    let handler = code.here();
    code.handler(start, handler, handler, Some(ARITHMETIC));
    code.frame(&LOCALS, &[V::object(ARITHMETIC)]);
    answer(code, -12);
}

fn loops_to_zero(code: &mut CodeBuilder<'_>) {
    let start = code.here();
    code.frame(&LOCALS, &[]);
    let range = divide(code);
    code.op(op::IRETURN);
    catch(code, range, Some(ARITHMETIC));
    code.op(op::POP);
    mark(code, 5);
    code.iconst(2).istore(0).branch(op::GOTO, start);
}

fn after_jump(code: &mut CodeBuilder<'_>) {
    let target = code.label();
    code.iload(0).branch(op::IFGE, target);
    mark(code, 1);
    code.bind(target).frame(&LOCALS, &[]);
    let range = divide(code);
    code.op(op::IRETURN);
    catch(code, range, Some(ARITHMETIC));
    answer(code, -13);
}

fn monitor(code: &mut CodeBuilder<'_>) {
    let this_class = code.this_class();
    code.limits(2, 3)
        .ldc_class(&this_class)
        .op(op::DUP)
        .astore(1)
        .op(op::MONITORENTER);
    let start = code.here();
    code.iconst(8)
        .iload(0)
        .op(op::IDIV)
        .aload(1)
        .op(op::MONITOREXIT);
    let end = code.here();
    code.op(op::IRETURN);
    let handler = code.here();
    code.handler(start, end, handler, None);
    let locals = [V::Integer, V::object("java/lang/Class")];
    code.frame(&locals, &[V::object(THROWABLE)])
        .astore(2)
        .aload(1)
        .op(op::MONITOREXIT);
    let handler_end = code.here();
    code.handler(handler, handler_end, handler, None)
        .aload(2)
        .op(op::ATHROW);
}
