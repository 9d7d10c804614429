//! Decides which of many values changed between several runs of two sides.
//!
//! Only the largest values are tested. With *n* runs of each side no p-value is below a limit
//! ([`smallest_p`]), so if all methods of a program were tested at once, no single change could
//! pass the correction. The largest values are chosen by all runs together, so the choice favours
//! no side.

use crate::analysis::statistics::{
    LEVEL, Ratio, adjusted, mann_whitney, median, most_tests, ratio, runs_needed, smallest_p,
};

/// The share of the total below which a value does not justify more runs.
const WORTH_TESTING: f64 = 0.001;

/// The verdict on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The difference is larger than chance explains, after the correction.
    Changed,
    /// The value occurs in every run of the second side and in none of the first. This is exact and
    /// needs no test.
    New,
    /// The value occurs in every run of the first side and in none of the second. This is exact and
    /// needs no test.
    Gone,
    /// The value was tested; its difference cannot be distinguished from noise.
    Undecided,
    /// The value was not tested: a side has a single run, or the value is too small for this number
    /// of runs.
    Untested,
}

impl Verdict {
    /// Returns the number of the table's group that lists values with this verdict.
    pub(crate) fn group(self) -> u8 {
        match self {
            Verdict::Changed => 0,
            Verdict::New | Verdict::Gone => 1,
            Verdict::Undecided | Verdict::Untested => 2,
        }
    }

    /// Returns the verdict's name in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Verdict::Changed => "changed",
            Verdict::New => "new",
            Verdict::Gone => "gone",
            Verdict::Undecided => "undecided",
            Verdict::Untested => "untested",
        }
    }
}

/// The statistics of one value over the runs of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The median over the first side's runs that have the value.
    pub before: Option<f64>,
    /// The median over the second side's runs that have the value.
    pub after: Option<f64>,
    /// The ratio of the sides; `None` unless both have several runs.
    pub ratio: Option<Ratio>,
    /// The two-sided p-value of the rank test; `None` if it was not tested.
    pub p: Option<f64>,
    /// `p` corrected for the number of values tested.
    pub q: Option<f64>,
    /// True if some of the values are lower bounds. Then they are not tested, and have no ratio.
    pub is_bound: bool,
}

impl Judgement {
    /// Returns the difference of the medians. An unknown median counts as 0. The difference of lower bounds is unknown,
    /// and counts as 0.
    pub(crate) fn size(&self) -> f64 {
        if self.is_bound {
            return 0.0;
        }
        let [before, after] = [self.before, self.after].map(|side| side.unwrap_or(0.0));
        (after - before).abs()
    }
}

/// One value in all runs of both sides. For each run: true if the value occurred, and the value if
/// it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    pub(crate) sides: [Vec<(bool, Option<f64>)>; 2],
    /// True if some of the values are lower bounds.
    pub(crate) is_bound: bool,
}

impl Values {
    fn known(&self, side: usize) -> Vec<f64> {
        self.sides[side]
            .iter()
            .filter_map(|(_, value)| *value)
            .collect()
    }

    fn in_all(&self, side: usize) -> bool {
        self.sides[side].iter().all(|(occurs, _)| *occurs)
    }

    fn in_none(&self, side: usize) -> bool {
        self.sides[side].iter().all(|(occurs, _)| !occurs)
    }

    /// Returns the sum of the values over all runs of both sides.
    fn size(&self) -> f64 {
        self.known(0).iter().chain(&self.known(1)).sum()
    }
}

/// The number of runs, and the number of tests that these runs allow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The number of runs of each side.
    pub runs: [usize; 2],
    /// The number of values that were tested.
    pub tested: usize,
    /// The number of values that are large enough to be worth a test.
    pub worth_testing: usize,
}

impl Plan {
    /// Returns whether both sides have several runs.
    pub fn is_tested(&self) -> bool {
        self.runs.iter().all(|runs| *runs > 1)
    }

    /// Returns the number of the group in which a value is listed. Without tests there is one
    /// group.
    pub(crate) fn group(&self, judgement: &Judgement) -> u8 {
        if self.is_tested() {
            judgement.verdict.group()
        } else {
            0
        }
    }

