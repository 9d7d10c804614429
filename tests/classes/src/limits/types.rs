//! Types at long branches. A widened `if` needs a frame after it, which must have the exact types.
//! Here an instruction of each kind makes a value before a long branch. The code after the branch
//! needs the exact type, which the frame at the target does not have.

use super::branches::{Reach, TELLTALE, telltale};
use super::case::LimitCase;
use super::sources::{Bootstraps, SOURCES, Source};
use crate::assembler::{ClassBuilder, CodeBuilder, VerificationTypeInfo as V, access, op};
use crate::shapes::{Arg, Driver, SITE_STACK, mark, trivial_constructor};

const OBJECT: &str = "java/lang/Object";
const STRING: &str = "java/lang/String";
const REACH: Reach = Reach::Forward(32_767);
const FLAGS: u16 = access::PUBLIC | access::STATIC;
/// The local variable of the result. Local 0 is the argument, which decides the branch.
const RESULT: u16 = 1;

/// A function that adds the method of a special case to a class.
type Special = fn(&mut ClassBuilder);

const SPECIALS: [(&str, Special); 10] = [
    ("long_halved_by_store_to_second", |class| {
        killed(class, op::LSTORE, 4, op::ISTORE, 5)
    }),
    ("long_halved_by_store_to_first", |class| {
        killed(class, op::LSTORE, 4, op::ISTORE, 4)
    }),
    ("double_halved_by_long", |class| {
        killed(class, op::DSTORE, 4, op::LSTORE, 3)
    }),
    ("long_halved_by_reference", |class| {
        killed(class, op::LSTORE, 4, op::ASTORE, 5)
    }),
    ("double_after_long", |class| {
        killed(class, op::LSTORE, 4, op::DSTORE, 5)
    }),
    ("caught", caught),
    ("after_frame", after_frame),
    ("initialized_copies", initialized_copies),
    ("interface_from_frame", interface_from_frame),
    ("high_locals", high_locals),
];

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for source in SOURCES {
        for on_stack in [false, true] {
            for version in [50, 52, 61]
                .into_iter()
                .filter(|&v| v >= source.min_version)
                .take(2)
            {
                let place = if on_stack { "stack" } else { "local" };
                let what = format!("{}_{place}", source.name);
                cases.push(LimitCase::new(
                    "types",
                    &what,
                    version,
                    move |class, driver| {
                        build(class, driver, source, on_stack);
                    },
                ));
            }
        }
    }
    for (name, special) in SPECIALS {
        for version in [49, 52] {
            cases.push(LimitCase::new(
                "types",
                name,
                version,
                move |class, driver| {
                    driver.call("test", "(I)I", &[Arg::Int(0)]).call(
                        "test",
                        "(I)I",
                        &[Arg::Int(1)],
                    );
                    special(class);
                },
            ));
        }
    }
    cases
}

/// Adds `static int take(T)`. A call of it verifies only if the argument has the type `T`.
fn add_take(class: &mut ClassBuilder, descriptor: &str) {
    let slots = if matches!(descriptor, "J" | "D") {
        2
    } else {
        1
    };
    class.method(
        access::STATIC,
        "take",
        &format!("({descriptor})I"),
        |code| {
            code.limits(1, slots)
                .iconst(descriptor.len() as i32)
                .op(op::IRETURN);
        },
    );
}

/// Pops a value, which must have exactly this type to verify.
fn take(code: &mut CodeBuilder<'_>, descriptor: &str) {
    let this_class = code.this_class();
    code.invokestatic(&this_class, "take", &format!("({descriptor})I"))
        .istore(RESULT);
}

/// Returns the opcode of the load instruction for a type. The opcode of the store is greater by
/// [`op::ISTORE`] - [`op::ILOAD`].
fn load_of(descriptor: &str) -> u8 {
    match descriptor.as_bytes()[0] {
        b'J' => op::LLOAD,
        b'F' => op::FLOAD,
        b'D' => op::DLOAD,
        b'L' | b'[' => op::ALOAD,
        _ => op::ILOAD,
    }
}

/// Returns the type after two paths have joined: every reference is an `Object`.
fn loose(descriptor: &str) -> V {
    match load_of(descriptor) {
        op::LLOAD => V::Long,
        op::FLOAD => V::Float,
        op::DLOAD => V::Double,
        op::ALOAD => V::object(OBJECT),
        _ => V::Integer,
    }
}

