//! Reads HPROF's options.

use std::str::FromStr;

use super::{Cutoff, HprofCpu, HprofOptions, HprofOptionsError, default_file};

type Result<T> = std::result::Result<T, HprofOptionsError>;

/// Options without effect: they had a meaning only inside of HPROF, or have none any more.
const WITHOUT_EFFECT: &[&str] = &[
    "msa",
    "gc_okay",
    "primfields",
    "primarrays",
    "logflags",
    "debugflags",
    "coredump",
    "errorexit",
    "pause",
    "debug",
    "X",
];

/// The given values of options that may exclude other options.
#[derive(Default)]
struct Words {
    heap: Option<Heap>,
    has_file: bool,
    /// True for `format=a`.
    is_text: bool,
}

/// Values of `heap=`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heap {
    Dump,
    Sites,
    All,
}

/// Reads `KEY=VALUE,KEY=VALUE`. The last value of an option counts.
impl FromStr for HprofOptions {
    type Err = HprofOptionsError;

    fn from_str(text: &str) -> Result<HprofOptions> {
        let mut options = HprofOptions::default();
        let mut words = Words::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            if item == "help" {
                return Err(HprofOptionsError::Help);
            }
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            // HPROF took `cpu` alone, or with `y`, for samples.
            if value.is_empty() && key != "cpu" {
                return Err(HprofOptionsError::NoValue(key.to_owned()));
            }
            options.set(&mut words, key, value)?;
        }
        // HPROF could also send text to an address. But commands can come back from there only with
        // the binary format.
        options.binary |= options.net.is_some();
        words.check(&options)?;
        if !words.has_file {
            options.file = default_file(options.binary);
        }
        let heap = words.heap_of(&options);
        options.sites = matches!(heap, Some(Heap::Sites | Heap::All));
        options.dump = matches!(heap, Some(Heap::Dump | Heap::All));
        Ok(options)
    }
}

impl HprofOptions {
    fn set(&mut self, words: &mut Words, key: &str, value: &str) -> Result<()> {
        let wrong = |expected| HprofOptionsError::Value {
            option: key.to_owned(),
            value: value.to_owned(),
            expected,
        };
        match key {
            "heap" => {
                words.heap = Some(match value {
                    "dump" => Heap::Dump,
                    "sites" => Heap::Sites,
                    "all" => Heap::All,
                    _ => return Err(wrong("expected dump, sites or all")),
                });
            }
            "cpu" => {
                self.cpu = match value {
                    "samples" | "y" | "" => Some(HprofCpu::Samples),
                    "times" => Some(HprofCpu::Times),
                    "old" => Some(HprofCpu::Old),
                    _ => return Err(wrong("expected samples, times or old")),
                };
            }
            "monitor" => self.monitors = yes(key, value)?,
            "format" => {
                self.binary = match value {
                    "a" => false,
                    "b" => true,
                    _ => return Err(wrong("expected a or b")),
                };
                words.is_text = !self.binary;
            }
            "file" => {
                words.has_file = true;
                value.clone_into(&mut self.file);
            }
            "net" => {
                let is_address = is_address(value).then(|| value.to_owned());
                self.net = Some(is_address.ok_or_else(|| wrong("expected HOST:PORT"))?);
            }
            "depth" => {
                self.depth = number(value).ok_or_else(|| wrong("expected a number of frames"))?;
            }
            "interval" => {
                let milliseconds = number(value).filter(|ms| (1..=1000).contains(ms));
                self.interval = milliseconds
                    .ok_or_else(|| wrong("expected a number of milliseconds from 1 to 1000"))?;
            }
            "cutoff" => {
                let share = value.parse().ok().and_then(Cutoff::of);
                self.cutoff = share.ok_or_else(|| wrong("expected a number from 0 to 1"))?;
            }
            "lineno" => self.lineno = yes(key, value)?,
            "thread" => self.thread = yes(key, value)?,
            "force" => self.force = yes(key, value)?,
            "verbose" => self.verbose = yes(key, value)?,
            "doe" => self.at_exit = yes(key, value)?,
            "exitpause" | "precrash" => return Err(HprofOptionsError::Removed(key.to_owned())),
            _ if WITHOUT_EFFECT.contains(&key) => self.without_effect.push(key.to_owned()),
            _ => return Err(HprofOptionsError::Unknown(key.to_owned())),
        }
        Ok(())
    }
}

/// Returns whether a text is a host and a port.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let has_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
        has_host && port.parse().is_ok_and(|port: u16| port > 0)
    })
}

fn yes(key: &str, value: &str) -> Result<bool> {
    match value {
        "y" => Ok(true),
        "n" => Ok(false),
        _ => Err(HprofOptionsError::Value {
            option: key.to_owned(),
            value: value.to_owned(),
            expected: "expected y or n",
        }),
    }
}

fn number(text: &str) -> Option<u32> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_digits)
}

impl Words {
    /// Returns the value of `heap=`. By default HPROF records all, if it measures nothing else.
    fn heap_of(&self, options: &HprofOptions) -> Option<Heap> {
        let measures = options.cpu.is_some() || options.monitors;
        match self.heap {
            None if !measures => Some(Heap::All),
            heap => heap,
        }
    }

    /// Refuses options that exclude each other.
    fn check(&self, options: &HprofOptions) -> Result<()> {
        let is_old = options.cpu == Some(HprofCpu::Old);
        let has_net = options.net.is_some();
        for (is_given, one, other) in [
            (is_old && has_net, "net=", "cpu=old"),
            (options.binary && is_old, "format=b", "cpu=old"),
            (is_old && self.heap.is_some(), "cpu=old", "heap="),
            (is_old && options.monitors, "cpu=old", "monitor=y"),
            (self.has_file && has_net, "file=", "net="),
            (self.is_text && has_net, "format=a", "net="),
        ] {
            if is_given {
                return Err(HprofOptionsError::Conflict(one, other));
            }
        }
        Ok(())
    }
}
