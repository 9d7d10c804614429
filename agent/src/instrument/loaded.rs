//! Changes loaded classes of a running program, also those that the program is loading meanwhile.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use loadhook_settings::attach::AttachFigures;
use thiserror::Error;

use super::pace::Pace;
use super::retransform;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};

/// The wait before looking for classes again. The JVM lists a class only when it is defined, some time after the hook
/// has given it probes. That time is far shorter than this wait, unless Java code has to load the superclass first.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The number of looks for classes.
#[derive(Clone, Copy)]
pub(super) struct Looks {
    /// The maximum number.
    pub(super) most: u32,
    /// The number of looks in a row that find no class, after which there are no more.
    pub(super) empty: u32,
}

/// The error for a JVM that does not list its classes.
#[derive(Debug, Error)]
#[error("the JVM has no memory to list its classes; try again later")]
pub(crate) struct NotListed;

/// Retransforms the loaded classes that `is_meant` accepts, each once. Ends early if `goes_on` returns false.
///
/// # Errors
/// If the JVM has listed no classes at any look.
pub(super) fn change(
    jvmti: Jvmti,
    jni: Jni<'_>,
    looks: Looks,
    is_meant: &dyn Fn(Jni<'_>, Local<'_>) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Result<AttachFigures, NotListed> {
    let mut pace = Pace::running();
    let mut done = Done::default();
    let (mut all, mut refused, mut empty_looks) = (0, 0, 0);
    let mut is_listed = false;
    for look in 0..looks.most {
        if look > 0 {
            thread::sleep(LOOK_AGAIN);
        }
        if !goes_on() {
            // The JVM ends.
            is_listed = true;
            break;
        }
        let new = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let classes = jvmti.loaded_classes(jni).ok()?.into_iter();
            let meant = classes.filter(|class| is_meant(jni, *class));
            let new = meant.filter_map(|class| done.add(jvmti, jni, class));
            Some(new.collect::<Vec<Global>>())
        });
        let new = new.flatten();
        is_listed |= new.is_some();
        let new = new.unwrap_or_default();
        if new.is_empty() {
            empty_looks += 1;
            if empty_looks == looks.empty {
                break;
            }
        } else {
            empty_looks = 0;
            all += new.len();
            refused += retransform::change(jvmti, &new, &mut pace, goes_on).len();
        }
    }
    done.release(jni);
    if is_listed {
        Ok(pace.figures(all - refused, refused))
    } else {
        Err(NotListed)
    }
}

/// The classes that were changed, by identity hash.
#[derive(Default)]
struct Done(HashMap<i32, Vec<Global>>);

impl Done {
    /// Adds a class. Returns a reference to it if it is new.
    fn add(&mut self, jvmti: Jvmti, jni: Jni<'_>, class: Local<'_>) -> Option<Global> {
        let same_hash = self.0.entry(jvmti.hash_code(class)).or_default();
        if same_hash.iter().any(|known| jni.is_same(*known, class)) {
            return None;
        }
        let reference = jni.global(class).ok()?;
        same_hash.push(reference);
        Some(reference)
    }

    fn release(self, jni: Jni<'_>) {
        for class in self.0.into_values().flatten() {
            jni.delete_global(class);
        }
    }
}
