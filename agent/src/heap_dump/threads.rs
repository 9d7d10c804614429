//! The threads and their stacks, just before the walk.

use std::collections::HashMap;
use std::io::Write;

use loadhook_hprof::{NO_TRACE, Writer};

use super::classes::Classes;
use super::dump::{ANNOUNCED, Ids, id_in, tag_of};
use super::{Fault, NO_REFERENCES};
use crate::jvm::heap_walk::Variable;
use crate::jvm::jni::{Jni, Reference};
use crate::jvm::jvmti::{self, Jvmti, MethodKey, StackFrame};
use crate::jvm::sys::Long;

/// `JVMTI_ERROR_INVALID_METHODID`: the method's class is unloaded.
const INVALID_METHODID: i32 = 23;

/// Frames of a thread that are kept, the innermost: the VM takes 32 KB for
/// them, however many there are.
const MOST_FRAMES: i32 = 2048;

/// How many threads are asked for their stacks at once.
const AT_ONCE: usize = 64;

/// A thread.
struct Thread {
    serial: u32,
    methods: Vec<MethodKey>,
}

/// The platform threads, by the identifiers of their objects.
#[derive(Default)]
pub(super) struct Threads(HashMap<u64, Thread>);

/// What a frame says of its method.
#[derive(Clone)]
struct Method {
    name: u64,
    descriptor: u64,
    file: u64,
    class_serial: u32,
    /// Offsets at which lines begin.
    lines: Vec<(Long, i32)>,
}

impl Threads {
    /// Asks for the stacks and writes them, and gives the threads their
    /// identifiers.
    pub(super) fn write(
        jvmti: Jvmti,
        jni: Jni<'_>,
        classes: &Classes,
        ids: &mut Ids,
        out: &mut Writer<impl Write>,
    ) -> Result<Threads, Fault> {
        let mut threads = Threads::default();
        let mut methods = HashMap::new();
        let mut frames = 0;
        let write = || {
            jni.ensure_local_capacity();
            for some in jvmti.threads()?.chunks(AT_ONCE) {
                for stack in jvmti.stacks(some, MOST_FRAMES)? {
                    let serial = threads.0.len() as u32 + 1;
                    let id = announce(jvmti, ids, stack.thread)?;
                    let mut trace = Vec::new();
                    for frame in &stack.frames {
                        let method = match methods.get(&frame.method) {
                            Some(method) => method,
                            None => {
                                let method = jni.framed(|| find(jvmti, classes, frame.method, out));
                                let method = method.unwrap_or(Err(NO_REFERENCES))?;
                                methods.entry(frame.method).or_insert(method)
                            }
                        };
                        frames += 1;
                        out.stack_frame(&record(frames, frame, method))?;
                        trace.push(frames);
                    }
                    out.stack_trace(NO_TRACE + serial, serial, &trace)?;
                    let methods = stack.frames.iter().map(|frame| frame.method).collect();
                    threads.0.insert(id, Thread { serial, methods });
                }
            }
            Ok(())
        };
        jni.framed(write).unwrap_or(Err(NO_REFERENCES))?;
        Ok(threads)
    }

    /// A thread's serial numbers: its own and that of its stack. One that
    /// began later has none.
    pub(super) fn serials(&self, thread: u64) -> (u32, u32) {
        let serial = self.0.get(&thread).map_or(0, |thread| thread.serial);
        (serial, NO_TRACE + serial)
    }

    /// The thread and frame of a variable; `u32::MAX` for a frame that the
    /// stack does not have, since the thread went on.
    pub(super) fn frame(&self, variable: &Variable, thread: u64) -> (u32, u32) {
        let Some(thread) = self.0.get(&thread) else {
            return (0, u32::MAX);
        };
        let depth = usize::try_from(variable.depth).ok();
        let method = depth.and_then(|depth| thread.methods.get(depth));
        let frame = match method == Some(&variable.method) {
            true => variable.depth.cast_unsigned(),
            false => u32::MAX,
        };
        (thread.serial, frame)
    }
}

