//! The times of liveness scans.

/// Number of followed objects at which the first scan is due. Later scans are due when the number has doubled.
pub(super) const FIRST_SCAN: usize = 1 << 19;

/// Decides, by the number of followed objects, when a liveness scan is due.
#[derive(Debug)]
pub(super) struct ScanSchedule {
    /// Number of followed objects at which a scan is due.
    objects: usize,
    /// The number of ended collections from which on a scan can be due.
    collections: u32,
    /// The number of collections that pass after a scan with few dead objects before the next scan.
    pause: u32,
}

impl Default for ScanSchedule {
    fn default() -> Self {
        ScanSchedule {
            objects: FIRST_SCAN,
            collections: 1,
            pause: 1,
        }
    }
}

impl ScanSchedule {
    /// Returns whether a scan is due. `followed` is the number of followed objects, `collections` the number of
    /// collections that have ended.
    pub(super) fn is_due(&self, followed: usize, collections: u32) -> bool {
        followed >= self.objects && collections >= self.collections
    }

    /// Notes that a scan has ended. `left` objects are still alive, `now` collections have ended, and there is room for
    /// `most` objects.
    ///
    /// If most objects are alive, the next scan will find few dead ones. So scans get rarer, and
    /// together they take a bounded share of the time of the collections.
    pub(super) fn scanned(&mut self, left: usize, most: usize, now: u32) {
        let twice = FIRST_SCAN.max(2 * left);
        self.objects = twice.min(most);
        self.pause = if twice > most {
            self.pause.saturating_mul(2)
        } else {
            1
        };
        self.collections = now.saturating_add(self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_get_rarer_where_most_objects_are_alive() {
        let most = 7 << 20;
        let mut schedule = ScanSchedule::default();
        assert!(
            !schedule.is_due(FIRST_SCAN, 0),
            "no scan is due before the first collection"
        );
        assert!(schedule.is_due(FIRST_SCAN, 1));
        // A full table is scanned, however many objects are alive.
        for (left, pause) in [
            (4 << 20, 2),
            (6 << 20, 4),
            (most, 8),
            (3 << 20, 1),
            (most, 2),
        ] {
            schedule.scanned(left, most, 100);
            let followed = (2 * left).min(most);
            assert!(!schedule.is_due(followed, 99 + pause), "{left}");
            assert!(schedule.is_due(followed, 100 + pause), "{left}");
            assert!(!schedule.is_due(followed - 1, u32::MAX), "{left}");
        }
    }
}
