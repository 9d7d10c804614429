//! Methods with various flags, attributes and annotations, some of which are not instrumented.

use loadhook_testclasses::assembler::{ClassBuilder, CodeBuilder, access, op};
use loadhook_testclasses::shapes::{Arg, Driver, trivial_constructor};

use super::list::{List, STATIC};

pub(super) fn add(list: &mut List) {
    unknown_attributes(list);
    finalizers(list);
    list.class(
        "native_and_abstract",
        "methods without Code",
        52,
        |class, driver| {
            class.access(access::PUBLIC | access::SUPER | access::ABSTRACT);
            driver.call("test", "(I)I", &[Arg::Int(0)]);
            class.method_without_code(access::PUBLIC | access::ABSTRACT, "open", "()V");
            class.method_without_code(STATIC | access::NATIVE, "elsewhere", "(J)D");
            class.method(STATIC, "test", "(I)I", two_returns);
        },
    );
    list.class(
        "synchronized_methods",
        "synchronized methods, static and not",
        52,
        synchronized,
    );
    list.class(
        "interface_methods",
        "interface: <clinit>, default, static, private methods",
        52,
        interface,
    );
    list.class(
        "class_initializer",
        "<clinit> with a loop at 0",
        52,
        class_initializer,
    );
    list.class("no_methods", "class without methods", 52, |_, _| {});
    annotations(list);
}

/// Adds classes with attributes that the JVM does not know.
fn unknown_attributes(list: &mut List) {
    list.test(
        "code_attribute_unknown",
        "unknown attribute inside Code, before and after the known ones",
        52,
        &[0, 3],
        |code| {
            code.attribute("Unheard", &[1, 2, 3]).line(5);
            two_returns(code);
            code.attribute("Unheard", &[]);
        },
    );
    list.class(
        "attributes_unknown",
        "unknown attributes of class and method",
        52,
        |class, driver| {
            driver.call("test", "(I)I", &[Arg::Int(0)]);
            let attributes = [("Unheard", vec![0xff; 5]), ("Deprecated", Vec::new())];
            class.method_with(STATIC, "test", "(I)I", &attributes, two_returns);
            class
                .attribute("Unheard", b"of the class")
                .attribute("Unheard", b"");
        },
    );
}

/// Adds classes with `finalize`: empty, not empty, and a method that is no finalizer.
fn finalizers(list: &mut List) {
    list.class("finalize_empty", "empty finalize", 52, |class, driver| {
        finalizer(class, driver, |_| {});
    });
    list.class(
        "finalize_super_only",
        "finalize that only calls super",
        52,
        |class, driver| {
            finalizer(class, driver, |code| {
                code.aload(0)
                    .invokespecial("java/lang/Object", "finalize", "()V");
            });
        },
    );
    list.class(
        "finalize_not_empty",
        "finalize that does something",
        52,
        |class, driver| {
            finalizer(class, driver, |code| {
                code.iconst(1).newarray(10).op(op::POP);
            });
        },
    );
    list.class(
        "finalize_other_descriptor",
        "finalize with an argument: no finalizer",
        52,
        |class, driver| {
            driver.call("finalize", "(I)V", &[Arg::Int(1)]);
            class.method(STATIC, "finalize", "(I)V", |code| {
                code.op(op::RETURN);
            });
        },
    );
}

/// Fills a class with a `<clinit>` that jumps back to its start.
fn class_initializer(class: &mut ClassBuilder, driver: &mut Driver) {
    use loadhook_testclasses::assembler::VerificationTypeInfo as V;
    driver.call("test", "()I", &[]);
    class.field(access::STATIC, "count", "I");
    class.method(access::STATIC, "<clinit>", "()V", |code| {
        let this_class = code.this_class();
        let start = code.here();
        code.limits(2, 0).frame(&[], &[] as &[V]);
        code.field(op::GETSTATIC, &this_class, "count", "I")
            .ops(&[op::ICONST_1, op::IADD]);
        code.op(op::DUP)
            .field(op::PUTSTATIC, &this_class, "count", "I");
        code.iconst(-3)
            .op(op::IADD)
            .branch(op::IFLT, start)
            .op(op::RETURN);
    });
    class.method(STATIC, "test", "()I", |code| {
        let this_class = code.this_class();
        code.limits(1, 0)
            .field(op::GETSTATIC, &this_class, "count", "I")
            .op(op::IRETURN);
    });
}

/// Adds a class with each annotation, and one with an annotation that is not visible at run time.
fn annotations(list: &mut List) {
    for (name, descriptor, construct) in ANNOTATIONS {
        list.class(name, construct, 52, |class, driver| {
            driver
                .call("test", "(I)I", &[Arg::Int(0)])
                .call("other", "(I)I", &[Arg::Int(0)]);
            let contents = annotation(class, descriptor);
            let attributes = [("RuntimeVisibleAnnotations", contents)];
            class.method_with(STATIC, "test", "(I)I", &attributes, two_returns);
            class.method(STATIC, "other", "(I)I", two_returns);
        });
    }
    list.class(
        "annotated_invisibly",
        "RuntimeInvisibleAnnotations on a method",
        52,
        |class, driver| {
            driver.call("test", "(I)I", &[Arg::Int(0)]);
            let contents = annotation(class, "Lhandmade/Marked;");
            let attributes = [("RuntimeInvisibleAnnotations", contents)];
            class.method_with(STATIC, "test", "(I)I", &attributes, two_returns);
        },
    );
}

