//! Numbers of mutants, by the outcome of judging them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) mutants: u64,
    pub(crate) accepted: u64,
    /// Mutants whose two runs (original and rewritten) ended and were compared.
    pub(crate) compared: u64,
    /// Mutants that were compared although no method was instrumented.
    pub(crate) unchanged: u64,
    pub(crate) timed_out: u64,
    pub(crate) died: u64,
    pub(crate) nondeterministic: u64,
    /// Mutants whose rewritten form was so slow that it got more time.
    pub(crate) slow: u64,
    /// Mutants left out of the comparison because their locks may be unbalanced.
    pub(crate) unlocked: u64,
    /// Mutants compared only up to a stack overflow or exhausted heap.
    pub(crate) overflowed: u64,
    /// Methods of accepted mutants that were not instrumented, by reason.
    pub(crate) left_alone: BTreeMap<String, u64>,
    /// Numbers of accepted mutants and of all mutants, by the kind of the last mutation.
    pub(crate) by_step: BTreeMap<String, (u64, u64)>,
    pub(crate) by_version: BTreeMap<u16, (u64, u64)>,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.mutants += other.mutants;
        self.accepted += other.accepted;
        self.compared += other.compared;
        self.unchanged += other.unchanged;
        self.timed_out += other.timed_out;
        self.died += other.died;
        self.nondeterministic += other.nondeterministic;
        self.slow += other.slow;
        self.unlocked += other.unlocked;
        self.overflowed += other.overflowed;
        for (reason, times) in other.left_alone {
            *self.left_alone.entry(reason).or_default() += times;
        }
        let add = |to: &mut (u64, u64), more: (u64, u64)| *to = (to.0 + more.0, to.1 + more.1);
        other
            .by_step
            .into_iter()
            .for_each(|(step, more)| add(self.by_step.entry(step).or_default(), more));
        other
            .by_version
            .into_iter()
            .for_each(|(version, more)| add(self.by_version.entry(version).or_default(), more));
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            mutants,
            accepted,
            compared,
            unchanged,
            timed_out,
            died,
            nondeterministic,
            slow,
            unlocked,
            overflowed,
            ..
        } = self;
        writeln!(
            f,
            "{mutants} mutants, {accepted} accepted, {compared} compared ({unchanged} without a probe, {overflowed} up to an overflow, {slow} slowly)"
        )?;
        writeln!(
            f,
            "left out: {timed_out} ran too long, {died} ended the JVM, {nondeterministic} had two different results, {unlocked} may have unbalanced locks"
        )?;
        writeln!(f, "methods not instrumented: {:?}", self.left_alone)?;
        writeln!(f, "accepted by version: {:?}", self.by_version)?;
        write!(f, "accepted by last mutation: {:?}", self.by_step)
    }
}
