//! Timers that measure the processor time of a thread and send the thread a signal at intervals. Also reads the
//! processor time of threads.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::time::Duration;

use super::sample::ClockSource;

/// The upper half of the value that a timer's signal carries. It distinguishes our timers from other timers.
const MARK: usize = 0x4c48_7331;

/// Returns the index of a thread's record from the value that a signal carries; `None` if another timer has sent the
/// signal.
pub(super) fn record_index(value: usize) -> Option<u32> {
    (value >> 32 == MARK).then_some(value as u32)
}

/// A timer of a thread.
#[derive(Debug)]
pub(super) enum Timer {
    /// A timer on the thread's processor clock.
    Cpu(CpuTimer),
    /// A task clock of the kernel's performance events, by its file descriptor.
    Perf(OwnedFd),
}

/// A POSIX timer.
#[derive(Debug)]
pub(super) struct CpuTimer(libc::timer_t);

// SAFETY: any thread of the process may set and delete a timer.
unsafe impl Send for CpuTimer {}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: the timer was created, and is deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Timer::Perf(file) = self {
            // Closing the descriptor does not end the event if a child process, before its `exec`, still has a copy.
            // The event's next signal would then end this process, because the handler may be gone.
            disable(file.as_raw_fd());
        }
    }
}

/// Returns the `errno` of the calling thread.
fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

impl Timer {
    /// Makes a timer for the thread `tid`, without starting it. The error is the kernel's `errno`.
    pub(super) fn new(
        source: ClockSource,
        tid: i32,
        record: u32,
        signal: i32,
        interval: Duration,
    ) -> Result<Timer, i32> {
        match source {
            ClockSource::Timer => new_cpu_timer(tid, record, signal).map(Timer::Cpu),
            ClockSource::Perf => new_perf_event(tid, signal, interval).map(Timer::Perf),
        }
    }

    /// Returns the file descriptor of a performance event; `None` for a POSIX timer.
    pub(super) fn file(&self) -> Option<i32> {
        match self {
            Timer::Cpu(_) => None,
            Timer::Perf(file) => Some(file.as_raw_fd()),
        }
    }

    /// Starts the timer. The first signal comes after `first`, and later ones at each interval.
    pub(super) fn start(&self, first: Duration, interval: Duration) -> Result<(), i32> {
        match self {
            Timer::Cpu(timer) => {
                let spec = libc::itimerspec {
                    it_interval: timespec(interval),
                    it_value: timespec(first.max(Duration::from_nanos(1))),
                };
                // SAFETY: the timer exists, and the old value is not asked for.
                match unsafe { libc::timer_settime(timer.0, 0, &spec, null_mut()) } {
                    0 => Ok(()),
                    _ => Err(errno()),
                }
            }
            Timer::Perf(file) => {
                set_period(file.as_raw_fd(), first.as_nanos() as u64);
                refresh(file.as_raw_fd());
                Ok(())
            }
        }
    }
}

fn timespec(time: Duration) -> libc::timespec {
    // SAFETY: all bytes zero are a valid value of the structure. It has padding
    // on some platforms.
    let mut spec: libc::timespec = unsafe { std::mem::zeroed() };
    spec.tv_sec = time.as_secs() as libc::time_t;
    spec.tv_nsec = time.subsec_nanos() as _;
    spec
}

/// Returns the processor clock of a thread: `CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED` (Linux, `posix-timers_types.h`).
fn cpu_clock(tid: i32) -> libc::clockid_t {
    (!tid << 3) | 6
}

fn new_cpu_timer(tid: i32, record: u32, signal: i32) -> Result<CpuTimer, i32> {
    // SAFETY: all bytes zero are a valid value of the structure.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_notify_thread_id = tid;
    event.sigev_value.sival_ptr = std::ptr::without_provenance_mut(MARK << 32 | record as usize);
    let mut timer: libc::timer_t = null_mut();
    // SAFETY: both structures outlive the call.
    match unsafe { libc::timer_create(cpu_clock(tid), &mut event, &mut timer) } {
        0 => Ok(CpuTimer(timer)),
        _ => Err(errno()),
    }
}

/// `perf_event_attr`, in its first version.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

