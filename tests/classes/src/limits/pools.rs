//! Constant pools with 0 to 20 entries free, and constants at the border
//! between `ldc` and `ldc_w`.

use super::case::LimitCase;
use crate::assembler::{ClassBuilder, MAX_ENTRIES, VerificationTypeInfo as V, access, op};
use crate::shapes::{Arg, Driver, mark};

const FLAGS: u16 = access::PUBLIC | access::STATIC;

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for free in 0..=20 {
        for version in [49, 52] {
            let what = format!("free_{free:02}");
            cases.push(LimitCase::new(
                "pools",
                &what,
                version,
                move |class, driver| {
                    class.pool_entries(MAX_ENTRIES - free);
                    every_probe(class, driver);
                },
            ));
        }
    }
    for entries in [250, 253, 254, 255, 256, 257] {
        let what = format!("entries_{entries}");
        cases.push(LimitCase::new("pools", &what, 52, move |class, driver| {
            // The constants that are added after this have indexes from `entries` on.
            class.pool().pad_to(entries);
            every_probe(class, driver);
        }));
    }
    cases
}

/// Adds methods that together get every kind of probe.
fn every_probe(class: &mut ClassBuilder, driver: &mut Driver) {
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("test", "(I)I", &[Arg::Int(4)]);
    driver.construct("(I)V", &[Arg::Int(2)]);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(2, 1);
        let start = code.here();
        code.iconst(100_000)
            .iload(0)
            .op(op::IDIV)
            .newarray(10)
            .op(op::ARRAYLENGTH);
        code.typed(op::NEW, "java/lang/Object")
            .op(op::POP)
            .op(op::IRETURN);
        let end = code.here();
        let handler = code.here();
        code.handler(start, end, handler, Some("java/lang/ArithmeticException"));
        code.frame(&[V::Integer], &[V::object("java/lang/ArithmeticException")])
            .op(op::POP);
        mark(code, 7);
        code.ldc_string("handled")
            .invokevirtual("java/lang/String", "length", "()I");
        code.op(op::IRETURN);
    });
    class.method(access::PUBLIC, "<init>", "(I)V", |code| {
        let this_class = code.this_class();
        code.limits(2, 2)
            .aload(0)
            .init("java/lang/Object", "()V")
            .aload(0)
            .iload(1);
        code.field(op::PUTFIELD, &this_class, "state", "I")
            .op(op::RETURN);
    });
}
