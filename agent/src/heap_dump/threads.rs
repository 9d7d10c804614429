//! Writes the threads and their stacks just before the heap walk.

use std::collections::HashMap;
use std::io::{self, Write};

use loadhook_hprof::{NO_TRACE, StartThread, Writer};

use super::classes::Classes;
use super::fault::Fault;
use super::tags::{ANNOUNCED, FRAMES, Ids, class_serial, id_in, tag_of};
use crate::jvm::heap_walk::Variable;
use crate::jvm::jni::{Field, Jni};
use crate::jvm::jvmti::{self, Jvmti, MethodKey};
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Local;
use crate::jvm::sys::Long;

/// `JVMTI_ERROR_INVALID_METHODID`: the class of the method is unloaded.
const INVALID_METHODID: i32 = 23;

/// The maximum number of frames that are read of a thread, from the innermost frame on. The JVM allocates 32 KB for
/// this number, even if the stack has fewer frames.
const MOST_FRAMES: i32 = 2048;

/// The number of threads whose stacks are requested in one call.
const AT_ONCE: usize = 64;

/// A thread, and the methods on its stack, innermost first.
struct Thread {
    serial: u32,
    methods: Vec<MethodKey>,
}

/// The platform threads, by the identifiers of their objects.
#[derive(Default)]
pub(super) struct Threads(HashMap<u64, Thread>);

/// A method's lines, and the identifiers of its name, its descriptor and its source file.
#[derive(Clone)]
struct Method {
    name: u64,
    descriptor: u64,
    file: u64,
    class_serial: u32,
    /// Offsets in the code and the lines that begin there.
    lines: Vec<(Long, i32)>,
}

