//! Changes the choice of instrumented methods while the program runs.
//!
//! A call that is under way runs its old code to the end. Old code with a probe at the entry also has probes at the
//! exits, so each counted entry gets its exit.

use loadhook_instrument::Traced;
use loadhook_settings::Filter;
use loadhook_settings::attach::AttachFigures;

use super::hidden_classes::HiddenClasses;
use super::hidden_names::plain_name;
use super::instrumentation::Instrumentation;
use super::loaded::{self, Looks, NotListed};
use super::watch::Watch;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;

/// Limits of the looks at the loaded classes. The second look finds classes that the hook instrumented by the old
/// choice, and that the JVM did not list at the first look.
const LOOKS: Looks = Looks { most: 2, empty: 2 };

/// Replaces the filters of watched and of traced methods. Retransforms the loaded classes for which the old and the new
/// choice may differ. Ends early if `goes_on` returns false.
///
/// # Errors
///
/// Fails if the JVM does not list its classes. The old filters then apply again.
pub(crate) fn replace_filters(
    instrumentation: &Instrumentation,
    hidden_classes: &HiddenClasses,
    jni: Jni<'_>,
    filter: Filter,
    traced: Traced,
    goes_on: &dyn Fn() -> bool,
) -> Result<AttachFigures, NotListed> {
    // The choice is replaced first, so that classes that are loaded from now on need no change.
    let (old, new) = instrumentation.hook.replace_watch(filter, traced);
    let differs = |jni: Jni<'_>, class: Local<'_>| {
        differs(instrumentation, hidden_classes, jni, class, [&old, &new])
    };
    let changed = loaded::change(instrumentation, jni, LOOKS, &differs, goes_on);
    if changed.is_err() {
        let traced = old.traced.clone();
        instrumentation
            .hook
            .replace_watch(old.filter_so_far(), traced);
    }
    changed
}

/// Returns whether two choices may select different methods of a class.
fn differs(
    instrumentation: &Instrumentation,
    hidden_classes: &HiddenClasses,
    jni: Jni<'_>,
    class: Local<'_>,
    [old, new]: [&Watch; 2],
) -> bool {
    let jvmti = instrumentation.jvmti;
    let signature = jvmti.class_signature(class).unwrap_or_default();
    let name = signature.strip_prefix(b"L");
    let Some(name) = name.and_then(|name| name.strip_suffix(b";")) else {
        return false;
    };
    if let Some(plain) = plain_name(name)
        && !jvmti.is_modifiable(class)
    {
        if !old.filter.agrees(&new.filter, plain) {
            hidden_classes.note_early(instrumentation, jni, class, plain);
        }
        return false;
    }
    if old.agrees(new, name) {
        return false;
    }
    let origin = jni.framed(|jni| {
        let loader = jvmti.class_loader(jni, class).ok()?;
        Some(instrumentation.origin(jni, loader, name))
    });
    let selects = |watch: &Watch, origin| watch.wants(origin) && watch.may_name(name);
    let is_wanted = origin
        .flatten()
        .is_some_and(|origin| selects(old, origin) || selects(new, origin));
    is_wanted && jvmti.is_modifiable(class)
}
