//! `wide` before every instruction that allows it (JVMS §6.5.wide), and methods with about 256
//! locals.

use loadhook_testclasses::assembler::{CodeBuilder, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

pub(super) fn add(list: &mut List) {
    let kinds = [
        ("int", op::ILOAD, op::ICONST_3, None),
        ("long", op::LLOAD, op::LCONST_1, Some(op::L2I)),
        ("float", op::FLOAD, op::FCONST_2, Some(op::F2I)),
        ("double", op::DLOAD, op::DCONST_1, Some(op::D2I)),
        ("reference", op::ALOAD, op::ACONST_NULL, None),
    ];
    for (name, load, constant, to_int) in kinds {
        list.test(
            &format!("wide_{name}"),
            "wide load and store, with a large index and needlessly with a small one",
            52,
            &[0],
            |code| {
                code.limits(4, 302);
                for index in [300, 4] {
                    code.op(constant)
                        .wide(load + (op::ISTORE - op::ILOAD), index);
                    code.wide(load, index);
                    match (to_int, load) {
                        (Some(convert), _) => code.op(convert).op(op::POP),
                        _ => code.op(op::POP),
                    };
                }
                code.iload(0).op(op::IRETURN);
            },
        );
    }
    list.test(
        "wide_iinc",
        "wide iinc by index, by amount and needlessly",
        52,
        &[0, 5],
        |code| {
            code.limits(4, 301).iload(0).wide(op::ISTORE, 300);
            code.wide_iinc(300, 1)
                .wide_iinc(300, -32_768)
                .wide_iinc(0, 1000)
                .wide_iinc(0, 1);
            code.wide(op::ILOAD, 300)
                .iload(0)
                .op(op::IADD)
                .op(op::IRETURN);
        },
    );
    list.test(
        "wide_ret",
        "wide ret, with a large index and needlessly",
        49,
        &[0],
        |code| {
            code.limits(4, 301);
            let (far, near) = (code.label(), code.label());
            code.branch(op::JSR, far)
                .branch(op::JSR, near)
                .iload(0)
                .op(op::IRETURN);
            code.bind(far).wide(op::ASTORE, 300);
            mark(code, 1);
            code.wide(op::RET, 300).bind(near).wide(op::ASTORE, 3);
            mark(code, 2);
            code.wide(op::RET, 3);
        },
    );
    for locals in 253..=257 {
        list.test(
            &format!("locals_{locals}"),
            "max_locals at the border of a one-byte index",
            52,
            &[6],
            |code| last_local(code, locals),
        );
    }
}

/// Appends code that loads and stores the last of `locals` local variables.
fn last_local(code: &mut CodeBuilder<'_>, locals: u16) {
    code.limits(4, locals)
        .iload(0)
        .istore(locals - 1)
        .iinc(locals - 1, 1);
    code.iload(locals - 1).op(op::IRETURN);
}
