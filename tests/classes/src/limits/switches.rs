//! Large and extreme switches.

use super::case::LimitCase;
use crate::assembler::{CodeBuilder, Label, VerificationTypeInfo as V, access, op};
use crate::shapes::Arg;

const FLAGS: u16 = access::PUBLIC | access::STATIC;
const CASES: i16 = 5_000;
/// The two local variables: argument and result.
const LOCALS: [V; 2] = [V::Integer, V::Integer];

/// One of the two switch instructions. Its keys are 0 to [`CASES`] − 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    Table,
    Lookup,
}

const SWITCHES: [(&str, Switch); 2] = [
    ("tableswitch", Switch::Table),
    ("lookupswitch", Switch::Lookup),
];

impl Switch {
    fn emit(self, code: &mut CodeBuilder<'_>, default: Label, targets: &[Label]) {
        match self {
            Self::Table => {
                code.tableswitch(default, 0, targets);
            }
            Self::Lookup => {
                let pairs: Vec<_> = (0..).zip(targets.iter().copied()).collect();
                code.lookupswitch(default, &pairs);
            }
        }
    }
}

/// A function that appends a switch and the code at its targets.
type Body = fn(&mut CodeBuilder<'_>, Switch);

const BODIES: [(&str, Body); 4] = [
    ("returns", returns),
    ("shared", shared),
    ("joined", joined),
    ("backward", backward),
];

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for version in [49, 50, 52] {
        for (name, switch) in SWITCHES {
            for (body_name, body) in BODIES {
                for shift in 0..4 {
                    let what = format!("{name}_{body_name}_{shift}");
                    let case = LimitCase::new("switches", &what, version, move |class, driver| {
                        for key in [0, 1, 49, 2_499, 4_999, 5_000, -1] {
                            driver.call("test", "(I)I", &[Arg::Int(key)]);
                        }
                        class.method(FLAGS, "test", "(I)I", |code| {
                            code.limits(2, 2).iconst(0).istore(1).nops_to(2 + shift);
                            body(code, switch);
                        });
                    });
                    cases.push(case);
                }
            }
        }
        cases.push(LimitCase::new(
            "switches",
            "extreme_keys",
            version,
            move |class, driver| {
                for key in [i32::MIN, i32::MIN + 1, -1, 0, i32::MAX - 1, i32::MAX] {
                    driver.call("test", "(I)I", &[Arg::Int(key)]);
                }
                class.method(FLAGS, "test", "(I)I", extreme_keys);
            },
        ));
    }
    cases
}

/// Appends a switch in which each key leads to its own return.
fn returns(code: &mut CodeBuilder<'_>, switch: Switch) {
    let default = code.label();
    let targets: Vec<_> = (0..CASES).map(|_| code.label()).collect();
    code.iload(0);
    switch.emit(code, default, &targets);
    for (value, target) in (0..CASES).zip(targets) {
        code.bind(target)
            .frame(&LOCALS, &[])
            .sipush(value)
            .op(op::IRETURN);
    }
    code.bind(default)
        .frame(&LOCALS, &[])
        .iconst(-1)
        .op(op::IRETURN);
}

/// Appends a switch in which all keys share fifty targets.
fn shared(code: &mut CodeBuilder<'_>, switch: Switch) {
    let default = code.label();
    let targets: Vec<_> = (0..50).map(|_| code.label()).collect();
    let by_key: Vec<_> = (0..CASES as usize).map(|key| targets[key % 50]).collect();
    code.iload(0);
    switch.emit(code, default, &by_key);
    for target in targets {
        code.bind(target).frame(&LOCALS, &[]).iinc(1, 1);
    }
    code.bind(default)
        .frame(&LOCALS, &[])
        .iload(1)
        .op(op::IRETURN);
}

/// Appends a switch in which each key leads to a `goto` to one return. The first `goto` is longer
/// than 30,000 bytes. A `lookupswitch` has only half of the keys, since its code would be too long
/// otherwise.
fn joined(code: &mut CodeBuilder<'_>, switch: Switch) {
    let (default, end) = (code.label(), code.label());
    let own = if switch == Switch::Table {
        CASES
    } else {
        CASES / 2
    };
    let targets: Vec<_> = (0..own).map(|_| code.label()).collect();
    let mut by_key = targets.clone();
    by_key.resize(CASES as usize, default);
    code.iload(0);
    switch.emit(code, default, &by_key);
    for (value, target) in (0..own).zip(targets) {
        code.bind(target)
            .frame(&LOCALS, &[])
            .sipush(value)
            .branch(op::GOTO, end);
    }
    code.bind(default).frame(&LOCALS, &[]).iconst(-1);
    code.bind(end).frame(&LOCALS, &[V::Integer]).op(op::IRETURN);
}

/// Appends a switch at the end of a loop; all of its targets stand before it.
fn backward(code: &mut CodeBuilder<'_>, switch: Switch) {
    let default = code.label();
    let mut targets = Vec::new();
    for _ in 0..100 {
        targets.push(code.here());
        code.frame(&LOCALS, &[]).iinc(1, 1);
    }
    // The loop counts the key down, so that each key is used once.
    code.iinc(0, -1);
    let by_key: Vec<_> = (0..CASES as usize)
        .map(|key| targets[99 - key % 100])
        .collect();
    code.iload(0).iconst(-7).istore(0);
    switch.emit(code, default, &by_key);
    code.bind(default)
        .frame(&LOCALS, &[])
        .iload(1)
        .op(op::IRETURN);
}

/// Appends switches with keys at the ends of the `int` range, and a switch without cases.
fn extreme_keys(code: &mut CodeBuilder<'_>) {
    code.limits(1, 2).iconst(0).istore(1);
    let (low, high, default) = (code.label(), code.label(), code.label());
    let (next, last) = (code.label(), code.label());
    code.iload(0)
        .lookupswitch(next, &[(i32::MIN, low), (0, default), (i32::MAX, high)]);
    code.bind(low).frame(&LOCALS, &[]).iinc(1, 1);
    code.bind(high).frame(&LOCALS, &[]).iinc(1, 10);
    code.bind(next).frame(&LOCALS, &[]).iinc(1, 100).iload(0);
    code.tableswitch(default, i32::MAX - 1, &[default, last]);
    code.bind(default)
        .frame(&LOCALS, &[])
        .iload(0)
        .lookupswitch(last, &[]);
    code.bind(last)
        .frame(&LOCALS, &[])
        .iinc(1, 1000)
        .iload(1)
        .op(op::IRETURN);
}
