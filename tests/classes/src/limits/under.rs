//! Long branches with values on the operand stack, among them uninitialised objects, and long
//! branches over returns or handlers.

use super::branches::{Reach, TELLTALE, telltale};
use super::case::LimitCase;
use super::operands::Condition;
use super::scenery::Scenery;
use crate::assembler::{ClassBuilder, CodeBuilder, Label, VerificationTypeInfo as V, access, op};
use crate::shapes::{Driver, SITE_STACK, mark};

const BUILDER: &str = "java/lang/StringBuilder";
const OBJECT: &str = "java/lang/Object";

/// The values on the stack or in locals when the long branch is reached, or the code between the
/// branch and its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Under {
    /// A `String`, a `long` and an `int[]` are on the stack under the operands. The frame at the
    /// target has less exact types.
    Values,
    /// An object made by `new`, and its copy, are under the operands.
    New,
    /// An object made by `new` is in a local and on the stack.
    NewLocal,
    /// Two objects of the same class, made by two `new`, are under the operands.
    TwoNew,
    /// A constructor's uninitialised `this` is in local 0 only.
    This,
    /// A constructor's uninitialised `this` is in local 0 and under the operands.
    ThisBelow,
    /// The stack is empty, but returns are between branch and target.
    Returns,
    /// The stack is empty, but handlers are between branch and target.
    Handlers,
}

const ALL: [(Under, &str); 8] = [
    (Under::Values, "values"),
    (Under::New, "new"),
    (Under::NewLocal, "new_local"),
    (Under::TwoNew, "two_new"),
    (Under::This, "this"),
    (Under::ThisBelow, "this_below"),
    (Under::Returns, "returns"),
    (Under::Handlers, "handlers"),
];

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    let reaches = [32_700, 32_760, 32_767].into_iter();
    let reaches = reaches.flat_map(|d| [Reach::Forward(d), Reach::Backward(d)]);
    for reach in reaches {
        for (under, name) in ALL {
            for opcode in [op::IFEQ, op::IF_ICMPLT, op::IF_ACMPNE, op::IFNULL] {
                for version in [49, 50, 52] {
                    let what = format!("{name}_{}_{}", op::mnemonic(opcode), reach.name());
                    cases.push(LimitCase::new(
                        "under",
                        &what,
                        version,
                        move |class, driver| {
                            build(class, driver, opcode, reach, under);
                        },
                    ));
                }
            }
        }
    }
    cases
}

fn build(class: &mut ClassBuilder, driver: &mut Driver, opcode: u8, reach: Reach, under: Under) {
    let condition = Condition::of(opcode);
    let arguments = condition.descriptor().repeat(4);
    let calls = [condition.jumps, condition.stays];
    let calls = calls.map(|first| [first, condition.stays].concat());
    Scenery::add_to(class);
    let constructor = matches!(under, Under::This | Under::ThisBelow);
    let (flags, name, descriptor) = match constructor {
        true => (access::PUBLIC, "<init>", format!("({arguments})V")),
        false => (
            access::PUBLIC | access::STATIC,
            "test",
            format!("({arguments})I"),
        ),
    };
    for arguments in &calls {
        match constructor {
            true => driver.construct(&descriptor, arguments),
            false => driver.call(name, &descriptor, arguments),
        };
    }
    let base = u16::from(constructor);
    class.method(flags, name, &descriptor, |code| {
        // The limits allow for the scenery, and for one more local that states such as `New` need.
        code.limits(
            8 + Scenery::STACK + SITE_STACK,
            base + 4 + Scenery::SLOTS + 1,
        );
        let test = Test {
            condition,
            reach,
            under,
            base,
            scenery: Scenery::at(base + 4),
        };
        match reach {
            Reach::Forward(_) => test.forward(code),
            Reach::Backward(_) => test.backward(code),
        }
        test.finish(code);
    });
}

/// One method of one class.
struct Test {
    condition: Condition,
    reach: Reach,
    under: Under,
    /// Index of the local that holds the first argument.
    base: u16,
    scenery: Scenery,
}

/// The types of the stack under the operands, before and after two paths join.
struct Held {
    /// The exact types on the stack.
    exact: Vec<V>,
    /// The types after two paths have joined.
    loose: Vec<V>,
    /// The type of the extra local.
    local: V,
}

impl Test {
    fn extra_local(&self) -> u16 {
        self.base + 4 + Scenery::SLOTS
    }

    fn forward(&self, code: &mut CodeBuilder<'_>) {
        let target = code.label();
        self.scenery.fill(code);
        let held = self.push_held(code);
        let loose = self.locals(code, &self.scenery.loose_types(), &held);
        let exact = self.locals(code, &self.scenery.types(), &held);
        self.condition.push(code, self.base);
        let start = code.pc();
        code.branch(self.condition.opcode, target);
        self.look_at_held(code);
        self.scenery.make_use(code);
        mark(code, 1);
        self.between(code, start, TELLTALE, &exact, &held);
        telltale(code, self.scenery.result());
        code.bind(target).frame(&loose, &held.loose);
        mark(code, 2);
    }

    fn backward(&self, code: &mut CodeBuilder<'_>) {
        let held = self.push_held(code);
        let start = code.pc();
        let target = code.here();
        let mut before = code.initial_locals();
        if held.local != V::Top {
            before.resize(usize::from(self.extra_local()), V::Top);
            before.push(held.local.clone());
        }
        code.frame(&before, &held.loose);
        mark(code, 2);
        if self.under == Under::Values {
            code.ops(&[op::POP, op::POP2, op::POP]);
            self.push_held(code);
        }
        self.scenery.fill(code);
        let exact = self.locals(code, &self.scenery.types(), &held);
        // The length of the loads and stores: those of locals 0–3 (1–4 in a constructor) have one
        // byte, others two.
        let operands = usize::from(self.condition.count);
        let rest = operands + if self.base == 0 { 4 } else { 5 };
        self.between(code, start, rest, &exact, &held);
        self.condition.push(code, self.base);
        self.condition.copy(code, self.base + 2, self.base);
        code.branch(self.condition.opcode, target);
        self.look_at_held(code);
        self.scenery.make_use(code);
        mark(code, 3);
    }

