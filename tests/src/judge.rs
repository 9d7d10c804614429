//! Rewrites classes, and compares how a JVM runs the original and the rewritten class.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use loadhook_rewrite::{Everything, Options, Outcome, Rewriter};

use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::{Runner, Verdict};

/// Number of pairs of classes that are judged at a time. All pairs of the largest classes together
/// would take half a gigabyte.
const BATCH: usize = 128;

/// Totals over the classes of one group.
#[derive(Debug, Default)]
pub struct Count {
    /// Number of classes that were judged.
    pub classes: usize,
    /// Number of methods that carry probes.
    pub instrumented: u32,
    /// Number of methods without probes, by reason.
    pub left_alone: BTreeMap<&'static str, u32>,
}

/// A judge of rewritten classes. It rewrites each class with the same probes in every method, and
/// runs both forms on a JVM under `-Xverify:all`.
pub struct Judge {
    runner: Runner,
    rewriter: Rewriter,
    probes: Everything,
}

/// A class to judge.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the class in messages.
    pub name: String,
    /// The group under which [`Judge::judge`] counts the class.
    pub group: &'static str,
    /// The original class.
    pub original: Vec<u8>,
    /// True if the class has a method to run.
    pub runs: bool,
    /// True if the rewriter may skip methods of the class because it cannot read them.
    pub odd: bool,
}

impl Judge {
    /// Makes a judge on the JDK of the release `feature`. The methods of each class get the same
    /// `probes`.
    ///
    /// # Errors
    /// When that JDK is missing.
    pub fn new(feature: u32, options: Options, probes: Everything) -> Result<Self> {
        let jdk = Jdk::find(feature)?;
        Ok(Judge {
            runner: Runner::new(&jdk, &["-Xverify:all"]).with_time_limit(Duration::from_secs(10)),
            rewriter: Rewriter::new(options),
            probes,
        })
    }

    /// Judges all `cases`, and returns the totals by group.
    ///
    /// # Errors
    /// At the first class that is not accepted, has another result than its original, or leaves
    /// entries on the tracker's path at the end.
    pub fn judge(
        &mut self,
        cases: impl Iterator<Item = Case>,
    ) -> Result<BTreeMap<&'static str, Count>> {
        let mut counts = BTreeMap::new();
        let mut cases = cases.peekable();
        while cases.peek().is_some() {
            let batch: Vec<Case> = cases.by_ref().take(BATCH).collect();
            let mut pairs = Vec::new();
            let mut whole = Vec::new();
            for case in &batch {
                let count: &mut Count = counts.entry(case.group).or_default();
                let rewritten = self
                    .rewrite(&case.original, case.odd, count)
                    .with_context(|| case.name.clone())?;
                pairs.push((&case.original, rewritten));
                whole.push(self.rewriter.report().left_alone.is_empty());
            }
            let verdicts = self.runner.judge_all(&pairs)?;
            for ((case, verdict), whole) in batch.iter().zip(&verdicts).zip(whole) {
                check(case, verdict, whole)?;
            }
        }
        Ok(counts)
    }

    fn rewrite(&mut self, original: &[u8], odd: bool, count: &mut Count) -> Result<Vec<u8>> {
        let mut selector = self.probes.clone();
        let outcome = self
            .rewriter
            .rewrite(original, &mut selector, |len| Some(vec![0; len]))?;
        let report = self.rewriter.report();
        count.classes += 1;
        count.instrumented += report.instrumented;
        for left in &report.left_alone {
            *count.left_alone.entry(left.reason.word()).or_default() += 1;
            ensure!(odd || left.reason.word() != "unreadable", "{}", left.reason);
        }
        Ok(match outcome {
            Outcome::Rewritten(rewritten) => rewritten,
            Outcome::Unchanged => original.to_vec(),
        })
    }
}

fn check(case: &Case, verdict: &Verdict, whole: bool) -> Result<()> {
    let name = &case.name;
    if let Err(error) = &verdict.original.link {
        bail!("the original class of {name} does not link: {error}");
    }
    ensure!(
        verdict.original.ran().is_some() || !case.runs,
        "the original of {name} did not run: {:?}",
        verdict.original.run
    );
    ensure!(
        !verdict.nondeterministic,
        "the original of {name} has two different results"
    );
    ensure!(verdict.rewritten.is_some(), "{name} was not judged");
    if let Some(disagreement) = verdict.disagreement() {
        bail!("{name}: {disagreement}");
    }
    // A method without probes does not remove the entries of callees that throw, so the path may be
    // left unbalanced.
    if let Some(unbalanced) = verdict.unbalanced().filter(|_| whole) {
        bail!("{name}: the tracker is out of balance: {unbalanced}");
    }
    Ok(())
}