fn slots(descriptor: &str) -> u16 {
    if matches!(descriptor, "J" | "D") {
        2
    } else {
        1
    }
}

fn build(class: &mut ClassBuilder, driver: &mut Driver, source: &Source, on_stack: bool) {
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("test", "(I)I", &[Arg::Int(1)]);
    trivial_constructor(class);
    class
        .field(access::STATIC, "text", "Ljava/lang/String;")
        .field(0, "longs", "[[J");
    class
        .field(access::STATIC, "truth", "Z")
        .field(access::STATIC, "wide", "D");
    let mut left = source.leaves.to_vec();
    left.sort_unstable();
    left.dedup();
    for descriptor in left {
        add_take(class, descriptor);
    }
    let bootstraps = Bootstraps::add_to(class, source.min_version);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(12 + SITE_STACK, 24).iconst(0).istore(RESULT);
        (source.push)(code, bootstraps);
        if on_stack {
            across_on_stack(code, source, bootstraps);
        } else {
            across_in_locals(code, source);
        }
    });
}

fn across_in_locals(code: &mut CodeBuilder<'_>, source: &Source) {
    let mut local = 2;
    let mut places = Vec::new();
    for &descriptor in source.leaves.iter().rev() {
        code.local(load_of(descriptor) + (op::ISTORE - op::ILOAD), local);
        places.push((descriptor, local));
        local += slots(descriptor);
    }
    branch_and_return(code, |code| {
        for (descriptor, local) in places {
            code.local(load_of(descriptor), local);
            take(code, descriptor);
        }
    });
}

fn across_on_stack(code: &mut CodeBuilder<'_>, source: &Source, bootstraps: Bootstraps) {
    let target = code.label();
    code.iload(0);
    let start = code.pc();
    code.branch(op::IFEQ, target);
    for descriptor in source.leaves.iter().rev() {
        take(code, descriptor);
    }
    (source.push)(code, bootstraps);
    mark(code, 1);
    REACH.filler(code, start, TELLTALE).emit(code);
    telltale(code, RESULT);
    let stack: Vec<_> = source
        .leaves
        .iter()
        .map(|descriptor| loose(descriptor))
        .collect();
    code.bind(target).frame(&[V::Integer, V::Integer], &stack);
    for descriptor in source.leaves.iter().rev() {
        code.op(if slots(descriptor) == 2 {
            op::POP2
        } else {
            op::POP
        });
    }
    mark(code, 2);
    code.iload(RESULT).op(op::IRETURN);
}

/// Appends the long branch. The code `fall_through` may use all types; the code at the target may
/// use only the argument and the result.
fn branch_and_return(code: &mut CodeBuilder<'_>, fall_through: impl FnOnce(&mut CodeBuilder<'_>)) {
    let target = code.label();
    code.iload(0);
    let start = code.pc();
    code.branch(op::IFEQ, target);
    fall_through(code);
    mark(code, 1);
    REACH.filler(code, start, TELLTALE).emit(code);
    telltale(code, RESULT);
    code.bind(target).frame(&[V::Integer, V::Integer], &[]);
    mark(code, 2);
    code.iload(RESULT).op(op::IRETURN);
}

/// Adds a method that stores over one half of a wide local. This makes the other half unusable
/// (JVMS §4.10.1.7, `storeIsTypeSafe`).
fn killed(class: &mut ClassBuilder, wide: u8, at: u16, store: u8, over: u16) {
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(2 + SITE_STACK, 8).iconst(0).istore(RESULT);
        code.op(if wide == op::LSTORE {
            op::LCONST_1
        } else {
            op::DCONST_1
        })
        .local(wide, at);
        match store {
            op::ISTORE => code.iconst(4),
            op::LSTORE => code.op(op::LCONST_1),
            op::DSTORE => code.op(op::DCONST_1),
            _ => code.ldc_string("text"),
        };
        code.local(store, over);
        branch_and_return(code, |code| {
            match store {
                op::ISTORE => code.iload(over),
                op::LSTORE => code.local(op::LLOAD, over).op(op::L2I),
                op::DSTORE => code.local(op::DLOAD, over).op(op::D2I),
                _ => code.aload(over).invokevirtual(STRING, "length", "()I"),
            };
            code.istore(RESULT);
        });
    });
}

