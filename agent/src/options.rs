//! The agent's options, as they follow `-agentpath:…=`.

use std::path::PathBuf;
use std::time::Duration;

use loadhook_settings::{
    ALLOCATION_MODES, AllocationMode, Filter, INTERVAL, PatternError, interval, list,
};

/// What `help` prints.
pub(crate) const HELP: &str = "\
loadhook agent: -agentpath:PATH/libloadhook_agent.so=OPTION,OPTION...

  include=PATTERN,PATTERN   instrument only what these patterns name:
                            com.example.*, com.example.**,
                            com.example.Service::handle*, @com.example.Timed
                            (default: every class that is not the JDK's)
  exclude=PATTERN,PATTERN   do not instrument what these patterns name
  include-file=FILE         read patterns to include from FILE, one a line;
                            # begins a comment
  all=true                  also instrument trivial methods: at most 24
                            instructions, no call, no loop
  timing=adaptive           count every call; time short hot calls on a random
                            sample, all others exactly (default without alloc=)
  timing=exact              count and time every call
  timing=count              count every call, time none
  timing=none               do not count calls (default with alloc=)
  clock=wall|cpu            time calls by elapsed time (wall, default) or by
                            processor time of the thread (cpu)
  alloc=exact               count every allocation of the instrumented classes
  alloc=sampled[=BYTES]     sample the allocations of all classes, one in BYTES
                            bytes on average (default 512k)
  alloc=live[=BYTES]        sample them, and find out which sampled objects are
                            still alive
  alloc=live=exact          record every allocation of all classes, and find out
                            which objects are still alive; allocations that
                            the JIT compiler removes are not seen
  alloc-context=true        also record the calls that led to each allocation
                            (only with alloc=exact)
  max-nodes=N               maximum number of call-tree nodes (default 1000000)
  file=FILE                 write the profile to FILE; %p in its name is the
                            process id (default loadhook-%p.pb.gz)
  snapshot-every=TIME       also write the profile at this interval, for example
                            500ms, 10s or 5m (at least 100ms); if the JVM is
                            killed, the last one remains
  explain=true              keep the names of the methods not instrumented
  quiet=true                do not print the name of the profile at exit
  manifest=FILE             append the name of the profile and a zero byte to
                            FILE; if FILE lists that name already, write
                            x.2.pb.gz instead; rewritten archives append
                            theirs with a + before the name

In paths and patterns, write \\, for a comma and \\\\ for a backslash.
";

/// How calls are timed; the numbers are the tracker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    Adaptive = 0,
    Exact = 1,
    Count = 2,
}

/// Clock used to time calls; the numbers are the tracker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Wall = 0,
    Cpu = 1,
}

/// The options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) filter: Filter,
    /// Whether there are include patterns: without, the JDK is left out.
    pub(crate) includes: bool,
    pub(crate) all: bool,
    /// None if calls are not looked at.
    pub(crate) timing: Option<Timing>,
    /// Whether calls are not timed only because allocations were asked for.
    pub(crate) alloc_drops_timing: bool,
    pub(crate) alloc: Option<AllocationMode>,
    /// Whether allocations of [`AllocationMode::Exact`] are told by calling context.
    pub(crate) alloc_context: bool,
    pub(crate) clock: Clock,
    pub(crate) max_nodes: i32,
    pub(crate) file: PathBuf,
    /// How often the profile is written while the program runs.
    pub(crate) snapshot_every: Option<Duration>,
    pub(crate) explain: bool,
    pub(crate) quiet: bool,
    /// Where to note the profile's name: several JVMs of one command write
    /// into one such file.
    pub(crate) manifest: Option<PathBuf>,
}

impl Options {
    /// Whether allocations are counted where they are made.
    pub(crate) fn counts_allocations(&self) -> bool {
        self.alloc.is_some_and(AllocationMode::needs_probes)
    }

    /// Whether classes are to be instrumented.
    pub(crate) fn rewrites(&self) -> bool {
        self.timing.is_some() || self.counts_allocations()
    }
}

/// What the text asks for.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Help,
    Run(Box<Options>),
}

