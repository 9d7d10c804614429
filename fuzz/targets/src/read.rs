//! Target `read`: reading never panics, and the positions of errors are inside the input.

use std::hint::black_box;

use loadhook_rewrite::class::{Attribute, Attributes, ClassFile, Member};
use loadhook_rewrite::code::frames::{FrameFormat, Frames};
use loadhook_rewrite::code::{Code, line_table, local_table, type_annotations};
use loadhook_rewrite::{CpIndex, Error, Structure};

/// Reads every part of the class file in `data`. Returns whether `data` is a class file.
///
/// # Panics
/// When the position of an error is outside the input, or reading itself panics.
pub fn read(data: &[u8]) -> bool {
    let class = match ClassFile::parse(data) {
        Ok(class) => class,
        Err(error) => {
            place(&error, data);
            return false;
        }
    };
    black_box((class.name(), class.super_name(), class.access_flags()));
    black_box((class.major_version(), class.minor_version()));
    black_box(class.interfaces().count());
    pool(&class);
    attributes(&class, class.attributes());
    black_box(class.annotation_types().count());
    for field in class.fields() {
        member(&class, &field);
    }
    for method in class.methods() {
        member(&class, &method);
        black_box(method.is_trivial(8));
        match method.code() {
            Ok(Some(code)) => read_code(&class, &code),
            Ok(None) => assert!(
                !method.has_code(),
                "a method with code has no Code attribute"
            ),
            Err(error) => place(&error, data),
        }
    }
    true
}

/// Checks that an error has a position, and that it is inside the class.
fn place(error: &Error, data: &[u8]) {
    assert!(
        error.offset() <= data.len(),
        "the position of {error} is outside of the class, which has {} bytes",
        data.len()
    );
    black_box(error.to_string());
}

fn pool(class: &ClassFile<'_>) {
    let pool = class.pool();
    let data = class.bytes();
    assert!(
        pool.end() <= data.len(),
        "the pool ends behind the end of the class"
    );
    let count = pool.count();
    for index in (0..=count).chain([u16::MAX]).map(CpIndex) {
        let constant = pool.get(index);
        let usable = !index.is_none() && index.0 < count;
        assert!(
            usable || constant.is_err(),
            "constant #{index} was read, but the pool has only {count} entries"
        );
        let errors = [
            constant.err(),
            pool.utf8(index).err(),
            pool.class_name(index).err(),
            pool.name_and_type(index).err(),
            pool.member(index).err(),
        ];
        for error in errors.iter().flatten() {
            place(error, data);
        }
    }
}

fn member(class: &ClassFile<'_>, member: &Member<'_, '_>) {
    black_box((member.name(), member.descriptor(), member.access_flags()));
    attributes(class, member.attributes());
    black_box(member.annotation_types().count());
}

fn attributes<'a>(class: &ClassFile<'a>, attributes: Attributes<'a>) {
    let count = attributes.count_left();
    let mut seen = 0;
    for attribute in attributes {
        match attribute {
            Ok(attribute) => black_box(class.pool().utf8(attribute.name_index).is_ok()),
            Err(error) => {
                panic!("reading a part failed ({error}), although the class was accepted")
            }
        };
        seen += 1;
    }
    assert_eq!(
        seen, count,
        "the number of attributes is not the stated one"
    );
}

fn read_code(class: &ClassFile<'_>, code: &Code<'_>) {
    assert!(!code.is_empty() && usize::from(code.len()) == code.bytecode.len());
    black_box((code.max_stack, code.max_locals));
    black_box(code.exception_table().count());
    let mut covered = 0;
    let mut whole = true;
    for instruction in code.instructions() {
        let Ok(instruction) = instruction else {
            whole = false;
            break;
        };
        assert_eq!(
            instruction.bci.index(),
            covered,
            "there is a gap between two instructions"
        );
        covered += instruction.bytes.len();
        black_box((
            instruction.opcode.mnemonic(),
            instruction.acting_opcode(),
            instruction.local(),
            instruction.constant(),
            instruction.jump_target(),
            instruction.u1(1),
            instruction.u2(1),
        ));
        if let Some(switch) = instruction.switch() {
            black_box((switch.default, switch.cases().count()));
        }
    }
    assert!(!whole || covered == code.bytecode.len(), "{covered}");
    for attribute in code.attributes() {
        match attribute {
            Ok(attribute) => table(class, &attribute),
            Err(error) => place(&error, class.bytes()),
        }
    }
}

fn table(class: &ClassFile<'_>, attribute: &Attribute<'_>) {
    let reader = || attribute.reader(Structure::Named("table"));
    // Call every reader on each attribute, whatever the attribute's name is: no reader may panic on
    // any bytes.
    let errors = [
        line_table::entries(reader()).map(Iterator::count).err(),
        local_table::entries(reader()).map(Iterator::count).err(),
        type_annotations::entries(reader()).map(|it| it.len()).err(),
        frames(class, attribute, FrameFormat::StackMapTable).err(),
        frames(class, attribute, FrameFormat::StackMap).err(),
    ];
    for error in errors.iter().flatten() {
        place(error, class.bytes());
    }
}

fn frames(
    class: &ClassFile<'_>,
    attribute: &Attribute<'_>,
    format: FrameFormat,
) -> Result<usize, Error> {
    let reader = attribute.reader(Structure::Named("frames"));
    let mut count = 0;
    for frame in Frames::new(class.pool(), reader, format)? {
        black_box(frame?.bci);
        count += 1;
    }
    Ok(count)
}