/// Adds a method in which the type is known only from a handler's frame.
fn caught(class: &mut ClassBuilder) {
    const NUMBER_FORMAT: &str = "java/lang/NumberFormatException";
    let descriptor = "Ljava/lang/NumberFormatException;";
    add_take(class, descriptor);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(2 + SITE_STACK, 3).iconst(0).istore(RESULT);
        let start = code.here();
        code.ldc_string("x")
            .invokestatic("java/lang/Integer", "parseInt", "(Ljava/lang/String;)I");
        let end = code.here();
        code.op(op::IRETURN);
        let handler = code.here();
        code.handler(start, end, handler, Some(NUMBER_FORMAT));
        code.frame(&[V::Integer, V::Integer], &[V::object(NUMBER_FORMAT)])
            .astore(2);
        branch_and_return(code, |code| {
            code.aload(2);
            take(code, descriptor);
        });
    });
}

/// Adds a method in which the types are known only from a chain of frames of several forms.
fn after_frame(class: &mut ClassBuilder) {
    add_take(class, "[Ljava/lang/String;");
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(2 + SITE_STACK, 6).iconst(0).istore(RESULT);
        code.iconst(2).typed(op::ANEWARRAY, STRING).astore(2);
        code.op(op::LCONST_1).local(op::LSTORE, 3);
        let strings = V::object("[Ljava/lang/String;");
        let mut locals = vec![V::Integer, V::Integer, strings, V::Long];
        for step in 0..3 {
            let next = code.label();
            code.iload(0).branch(op::IFEQ, next).iinc(RESULT, 1);
            if step == 1 {
                // From here on the long is not used: a chop frame removes it.
                locals.pop();
            }
            code.bind(next).frame(&locals, &[]);
        }
        code.ldc_string("text").astore(5);
        branch_and_return(code, |code| {
            code.aload(5)
                .invokevirtual(STRING, "length", "()I")
                .istore(RESULT);
            code.aload(2);
            take(code, "[Ljava/lang/String;");
        });
    });
}

/// Adds a method in which a call of `<init>` changes the type of all copies of an object to
/// initialised.
fn initialized_copies(class: &mut ClassBuilder) {
    const BUILDER: &str = "java/lang/StringBuilder";
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(4 + SITE_STACK, 4).iconst(0).istore(RESULT);
        code.typed(op::NEW, BUILDER)
            .op(op::DUP)
            .astore(3)
            .op(op::DUP)
            .astore(2);
        code.init(BUILDER, "()V");
        branch_and_return(code, |code| {
            for local in [2, 3] {
                code.aload(local)
                    .invokevirtual(BUILDER, "length", "()I")
                    .istore(RESULT);
            }
        });
    });
}

/// Adds a method with a frame that declares an interface type for a local variable of a class type.
fn interface_from_frame(class: &mut ClassBuilder) {
    const SEQUENCE: &str = "java/lang/CharSequence";
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(2 + SITE_STACK, 3)
            .iconst(0)
            .istore(RESULT)
            .ldc_string("abc")
            .astore(2);
        let next = code.label();
        code.iload(0).branch(op::IFEQ, next);
        code.typed(op::NEW, "java/lang/StringBuilder").op(op::DUP);
        code.init("java/lang/StringBuilder", "()V").astore(2);
        code.bind(next)
            .frame(&[V::Integer, V::Integer, V::object(SEQUENCE)], &[]);
        branch_and_return(code, |code| {
            code.aload(2)
                .invokeinterface(SEQUENCE, "length", "()I")
                .istore(RESULT);
        });
    });
}

/// Adds a method with locals beyond 255, and a gap before them.
fn high_locals(class: &mut ClassBuilder) {
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(2 + SITE_STACK, 304).iconst(0).istore(RESULT);
        code.ldc_string("abcd")
            .astore(300)
            .op(op::LCONST_1)
            .local(op::LSTORE, 301);
        branch_and_return(code, |code| {
            code.aload(300)
                .invokevirtual(STRING, "length", "()I")
                .istore(RESULT);
            code.local(op::LLOAD, 301)
                .op(op::L2I)
                .iload(RESULT)
                .op(op::IADD)
                .istore(RESULT);
        });
    });
}