/// Reads the text behind `=`. An item without `=` continues the list of the
/// item before it, so that lists of patterns need no other comma: `\,` is one
/// in a path or pattern.
///
/// # Errors
/// One line, or the pattern with a caret under its fault.
pub(crate) fn parse(text: &str, process: u32) -> Result<Request, String> {
    let mut options = Options {
        filter: Filter::new(),
        includes: false,
        all: false,
        timing: Some(Timing::Adaptive),
        alloc_drops_timing: false,
        alloc: None,
        alloc_context: false,
        clock: Clock::Wall,
        max_nodes: 1_000_000,
        file: PathBuf::from(expand("loadhook-%p.pb.gz", process)),
        snapshot_every: None,
        explain: false,
        quiet: false,
        manifest: None,
    };
    let mut open = None;
    let mut timing = None;
    for item in list::items(text).filter(|item| !item.is_empty()) {
        let (key, value) = match (item.split_once('='), open) {
            (Some((key, value)), _) => (key, value),
            (None, Some(key)) => (key, item),
            (None, None) if item == "help" => return Ok(Request::Help),
            (None, None) => {
                return Err(format!(
                    "the option {item} has no value (=help lists the options)"
                ));
            }
        };
        open = None;
        if value.is_empty() {
            return Err(format!(
                "the option {key} has no value (=help lists the options)"
            ));
        }
        match key {
            "include" => {
                open = Some("include");
                options.includes = true;
                options.filter.include(value).map_err(told)?;
            }
            "exclude" => {
                open = Some("exclude");
                options.filter.exclude(value).map_err(told)?;
            }
            "include-file" => {
                options.includes = true;
                include_file(&list::unescaped(value), &mut options.filter)?;
            }
            "all" => options.all = boolean(key, value)?,
            "explain" => options.explain = boolean(key, value)?,
            "quiet" => options.quiet = boolean(key, value)?,
            "timing" => {
                timing = Some(match value {
                    "adaptive" => Some(Timing::Adaptive),
                    "exact" => Some(Timing::Exact),
                    "count" => Some(Timing::Count),
                    "none" => None,
                    _ => return Err(wrong(key, value, "adaptive, exact, count or none")),
                });
            }
            "clock" => {
                options.clock = match value {
                    "wall" => Clock::Wall,
                    "cpu" => Clock::Cpu,
                    _ => return Err(wrong(key, value, "wall or cpu")),
                };
            }
            "alloc" => {
                let read = AllocationMode::read(value);
                options.alloc = Some(read.ok_or_else(|| wrong(key, value, ALLOCATION_MODES))?);
            }
            "alloc-context" => options.alloc_context = boolean(key, value)?,
            "max-nodes" => {
                options.max_nodes = match value.parse() {
                    Ok(nodes) if (1..=100_000_000).contains(&nodes) => nodes,
                    _ => return Err(wrong(key, value, "a number from 1 to 100000000")),
                };
            }
            "snapshot-every" => {
                let wrong = || wrong(key, value, INTERVAL);
                options.snapshot_every = Some(interval(value).ok_or_else(wrong)?);
            }
            "manifest" => options.manifest = Some(PathBuf::from(list::unescaped(value))),
            "file" => options.file = PathBuf::from(expand(&list::unescaped(value), process)),
            _ => return Err(format!("unknown option {key} (=help lists the options)")),
        }
    }
    match (timing, options.alloc) {
        (Some(timing), _) => options.timing = timing,
        (None, Some(_)) => {
            options.timing = None;
            options.alloc_drops_timing = true;
        }
        (None, None) => {}
    }
    if options.timing.is_none() && options.alloc.is_none() {
        return Err("timing=none measures nothing unless alloc= is given".to_owned());
    }
    if options.alloc_context {
        options.timing = options.timing.or(Some(Timing::Count));
    }
    if options.alloc_context && options.alloc != Some(AllocationMode::Exact) {
        return Err("alloc-context=true needs alloc=exact".to_owned());
    }
    Ok(Request::Run(Box::new(options)))
}

fn include_file(path: &str, filter: &mut Filter) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let found = filter
        .include_lines(&text)
        .map_err(|(line, error)| format!("{path}:{line}: {error}"))?;
    // Without a pattern everything would be included, the JDK too.
    match found {
        0 => Err(format!("{path}: the file holds no pattern")),
        _ => Ok(()),
    }
}

fn told(error: PatternError) -> String {
    error.to_string()
}

fn wrong(key: &str, value: &str, expected: &str) -> String {
    format!("{key}={value}: expected {expected}")
}

fn boolean(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong(key, value, "true or false")),
    }
}

