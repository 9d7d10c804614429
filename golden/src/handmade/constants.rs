//! Constants and the constant pool: every kind of entry, `ldc` at the border of
//! one-byte indexes, dynamic constants and calls, pools with little room.

use loadhook_testclasses::assembler::{ClassBuilder, MAX_ENTRIES, ReferenceKind, op};
use loadhook_testclasses::shapes::{Arg, Driver};

use super::list::{List, STATIC};

const STRING: &str = "Ljava/lang/String;";
const LOOKUP: &str = "Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;";

pub(super) fn add(list: &mut List) {
    for index in [254, 255, 256, 257] {
        list.large(
            &format!("ldc_{index}"),
            "ldc and ldc_w at the border of one-byte indexes",
            52,
            |class, driver| {
                driver.call("test", "()I", &[]);
                class.pool().pad_to(index - 1);
                let constant = class.pool().integer(1_234_567);
                class.method(STATIC, "test", "()I", |code| {
                    assert_eq!(
                        constant, index,
                        "the padding should fill the pool up to this index"
                    );
                    code.limits(2, 0).ldc(constant).ldc_w(constant).op(op::ISUB);
                    code.op(op::IRETURN);
                });
            },
        );
    }
    list.class(
        "ldc_all_kinds",
        "ldc, ldc_w and ldc2_w of each kind of constant",
        61,
        all_kinds,
    );
    list.class(
        "utf8_odd",
        "names and strings with odd modified UTF-8",
        52,
        odd_utf8,
    );
    list.class(
        "condy",
        "ldc of CONSTANT_Dynamic, also of a long",
        55,
        condy,
    );
    list.class("invokedynamic", "invokedynamic", 51, indy);
    for free in 0..=20 {
        list.large(
            &format!("pool_free_{free:02}"),
            "constant pool with this many free entries",
            52,
            |class, driver| {
                class.pool_entries(MAX_ENTRIES - free);
                driver.call("test", "(I)I", &[Arg::Int(3)]);
                class.method(STATIC, "test", "(I)I", |code| {
                    code.limits(1, 1)
                        .iload(0)
                        .newarray(10)
                        .op(op::ARRAYLENGTH)
                        .op(op::IRETURN);
                });
            },
        );
    }
}

fn all_kinds(class: &mut ClassBuilder, driver: &mut Driver) {
    driver.call("test", "()V", &[]);
    class.method(STATIC, "test", "()V", |code| {
        let pool = code.pool();
        let member = pool.method("java/lang/System", "nanoTime", "()J");
        let constants = [
            pool.integer(i32::MIN),
            pool.float(f32::NAN),
            pool.string("text"),
            pool.class("[[I"),
            pool.method_type("(IJ)V"),
            pool.method_handle(ReferenceKind::InvokeStatic, member),
        ];
        let wide = [pool.long(i64::MIN), pool.double(-0.0)];
        code.limits(2, 0);
        for constant in constants {
            code.ldc(constant).op(op::POP).ldc_w(constant).op(op::POP);
        }
        for constant in wide {
            code.ldc2_w(constant).op(op::POP2);
        }
        code.op(op::RETURN);
    });
}

/// Adds names with zero as two bytes, a surrogate pair as two times three bytes, and a lone
/// surrogate.
fn odd_utf8(class: &mut ClassBuilder, driver: &mut Driver) {
    let name = "na\u{ef}ve\u{1f600}";
    driver.call(name, "()I", &[]);
    class.method(STATIC, name, "()I", |code| {
        // A lone surrogate, which no `&str` can hold; nothing refers to it.
        let lone = code.pool().utf8_bytes(&[0xed, 0xa0, 0x80]);
        code.limits(1, 0).ldc_string("nul\0\u{1f600}\u{7ff}\u{800}");
        code.invokevirtual("java/lang/String", "length", "()I")
            .op(op::IRETURN);
        assert_ne!(lone, 0, "the pool has no room for this constant");
    });
}

fn condy(class: &mut ClassBuilder, driver: &mut Driver) {
    driver.call("test", "()I", &[]);
    let owner = "java/lang/invoke/ConstantBootstraps";
    let arguments = "Ljava/lang/Class;Ljava/lang/invoke/MethodHandle;[Ljava/lang/Object;";
    let pool = class.pool();
    let member = pool.method(
        owner,
        "invoke",
        &format!("({LOOKUP}{arguments})Ljava/lang/Object;"),
    );
    let invoke = pool.method_handle(ReferenceKind::InvokeStatic, member);
    let member = pool.method("java/lang/Integer", "toString", &format!("(I){STRING}"));
    let to_string = pool.method_handle(ReferenceKind::InvokeStatic, member);
    let member = pool.method("java/lang/Long", "parseLong", &format!("({STRING})J"));
    let parse = pool.method_handle(ReferenceKind::InvokeStatic, member);
    let (number, text) = (pool.integer(12_345), pool.string("678"));
    let string = class.bootstrap_method(invoke, &[to_string, number]);
    let long = class.bootstrap_method(invoke, &[parse, text]);
    class.method(STATIC, "test", "()I", |code| {
        let (string, long) = (
            code.pool().dynamic(string, "text", STRING),
            code.pool().dynamic(long, "number", "J"),
        );
        code.limits(3, 0)
            .ldc(string)
            .invokevirtual("java/lang/String", "length", "()I");
        code.ldc_w(string).op(op::POP);
        code.ldc2_w(long).ops(&[op::L2I, op::IADD]).op(op::IRETURN);
    });
}

fn indy(class: &mut ClassBuilder, driver: &mut Driver) {
    driver.call("test", "(I)Ljava/lang/String;", &[Arg::Int(7)]);
    let owner = "java/lang/invoke/StringConcatFactory";
    let site = "Ljava/lang/invoke/CallSite;";
    let descriptor = format!("({LOOKUP}Ljava/lang/invoke/MethodType;){site}");
    let member = class.pool().method(owner, "makeConcat", &descriptor);
    let handle = class
        .pool()
        .method_handle(ReferenceKind::InvokeStatic, member);
    let concat = class.bootstrap_method(handle, &[]);
    class.method(STATIC, "test", "(I)Ljava/lang/String;", |code| {
        code.limits(2, 1).iload(0).ldc_string(" times");
        code.invokedynamic(concat, "concat", "(ILjava/lang/String;)Ljava/lang/String;");
        code.op(op::ARETURN);
    });
}
