//! Names of the tracker's classes in the boot loader, and which of them probes call.

use loadhook_settings::{AgentOptions, Clock, Timing};

/// The internal name of the class that probes call.
pub(crate) const NAME: &str = loadhook_tracker::BOOT_TRACKER;

/// The class that probes call in a JVM without a compiler (`-Xint`), if calls are timed.
const INTERPRETED: &str = "java/lang/$LoadhookInterpreted";

/// The class that probes call in a JVM without a compiler, if calls are not timed.
const INTERPRETED_COUNT: &str = "java/lang/$LoadhookInterpretedCount";

/// The class that probes call if every call is timed by the wall clock.
const EXACT: &str = "java/lang/$LoadhookExact";

/// The class that the probes of hidden classes call if the agent may be paused.
pub(crate) const PAUSABLE: &str = "java/lang/$LoadhookPausable";

/// Returns the internal name of the class that probes call. It depends on the options, and on `vm_info`, the value of
/// the system property `java.vm.info`.
///
/// If the options ask for the distribution of durations, the class is [`NAME`], because only this class records
/// durations.
pub(crate) fn owner(
    vm_info: &str,
    timing: Option<Timing>,
    settings: &AgentOptions,
) -> &'static str {
    if settings.clock != Clock::Wall || settings.latencies {
        NAME
    } else if vm_info.starts_with("interpreted") {
        match timing {
            Some(Timing::Adaptive | Timing::Exact) => INTERPRETED,
            _ => INTERPRETED_COUNT,
        }
    } else if timing == Some(Timing::Exact) {
        EXACT
    } else {
        NAME
    }
}

/// Returns whether a class belongs to the tracker. `class` is the class's name with dots.
pub(crate) fn is_trackers(class: &str) -> bool {
    class
        .strip_prefix("java.lang.")
        .is_some_and(|name| name.starts_with("$Loadhook"))
}

/// Returns whether a method of the tracker is a part of the inlined counting probe: `Tracker.count`, `Pausable.count`,
/// or a method that these call to identify their thread. `class` is the class's name with dots.
pub(crate) fn is_count_probe(class: &str, method: &str) -> bool {
    match class.strip_prefix("java.lang.$Loadhook") {
        Some("" | "Pausable") => method == "count",
        Some("Carrier") => method == "current",
        Some("Ids") => method == "of",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_probes_need_a_compiler_and_the_wall_clock() {
        let exact = Some(Timing::Exact);
        let wall = AgentOptions::default();
        let cpu = AgentOptions {
            clock: Clock::Cpu,
            ..AgentOptions::default()
        };
        let latencies = AgentOptions {
            latencies: true,
            ..AgentOptions::default()
        };
        let compiled = "mixed mode, sharing";
        assert_eq!(owner(compiled, exact, &wall), EXACT);
        assert_eq!(owner(compiled, exact, &cpu), NAME);
        assert_eq!(owner(compiled, exact, &latencies), NAME);
        let interpreted = "interpreted mode";
        assert_eq!(owner(interpreted, exact, &wall), INTERPRETED);
        assert_eq!(
            owner(interpreted, Some(Timing::Count), &wall),
            INTERPRETED_COUNT
        );
        assert_eq!(owner(interpreted, exact, &cpu), NAME);
        assert_eq!(owner(interpreted, exact, &latencies), NAME);
        assert_eq!(owner(compiled, Some(Timing::Adaptive), &wall), NAME);
        assert_eq!(owner(compiled, None, &wall), NAME);
    }
}
