//! Statistics that compare several runs with several others.
//!
//! Times of runs are skewed and have outliers, so nothing here assumes a distribution:
//!
//! - [`mann_whitney`], the rank test. Its p-value is the probability that chance alone ranks the runs as one-sidedly
//!   as these. It is exact up to [`MOST_EXACT`] runs, also with ties: tied values get their mean rank, and the
//!   distribution is computed from these ranks.
//! - [`ratio`], the Hodges–Lehmann estimate on logarithms: the median of the ratios of all pairs of
//!   runs. Its interval contains the ratios that the rank test does not reject.
//! - [`adjusted`], the correction of Benjamini and Hochberg. Among the methods that it passes at 5 %, one in
//!   twenty is expected to be unchanged. The correction holds for positively correlated tests. The tests of
//!   methods are positively correlated, since a slow run slows all methods. A correction like Bonferroni's, which
//!   allows no false positive at all, finds fewer changes.

/// The maximum number of runs, both sides together, for which the distribution of ranks is exact.
/// With more runs, the sum of ranks is taken as normal.
const MOST_EXACT: usize = 40;

/// The probability outside of intervals, and the false discovery rate.
pub(crate) const LEVEL: f64 = 0.05;

/// The 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median of the ratios of all pairs; infinite if most values of the first side are 0.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end; may be infinite.
    pub high: f64,
}

/// Returns the two-sided p-value of the rank test of Mann and Whitney (Wilcoxon's rank-sum test).
pub(crate) fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let ranks = doubled_ranks(a, b);
    let total = ranks.len();
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    // The smaller group is used, because it has fewer possible sums.
    let (own, size) = if a.len() <= b.len() {
        (&ranks[..a.len()], a.len())
    } else {
        (&ranks[a.len()..], b.len())
    };
    let observed: usize = own.iter().sum();
    let mean = size * (total + 1);
    let distance = observed.abs_diff(mean);
    if total > MOST_EXACT {
        return normal_p(&ranks, size, distance);
    }
    let ways = ways_by_sum(&ranks, size);
    let as_far = ways.iter().enumerate();
    let as_far = as_far.filter(|(sum, _)| sum.abs_diff(mean) >= distance);
    let as_far: f64 = as_far.map(|(_, ways)| ways).sum();
    (as_far / ways.iter().sum::<f64>()).min(1.0)
}

/// Returns twice the rank of each value among all values, first for the values of `a`, then for
/// those of `b`. Ranks begin at 1; equal values share their mean rank.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|x, y| values[*x].total_cmp(&values[*y]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let is_equal = |at: &&usize| values[**at] == values[order[first]];
        let equal = order[first..].iter().take_while(is_equal).count().max(1);
        for at in &order[first..first + equal] {
            ranks[*at] = 2 * first + equal + 1;
        }
        first += equal;
    }
    ranks
}