/// Gives a thread its identifier before the walk comes to it.
fn announce(jvmti: Jvmti, ids: &mut Ids, thread: Reference) -> Result<u64, Fault> {
    let id = ids.next(jvmti.object_size(thread)?);
    jvmti.set_tag(thread, tag_of(id) | ANNOUNCED)?;
    Ok(id)
}

/// Asks for a method, and writes its names.
fn find(
    jvmti: Jvmti,
    classes: &Classes,
    method: MethodKey,
    out: &mut Writer<impl Write>,
) -> Result<Method, Fault> {
    let (name, descriptor) = jvmti.method_name(method).map_err(unless_gone)?;
    let class = jvmti.declaring_class(method).map_err(unless_gone)?;
    let number = classes.number(id_in(jvmti.tag(class)?));
    let file = match jvmti.source_file_name(class) {
        Ok(file) => out.name(&file)?,
        Err(_) => 0,
    };
    Ok(Method {
        name: out.name(&name)?,
        descriptor: out.name(&descriptor)?,
        file,
        class_serial: number.ok_or(Fault::Changed)? as u32 + 1,
        lines: jvmti.line_numbers(method).unwrap_or_default(),
    })
}

/// The fault of a method that cannot be had: its thread may have left it, and
/// its class may be gone.
fn unless_gone(error: jvmti::Error) -> Fault {
    match error {
        jvmti::Error(INVALID_METHODID) => Fault::Changed,
        error => Fault::Vm(error),
    }
}

fn record(id: u64, frame: &StackFrame, method: &Method) -> loadhook_hprof::StackFrame {
    use loadhook_hprof::StackFrame;
    let before = method.lines.iter().filter(|line| line.0 <= frame.location);
    let line = before.max_by_key(|line| line.0).map(|line| line.1);
    StackFrame {
        id,
        method_name: method.name,
        method_descriptor: method.descriptor,
        source_file: method.file,
        class_serial: method.class_serial,
        line: match frame.location {
            ..0 => StackFrame::NATIVE_METHOD,
            _ => line.unwrap_or(StackFrame::UNKNOWN_LINE),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A method's key: any address.
    fn method(address: usize) -> MethodKey {
        MethodKey::unknown(address)
    }

    fn threads() -> Threads {
        let thread = |serial, methods: &[usize]| Thread {
            serial,
            methods: methods.iter().copied().map(method).collect(),
        };
        Threads(HashMap::from([
            (80, thread(1, &[])),
            (88, thread(2, &[7, 8, 7])),
        ]))
    }

    #[test]
    fn threads_that_began_later_have_no_stack_of_their_own() {
        for (thread, expected) in [
            (80, (1, NO_TRACE + 1)),
            (88, (2, NO_TRACE + 2)),
            (96, (0, NO_TRACE)),
        ] {
            assert_eq!(threads().serials(thread), expected, "{thread}");
        }
    }

    /// Between the stacks and the walk the program runs.
    #[test]
    fn variables_of_frames_that_are_left_name_none() {
        const NONE: u32 = u32::MAX;
        for (thread, depth, of, expected) in [
            (88, 0, 7, (2, 0)),
            (88, 1, 8, (2, 1)),
            (88, 2, 7, (2, 2)),
            // Another method is there.
            (88, 1, 7, (2, NONE)),
            // Of a deeper stack, and of none.
            (88, 3, 7, (2, NONE)),
            (88, -1, 7, (2, NONE)),
            (80, 0, 7, (1, NONE)),
            // A thread that began later.
            (96, 0, 7, (0, NONE)),
        ] {
            let variable = Variable {
                thread_tag: tag_of(thread),
                depth,
                method: method(of),
            };
            let found = threads().frame(&variable, thread);
            assert_eq!(found, expected, "{thread}, {depth}, {of}");
        }
    }

    #[test]
    fn methods_of_unloaded_classes_begin_the_walk_again() {
        let gone = unless_gone(jvmti::Error(INVALID_METHODID));
        assert!(matches!(gone, Fault::Changed), "{gone}");
        let other = unless_gone(jvmti::Error(110));
        assert!(matches!(other, Fault::Vm(jvmti::Error(110))), "{other}");
    }
}
