//! Local variables of every kind, so that frames which the rewriter inserts have many types.

use crate::assembler::{ClassBuilder, CodeBuilder, VerificationTypeInfo as V, access, op};

/// Ten local variables from `first` on: `int`, `long`, `Object`, `String`, `int[]`, `null`,
/// `float`, `double`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenery {
    first: u16,
}

impl Scenery {
    /// Number of local variables.
    pub(super) const SLOTS: u16 = 10;
    /// Number of operand stack slots needed to fill or use the variables.
    pub(super) const STACK: u16 = 3;

    pub(super) fn at(first: u16) -> Self {
        Self { first }
    }

    /// Returns the index of the `int` in which results are summed.
    pub(super) fn result(self) -> u16 {
        self.first
    }

    /// Returns the exact types of the variables after [`Scenery::fill`].
    pub(super) fn types(self) -> Vec<V> {
        let object = V::object("java/lang/Object");
        let (string, ints) = (V::object("java/lang/String"), V::object("[I"));
        vec![
            V::Integer,
            V::Long,
            object,
            string,
            ints,
            V::Null,
            V::Float,
            V::Double,
        ]
    }

    /// Returns the types of the variables after two paths have joined. They are less exact than
    /// [`Scenery::types`]; [`Scenery::make_use`] does not verify with them.
    pub(super) fn loose_types(self) -> Vec<V> {
        vec![V::Integer, V::Long, V::Top, V::object("java/lang/Object")]
    }

    /// Adds the method that [`Scenery::make_use`] calls.
    pub(super) fn add_to(class: &mut ClassBuilder) {
        let flags = access::STATIC;
        class.method(flags, "nulls", "([ILjava/lang/String;)I", |code| {
            code.limits(2, 2)
                .iconst(3)
                .istore(0)
                .iload(0)
                .op(op::IRETURN);
        });
    }

    /// Gives each local variable its value.
    pub(super) fn fill(self, code: &mut CodeBuilder<'_>) {
        let first = self.first;
        code.iconst(11).istore(first);
        code.op(op::LCONST_1).local(op::LSTORE, first + 1);
        code.typed(op::NEW, "java/lang/Object")
            .op(op::DUP)
            .init("java/lang/Object", "()V");
        code.astore(first + 3).ldc_string("text").astore(first + 4);
        code.iconst(3).newarray(10).astore(first + 5);
        code.op(op::ACONST_NULL).astore(first + 6);
        code.op(op::FCONST_2).local(op::FSTORE, first + 7);
        code.op(op::DCONST_1).local(op::DSTORE, first + 8);
    }

    /// Adds a value from every other variable to the `int`. This verifies only if each variable has
    /// its exact type, including `null`.
    pub(super) fn make_use(self, code: &mut CodeBuilder<'_>) {
        let first = self.first;
        let this_class = code.this_class();
        code.iload(first)
            .local(op::LLOAD, first + 1)
            .ops(&[op::L2I, op::IADD]);
        code.aload(first + 3)
            .invokevirtual("java/lang/Object", "getClass", "()Ljava/lang/Class;");
        code.op(op::POP);
        code.aload(first + 4)
            .invokevirtual("java/lang/String", "length", "()I")
            .op(op::IADD);
        code.aload(first + 5).ops(&[op::ARRAYLENGTH, op::IADD]);
        code.aload(first + 6).aload(first + 6);
        code.invokestatic(&this_class, "nulls", "([ILjava/lang/String;)I")
            .op(op::IADD);
        code.local(op::FLOAD, first + 7).ops(&[op::F2I, op::IADD]);
        code.local(op::DLOAD, first + 8)
            .ops(&[op::D2I, op::IADD])
            .istore(first);
    }
}
