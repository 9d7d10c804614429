//! Types, class names and instructions that several shapes use.

use crate::assembler::{CodeBuilder, VerificationTypeInfo as V, op};
use crate::shapes::SITE_STACK;

pub(super) const OBJECT: &str = "java/lang/Object";
pub(super) const EXCEPTION: &str = "java/lang/Exception";
pub(super) const STRING: &str = "java/lang/String";
/// The type `UninitializedThis`, which is in most frames of the shapes.
pub(super) const THIS: V = V::UninitializedThis;
/// The type `Integer` of the constructors' usual argument.
pub(super) const INT: V = V::Integer;

/// Returns the type of `this` once it is initialised.
pub(super) fn initialized(code: &CodeBuilder<'_>) -> V {
    V::Object(code.this_class())
}

/// Appends `this.state = <int local>`, where local `this` has the initialised `this`.
pub(super) fn set_state(code: &mut CodeBuilder<'_>, this: u16, value: u16) {
    let this_class = code.this_class();
    code.aload(this)
        .iload(value)
        .field(op::PUTFIELD, &this_class, "state", "I");
}

/// Sets limits with room for a filler and `stack` further slots.
pub(super) fn limits(code: &mut CodeBuilder<'_>, stack: u16, locals: u16) {
    code.limits(stack + SITE_STACK, locals);
}
