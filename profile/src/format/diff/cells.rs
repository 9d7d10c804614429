//! Lines and cells that comparisons of methods and of allocations share.

use loadhook_text::units::UNKNOWN;

use crate::analysis::diff::Judgement;

/// The share of the total below which unchanged values are counted, not listed.
pub(super) const SMALL: f64 = 0.001;

/// Returns the larger of the two medians.
pub(super) fn larger(judgement: &Judgement) -> f64 {
    let [before, after] = [judgement.before, judgement.after];
    before.unwrap_or(0.0).max(after.unwrap_or(0.0))
}

/// Returns whether a value is listed: if it changed, if only one side has it, or if it is at least
/// `small`.
pub(super) fn is_listed(judgement: &Judgement, small: f64) -> bool {
    judgement.verdict.group() < 2 || larger(judgement) >= small
}

/// Returns a difference with its sign; `number` formats a size. `~` marks a difference within twice
/// its standard error.
pub(super) fn growth(size: Option<f64>, error: f64, number: impl Fn(f64) -> String) -> String {
    let Some(size) = size else {
        return UNKNOWN.to_owned();
    };
    let is_noise = size != 0.0 && size.abs() <= 2.0 * error;
    let mark = if is_noise { "~" } else { "" };
    format!("{mark}{}", signed(size, number(size.abs())))
}

/// Returns a difference in percent; empty if the value before is 0.
pub(super) fn percent(size: f64, before: f64) -> String {
    let percent = 100.0 * size / before;
    if percent.is_finite() {
        format!("{percent:+.1}")
    } else {
        String::new()
    }
}

/// Returns `digits` with the sign of `value`.
pub(super) fn signed(value: f64, digits: String) -> String {
    match value {
        0.0 => digits,
        ..0.0 => format!("-{digits}"),
        _ => format!("+{digits}"),
    }
}
