//! Signal dispositions of the JVMs that tests start.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// The signals that HotSpot handles itself, and reports if they are ignored.
const HANDLED_BY_JVMS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Makes every process that this one starts begin with the default dispositions of these signals.
///
/// `nohup`, and a shell that runs a job in the background, ignore some signals. Child processes
/// inherit this, and a JVM behaves differently then: these signals do not end it, and JDK 11 with
/// `-Xcheck:jni` prints the dispositions on standard output.
///
/// When a program is executed, a signal with a handler gets the default disposition (POSIX,
/// `exec`). So each ignored signal gets a handler here that only sets a flag: this process still
/// ignores the signal in effect. Other signals are not changed.
///
/// # Errors
///
/// When the dispositions cannot be read or set.
pub(crate) fn hand_on_defaults() -> Result<(), String> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        let handled = handle_ignored();
        handled.map_err(|error| format!("signal dispositions: {error}"))
    });
    done.clone()
}

fn handle_ignored() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    for signal in HANDLED_BY_JVMS {
        if ignored(&status) & (1 << (signal - 1)) != 0 {
            flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    Ok(())
}

/// Returns the ignored signals of a process, one bit per signal from signal 1 on (`SigIgn` of
/// proc(5)).
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;
    use crate::process;

    /// Environment variable of the second process, which starts with these signals ignored.
    const INNER: &str = "LOADHOOK_TEST_WITH_IGNORED_SIGNALS";

    fn handled_by_jvms(status: &str) -> Vec<i32> {
        let is_ignored = |signal: &i32| ignored(status) & (1 << (signal - 1)) != 0;
        HANDLED_BY_JVMS.into_iter().filter(is_ignored).collect()
    }

    /// The test runs itself again in a shell that ignores the signals, as `nohup` does.
    #[test]
    fn programs_start_with_no_signal_ignored() {
        if env::var_os(INNER).is_none() {
            let mut shell = Command::new("sh");
            shell.args(["-c", "trap '' HUP INT QUIT TERM; exec \"$@\"", "sh"]);
            shell.arg(env::current_exe().expect("a test has an executable"));
            shell.arg("signals::tests::programs_start_with_no_signal_ignored");
            let printed =
                process::output(shell.env(INNER, "1")).expect("the test passes in the shell");
            assert!(printed.contains("1 passed"), "{printed}");
            return;
        }
        let own = fs::read_to_string("/proc/self/status").expect("the test file can be read");
        assert_eq!(handled_by_jvms(&own), HANDLED_BY_JVMS);
        hand_on_defaults().expect("the dispositions can be set");
        let mut cat = Command::new("cat");
        let started = process::output(cat.arg("/proc/self/status")).expect("cat prints the file");
        assert_eq!(handled_by_jvms(&started), [0; 0]);
    }
}
