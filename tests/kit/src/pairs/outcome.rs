//! The outcome of linking and running a class in a JVM, and the verdict on a class and its rewritten form.

/// The outcome of linking and running one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Success if HotSpot defined and linked the class, else the error's class and message.
    pub link: Result<(), String>,
    /// The outcome of running the class.
    pub run: Run,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// The class was not run: it did not link, or it is the rewritten form of a class whose run did
    /// not end.
    NotRun,
    /// The run ended by itself, perhaps with an exception.
    Ended(Ran),
    /// The run exceeded its time limit and was stopped.
    TimedOut,
    /// The run exceeded its time limit and could not be stopped (JVMs from 20 on cannot stop a
    /// thread), or HotSpot hung while linking the class.
    Hung,
    /// The JVM ended while it linked or ran the class: by `System.exit`, a crash, or a heap too
    /// full for the runner itself.
    Died,
}

/// The observations of a run that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// A text for each call: `name[arguments] = value`, or `… threw class: message at [method:line,
    /// …]` with the lines of this class. Addresses and identity hashes are replaced by `#`.
    pub calls: Vec<String>,
    /// The counts of the tracker.
    pub tracker: TrackerCounts,
    /// The tracker's first 256 events: `ENTER 3, ALLOC_ARRAY 10 7, EXIT 3`.
    pub log: String,
}

/// The tracker's numbers after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackerCounts {
    /// Number of methods that were entered, but neither exited nor removed by repair. 0 if every entry
    /// has its exit.
    pub depth: u64,
    /// Entries that the tracker removed because `exit` or `caught` of an outer method came first.
    pub healed: u64,
    /// Exits and catches of methods that had no entry on the path.
    pub missing: u64,
    /// Events lost to a full stack or heap.
    pub lost: u64,
    /// Calls of `enter`.
    pub enters: u64,
    /// Calls of `count`.
    pub counts: u64,
    /// Calls of `exit`.
    pub exits: u64,
    /// Calls of `caught`.
    pub caughts: u64,
    /// Calls of `construct`.
    pub constructs: u64,
    /// Calls of `constructed`.
    pub constructeds: u64,
    /// Calls of `ended`.
    pub endeds: u64,
    /// Calls of `alloc`.
    pub allocs: u64,
    /// Calls of `allocArray`.
    pub alloc_arrays: u64,
    /// Calls of `allocDimension`.
    pub alloc_dimensions: u64,
    /// Calls of `init`.
    pub inits: u64,
    /// Calls of `newArray`.
    pub new_arrays: u64,
}

/// The outcomes of a class and of its rewritten form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The original class.
    pub original: Outcome,
    /// The rewritten class; `None` if the original did not link or ended the JVM, or if no
    /// rewritten class was given. It runs only if the original's run ended by itself.
    pub rewritten: Option<Outcome>,
    /// True if the classes differ, but not because of the rewriting: two runs of the original also
    /// differ, or the difference depends on the order of the two.
    pub nondeterministic: bool,
}

impl Outcome {
    /// Returns the observations of the run; `None` if the run did not end by itself.
    #[must_use]
    pub fn ran(&self) -> Option<&Ran> {
        match &self.run {
            Run::Ended(ran) => Some(ran),
            _ => None,
        }
    }

    /// Returns whether only one of the two classes links, or whether both runs ended by themselves
    /// with different observations.
    pub(crate) fn differs(&self, other: &Outcome) -> bool {
        self.link.is_ok() != other.link.is_ok()
            || self
                .ran()
                .zip(other.ran())
                .is_some_and(|(a, b)| first_difference(a, b).is_some())
    }
}

impl Verdict {
    /// Describes the difference between the rewritten class and the original; `None` if they agree
    /// or cannot be compared.
    #[must_use]
    pub fn disagreement(&self) -> Option<String> {
        let rewritten = self.rewritten.as_ref()?;
        if self.nondeterministic {
            return None;
        }
        if let Err(error) = &rewritten.link {
            return Some(format!(
                "the original links, the rewritten class does not: {error}"
            ));
        }
        let original = self.original.ran()?;
        let Some(ran) = rewritten.ran() else {
            return Some(format!(
                "the original ended by itself, the rewritten class: {:?}",
                rewritten.run
            ));
        };
        let (original, rewritten) = first_difference(original, ran)?;
        Some(format!("original:  {original}\nrewritten: {rewritten}"))
    }

    /// Describes an imbalance of the tracker after the run of the rewritten class; `None` if it is in balance.
    ///
    /// The balance is not checked after a stack or heap overflow, in which the tracker itself may
    /// have lost events.
    #[must_use]
    pub fn unbalanced(&self) -> Option<String> {
        let ran = self.rewritten.as_ref()?.ran()?;
        let tracker = &ran.tracker;
        if (tracker.depth == 0 && tracker.missing == 0)
            || tracker.lost != 0
            || ran.calls.iter().any(|it| overflowed(it))
        {
            return None;
        }
        Some(format!("{tracker:?} after {}", ran.log))
    }

    /// Returns whether the outcomes of the two classes differ.
    pub(crate) fn differs(&self) -> bool {
        self.rewritten
            .as_ref()
            .is_some_and(|rewritten| self.original.differs(rewritten))
    }
}

/// Returns the first call in which two runs differ. Nothing after an overflow of the stack or heap
/// is compared: the depth of the overflow differs from run to run, and later calls may depend on it.
fn first_difference<'a>(original: &'a Ran, rewritten: &'a Ran) -> Option<(&'a str, &'a str)> {
    let mut pairs = original.calls.iter().zip(&rewritten.calls);
    if let Some((a, b)) = pairs.find(|(a, b)| a != b || overflowed(a)) {
        return (!overflowed(a) && !overflowed(b)).then_some((a, b));
    }
    let shorter = original.calls.len().min(rewritten.calls.len());
    let next = |ran: &'a Ran| {
        ran.calls
            .get(shorter)
            .map_or("nothing more", String::as_str)
    };
    (original.calls.len() != rewritten.calls.len()).then(|| (next(original), next(rewritten)))
}

fn overflowed(call: &str) -> bool {
    call.contains("java.lang.StackOverflowError") || call.contains("java.lang.OutOfMemoryError")
}