/// `%p` in a file's name is the process id. The folders are as they are: the
/// path may have been made absolute.
fn expand(file: &str, process: u32) -> String {
    let (folders, name) = file.split_at(file.rfind('/').map_or(0, |slash| slash + 1));
    format!("{folders}{}", name.replace("%p", &process.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        match parse(text, 7) {
            Ok(Request::Run(options)) => *options,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lists_go_on_over_commas() {
        let parsed = options("include=a.*,b.**,timing=exact,exclude=c.D,c.E,file=x-%p");
        assert!(parsed.includes);
        assert_eq!(parsed.filter.unmatched().count(), 4);
        assert_eq!(parsed.timing, Some(Timing::Exact));
        assert_eq!(parsed.file, PathBuf::from("x-7"));
        assert_eq!(
            options("file=/100%pure/%p/%p-%p").file,
            PathBuf::from("/100%pure/%p/7-7")
        );
        assert_eq!(options("").file, PathBuf::from("loadhook-7.pb.gz"));
    }

    #[test]
    fn paths_and_patterns_can_hold_commas() {
        let parsed = options(r"include=a.B\,C,d,file=/x\,y/\\z\a-%p,manifest=\,");
        let patterns: Vec<&str> = parsed.filter.unmatched().map(|p| p.text()).collect();
        assert_eq!(patterns, ["a.B,C", "d"]);
        assert_eq!(parsed.file, PathBuf::from(r"/x,y/\z\a-7"));
        assert_eq!(parsed.manifest, Some(PathBuf::from(",")));
    }

    #[test]
    fn times_have_units() {
        let every = |text: &str| options(text).snapshot_every;
        assert_eq!(every("snapshot-every=10s"), Some(Duration::from_secs(10)));
        assert_eq!(every(""), None);
    }

    #[test]
    fn allocations_are_asked_for_alone_or_with_timing() {
        let parsed = options("alloc=exact");
        assert_eq!(
            (parsed.alloc, parsed.timing),
            (Some(AllocationMode::Exact), None)
        );
        let parsed = options("alloc=exact,alloc-context=true");
        assert_eq!(parsed.timing, Some(Timing::Count));
        let parsed = options("alloc=exact,alloc-context=true,timing=exact");
        assert_eq!(parsed.timing, Some(Timing::Exact));
        let is_dropped = |text| options(text).alloc_drops_timing;
        assert!(is_dropped("alloc=live") && is_dropped("alloc=exact,alloc-context=true"));
        assert!(!is_dropped("alloc=live,timing=none") && !is_dropped("timing=count"));
        let parsed = options("alloc=sampled=64k,timing=count");
        let interval = 64 << 10;
        assert_eq!(parsed.alloc, Some(AllocationMode::Sampled { interval }));
        assert_eq!(parsed.timing, Some(Timing::Count));
        assert_eq!(
            options("alloc=live=64k").alloc,
            Some(AllocationMode::Live { interval })
        );
        assert_eq!(
            options("alloc=live=exact").alloc,
            Some(AllocationMode::LiveExact)
        );
        assert!(!options("alloc=live=exact").rewrites());
        for wrong in [
            "alloc=all",
            "alloc=sampled=0",
            "alloc=sampled=3g",
            "alloc=sampled=2048m",
            "alloc=exact=1",
        ] {
            let fault = parse(wrong, 7).map(|_| ()).unwrap_err();
            assert!(
                fault.ends_with(" (BYTES from 1 to 2147483647, for example 64k or 2m)"),
                "{fault}"
            );
        }
        assert!(parse("timing=none", 7).is_err());
        assert!(parse("alloc=live,alloc-context=true", 7).is_err());
    }

    #[test]
    fn faults_are_named() {
        let fault = |text: &str| parse(text, 7).map(|_| ()).unwrap_err();
        assert!(fault("tming=exact").contains("unknown option tming"));
        assert!(fault("timing=fast").contains("adaptive, exact, count or none"));
        assert!(fault("max-nodes=0").contains("from 1 to"));
        assert!(fault("snapshot-every=99ms").contains("at least 100ms"));
        assert!(fault("include=a/b").contains("    a/b\n     ^"));
        assert!(fault("all").contains("has no value"));
        for line in HELP.lines() {
            if let Some((key, _)) = line.trim().split_once('=')
                && line.starts_with("  ")
                && !line.starts_with("   ")
            {
                let fault = fault(&format!("{key}="));
                assert!(fault.contains(&format!("option {key} has no value")));
            }
        }
        let empty = tempfile::NamedTempFile::new().expect("a file");
        let fault = fault(&format!("include-file={}", empty.path().display()));
        assert!(fault.ends_with("the file holds no pattern"), "{fault}");
        assert!(matches!(parse("help", 7), Ok(Request::Help)));
    }
}
