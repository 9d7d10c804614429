//! Type annotations inside `Code`: each `target_type` that is allowed there (JVMS table 4.7.20-C).

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{
    CodeBuilder, Label, TypeAnnotation, TypePathStep, TypeTarget, op,
};
use loadhook_testclasses::shapes::mark;

use super::list::List;

const OBJECT: &str = "java/lang/Object";

/// The offsets in the method `test` to which type annotations refer. The method is the same in all these classes.
struct Places {
    start: Label,
    /// An `instanceof`.
    instanceof: Label,
    /// A return in the middle.
    early_return: Label,
    /// A `new`.
    new: Label,
    /// The call of the new object's constructor.
    init: Label,
    /// A `checkcast`.
    cast: Label,
    /// A method call.
    call: Label,
    /// The code's end.
    end: Label,
}

/// A function that makes the target of a type annotation from the offsets in the method.
type Target = fn(&Places) -> TypeTarget;

const TARGETS: [(&str, &str, Target); 14] = [
    ("local_variable", "localvar_target, 0x40", |at| {
        TypeTarget::LocalVariable(vec![(at.new, at.end, 1)])
    }),
    (
        "local_variable_ranges",
        "localvar_target of several ranges, some empty",
        |at| {
            let ranges = [
                (at.start, at.early_return, 2),
                (at.early_return, at.early_return, 2),
                (at.early_return, at.new, 2),
                (at.start, at.end, 3),
            ];
            TypeTarget::LocalVariable(ranges.to_vec())
        },
    ),
    (
        "local_variable_nowhere",
        "localvar_target without ranges",
        |_| TypeTarget::LocalVariable(Vec::new()),
    ),
    ("resource_variable", "localvar_target, 0x41", |at| {
        TypeTarget::ResourceVariable(vec![(at.new, at.call, 1), (at.call, at.end, 1)])
    }),
    ("exception_parameter", "catch_target, 0x42", |_| {
        TypeTarget::ExceptionParameter(0)
    }),
    ("instanceof", "offset_target, 0x43", |at| {
        TypeTarget::Instanceof(at.instanceof)
    }),
    ("new", "offset_target, 0x44", |at| TypeTarget::New(at.new)),
    ("constructor_reference", "offset_target, 0x45", |at| {
        TypeTarget::ConstructorReference(at.call)
    }),
    ("method_reference", "offset_target, 0x46", |at| {
        TypeTarget::MethodReference(at.call)
    }),
    ("cast", "type_argument_target, 0x47", |at| {
        TypeTarget::Cast(at.cast, 1)
    }),
    (
        "constructor_type_argument",
        "type_argument_target, 0x48",
        |at| TypeTarget::ConstructorInvocationTypeArgument(at.init, 0),
    ),
    ("method_type_argument", "type_argument_target, 0x49", |at| {
        TypeTarget::MethodInvocationTypeArgument(at.call, 2)
    }),
    (
        "constructor_reference_type_argument",
        "type_argument_target, 0x4A",
        |at| TypeTarget::ConstructorReferenceTypeArgument(at.call, 0),
    ),
    (
        "method_reference_type_argument",
        "type_argument_target, 0x4B",
        |at| TypeTarget::MethodReferenceTypeArgument(at.call, 255),
    ),
];

pub(super) fn add(list: &mut List) {
    for (name, construct, target) in TARGETS {
        let name = format!("type_annotation_{name}");
        list.test(&name, construct, 52, &[0, 3], |code| {
            let places = body(code);
            let path = vec![TypePathStep::Array, TypePathStep::Argument(3)];
            let long = annotation(target(&places), path, &[("value", 7), ("other", -1)]);
            let short = annotation(target(&places), Vec::new(), &[]);
            code.type_annotations(true, vec![long])
                .type_annotations(false, vec![short]);
        });
    }
    list.test(
        "type_annotation_all",
        "all targets in one attribute, and an attribute without any",
        52,
        &[0, 3],
        |code| {
            let places = body(code);
            let path = [TypePathStep::Nested, TypePathStep::Wildcard];
            let all = TARGETS
                .map(|(_, _, target)| annotation(target(&places), path.to_vec(), &[("value", 1)]));
            code.type_annotations(true, all.to_vec())
                .type_annotations(false, Vec::new());
        },
    );
    list.test(
        "type_annotation_split",
        "exception parameters whose entries are split",
        52,
        &[0, 3],
        split,
    );
}

/// Appends code with three handlers. Probes split the entries of the first two, so the indexes in
/// the annotations must change.
fn split(code: &mut CodeBuilder<'_>) {
    let exception = [V::object("java/lang/Exception")];
    let start = code.here();
    code.iconst(8).iload(0).ops(&[op::IDIV, op::IRETURN]);
    let handler = code.here();
    code.frame(&[V::Integer], &exception).op(op::POP);
    mark(code, 1);
    let end = code.here();
    code.iconst(-1).op(op::IRETURN);
    let last = code.here();
    code.frame(&[V::Integer], &exception).op(op::POP);
    code.iconst(-2).op(op::IRETURN);
    for (handler, class) in [
        (handler, "java/lang/ArithmeticException"),
        (handler, "java/lang/IllegalStateException"),
        (last, "java/lang/Exception"),
    ] {
        code.handler(start, end, handler, Some(class));
    }
    let annotations = (0..3)
        .map(|entry| annotation(TypeTarget::ExceptionParameter(entry), Vec::new(), &[]))
        .collect();
    code.type_annotations(true, annotations);
}

fn annotation(
    target: TypeTarget,
    path: Vec<TypePathStep>,
    elements: &[(&str, i32)],
) -> TypeAnnotation {
    let elements = elements
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    TypeAnnotation {
        target,
        path,
        descriptor: "Lhandmade/Marked;".to_owned(),
        elements,
    }
}

fn body(code: &mut CodeBuilder<'_>) -> Places {
    let start = code.here();
    let on = code.label();
    code.iload(0).branch(op::IFNE, on).ldc_string("text");
    let instanceof = code.here();
    code.typed(op::INSTANCEOF, "java/lang/String");
    let early_return = code.here();
    code.op(op::IRETURN).bind(on).frame(&[V::Integer], &[]);
    mark(code, 1);
    let guarded = code.here();
    let new = code.here();
    code.typed(op::NEW, OBJECT).op(op::DUP);
    let init = code.here();
    code.init(OBJECT, "()V");
    let cast = code.here();
    code.typed(op::CHECKCAST, OBJECT);
    let call = code.here();
    code.invokevirtual(OBJECT, "getClass", "()Ljava/lang/Class;")
        .op(op::POP);
    let guarded_end = code.here();
    code.iload(0).op(op::IRETURN);
    let handler = code.here();
    code.handler(guarded, guarded_end, handler, Some("java/lang/Exception"));
    code.frame(&[V::Integer], &[V::object("java/lang/Exception")])
        .op(op::POP);
    code.iconst(-1).op(op::IRETURN);
    let end = code.here();
    Places {
        start,
        instanceof,
        early_return,
        new,
        init,
        cast,
        call,
        end,
    }
}
