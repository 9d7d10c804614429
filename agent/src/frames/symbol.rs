//! The names of methods that stacks show.

use std::sync::Arc;

/// A method as profiles name it. Copies of a class share the symbols of their methods.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Symbol {
    /// The number of the kind of the class's loader.
    pub(crate) kind: u32,
    /// A number that differs between classes of the same name and kind of loader that are no copies.
    pub(crate) code: u64,
    /// True if the class is chosen for instrumentation.
    pub(crate) is_chosen: bool,
    pub(crate) class: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) descriptor: Arc<str>,
    pub(crate) file: Option<Arc<str>>,
    pub(crate) line: Option<u32>,
}

impl Symbol {
    /// A symbol that stands for several methods.
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
        }
    }
}

/// A stack frame whose method is known.
pub(crate) struct ResolvedFrame {
    pub(crate) symbol: Symbol,
    pub(crate) line: Option<u32>,
    /// The number of the loader of the method's class. If copies of the class share ids, it is the loader of the first
    /// copy.
    pub(crate) loader: u32,
    /// The number of the class; `None` if the class is never unloaded.
    pub(crate) class: Option<u32>,
}

/// The loaders of the copies of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyLoaders {
    /// The number of the first loader.
    pub(crate) first: u32,
    /// The number of loaders.
    pub(crate) loaders: u32,
}
