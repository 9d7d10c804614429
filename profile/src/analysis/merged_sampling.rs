//! Merges the circumstances of the samples of several profiles.

use crate::model::Sampling;

/// The error for samples that were taken in different ways, which cannot be added.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DifferentEngines;

/// Merges the circumstances of samples. The time between two samples is the mean, weighed by the
/// number of samples.
pub(super) fn sum(
    mut parts: impl Iterator<Item = Sampling>,
) -> Result<Option<Sampling>, DifferentEngines> {
    let Some(first) = parts.next() else {
        return Ok(None);
    };
    let mut sum = first;
    let mut ticks = first.tick_ns as f64 * first.samples as f64;
    for part in parts {
        if part.engine != sum.engine {
            return Err(DifferentEngines);
        }
        ticks += part.tick_ns as f64 * part.samples as f64;
        sum.interval_ns = sum.interval_ns.max(part.interval_ns);
        sum.tick_ns = sum.tick_ns.max(part.tick_ns);
        sum.wall_interval_ns = sum.wall_interval_ns.max(part.wall_interval_ns);
        for (sum, more) in [
            (&mut sum.samples, part.samples),
            (&mut sum.weight_ns, part.weight_ns),
            (&mut sum.tracker_ns, part.tracker_ns),
            (&mut sum.tracker, part.tracker),
            (&mut sum.unwalked_ns, part.unwalked_ns),
            (&mut sum.unwalked, part.unwalked),
            (&mut sum.cut, part.cut),
            (&mut sum.lost, part.lost),
            (&mut sum.compared, part.compared),
            (&mut sum.equal, part.equal),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
    if sum.samples > first.samples {
        sum.tick_ns = (ticks / sum.samples as f64).round() as u64;
    }
    Ok(Some(sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Engine;

    #[test]
    fn distances_are_means_and_numbers_are_sums() {
        let part = |samples, tick_ns| Sampling {
            samples,
            tick_ns,
            weight_ns: samples * tick_ns,
            ..Sampling::default()
        };
        let merged = sum([part(300, 1_000), part(100, 5_000)].into_iter());
        assert_eq!(
            merged,
            Ok(Some(Sampling {
                samples: 400,
                tick_ns: 2_000,
                weight_ns: 800_000,
                ..Sampling::default()
            }))
        );
        assert_eq!(sum([].into_iter()), Ok(None));
        let biased = Sampling {
            engine: Engine::Safepoint,
            ..part(1, 1)
        };
        assert_eq!(sum([part(1, 1), biased].into_iter()), Err(DifferentEngines));
    }
}
