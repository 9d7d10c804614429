//! Which allocations to look at, as users write it.

/// What [`AllocationMode::read`] takes, for messages.
pub const ALLOCATION_MODES: &str = "exact, sampled, sampled=BYTES, live, live=BYTES or live=exact \
    (BYTES from 1 to 2147483647, for example 64k or 2m)";

/// Which allocations to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationMode {
    /// `exact`: all that instrumented methods make.
    Exact,
    /// `sampled`: one in so many bytes on average, whoever allocates.
    Sampled {
        /// Bytes, at least 1.
        interval: i32,
    },
    /// `live`: the same, and what of the samples is alive.
    Live {
        /// Bytes, at least 1.
        interval: i32,
    },
    /// `live=exact`: all, whoever allocates, and what of them is alive.
    LiveExact,
}

impl AllocationMode {
    /// Bytes between samples unless told.
    const INTERVAL: i32 = 512 << 10;

    /// Whether classes get probes for it; the virtual machine itself tells of other allocations.
    pub fn needs_probes(self) -> bool {
        match self {
            AllocationMode::Exact => true,
            AllocationMode::Sampled { .. }
            | AllocationMode::Live { .. }
            | AllocationMode::LiveExact => false,
        }
    }

    /// Reads one of [`ALLOCATION_MODES`]; bytes may have the unit `k` or `m`, of 1024 and its square.
    pub fn read(text: &str) -> Option<AllocationMode> {
        let (word, argument) = match text.split_once('=') {
            Some((word, argument)) => (word, Some(argument)),
            None => (text, None),
        };
        let interval = Self::INTERVAL;
        match (word, argument) {
            ("exact", None) => Some(AllocationMode::Exact),
            ("sampled", None) => Some(AllocationMode::Sampled { interval }),
            ("sampled", Some(text)) => {
                bytes(text).map(|interval| AllocationMode::Sampled { interval })
            }
            ("live", Some("exact")) => Some(AllocationMode::LiveExact),
            ("live", None) => Some(AllocationMode::Live { interval }),
            ("live", Some(text)) => bytes(text).map(|interval| AllocationMode::Live { interval }),
            _ => None,
        }
    }
}

fn bytes(text: &str) -> Option<i32> {
    let unit = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let unit = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        _ => return None,
    };
    let bytes = number.parse::<i32>().ok()?.checked_mul(unit)?;
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names() {
        let sampled = |interval| Some(AllocationMode::Sampled { interval });
        for (text, mode) in [
            ("exact", Some(AllocationMode::Exact)),
            ("sampled", sampled(524_288)),
            ("sampled=64k", sampled(65_536)),
            ("sampled=1", sampled(1)),
            ("sampled=2M", sampled(2 << 20)),
            ("live", Some(AllocationMode::Live { interval: 524_288 })),
            ("live=4k", Some(AllocationMode::Live { interval: 4096 })),
            ("live=exact", Some(AllocationMode::LiveExact)),
        ] {
            assert_eq!(AllocationMode::read(text), mode, "{text}");
            let needs_probes = mode.map(AllocationMode::needs_probes);
            assert_eq!(needs_probes, Some(text == "exact"), "{text}");
        }
        for wrong in [
            "",
            "all",
            "exact=1",
            "sampled=",
            "sampled=0",
            "sampled=-1",
            "sampled=1g",
            "sampled=2048m",
            "live=all",
            "sampled=exact",
        ] {
            assert_eq!(AllocationMode::read(wrong), None, "{wrong}");
        }
    }
}
