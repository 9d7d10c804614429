//! The options under which classes are rewritten.

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{
    CallShape, ClassFile, Everything, Options, Probes, Selector, Site, UnknownCodeAttributes,
};

/// One way to rewrite a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSet {
    /// Every probe, with ids from 0 on.
    All,
    /// Timing probes with the descriptor `(II)V`, and ids that need constants.
    TwoIds,
    /// Every probe, with huge methods allowed and unknown attributes dropped. Some ids need
    /// `sipush`, others `ldc`.
    Lenient,
    /// Allocation and object probes in every other method, but no timing probes.
    Allocations,
    /// Probes that only count calls, and in every other method also allocation probes. Some ids
    /// need `bipush`, others `sipush`.
    Counts,
}

impl OptionSet {
    /// All option sets.
    pub const EACH: [OptionSet; 5] = [
        OptionSet::All,
        OptionSet::TwoIds,
        OptionSet::Lenient,
        OptionSet::Allocations,
        OptionSet::Counts,
    ];

    /// The rewriter's options.
    pub fn options(self) -> Options {
        let mut options = Options::default();
        match self {
            OptionSet::All | OptionSet::Allocations | OptionSet::Counts => {}
            OptionSet::TwoIds => options.call_shape = CallShape::ClassAndMethod { class: 70_000 },
            OptionSet::Lenient => {
                options.allow_huge_methods = true;
                options.unknown_code_attributes = UnknownCodeAttributes::Drop;
            }
        }
        options
    }

    pub(crate) fn selector(self) -> Chosen {
        let everything = match self {
            OptionSet::All => Everything::all(0),
            OptionSet::TwoIds => Everything::timing(1 << 31),
            OptionSet::Lenient => Everything::all(32_764),
            OptionSet::Allocations => Everything {
                timing: false,
                ..Everything::all(126)
            },
            OptionSet::Counts => Everything::counts(126),
        };
        Chosen {
            set: self,
            everything,
        }
    }
}

/// A selector for every probe, or for a part of the probes and methods.
pub(crate) struct Chosen {
    set: OptionSet,
    everything: Everything,
}

impl Selector for Chosen {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        self.everything.class(class)
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        assert!(
            method.has_code(),
            "the selector was called for a method without code"
        );
        let is_other = method.index() % 2 == 1;
        if self.set == OptionSet::Allocations && is_other {
            return Probes::default();
        }
        let mut probes = self.everything.method(method);
        probes.allocations |= self.set == OptionSet::Counts && is_other;
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let code = method.code().ok().flatten();
        let code_length = code.map_or(0, |code| code.len());
        assert!(site.bci.0 < code_length, "the site is outside the code");
        self.everything.site(method, site)
    }
}
