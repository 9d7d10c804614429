//! Writes judgements and tests as JSON.

use serde_json::{Value, json};

use crate::analysis::diff::{Judgement, Plan, Ratio};
use crate::analysis::statistics::{LEVEL, confidence};

/// A judgement in JSON; an infinite ratio is null.
pub(super) fn judgement(judgement: &Judgement) -> Value {
    let finite = |of: fn(&Ratio) -> f64| {
        let value = judgement.ratio.as_ref().map(of);
        value.filter(|value| value.is_finite())
    };
    json!({
        "verdict": judgement.verdict.as_str(),
        "median_before": judgement.before.map(|value| value.round()),
        "median_after": judgement.after.map(|value| value.round()),
        "ratio": finite(|ratio| ratio.estimate),
        "ratio_low": finite(|ratio| ratio.low),
        "ratio_high": finite(|ratio| ratio.high),
        "p": judgement.p,
        "q": judgement.q,
    })
}

/// The statistical test in JSON; null for single runs.
pub(super) fn test(plan: &Plan) -> Value {
    if plan.is_tested() {
        json!({
            "name": "Mann-Whitney U",
            "correction": "Benjamini-Hochberg",
            "false_discovery_rate": LEVEL,
            "smallest_p": plan.smallest_p(),
            "tested": plan.tested,
            "worth_testing": plan.worth_testing,
            "runs_needed": plan.runs_needed(),
            "confidence": confidence(plan.runs[0], plan.runs[1]),
        })
    } else {
        Value::Null
    }
}