/// Returns, for each sum, the number of ways to choose `size` of the ranks that add up to it.
fn ways_by_sum(ranks: &[usize], size: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    // Indexed by the number of chosen ranks, then by their sum.
    let mut ways = vec![vec![0.0; most + 1]; size + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for chosen in (1..=size).rev() {
            for sum in *rank..=most {
                ways[chosen][sum] += ways[chosen - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(size)
}

/// Returns the p-value by the normal approximation. The variance takes ties into account; half a
/// rank is taken off the distance, because ranks are whole numbers.
fn normal_p(doubled_ranks: &[usize], size: usize, distance: usize) -> f64 {
    let total = doubled_ranks.len() as f64;
    let size = size as f64;
    let mean = total + 1.0;
    let squares = doubled_ranks
        .iter()
        .map(|rank| (*rank as f64 - mean).powi(2));
    let variance = squares.sum::<f64>() * size * (total - size) / (total * (total - 1.0));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance as f64 - 1.0).max(0.0) / variance.sqrt();
    (2.0 * upper_tail(z)).min(1.0)
}

/// Returns the probability of a standard normal value above `z` ≥ 0.
fn upper_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 5.0 {
        // Laplace's continued fraction, from the inside out.
        let below = (1..=30)
            .rev()
            .fold(z, |below, at| z + f64::from(at) / below);
        return density / below;
    }
    // z + z³/3 + z⁵/(3·5) + …
    let mut term = z;
    let mut sum = z;
    let mut odd = 3.0;
    while term > 1e-17 {
        term *= z * z / odd;
        sum += term;
        odd += 2.0;
    }
    (0.5 - density * sum).max(0.0)
}

/// Returns the smallest p-value that these numbers of runs can have. It occurs if all runs of one
/// side rank above all runs of the other side.
pub(crate) fn smallest_p(before: usize, after: usize) -> f64 {
    let mut ways = 1.0;
    for at in 1..=before {
        ways *= (after + at) as f64 / at as f64;
    }
    (2.0 / ways).min(1.0)
}

/// Returns the maximum number of tested methods with which a single changed method passes the
/// correction.
pub(crate) fn most_tests(before: usize, after: usize) -> usize {
    // 0.05 / (0.05/6) must be 6, in spite of rounding errors.
    (LEVEL / smallest_p(before, after) + 1e-9) as usize
}

/// Returns how many runs each side needs so that this number of tests is possible.
pub(crate) fn runs_needed(tests: usize) -> usize {
    (1..)
        .find(|runs| most_tests(*runs, *runs) >= tests)
        .unwrap_or(usize::MAX)
}

/// Returns the ratio of `after` to `before` with its interval; `None` without values. A pair of
/// zeros has the ratio 1.
pub(crate) fn ratio(before: &[f64], after: &[f64]) -> Option<Ratio> {
    let mut ratios: Vec<f64> = Vec::with_capacity(before.len() * after.len());
    for b in before {
        ratios.extend(after.iter().map(|a| if a == b { 1.0 } else { a / b }));
    }
    ratios.sort_by(f64::total_cmp);
    let last = ratios.len().checked_sub(1)?;
    let [lower, upper] = [ratios[last / 2], ratios[last.div_ceil(2)]];
    let outside = outside(before.len(), after.len()).0;
    Some(Ratio {
        estimate: if lower == upper {
            lower
        } else {
            (lower * upper).sqrt()
        },
        low: ratios[outside],
        high: ratios[last - outside],
    })
}

/// Returns the confidence of an interval: at least 0.95 if there are enough runs, otherwise the
/// highest possible.
pub(crate) fn confidence(before: usize, after: usize) -> f64 {
    outside(before, after).1
}

/// Returns the number of ratios outside of the interval at each end, and the interval's confidence.
fn outside(before: usize, after: usize) -> (usize, f64) {
    let pairs = before * after;
    if before + after > MOST_EXACT {
        let deviation = (pairs as f64 * (before + after + 1) as f64 / 12.0).sqrt();
        let outside = pairs as f64 / 2.0 - NORMAL_QUANTILE * deviation;
        return (outside.max(0.0) as usize, 1.0 - LEVEL);
    }
    let ranks: Vec<usize> = (1..=before + after).collect();
    let ways = ways_by_sum(&ranks, before);
    let all: f64 = ways.iter().sum();
    // The smallest possible sum of ranks: 1 + 2 + … + `before`.
    let lowest = before * (before + 1) / 2;
    let mut below = 0.0;
    let mut outside = 0;
    let mut confidence = 0.0;
    for (at, ways) in ways[lowest..].iter().enumerate() {
        below += ways / all;
        if at > 0 && 2.0 * below > LEVEL {
            break;
        }
        outside = at;
        confidence = (1.0 - 2.0 * below).max(0.0);
    }
    (outside, confidence)
}

/// Returns the q-values of p-values. A q-value is the false discovery rate at which its p-value
/// passes the correction of Benjamini and Hochberg.
pub(crate) fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0f64;
    for (rank, at) in order.iter().enumerate().rev() {
        least = least.min(p[*at] * p.len() as f64 / (rank + 1) as f64);
        adjusted[*at] = least;
    }
    adjusted
}

/// Returns the middle value, or the mean of the middle two.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0)
}

#[cfg(test)]
mod tests;
