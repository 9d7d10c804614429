//! Constructors as few or no compilers write them.
//!
//! Between its start and the call of another constructor, a constructor's
//! `this` has the type `uninitializedThis` (JVMS §4.10.2.4), which restricts
//! what may be inserted. Each shape has the call, or `this`, where a rewriter might not expect it.

mod branches;
mod common;
mod handlers;
mod places;
mod shape;
mod subroutines;

pub use shape::ConstructorShape;

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