    /// Returns the smallest p-value that this number of runs can have.
    pub(crate) fn smallest_p(&self) -> f64 {
        smallest_p(self.runs[0], self.runs[1])
    }

    /// Returns how many runs each side needs so that every value worth testing can be tested.
    pub(crate) fn runs_needed(&self) -> usize {
        runs_needed(self.worth_testing.max(1))
    }
}

/// Judges every value. The false discovery rate among the changed values is at most [`LEVEL`].
pub(crate) fn judge(values: &[Values], runs: [usize; 2]) -> (Vec<Judgement>, Plan) {
    let mut judgements: Vec<Judgement> = values.iter().map(|value| untested(value, runs)).collect();
    let sizes: Vec<f64> = values.iter().map(Values::size).collect();
    let whole: f64 = sizes.iter().sum();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.retain(|at| {
        judgements[*at].verdict == Verdict::Untested
            && !values[*at].is_bound
            && sizes[*at] > 0.0
            && sizes[*at] >= WORTH_TESTING * whole
    });
    order.sort_by(|a, b| sizes[*b].total_cmp(&sizes[*a]));
    let mut plan = Plan {
        runs,
        tested: 0,
        worth_testing: order.len(),
    };
    if !plan.is_tested() {
        return (judgements, plan);
    }
    order.truncate(most_tests(runs[0], runs[1]));
    plan.tested = order.len();
    let p: Vec<f64> = order
        .iter()
        .map(|at| mann_whitney(&values[*at].known(0), &values[*at].known(1)))
        .collect();
    for ((at, p), q) in order.iter().zip(&p).zip(adjusted(&p)) {
        let judgement = &mut judgements[*at];
        judgement.p = Some(*p);
        judgement.q = Some(q);
        judgement.verdict = if q <= LEVEL + 1e-12 {
            Verdict::Changed
        } else {
            Verdict::Undecided
        };
    }
    (judgements, plan)
}

/// Judges one value alone, without a correction.
pub(crate) fn judge_alone(value: &Values, runs: [usize; 2]) -> Judgement {
    let mut judgement = untested(value, runs);
    if runs.iter().all(|runs| *runs > 1) && !value.is_bound {
        let p = mann_whitney(&value.known(0), &value.known(1));
        judgement.p = Some(p);
        judgement.verdict = if p <= LEVEL {
            Verdict::Changed
        } else {
            Verdict::Undecided
        };
    }
    judgement
}

