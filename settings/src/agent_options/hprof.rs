//! Derives the options of our agent from those of HPROF.

use loadhook_profile::{Clock, Timing};

use super::AgentOptions;
use crate::allocation_mode::AllocationMode;
use crate::call_timing::CallTiming;
use crate::hprof_options::{HprofCpu, HprofOptions};
use crate::pattern::Pattern;
use crate::sampling::SamplingInterval;

impl From<HprofOptions> for AgentOptions {
    /// Returns the options of our agent that measure what HPROF's options ask for. As with HPROF,
    /// all classes are measured, those of the JDK included.
    fn from(options: HprofOptions) -> AgentOptions {
        let timing = match options.cpu {
            None => CallTiming::None,
            Some(HprofCpu::Samples) => CallTiming::Record(Timing::Sampled),
            Some(HprofCpu::Times | HprofCpu::Old) => CallTiming::Record(Timing::Exact),
        };
        let times_calls = matches!(options.cpu, Some(HprofCpu::Times | HprofCpu::Old));
        let all_classes = Pattern::parse("**").ok();
        let micros = u64::from(options.interval) * 1000;
        AgentOptions {
            include: all_classes.filter(|_| times_calls).into_iter().collect(),
            include_none: options.cpu == Some(HprofCpu::Samples),
            all: times_calls,
            call_timing: Some(timing),
            clock: if options.cpu.is_some() {
                Clock::Cpu
            } else {
                Clock::Wall
            },
            interval: match options.cpu {
                Some(HprofCpu::Samples) => {
                    SamplingInterval::from_micros(micros).unwrap_or_default()
                }
                _ => SamplingInterval::default(),
            },
            alloc: options.sites.then_some(AllocationMode::LiveExact),
            file: options.file.clone(),
            quiet: !options.verbose,
            hprof: Some(options),
            ..AgentOptions::default()
        }
    }
}
