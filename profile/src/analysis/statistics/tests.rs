use proptest::prelude::*;

use super::*;

/// Returns the p-value by its definition: the share of all ways to distribute the values that are
/// at least as one-sided.
fn enumerated(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let u = |chosen: u32| {
        let is_in = |at: usize| chosen >> at & 1 == 1;
        let mut u = 0.0;
        for (i, x) in all.iter().enumerate().filter(|(i, _)| is_in(*i)) {
            for (_, y) in all
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i && !is_in(*j))
            {
                u += if x > y {
                    1.0
                } else if x == y {
                    0.5
                } else {
                    0.0
                };
            }
        }
        u
    };
    let middle = (a.len() * b.len()) as f64 / 2.0;
    let observed = (u((1 << a.len()) - 1) - middle).abs();
    let ways = (0..1u32 << all.len()).filter(|chosen| chosen.count_ones() as usize == a.len());
    let distances: Vec<f64> = ways.map(|chosen| (u(chosen) - middle).abs()).collect();
    let as_far = distances.iter().filter(|distance| **distance >= observed);
    as_far.count() as f64 / distances.len() as f64
}

/// Returns two groups of values with the U statistic `u`. U is the number of pairs in which the
/// value of the second group is the smaller one.
fn with_u(size: usize, other: usize, u: usize) -> (Vec<f64>, Vec<f64>) {
    let mut left = u;
    let mut a = Vec::new();
    for at in (0..size).rev() {
        let below = left.min(other);
        left -= below;
        // Distinct values between two values of the other group.
        a.push(below as f64 + 0.25 + at as f64 / 1000.0);
    }
    (a, (1..=other).map(|at| at as f64).collect())
}

/// Critical values of U, two-sided at 5 %, from statistical tables.
#[test]
fn critical_values_are_those_of_the_tables() {
    for (m, n, critical) in [
        (3, 5, 0),
        (4, 4, 0),
        (5, 5, 2),
        (5, 8, 6),
        (6, 6, 5),
        (7, 7, 8),
        (8, 8, 13),
        (9, 9, 17),
        (10, 10, 23),
        (12, 12, 37),
        (15, 15, 64),
        (20, 20, 127),
    ] {
        let p = |u| {
            let (a, b) = with_u(m, n, u);
            mann_whitney(&a, &b)
        };
        assert!(p(critical) <= 0.05, "{m} {n}: {}", p(critical));
        assert!(p(critical + 1) > 0.05, "{m} {n}: {}", p(critical + 1));
    }
}

#[test]
fn few_runs_have_large_p_values() {
    assert_eq!(smallest_p(1, 1), 1.0);
    assert!((smallest_p(3, 3) - 0.1).abs() < 1e-12);
    assert!((smallest_p(5, 5) - 2.0 / 252.0).abs() < 1e-12);
    let tests: Vec<usize> = (2..9).map(|runs| most_tests(runs, runs)).collect();
    assert_eq!(tests, [0, 0, 1, 6, 23, 85, 321]);
    let needed: Vec<usize> = [1, 6, 7, 24, 300].map(runs_needed).into();
    assert_eq!(needed, [4, 5, 6, 7, 8]);
    for runs in 2..9 {
        let above: Vec<f64> = (runs..2 * runs).map(|at| at as f64).collect();
        let below: Vec<f64> = (0..runs).map(|at| at as f64).collect();
        let p = mann_whitney(&above, &below);
        assert!((p - smallest_p(runs, runs)).abs() < 1e-12, "{p}");
    }
}

