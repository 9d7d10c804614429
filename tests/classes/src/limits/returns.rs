//! Methods with many returns, with a branch to each return.

use super::case::LimitCase;
use crate::assembler::{CodeBuilder, Label, VerificationTypeInfo as V, access, op};
use crate::shapes::{Arg, mark};

const FLAGS: u16 = access::PUBLIC | access::STATIC;
const COUNT: i16 = 2_000;

/// A return type with its instruction.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    descriptor: &'static str,
    /// Pushes a value that identifies the branch, then returns.
    leave: fn(&mut CodeBuilder<'_>, i16),
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "ireturn",
        descriptor: "(I)I",
        leave: |code, value| {
            code.sipush(value).op(op::IRETURN);
        },
    },
    Kind {
        name: "return",
        descriptor: "(I)V",
        leave: |code, _| {
            code.op(op::RETURN);
        },
    },
    Kind {
        name: "lreturn",
        descriptor: "(I)J",
        leave: |code, value| {
            code.sipush(value).op(op::I2L).op(op::LRETURN);
        },
    },
    Kind {
        name: "dreturn",
        descriptor: "(I)D",
        leave: |code, value| {
            code.sipush(value).op(op::I2D).op(op::DRETURN);
        },
    },
    Kind {
        name: "areturn",
        descriptor: "(I)Ljava/lang/String;",
        leave: |code, value| {
            let owner = "java/lang/String";
            code.sipush(value)
                .invokestatic(owner, "valueOf", "(I)Ljava/lang/String;");
            code.op(op::ARETURN);
        },
    },
];

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for kind in KINDS {
        for version in [49, 50, 52] {
            for (order, reversed) in [("forward", false), ("nested", true)] {
                let what = format!("{}_{order}", kind.name);
                cases.push(LimitCase::new(
                    "returns",
                    &what,
                    version,
                    move |class, driver| {
                        for value in [0, 1, 999, 1_999, 5_000] {
                            driver.call("test", kind.descriptor, &[Arg::Int(value)]);
                        }
                        class.method(FLAGS, "test", kind.descriptor, |code| {
                            code.limits(2, 1);
                            dense(code, kind, reversed);
                        });
                    },
                ));
            }
        }
        // In this case the returns stand before the branches to them.
        cases.push(LimitCase::new(
            "returns",
            &format!("{}_backward", kind.name),
            52,
            move |class, driver| {
                for value in [0, 1, 999, 1_999, 5_000] {
                    driver.call("test", kind.descriptor, &[Arg::Int(value)]);
                }
                class.method(FLAGS, "test", kind.descriptor, |code| {
                    code.limits(2, 1);
                    backward(code, kind);
                });
            },
        ));
    }
    cases
}

/// Appends [`COUNT`] comparisons, then [`COUNT`] returns. With `nested`, the first comparison jumps
/// to the last return.
fn dense(code: &mut CodeBuilder<'_>, kind: Kind, nested: bool) {
    let targets: Vec<_> = (0..COUNT).map(|_| code.label()).collect();
    compare(code, &targets);
    (kind.leave)(code, -1);
    let mut returns: Vec<_> = (0..COUNT).zip(targets).collect();
    if nested {
        returns.reverse();
    }
    for (value, target) in returns {
        code.bind(target).frame(&[V::Integer], &[]);
        (kind.leave)(code, value);
    }
}

fn backward(code: &mut CodeBuilder<'_>, kind: Kind) {
    let comparisons = code.label();
    code.branch(op::GOTO, comparisons);
    let mut targets = Vec::new();
    for value in 0..COUNT {
        targets.push(code.here());
        code.frame(&[V::Integer], &[]);
        (kind.leave)(code, value);
    }
    code.bind(comparisons).frame(&[V::Integer], &[]);
    compare(code, &targets);
    (kind.leave)(code, -1);
}

fn compare(code: &mut CodeBuilder<'_>, targets: &[Label]) {
    for (value, &target) in (0..COUNT).zip(targets) {
        if value % 500 == 1 {
            mark(code, 1);
        }
        code.iload(0).sipush(value).branch(op::IF_ICMPEQ, target);
    }
}
