//! The probes that mutants get.

use anyhow::Result;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{
    CallShape, Options, Outcome, Probes, Report, Rewriter, Selector, Site, UnknownCodeAttributes,
};

/// The sets of probes. Mutants get them in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Probing {
    All,
    /// All probes; unknown attributes are dropped.
    AllDropping,
    Timing,
    TimingByClass,
    Count,
}

impl Probing {
    pub(crate) fn of(number: u64) -> Probing {
        match number % 5 {
            0 => Probing::All,
            1 => Probing::AllDropping,
            2 => Probing::Timing,
            3 => Probing::TimingByClass,
            _ => Probing::Count,
        }
    }

    pub(crate) fn rewriter(self) -> Rewriter {
        let mut options = Options {
            allow_huge_methods: true,
            ..Options::default()
        };
        if self == Probing::TimingByClass {
            options.call_shape = CallShape::ClassAndMethod { class: 40_000 };
        }
        if self == Probing::AllDropping {
            options.unknown_code_attributes = UnknownCodeAttributes::Drop;
        }
        Rewriter::new(options)
    }
}

/// A selector that numbers methods by their position in the class, so that the tracker's log shows
/// which method was entered.
struct ByPosition {
    probing: Probing,
    sites: u32,
}

impl Selector for ByPosition {
    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let id = Some(u32::from(method.index()));
        let has_all = matches!(self.probing, Probing::All | Probing::AllDropping);
        let only_counts = self.probing == Probing::Count;
        Probes {
            timing: id.filter(|_| !only_counts),
            count: id.filter(|_| only_counts),
            trace: None,
            values: false,
            allocations: has_all,
            objects: has_all,
        }
    }

    fn site(&mut self, _: &Member<'_, '_>, _: &Site<'_>) -> u32 {
        self.sites += 1;
        self.sites
    }
}

/// Rewrites a class. Returns the new bytes (`None` if nothing changed) and the report on its
/// methods.
pub(crate) fn rewrite(
    rewriter: &mut Rewriter,
    class: &[u8],
    probing: Probing,
) -> Result<(Option<Vec<u8>>, Report)> {
    let mut selector = ByPosition { probing, sites: 0 };
    let outcome = rewriter.rewrite(class, &mut selector, |len| Some(vec![0; len]))?;
    let bytes = match outcome {
        Outcome::Rewritten(bytes) => Some(bytes),
        Outcome::Unchanged => None,
    };
    Ok((bytes, rewriter.report().clone()))
}
