//! The rewriter's options: the tracker that probes call, and limits on changes.

/// The arguments of the probes at method entry, at exits and in handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallShape {
    /// `(I)V`: the method's id.
    #[default]
    Id,
    /// `(II)V`: the number of the class, then the method's id, which the selector may count from 0 in each class.
    /// The JDK's old `java_crw_demo` has this shape.
    ClassAndMethod {
        /// The number of the class being rewritten.
        class: u32,
    },
}

/// The names of the tracker's static methods.
///
/// Each method is `public static` and, except for `trace_enter` and `trace_value`, returns nothing. A descriptor
/// is given for the methods whose arguments do not depend on [`CallShape`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodNames {
    /// At method entry: the id.
    pub enter: String,
    /// At method entry, if calls are only counted: the id.
    pub count: String,
    /// Before a return and when an exception leaves: the id.
    pub exit: String,
    /// Before a constructor calls another constructor for its own object: `(III)V`, the id, the
    /// caller's key and the called constructor's key. Calls of the constructors of `Object`,
    /// `Record` and `Enum` have no such probe. A key is a hash of class and descriptor: two
    /// constructors rarely have the same key, and no key is 0.
    pub construct: String,
    /// After the call that `construct` announced: the id.
    pub constructed: String,
    /// Replaces `exit` where an exception leaves a constructor: `(II)V`, the id and the
    /// constructor's key. In a constructor with `construct` probes it also replaces
    /// `exit` before returns, with 0 for the key.
    pub ended: String,
    /// At the beginning of each handler of the original method: the id.
    pub caught: String,
    /// At the entry of a method with [`Probes::trace`](crate::Probes::trace): `()J`. Returns the time, which the
    /// method keeps in a local variable.
    pub trace_enter: String,
    /// Before a method with [`Probes::trace`](crate::Probes::trace) returns: `(JI)V`, the time at the method's entry,
    /// and the id.
    pub trace_exit: String,
    /// When an exception leaves a method with [`Probes::trace`](crate::Probes::trace): `(Ljava/lang/Throwable;JI)V`,
    /// the exception, the time at the method's entry, and the id.
    pub trace_thrown: String,
    /// At the entry of a method with [`Probes::trace`](crate::Probes::trace) and
    /// [`Probes::values`](crate::Probes::values): puts an argument in front of a list, and returns the new list. The
    /// method keeps the list in a local variable; null is the empty list. There are five methods of this name, for
    /// example `(JLjava/lang/Object;)Ljava/lang/Object;`: for `int` and narrower types, `long`, `float`, `double` and
    /// `Object`. Before a return, the result is put in front of the arguments. With values, `trace_exit` is
    /// `(Ljava/lang/Object;JI)V` and `trace_thrown` is `(Ljava/lang/Throwable;Ljava/lang/Object;JI)V`; the added
    /// argument is the list.
    pub trace_value: String,
    /// After a `new`: `(I)V`, the id of the site.
    pub alloc: String,
    /// After a `newarray` or `anewarray`, or a `multianewarray` of one
    /// dimension: `(II)V`, the length and the id of the site.
    pub alloc_array: String,
    /// After a `multianewarray` of more dimensions, once for each dimension, the outermost first: `(III)V`, the
    /// length, the number of the dimension from 0, and the id of the site.
    pub alloc_dimension: String,
    /// At the beginning of `Object.<init>`: `(Ljava/lang/Object;)V`, the object.
    pub init: String,
    /// After an array was made: `(Ljava/lang/Object;)V`, the array.
    pub new_array: String,
}

impl Default for MethodNames {
    fn default() -> Self {
        MethodNames {
            enter: "enter".into(),
            count: "count".into(),
            exit: "exit".into(),
            construct: "construct".into(),
            constructed: "constructed".into(),
            ended: "ended".into(),
            caught: "caught".into(),
            trace_enter: "traceEnter".into(),
            trace_exit: "traceExit".into(),
            trace_thrown: "traceThrown".into(),
            trace_value: "traceValue".into(),
            alloc: "alloc".into(),
            alloc_array: "allocArray".into(),
            alloc_dimension: "allocDimension".into(),
            init: "init".into(),
            new_array: "newArray".into(),
        }
    }
}

/// The treatment of attributes of `Code` that this crate does not know. Such attributes may contain bytecode offsets,
/// which would be wrong after rewriting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnknownCodeAttributes {
    /// Do not instrument the method.
    #[default]
    LeaveMethod,
    /// Instrument the method and drop the attribute.
    Drop,
}

