//! Every form of frame, and the greatest offset_delta of each form, beyond which another form is
//! needed (JVMS §4.7.4).

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, FrameForm, access, op};
use loadhook_testclasses::shapes::{Arg, mark};

use super::list::{List, STATIC};

const OBJECT: &str = "java/lang/Object";

pub(super) fn add(list: &mut List) {
    same(list);
    same_locals_1(list);
    chop_and_append(list);
    full(list);
    at_zero(list);
}

/// Appends code of `length` bytes that begins with `if (n == 0) return n`, and then a frame. The
/// exit probe of the return increases the frame's offset_delta.
fn return_unless_zero(code: &mut CodeBuilder<'_>, length: usize, form: FrameForm, locals: &[V]) {
    let end = code.pc() + length;
    let next = code.label();
    code.iload(0)
        .branch(op::IFEQ, next)
        .nops_to(end - 2)
        .iload(0)
        .op(op::IRETURN);
    code.bind(next).frame_as(form, locals, &[]);
}

fn same(list: &mut List) {
    use FrameForm::{Same, SameExtended};
    let shapes = [
        ("frame_same_0", "same_frame right after another", 1, Same),
        (
            "frame_same_50",
            "same_frame that becomes same_frame_extended only with both probes",
            51,
            Same,
        ),
        (
            "frame_same_63",
            "same_frame with the greatest offset_delta, 63",
            64,
            Same,
        ),
        (
            "frame_same_extended_64",
            "same_frame_extended with the least offset_delta that needs it, 64",
            65,
            SameExtended,
        ),
        (
            "frame_same_extended_small",
            "same_frame_extended where same_frame would do",
            20,
            SameExtended,
        ),
    ];
    for (name, construct, apart, form) in shapes {
        list.test(name, construct, 52, &[0, 3], |code| {
            let locals = [V::Integer];
            // The offset_delta of the first frame counts from 0, and that of the second frame from the byte after
            // the first frame.
            return_unless_zero(code, usize::max(apart - 1, 6), form, &locals);
            match apart {
                1 => {
                    code.op(op::NOP).frame(&locals, &[]);
                }
                _ => return_unless_zero(code, usize::max(apart, 6), form, &locals),
            }
            mark(code, 2);
            code.iload(0).op(op::IRETURN);
        });
    }
}

fn same_locals_1(list: &mut List) {
    use FrameForm::{SameLocals1, SameLocals1Extended};
    let shapes = [
        (
            "frame_same_locals_1_0",
            "same_locals_1_stack_item_frame after a frame",
            0,
            SameLocals1,
        ),
        (
            "frame_same_locals_1_63",
            "same_locals_1_stack_item_frame with the greatest offset_delta",
            63,
            SameLocals1,
        ),
        (
            "frame_same_locals_1_extended_64",
            "same_locals_1_stack_item_frame_extended with the least offset_delta that needs it",
            64,
            SameLocals1Extended,
        ),
        (
            "frame_same_locals_1_extended_small",
            "same_locals_1_stack_item_frame_extended where the short form would do",
            9,
            SameLocals1Extended,
        ),
    ];
    for (name, construct, delta, form) in shapes {
        list.test(name, construct, 52, &[0, 3], |code| {
            let locals = [V::Integer];
            let (other, joined) = (code.label(), code.label());
            code.iload(0).branch(op::IFEQ, other);
            code.op(op::FCONST_1).branch(op::GOTO, joined);
            code.bind(other).frame(&locals, &[]);
            let before = code.pc() + delta;
            code.nops_to(before).op(op::FCONST_2);
            code.bind(joined)
                .frame_as(form, &locals, &[V::Float])
                .op(op::F2I)
                .op(op::IRETURN);
        });
    }
    list.test(
        "frame_same_locals_1_63_return",
        "same_locals_1_stack_item_frame with the greatest offset_delta, over a return",
        52,
        &[0, 3],
        |code| {
            let target = code.label();
            code.iconst(1)
                .op(op::I2L)
                .iload(0)
                .branch(op::IFEQ, target)
                .op(op::POP2);
            code.nops_to(61).iload(0).op(op::IRETURN).bind(target);
            code.frame_as(SameLocals1, &[V::Integer], &[V::Long])
                .op(op::L2I)
                .op(op::IRETURN);
        },
    );
}

/// Appends code that fills locals 1 to 6 with a `long`, an `Object`, a `double` and `null`. Returns their types.
fn fill_locals(code: &mut CodeBuilder<'_>) -> Vec<V> {
    code.op(op::LCONST_1)
        .local(op::LSTORE, 1)
        .ldc_string("x")
        .astore(3);
    code.op(op::DCONST_1)
        .local(op::DSTORE, 4)
        .op(op::ACONST_NULL)
        .astore(6);
    vec![V::Integer, V::Long, V::object(OBJECT), V::Double, V::Null]
}