fn untested(value: &Values, runs: [usize; 2]) -> Judgement {
    let verdict = match () {
        () if value.in_none(0) && value.in_all(1) => Verdict::New,
        () if value.in_all(0) && value.in_none(1) => Verdict::Gone,
        () => Verdict::Untested,
    };
    let [before, after] = [value.known(0), value.known(1)];
    let has_ratio = runs.iter().all(|runs| *runs > 1) && !value.is_bound;
    Judgement {
        verdict,
        before: median(&before),
        after: median(&after),
        ratio: has_ratio.then(|| ratio(&before, &after)).flatten(),
        p: None,
        q: None,
        is_bound: value.is_bound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pseudo-random generator with a fixed seed: each run of the tests gets the same numbers.
    struct Random(u64);

    impl Random {
        /// Draws a number from 0 to 1.
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Draws noise like that of times: skewed, with some outliers.
        fn noise(&mut self) -> f64 {
            let outlier = if self.next() < 0.05 { 3.0 } else { 1.0 };
            outlier * (0.3 * (self.next() + self.next() + self.next() - 1.5)).exp()
        }
    }

    /// Draws the values of `methods` methods in the given numbers of runs of each side. A slow run
    /// slows all its methods. The first `changed` methods take twice as long on the second side.
    fn runs(random: &mut Random, methods: usize, runs: [usize; 2], changed: usize) -> Vec<Values> {
        let mut values = vec![Values::default(); methods];
        for (side, runs) in runs.into_iter().enumerate() {
            for _ in 0..runs {
                let common = random.noise();
                for (at, value) in values.iter_mut().enumerate() {
                    let more = if side == 1 && at < changed { 4.0 } else { 1.0 };
                    let time = 1e9 / (at + 1) as f64 * more * common.sqrt() * random.noise();
                    value.sides[side].push((true, Some(time)));
                }
            }
        }
        values
    }

    #[test]
    fn runs_of_one_program_show_no_change() {
        let mut random = Random(7);
        for sides in [[4, 4], [5, 5], [5, 7], [8, 8]] {
            let rounds = 200;
            let mut with_changes = 0;
            for _ in 0..rounds {
                let (judgements, _) = judge(&runs(&mut random, 30, sides, 0), sides);
                with_changes +=
                    usize::from(judgements.iter().any(|j| j.verdict == Verdict::Changed));
            }
            // The expected 5 % of 200, plus three standard deviations.
            assert!(with_changes <= 19, "{sides:?}: {with_changes}");
        }
    }

    #[test]
    fn false_discoveries_are_as_few_as_promised() {
        let mut random = Random(11);
        let sides = [8, 8];
        let mut rate = 0.0;
        let mut found = 0;
        for _ in 0..100 {
            let (judgements, plan) = judge(&runs(&mut random, 40, sides, 10), sides);
            assert_eq!(plan.tested, plan.worth_testing);
            let changed = |range: std::ops::Range<usize>| {
                judgements[range]
                    .iter()
                    .filter(|j| j.verdict == Verdict::Changed)
                    .count()
            };
            let (right, wrong) = (changed(0..10), changed(10..40));
            rate += wrong as f64 / (right + wrong).max(1) as f64 / 100.0;
            found += right;
        }
        assert!(rate < 0.06, "{rate}");
        assert!(
            found > 750,
            "more than 750 of 1,000 changes should be found, but {found} were"
        );
    }

    #[test]
    fn a_single_change_is_found_by_five_runs() {
        let mut random = Random(5);
        let mut found = 0;
        for _ in 0..100 {
            let (judgements, plan) = judge(&runs(&mut random, 60, [5, 5], 1), [5, 5]);
            assert_eq!((plan.tested, plan.runs_needed()), (6, 7));
            found += usize::from(judgements[0].verdict == Verdict::Changed);
        }
        assert!(found > 80, "{found}");
    }

    #[test]
    fn three_runs_allow_no_test() {
        let mut random = Random(3);
        let (judgements, plan) = judge(&runs(&mut random, 9, [3, 3], 9), [3, 3]);
        assert!(
            judgements
                .iter()
                .all(|j| j.verdict == Verdict::Untested && j.ratio.is_some())
        );
        assert_eq!((plan.tested, plan.worth_testing), (0, 9));
        assert!((plan.smallest_p() - 0.1).abs() < 1e-12);
        assert!(
            !judge(&runs(&mut random, 9, [1, 5], 9), [1, 5])
                .1
                .is_tested()
        );
    }

    #[test]
    fn values_of_one_side_only_need_no_test() {
        let side = |occurs: [bool; 5]| {
            occurs
                .map(|occurs| (occurs, Some(f64::from(u8::from(occurs)))))
                .to_vec()
        };
        let some = [true, false, true, true, true];
        let values = |before, after| Values {
            sides: [side(before), side(after)],
            is_bound: false,
        };
        let mut all = [
            values([false; 5], [true; 5]),
            values([true; 5], [false; 5]),
            values([false; 5], some),
        ];
        let (judgements, _) = judge(&all, [5, 5]);
        let verdicts: Vec<Verdict> = judgements.iter().map(|j| j.verdict).collect();
        assert_eq!(verdicts, [Verdict::New, Verdict::Gone, Verdict::Changed]);
        // Lower bounds are not tested.
        all[2].is_bound = true;
        let (judgements, plan) = judge(&all, [5, 5]);
        assert_eq!((plan.tested, plan.worth_testing), (0, 0));
        let bound = judgements[2];
        assert_eq!(bound.verdict, Verdict::Untested);
        assert_eq!((bound.ratio, bound.p, bound.size()), (None, None, 0.0));
        assert_eq!(judge_alone(&all[2], [5, 5]), bound);
    }
}
