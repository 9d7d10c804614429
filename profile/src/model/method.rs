//! Methods.

use std::sync::Arc;

/// A method, identified by all fields but `file`, `line`, `loaders` and `is_native`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// The class loader's name, `""` for the bootstrap loader. Distinct loaders have distinct
    /// names.
    pub loader: Arc<str>,
    /// The class, in dotted form: `java.util.Map$Entry`.
    pub class: Arc<str>,
    /// The method's name as in the class file: `<init>` for constructors.
    pub name: Arc<str>,
    /// The descriptor (JVMS §4.3.3): `(Ljava/lang/String;)V`.
    pub descriptor: Arc<str>,
    /// The `SourceFile` attribute.
    pub file: Option<Arc<str>>,
    /// The first line of the method's code.
    pub line: Option<u32>,
    /// The number of class loaders that had a copy of the class; `loader` is the first.
    pub loaders: u32,
    /// True if the method is known to be native, so that it has no lines. Only HPROF's tables tell.
    pub is_native: bool,
}

impl Method {
    /// Returns a method of the bootstrap loader, without file and line.
    pub fn new(class: &str, name: &str, descriptor: &str) -> Method {
        Method {
            loader: "".into(),
            class: class.into(),
            name: name.into(),
            descriptor: descriptor.into(),
            file: None,
            line: None,
            loaders: 1,
            is_native: false,
        }
    }

    /// Returns a method that stands for an allocated type, in trees whose innermost callees are types.
    pub(crate) fn of_type(name: &str) -> Method {
        Method::new(name, "", "")
    }

    /// Returns a method that stands for all methods whose calls found no room in the tree.
    pub fn overflow() -> Method {
        Method::new("(tree full)", "", "")
    }

    /// Returns a method that stands for a method whose id has no definition.
    pub fn unknown(id: u32) -> Method {
        Method::new("(unknown)", &format!("method{id}"), "")
    }

    /// Returns a method that stands for a function of a native library.
    pub fn native(library: &str, symbol: &str) -> Method {
        Method::new(library, symbol, "")
    }

    /// Returns a method that stands for the code of the JVM itself.
    pub fn virtual_machine() -> Method {
        Method::new("[VM]", "", "")
    }

    /// Returns a method that stands for the threads of the garbage collector.
    pub fn garbage_collector() -> Method {
        Method::new("[GC]", "", "")
    }

    /// Returns a method that stands for the threads of the JIT compilers.
    pub fn jit_compiler() -> Method {
        Method::new("[compiler]", "", "")
    }

    /// Returns a method that stands for the interpreter where it runs no method.
    pub fn interpreter() -> Method {
        Method::new("[interpreter]", "", "")
    }

    /// Returns a method that stands for the frames of a stack that could not be walked.
    pub fn unwalked() -> Method {
        Method::new("[unwalked]", "", "")
    }

    /// Returns the fields that identify the method across JVMs: loader, class, name, descriptor.
    pub fn key(&self) -> (&str, &str, &str, &str) {
        (&self.loader, &self.class, &self.name, &self.descriptor)
    }
}
