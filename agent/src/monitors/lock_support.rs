//! Inserts probes into `java.util.concurrent.locks.LockSupport`. All locks of `java.util.concurrent` call this class to
//! park a thread, platform or virtual. JVM TI has no events for parking.
//!
//! Two other ways were considered:
//!
//! * Binding `Unsafe.park` to a function of the agent. An attached agent does not get the address of the original
//!   function, and virtual threads do not call `Unsafe.park`.
//! * Rewriting the classes of locks. Their code differs between JDKs, and a program can have its own classes of locks.

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{Options, Outcome, Probes, Rewriter, Selector};

use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{Jvmti, VmBuffer};
use crate::jvm::sys::event;

/// The internal name of the class with the methods that park.
pub(crate) const NAME: &[u8] = b"java/util/concurrent/locks/LockSupport";

/// The internal name of the tracker's class that the probes call.
const PROBES: &str = "java/lang/$LoadhookParks";

/// Selects `park`, `parkNanos` and `parkUntil`, with and without a blocker.
struct ParkingMethods;

impl Selector for ParkingMethods {
    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        method.name().starts_with(b"park")
    }

    fn method(&mut self, _method: &Member<'_, '_>) -> Probes {
        Probes {
            timing: Some(0),
            ..Probes::default()
        }
    }
}

/// Inserts the probes into the bytes of `LockSupport`. Returns `None` if the class cannot be rewritten.
pub(crate) fn with_probes(jvmti: Jvmti, bytes: &[u8]) -> Option<VmBuffer> {
    let mut rewriter = Rewriter::new(Options {
        owner: PROBES.to_owned(),
        receiver: true,
        static_parameter: true,
        ..Options::default()
    });
    match rewriter.rewrite(bytes, &mut ParkingMethods, |len| jvmti.allocate(len)) {
        Ok(Outcome::Rewritten(class)) => Some(class),
        Ok(Outcome::Unchanged) | Err(_) => None,
    }
}

/// Makes the JVM retransform `LockSupport`, so that the agent inserts or removes the probes. `stays` is true if
/// `ClassFileLoadHook` is to stay enabled afterwards. Returns whether the JVM has retransformed the class.
pub(super) fn change(jvmti: Jvmti, jni: Jni<'_>, stays: bool) -> bool {
    if jvmti.notify(event::CLASS_FILE_LOAD_HOOK, true).is_err() {
        return false;
    }
    // The reference is global, because with a local reference, JDK 11 with `-Xcheck:jni` prints warnings when the hook
    // runs.
    let class = jni.framed(|jni| {
        let class = jni.find_class(c"java/util/concurrent/locks/LockSupport");
        class.and_then(|class| jni.global(class)).ok()
    });
    let changed = class.flatten().is_some_and(|class| {
        let changed = jvmti.retransform(&[class.local()]).is_ok();
        jni.delete_global(class);
        changed
    });
    if !stays {
        let _ = jvmti.notify(event::CLASS_FILE_LOAD_HOOK, false);
    }
    changed
}
