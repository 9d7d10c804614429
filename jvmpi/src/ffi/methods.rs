//! Entries and exits of methods. Probes in the bytecode call the native methods of the layer's class.
//!
//! Each thread keeps a list of the methods that it has entered. So an exit that no probe sees (by an exception out of
//! `super(…)`) is sent before the next exit, and no exit is sent without an entry.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jni_calls::Argument;
use loadhook_jvm::jvmti::MethodKey;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::{Int, Object};

use super::calls::Call;
use super::layer::{self, MOST_PROFILERS, Profilers, Receiver};
use super::threads::{self, Own};
use super::{definitions, method_ids};
use crate::abi::{Data, MethodEntry2, MethodId, event};
use crate::probe_class;

/// The methods of the layer's class, which stacks must not show.
static OWN: OnceLock<Vec<MethodKey>> = OnceLock::new();
static IS_DEFINED: AtomicBool = AtomicBool::new(false);
/// Number of times that events of methods began for a profiler.
static BEGINNINGS: AtomicU32 = AtomicU32::new(0);
/// For each profiler, the number of the time when they began for it last.
static BEGAN: [AtomicU32; MOST_PROFILERS] = [const { AtomicU32::new(0) }; MOST_PROFILERS];

/// Notes that a profiler is about to enable an event of methods, unless it gets the pairs of entry and exit already. It
/// gets no exits of the calls that are under way, since it got no entries of these. No two threads may call this at the
/// same time.
pub(super) fn begin(profiler: usize, event_type: Int) {
    let entries = layer::enabled(event::METHOD_ENTRY) | layer::enabled(event::METHOD_ENTRY2);
    let others = match event_type {
        event::METHOD_ENTRY | event::METHOD_ENTRY2 => entries,
        event::METHOD_EXIT => entries | layer::enabled(event::METHOD_EXIT),
        _ => return,
    };
    if others & (1 << profiler) == 0 {
        let number = BEGINNINGS.load(Ordering::SeqCst) + 1;
        BEGAN[profiler].store(number, Ordering::SeqCst);
        BEGINNINGS.store(number, Ordering::SeqCst);
    }
}

/// Forgets those calls of a thread that began before events of methods began for the profilers. Afterwards the thread
/// takes the short way of [`quick`], if there is one for the enabled events.
fn drop_old_calls(own: &Own) {
    let sole = layer::sole();
    // If the caller has seen that an event is enabled, the number of its beginning is seen, too.
    fence(Ordering::Acquire);
    let beginning = BEGINNINGS.load(Ordering::Relaxed);
    if own.beginning.get() != beginning {
        drop_calls_before(own, own.beginning.replace(beginning));
    }
    if own.receiver.get().sole != sole {
        own.receiver.set(Receiver::of(sole));
    }
}

/// Runs `body` with the present profiler if one profiler alone gets events of methods, and this thread knows it. Returns
/// whether the event has been sent. Otherwise the caller must send it.
///
/// Nearly all events take this short way if one profiler alone has enabled both entries and exits, and a step more or
/// less can be measured.
#[inline(always)]
fn quick(
    env: *mut c_void,
    number: u32,
    body: impl FnOnce(&Own, Receiver, Call, MethodId) -> bool,
) -> bool {
    let sole = layer::sole();
    if !sole.exists() {
        return false;
    }
    let Some(method) = method_ids::id(number) else {
        return false;
    };
    let sent = threads::on_placed(env, |own| {
        let receiver = own.receiver.get();
        receiver.sole == sole && body(own, receiver, Call::of_sole(number, sole), method)
    });
    sent == Some(true)
}

/// Forgets the calls of which a profiler was told that has disabled the events, or enabled them again after `before`.
#[cold]
fn drop_calls_before(own: &Own, before: u32) {
    let mut present = layer::enabled(event::METHOD_ENTRY)
        | layer::enabled(event::METHOD_ENTRY2)
        | layer::enabled(event::METHOD_EXIT);
    for (profiler, began) in BEGAN.iter().enumerate() {
        if began.load(Ordering::SeqCst) > before {
            present &= !(1 << profiler);
        }
    }
    own.calls.retain(present);
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
    let number = number as u32;
    let is_sent = quick(env, number, |own, receiver, call, method| {
        let tell = || receiver.tell(event::METHOD_ENTRY, own.shown(), method);
        own.calls.enter(call, tell)
    });
    if !is_sent {
        entered(env, null_mut(), number);
    }
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
    entered(env, receiver, number as u32);
}

