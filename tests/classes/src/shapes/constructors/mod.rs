//! Constructors as no compiler, or only some compiler, would write them.
//!
//! Between its start and the call of another constructor, a constructor's
//! `this` has the type `uninitializedThis` (JVMS §4.10.2.4), which restricts
//! what may be inserted. Each shape here puts the call, or `this`, somewhere a
//! rewriter might not expect.

mod branches;
mod handlers;
mod places;
mod subroutines;

use crate::assembler::{ClassBuilder, CodeBuilder, VerificationTypeInfo as V, op};
use crate::shapes::{Driver, Filler, SITE_STACK};

/// One way to write a constructor.
#[derive(Debug, Clone, Copy)]
pub struct ConstructorShape {
    /// A name that can be part of a class name.
    pub name: &'static str,
    /// The odd construct that the shape shows.
    pub construct: &'static str,
    /// The newest class-file version whose verifier takes it.
    pub max_version: u16,
    build: fn(&mut ClassBuilder, &mut Driver, Filler),
}

impl ConstructorShape {
    /// A shape legal in every version.
    const fn any(
        name: &'static str,
        construct: &'static str,
        build: fn(&mut ClassBuilder, &mut Driver, Filler),
    ) -> Self {
        Self {
            name,
            construct,
            max_version: u16::MAX,
            build,
        }
    }

    /// A shape only the verifier by type inference takes (JVMS §4.10.2).
    const fn old(
        name: &'static str,
        construct: &'static str,
        build: fn(&mut ClassBuilder, &mut Driver, Filler),
    ) -> Self {
        Self {
            name,
            construct,
            max_version: 49,
            build,
        }
    }

    /// A class `name` of `version` with this constructor. `filler` goes where
    /// it makes the constructor's branches long.
    ///
    /// # Panics
    /// If the assembler refuses it: a fault of this module, not of its user.
    pub fn class(&self, name: &str, version: u16, filler: Filler) -> Vec<u8> {
        let mut class = ClassBuilder::new(version, name);
        let mut driver = Driver::new();
        (self.build)(&mut class, &mut driver, filler);
        driver.add_to(&mut class);
        class
            .finish()
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// Every shape.
pub fn shapes() -> Vec<ConstructorShape> {
    [
        branches::SHAPES,
        places::SHAPES,
        handlers::SHAPES,
        subroutines::SHAPES,
    ]
    .concat()
}

const OBJECT: &str = "java/lang/Object";
const EXCEPTION: &str = "java/lang/Exception";
const STRING: &str = "java/lang/String";
/// `UninitializedThis`, in most frames of this module.
const THIS: V = V::UninitializedThis;
/// `Integer`, the constructors' usual argument.
const INT: V = V::Integer;

/// The type of `this` once initialised.
fn initialized(code: &CodeBuilder<'_>) -> V {
    V::Object(code.this_class())
}

/// `this.state = <int local>` for an initialised `this` in local `this`.
fn set_state(code: &mut CodeBuilder<'_>, this: u16, value: u16) {
    let this_class = code.this_class();
    code.aload(this)
        .iload(value)
        .field(op::PUTFIELD, &this_class, "state", "I");
}

/// Limits with room for a filler on top of `stack` slots.
fn limits(code: &mut CodeBuilder<'_>, stack: u16, locals: u16) {
    code.limits(stack + SITE_STACK, locals);
}