/// The options of a [`crate::Rewriter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The tracker's internal name: `loadhook/Tracker`. Methods of this class, and
    /// of classes nested in it, are never instrumented. If the tracker has other
    /// classes, the selector must exclude them.
    pub owner: String,
    /// The names of the tracker's methods.
    pub names: MethodNames,
    /// The arguments of entry, exit and handler probes.
    pub call_shape: CallShape,
    /// True if the first argument of the entry probe is the object on which the method was called:
    /// `(Ljava/lang/Object;I)V`. The argument is null in a static method, and in a constructor, whose object is not
    /// initialised yet. This option needs [`CallShape::Id`].
    pub receiver: bool,
    /// True if the first argument of the entry probe is a static method's first parameter, instead of null. The
    /// argument stays null if that parameter is not a reference, or if there is none. This option needs `receiver`.
    pub static_parameter: bool,
    /// True if probes may make the code of a method longer than 8,000 bytes.
    /// HotSpot does not compile such a method unless
    /// `-XX:-DontCompileHugeMethods` is given.
    pub allow_huge_methods: bool,
    /// The treatment of unknown attributes of `Code`.
    pub unknown_code_attributes: UnknownCodeAttributes,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            owner: "loadhook/Tracker".into(),
            names: MethodNames::default(),
            call_shape: CallShape::default(),
            receiver: false,
            static_parameter: false,
            allow_huge_methods: false,
            unknown_code_attributes: UnknownCodeAttributes::default(),
        }
    }
}

impl Options {
    /// Checks that all names are names of classes and methods that can be called (JVMS §4.2). Also checks that the
    /// options on which an option depends are set. On failure, returns the wrong option and the reason.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        // U+0000 and characters of four bytes are encoded differently in modified UTF-8.
        let is_name = |name: &str, forbidden: &[char]| {
            !name.is_empty()
                && name.len() <= usize::from(u16::MAX)
                && !name.contains(forbidden)
                && !name.chars().any(|c| c == '\0' || c.len_utf8() > 3)
        };
        if !is_name(&self.owner, &['.', ';', '[']) || self.owner.split('/').any(str::is_empty) {
            return Err("owner is not an internal class name");
        }
        if self.receiver && self.call_shape != CallShape::Id {
            return Err("receiver needs CallShape::Id");
        }
        if self.static_parameter && !self.receiver {
            return Err("static_parameter needs receiver");
        }
        let names = &self.names;
        let methods = [
            &names.enter,
            &names.count,
            &names.exit,
            &names.construct,
            &names.constructed,
            &names.ended,
            &names.caught,
            &names.trace_enter,
            &names.trace_exit,
            &names.trace_thrown,
            &names.trace_value,
            &names.alloc,
            &names.alloc_array,
            &names.alloc_dimension,
            &names.init,
            &names.new_array,
        ];
        let forbidden = ['.', ';', '[', '/', '<', '>'];
        if methods.iter().all(|name| is_name(name, &forbidden)) {
            Ok(())
        } else {
            Err("a method name in names is not valid")
        }
    }

    /// Returns whether the class of this internal name is the tracker, or nested
    /// in it.
    pub(crate) fn is_tracker(&self, class: &[u8]) -> bool {
        let rest = class.strip_prefix(self.owner.as_bytes());
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'$')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(owner: &str) -> Result<(), &'static str> {
        let owner = owner.to_owned();
        Options {
            owner,
            ..Options::default()
        }
        .check()
    }

    #[test]
    fn names_must_be_internal_names() {
        assert_eq!(check("loadhook/Tracker"), Ok(()));
        assert_eq!(check("java/lang/$Loadhook"), Ok(()));
        for wrong in [
            "",
            "com.example.T",
            "a//b",
            "a/",
            "a\0b",
            "Tr\u{1f600}",
            "[I",
        ] {
            assert_eq!(
                check(wrong),
                Err("owner is not an internal class name"),
                "{wrong}"
            );
        }
        let mut options = Options::default();
        options.names.exit = "<exit>".into();
        assert!(options.check().is_err());
    }

    #[test]
    fn a_receiver_has_no_class_number_beside_it() {
        let mut options = Options {
            receiver: true,
            ..Options::default()
        };
        assert_eq!(options.check(), Ok(()));
        options.call_shape = CallShape::ClassAndMethod { class: 1 };
        assert_eq!(options.check(), Err("receiver needs CallShape::Id"));
        options = Options {
            static_parameter: true,
            ..Options::default()
        };
        assert_eq!(options.check(), Err("static_parameter needs receiver"));
    }

    #[test]
    fn nested_classes_belong_to_the_tracker() {
        let options = Options::default();
        assert!(options.is_tracker(b"loadhook/Tracker"));
        assert!(options.is_tracker(b"loadhook/Tracker$State"));
        assert!(!options.is_tracker(b"loadhook/Trackers"));
    }
}
