//! The names of methods that stacks show.

use std::sync::Arc;

/// The name under which profiles show a method. The copies of a class share the symbols of their methods.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Symbol {
    /// The number of the loader kind (see `loader_kinds`) of the method's class.
    pub(crate) kind: u32,
    /// A number that distinguishes classes of the same name and loader kind that are not copies of each other.
    pub(crate) code: u64,
    /// True if the class is chosen for instrumentation.
    pub(crate) is_chosen: bool,
    pub(crate) class: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) descriptor: Arc<str>,
    pub(crate) file: Option<Arc<str>>,
    pub(crate) line: Option<u32>,
    pub(crate) is_native: bool,
}

impl Symbol {
    /// Makes a symbol that stands for several methods, such as `(other methods)`.
    pub(crate) fn artificial(class: &str) -> Self {
        Symbol {
            kind: 0,
            code: 0,
            is_chosen: false,
            class: class.into(),
            name: "".into(),
            descriptor: "".into(),
            file: None,
            line: None,
            is_native: false,
        }
    }
}

/// A stack frame whose method is known.
pub(crate) struct ResolvedFrame {
    pub(crate) symbol: Symbol,
    pub(crate) line: Option<u32>,
    /// The number of the loader of the method's class; of the first copy's loader if copies of the class share ids.
    pub(crate) loader: u32,
    /// The number of the class; `None` if the class is never unloaded.
    pub(crate) class: Option<u32>,
}

/// The loaders that have a copy of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyLoaders {
    /// The number that identifies the first loader.
    pub(crate) first: u32,
    /// How many loaders have a copy.
    pub(crate) loaders: u32,
}
