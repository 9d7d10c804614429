//! Sentences that say how much the runs of a comparison can show.

use super::groups::p_value;
use crate::analysis::diff::{Judgement, Plan, Verdict};
use crate::model::Header;
use loadhook_text::units;

/// The command that compares several runs, for the sentences that recommend it.
const HOW: &str = "loadhook report --diff BEFORE… -- AFTER…";

/// Returns the lines below a table that explain its tests; `things` are methods or places.
pub(super) fn below(plan: &Plan, headers: &[Vec<Header>; 2], things: &str) -> Vec<String> {
    let [before, after] = plan.runs;
    let mut told = Vec::new();
    let needed = plan.runs_needed();
    if !plan.is_tested() {
        let what = match plan.runs {
            [1, 1] => "One run of each side cannot tell noise from change",
            _ => "Noise cannot be distinguished from change without several runs of both sides",
        };
        told.push(format!(
            "{what}. Run each side {needed} times, in turn, then: {HOW}"
        ));
        return told;
    }
    if plan.tested == 0 && plan.worth_testing > 0 {
        told.push(format!(
            "{before} + {after} runs cannot tell any change from noise: their smallest p-value is {}. \
             Run each side at least 4 times; {needed} times to find one change among {} {things}.",
            p_value(plan.smallest_p()),
            units::count(plan.worth_testing as u64),
        ));
    } else if plan.tested < plan.worth_testing {
        let largest = match plan.tested {
            1 => format!("the largest of the {things}"),
            tested => format!("the {tested} largest {things}"),
        };
        told.push(format!(
            "With {before} + {after} runs only {largest} can be tested. \
             Run each side {needed} times to test all {} that have 0.1 % of the total or more.",
            plan.worth_testing
        ));
    }
    if plan.tested > 0 {
        told.push(
            "changed: q ≤ 0.05 in a rank test (Mann-Whitney), corrected for the number of tests \
             (Benjamini-Hochberg); of these, 1 in 20 is expected to be unchanged"
                .to_owned(),
        );
    }
    told.push("ratio: after / before, the median over all pairs of runs".to_owned());
    if is_one_after_the_other(headers) {
        told.push(
            "warning: all runs of one side were made before those of the other; a change of the machine in \
             between would look like a change of the program. Run the two sides in turn."
                .to_owned(),
        );
    }
    told
}

/// Returns whether all runs of one side were made before those of the other.
fn is_one_after_the_other(headers: &[Vec<Header>; 2]) -> bool {
    let starts = |side: &[Header]| {
        let starts = side.iter().map(|header| header.start_epoch_millis);
        starts.clone().min().zip(starts.max())
    };
    match [&headers[0], &headers[1]].map(|side| starts(side)) {
        [
            Some((first_before, last_before)),
            Some((first_after, last_after)),
        ] => last_before < first_after || last_after < first_before,
        _ => false,
    }
}

/// A side of a comparison.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Before,
    After,
}

/// Returns the line that says how all methods or places together changed. `what` names the value,
/// `number` formats it.
pub(super) fn whole(
    judgement: &Judgement,
    plan: &Plan,
    what: &str,
    number: impl Fn(Side, f64) -> String,
) -> Option<String> {
    let (before, after) = judgement.before.zip(judgement.after)?;
    let [before, after] =
        [(Side::Before, before), (Side::After, after)].map(|(side, value)| number(side, value));
    let mut told = format!("{what}: {before} before, {after} after");
    if let Some(ratio) = judgement.ratio {
        let [estimate, low, high] =
            [ratio.estimate, ratio.low, ratio.high].map(super::groups::number);
        let title = super::groups::interval_title(plan.runs);
        told += &format!(", ratio {estimate} ({title} {low} to {high})");
    }
    if let Some(p) = judgement.p {
        let what = match judgement.verdict {
            Verdict::Changed => "changed",
            _ => "not distinguishable from noise",
        };
        told += &format!(": {what}, p = {}", p_value(p));
    }
    Some(told)
}

/// Returns a number of runs in words: `5 runs`.
pub(super) fn runs(count: usize) -> String {
    units::counted(count as u64, "run", "runs")
}
