//! Types, class names and instructions that several shapes use.

use crate::assembler::{CodeBuilder, VerificationTypeInfo as V, op};
use crate::shapes::SITE_STACK;

pub(super) const OBJECT: &str = "java/lang/Object";
pub(super) const EXCEPTION: &str = "java/lang/Exception";
pub(super) const STRING: &str = "java/lang/String";
/// `UninitializedThis`, in most frames of the shapes.
pub(super) const THIS: V = V::UninitializedThis;
/// `Integer`, the constructors' usual argument.
pub(super) const INT: V = V::Integer;

/// The type of `this` once initialised.
pub(super) fn initialized(code: &CodeBuilder<'_>) -> V {
    V::Object(code.this_class())
}

/// `this.state = <int local>` for an initialised `this` in local `this`.
pub(super) fn set_state(code: &mut CodeBuilder<'_>, this: u16, value: u16) {
    let this_class = code.this_class();
    code.aload(this)
        .iload(value)
        .field(op::PUTFIELD, &this_class, "state", "I");
}

/// Limits with room for a filler on top of `stack` slots.
pub(super) fn limits(code: &mut CodeBuilder<'_>, stack: u16, locals: u16) {
    code.limits(stack + SITE_STACK, locals);
}
