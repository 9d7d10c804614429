use std::time::Duration;

use super::*;

fn options(text: &str) -> AgentOptions {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fault(text: &str) -> String {
    text.parse::<AgentOptions>().expect_err(text).to_string()
}

fn texts(patterns: &[Pattern]) -> Vec<&str> {
    patterns.iter().map(Pattern::text).collect()
}

#[test]
fn items_without_a_key_continue_the_list() {
    let parsed = options("include=a.*,b.**,timing=exact,exclude=c.D,,c.E,file=x-%p");
    assert_eq!(texts(&parsed.include), ["a.*", "b.**"]);
    assert_eq!(texts(&parsed.exclude), ["c.D", "c.E"]);
    assert_eq!(parsed.timing(), Some(Timing::Exact));
    assert_eq!(parsed.file, "x-%p");
    assert_eq!(options(""), AgentOptions::default());
    // An item without a value behind another option does not belong to the list.
    assert!(fault("include=a.*,all=true,b.*").contains("option b.* has no value"));
}

#[test]
fn paths_and_patterns_can_hold_commas() {
    let parsed = options(r"include=a.B\,C,d,file=/x\,y/\\z\a-%p,manifest=\,,include-file=\,f");
    assert_eq!(texts(&parsed.include), ["a.B,C", "d"]);
    assert_eq!(parsed.file, r"/x,y/\z\a-%p");
    assert_eq!(parsed.manifest.as_deref(), Some(","));
    assert_eq!(parsed.include_files, [",f"]);
}

#[test]
fn times_have_units() {
    let every = |text: &str| options(text).snapshot_every.map(SnapshotInterval::duration);
    assert_eq!(every("snapshot-every=10s"), Some(Duration::from_secs(10)));
    assert_eq!(every(""), None);
}

/// Without options every method is counted and sampled, whatever else is recorded.
#[test]
fn samples_are_the_default() {
    let parsed = options("");
    assert_eq!(parsed.timing(), Some(Timing::Sampled));
    assert!(parsed.instruments() && parsed.samples() && parsed.call_timing.is_none());
    for text in [
        "include=none",
        "alloc=exact",
        "alloc=live,clock=cpu",
        "interval=5ms",
    ] {
        assert_eq!(options(text).timing(), Some(Timing::Sampled), "{text}");
        let explicit = options(&format!("timing=sampled,{text}"));
        assert_eq!(explicit.instruments(), options(text).instruments());
    }
    assert!(!options("include=none").instruments());
    assert!(options("include=none,control=true").instruments());
    let locks = options("timing=none,locks=true");
    assert!(locks.locks && !locks.instruments() && !locks.samples());
}

#[test]
fn allocations_are_asked_for_alone_or_with_timing() {
    let parsed = options("alloc=exact,timing=none");
    assert_eq!(
        (parsed.alloc, parsed.timing()),
        (Some(AllocationMode::Exact), None)
    );
    assert!(parsed.instruments() && parsed.counts_allocations());
    let timing = |text| options(text).timing();
    for counted in [
        "alloc=exact,alloc-context=true",
        "alloc=exact,alloc-context=true,timing=none",
        "alloc=sampled,timing=count",
    ] {
        assert_eq!(timing(counted), Some(Timing::Count), "{counted}");
    }
    assert_eq!(
        timing("alloc=exact,alloc-context=true,timing=exact"),
        Some(Timing::Exact)
    );
    let drops_times = |text| options(text).context_drops_times();
    assert!(drops_times("alloc=exact,alloc-context=true"));
    for kept in [
        "alloc=live",
        "alloc=exact,alloc-context=true,timing=count",
        "",
    ] {
        assert!(!drops_times(kept), "{kept}");
    }
    assert!(options("alloc=live=exact").instruments());
    assert!(!options("alloc=live=exact,timing=none").instruments());
    for wrong in ["alloc=all", "alloc=sampled=0", "alloc=exact=1"] {
        assert!(
            fault(wrong).ends_with(" (BYTES from 1 to 2147483647, for example 64k or 2m)"),
            "{wrong}"
        );
    }
    assert_eq!(
        fault("timing=none"),
        "timing=none records nothing without alloc= or locks=; add one of them or choose another timing"
    );
    assert_eq!(
        fault("alloc=live,alloc-context=true"),
        "alloc-context=true needs alloc=exact"
    );
}

#[test]
fn faults_are_named() {
    assert!(fault("tming=exact").contains("unknown option tming"));
    assert_eq!(
        fault("timing=fast"),
        "timing=fast: expected sampled, adaptive, exact, count or none"
    );
    assert_eq!(fault("clock=x"), "clock=x: expected wall or cpu");
    assert_eq!(fault("all=1"), "all=1: expected true or false");
    assert_eq!(
        fault("max-nodes=0"),
        "max-nodes=0: expected a number from 1 to 100000000"
    );
    assert!(fault("snapshot-every=99ms").contains("at least 100ms"));
    assert!(fault("include=a/b").contains("    a/b\n     ^"));
    assert!(fault("all").contains("has no value"));
    assert_eq!("help".parse::<AgentOptions>(), Err(OptionsError::Help));
}

/// Durations need calls that are timed. If the user gives no timing, every call is timed.
#[test]
fn durations_take_exact_timing() {
    assert_eq!(options("latencies=true").timing(), Some(Timing::Exact));
    let adaptive = options("latencies=true,timing=adaptive");
    assert_eq!(adaptive.timing(), Some(Timing::Adaptive));
    assert_eq!(options("latencies=true").budget_percent(), None);
    for timing in ["sampled", "count", "none,alloc=exact"] {
        let fault = fault(&format!("latencies=true,timing={timing}"));
        assert!(
            fault.starts_with("latencies=true needs timing=exact"),
            "{fault}"
        );
    }
}

/// The help text and the reader know the same options.
#[test]
fn help_lists_the_options() {
    let keys = HELP.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        let (key, _) = line.split_once('=')?;
        (!line.starts_with(' ')).then_some(key)
    });
    let mut keys: Vec<&str> = keys.collect();
    keys.dedup();
    assert_eq!(keys.len(), 25, "{keys:?}");
    for key in keys {
        let fault = fault(&format!("{key}=,x=y"));
        assert!(fault.contains(&format!("option {key} has no value")));
        let known = format!("{key}=~").parse::<AgentOptions>();
        assert!(!matches!(known, Err(OptionsError::Unknown(_))), "{key}");
    }
    let columns = |line: &str| line.chars().count();
    assert!(HELP.lines().all(|line| columns(line) <= 80));
}

