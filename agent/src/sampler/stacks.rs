//! Asks JVM TI for stacks of threads, and finds the names of their methods.

use std::collections::HashMap;

use super::parts::Shared;
use super::stack_tree::NameNumber;
use crate::frames::resolve::{self, UnloadableClasses};
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{Jvmti, MethodKey};
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Global;
use crate::jvm::sampling::MethodNumber;

/// The maximum number of frames of a stack.
pub(super) const DEPTH: usize = 1024;

/// The names of the methods that JVM TI has shown.
#[derive(Default)]
pub(super) struct Methods {
    by_key: HashMap<MethodKey, NameNumber>,
    by_number: HashMap<MethodNumber, NameNumber>,
    classes: UnloadableClasses,
    /// For each class that may be unloaded, by its number: its methods in `by_key`.
    unloadable: HashMap<u32, Vec<MethodKey>>,
}

impl Methods {
    /// The stack of a thread, innermost frame first.
    pub(super) fn stack(
        &mut self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        shared: &Shared,
        thread: Global,
    ) -> Vec<NameNumber> {
        let frames = instrumentation.jvmti.stack_trace_of(thread.local(), DEPTH);
        let name = |frame: &StackFrame| self.name(instrumentation, jni, shared, frame.method);
        frames.iter().map(name).collect()
    }

    /// The name of a method. It must be asked for right after the stack. If the class is unloaded meanwhile, the
    /// method's own name can no longer be found.
    fn name(
        &mut self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        shared: &Shared,
        method: MethodKey,
    ) -> NameNumber {
        if let Some(known) = self.by_key.get(&method) {
            return *known;
        }
        let frame = StackFrame {
            method,
            location: 0,
        };
        let Some(resolved) = resolve::frame(instrumentation, jni, frame, Some(&self.classes))
        else {
            return shared.lock().names.unloaded;
        };
        if let Some(class) = resolved.class {
            self.unloadable.entry(class).or_default().push(method);
        }
        let name = shared.lock().names.of_java(resolved);
        self.by_key.insert(method, name);
        name
    }

    /// Notes the name of a method that the asynchronous engine has numbered. The method's class must stay loaded
    /// during the call.
    pub(super) fn define(
        &mut self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        shared: &Shared,
        number: MethodNumber,
        method: MethodKey,
    ) {
        let name = self.name(instrumentation, jni, shared, method);
        self.by_number.insert(number, name);
    }

    /// Forgets a method of the asynchronous engine.
    pub(super) fn undefine(&mut self, number: MethodNumber) {
        self.by_number.remove(&number);
    }

    /// The name of a method of the asynchronous engine.
    pub(super) fn of_number(&self, number: MethodNumber) -> Option<NameNumber> {
        self.by_number.get(&number).copied()
    }

    /// Gives back the references to classes.
    pub(super) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.classes.release(jvmti, jni);
    }

    /// Forgets the methods of classes that are unloaded.
    pub(super) fn forget_unloaded(&mut self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        instrumentation.forget_unloaded(jni);
        for class in self.classes.take_gone(instrumentation.jvmti, jni) {
            for method in self.unloadable.remove(&class).unwrap_or_default() {
                self.by_key.remove(&method);
            }
        }
    }
}