/// Annotations as (name of the class, descriptor, description). Most of them have a meaning for the JDK; one
/// belongs to an application.
const ANNOTATIONS: [(&str, &str, &str); 7] = [
    (
        "annotated",
        "Lhandmade/Marked;",
        "RuntimeVisibleAnnotations on a method",
    ),
    (
        "intrinsic_candidate",
        "Ljdk/internal/vm/annotation/IntrinsicCandidate;",
        "@IntrinsicCandidate: compiled code skips the body",
    ),
    (
        "hotspot_intrinsic_candidate",
        "Ljdk/internal/HotSpotIntrinsicCandidate;",
        "@HotSpotIntrinsicCandidate, its name up to JDK 15",
    ),
    (
        "changes_current_thread",
        "Ljdk/internal/vm/annotation/ChangesCurrentThread;",
        "@ChangesCurrentThread",
    ),
    (
        "jvmti_mount_transition",
        "Ljdk/internal/vm/annotation/JvmtiMountTransition;",
        "@JvmtiMountTransition",
    ),
    (
        "jvmti_hide_events",
        "Ljdk/internal/vm/annotation/JvmtiHideEvents;",
        "@JvmtiHideEvents",
    ),
    ("hidden", "Ljdk/internal/vm/annotation/Hidden;", "@Hidden"),
];

/// Returns one annotation without elements (JVMS §4.7.16).
fn annotation(class: &mut ClassBuilder, descriptor: &str) -> Vec<u8> {
    let index = class.pool().utf8(descriptor).to_be_bytes();
    vec![0, 1, index[0], index[1], 0, 0]
}

fn two_returns(code: &mut CodeBuilder<'_>) {
    use loadhook_testclasses::assembler::VerificationTypeInfo as V;
    let on = code.label();
    code.limits(1, 1)
        .iload(0)
        .branch(op::IFNE, on)
        .iconst(5)
        .op(op::IRETURN);
    code.bind(on)
        .frame(&[V::Integer], &[])
        .iload(0)
        .op(op::IRETURN);
}

/// Fills a class with a `finalize` that `run()` calls directly, without garbage collection.
fn finalizer(
    class: &mut ClassBuilder,
    driver: &mut Driver,
    body: impl FnOnce(&mut CodeBuilder<'_>),
) {
    driver.call("test", "()V", &[]);
    trivial_constructor(class);
    class.method(access::PUBLIC, "finalize", "()V", |code| {
        code.limits(1, 1);
        body(code);
        code.op(op::RETURN);
    });
    class.method(STATIC, "test", "()V", |code| {
        let this_class = code.this_class();
        code.limits(2, 0)
            .typed(op::NEW, &this_class)
            .op(op::DUP)
            .init(&this_class, "()V");
        code.invokevirtual(&this_class, "finalize", "()V")
            .op(op::RETURN);
    });
}

fn synchronized(class: &mut ClassBuilder, driver: &mut Driver) {
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("create", "()I", &[]);
    trivial_constructor(class);
    class.method(STATIC | access::SYNCHRONIZED, "test", "(I)I", two_returns);
    class.method(
        access::PUBLIC | access::SYNCHRONIZED,
        "instance",
        "()I",
        |code| {
            code.limits(1, 1).iconst(4).op(op::IRETURN);
        },
    );
    class.method(STATIC, "create", "()I", |code| {
        let this_class = code.this_class();
        code.limits(2, 0)
            .typed(op::NEW, &this_class)
            .op(op::DUP)
            .init(&this_class, "()V");
        code.invokevirtual(&this_class, "instance", "()I")
            .op(op::IRETURN);
    });
}

/// Fills an interface. An interface cannot have the driver's field, so it gets a `run` of its own.
fn interface(class: &mut ClassBuilder, _: &mut Driver) {
    class.access(access::PUBLIC | access::INTERFACE | access::ABSTRACT);
    class.method_without_code(access::PUBLIC | access::ABSTRACT, "open", "()V");
    class.method(access::STATIC, "<clinit>", "()V", |code| {
        code.op(op::RETURN);
    });
    class.method(access::PUBLIC, "byDefault", "()I", |code| {
        code.limits(1, 1).iconst(4).op(op::IRETURN);
    });
    class.method(access::PRIVATE, "within", "()I", |code| {
        code.limits(1, 1).iconst(5).op(op::IRETURN);
    });
    class.method(STATIC, "run", "()Ljava/lang/Object;", |code| {
        code.limits(1, 0).ldc_string("ran").op(op::ARETURN);
    });
}
