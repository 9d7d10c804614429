//! Retransforms loaded classes of a running program, and also classes that the program is loading at this moment.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use loadhook_settings::attach::AttachFigures;
use thiserror::Error;

use super::instrumentation::Instrumentation;
use super::pace::Pace;
use super::retransform;
use super::under_way::{Awaited, LoaderHash};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};

/// The wait before the classes are listed again. The JVM lists a class only when the class is defined, which is some
/// time after the hook has instrumented it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Limits how often the classes are listed.
#[derive(Clone, Copy)]
pub(super) struct Looks {
    /// The maximum number of looks.
    pub(super) most: u32,
    /// After this number of looks in a row that find no class to change, there are no further looks.
    pub(super) empty: u32,
}

/// The error for a JVM that does not list its classes.
#[derive(Debug, Error)]
#[error("the JVM has no memory to list its classes; try again later")]
pub(crate) struct NotListed;

/// Retransforms each loaded class that `is_meant` accepts, once. Waits for classes that the hook got before this call,
/// and that the JVM does not list yet. Ends early if `goes_on` returns false.
///
/// # Errors
///
/// Fails if the JVM could not list the classes at any look.
pub(super) fn change(
    instrumentation: &Instrumentation,
    jni: Jni<'_>,
    looks: Looks,
    is_meant: &dyn Fn(Jni<'_>, Local<'_>) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Result<AttachFigures, NotListed> {
    let jvmti = instrumentation.jvmti;
    let mut pace = Pace::running();
    let mut done = Done::default();
    let mut awaited = instrumentation.under_way.awaited();
    let (mut all, mut refused, mut looked, mut empty_looks) = (0, 0, 0, 0);
    let mut is_listed = false;
    while looked < looks.most && empty_looks < looks.empty || awaited.has_any() {
        if looked > 0 {
            thread::sleep(LOOK_AGAIN);
        }
        looked += 1;
        if !goes_on() {
            // The JVM is ending.
            is_listed = true;
            break;
        }
        let new = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let classes = jvmti.loaded_classes(jni).ok()?;
            if awaited.has_any() {
                find(&mut awaited, jvmti, jni, &classes);
            }
            let meant = classes.into_iter().filter(|class| is_meant(jni, *class));
            let new = meant.filter_map(|class| done.add(jvmti, jni, class));
            Some(new.collect::<Vec<Global>>())
        });
        let new = new.flatten();
        is_listed |= new.is_some();
        let new = new.unwrap_or_default();
        if new.is_empty() {
            empty_looks += 1;
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

/// Removes the listed classes from the awaited classes.
fn find(awaited: &mut Awaited, jvmti: Jvmti, jni: Jni<'_>, classes: &[Local<'_>]) {
    for class in classes {
        let signature = jvmti.class_signature(*class).unwrap_or_default();
        let name = signature.strip_prefix(b"L");
        if let Some(name) = name.and_then(|name| name.strip_suffix(b";")) {
            awaited.note_listed(name, || {
                let loader = jni.framed(|jni| {
                    let loader = jvmti.class_loader(jni, *class).ok()?;
                    Some(LoaderHash::of(jvmti, loader))
                });
                loader.flatten()
            });
        }
    }
}

/// The classes that were handled, by identity hash.
#[derive(Default)]
struct Done(HashMap<i32, Vec<Global>>);

impl Done {
    /// Adds a class. Returns a global reference to the class if it is new.
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
