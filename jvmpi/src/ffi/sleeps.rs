//! `MONITOR_WAIT` and `MONITOR_WAITED` of `Thread.sleep`.

use std::time::Duration;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::sleeps::Sleeps;

use super::layer::{self, Profilers};
use crate::abi::{Data, Int, Long, MonitorWait, event};

/// Tells profilers of sleeps.
pub(super) struct Tell;

impl Sleeps for Tell {
    /// The profilers that know of the beginning.
    type Begun = Profilers;

    fn begins(jni: Jni<'_>, timeout: Duration) -> Profilers {
        let told = layer::wanted(event::MONITOR_WAIT);
        tell(told, jni, event::MONITOR_WAIT, timeout);
        told
    }

    fn ends(jni: Jni<'_>, told: Profilers, slept: Duration) {
        let to = layer::wanted_after(event::MONITOR_WAITED, event::MONITOR_WAIT, told);
        tell(to, jni, event::MONITOR_WAITED, slept);
    }
}

fn tell(to: Profilers, jni: Jni<'_>, event_type: Int, time: Duration) {
    if to != 0 {
        let monitor_wait = MonitorWait {
            object: 0,
            timeout: time.as_millis() as Long,
        };
        layer::send(to, event_type, layer::id(jni), Data { monitor_wait });
    }
}
