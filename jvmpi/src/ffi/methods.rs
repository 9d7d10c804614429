//! Entries and exits of methods. Probes in the bytecode call the native methods of the layer's class.
//!
//! Each thread keeps a list of the methods that it has entered. So an exit that no probe sees (by an exception out of
//! `super(…)`) is sent before the next exit, and no exit is sent without an entry.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jni_calls::Argument;
use loadhook_jvm::jvmti::MethodKey;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::{Int, Object};

use super::threads::{self, Own};
use super::{definitions, layer, method_ids};
use crate::abi::{Data, MethodEntry2, event};
use crate::probe_class;

/// The methods of the layer's class, which stacks must not show.
static OWN: OnceLock<Vec<MethodKey>> = OnceLock::new();
static IS_DEFINED: AtomicBool = AtomicBool::new(false);
/// Number of times that events of methods were enabled after none was. A method that was entered before the last time
/// gets no exit.
static BEGINNINGS: AtomicU32 = AtomicU32::new(0);

/// Notes that events of methods begin. Calls that are under way get no exit.
pub(super) fn begin() {
    BEGINNINGS.fetch_add(1, Ordering::SeqCst);
}

/// Forgets the calls that a thread entered before events of methods began the last time.
#[inline]
fn drop_old_calls(own: &Own) {
    let beginning = BEGINNINGS.load(Ordering::Relaxed);
    if own.beginning.replace(beginning) != beginning {
        own.stack.borrow_mut().clear();
    }
}

/// Returns whether probes can be inserted.
pub(super) fn is_defined() -> bool {
    IS_DEFINED.load(Ordering::Acquire)
}

/// Defines the class, and binds its methods. An error means that no method can have probes.
pub(super) fn define(jni: Jni<'_>) {
    let Ok(class) = jni.define_boot_class(probe_class::NAME, &probe_class::bytes()) else {
        return;
    };
    let mut own = Vec::new();
    for (name, descriptor) in probe_class::NATIVES {
        let (Ok(name), Ok(signature)) = (CString::new(name), CString::new(descriptor)) else {
            return;
        };
        // The first call binds a native method. Later the search for it would run Java methods that have probes.
        let arguments: &[Argument<'_>] = match descriptor {
            "(I)V" => &[Argument::Int(0)],
            "(II)V" => &[Argument::Int(0), Argument::Int(0)],
            _ => &[Argument::Object(Local::NULL), Argument::Int(0)],
        };
        let called = jni
            .static_method(class, &name, &signature)
            .and_then(|method| jni.call_void(method, arguments));
        if called.is_err() {
            return;
        }
        own.extend(jni.method_key(class, &name, &signature, true).ok());
    }
    let _ = OWN.set(own);
    if super::own::global(jni, class).is_some() {
        IS_DEFINED.store(true, Ordering::Release);
    }
}

/// Returns whether a method belongs to the layer's class.
pub(super) fn is_own(method: MethodKey) -> bool {
    OWN.get().is_some_and(|own| own.contains(&method))
}

/// Called by the probe at the beginning of a method.
///
/// # Safety
/// Called by the JVM, as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookJvmpi_enter__I(
    env: *mut c_void,
    _class: Object,
    number: Int,
) {
    entered(env, null_mut(), number);
}

/// Called by the probe at the beginning of a method, with the receiver, for `METHOD_ENTRY2`.
///
/// # Safety
/// Called by the JVM, as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookJvmpi_enter__Ljava_lang_Object_2I(
    env: *mut c_void,
    _class: Object,
    receiver: Object,
    number: Int,
) {
    entered(env, receiver, number);
}

#[inline]
fn entered(env: *mut c_void, receiver: Object, number: Int) {
    let one = layer::wanted(event::METHOD_ENTRY);
    let two = layer::wanted(event::METHOD_ENTRY2);
    if one | two | layer::wanted(event::METHOD_EXIT) == 0 {
        return;
    }
    layer::guarded((), || {
        threads::on_own(env, |own| {
            // If a profiler calls Java methods in its handler of an entry, the entries of these methods are not sent.
            // Otherwise there would be no end.
            if own.is_told.get() {
                return;
            }
            let Some(method) = method_ids::id(number as u32) else {
                return;
            };
            own.is_told.set(true);
            drop_old_calls(own);
            own.stack.borrow_mut().push(number as u32);
            if one != 0 {
                layer::send(one, event::METHOD_ENTRY, env, layer::method_data(method));
            }
            if two != 0 {
                // SAFETY: the JVM passes this thread's environment.
                let jni = unsafe { Jni::new(env) };
                let method_entry2 = MethodEntry2 {
                    method,
                    object: definitions::id_of(jni, Local::new(receiver)),
                };
                layer::send(two, event::METHOD_ENTRY2, env, Data { method_entry2 });
            }
            own.is_told.set(false);
        });
    });
}

/// Called by the probe where a method returns or an exception leaves it.
///
/// # Safety
/// Called by the JVM, as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookJvmpi_exit(
    env: *mut c_void,
    _class: Object,
    number: Int,
) {
    left(env, number as u32, true);
}

/// Called by the probe where a constructor returns or an exception leaves it.
///
/// # Safety
/// Called by the JVM, as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookJvmpi_ended(
    env: *mut c_void,
    _class: Object,
    number: Int,
    _key: Int,
) {
    left(env, number as u32, true);
}

/// Called by the probe at the beginning of a handler: the methods that this method had called have ended.
///
/// # Safety
/// Called by the JVM, as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookJvmpi_caught(
    env: *mut c_void,
    _class: Object,
    number: Int,
) {
    left(env, number as u32, false);
}

/// Sends the exits of all methods above this method on the thread's stack, and with `with_own` the method's own exit.
#[inline]
fn left(env: *mut c_void, number: u32, with_own: bool) {
    layer::guarded((), || {
        threads::on_own(env, |own| {
            if own.is_told.get() {
                return;
            }
            drop_old_calls(own);
            let place = own.stack.borrow().iter().rposition(|it| *it == number);
            let Some(place) = place else {
                return;
            };
            own.is_told.set(true);
            leave(own, env, if with_own { place } else { place + 1 });
            own.is_told.set(false);
        });
    });
}

/// Sends the exits of the innermost methods until `keep` are left.
fn leave(own: &Own, env: *mut c_void, keep: usize) {
    while let Some(top) = pop_above(own, keep) {
        let wanted = layer::wanted(event::METHOD_EXIT);
        if let Some(method) = method_ids::id(top).filter(|_| wanted != 0) {
            layer::send(wanted, event::METHOD_EXIT, env, layer::method_data(method));
        }
    }
}

/// Removes the innermost method from the thread's stack if there are more than `keep`.
fn pop_above(own: &Own, keep: usize) -> Option<u32> {
    let mut stack = own.stack.borrow_mut();
    if stack.len() > keep {
        stack.pop()
    } else {
        None
    }
}

/// Sends the exits of all methods of a thread that ends.
pub(super) fn thread_ends(env: *mut c_void) {
    threads::on_own(env, |own| leave(own, env, 0));
}
