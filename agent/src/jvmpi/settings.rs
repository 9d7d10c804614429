//! Checks that the options can be used with JVMPI.

use loadhook_settings::{AgentOptions, AllocationMode, CallTiming, Clock, Timing};
use thiserror::Error;

/// An option that needs JVM TI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{option} needs JVM TI, and the agent was loaded as a profiler for JVMPI; {remedy}")]
pub(crate) struct NeedsJvmti {
    option: &'static str,
    remedy: &'static str,
}

/// Checks the options. Replaces the default of `timing=`, because samples need JVM TI.
pub(super) fn for_jvmpi(mut settings: AgentOptions) -> Result<AgentOptions, NeedsJvmti> {
    let default = AgentOptions::default();
    let leave_out = "leave it out";
    let sampler = (settings.sampler, settings.interval, settings.clock_source);
    let refused = [
        (settings.hprof.is_some(), "hprof:", leave_out),
        (settings.include_none, "include=none", "use timing=none"),
        (
            settings.call_timing == Some(CallTiming::Record(Timing::Sampled))
                || sampler != (default.sampler, default.interval, default.clock_source),
            "timing=sampled",
            "use timing=adaptive (the default here), exact, count or none",
        ),
        (settings.clock == Clock::Cpu, "clock=cpu", "use clock=wall"),
        (
            settings
                .budget
                .is_some_and(|budget| budget.percent().is_some()),
            "budget=",
            leave_out,
        ),
        (
            !matches!(settings.alloc, None | Some(AllocationMode::LiveExact)),
            "this value of alloc=",
            "use alloc=live=exact",
        ),
        (
            settings.snapshot_every.is_some(),
            "snapshot-every=",
            leave_out,
        ),
        (settings.control, "control=", leave_out),
        (settings.locks, "locks=", leave_out),
        (settings.gc, "gc=", leave_out),
        (settings.jit, "jit=", leave_out),
        (
            settings.duration.is_some() || settings.answer.is_some(),
            "duration= or answer=",
            leave_out,
        ),
    ];
    let first = refused.into_iter().find(|(is_given, ..)| *is_given);
    if let Some((_, option, remedy)) = first {
        return Err(NeedsJvmti { option, remedy });
    }
    if settings.call_timing.is_none() {
        settings.call_timing = Some(CallTiming::Record(Timing::Adaptive));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<AgentOptions, NeedsJvmti> {
        for_jvmpi(text.parse().expect("the options are valid"))
    }

    #[test]
    fn calls_are_timed_by_probes() {
        let timing = |text| checked(text).expect("the options have an effect").timing();
        assert_eq!(timing(""), Some(Timing::Adaptive));
        assert_eq!(
            timing("include=a.B,all=true,timing=count"),
            Some(Timing::Count)
        );
        assert_eq!(timing("timing=none,alloc=live=exact"), None);
    }

    #[test]
    fn options_of_jvm_ti_are_refused_with_their_remedy() {
        for (text, option, remedy) in [
            ("timing=sampled", "timing=sampled", "timing=adaptive"),
            ("interval=5ms", "timing=sampled", "timing=adaptive"),
            ("clock=cpu,timing=exact", "clock=cpu", "clock=wall"),
            ("alloc=exact", "alloc=", "alloc=live=exact"),
            ("alloc=live", "alloc=", "alloc=live=exact"),
            ("include=none", "include=none", "timing=none"),
            ("hprof:cpu=times", "hprof:", "leave it out"),
            ("snapshot-every=1s", "snapshot-every=", "leave it out"),
            ("control=true", "control=", "leave it out"),
            ("budget=5", "budget=", "leave it out"),
            ("locks=true", "locks=", "leave it out"),
            ("gc=true", "gc=", "leave it out"),
            ("jit=true", "jit=", "leave it out"),
            ("duration=1s", "duration=", "leave it out"),
        ] {
            let refused = checked(text).expect_err(text).to_string();
            assert!(
                refused.contains(option) && refused.contains(remedy),
                "{refused}"
            );
        }
    }
}
