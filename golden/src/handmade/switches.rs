//! Switches at each of the four paddings (JVMS §6.5.tableswitch).

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

const LOCALS: [V; 1] = [V::Integer];

pub(super) fn add(list: &mut List) {
    with_padding(list);
    with_unusual_targets(list);
}

/// Adds both switches with each padding, without and with a `StackMapTable`.
fn with_padding(list: &mut List) {
    for padding in 0..4 {
        for version in [49, 52] {
            list.test(
                &format!("tableswitch_padding_{padding}_v{version}"),
                "tableswitch with this padding",
                version,
                &[1, 2, 3],
                |code| {
                    before(code, padding);
                    let (one, two, default) = (code.label(), code.label(), code.label());
                    code.tableswitch(default, 1, &[one, two]);
                    for (value, target) in [(10, one), (20, two), (30, default)] {
                        code.bind(target)
                            .frame(&LOCALS, &[])
                            .iconst(value)
                            .op(op::IRETURN);
                    }
                },
            );
            list.test(
                &format!("lookupswitch_padding_{padding}_v{version}"),
                "lookupswitch with this padding",
                version,
                &[-5, 1000, 3],
                |code| {
                    before(code, padding);
                    let (one, two, default) = (code.label(), code.label(), code.label());
                    code.lookupswitch(default, &[(-5, one), (1000, two)]);
                    for (value, target) in [(10, one), (20, two), (30, default)] {
                        code.bind(target)
                            .frame(&LOCALS, &[])
                            .iconst(value)
                            .op(op::IRETURN);
                    }
                },
            );
        }
    }
}

/// Adds switches without cases, with targets before them, and with one target for all.
fn with_unusual_targets(list: &mut List) {
    list.test(
        "lookupswitch_empty",
        "lookupswitch without pairs",
        52,
        &[0, 1],
        |code| {
            let default = code.label();
            code.iload(0).lookupswitch(default, &[]);
            code.bind(default)
                .frame(&LOCALS, &[])
                .iload(0)
                .op(op::IRETURN);
        },
    );
    list.test(
        "switch_loop",
        "switch whose targets lie before it",
        52,
        &[3, 9],
        |code| {
            let again = code.here();
            code.frame(&LOCALS, &[]);
            mark(code, 1);
            code.iinc(0, -1);
            let second = code.here();
            code.frame(&LOCALS, &[]);
            mark(code, 2);
            code.iinc(0, -1);
            let end = code.label();
            code.iload(0).tableswitch(end, 1, &[again, second, end]);
            code.bind(end).frame(&LOCALS, &[]).iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "switch_same_target",
        "switch with one target for all",
        52,
        &[0, 1],
        |code| {
            let next = code.label();
            code.iload(0).tableswitch(next, 0, &[next, next, next]);
            code.bind(next).frame(&LOCALS, &[]).iload(0).op(op::IRETURN);
        },
    );
}

/// Appends code before a switch, so that the switch has `padding` bytes of padding.
fn before(code: &mut CodeBuilder<'_>, padding: usize) {
    // The opcode is at pc 7 - padding, so the padding ends at pc 8.
    code.nops_to(6 - padding).iload(0);
}