    /// Appends the filler between the branch and its target.
    fn between(
        &self,
        code: &mut CodeBuilder<'_>,
        start: usize,
        rest: usize,
        locals: &[V],
        held: &Held,
    ) {
        let pieces = matches!(self.under, Under::Returns | Under::Handlers);
        for _ in 0..if pieces { self.reach.sites() } else { 0 } {
            let next = code.label();
            let start = code.here();
            code.iload(self.scenery.result()).branch(op::IFGE, next);
            if self.under == Under::Returns {
                code.iload(self.scenery.result()).op(op::IRETURN);
            } else {
                let end = code.here();
                code.branch(op::GOTO, next);
                let handler = code.here();
                code.handler(start, end, handler, None);
                code.frame(locals, &[V::object("java/lang/Throwable")])
                    .op(op::POP);
            }
            code.bind(next).frame(locals, &held.exact);
            let apart = code.pc() + 90;
            code.nops_to(apart);
        }
        let mut filler = self.reach.filler(code, start, rest);
        if pieces {
            filler.sites = 0;
        }
        filler.emit(code);
    }

    /// Returns the types of the locals in a frame: arguments, scenery and the extra local.
    fn locals(&self, code: &CodeBuilder<'_>, scenery: &[V], held: &Held) -> Vec<V> {
        let mut locals = [code.initial_locals(), scenery.to_vec()].concat();
        if held.local != V::Top {
            let two = |item: &&V| matches!(item, V::Long | V::Double);
            let wide = locals.iter().filter(two).count();
            locals.resize(usize::from(self.extra_local()) - wide, V::Top);
            locals.push(held.local.clone());
        }
        locals
    }

    /// Pushes the values under the operands. Returns their types.
    fn push_held(&self, code: &mut CodeBuilder<'_>) -> Held {
        let fresh = |at: Label| V::Uninitialized(at);
        let mut local = V::Top;
        let (exact, loose) = match self.under {
            Under::Values => {
                code.ldc_string("under")
                    .op(op::LCONST_1)
                    .iconst(2)
                    .newarray(10);
                let exact = vec![V::object("java/lang/String"), V::Long, V::object("[I")];
                (exact, vec![V::object(OBJECT), V::Long, V::object(OBJECT)])
            }
            Under::New => {
                let new = code.here();
                code.typed(op::NEW, BUILDER).op(op::DUP);
                (vec![fresh(new); 2], vec![fresh(new); 2])
            }
            Under::NewLocal => {
                let new = code.here();
                code.typed(op::NEW, BUILDER)
                    .op(op::DUP)
                    .astore(self.extra_local());
                local = fresh(new);
                (vec![fresh(new)], vec![fresh(new)])
            }
            Under::TwoNew => {
                let first = code.here();
                code.typed(op::NEW, BUILDER);
                let second = code.here();
                code.typed(op::NEW, BUILDER).op(op::DUP);
                let held = vec![fresh(first), fresh(second), fresh(second)];
                (held.clone(), held)
            }
            Under::ThisBelow => {
                code.aload(0);
                (vec![V::UninitializedThis], vec![V::UninitializedThis])
            }
            Under::This | Under::Returns | Under::Handlers => (Vec::new(), Vec::new()),
        };
        Held {
            exact,
            loose,
            local,
        }
    }

    /// Uses the held values. This verifies only with their exact types. Then pushes values of these
    /// types again.
    fn look_at_held(&self, code: &mut CodeBuilder<'_>) {
        if self.under == Under::Values {
            let result = self.scenery.result();
            code.op(op::ARRAYLENGTH)
                .istore(result)
                .op(op::L2I)
                .istore(result);
            code.invokevirtual("java/lang/String", "length", "()I")
                .istore(result);
            self.push_held(code);
        }
    }

    /// Pops the held values and returns.
    fn finish(&self, code: &mut CodeBuilder<'_>) {
        let result = self.scenery.result();
        match self.under {
            Under::Values => {
                code.ops(&[op::POP, op::L2I, op::SWAP]);
                code.invokevirtual(OBJECT, "getClass", "()Ljava/lang/Class;")
                    .op(op::POP);
                code.iload(result).op(op::IADD).op(op::IRETURN);
                return;
            }
            Under::New => {
                code.ldc_string("built")
                    .init(BUILDER, "(Ljava/lang/String;)V");
                code.invokevirtual(BUILDER, "length", "()I").istore(result);
            }
            Under::NewLocal => {
                code.iconst(9)
                    .init(BUILDER, "(I)V")
                    .aload(self.extra_local());
                code.invokevirtual(BUILDER, "capacity", "()I")
                    .istore(result);
            }
            Under::TwoNew => {
                code.iconst(9).init(BUILDER, "(I)V");
                code.invokevirtual(BUILDER, "capacity", "()I")
                    .istore(result);
                code.iload(result).init(BUILDER, "(I)V");
            }
            Under::This | Under::ThisBelow => {
                if self.under == Under::This {
                    code.aload(0);
                }
                let this_class = code.this_class();
                code.init(OBJECT, "()V").aload(0).iload(result);
                code.field(op::PUTFIELD, &this_class, "state", "I")
                    .op(op::RETURN);
                return;
            }
            Under::Returns | Under::Handlers => {}
        }
        code.iload(result).op(op::IRETURN);
    }
}
