//! Frames that the JVM does not read: `StackMapTable` in class files below version 50, where the frames may be
//! wrong, and `StackMap`, which only small JVMs for the CLDC read.

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, FrameTable, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

pub(super) fn add(list: &mut List) {
    stale_frames(list);
    cldc_stack_maps(list);
}

/// Adds classes below version 50 with a `StackMapTable`.
fn stale_frames(list: &mut List) {
    list.test(
        "stale_frames_right",
        "true StackMapTable in version 49",
        49,
        &[0, 3],
        |code| {
            code.frame_table(FrameTable::StackMapTable);
            new_across_branch(code);
        },
    );
    list.test(
        "stale_frames_misplaced",
        "StackMapTable in version 49 with frames amid instructions and beyond the code",
        49,
        &[0, 3],
        |code| {
            // The entries: same_frame at 2, same_frame_extended at 60,000, append_frame with
            // Uninitialized(3).
            let entries = [0, 3, 2, 251, 0xea, 0x60, 252, 0, 1, 8, 0, 3];
            code.attribute("StackMapTable", &entries);
            new_across_branch(code);
        },
    );
    list.test(
        "stale_frames_truncated",
        "StackMapTable in version 49 that breaks off",
        49,
        &[0, 3],
        |code| {
            code.attribute("StackMapTable", &[0, 9, 255, 0]);
            new_across_branch(code);
        },
    );
    list.test(
        "stale_frames_unknown",
        "StackMapTable in version 48 with reserved frame and item tags",
        48,
        &[0, 3],
        |code| {
            code.attribute("StackMapTable", &[0, 2, 200, 0, 64, 99]);
            new_across_branch(code);
        },
    );
}

/// Adds classes with a `StackMap`.
fn cldc_stack_maps(list: &mut List) {
    list.test(
        "cldc_stack_map",
        "CLDC StackMap in version 47",
        47,
        &[0, 3],
        |code| {
            code.frame_table(FrameTable::CldcStackMap);
            new_across_branch(code);
        },
    );
    list.test(
        "cldc_stack_map_wide",
        "CLDC StackMap with all item tags",
        47,
        &[0, 3],
        |code| {
            code.frame_table(FrameTable::CldcStackMap);
            code.frame(&[V::Integer], &[]);
            code.op(op::LCONST_1)
                .local(op::LSTORE, 1)
                .op(op::DCONST_1)
                .local(op::DSTORE, 3);
            code.op(op::FCONST_1)
                .local(op::FSTORE, 5)
                .op(op::ACONST_NULL)
                .astore(7);
            let on = code.label();
            code.iload(0).branch(op::IFNE, on);
            mark(code, 1);
            let locals = [
                V::Integer,
                V::Long,
                V::Double,
                V::Float,
                V::Top,
                V::object("[Ljava/lang/String;"),
            ];
            code.bind(on).frame(&locals, &[]).op(op::ACONST_NULL);
            code.frame(&locals[..1], &[V::Null])
                .op(op::POP)
                .iload(0)
                .op(op::IRETURN);
        },
    );
    list.class(
        "cldc_stack_map_constructor",
        "CLDC StackMap with UninitializedThis",
        47,
        |class, driver| {
            use loadhook_testclasses::shapes::{Arg, constructor};
            driver
                .construct("(I)V", &[Arg::Int(0)])
                .construct("(I)V", &[Arg::Int(3)]);
            constructor(class, "(I)V", |code| {
                code.frame_table(FrameTable::CldcStackMap).limits(2, 2);
                let on = code.label();
                code.aload(0).iload(1).branch(op::IFNE, on).iinc(1, 5);
                let locals = code.initial_locals();
                code.bind(on).frame(&locals, &[V::UninitializedThis]);
                code.init("java/lang/Object", "()V");
                let this_class = code.this_class();
                code.aload(0)
                    .iload(1)
                    .field(op::PUTFIELD, &this_class, "state", "I");
                code.op(op::RETURN);
            });
        },
    );
}

/// Appends the code of `new StringBuilder(n == 0 ? 30 : 20).capacity()`, with frames.
fn new_across_branch(code: &mut CodeBuilder<'_>) {
    const BUILDER: &str = "java/lang/StringBuilder";
    let new = code.here();
    code.typed(op::NEW, BUILDER).op(op::DUP).iload(0);
    let stack = [V::Uninitialized(new), V::Uninitialized(new), V::Integer];
    let (other, joined) = (code.label(), code.label());
    code.branch(op::IFEQ, other)
        .iconst(20)
        .branch(op::GOTO, joined);
    code.bind(other)
        .frame(&[V::Integer], &stack[..2])
        .iconst(30);
    code.bind(joined)
        .frame(&[V::Integer], &stack)
        .init(BUILDER, "(I)V");
    code.invokevirtual(BUILDER, "capacity", "()I")
        .op(op::IRETURN);
}
