//! The options of HPROF, the agent that came with JDK 1.2 to 8, as our agent takes them after `hprof:`.

mod error;
mod help;
mod read;
mod write;

pub use error::HprofOptionsError;
pub use help::HPROF_HELP;

/// The text before HPROF's options. It distinguishes them from our own options.
pub const HPROF_PREFIX: &str = "hprof:";

/// The environment variable whose options are appended to the agent's.
pub const HPROF_VARIABLE: &str = "_JAVA_HPROF_OPTIONS";

/// The end of the name of a text file.
const TEXT_SUFFIX: &str = ".txt";

/// Returns the file that is written if the user names none.
fn default_file(binary: bool) -> String {
    let name = if binary {
        "java.hprof"
    } else {
        "java.hprof.txt"
    };
    name.to_owned()
}

/// The measurement of processor time: value of `cpu=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HprofCpu {
    /// `samples`: stack traces, ranked by their numbers of samples.
    Samples,
    /// `times`: stack traces with exact numbers of calls, ranked by processor time.
    Times,
    /// `old`: calls and time of each pair of callee and caller, in the format of `java -prof` of
    /// JDK 1.1.
    Old,
}

/// The smallest share of the whole that a row needs to be written, from 0 to 1. It is stored in billionths, so that
/// options can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoff(u32);

impl Cutoff {
    const ONE: f64 = 1e9;

    /// Returns the share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / Cutoff::ONE
    }

    /// Returns the cutoff of a share from 0 to 1.
    fn of(share: f64) -> Option<Cutoff> {
        let is_share = (0.0..=1.0).contains(&share);
        is_share.then(|| Cutoff((share * Cutoff::ONE).round() as u32))
    }
}

/// The options of HPROF. `Display` writes their text after `hprof:`, and `FromStr` reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HprofOptions {
    /// The measurement of processor time; `None` if there is none.
    pub cpu: Option<HprofCpu>,
    /// True for the table of allocation sites.
    pub sites: bool,
    /// True for a dump of the heap.
    pub dump: bool,
    /// True for the time that threads waited for monitors.
    pub monitors: bool,
    /// True if the file is written when the JVM ends.
    pub at_exit: bool,
    /// True for the binary format, false for text.
    pub binary: bool,
    /// The file that is written, unless there is an address.
    pub file: String,
    /// The address `HOST:PORT` that gets the binary format instead of a file.
    pub net: Option<String>,
    /// Maximum number of frames of a trace.
    pub depth: u32,
    /// Processor time between two samples of a thread, in milliseconds.
    pub interval: u32,
    /// Rows with a smaller share are left out.
    pub cutoff: Cutoff,
    /// True if frames have their lines.
    pub lineno: bool,
    /// True if equal stacks of different threads are different traces.
    pub thread: bool,
    /// True if a file of the same name is overwritten; otherwise the new file gets the process id in its name.
    pub force: bool,
    /// True if the agent prints the name of the file that it has written.
    pub verbose: bool,
    /// Options without effect that were given.
    pub without_effect: Vec<String>,
}

impl HprofOptions {
    /// Returns the name of a file with a number in it. In the name of a text file, the number is
    /// before the suffix: `java.hprof.1.txt`.
    pub fn marked(&self, file: &str, number: u32) -> String {
        match file.strip_suffix(TEXT_SUFFIX) {
            _ if self.binary => format!("{file}.{number}"),
            Some(name) => format!("{name}.{number}{TEXT_SUFFIX}"),
            None => format!("{file}.{number}{TEXT_SUFFIX}"),
        }
    }
}

impl Default for HprofOptions {
    fn default() -> Self {
        HprofOptions {
            cpu: None,
            sites: false,
            dump: false,
            monitors: false,
            at_exit: true,
            binary: false,
            file: default_file(false),
            net: None,
            depth: 4,
            interval: 10,
            cutoff: Cutoff(100_000),
            lineno: true,
            thread: false,
            force: true,
            verbose: true,
            without_effect: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
