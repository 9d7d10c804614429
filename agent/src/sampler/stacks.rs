//! Reads the stacks of threads by JVM TI, and finds the names of their methods.

use std::collections::HashMap;
use std::sync::Arc;

use super::names::Names;
use super::parts::Shared;
use super::stack_tree::NameNumber;
use crate::frames::resolve::{self, UnloadableClasses, line_at};
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{Jvmti, MethodKey};
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Global;
use crate::jvm::sampling::MethodNumber;

/// The maximum number of frames of a stack.
pub(super) const DEPTH: usize = 1024;

/// The name of a method, and the method's lines.
#[derive(Clone)]
struct Named {
    name: NameNumber,
    /// Offsets in the method's code, and the lines that begin there; empty if stacks have no lines.
    lines: Arc<[(i64, i32)]>,
}

impl Named {
    /// Returns the name of the method's line at an offset in its code.
    fn at(&self, location: i64, names: &mut Names) -> NameNumber {
        match line_at(&self.lines, location) {
            Some(line) => names.at_line(self.name, line),
            None => self.name,
        }
    }
}

/// The names of the methods on stacks, by JVM TI's ids and by the numbers of the asynchronous engine.
pub(super) struct Methods {
    /// True if stacks have lines.
    has_lines: bool,
    /// The version of the methods' line numbers. It grows when classes are redefined.
    version: u32,
    by_key: HashMap<MethodKey, Named>,
    by_number: HashMap<MethodNumber, (MethodKey, Named)>,
    classes: UnloadableClasses,
    /// For each class that may be unloaded, by its number: its methods in `by_key`.
    unloadable: HashMap<u32, Vec<MethodKey>>,
}

impl Methods {
    /// Makes an empty table for stacks with or without lines.
    pub(super) fn new(has_lines: bool) -> Self {
        Methods {
            has_lines,
            version: 0,
            by_key: HashMap::new(),
            by_number: HashMap::new(),
            classes: UnloadableClasses::default(),
            unloadable: HashMap::new(),
        }
    }

    /// Reads the stack of a thread, innermost frame first.
    pub(super) fn stack(
        &mut self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        shared: &Shared,
        thread: Global,
    ) -> Vec<NameNumber> {
        let frames = instrumentation.jvmti.stack_trace_of(thread.local(), DEPTH);
        let name = |frame: &StackFrame| {
            let named = self.named(instrumentation, jni, shared, frame.method);
            named.at(frame.location, &mut shared.lock().names)
        };
        frames.iter().map(name).collect()
    }

    /// Returns the name of a method. Must be called right after the stack was read. If the method's class is unloaded
    /// in between, the name cannot be found any more.
    fn named(
        &mut self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        shared: &Shared,
        method: MethodKey,
    ) -> Named {
        if let Some(known) = self.by_key.get(&method) {
            return known.clone();
        }
        let frame = StackFrame {
            method,
            location: 0,
        };
        let Some(resolved) = resolve::frame(instrumentation, jni, frame, Some(&self.classes))
        else {
            return Named {
                name: shared.lock().names.unloaded,
                lines: Arc::default(),
            };
        };
        if let Some(class) = resolved.class {
            self.unloadable.entry(class).or_default().push(method);
        }
        let lines = if self.has_lines {
            instrumentation.jvmti.line_numbers(method)
        } else {
            Ok(Vec::new())
        };
        let named = Named {
            name: shared.lock().names.of_java(resolved),
            lines: lines.unwrap_or_default().into(),
        };
        self.by_key.insert(method, named.clone());
        named
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
        let named = self.named(instrumentation, jni, shared, method);
        self.by_number.insert(number, (method, named));
    }

    /// Reads the lines of all methods again if classes were redefined since the last call.
    pub(super) fn renew_lines(&mut self, instrumentation: &Instrumentation) {
        let version = instrumentation.redefinitions.version();
        if !self.has_lines || version == self.version {
            return;
        }
        self.version = version;
        for (method, named) in &mut self.by_key {
            // This fails if the class was unloaded meanwhile.
            if let Ok(lines) = instrumentation.jvmti.line_numbers(*method) {
                named.lines = lines.into();
            }
        }
        for (method, named) in self.by_number.values_mut() {
            if let Some(renewed) = self.by_key.get(method) {
                named.lines = renewed.lines.clone();
            }
        }
    }

    /// Forgets a method that the asynchronous engine has numbered.
    pub(super) fn undefine(&mut self, number: MethodNumber) {
        self.by_number.remove(&number);
    }

    /// Returns the name of a method that the asynchronous engine has numbered, or of the method's line at `bci` if
    /// stacks have lines.
    pub(super) fn of_number(
        &self,
        number: MethodNumber,
        bci: Option<u16>,
        names: &mut Names,
    ) -> Option<NameNumber> {
        let (_, named) = self.by_number.get(&number)?;
        Some(match bci {
            Some(bci) => named.at(bci.into(), names),
            None => named.name,
        })
    }

    /// Deletes the references to classes.
    pub(super) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.classes.release(jvmti, jni);
    }

    /// Forgets the methods of unloaded classes.
    pub(super) fn forget_unloaded(&mut self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        instrumentation.forget_unloaded(jni);
        for class in self.classes.take_gone(instrumentation.jvmti, jni) {
            for method in self.unloadable.remove(&class).unwrap_or_default() {
                self.by_key.remove(&method);
            }
        }
    }
}
