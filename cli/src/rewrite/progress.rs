//! Progress bar on a terminal.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadhook_offline::Progress;

/// The interval at which the bar is drawn. Shorter work shows no bar.
const PERIOD: Duration = Duration::from_millis(200);

/// Runs `work`, and shows on a terminal how many of `total` bytes are done.
pub(super) fn shown<T>(
    quiet: bool,
    progress: &Progress,
    total: u64,
    work: impl FnOnce() -> T,
) -> T {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if quiet || bar.is_hidden() {
        return work();
    }
    let style = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    thread::scope(|scope| {
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let bar = &bar;
        scope.spawn(move || {
            // The sender is dropped when the work ends.
            while end.recv_timeout(PERIOD) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                bar.set_position(progress.done.load(Ordering::Relaxed));
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(ended);
        result
    })
}
