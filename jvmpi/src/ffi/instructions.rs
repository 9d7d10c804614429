//! `INSTRUCTION_START`, from the single steps of JVM TI.
//!
//! JVM TI reports a step before the instruction runs. Only the next step of the thread shows where a branch or a switch
//! has led. So the event of a branch or switch is sent at the next step, before the event of the next instruction.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::MethodKey;

use super::code_facts::Facts;
use super::{layer, threads, versions};
use crate::abi::{Data, EnvId, Instruction, event};
use crate::bytecode::{Bytecode, Info};

/// The code of methods that were stepped through.
static CODES: Facts<Arc<Bytecode>> = Facts::new();
/// Number of times that the event was enabled. The event of a branch that ran before the last time is not sent any
/// more.
static BEGINNINGS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static DECISION: RefCell<Option<Decision>> = const { RefCell::new(None) };
    /// The last step: the method, and its offset.
    static LAST: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// A branch or a switch whose event was not sent yet.
struct Decision {
    method: MethodKey,
    code: Arc<Bytecode>,
    at: u32,
    original: u32,
    /// The key of a switch, if it is known.
    key: Option<i32>,
    beginning: u32,
}

/// Notes that the event has been enabled.
pub(super) fn begin() {
    BEGINNINGS.fetch_add(1, Ordering::SeqCst);
}

/// Handles a step: the calling thread is about to run the instruction at `at`.
pub(super) fn step(jni: Jni<'_>, method: MethodKey, at: u32) {
    let env = layer::id(jni);
    if !threads::is_started(jni.env.cast()) {
        return;
    }
    decided(env, method, at);
    let (last_method, last) = LAST.replace((method.0.addr(), at));
    let Some(code) = code(jni, method) else {
        send(env, method, at, Info::default());
        return;
    };
    let Some(original) = code.original(at) else {
        return;
    };
    if !code.is_decision(at) {
        send(env, method, original, Info::default());
        return;
    }
    let local = (last_method == method.0.addr()).then(|| code.loaded_local(last));
    let value = |slot| layer::jvmti().and_then(|jvmti| jvmti.local_int(slot).ok());
    let decision = Decision {
        key: local.flatten().and_then(value),
        method,
        code,
        at,
        original,
        beginning: BEGINNINGS.load(Ordering::Relaxed),
    };
    DECISION.replace(Some(decision));
}

/// Sends the event of the branch or switch that the thread has run before this step, if there is one.
fn decided(env: EnvId, method: MethodKey, at: u32) {
    let Some(decision) = DECISION.take() else {
        return;
    };
    if decision.beginning == BEGINNINGS.load(Ordering::Relaxed) {
        let next = (decision.method == method).then_some(at);
        let info = decision.code.decision(decision.at, next, decision.key);
        send(env, decision.method, decision.original, info);
    }
}

fn send(env: EnvId, method: MethodKey, offset: u32, info: Info) {
    let instruction = Instruction {
        method: versions::current(method).0,
        offset: offset as i32,
        info,
    };
    let to = layer::wanted(event::INSTRUCTION_START);
    layer::send(to, event::INSTRUCTION_START, env, Data { instruction });
}

/// Returns the code of a method; `None` if the JVM does not show it.
fn code(jni: Jni<'_>, method: MethodKey) -> Option<Arc<Bytecode>> {
    CODES.get(method, || {
        let jvmti = layer::jvmti()?;
        let bytes = jvmti.bytecodes(method).ok()?;
        let pool = jni.framed(|jni| {
            let class = jvmti.declaring_class(jni, method).ok()?;
            jvmti.constant_pool(class).ok()
        });
        let (count, pool) = pool.flatten()?;
        Some(Arc::new(Bytecode::new(bytes, count, &pool)))
    })
}
