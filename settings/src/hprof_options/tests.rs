//! Tests of HPROF's options.

use loadhook_profile::{Clock, Timing};
use proptest::prelude::*;

use super::*;
use crate::{AgentOptions, AllocationMode, OptionsError};

fn read(text: &str) -> Result<HprofOptions, HprofOptionsError> {
    text.parse()
}

fn message(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn defaults_are_those_of_the_manual() {
    let options = read("cpu=samples").expect("the options are right");
    assert_eq!(
        (options.depth, options.interval, options.cutoff.share()),
        (4, 10, 0.0001)
    );
    assert!(options.lineno && !options.thread && options.force && options.verbose);
    assert_eq!(
        (options.file.as_str(), options.sites),
        ("java.hprof.txt", false)
    );
    assert_eq!(read("cpu=old").map(|old| old.cpu), Ok(Some(HprofCpu::Old)));
    for text in ["cpu", "cpu=y", "cpu=samples,monitor=n,format=a,doe=y,,"] {
        assert_eq!(read(text), Ok(options.clone()), "{text}");
    }
    let binary = read("cpu=times,format=b").expect("the options are right");
    assert_eq!((binary.file.as_str(), binary.binary), ("java.hprof", true));
    let last = read("depth=3,depth=8,heap=sites").expect("the options are right");
    assert_eq!((last.depth, last.cpu, last.sites), (8, None, true));
}

#[test]
fn contradictions_and_faults_are_refused() {
    for (text, expected) in [
        (
            "cpu=old,format=b",
            "hprof: format=b cannot be combined with cpu=old; leave out one of them",
        ),
        (
            "cpu=old,heap=sites",
            "hprof: cpu=old cannot be combined with heap=; leave out one of them",
        ),
        (
            "net=a:1,file=b,cpu=samples",
            "hprof: file= cannot be combined with net=; leave out one of them",
        ),
        (
            "net=a:1,format=a",
            "hprof: format=a cannot be combined with net=; leave out one of them",
        ),
        (
            "net=a:1,cpu=old",
            "hprof: net= cannot be combined with cpu=old; leave out one of them",
        ),
        ("depth=-1", "hprof: depth=-1: expected a number of frames"),
        (
            "interval=0",
            "hprof: interval=0: expected a number of milliseconds from 1 to 1000",
        ),
        ("cutoff=2", "hprof: cutoff=2: expected a number from 0 to 1"),
        (
            "cutoff=NaN",
            "hprof: cutoff=NaN: expected a number from 0 to 1",
        ),
        ("thread=yes", "hprof: thread=yes: expected y or n"),
        ("heap=full", "hprof: heap=full: expected dump, sites or all"),
        (
            "cpu=fast",
            "hprof: cpu=fast: expected samples, times or old",
        ),
        (
            "depth",
            "hprof: the option depth has no value (hprof:help lists the options)",
        ),
        (
            "colour=y",
            "hprof: unknown option colour (hprof:help lists the options)",
        ),
        (
            "precrash=y",
            "hprof: precrash was removed from HPROF long ago; leave it out",
        ),
    ] {
        assert_eq!(message(text), expected);
    }
    assert_eq!(read("depth=8,help"), Err(HprofOptionsError::Help));
}

#[test]
fn an_address_gets_the_binary_format() {
    for address in ["localhost:7000", "127.0.0.1:1", "[::1]:65535"] {
        let options = read(&format!("cpu=samples,net={address}")).expect("the options are right");
        assert_eq!(
            (options.net.as_deref(), options.binary),
            (Some(address), true)
        );
        assert_eq!(read(&options.to_string()), Ok(options));
    }
    for address in [
        "localhost",
        ":7000",
        "localhost:0",
        "localhost:70000",
        "::1:7000",
    ] {
        let expected = format!("hprof: net={address}: expected HOST:PORT");
        assert_eq!(message(&format!("net={address}")), expected);
    }
}

/// HPROF records the whole heap if no option asks for a measurement.
#[test]
fn the_heap_is_the_default() {
    for (text, sites, dump) in [
        ("", true, true),
        ("depth=8,doe=n", true, true),
        ("heap=all,cpu=times", true, true),
        ("heap=dump", false, true),
        ("heap=sites", true, false),
        ("cpu=samples", false, false),
        ("monitor=y", false, false),
    ] {
        let options = read(text).expect(text);
        assert_eq!((options.sites, options.dump), (sites, dump), "{text}");
        assert_eq!(options.at_exit, text != "depth=8,doe=n");
        assert_eq!(read(&options.to_string()), Ok(options));
    }
}

#[test]
fn options_without_effect_are_kept_by_name() {
    let options = read("cpu=samples,msa=y,gc_okay=n,X=3").expect("the options are right");
    assert_eq!(options.without_effect, ["msa", "gc_okay", "X"]);
}

#[test]
fn the_agent_measures_what_is_asked_for() {
    let agent = |text: &str| text.parse::<AgentOptions>().expect(text);
    let samples = agent("hprof:cpu=samples,interval=20,file=x.txt,verbose=n");
    assert_eq!(samples.timing(), Some(Timing::Sampled));
    assert!(samples.include_none && !samples.instruments() && samples.quiet);
    assert_eq!(
        (samples.interval.to_string().as_str(), samples.file.as_str()),
        ("20ms", "x.txt")
    );
    let times = agent("hprof:cpu=times");
    assert_eq!(
        (times.timing(), times.clock),
        (Some(Timing::Exact), Clock::Cpu)
    );
    assert!(times.instruments() && times.all && times.budget_percent().is_none());
    let sites = agent("hprof:heap=sites");
    assert_eq!(
        (sites.timing(), sites.alloc),
        (None, Some(AllocationMode::LiveExact))
    );
    assert!(!sites.instruments());
    for options in [
        samples,
        times,
        sites,
        agent("hprof:cpu=times,heap=sites,thread=y"),
        agent("hprof:cpu=old"),
        agent("hprof:heap=dump"),
        agent("hprof:monitor=y"),
        agent("hprof:heap=sites,net=localhost:7000"),
        agent("hprof:"),
    ] {
        options
            .check()
            .expect("the options do not exclude each other");
        assert_eq!(options.to_string().parse(), Ok(options));
    }
    let error = "hprof:cpu=samples,net=a".parse::<AgentOptions>();
    assert!(matches!(
        error,
        Err(OptionsError::Hprof(HprofOptionsError::Value { .. }))
    ));
}

proptest! {
    #[test]
    fn written_options_are_read_again(
        cpu in prop::sample::select(&[Some(HprofCpu::Samples), Some(HprofCpu::Times), None][..]),
        [sites, dump, monitors, at_exit] in any::<[bool; 4]>(),
        file in "[a-z/.]{1,10}",
        depth in any::<u32>(),
        interval in 1_u32..=1000,
        cutoff in 0_u32..=1_000_000_000,
        words in any::<[bool; 5]>(),
    ) {
        let [lineno, thread, force, verbose, binary] = words;
        let options = HprofOptions {
            cpu,
            // One of the measurements must be given.
            sites: sites || cpu.is_none() && !dump && !monitors,
            dump,
            monitors,
            at_exit,
            binary,
            file,
            net: None,
            depth,
            interval,
            cutoff: Cutoff(cutoff),
            lineno,
            thread,
            force,
            verbose,
            without_effect: vec!["msa".to_owned()],
        };
        prop_assert_eq!(read(&options.to_string()), Ok(options));
    }
}