/// The exact test and the approximation agree near the number of runs at which one replaces the
/// other.
#[test]
fn many_runs_use_the_normal_approximation() {
    let (a, b) = with_u(20, 20, 127);
    let ranks = doubled_ranks(&a, &b);
    let mut more = b.clone();
    more.push(21.0);
    let exact = mann_whitney(&a, &b);
    let distance = ranks[..20].iter().sum::<usize>().abs_diff(20 * 41);
    let normal = normal_p(&ranks, 20, distance);
    assert!((exact - normal).abs() < 0.002, "{exact} {normal}");
    assert!(
        mann_whitney(&a, &more) < exact,
        "a larger value must make the difference surer"
    );
    assert_eq!(normal_p(&[42; 41], 20, 0), 1.0);
    for (z, tail) in [
        (0.0, 0.5),
        (1.0, 0.158_655_25),
        (1.96, 0.024_997_9),
        (4.0, 3.167_12e-5),
        (6.0, 9.865_88e-10),
    ] {
        assert!((upper_tail(z) / tail - 1.0).abs() < 1e-5, "{z}");
    }
}

#[test]
fn ratios_have_intervals() {
    let before = [10.0, 11.0, 12.0, 13.0, 14.0];
    let after: Vec<f64> = before.iter().map(|value| 2.0 * value).collect();
    let double = ratio(&before, &after).expect("both sides have values");
    assert!((double.estimate - 2.0).abs() < 0.05, "{double:?}");
    assert!(1.5 < double.low && double.low < 2.0 && 2.0 < double.high && double.high < 2.6);
    // Conover's table: for 5 and 5 runs the third ratio from either end, at 96.8 %.
    assert_eq!(outside(5, 5).0, 2);
    assert!((confidence(5, 5) - 0.968).abs() < 5e-4);
    assert_eq!(outside(4, 4).0, 0);
    assert!(
        (confidence(3, 3) - 0.9).abs() < 1e-12,
        "three values a side allow no more confidence than 0.9"
    );
    let none = ratio(&[0.0; 5], &[1.0; 5]).expect("both sides have values");
    assert_eq!(
        (none.estimate, none.low, none.high),
        (f64::INFINITY, f64::INFINITY, f64::INFINITY)
    );
    let gone = ratio(&[1.0; 5], &[0.0; 5]).expect("both sides have values");
    assert_eq!((gone.estimate, gone.high), (0.0, 0.0));
    let nothing = ratio(&[0.0; 2], &[0.0; 2]).expect("both sides have values");
    assert_eq!(nothing.estimate, 1.0);
    assert_eq!(ratio(&[], &[1.0]), None);
}

#[test]
fn corrected_values_are_those_of_benjamini_and_hochberg() {
    // The example of Benjamini and Hochberg, 1995: four of fifteen pass at 5 %.
    let p = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0000,
    ];
    let mut shuffled = p.to_vec();
    shuffled.reverse();
    let passed = adjusted(&shuffled);
    assert_eq!(passed.iter().filter(|q| **q <= 0.05).count(), 4);
    assert!((passed[14] - 0.0015).abs() < 1e-12);
    assert_eq!(adjusted(&[]), Vec::<f64>::new());
}

proptest! {
    #[test]
    fn p_is_the_share_of_enumerated_rankings(
        a in prop::collection::vec(0u8..9, 1..6),
        b in prop::collection::vec(0u8..9, 1..6),
    ) {
        let [a, b] = [a, b].map(|side| side.into_iter().map(f64::from).collect::<Vec<_>>());
        let p = mann_whitney(&a, &b);
        prop_assert!((p - enumerated(&a, &b)).abs() < 1e-9);
        prop_assert!((p - mann_whitney(&b, &a)).abs() < 1e-9);
    }

    /// Without ties, the interval contains 1 exactly if the test does not reject.
    #[test]
    fn interval_and_test_agree(
        values in prop::collection::hash_set(1u32..100_000, 10),
        split in 4usize..7,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let (a, b) = values.split_at(split);
        let ratio = ratio(a, b).expect("both sides have values");
        let is_outside = ratio.low > 1.0 || ratio.high < 1.0;
        let level = 1.0 - confidence(a.len(), b.len());
        prop_assert_eq!(is_outside, mann_whitney(a, b) <= level + 1e-9);
        prop_assert!(ratio.low <= ratio.estimate && ratio.estimate <= ratio.high);
    }
}
