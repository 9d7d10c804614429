//! The order of a table's rows, and their shares.

/// A row with its shares in percent.
pub(super) struct Ranked<T> {
    pub(super) of: T,
    /// The row's share of the sum of all rows, in percent.
    pub(super) own: f64,
    /// The sum of the shares of this row and of the rows above it, in percent.
    pub(super) accumulated: f64,
}

/// Orders the rows of a table, the largest first. At most `top` rows are kept, and only rows whose share is at least
/// the cutoff. `weight` returns the weight of a row.
pub(super) fn ranked<T>(
    mut rows: Vec<T>,
    top: Option<usize>,
    cutoff: f64,
    weight: impl Fn(&T) -> f64,
) -> Vec<Ranked<T>> {
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let whole: f64 = rows.iter().map(&weight).sum();
    let share = |part: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mut sum = 0.0;
    let mut ranked = Vec::new();
    for row in rows.into_iter().take(top.unwrap_or(usize::MAX)) {
        let weight = weight(&row);
        if share(weight) < cutoff {
            break;
        }
        sum += weight;
        ranked.push(Ranked {
            of: row,
            own: 100.0 * share(weight),
            accumulated: 100.0 * share(sum),
        });
    }
    ranked
}
