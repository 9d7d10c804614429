//! Chooses how many classes one request to the JVM retransforms, so that pauses of the program are short.
//!
//! The JVM stops all threads for each request. The length of a stop has a fixed part, because HotSpot walks all
//! compiled code, and a part for each class. So a large request makes one long stop, and many small requests make stops
//! whose sum is too long.

use std::cell::Cell;
use std::time::{Duration, Instant};

use loadhook_settings::attach::AttachFigures;

/// Number of classes in one request before the program runs.
const AT_START: usize = 512;

/// Number of classes in the first request while the program runs.
const FIRST: usize = 32;

/// Maximum number of classes in a request while the program runs.
const MOST: usize = 1024;

/// The approximate maximum number of requests, applied if the number of classes is known beforehand. This limits the
/// sum of the fixed parts.
const MOST_REQUESTS: usize = 100;

/// Pauses between `SHORT` and `LONG` leave the number of classes in a request unchanged.
const SHORT: Duration = Duration::from_millis(15);
const LONG: Duration = Duration::from_millis(35);

/// The median of the pauses should not exceed this.
const BOUND: Duration = Duration::from_millis(50);

/// Number of pauses whose median is compared with the bound.
const FEW: usize = 5;

thread_local! {
    /// The time at which the last call of the hook in this thread ended.
    static HOOK_ENDED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Notes the end of a call of the hook.
pub(crate) fn hook_ends() {
    HOOK_ENDED.set(Some(Instant::now()));
}

/// The number of classes for the next request, and the pauses of the requests so far.
#[derive(Default)]
pub(crate) struct Pace {
    size: usize,
    least: usize,
    most: usize,
    pauses: Vec<Duration>,
    /// Index in `pauses` of the first pause with the present `size`.
    since: usize,
    /// The median pause with requests of half the size; `None` if `least` was not raised.
    before: Option<Duration>,
    /// True if `least` is not raised any more.
    is_settled: bool,
}

impl Pace {
    /// Makes the pace for the start of the JVM, when the program does not run yet.
    pub(crate) fn at_start() -> Pace {
        Pace {
            size: AT_START,
            least: AT_START,
            most: AT_START,
            ..Pace::default()
        }
    }

    /// Makes the pace for changing classes of a running program.
    pub(crate) fn running() -> Pace {
        Pace {
            size: FIRST,
            least: 1,
            most: MOST,
            ..Pace::default()
        }
    }

    /// Prepares for this number of classes: raises the size so that there are not too many requests.
    pub(super) fn expect(&mut self, classes: usize) {
        self.least = (classes / MOST_REQUESTS).clamp(self.least, self.most);
        self.size = self.size.max(self.least);
    }

    /// Returns the number of classes that the next request should have.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Runs a request and notes its pause.
    ///
    /// The JVM prepares the new code before it stops the program, and calls the hook for each class meanwhile. So the
    /// pause is at most the time from the end of the last hook call to the end of the request.
    pub(super) fn request<T>(&mut self, request: impl FnOnce() -> T) -> T {
        hook_ends();
        let result = request();
        if let Some(ended) = HOOK_ENDED.get() {
            self.note(ended.elapsed());
        }
        result
    }

    fn note(&mut self, pause: Duration) {
        self.pauses.push(pause);
        self.raise_least();
        let size = if pause > LONG {
            (self.size / 2).max(self.least)
        } else if pause < SHORT {
            (self.size * 2).min(self.most)
        } else {
            self.size
        };
        if size != self.size {
            self.size = size;
            self.since = self.pauses.len();
        }
    }

    /// Doubles the smallest size if even requests of this size exceed the bound, as long as the pauses then grow by
    /// less than a third. In this case the fixed part is nearly the whole pause, so fewer requests stop the program for
    /// a shorter time in all.
    fn raise_least(&mut self) {
        let recent = self.pauses.get(self.since..).unwrap_or_default();
        if self.is_settled || self.size != self.least || recent.len() < FEW {
            return;
        }
        let median = median(recent);
        if self.before.is_some_and(|before| median > before * 4 / 3) {
            self.least /= 2;
            self.is_settled = true;
        } else if median > BOUND && self.least < self.most {
            self.before = Some(median);
            self.least = (self.least * 2).min(self.most);
        }
        self.since = self.pauses.len();
        self.size = self.least;
    }

    /// Returns the figures of all requests so far.
    pub(super) fn figures(&self, classes: usize, refused: usize) -> AttachFigures {
        let pauses = &self.pauses;
        let longest = pauses.iter().copied().max().unwrap_or_default();
        let micros = |pause: Duration| u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        AttachFigures {
            classes: classes as u64,
            batches: pauses.len() as u64,
            median_pause_us: micros(median(pauses)),
            longest_pause_us: micros(longest),
            refused: refused as u64,
        }
    }
}

fn median(pauses: &[Duration]) -> Duration {
    let mut sorted = pauses.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates changes of classes. A pause has a fixed part and a part for each class, both in microseconds.
    fn change(classes: usize, fixed: u64, each: u64) -> AttachFigures {
        let mut pace = Pace::running();
        pace.expect(classes);
        let mut left = classes;
        while left > 0 {
            let some = pace.size().min(left);
            left -= some;
            pace.note(Duration::from_micros(fixed + each * some as u64));
        }
        pace.figures(classes, 0)
    }

    #[test]
    fn pauses_stay_short_and_few() {
        for (classes, fixed, each) in [(10, 500, 10), (10_000, 5_000, 100), (30_000, 1_000, 400)] {
            let figures = change(classes, fixed, each);
            assert!(
                figures.median_pause_us <= 50_000 || figures.batches <= 102,
                "{figures}"
            );
            assert!(figures.batches < 2000, "{figures}");
        }
        // Here each class makes the pause longer, so larger requests would not help.
        let figures = change(10_000, 1_000, 600);
        assert!(figures.median_pause_us <= 70_000, "{figures}");
        // Even a request for one class takes long here, so few requests matter most.
        for fixed in [55_000, 80_000] {
            let figures = change(10_000, fixed, 10);
            assert!(figures.batches <= 30, "{figures}");
        }
    }

    #[test]
    fn the_start_has_one_size() {
        let mut pace = Pace::at_start();
        pace.expect(100_000);
        pace.note(Duration::from_secs(1));
        pace.note(Duration::ZERO);
        assert_eq!(pace.size(), AT_START);
        assert_eq!(pace.figures(0, 0).longest_pause_us, 1_000_000);
    }
}
