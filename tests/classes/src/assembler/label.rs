//! Labels: positions in code that can be used before they are known.

use super::error::Result;

/// A position in the code of one method, known once the label is bound.
///
/// The number is the label's index among the labels of its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label(pub(super) usize);

/// A function that returns the offset of a label, or an error if the label was never bound.
pub(crate) type Resolve<'a> = dyn Fn(Label) -> Result<usize> + 'a;
