//! Keeps the names of sampled methods and of other code: native functions, the JVM, the interpreter.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use loadhook_profile::Method;

use super::stack_tree::{NameNumber, TREE_FULL};
use crate::frames::numbers::Numbers;
use crate::frames::symbol::{CopyLoaders, ResolvedFrame, Symbol};
use crate::instrument::loaders::Loader;
use crate::tracker;

/// Maximum number of names. Further methods are named `(other methods)`.
const MOST: usize = 1 << 19;

/// The identity of a name: a Java method, a line of it, or code that is not Java.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// A method of the program or the JDK, without its file and line.
    Java(Symbol),
    /// A line of a method.
    Line { method: NameNumber, line: u32 },
    /// Other code, such as a native function or the JVM.
    Other { class: Arc<str>, name: Arc<str> },
}

/// The names, by their numbers.
#[derive(Clone, Debug)]
pub(super) struct Names {
    names: Numbers<Name>,
    /// The file, the line and the loader of each method, by the number of the method's name; `None` for other names.
    details: Vec<Option<Details>>,
    /// The names of `java.lang.VirtualThread.run`, the method of the outermost frame of a virtual thread.
    virtual_run: HashSet<NameNumber>,
    /// The names of `java.lang.VirtualThread.runContinuation`, which a carrier runs while a virtual thread is mounted.
    virtual_mounted: HashSet<NameNumber>,
    /// The methods of `jdk.internal.vm.Continuation`, by which a carrier enters a virtual thread.
    continuation: HashSet<NameNumber>,
    /// The methods of the tracker's classes.
    trackers: HashSet<NameNumber>,
    /// The methods of the tracker that the JIT compiler inlines into a counted method.
    probe: HashSet<NameNumber>,
    pub(super) others: NameNumber,
    pub(super) vm: NameNumber,
    pub(super) interpreter: NameNumber,
    pub(super) unwalked: NameNumber,
    pub(super) unloaded: NameNumber,
    pub(super) no_processor: NameNumber,
}

#[derive(Clone, Debug)]
struct Details {
    file: Option<Arc<str>>,
    line: Option<u32>,
    /// The number of the class's loader. If copies of the class share ids, it is the loader of the first copy.
    loader: u32,
}

/// The frames of the tracker, which are the innermost frames of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrackerFrames {
    /// Number of frames.
    pub(super) count: usize,
    /// True if all frames in classes of the tracker belong to the counting probe that the JIT compiler inlines.
    pub(super) is_probe: bool,
}

impl Names {
    pub(super) fn new() -> Self {
        let mut names = Names {
            names: Numbers::default(),
            details: Vec::new(),
            virtual_run: HashSet::new(),
            virtual_mounted: HashSet::new(),
            continuation: HashSet::new(),
            trackers: HashSet::new(),
            probe: HashSet::new(),
            others: TREE_FULL,
            vm: TREE_FULL,
            interpreter: TREE_FULL,
            unwalked: TREE_FULL,
            unloaded: TREE_FULL,
            no_processor: TREE_FULL,
        };
        // The name that is added first gets the number of `TREE_FULL`.
        names.of(Method::overflow());
        names.others = names.of(Method::native("(other methods)", ""));
        names.vm = names.of(Method::virtual_machine());
        names.interpreter = names.of(Method::interpreter());
        names.unwalked = names.of(Method::unwalked());
        names.unloaded = names.of(Method::native("(unloaded class)", ""));
        names.no_processor = names.of(Method::native("[no processor]", ""));
        names
    }

    /// Returns the number of a name for code that is not Java.
    pub(super) fn of(&mut self, method: Method) -> NameNumber {
        self.number(
            Name::Other {
                class: method.class,
                name: method.name,
            },
            None,
        )
    }

