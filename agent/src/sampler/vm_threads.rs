//! Measures the processor time of threads that run no Java code: garbage collectors, compilers, and other threads of
//! the JVM and of libraries.
//!
//! JVM TI does not show these threads. The system has their names and times in `/proc/self/task`.

use std::collections::{HashMap, HashSet};

use crate::threads::tasks::Tasks;

/// Kinds of threads that run no Java code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum VmThreadKind {
    Collector,
    Compiler,
    Vm,
    /// Threads of native libraries.
    Library,
}

impl VmThreadKind {
    /// Returns the kind of a JVM thread by its name; `None` if no JVM thread has this name. The operating system keeps
    /// only 15 bytes of a name.
    fn named(name: &str) -> Option<Self> {
        const COLLECTORS: [&str; 11] = [
            "GC Thread",
            "ParGC Thread",
            "G1 ",
            "Shenandoah",
            "CMS ",
            "ZWorker",
            "ZDriver",
            "ZDirector",
            "ZStat",
            "ZUncommitter",
            "ZUnmapper",
        ];
        const COMPILERS: [&str; 4] = ["C1 Compiler", "C2 Compiler", "JVMCI", "Sweeper thread"];
        const VM: [&str; 7] = [
            "VM Thread",
            "VM Periodic",
            "Service Thread",
            "Monitor Deflati",
            "Signal Dispatch",
            "Attach Listener",
            "DestroyJavaVM",
        ];
        let is_one = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
        if is_one(&COLLECTORS) {
            Some(VmThreadKind::Collector)
        } else if is_one(&COMPILERS) {
            Some(VmThreadKind::Compiler)
        } else {
            is_one(&VM).then_some(VmThreadKind::Vm)
        }
    }
}

/// A native thread of the process.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// The kind of the thread; `None` for a Java thread, and for a thread of the agent.
    kind: Option<VmThreadKind>,
    /// The thread's processor time when it was last read.
    cpu_ns: u64,
}

/// The native threads seen so far, and the sums of their times.
#[derive(Default)]
pub(crate) struct VmThreads {
    tasks: HashMap<u32, Task>,
    sums: HashMap<VmThreadKind, u64>,
}

impl VmThreads {
    /// Notes the threads that exist right after `VMInit`. At this moment, a thread without the name of a JVM thread is
    /// a Java thread, or the native thread that has started the JVM.
    pub(crate) fn begin() -> Self {
        let mut threads = VmThreads::default();
        for (tid, name, cpu_ns) in tasks(|_| true) {
            let kind = VmThreadKind::named(&name);
            threads.tasks.insert(tid, Task { kind, cpu_ns });
        }
        threads
    }

    /// Adds the processor time that threads have used since the last call. `is_java` has the system ids of Java
    /// threads and of the agent's threads.
    pub(super) fn look(&mut self, is_java: &HashSet<u32>) {
        // Only these threads may be named later. The kinds of the others stay.
        let may_change = |tid| match self.tasks.get(&tid) {
            Some(task) => task.kind == Some(VmThreadKind::Library),
            None => true,
        };
        let found = tasks(may_change);
        self.add(found, is_java);
    }

    /// Leaves out the processor time that threads have used since the last call of [`look`](Self::look).
    pub(super) fn skip(&mut self, is_java: &HashSet<u32>) {
        let sums = self.sums.clone();
        self.look(is_java);
        self.sums = sums;
    }

    fn add(&mut self, found: Vec<(u32, String, u64)>, is_java: &HashSet<u32>) {
        let mut tasks = HashMap::with_capacity(found.len());
        for (tid, name, cpu_ns) in found {
            let before = self.tasks.get(&tid);
            let kind = if is_java.contains(&tid) || name.starts_with("loadhook") {
                None
            } else {
                match before {
                    Some(task) => task.kind,
                    None => Some(VmThreadKind::named(&name).unwrap_or(VmThreadKind::Library)),
                }
            };
            // If the time is lower than before, the operating system has given the id of an ended thread to a new
            // thread.
            let since = before.map_or(0, |task| task.cpu_ns);
            let ran = cpu_ns.checked_sub(since).unwrap_or(cpu_ns);
            if let Some(kind) = kind {
                *self.sums.entry(kind).or_default() += ran;
            }
            tasks.insert(tid, Task { kind, cpu_ns });
        }
        self.tasks = tasks;
    }

