//! What the injected code calls, and how far the rewriter may go.

/// The arguments of the calls at method entry, exit and in handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallShape {
    /// `(I)V`: the method's id.
    #[default]
    Id,
    /// `(II)V`: a class number, then the method's id, which is its number
    /// within the class if the selector counts so. The shape of the JDK's old
    /// `java_crw_demo`.
    ClassAndMethod {
        /// The number of the class being rewritten.
        class: u32,
    },
}

/// The names of the tracker's static methods.
///
/// Each is `public static` and returns nothing; the types are those of
/// [`crate::Rewriter`]'s probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodNames {
    /// At method entry: the id.
    pub enter: String,
    /// Before a return and when an exception leaves: the id.
    pub exit: String,
    /// At the beginning of a handler of the method's own: the id.
    pub caught: String,
    /// After a `new`: `(I)V`, the site.
    pub alloc: String,
    /// After a `newarray` or `anewarray`: `(II)V`, length and site.
    pub alloc_array: String,
    /// After a `multianewarray`, once for each dimension from the outermost
    /// on: `(III)V`, length, number of the dimension from 0, and site.
    pub alloc_dimension: String,
    /// At the beginning of `Object.<init>`: `(Ljava/lang/Object;)V`.
    pub init: String,
    /// After an array was made: `(Ljava/lang/Object;)V`.
    pub new_array: String,
}

impl Default for MethodNames {
    fn default() -> Self {
        MethodNames {
            enter: "enter".into(),
            exit: "exit".into(),
            caught: "caught".into(),
            alloc: "alloc".into(),
            alloc_array: "allocArray".into(),
            alloc_dimension: "allocDimension".into(),
            init: "init".into(),
            new_array: "newArray".into(),
        }
    }
}

/// What to do with an attribute of `Code` that nobody here knows and that
/// may hold bytecode offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnknownCodeAttributes {
    /// Leave the method alone.
    #[default]
    LeaveMethod,
    /// Instrument the method and drop the attribute.
    Drop,
}

/// What the injected code calls, and how far the rewriter may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The tracker's internal name, at most 65,535 bytes. Its own methods are
    /// never instrumented.
    pub owner: String,
    /// The names of its methods.
    pub names: MethodNames,
    /// What entry, exit and handler probes pass.
    pub call_shape: CallShape,
    /// Whether a method may be pushed over 8,000 bytes of code, above which
    /// HotSpot does not compile (`-XX:-DontCompileHugeMethods` lifts that).
    pub allow_huge_methods: bool,
    /// What to do with unknown attributes of `Code`.
    pub unknown_code_attributes: UnknownCodeAttributes,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            owner: "loadhook/Tracker".into(),
            names: MethodNames::default(),
            call_shape: CallShape::default(),
            allow_huge_methods: false,
            unknown_code_attributes: UnknownCodeAttributes::default(),
        }
    }
}
