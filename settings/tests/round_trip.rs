//! Tests that settings do not change when they are written and read again.

use loadhook_settings::attach::{self, AnswerLine, AttachFigures};
use loadhook_settings::{
    AgentOptions, AllocationMode, CallTiming, Clock, ClockSource, HeapDumpRequest, MAX_NODES, NONE,
    Pattern, ProbeBudget, Sampler, SamplingInterval, SnapshotInterval, Timing, list, units,
};
use proptest::prelude::*;

/// Returns paths that contain the characters with a meaning in lists.
fn path() -> impl Strategy<Value = String> {
    r"[a-zé%=,\\/ .#]{1,12}"
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let text = prop_oneof![
        r"[a-z,=#\\]{1,6}(\.[A-Z,=\\]{1,6}){0,2}",
        r"(\*\*|[a-z]{1,3}\.\*)::[a-z,=\\*]{1,6}",
        r"@[a-z]{1,3}\.[A-Z,\\]{1,6}",
    ];
    text.prop_filter_map("no pattern", |text| {
        Pattern::parse(&text).ok().filter(|_| text != NONE)
    })
}

fn alloc() -> impl Strategy<Value = AllocationMode> {
    let interval = prop_oneof![1..=i32::MAX, (0..31).prop_map(|shift| 1 << shift)];
    prop_oneof![
        Just(AllocationMode::Exact),
        Just(AllocationMode::LiveExact),
        interval
            .clone()
            .prop_map(|interval| AllocationMode::Sampled { interval }),
        interval.prop_map(|interval| AllocationMode::Live { interval }),
    ]
}

fn interval() -> impl Strategy<Value = SnapshotInterval> {
    let millis = prop_oneof![100..u64::from(u32::MAX), (1..100u64).prop_map(|s| s * 1000)];
    millis.prop_filter_map("too short", SnapshotInterval::from_millis)
}

fn sampling_interval() -> impl Strategy<Value = SamplingInterval> {
    let micros = prop_oneof![50..=1_000_000u64, (1..=1000u64).prop_map(|ms| ms * 1000)];
    micros.prop_filter_map("out of bounds", SamplingInterval::from_micros)
}

fn budget() -> impl Strategy<Value = ProbeBudget> {
    let percent = (1..=10_000u32).prop_filter_map("out of bounds", ProbeBudget::from_percent);
    prop_oneof![percent, Just(ProbeBudget::None)]
}

prop_compose! {
    fn sampling()(
        sampler in prop::sample::select(&Sampler::ALL[..]),
        interval in sampling_interval(),
        clock_source in prop::sample::select(&ClockSource::ALL[..]),
    ) -> (Sampler, SamplingInterval, ClockSource) {
        (sampler, interval, clock_source)
    }
}

prop_compose! {
    fn options()(
        include in prop::collection::vec(pattern(), 0..3),
        include_files in prop::collection::vec(path(), 0..3),
        exclude in prop::collection::vec(pattern(), 0..3),
        [all, alloc_context, locks, explain, quiet, control, gc, jit, latencies] in any::<[bool; 9]>(),
        include_none in prop::bool::weighted(0.1),
        call_timing in prop::option::of(prop::sample::select(&CallTiming::ALL[..])),
        (clock, budget) in (
            prop::sample::select(&[Clock::Wall, Clock::Cpu][..]),
            prop::option::weighted(0.2, budget()),
        ),
        (sampler, interval, clock_source) in prop_oneof![
            4 => Just((Sampler::Auto, SamplingInterval::default(), ClockSource::Timer)),
            1 => sampling(),
        ],
        alloc in prop::option::of(alloc()),
        max_nodes in 1..=MAX_NODES,
        file in path(),
        (snapshot_every, duration) in (prop::option::of(interval()), prop::option::of(interval())),
        (manifest, answer) in (prop::option::of(path()), prop::option::of(path())),
    ) -> AgentOptions {
        AgentOptions {
            include, include_none, include_files, exclude, all, call_timing, latencies, clock, budget, sampler,
            interval, clock_source, alloc, alloc_context, locks, max_nodes, file, snapshot_every, explain, gc, jit, quiet, manifest,
            duration, answer, control, hprof: None,
        }
    }
}

proptest! {
    #[test]
    fn agent_options(options in options()) {
        let read = options.to_string().parse::<AgentOptions>();
        match options.check() {
            Ok(()) => prop_assert_eq!(read, Ok(options)),
            Err(conflict) => prop_assert_eq!(read, Err(conflict.into())),
        }
    }

    /// A user can append a pattern to a written list by hand.
    #[test]
    fn text_behind_options(options in options(), pattern in pattern()) {
        prop_assume!(options.check().is_ok() && !options.include_none);
        let text = format!("{options},exclude={}", list::escaped(pattern.text()));
        let read = text.parse::<AgentOptions>().expect("the options are valid");
        prop_assert_eq!(read.exclude.last(), Some(&pattern));
        prop_assert_eq!(read.include, options.include);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in r"[a-z=,\\%*:@.0-9-]{0,40}") {
        let _ = text.parse::<AgentOptions>();
        let _ = text.parse::<HeapDumpRequest>();
    }

    #[test]
    fn heap_dump_requests(file in path(), max_memory in any::<u64>()) {
        let request = HeapDumpRequest { file, max_memory };
        prop_assert_eq!(request.to_string().parse(), Ok(request));
    }

    #[test]
    fn answers_to_attach(
        texts in prop::collection::vec(r"[a-zé =\\\n]{0,12}", 3),
        [classes, batches, median_pause_us, longest_pause_us, refused] in any::<[u64; 5]>(),
    ) {
        let [note, error, profile] = texts.try_into().expect("three texts");
        let figures = AttachFigures { classes, batches, median_pause_us, longest_pause_us, refused };
        let written = [
            AnswerLine::Attached(figures),
            AnswerLine::Note(note),
            AnswerLine::Error(error),
            AnswerLine::Profile(profile),
            AnswerLine::Left,
        ];
        let answer: String = written.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(attach::lines(&answer).collect::<Vec<_>>(), written);
    }

    #[test]
    fn lists(texts in prop::collection::vec(path(), 1..5)) {
        let escaped: Vec<String> = texts.iter().map(|text| list::escaped(text)).collect();
        let joined = escaped.join(",");
        let read: Vec<String> = list::items(&joined).map(list::unescaped).collect();
        prop_assert_eq!(read, texts);
    }

    #[test]
    fn bytes(bytes in prop_oneof![any::<u64>(), (0..1u64 << 30).prop_map(|k| k << 10)]) {
        for units in ["", "km", "kmg"] {
            let text = units::format_bytes(bytes, units);
            prop_assert_eq!(units::parse_bytes(&text, units), Some(bytes));
        }
    }
}

#[test]
fn timing_words_are_those_of_profiles() {
    for timing in [
        Timing::Adaptive,
        Timing::Exact,
        Timing::Count,
        Timing::Sampled,
    ] {
        let read = timing.as_str().parse();
        assert_eq!(read, Ok(CallTiming::Record(timing)));
    }
}
