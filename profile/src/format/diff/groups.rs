//! Tables with lines in groups: changes, values of one side only, the others.

use std::io::{self, Write};

use crate::analysis::diff::{Judgement, Verdict};
use crate::analysis::statistics::confidence;
use crate::format::table::columns::{Column, text_table};
use loadhook_text::units;

const TITLES: [&str; 3] = [
    "changed",
    "on one side only, in all of its runs",
    "not distinguishable from noise",
];

/// Writes columns and names with a title above each group. `verdicts` has the verdict of each line.
pub(super) fn write(
    columns: &[Column],
    title: &str,
    names: &[impl AsRef<str>],
    verdicts: &[Verdict],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Vec::new();
    text_table(columns, title, names, width, &mut table)?;
    let table = String::from_utf8_lossy(&table);
    let mut lines = table.lines();
    if let Some(head) = lines.next() {
        writeln!(out, "{head}")?;
    }
    let mut last = None;
    for (line, verdict) in lines.zip(verdicts) {
        let group = verdict.group();
        if last != Some(group) {
            writeln!(out, "{}:", TITLES[usize::from(group)])?;
            last = Some(group);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Returns the columns with the ratio, its interval and the corrected p-value.
pub(super) fn columns<'j>(
    judgements: impl Iterator<Item = &'j Judgement> + Clone,
    runs: [usize; 2],
) -> [Column; 3] {
    let cells = |cell: &dyn Fn(&Judgement) -> String| judgements.clone().map(cell).collect();
    let estimate = |judgement: &Judgement| match (judgement.verdict, judgement.ratio) {
        (Verdict::New, _) => "new".to_owned(),
        (Verdict::Gone, _) => "gone".to_owned(),
        (_, Some(ratio)) => number(ratio.estimate),
        (_, None) => units::UNKNOWN.to_owned(),
    };
    let interval = |judgement: &Judgement| match (judgement.verdict, judgement.ratio) {
        (Verdict::New | Verdict::Gone, _) | (_, None) => String::new(),
        (_, Some(ratio)) => format!("{} to {}", number(ratio.low), number(ratio.high)),
    };
    let q = |judgement: &Judgement| match (judgement.verdict, judgement.q) {
        (Verdict::New | Verdict::Gone, _) => String::new(),
        (_, Some(q)) => p_value(q),
        (_, None) => units::UNKNOWN.to_owned(),
    };
    [
        Column::new("ratio", 0, cells(&estimate)),
        Column::new(&interval_title(runs), 0, cells(&interval)),
        Column::new("q", 1, cells(&q)),
    ]
}

/// Returns the title `96 % interval`. The percentage is rounded down, because the interval promises
/// at least that.
pub(super) fn interval_title([before, after]: [usize; 2]) -> String {
    format!(
        "{:.0} % interval",
        (100.0 * confidence(before, after) + 1e-9).floor()
    )
}

/// Returns a ratio with three digits, but at most two decimals.
pub(super) fn number(ratio: f64) -> String {
    match ratio {
        _ if ratio.is_infinite() => "∞".to_owned(),
        100.0.. => units::decimal(ratio, 0),
        10.0.. => units::decimal(ratio, 1),
        0.0995.. | 0.0 => units::decimal(ratio, 2),
        _ => units::decimal(ratio, 3),
    }
}

pub(super) fn p_value(p: f64) -> String {
    match p {
        ..0.0005 => "<0.001".to_owned(),
        _ => format!("{p:.3}"),
    }
}