/// Notes a call, and sends its entry.
#[cold]
extern "C" fn entered(env: *mut c_void, receiver: Object, number: u32) {
    let one = layer::wanted(event::METHOD_ENTRY);
    let two = layer::wanted(event::METHOD_ENTRY2);
    let told: Profilers = one | two | layer::wanted(event::METHOD_EXIT);
    if told == 0 {
        return;
    }
    let Some(method) = method_ids::id(number) else {
        return;
    };
    layer::guarded((), move || {
        threads::on_own(env, move |own| {
            // If a profiler calls Java methods in its handler of an entry, the entries of these methods are not sent.
            // Otherwise there would be no end.
            if own.calls.is_telling() {
                return;
            }
            drop_old_calls(own);
            own.calls.grow_if_full();
            own.calls.enter(Call::new(number, told), || {
                if two == 0 {
                    let data = layer::method_data(method);
                    layer::send(one, event::METHOD_ENTRY, own.shown(), data);
                } else {
                    send_with_receiver(own, env, (one, two), method, receiver);
                }
            });
        });
    });
}

/// Sends `METHOD_ENTRY` to profilers, and then `METHOD_ENTRY2` to others.
#[inline(never)]
fn send_with_receiver(
    own: &Own,
    env: *mut c_void,
    (one, two): (Profilers, Profilers),
    method: MethodId,
    receiver: Object,
) {
    let id = own.shown();
    layer::send(one, event::METHOD_ENTRY, id, layer::method_data(method));
    // SAFETY: the JVM passes this thread's environment.
    let jni = unsafe { Jni::new(env) };
    let method_entry2 = MethodEntry2 {
        method,
        object: definitions::id_of(jni, Local::new(receiver)),
    };
    layer::send(two, event::METHOD_ENTRY2, id, Data { method_entry2 });
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
    exited(env, number as u32);
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
    exited(env, number as u32);
}

/// Sends the exit of a method.
#[inline(always)]
fn exited(env: *mut c_void, number: u32) {
    let is_sent = quick(env, number, |own, receiver, call, method| {
        let tell = || receiver.tell(event::METHOD_EXIT, own.shown(), method);
        own.calls.leave(call, tell)
    });
    if !is_sent {
        left(env, number);
    }
}

/// Called by the probe at the beginning of a handler: the methods that this method had called have ended. Does nothing
/// once the JVM has shut down, see `threads::on_own`.
///
/// # Safety
/// Called by the JVM, as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookJvmpi_caught(
    env: *mut c_void,
    _class: Object,
    number: Int,
) {
    if !layer::is_running() {
        return;
    }
    layer::guarded((), move || {
        threads::on_own(env, move |own| {
            if !own.calls.is_telling() {
                drop_old_calls(own);
                if let Some(outside) = own.calls.outside_of(number as u32) {
                    leave(own, outside + 1);
                }
            }
        });
    });
}

/// Sends the exit of a method, and before it those of all methods above it on the thread's stack, since no probe saw
/// them. Does nothing once the JVM has shut down, see `threads::on_own`.
#[cold]
extern "C" fn left(env: *mut c_void, number: u32) {
    if !layer::is_running() {
        return;
    }
    layer::guarded((), move || {
        threads::on_own(env, move |own| {
            if own.calls.is_telling() {
                return;
            }
            drop_old_calls(own);
            if let Some(outside) = own.calls.outside_of(number) {
                leave(own, outside);
            }
        });
    });
}

/// Ends the innermost calls until `keep` are left, and sends their exits.
fn leave(own: &Own, keep: usize) {
    own.calls.grow_if_full();
    while let Some(call) = own.calls.last_above(keep) {
        let is_left = own.calls.leave(call, || {
            let to = layer::wanted(event::METHOD_EXIT) & call.told();
            if let Some(method) = method_ids::id(call.number()).filter(|_| to != 0) {
                let data = layer::method_data(method);
                layer::send(to, event::METHOD_EXIT, own.shown(), data);
            }
        });
        if !is_left {
            return;
        }
    }
}

/// Sends the exits of all methods of a thread that ends. No method is left that could throw an exception of a profiler.
pub(super) fn thread_ends(env: *mut c_void) {
    layer::without_exceptions(|| {
        threads::on_own(env, |own| {
            drop_old_calls(own);
            leave(own, 0);
        });
    });
}
