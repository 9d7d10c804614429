//! Chains of branches, in which widening one branch makes the next one too long; and branches over
//! a switch whose padding changes.

use super::case::LimitCase;
use crate::assembler::{CodeBuilder, Label, VerificationTypeInfo as V, access, op};
use crate::shapes::{Arg, Driver, Filler, SITE_STACK};

/// Number of branches in a chain.
const LINKS: usize = 8;
const FLAGS: u16 = access::PUBLIC | access::STATIC;
/// The two local variables: argument and result.
const LOCALS: [V; 2] = [V::Integer, V::Integer];
/// The longest distance backward; the longest distance forward is one less.
const LIMIT: usize = 32_768;

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for version in [49, 50, 52] {
        let mut add = |name: &str, body: fn(&mut CodeBuilder<'_>)| {
            cases.push(LimitCase::new(
                "chains",
                name,
                version,
                move |class, driver| {
                    call_each(driver, 0..=LINKS as i32);
                    class.method(FLAGS, "test", "(I)I", |code| {
                        code.limits(SITE_STACK, 2).iconst(0).istore(1);
                        body(code);
                        code.iload(1).op(op::IRETURN);
                    });
                },
            ));
        };
        add("if_forward", if_forward);
        add("goto_forward", goto_forward);
        add("if_backward", if_backward);
        for distance in 32_758..LIMIT {
            for shift in 0..4 {
                let what = format!("padding_{distance}_{shift}");
                cases.push(LimitCase::new(
                    "chains",
                    &what,
                    version,
                    move |class, driver| {
                        call_each(driver, -1..=2);
                        class.method(FLAGS, "test", "(I)I", |code| {
                            over_switch(code, distance, shift)
                        });
                    },
                ));
            }
        }
    }
    cases
}

fn call_each(driver: &mut Driver, values: impl Iterator<Item = i32>) {
    for value in values {
        driver.call("test", "(I)I", &[Arg::Int(value)]);
    }
}

/// Returns the distance of the branch that is `behind` branches after the first branch that becomes
/// too long. With this distance, a branch becomes too long exactly when each branch in between has
/// grown by `growth`.
fn distance(limit: usize, behind: usize, growth: usize) -> usize {
    if behind == 0 {
        limit - 1
    } else {
        limit - growth * behind
    }
}

/// Appends `iinc 1, 1`, and fills the code up to `pc`. With `site`, the filler has an allocation. At first, only the
/// probe of this allocation makes the code longer.
fn stretch(code: &mut CodeBuilder<'_>, pc: usize, site: bool) {
    let length = pc - code.pc() - 3;
    code.iinc(1, 1);
    Filler {
        length,
        sites: usize::from(site),
    }
    .emit(code);
}

/// Appends a chain of [`LINKS`] forward `if_icmpeq`. A widened `if` grows by 5 bytes.
fn if_forward(code: &mut CodeBuilder<'_>) {
    let targets: Vec<Label> = (0..LINKS).map(|_| code.label()).collect();
    let mut ends = Vec::new();
    for (link, &target) in targets.iter().enumerate() {
        code.iload(0).op_u1(op::BIPUSH, link as u8);
        ends.push(code.pc() + distance(LIMIT, LINKS - 1 - link, 5));
        code.branch(op::IF_ICMPEQ, target);
    }
    bind_targets(code, &targets, &ends);
}

/// Appends a chain of forward `goto`, which grows by 2 bytes.
fn goto_forward(code: &mut CodeBuilder<'_>) {
    let targets: Vec<Label> = (0..LINKS).map(|_| code.label()).collect();
    let mut ends = Vec::new();
    for (link, &target) in targets.iter().enumerate() {
        let next = code.label();
        code.iload(0)
            .op_u1(op::BIPUSH, link as u8)
            .branch(op::IF_ICMPNE, next);
        ends.push(code.pc() + distance(LIMIT, LINKS - 1 - link, 2));
        code.branch(op::GOTO, target).bind(next).frame(&LOCALS, &[]);
    }
    bind_targets(code, &targets, &ends);
}

fn bind_targets(code: &mut CodeBuilder<'_>, targets: &[Label], ends: &[usize]) {
    for (link, (&target, &end)) in targets.iter().zip(ends).enumerate() {
        stretch(code, end, link == LINKS - 1);
        code.bind(target).frame(&LOCALS, &[]);
    }
    code.iinc(1, 1);
}

/// Appends a chain of `if_icmpeq` back to targets before them. Only the first branch has an
/// allocation between it and its target.
fn if_backward(code: &mut CodeBuilder<'_>) {
    // Each branch is 6 bytes after the previous one.
    const STEP: usize = 6;
    let distance = |link| distance(LIMIT + 1, link, 5);
    let branches = code.label();
    code.branch_wide(op::GOTO_W, branches);
    let first_target = code.pc();
    let first_branch = first_target + distance(0);
    let mut targets = Vec::new();
    for link in 0..LINKS {
        let target = first_branch + STEP * link - distance(link);
        if link > 0 {
            Filler {
                length: target - code.pc(),
                sites: usize::from(link == 1),
            }
            .emit(code);
        }
        targets.push(code.here());
        // Arguments below 100 reach this code at most once.
        code.frame(&LOCALS, &[]).iinc(0, 100).iinc(1, 1);
    }
    code.nops_to(first_branch - 3);
    code.bind(branches).frame(&LOCALS, &[]);
    for (link, target) in targets.into_iter().enumerate() {
        code.iload(0)
            .op_u1(op::BIPUSH, link as u8)
            .branch(op::IF_ICMPEQ, target);
    }
}

/// Appends a branch over an allocation and a switch. When the allocation's probe is added, the
/// padding of the switch may shrink, or grow by up to three bytes.
fn over_switch(code: &mut CodeBuilder<'_>, distance: usize, shift: usize) {
    let (target, one, default) = (code.label(), code.label(), code.label());
    code.limits(SITE_STACK, 2).iconst(0).istore(1);
    let shifted = code.pc() + shift;
    code.nops_to(shifted);
    code.iload(0);
    let start = code.pc();
    code.branch(op::IFLT, target);
    Filler {
        length: 8,
        sites: 1,
    }
    .emit(code);
    code.iload(0).tableswitch(default, 1, &[one]);
    code.bind(one).frame(&LOCALS, &[]).iinc(1, 1);
    code.bind(default).frame(&LOCALS, &[]).iinc(1, 2);
    code.nops_to(start + distance);
    code.bind(target)
        .frame(&LOCALS, &[])
        .iinc(1, 4)
        .iload(1)
        .op(op::IRETURN);
}
