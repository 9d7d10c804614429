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
    /// Before a constructor calls another one for its own object, if that is not
    /// `Object`'s, `Record`'s or `Enum`'s: `(III)V`, the id, its own key and the other's. Keys are made of
    /// class and descriptor, two constructors seldom have the same, and none has 0.
    pub construct: String,
    /// Behind that call: the id.
    pub constructed: String,
    /// Instead of `exit` where an exception leaves a constructor: `(II)V`, the id and
    /// its own key; and before the returns of those that call another one, with 0
    /// for the key.
    pub ended: String,
    /// At the beginning of a handler of the method's own: the id.
    pub caught: String,
    /// After a `new`: `(I)V`, the site.
    pub alloc: String,
    /// After a `newarray` or `anewarray`, or a `multianewarray` of one
    /// dimension: `(II)V`, length and site.
    pub alloc_array: String,
    /// After a `multianewarray` of more, once for each dimension from the outermost
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
            construct: "construct".into(),
            constructed: "constructed".into(),
            ended: "ended".into(),
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
    /// The tracker's internal name: `loadhook/Tracker`. The methods of this
    /// class, and of those nested in it, are never instrumented; for other
    /// classes of the tracker's the selector says so.
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

impl Options {
    /// Which of the names cannot be called, if any (JVMS §4.2).
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        // Modified UTF-8 has other forms for zero and for what lies beyond
        // three bytes.
        let is_name = |name: &str, forbidden: &[char]| {
            !name.is_empty()
                && name.len() <= usize::from(u16::MAX)
                && !name.contains(forbidden)
                && !name.chars().any(|c| c == '\0' || c.len_utf8() > 3)
        };
        if !is_name(&self.owner, &['.', ';', '[']) || self.owner.split('/').any(str::is_empty) {
            return Err("owner");
        }
        let names = &self.names;
        let methods = [
            &names.enter,
            &names.exit,
            &names.construct,
            &names.constructed,
            &names.ended,
            &names.caught,
            &names.alloc,
            &names.alloc_array,
            &names.alloc_dimension,
            &names.init,
            &names.new_array,
        ];
        let forbidden = ['.', ';', '[', '/', '<', '>'];
        match methods.iter().all(|name| is_name(name, &forbidden)) {
            true => Ok(()),
            false => Err("tracker's method name"),
        }
    }

    /// Whether a class belongs to the tracker.
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
            assert_eq!(check(wrong), Err("owner"), "{wrong}");
        }
        let mut options = Options::default();
        options.names.exit = "<exit>".into();
        assert!(options.check().is_err());
    }

    #[test]
    fn nested_classes_belong_to_the_tracker() {
        let options = Options::default();
        assert!(options.is_tracker(b"loadhook/Tracker"));
        assert!(options.is_tracker(b"loadhook/Tracker$State"));
        assert!(!options.is_tracker(b"loadhook/Trackers"));
    }
}