fn chop_and_append(list: &mut List) {
    for count in 1..=3 {
        list.test(
            &format!("frame_chop_{count}"),
            "chop_frame of this many locals, some of them wide",
            52,
            &[0, 3],
            |code| {
                let locals = fill_locals(code);
                return_unless_zero(code, 12, FrameForm::Full, &locals);
                let kept = &locals[..locals.len() - count];
                return_unless_zero(code, 12, FrameForm::Chop, kept);
                code.iload(0).op(op::IRETURN);
            },
        );
        list.test(
            &format!("frame_append_{count}"),
            "append_frame of this many locals, some of them wide",
            52,
            &[0, 3],
            |code| {
                let locals = fill_locals(code);
                return_unless_zero(code, 12, FrameForm::Append, &locals[..1 + count]);
                return_unless_zero(code, 100, FrameForm::SameExtended, &locals[..1 + count]);
                code.iload(0).op(op::IRETURN);
            },
        );
    }
    list.test(
        "frame_append_top",
        "append_frame with Top, then a chop_frame of it",
        52,
        &[0, 3],
        |code| {
            fill_locals(code);
            let locals = [V::Integer, V::Top, V::Top, V::object(OBJECT)];
            return_unless_zero(code, 9, FrameForm::Append, &locals);
            return_unless_zero(code, 9, FrameForm::Chop, &locals[..2]);
            code.iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "frame_append_uninitialized",
        "append_frame with Uninitialized, whose offset moves",
        52,
        &[0, 3],
        |code| {
            let new = code.here();
            code.typed(op::NEW, OBJECT).astore(1);
            let locals = [V::Integer, V::Uninitialized(new)];
            return_unless_zero(code, 9, FrameForm::Append, &locals);
            code.aload(1).init(OBJECT, "()V").iload(0).op(op::IRETURN);
        },
    );
}

fn full(list: &mut List) {
    list.test(
        "frame_full_where_same_would_do",
        "full_frame that same_frame could express",
        52,
        &[0, 3],
        |code| {
            return_unless_zero(code, 9, FrameForm::Full, &[V::Integer]);
            code.iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "frame_full_empty",
        "full_frame without locals or stack",
        52,
        &[0, 3],
        |code| {
            let next = code.label();
            code.iload(0)
                .branch(op::IFEQ, next)
                .iload(0)
                .op(op::IRETURN);
            code.bind(next)
                .frame_as(FrameForm::Full, &[], &[])
                .iconst(7)
                .op(op::IRETURN);
        },
    );
    list.class(
        "frame_full_all_items",
        "full_frame with every item tag",
        52,
        |class, driver| {
            driver
                .construct("(I)V", &[Arg::Int(0)])
                .construct("(I)V", &[Arg::Int(2)]);
            class.method(access::PUBLIC, "<init>", "(I)V", |code| {
                let this_class = code.this_class();
                code.limits(8, 9).op(op::FCONST_1).local(op::FSTORE, 3);
                let new = code.here();
                code.typed(op::NEW, OBJECT).astore(4);
                code.op(op::DCONST_1)
                    .local(op::DSTORE, 5)
                    .iconst(1)
                    .newarray(10)
                    .astore(8);
                code.op(op::LCONST_1).op(op::ACONST_NULL).aload(0);
                let over = code.label();
                code.iload(1).branch(op::IFEQ, over);
                mark(code, 1);
                let mut locals = code.initial_locals();
                locals.extend([V::Top, V::Float, V::Uninitialized(new), V::Double, V::Top]);
                locals.push(V::object("[I"));
                code.bind(over);
                code.frame(&locals, &[V::Long, V::Null, V::UninitializedThis]);
                code.init(OBJECT, "()V")
                    .op(op::POP)
                    .op(op::POP2)
                    .aload(0)
                    .iload(1);
                code.field(op::PUTFIELD, &this_class, "state", "I")
                    .op(op::RETURN);
            });
        },
    );
    list.class(
        "frame_table_empty",
        "StackMapTable without entries",
        52,
        |class, driver| {
            driver.call("test", "()V", &[]);
            class.method(STATIC, "test", "()V", |code| {
                code.attribute("StackMapTable", &[0, 0]).op(op::RETURN);
            });
        },
    );
}

fn at_zero(list: &mut List) {
    list.test(
        "frame_at_zero",
        "explicit frame at 0, and one at 1",
        52,
        &[0, 3],
        |code| {
            code.frame(&[V::Integer], &[])
                .op(op::NOP)
                .frame(&[V::Integer], &[]);
            code.iload(0).op(op::IRETURN);
        },
    );
    list.test(
        "frame_at_zero_less_known",
        "explicit frame at 0 with less exact types than the descriptor",
        52,
        &[0, 3],
        |code| {
            code.frame(&[], &[]).iconst(4).istore(0);
            return_unless_zero(code, 9, FrameForm::Append, &[V::Integer]);
            code.iload(0).op(op::IRETURN);
        },
    );
}
