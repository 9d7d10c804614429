//! The handler of the class-load hook.

use crate::agent::Agent;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::VmBuffer;
use crate::jvm::reference::Local;
use crate::monitor_events;
use crate::monitors::lock_support;

/// Handles `ClassFileLoadHook`. `redefined` is the class if it is loaded already and is about to be redefined, otherwise
/// null.
pub(crate) fn class_file_load(
    agent: &'static Agent,
    jni: Jni<'_>,
    redefined: Local<'_>,
    loader: Local<'_>,
    name: &[u8],
    bytes: &[u8],
) -> Option<VmBuffer> {
    let is_loaded = !redefined.is_null();
    if is_loaded {
        agent.instrumentation.redefinitions.note();
        if let Some(sampler) = &agent.sampler {
            sampler.note_redefined_class(jni, redefined);
        }
    }
    let mut class = None;
    if agent.options().rewrites() {
        class = instrumented(agent, jni, loader, name, is_loaded, bytes);
    }
    if name == lock_support::NAME && monitor_events::probes_parks(agent) {
        let bytes = match &mut class {
            Some(class) => class.as_mut(),
            None => bytes,
        };
        if let Some(class) = lock_support::with_probes(agent.jvmti, bytes) {
            return Some(class);
        }
    }
    class
}

/// Returns the bytes of a class with probes; `None` if the class gets no probes.
fn instrumented(
    agent: &Agent,
    jni: Jni<'_>,
    loader: Local<'_>,
    name: &[u8],
    is_loaded: bool,
    bytes: &[u8],
) -> Option<VmBuffer> {
    let takes_orders = agent.options().settings.control;
    // An order may change the choice of methods while the class is being loaded. So the class is noted before the
    // choice is read. Then either the order sees the noted class and waits for it, or the class gets the new choice.
    if !is_loaded && takes_orders {
        agent.instrumentation.note_under_way(loader, name, bytes);
    }
    let watch = agent.instrumentation.hook.watch();
    if !name.is_empty() && !watch.may_name(name) {
        return None;
    }
    let origin = agent.instrumentation.origin(jni, loader, name);
    agent.instrumentation.forget_unloaded(jni);
    let allocate = |len| agent.jvmti.allocate(len);
    // Without orders, only a leaving agent needs the noted classes, and only the classes with probes.
    if !is_loaded && !takes_orders && watch.wants(origin) {
        agent.instrumentation.note_under_way(loader, name, bytes);
    }
    agent
        .instrumentation
        .hook
        .instrument(origin, bytes, allocate)
}
