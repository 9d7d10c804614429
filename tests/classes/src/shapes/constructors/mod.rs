//! Constructors in forms that few or no compilers write.
//!
//! Until a constructor has called another constructor, its `this` has the type `uninitializedThis`
//! (JVMS §4.10.2.4), which restricts the code that may be inserted. In each shape, the call or
//! `this` is in a place where a rewriter might not expect it.

mod branches;
mod common;
mod handlers;
mod places;
mod shape;
mod subroutines;

pub use shape::ConstructorShape;

/// Returns every shape.
pub fn shapes() -> Vec<ConstructorShape> {
    [
        branches::SHAPES,
        places::SHAPES,
        handlers::SHAPES,
        subroutines::SHAPES,
    ]
    .concat()
}