impl Threads {
    /// Writes the stacks of all platform threads, and tags the threads with their identifiers.
    pub(super) fn write(
        jvmti: Jvmti,
        jni: Jni<'_>,
        classes: &Classes,
        ids: &mut Ids,
        out: &mut Writer<impl Write>,
    ) -> Result<Threads, Fault> {
        let mut threads = Threads::default();
        let mut methods = HashMap::new();
        let mut frames = FRAMES;
        let name_field = name_field(jni);
        let written = jni.framed(|jni| {
            jni.ensure_local_capacity();
            for some in jvmti.threads(jni)?.chunks(AT_ONCE) {
                for stack in jvmti.stacks(jni, some, MOST_FRAMES)? {
                    let serial = threads.0.len() as u32 + 1;
                    let id = announce(jvmti, ids, stack.thread)?;
                    let name = name_field.and_then(|field| name(jni, stack.thread, field));
                    start(serial, id, &name.unwrap_or_default(), out)?;
                    let mut trace = Vec::new();
                    for frame in &stack.frames {
                        let method = match methods.get(&frame.method) {
                            Some(method) => method,
                            None => {
                                let found =
                                    jni.framed(|jni| find(jvmti, jni, classes, frame.method, out));
                                let method = found.unwrap_or(Err(Fault::NoReferences))?;
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
        });
        written.unwrap_or(Err(Fault::NoReferences))?;
        Ok(threads)
    }

    /// Returns the serial numbers of a thread and of its stack. For a thread that began after the stacks were written,
    /// the thread's number is 0, and the stack's number is that of the empty stack.
    pub(super) fn serials(&self, thread: u64) -> (u32, u32) {
        let serial = self.0.get(&thread).map_or(0, |thread| thread.serial);
        (serial, NO_TRACE + serial)
    }

    /// Returns the serial number of the thread that has a variable, and the depth of the variable's frame. The depth is
    /// `u32::MAX` if the thread has left the frame since the stacks were written.
    pub(super) fn frame(&self, variable: &Variable, thread: u64) -> (u32, u32) {
        let Some(thread) = self.0.get(&thread) else {
            return (0, u32::MAX);
        };
        let depth = usize::try_from(variable.depth).ok();
        let method = depth.and_then(|depth| thread.methods.get(depth));
        let frame = if method == Some(&variable.method) {
            variable.depth.cast_unsigned()
        } else {
            u32::MAX
        };
        (thread.serial, frame)
    }
}

/// Finds the field that holds the name of a thread. Only a field that every JDK has is looked up, because the JVM
/// throws an exception for a missing field, which would add objects to the heap.
fn name_field(jni: Jni<'_>) -> Option<Field> {
    let found = jni.framed(|jni| {
        let class = jni.find_class(c"java/lang/Thread").ok()?;
        jni.field(class, c"name", c"Ljava/lang/String;").ok()
    });
    found.flatten()
}

/// Returns the name of a thread; `None` if it cannot be read.
fn name(jni: Jni<'_>, thread: Local<'_>, field: Field) -> Option<String> {
    let name = jni.framed(|jni| jni.string_field(thread, field).ok()?);
    name.flatten()
}

/// Writes the record for the start of a thread. It must come before the records that name the thread.
fn start(serial: u32, id: u64, name: &str, out: &mut Writer<impl Write>) -> io::Result<()> {
    let (name, no_name) = (out.name(name.as_bytes())?, out.name(b"")?);
    out.start_thread(&StartThread {
        serial,
        object: id,
        trace: NO_TRACE,
        name,
        group: no_name,
        parent_group: no_name,
    })
}

/// Tags a thread with a new identifier, before the walk reaches the thread's object.
fn announce(jvmti: Jvmti, ids: &mut Ids, thread: Local<'_>) -> Result<u64, Fault> {
    let id = ids.next(jvmti.object_size(thread)?);
    jvmti.set_tag(thread, tag_of(id) | ANNOUNCED)?;
    Ok(id)
}

/// Finds a method and writes its names.
fn find(
    jvmti: Jvmti,
    jni: Jni<'_>,
    classes: &Classes,
    method: MethodKey,
    out: &mut Writer<impl Write>,
) -> Result<Method, Fault> {
    let (name, descriptor) = jvmti.method_name(method).map_err(unless_gone)?;
    let class = jvmti.declaring_class(jni, method).map_err(unless_gone)?;
    let number = classes.number(id_in(jvmti.tag(class)?));
    let file = match jvmti.source_file_name(class) {
        Ok(file) => out.name(&file)?,
        Err(_) => 0,
    };
    Ok(Method {
        name: out.name(&name)?,
        descriptor: out.name(&descriptor)?,
        file,
        class_serial: class_serial(number.ok_or(Fault::ClassesChanged)?),
        lines: jvmti.line_numbers(method).unwrap_or_default(),
    })
}

/// Returns the fault for an error about a method. If the JVM does not know the method any more, its class was unloaded
/// after the thread had left the method.
fn unless_gone(error: jvmti::Error) -> Fault {
    match error {
        jvmti::Error(INVALID_METHODID) => Fault::ClassesChanged,
        error => Fault::Jvmti(error),
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

    /// Makes a method id from a number.
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

    /// The program runs between the writing of the stacks and the walk, so a thread may have left a frame.
    #[test]
    fn variables_of_left_frames_name_no_frame() {
        const NONE: u32 = u32::MAX;
        for (thread, depth, of, expected) in [
            (88, 0, 7, (2, 0)),
            (88, 1, 8, (2, 1)),
            (88, 2, 7, (2, 2)),
            // The frame at this depth belongs to another method now.
            (88, 1, 7, (2, NONE)),
            // The stack was deeper when it was written, or the depth is impossible.
            (88, 3, 7, (2, NONE)),
            (88, -1, 7, (2, NONE)),
            (80, 0, 7, (1, NONE)),
            // The thread began after the stacks were written.
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
        assert!(matches!(gone, Fault::ClassesChanged), "{gone}");
        let other = unless_gone(jvmti::Error(110));
        assert!(matches!(other, Fault::Jvmti(jvmti::Error(110))), "{other}");
    }
}
