//! The options under which classes are rewritten.

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{
    CallShape, ClassFile, Everything, Options, Probes, Selector, Site, UnknownCodeAttributes,
};

/// One way to rewrite a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSet {
    /// Every probe. Ids start at 0.
    All,
    /// Timing probes with the descriptor `(II)V`. The ids are so large that they need entries of
    /// the constant pool.
    TwoIds,
    /// Every probe; huge methods are allowed and unknown attributes dropped. Some ids are pushed by
    /// `sipush`, others by `ldc`.
    Lenient,
    /// Allocation and object probes in every second method; no timing probes.
    Allocations,
    /// Probes that only count calls; every second method also has allocation probes. Some ids are
    /// pushed by `bipush`, others by `sipush`.
    Counts,
    /// Probes that measure each call. Every second method also has all other probes.
    Traces,
    /// Probes that measure each call and pass its values.
    Values,
}

impl OptionSet {
    /// All option sets.
    pub const EACH: [OptionSet; 7] = [
        OptionSet::All,
        OptionSet::TwoIds,
        OptionSet::Lenient,
        OptionSet::Allocations,
        OptionSet::Counts,
        OptionSet::Traces,
        OptionSet::Values,
    ];

    /// Returns the rewriter's options in this set.
    pub fn options(self) -> Options {
        let mut options = Options::default();
        match self {
            OptionSet::All
            | OptionSet::Allocations
            | OptionSet::Counts
            | OptionSet::Traces
            | OptionSet::Values => {}
            OptionSet::TwoIds => options.call_shape = CallShape::ClassAndMethod { class: 70_000 },
            OptionSet::Lenient => {
                options.allow_huge_methods = true;
                options.unknown_code_attributes = UnknownCodeAttributes::Drop;
            }
        }
        options
    }

    /// Returns whether instrumented methods have probes that measure each call.
    pub(crate) fn traces(self) -> bool {
        matches!(self, OptionSet::Traces | OptionSet::Values)
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
            OptionSet::Traces => Everything {
                traces: true,
                ..Everything::all(126)
            },
            OptionSet::Values => Everything::traces_with_values(32_764),
        };
        Chosen {
            set: self,
            everything,
        }
    }
}

/// Selects the probes of a set for each method: all of them, or some in every second method.
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
        if self.set == OptionSet::Traces && !is_other {
            return Probes {
                trace: probes.trace,
                ..Probes::default()
            };
        }
        probes.allocations |= self.set == OptionSet::Counts && is_other;
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let code = method.code().ok().flatten();
        let code_length = code.map_or(0, |code| code.len());
        assert!(
            site.bci.0 < code_length,
            "the selector was called for a site outside the code"
        );
        self.everything.site(method, site)
    }
}