    /// Returns the number of a Java method's name.
    pub(super) fn of_java(&mut self, resolved: ResolvedFrame) -> NameNumber {
        let symbol = resolved.symbol;
        let details = Details {
            file: symbol.file.clone(),
            line: symbol.line,
            loader: resolved.loader,
        };
        let in_virtual_thread = &*symbol.class == "java.lang.VirtualThread";
        let is_run = in_virtual_thread && &*symbol.name == "run";
        let is_mounted = in_virtual_thread && &*symbol.name == "runContinuation";
        let identity = Symbol {
            // Methods of the same name in classes of the same name share a row if the classes are not instrumented,
            // even if the methods' lines differ.
            code: if symbol.is_chosen { symbol.code } else { 0 },
            file: None,
            line: None,
            ..symbol
        };
        let in_tracker = tracker::is_trackers(&identity.class);
        let in_probe = tracker::is_count_probe(&identity.class, &identity.name);
        let in_continuation = &*identity.class == "jdk.internal.vm.Continuation";
        let number = self.number(Name::Java(identity), Some(details));
        if in_continuation {
            self.continuation.insert(number);
        }
        if in_tracker {
            self.trackers.insert(number);
        }
        if in_probe {
            self.probe.insert(number);
        }
        if is_run {
            self.virtual_run.insert(number);
        }
        if is_mounted {
            self.virtual_mounted.insert(number);
        }
        number
    }

    /// Returns the number of the name for a line of a method. If there is no room for the name, returns the number of
    /// the method's name.
    pub(super) fn at_line(&mut self, method: NameNumber, line: u32) -> NameNumber {
        let number = self.number(Name::Line { method, line }, None);
        if number == self.others {
            return method;
        }
        for kind in [
            &mut self.virtual_run,
            &mut self.virtual_mounted,
            &mut self.continuation,
            &mut self.trackers,
            &mut self.probe,
        ] {
            if kind.contains(&method) {
                kind.insert(number);
            }
        }
        number
    }

    /// Returns the line of a name; `None` if the name stands for a whole method.
    pub(super) fn line(&self, number: NameNumber) -> Option<u32> {
        match self.names.all().get(number.0 as usize) {
            Some(Name::Line { line, .. }) => Some(*line),
            _ => None,
        }
    }

    fn number(&mut self, name: Name, details: Option<Details>) -> NameNumber {
        let Some(number) = self.names.number(name, MOST) else {
            return self.others;
        };
        if number as usize == self.details.len() {
            self.details.push(details);
        }
        NameNumber(number)
    }

    /// Finds the frames of the tracker in a stack (innermost frame first), including the frames of the JDK's methods
    /// that the tracker calls; `None` if the stack has no frames of the tracker. These frames are innermost, because
    /// the tracker calls no code of the program.
    pub(super) fn of_tracker(&self, stack: &[NameNumber]) -> Option<TrackerFrames> {
        let outermost = stack
            .iter()
            .rposition(|name| self.trackers.contains(name))?;
        let mut own = stack.iter().filter(|name| self.trackers.contains(name));
        Some(TrackerFrames {
            count: outermost + 1,
            is_probe: own.all(|name| self.probe.contains(name)),
        })
    }

