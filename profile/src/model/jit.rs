//! The work of the JIT compiler.

/// The methods that the JIT compiler has compiled, and those that it has inlined into them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitCode {
    /// The compiled methods.
    pub methods: Vec<JitMethod>,
    /// The inlined methods.
    pub inlined: Vec<InlinedMethod>,
}

/// A compiled method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitMethod {
    /// Index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// The number of compilations.
    pub compilations: u64,
    /// The number of times that code of the method was discarded.
    pub discarded: u64,
    /// The bytes of machine code of all compilations.
    pub code_bytes: u64,
    /// The bytes of machine code of the newest compilation.
    pub size: u64,
}

/// A method that is inlined into the newest code of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlinedMethod {
    /// The compiled method, as an index into [`Profile::methods`](super::Profile::methods).
    pub into: u32,
    /// The inlined method, as an index into the same table.
    pub method: u32,
    /// The length of the chain of inlined calls; 1 if the compiled method calls the inlined one itself.
    pub depth: u32,
    /// The number of places with an inlined call at this depth.
    pub calls: u64,
}
