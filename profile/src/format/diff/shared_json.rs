//! Writes the parts of a comparison that methods and allocations share as JSON.

use serde_json::{Value, json};

use crate::analysis::diff::{Judgement, Plan, Ratio};
use crate::analysis::statistics::{LEVEL, confidence};
use crate::model::{Header, Method};

/// Returns a comparison in JSON without its changes. `measure` and `compared` are the words for the compared values.
pub(super) fn comparison(
    headers: &[Vec<Header>; 2],
    plan: &Plan,
    whole: &Judgement,
    measure: &str,
    compared: &str,
) -> Value {
    json!({
        "version": 3,
        "before": headers[0],
        "after": headers[1],
        "measure": measure,
        "compared": compared,
        "test": test(plan),
        "all": judgement(whole),
    })
}

/// Returns a change in JSON without its values; the names are null if no Java method was running.
pub(super) fn change(method: Option<&Method>, of: &Judgement) -> Value {
    let mut change = judgement(of);
    change["class"] = json!(method.map(|method| &*method.class));
    change["method"] = json!(method.map(|method| &*method.name));
    change["descriptor"] = json!(method.map(|method| &*method.descriptor));
    change["loader"] = json!(method.map(|method| &*method.loader));
    change
}

/// Returns a judgement in JSON; an infinite ratio is null.
fn judgement(judgement: &Judgement) -> Value {
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

/// Returns the statistical test in JSON; null for single runs.
fn test(plan: &Plan) -> Value {
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
