//! Passes signals to the child process. `loadhook` lives longer than the child, because it shows
//! the child's profile. From the child's end on, signals end `loadhook` itself again.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::Cause;

/// Lets a file that would exceed `ulimit -f` cause an error, like a full disk, instead of ending
/// this process. The signal is handled, not ignored, so that it keeps its default effect in child
/// processes.
pub(crate) fn survive_file_limits() {
    // If the signal cannot be handled, it ends this process.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Signals that are held back until there is a child process that can get them.
pub(crate) struct Held {
    signals: SignalsInfo<WithOrigin>,
    leads_session: bool,
    /// True once signals have their default effect again.
    ours: Arc<AtomicBool>,
}

/// Passes signals to a child until this value is dropped.
pub(crate) struct HandedOn {
    handle: Handle,
    ours: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Held {
    /// Begins to hold signals back. Call it before the child starts, because a signal
    /// may come at any time.
    pub(crate) fn new() -> Result<Held> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        // The child inherits which signals are ignored, for example under `nohup`, but
        // not which are handled.
        let handled = not_ignored(&status, &[SIGHUP, SIGINT, SIGQUIT, SIGTERM]);
        let ours = Arc::new(AtomicBool::new(false));
        for &signal in &handled {
            // The handlers of `SignalsInfo` stay after its end. Without this handler, they
            // would swallow signals that come after the child's end.
            flag::register_conditional_default(signal, ours.clone())
                .context("cannot handle signals")?;
        }
        let signals = SignalsInfo::new(handled).context("cannot handle signals")?;
        Ok(Held {
            signals,
            leads_session: leads_session(&status),
            ours,
        })
    }

    /// Passes signals to `child` from now on.
    pub(crate) fn hand_on(self, child: u32) -> HandedOn {
        let Held {
            mut signals,
            leads_session,
            ours,
        } = self;
        let handle = signals.handle();
        let child = i32::try_from(child).ok().and_then(Pid::from_raw);
        let thread = thread::spawn(move || {
            for origin in signals.forever() {
                let is_kernels = matches!(origin.cause, Cause::Kernel);
                let signal = match origin.signal {
                    SIGTERM => Signal::TERM,
                    // If a terminal is closed, the kernel signals only the session's leader. When
                    // the leader ends, the kernel signals the foreground processes, and so the
                    // child.
                    SIGHUP if leads_session || !is_kernels => Signal::HUP,
                    // A signal that was typed at a terminal has reached the child, too.
                    _ if is_kernels => continue,
                    SIGINT => Signal::INT,
                    _ => Signal::QUIT,
                };
                if let Some(child) = child {
                    // A child that has ended needs no signal.
                    let _ = kill_process(child, signal);
                }
            }
        });
        HandedOn {
            handle,
            ours,
            thread: Some(thread),
        }
    }
}

impl Drop for HandedOn {
    fn drop(&mut self) {
        self.ours.store(true, Ordering::SeqCst);
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread only loops until the handle is closed.
            let _ = thread.join();
        }
    }
}

/// The number of the terminating signal that arrived last, for code that has to clean up before the
/// end; 0 if none arrived.
pub(crate) struct Noted(Arc<AtomicUsize>);

/// Notes terminating signals from now on. They no longer end this process.
pub(crate) fn noted() -> Result<Noted> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let noted = Arc::new(AtomicUsize::new(0));
    for signal in not_ignored(&status, &[SIGHUP, SIGINT, SIGTERM]) {
        let number = usize::try_from(signal).context("cannot handle signals")?;
        flag::register_usize(signal, noted.clone(), number).context("cannot handle signals")?;
    }
    Ok(Noted(noted))
}

impl Noted {
    /// Returns a note of a signal that has arrived already, for callers that do not want to wait.
    pub(crate) fn arrived() -> Noted {
        let number = usize::try_from(SIGTERM).unwrap_or_default();
        Noted(Arc::new(AtomicUsize::new(number)))
    }

    /// Returns the exit code of a process that the noted signal ends; `None` if no signal arrived.
    pub(crate) fn code(&self) -> Option<u8> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}

/// Returns the numbers in `signals` that this process does not ignore.
fn not_ignored(status: &str, signals: &[i32]) -> Vec<i32> {
    let ignored = ignored(status);
    let mut signals = signals.to_vec();
    signals.retain(|signal| ignored & (1 << (signal - 1)) == 0);
    signals
}

/// Returns the ignored signals as a bit mask; 0 if `status` has no such mask.
fn ignored(status: &str) -> u64 {
    status_value(status, "SigIgn:")
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .unwrap_or(0)
}

/// Returns whether this process leads its session, in every PID namespace. Inside a container, a
/// session that began outside has the number 0, which no process has.
fn leads_session(status: &str) -> bool {
    let session = status_value(status, "NSsid:");
    session.is_some() && session == status_value(status, "NSpid:")
}

/// Returns the value after `name` in the text of /proc/PID/status (proc_pid_status(5)).
pub(crate) fn status_value<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    lines
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{ignored, leads_session};

    #[test]
    fn the_kernel_tells_of_signals_and_sessions() {
        let status = |pid, session| {
            format!(
                "Name:\tSigIgn:\nPid:\t7\nNSpid:\t{pid}\nNSsid:\t{session}\nSigIgn:\t0000000000001001\n"
            )
        };
        assert_eq!(ignored(&status("7", "7")), 0x1001);
        assert_eq!(ignored(""), 0);
        for (pid, session, leads) in [
            ("7", "7", true),
            ("7", "5", false),
            ("900\t7", "900\t7", true),
            ("900\t7", "800\t0", false),
        ] {
            assert_eq!(
                leads_session(&status(pid, session)),
                leads,
                "{pid} {session}"
            );
        }
        assert!(!leads_session(""));
    }
}