#[test]
fn samples_have_options_of_their_own() {
    let parsed =
        options("timing=sampled,include=none,sampler=safepoint,interval=500us,clock-source=perf");
    assert!(parsed.include_none && parsed.include.is_empty() && parsed.samples());
    assert!(!parsed.instruments());
    assert_eq!(parsed.interval.duration(), Duration::from_micros(500));
    let sampled = options("timing=sampled,alloc=live");
    assert!(sampled.instruments() && sampled.samples());
    assert_eq!(sampled.interval.duration(), Duration::from_millis(1));
    for (text, expected) in [
        (
            "include=none,timing=adaptive",
            "include=none needs timing=sampled (the default)",
        ),
        (
            "sampler=async,timing=exact",
            "sampler=, interval= and clock-source= need timing=sampled (the default)",
        ),
        (
            "jit=true,sampler=safepoint",
            "jit=true needs timing=sampled (the default) and cannot be combined with sampler=safepoint",
        ),
        (
            "alloc=exact,alloc-context=true,interval=5ms",
            "sampler=, interval= and clock-source= need timing=sampled (the default)",
        ),
        (
            "timing=sampled,include=none,include=a",
            "include=none cannot be combined with other include, include-file or exclude options",
        ),
        (
            "include=none,alloc=exact,alloc-context=true",
            "include=none cannot be combined with alloc=exact, which instruments classes; use alloc=sampled or alloc=live",
        ),
        (
            "timing=sampled,alloc=exact,alloc-context=true",
            "alloc-context=true cannot be combined with timing=sampled, which does not record the calls that lead to an allocation; for these calls and their times, use timing=adaptive",
        ),
        (
            "timing=sampled,interval=1us",
            "interval=1us: expected a time from 50us to 1s, for example 500us or 1ms",
        ),
    ] {
        assert_eq!(fault(text), expected, "{text}");
    }
}

#[test]
fn probes_of_timed_calls_have_a_budget() {
    let budget = |text| options(text).budget_percent();
    assert_eq!(budget("timing=adaptive"), Some(25));
    assert_eq!(budget("timing=adaptive,budget=10"), Some(10));
    assert_eq!(budget("budget=5%,timing=exact"), Some(5));
    assert_eq!(budget("alloc=exact,timing=adaptive"), Some(25));
    assert_eq!(budget("budget=5"), Some(5));
    for unlimited in [
        "timing=exact",
        "timing=adaptive,budget=none",
        "timing=count",
        "timing=sampled",
        "alloc=exact",
        "alloc=exact,alloc-context=true,timing=adaptive",
    ] {
        assert_eq!(budget(unlimited), None, "{unlimited}");
    }
    for text in [
        "timing=count,budget=25",
        "timing=none,alloc=sampled,budget=25",
    ] {
        let fault = fault(text);
        assert!(
            fault.starts_with("budget= needs timing=sampled, adaptive or exact: "),
            "{fault}"
        );
    }
    assert_eq!(
        fault("budget=0"),
        "budget=0: expected a percentage from 1 to 10000, or the word `none`"
    );
}