    /// Returns the processor time of the JIT compiler's threads since the beginning, in nanoseconds.
    pub(crate) fn compiler_ns(&mut self) -> u64 {
        self.look(&HashSet::new());
        let compiler = self.sums.get(&VmThreadKind::Compiler);
        compiler.copied().unwrap_or(0)
    }

    /// Returns the processor time of each kind of threads, in nanoseconds.
    pub(super) fn sums(&self) -> impl Iterator<Item = (VmThreadKind, u64)> {
        self.sums.iter().map(|(kind, ns)| (*kind, *ns))
    }
}

/// Returns the system id, the name and the processor time (in nanoseconds) of each native thread of the process. The
/// name is empty if `needs_name` returns false for the thread's id.
fn tasks(needs_name: impl Fn(u32) -> bool) -> Vec<(u32, String, u64)> {
    let Some(tasks) = Tasks::own() else {
        return Vec::new();
    };
    let task = |tid| {
        let name = if needs_name(tid) {
            tasks.text(tid, "comm")?
        } else {
            String::new()
        };
        let (ran, _) = schedule(&tasks.text(tid, "schedstat")?)?;
        Some((tid, name.trim_end().to_owned(), ran))
    };
    tasks.ids().into_iter().filter_map(task).collect()
}

/// Returns the time in nanoseconds for which a thread has been ready to run but had no processor.
pub(super) fn run_delay_ns(tid: u32) -> Option<u64> {
    let text = Tasks::own()?.text(tid, "schedstat")?;
    Some(schedule(&text)?.1)
}

/// Reads the running time and the time in the run queue, in nanoseconds, from the text of `schedstat`.
fn schedule(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_ascii_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_the_names_that_the_jvm_gives() {
        for (name, kind) in [
            ("GC Thread#0", Some(VmThreadKind::Collector)),
            ("ParGC Thread#0", Some(VmThreadKind::Collector)),
            ("G1 Conc#0", Some(VmThreadKind::Collector)),
            ("ZWorkerOld#1", Some(VmThreadKind::Collector)),
            ("Shenandoah GC Th", Some(VmThreadKind::Collector)),
            ("C2 CompilerThre", Some(VmThreadKind::Compiler)),
            ("VM Thread", Some(VmThreadKind::Vm)),
            ("java", None),
            ("Zookeeper", None),
            ("pool-1-thread-1", None),
        ] {
            assert_eq!(VmThreadKind::named(name), kind, "{name}");
        }
    }

    #[test]
    fn times_are_those_since_the_beginning() {
        let mut threads = VmThreads::default();
        let gc = |ns| (7, "GC Thread#0".to_owned(), ns);
        threads.tasks.insert(
            7,
            Task {
                kind: Some(VmThreadKind::Collector),
                cpu_ns: 100,
            },
        );
        let java = HashSet::from([8]);
        threads.add(vec![gc(150), (8, "VM Thread".to_owned(), 99)], &java);
        threads.add(vec![gc(170), (9, "C1 CompilerThre".to_owned(), 5)], &java);
        // Another thread has got the id of an ended thread.
        threads.add(vec![gc(30), (9, "C1 CompilerThre".to_owned(), 6)], &java);
        let sums: HashMap<_, _> = threads.sums().collect();
        assert_eq!(sums[&VmThreadKind::Collector], 50 + 20 + 30);
        assert_eq!(sums[&VmThreadKind::Compiler], 6);
        assert_eq!(sums.get(&VmThreadKind::Vm), None);
    }

    #[test]
    fn the_own_threads_are_found() {
        let own = super::super::arrivals::own_tid().expect("the system gives thread ids");
        let found = tasks(|_| true);
        assert!(found.iter().any(|(tid, _, _)| *tid == own), "{found:?}");
        assert!(run_delay_ns(own).is_some());
    }
}