fn new_perf_event(tid: i32, signal: i32, interval: Duration) -> Result<OwnedFd, i32> {
    const TYPE_SOFTWARE: u32 = 1;
    const TASK_CLOCK: u64 = 1;
    const DISABLED: u64 = 1;
    const CLOSE_ON_EXEC: u64 = 8;
    const F_SETSIG: i32 = 10;
    const F_SETOWN_EX: i32 = 15;
    #[repr(C)]
    struct Owner {
        kind: i32,
        id: i32,
    }
    let attributes = PerfEventAttr {
        kind: TYPE_SOFTWARE,
        size: size_of::<PerfEventAttr>() as u32,
        config: TASK_CLOCK,
        sample_period: interval.as_nanos() as u64,
        flags: DISABLED,
        wakeup_events: 1,
        ..PerfEventAttr::default()
    };
    // SAFETY: the structure outlives the call. The event is for a thread of this
    // process, on any processor.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &attributes,
            tid,
            -1,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    if file < 0 {
        return Err(errno());
    }
    // SAFETY: the descriptor was opened just now, and is nobody else's.
    let file = unsafe { OwnedFd::from_raw_fd(file as i32) };
    // The kind 0 is F_OWNER_TID: the owner is a thread.
    let owner = Owner { kind: 0, id: tid };
    // SAFETY: the descriptor is open, and the structure outlives the call.
    let refused = unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC) < 0
            || libc::fcntl(file.as_raw_fd(), F_SETSIG, signal) < 0
            || libc::fcntl(file.as_raw_fd(), F_SETOWN_EX, &owner) < 0
    };
    if refused { Err(errno()) } else { Ok(file) }
}

/// Disables a performance event, so that it sends no further signals.
fn disable(file: i32) {
    const DISABLE: libc::c_ulong = 0x2401;
    // SAFETY: the call takes no pointer.
    unsafe { libc::ioctl(file, DISABLE as _, 0) };
}

/// Makes a performance event send one more signal. The signal handler calls this.
pub(super) fn refresh(file: i32) {
    const REFRESH: libc::c_ulong = 0x2402;
    // SAFETY: the call takes no pointer. The kernel refuses a descriptor that belongs to no performance event.
    unsafe { libc::ioctl(file, REFRESH as _, 1) };
}

/// Sets the processor time, in nanoseconds, after which a performance event sends its next signal. The signal handler
/// calls this.
pub(super) fn set_period(file: i32, nanos: u64) {
    const PERIOD: libc::c_ulong = 0x4008_2404;
    let nanos = nanos.max(1);
    // SAFETY: the kernel reads the number. It refuses a descriptor that belongs to no performance event.
    unsafe { libc::ioctl(file, PERIOD as _, &nanos) };
}

/// Returns the processor time of the calling thread, in nanoseconds. The signal handler calls this.
pub(super) fn own_clock_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the processor time of a thread, in nanoseconds; `None` if the thread has ended.
pub(crate) fn thread_clock_ns(tid: i32) -> Option<u64> {
    clock_ns(cpu_clock(tid))
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = timespec(Duration::ZERO);
    // SAFETY: the time is written if the call succeeds.
    let error = unsafe { libc::clock_gettime(clock, &mut time) };
    let nanos = (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64);
    (error == 0).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_signal_names_the_record() {
        assert_eq!(record_index(MARK << 32 | 7), Some(7));
        assert_eq!(record_index(7), None);
        assert_eq!(record_index(0x7fff_0000_1000), None);
    }

    #[test]
    fn a_thread_has_a_clock() {
        // SAFETY: the call has no arguments.
        let tid = unsafe { libc::gettid() };
        let before = own_clock_ns();
        let from_outside = std::thread::spawn(move || thread_clock_ns(tid)).join();
        let from_outside = from_outside.unwrap().expect("the thread lives");
        assert!(before > 0 && before <= from_outside && from_outside <= own_clock_ns());
        assert_eq!(thread_clock_ns(i32::MAX >> 4), None);
    }

    #[test]
    fn a_timer_of_this_thread_can_be_had() {
        // SAFETY: the call has no arguments.
        let tid = unsafe { libc::gettid() };
        let timer = Timer::new(
            ClockSource::Timer,
            tid,
            0,
            libc::SIGPROF,
            Duration::from_millis(1),
        );
        // The timer is not started, because this process has no handler for the
        // signal.
        assert!(matches!(timer, Ok(Timer::Cpu(_))), "{timer:?}");
        let gone = Timer::new(
            ClockSource::Timer,
            i32::MAX >> 4,
            0,
            libc::SIGPROF,
            Duration::from_millis(1),
        );
        assert!(gone.is_err());
    }
}
