//! Access flags as text.

use std::fmt;

/// Access flags, printed as a number and the names that the specification gives
/// to the bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    flags: u16,
    words: &'static [(u16, &'static str)],
}

impl Flags {
    /// Flags of a class (JVMS table 4.1-B).
    pub(super) const CLASS: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0010, "ACC_FINAL"),
        (0x0020, "ACC_SUPER"),
        (0x0200, "ACC_INTERFACE"),
        (0x0400, "ACC_ABSTRACT"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x2000, "ACC_ANNOTATION"),
        (0x4000, "ACC_ENUM"),
        (0x8000, "ACC_MODULE"),
    ];
    /// Flags of a field (JVMS table 4.5-A).
    pub(super) const FIELD: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0002, "ACC_PRIVATE"),
        (0x0004, "ACC_PROTECTED"),
        (0x0008, "ACC_STATIC"),
        (0x0010, "ACC_FINAL"),
        (0x0040, "ACC_VOLATILE"),
        (0x0080, "ACC_TRANSIENT"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x4000, "ACC_ENUM"),
    ];
    /// Flags of a method (JVMS table 4.6-A).
    pub(super) const METHOD: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0002, "ACC_PRIVATE"),
        (0x0004, "ACC_PROTECTED"),
        (0x0008, "ACC_STATIC"),
        (0x0010, "ACC_FINAL"),
        (0x0020, "ACC_SYNCHRONIZED"),
        (0x0040, "ACC_BRIDGE"),
        (0x0080, "ACC_VARARGS"),
        (0x0100, "ACC_NATIVE"),
        (0x0400, "ACC_ABSTRACT"),
        (0x0800, "ACC_STRICT"),
        (0x1000, "ACC_SYNTHETIC"),
    ];
    /// Flags of an inner class (JVMS table 4.7.6-A).
    pub(super) const INNER_CLASS: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0002, "ACC_PRIVATE"),
        (0x0004, "ACC_PROTECTED"),
        (0x0008, "ACC_STATIC"),
        (0x0010, "ACC_FINAL"),
        (0x0200, "ACC_INTERFACE"),
        (0x0400, "ACC_ABSTRACT"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x2000, "ACC_ANNOTATION"),
        (0x4000, "ACC_ENUM"),
    ];
    /// Flags of a parameter, a module, an `exports` or an `opens` (JVMS §4.7.24,
    /// §4.7.25).
    pub(super) const MANDATED: &'static [(u16, &'static str)] = &[
        (0x0010, "ACC_FINAL"),
        (0x0020, "ACC_OPEN"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x8000, "ACC_MANDATED"),
    ];
    /// Flags of a `requires` (JVMS §4.7.25).
    pub(super) const REQUIRES: &'static [(u16, &'static str)] = &[
        (0x0020, "ACC_TRANSITIVE"),
        (0x0040, "ACC_STATIC_PHASE"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x8000, "ACC_MANDATED"),
    ];

    pub(super) fn new(flags: u16, words: &'static [(u16, &'static str)]) -> Self {
        Flags { flags, words }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.flags)?;
        let mut rest = self.flags;
        for &(flag, word) in self.words {
            if self.flags & flag != 0 {
                write!(f, " {word}")?;
                rest &= !flag;
            }
        }
        match rest {
            0 => Ok(()),
            unknown => write!(f, " 0x{unknown:04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_words() {
        assert_eq!(
            Flags::new(0x0031, Flags::CLASS).to_string(),
            "0x0031 ACC_PUBLIC ACC_FINAL ACC_SUPER"
        );
        assert_eq!(
            Flags::new(0x8002, Flags::METHOD).to_string(),
            "0x8002 ACC_PRIVATE 0x8000"
        );
    }
}
