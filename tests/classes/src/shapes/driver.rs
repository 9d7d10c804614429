//! The method `run()` of a generated class, which calls the other methods and returns their
//! results.

use crate::assembler::VerificationTypeInfo as V;
use crate::assembler::{ClassBuilder, CodeBuilder, access, op};

const BUILDER: &str = "java/lang/StringBuilder";

/// An argument of a call in [`Driver`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// An `int`, or a type that the verifier treats as `int`.
    Int(i32),
    /// A `long`.
    Long(i64),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A string; equal strings are the same object.
    Text(&'static str),
    /// `null`.
    Null,
}

#[derive(Debug, Clone)]
enum Call {
    Static {
        name: String,
        descriptor: String,
        arguments: Vec<Arg>,
    },
    New {
        descriptor: String,
        arguments: Vec<Arg>,
    },
}

/// A collector of calls. It adds the method `public static Object run()`, which makes these calls.
///
/// The result of `run()` is one string. For each call, the string has the value returned or the
/// class of the exception thrown, then the path taken. The path is a number, to which each [`mark`]
/// appends a digit. So the results of two runs are equal only if they took the same path.
///
/// `run`, `mark` and the field `path` are synthetic, so that golden files can omit them.
#[derive(Debug, Clone, Default)]
pub struct Driver {
    calls: Vec<Call>,
}

/// Appends code that adds `digit` to the path taken. It needs one operand-stack slot.
pub fn mark(code: &mut CodeBuilder<'_>, digit: i16) {
    let this_class = code.this_class();
    match digit {
        -1..=5 => code.iconst(digit.into()),
        _ => code.sipush(digit),
    };
    code.invokestatic(&this_class, "mark", "(I)V");
}

/// Adds a public constructor.
pub fn constructor(
    class: &mut ClassBuilder,
    descriptor: &str,
    build: impl FnOnce(&mut CodeBuilder<'_>),
) {
    class.method(access::PUBLIC, "<init>", descriptor, build);
}

/// Adds a constructor that only calls the constructor of the superclass.
pub fn trivial_constructor(class: &mut ClassBuilder) {
    let super_class = class.super_class().to_owned();
    constructor(class, "()V", |code| {
        code.limits(1, 1)
            .aload(0)
            .init(&super_class, "()V")
            .op(op::RETURN);
    });
}

impl Driver {
    /// Makes a driver without calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Makes `run()` call a static method of the class.
    pub fn call(&mut self, name: &str, descriptor: &str, arguments: &[Arg]) -> &mut Self {
        let (name, descriptor) = (name.to_owned(), descriptor.to_owned());
        self.calls.push(Call::Static {
            name,
            descriptor,
            arguments: arguments.to_vec(),
        });
        self
    }

    /// Makes `run()` create an instance of the class, and read its field `state`.
    /// [`Driver::add_to`] then adds this field.
    pub fn construct(&mut self, descriptor: &str, arguments: &[Arg]) -> &mut Self {
        let descriptor = descriptor.to_owned();
        self.calls.push(Call::New {
            descriptor,
            arguments: arguments.to_vec(),
        });
        self
    }

    /// Adds `run` and `mark`, and the fields that they need.
    pub fn add_to(&self, class: &mut ClassBuilder) {
        let flags = access::PUBLIC | access::STATIC | access::SYNTHETIC;
        if self
            .calls
            .iter()
            .any(|call| matches!(call, Call::New { .. }))
        {
            class.field(access::PUBLIC | access::SYNTHETIC, "state", "I");
        }
        class.field(access::STATIC | access::SYNTHETIC, "path", "I");
        class.method(flags, "mark", "(I)V", |code| {
            let this_class = code.this_class();
            code.limits(2, 1)
                .field(op::GETSTATIC, &this_class, "path", "I")
                .iconst(10);
            code.op(op::IMUL).iload(0).op(op::IADD);
            code.field(op::PUTSTATIC, &this_class, "path", "I")
                .op(op::RETURN);
        });
        class.method(flags, "run", "()Ljava/lang/Object;", |code| {
            code.limits(24, 2)
                .typed(op::NEW, BUILDER)
                .op(op::DUP)
                .init(BUILDER, "()V")
                .astore(0);
            for call in &self.calls {
                write_call(code, call);
            }
            code.aload(0)
                .invokevirtual(BUILDER, "toString", "()Ljava/lang/String;");
            code.op(op::ARETURN);
        });
    }
}

/// Appends code that makes one call, and then appends the call's result or exception, and the path
/// taken, to the text in local 0.
fn write_call(code: &mut CodeBuilder<'_>, call: &Call) {
    let this_class = code.this_class();
    let locals = [V::object(BUILDER)];
    code.iconst(0)
        .field(op::PUTSTATIC, &this_class, "path", "I");

    let start = code.here();
    code.aload(0);
    match call {
        Call::Static {
            name,
            descriptor,
            arguments,
        } => {
            push(code, arguments);
            code.invokestatic(&this_class, name, descriptor);
            append(code, descriptor.rsplit(')').next().unwrap_or("V"));
        }
        Call::New {
            descriptor,
            arguments,
        } => {
            code.typed(op::NEW, &this_class).op(op::DUP);
            push(code, arguments);
            code.init(&this_class, descriptor)
                .field(op::GETFIELD, &this_class, "state", "I");
            append(code, "I");
        }
    }
    code.op(op::POP);
    let end = code.here();
    let joined = code.label();
    code.branch(op::GOTO, joined);

    let handler = code.here();
    code.handler(start, end, handler, None);
    code.frame(&locals, &[V::object("java/lang/Throwable")])
        .astore(1);
    code.aload(0)
        .aload(1)
        .invokevirtual("java/lang/Object", "getClass", "()Ljava/lang/Class;");
    code.invokevirtual("java/lang/Class", "getName", "()Ljava/lang/String;");
    append(code, "Ljava/lang/String;");
    code.op(op::POP);

    code.bind(joined)
        .frame(&locals, &[])
        .aload(0)
        .ldc_string("/");
    append(code, "Ljava/lang/String;");
    code.field(op::GETSTATIC, &this_class, "path", "I");
    append(code, "I");
    code.ldc_string(" ");
    append(code, "Ljava/lang/String;");
    code.op(op::POP);
}

fn push(code: &mut CodeBuilder<'_>, arguments: &[Arg]) {
    for argument in arguments {
        match *argument {
            Arg::Int(value) => code.iconst(value),
            Arg::Long(value) => code.lconst(value),
            Arg::Float(value) => code.fconst(value),
            Arg::Double(value) => code.dconst(value),
            Arg::Text(text) => code.ldc_string(text),
            Arg::Null => code.op(op::ACONST_NULL),
        };
    }
}

/// Appends code that adds a value of the type `descriptor` to the string builder that is under it
/// on the stack.
fn append(code: &mut CodeBuilder<'_>, descriptor: &str) {
    let parameter = match descriptor {
        // A `void` method has pushed nothing.
        "V" => return,
        "B" | "S" => "I",
        "Ljava/lang/String;" | "I" | "J" | "F" | "D" | "Z" | "C" => descriptor,
        // Append only whether the value is null: the text of other objects may differ from run to
        // run.
        _ => {
            code.typed(op::INSTANCEOF, "java/lang/Object");
            "Z"
        }
    };
    code.invokevirtual(BUILDER, "append", &format!("({parameter})L{BUILDER};"));
}
