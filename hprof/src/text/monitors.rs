//! `MONITOR DUMP`, and the lines of single events of monitors.

use std::fmt::{self, Display, Formatter};

use super::name::{Name, ThreadNumber};
use super::scan::Scan;

/// A thread in a dump of monitors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// Serial number of the thread.
    pub thread: u32,
    /// Serial number of the thread's trace.
    pub trace: u32,
    /// The thread's state: `R` runs, `MW` waits for a monitor, `CW` waits to be notified, `SL` sleeps. Before
    /// these letters, `S|` means suspended, `intr|` interrupted, `native|` in native code.
    pub status: String,
}

impl ThreadState {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<ThreadState> {
        line.spaces();
        line.literal("THREAD ")?;
        let thread = line.number()?;
        line.literal(", trace ")?;
        let trace = line.number()?;
        line.literal(", status: ")?;
        let status = line.rest().to_owned();
        Some(ThreadState {
            thread,
            trace,
            status,
        })
    }
}

impl Display for ThreadState {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (thread, trace, status) = (self.thread, self.trace, Name(&self.status));
        write!(f, "    THREAD {thread}, trace {trace}, status: {status}")
    }
}

/// A monitor in a dump of monitors. An [`Owner`] follows if the monitor has one, then the threads that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    /// The class of the monitor's object as a descriptor, for example `Ljava/lang/Object;`.
    pub class: String,
    /// True if a thread owns the monitor.
    pub is_owned: bool,
}

const UNOWNED: &str = " unowned";

impl Monitor {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Monitor> {
        line.spaces();
        line.literal("MONITOR ")?;
        let rest = line.rest();
        let unowned = rest.strip_suffix(UNOWNED);
        Some(Monitor {
            class: unowned.unwrap_or(rest).to_owned(),
            is_owned: unowned.is_none(),
        })
    }
}

impl Display for Monitor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unowned = if self.is_owned { "" } else { UNOWNED };
        write!(f, "    MONITOR {}{unowned}", Name(&self.class))
    }
}

/// The thread that owns the monitor whose line came before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Serial number of the thread.
    pub thread: u32,
    /// How often the thread has entered the monitor.
    pub entries: i32,
}

impl Owner {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Owner> {
        line.spaces();
        line.literal("owner: ")?;
        let thread = line.thread()?;
        line.literal(", entry count: ")?;
        let entries = line.number()?;
        line.end()?;
        Some(Owner { thread, entries })
    }
}

impl Display for Owner {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let thread = ThreadNumber(self.thread);
        write!(f, "\towner: {thread}, entry count: {}", self.entries)
    }
}

/// The threads that wait for the monitor whose line came before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiters {
    /// True if the threads wait to be notified; false if they wait to enter.
    pub wait_for_notification: bool,
    /// Serial numbers of the threads; 0 stands for an unknown one.
    pub threads: Vec<u32>,
}

const TO_ENTER: &str = "waiting to enter:";
const TO_BE_NOTIFIED: &str = "waiting to be notified:";

impl Waiters {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Waiters> {
        line.spaces();
        let wait_for_notification = line.literal(TO_ENTER).is_none();
        if wait_for_notification {
            line.literal(TO_BE_NOTIFIED)?;
        }
        let mut threads = Vec::new();
        while line.end().is_none() {
            if !threads.is_empty() {
                line.literal(",")?;
            }
            line.literal(" ")?;
            threads.push(line.thread()?);
        }
        Some(Waiters {
            wait_for_notification,
            threads,
        })
    }
}

impl Display for Waiters {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let reason = if self.wait_for_notification {
            TO_BE_NOTIFIED
        } else {
            TO_ENTER
        };
        write!(f, "\t{reason}")?;
        for (number, thread) in self.threads.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma} {}", ThreadNumber(*thread))?;
        }
        Ok(())
    }
}

/// An event of a monitor, outside of a dump. The thread 0 is an unknown one. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MonitorEvent {
    /// A thread begins to wait to be notified.
    Wait {
        class: String,
        timeout: i64,
        thread: u32,
    },
    /// A thread has waited to be notified.
    Waited {
        class: String,
        time: i64,
        thread: u32,
    },
    /// A thread leaves a monitor for which another thread waits.
    Exit { class: String, thread: u32 },
    /// A thread begins to sleep.
    Sleep { timeout: i64, thread: u32 },
}

impl MonitorEvent {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<MonitorEvent> {
        let event = if line.literal("SLEEP: timeout=").is_some() {
            let timeout = line.number()?;
            line.literal(", ")?;
            let thread = line.thread()?;
            MonitorEvent::Sleep { timeout, thread }
        } else if line.literal("EXIT: MONITOR ").is_some() {
            let class = line.until_last(", ")?.to_owned();
            let thread = line.thread()?;
            MonitorEvent::Exit { class, thread }
        } else if line.literal("WAIT: MONITOR ").is_some() {
            let class = line.until_last(", timeout=")?.to_owned();
            let timeout = line.number()?;
            line.literal(", ")?;
            let thread = line.thread()?;
            MonitorEvent::Wait {
                class,
                timeout,
                thread,
            }
        } else {
            line.literal("WAITED: MONITOR ")?;
            let class = line.until_last(", time_waited=")?.to_owned();
            let time = line.number()?;
            line.literal(", ")?;
            let thread = line.thread()?;
            MonitorEvent::Waited {
                class,
                time,
                thread,
            }
        };
        line.end()?;
        Some(event)
    }
}

impl Display for MonitorEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MonitorEvent::Wait {
                class,
                timeout,
                thread,
            } => {
                let (class, thread) = (Name(class), ThreadNumber(*thread));
                write!(f, "WAIT: MONITOR {class}, timeout={timeout}, {thread}")
            }
            MonitorEvent::Waited {
                class,
                time,
                thread,
            } => {
                let (class, thread) = (Name(class), ThreadNumber(*thread));
                write!(f, "WAITED: MONITOR {class}, time_waited={time}, {thread}")
            }
            MonitorEvent::Exit { class, thread } => {
                let (class, thread) = (Name(class), ThreadNumber(*thread));
                write!(f, "EXIT: MONITOR {class}, {thread}")
            }
            MonitorEvent::Sleep { timeout, thread } => {
                write!(f, "SLEEP: timeout={timeout}, {}", ThreadNumber(*thread))
            }
        }
    }
}
