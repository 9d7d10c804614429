//! Compares output of the assembler with bytes written by hand.

use super::VerificationTypeInfo as V;
use super::{AssembleError, ClassBuilder, CodeBuilder, FrameForm, access, op};

/// Assembles a static method in a class of version 52. Returns the bytes of its `Code` attribute
/// from `max_stack` on.
fn assemble(descriptor: &str, build: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    let mut class = ClassBuilder::new(52, "T");
    class.method(access::STATIC, "m", descriptor, build);
    let bytes = class.finish().expect("the class can be assembled");
    // After the method the class has only attributes_count. Find the method by its max_stack and
    // max_locals.
    let at = bytes
        .windows(4)
        .rposition(|four| four == [0x7e, 0x7e, 0x7d, 0x7d]);
    bytes[at.expect("the code has the marked limits") + 4..].to_vec()
}

/// Limits by which [`assemble`] finds the method.
fn mark(code: &mut CodeBuilder<'_>) {
    code.limits(0x7e7e, 0x7d7d);
}

#[test]
fn branches_count_from_their_opcode() {
    let code = assemble("(I)V", |code| {
        mark(code);
        let back = code.here();
        let on = code.label();
        code.iload(0).branch(op::IFEQ, on).branch(op::GOTO, back);
        code.bind(on).branch_wide(op::GOTO_W, back);
    });
    let expected = [
        0,
        0,
        0,
        12,
        op::ILOAD_0,
        op::IFEQ,
        0,
        6,
        op::GOTO,
        0xff,
        0xfc,
        op::GOTO_W,
        0xff,
        0xff,
        0xff,
        0xf9,
    ];
    assert_eq!(code[..16], expected);
}

#[test]
fn switches_are_padded_to_four() {
    for padding in 0..4_u8 {
        let code = assemble("(I)V", |code| {
            mark(code);
            for _ in 0..3 - padding {
                code.op(op::NOP);
            }
            let end = code.label();
            code.tableswitch(end, 7, &[end]);
            code.bind(end).op(op::RETURN);
        });
        let at = 4 + usize::from(3 - padding);
        assert_eq!(code[at], op::TABLESWITCH);
        let table = &code[at + 1 + usize::from(padding)..];
        let offset = padding + 17;
        assert_eq!(
            table[..16],
            [0, 0, 0, offset, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, offset]
        );
    }
}

#[test]
fn shortest_frames() {
    let code = assemble("(I)V", |code| {
        mark(code);
        code.nops_to(5).frame(&[V::Integer], &[]);
        code.nops_to(70).frame(&[V::Integer], &[]);
        code.nops_to(71).frame(&[V::Integer, V::Long], &[]);
        code.nops_to(72).frame(&[V::Integer], &[]);
        code.nops_to(73).frame(&[V::Integer], &[V::Float]);
        code.nops_to(74).frame(&[], &[V::Float, V::Top]);
        code.op(op::RETURN);
    });
    let frames = [
        0, 6, 5, 251, 0, 64, 252, 0, 0, 4, 250, 0, 0, 64, 2, 255, 0, 0, 0, 0, 0, 2, 2, 0,
    ];
    // Before the frames come code_length, code, exception_table_length, attributes_count, name and
    // length.
    assert_eq!(code[4 + 75 + 2 + 2 + 2 + 4..][..frames.len()], frames);
}

#[test]
fn errors_are_reported() {
    let mut class = ClassBuilder::new(52, "T");
    class.method(access::STATIC, "m", "()V", |code| {
        let far = code.label();
        code.branch(op::GOTO, far).nops_to(32_768);
        code.bind(far).op(op::RETURN);
    });
    let far = AssembleError::BranchOutOfRange {
        from: 0,
        to: 32_768,
    };
    assert_eq!(
        class.finish(),
        Err(AssembleError::In("T.m()V".to_owned(), Box::new(far)))
    );

    let mut class = ClassBuilder::new(52, "T");
    class.method(access::STATIC, "m", "()V", |code| {
        code.nops_to(64)
            .frame_as(FrameForm::Same, &[], &[])
            .op(op::RETURN);
    });
    assert!(class.finish().is_err());
}

#[test]
fn pools_are_padded_exactly() {
    for entries in [100, 65_534] {
        let mut class = ClassBuilder::new(52, "T");
        class.pool_entries(entries);
        let bytes = class.finish().expect("the class can be assembled");
        assert_eq!(bytes[8..10], (entries + 1).to_be_bytes());
    }
}

#[test]
fn opcodes_are_in_order() {
    for (byte, &(opcode, _)) in op::ALL.iter().enumerate() {
        assert_eq!(usize::from(opcode), byte);
    }
    assert_eq!(op::ALL.len(), 202);
}