    /// Returns the part of a stack (innermost frame first) that belongs to a virtual thread; `None` if there is no such
    /// part.
    pub(super) fn of_virtual_thread<'s>(
        &self,
        stack: &'s [NameNumber],
    ) -> Option<&'s [NameNumber]> {
        let place =
            |wanted: &HashSet<NameNumber>| stack.iter().rposition(|name| wanted.contains(name));
        if let Some(outermost) = place(&self.virtual_run) {
            return stack.get(..=outermost);
        }
        // If a virtual thread has waited, its outer frames may be in the heap. Then the frames of the carrier come
        // right after the virtual thread's inner frames.
        let of_carrier = place(&self.virtual_mounted)?;
        let is_entry = |name: &&NameNumber| self.continuation.contains(name);
        let entries = stack[..of_carrier].iter().rev().take_while(is_entry);
        let inner = of_carrier - entries.count();
        (0 < inner && inner < of_carrier).then(|| &stack[..inner])
    }

    /// Returns whether a carrier with this stack has a virtual thread mounted.
    pub(super) fn is_mounted(&self, stack: &[NameNumber]) -> bool {
        stack.iter().any(|name| self.virtual_mounted.contains(name))
    }

    /// Returns the loaders of the methods.
    pub(super) fn loaders(&self) -> impl Iterator<Item = Loader> {
        let named = self.names.all().iter().zip(&self.details);
        named.filter_map(|(name, details)| match name {
            Name::Java(symbol) => Some(Loader {
                number: details.as_ref()?.loader,
                kind: symbol.kind,
            }),
            Name::Line { .. } | Name::Other { .. } => None,
        })
    }

    /// Makes the method that profiles show for a name. `loaders` has the names of the class loaders by their numbers.
    pub(super) fn method(&self, number: NameNumber, loaders: &HashMap<u32, String>) -> Method {
        let at = number.0 as usize;
        match (self.names.all().get(at), self.details.get(at)) {
            (Some(Name::Java(symbol)), Some(Some(details))) => {
                let symbol = Symbol {
                    file: details.file.clone(),
                    line: details.line,
                    ..symbol.clone()
                };
                let copies = CopyLoaders {
                    first: details.loader,
                    loaders: 1,
                };
                crate::frames::profile_parts::method(&symbol, copies, loaders)
            }
            (Some(Name::Line { method, .. }), _) => self.method(*method, loaders),
            (Some(Name::Other { class, name }), _) => Method::native(class, name),
            _ => Method::overflow(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn java(class: &str, name: &str, line: u32, loader: u32) -> ResolvedFrame {
        ResolvedFrame {
            symbol: Symbol {
                code: u64::from(line),
                name: name.into(),
                line: Some(line),
                ..Symbol::artificial(class)
            },
            line: Some(line),
            loader,
            class: None,
        }
    }

    #[test]
    fn copies_of_a_method_have_one_name() {
        let mut names = Names::new();
        let one = names.of_java(java("a.B", "run", 3, 2));
        let other = names.of_java(java("a.B", "run", 4, 9));
        assert_eq!(one, other);
        let loaders = HashMap::from([(2, "app".to_owned())]);
        let method = names.method(one, &loaders);
        assert_eq!(method.key(), ("app", "a.B", "run", ""));
        assert_eq!(method.line, Some(3));
        assert_eq!(names.method(TREE_FULL, &loaders), Method::overflow());
        assert_eq!(names.method(names.vm, &loaders), Method::virtual_machine());
    }

    #[test]
    fn a_line_is_of_the_same_kind_as_its_method() {
        let mut names = Names::new();
        let run = names.of_java(java("java.lang.VirtualThread", "run", 1, 0));
        let task = names.of_java(java("a.B", "task", 1, 0));
        let at = |names: &mut Names, line| [names.at_line(task, 3), names.at_line(run, line)];
        let stack = at(&mut names, 7);
        assert_ne!(at(&mut names, 8)[1], stack[1]);
        assert_eq!(at(&mut names, 7), stack);
        assert_eq!(names.of_virtual_thread(&stack), Some(&stack[..]));
        assert_eq!(names.line(stack[0]), Some(3));
        assert_eq!(names.line(task), None);
        let method = |number| names.method(number, &HashMap::new());
        assert_eq!(method(stack[0]), method(task));
    }

    #[test]
    fn frames_of_the_carrier_are_no_part_of_a_virtual_thread() {
        let mut names = Names::new();
        let [task, run, entry, mounted, carrier] = [
            ("a.B", "task"),
            ("java.lang.VirtualThread", "run"),
            ("jdk.internal.vm.Continuation", "run"),
            ("java.lang.VirtualThread", "runContinuation"),
            ("a.Pool", "work"),
        ]
        .map(|(class, name)| names.of_java(java(class, name, 1, 0)));
        let stack = [task, run, entry, mounted, carrier];
        assert_eq!(names.of_virtual_thread(&stack), Some(&[task, run][..]));
        for (stack, expected) in [
            (
                &[task, entry, entry, mounted, carrier][..],
                Some(&[task][..]),
            ),
            (&[entry, task, entry, mounted], Some(&[entry, task])),
            (&[entry, mounted, carrier], None),
            (&[task, mounted, carrier], None),
            (&[mounted, carrier], None),
            (&[task, carrier], None),
        ] {
            assert_eq!(names.of_virtual_thread(stack), expected, "{stack:?}");
        }
        assert!(names.is_mounted(&[mounted, carrier]) && !names.is_mounted(&[task, carrier]));
    }
}
