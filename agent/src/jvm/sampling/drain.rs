//! Reads the samples that signal handlers have written, and finds the methods of their frames.

use std::sync::atomic::Ordering;

use super::code_map::{CodeId, CodeKind};
use super::engine::{Engine, Known};
use super::handler::end_of;
use super::noted::ClassOf;
use super::noting::Search;
use super::raw_frame::RawFrame;
use super::sample::{
    MethodNumber, RawSample, SampleFrame, SampleSink, StackEnd, StubKind, ThreadNumber, Unwalked,
};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::MethodKey;

/// A frame of a sample, whose method may have no [`MethodNumber`] yet.
#[derive(Clone, Copy)]
enum Frame {
    Known(SampleFrame),
    /// A noted method, and the offset in its bytecode.
    Noted {
        method: u32,
        bci: Option<u16>,
    },
}

/// Passes all samples that were taken so far to `sink`. `is_last` is true if the agent's work ends.
pub(super) fn drain(engine: &Engine, jni: Jni<'_>, sink: &mut dyn SampleSink, is_last: bool) {
    let mut words = Vec::new();
    let mut found = Vec::new();
    let mut frames = Vec::new();
    let mut unknown = 0;
    // Samples that are written during this call wait for the next call. Otherwise this call might never end.
    let until = engine.shared.ring.head();
    let compiled = engine.take_jit();
    let mut search = Search::default();
    // If the listed classes were noted earlier, a search would find no class.
    let notes_few = is_last
        && engine.has_listed_classes()
        && compiled.is_empty()
        && engine.shared.structs.holders.is_some();
    if !notes_few {
        engine.note_listed(jni);
    }
    engine.note_redefined_classes(jni);
    engine.check_waiting_stacks();
    for event in compiled {
        let event = event.map(|key| {
            let method = engine.known().methods.of_key(key)?;
            tell(engine, jni, sink, method)
        });
        sink.jit(event);
    }
    while engine.shared.ring.tail() < until {
        let Some(record) = engine.shared.ring.take(&mut words) else {
            break;
        };
        found.clear();
        if notes_few {
            engine.note_classes_of(jni, &words, &mut search);
        }
        let is_sound = expand(engine, &words, &mut found);
        let end = if is_sound {
            end_of(record.end)
        } else {
            StackEnd::Unwalked(Unwalked::UnknownMethod)
        };
        unknown += u32::from(end == StackEnd::Unwalked(Unwalked::UnknownMethod));
        frames.clear();
        for frame in &found {
            frames.push(match *frame {
                Frame::Known(frame) => frame,
                Frame::Noted { method, bci } => match tell(engine, jni, sink, method) {
                    Some(method) => SampleFrame::Java { method, bci },
                    None => SampleFrame::UnloadedJava,
                },
            });
        }
        sink.sample(RawSample {
            thread: ThreadNumber(record.thread),
            weight_ns: record.weight_ns,
            frames: &frames,
            end,
        });
    }
    if !is_last {
        engine.note_redefined(jni, unknown);
    }
    for number in engine.forget_gone(jni) {
        sink.method_gone(number);
    }
    for class in engine.free_retired() {
        jni.delete_global(class);
    }
}

/// Finds the methods of a sample's frames, including inlined methods. Returns false if the stack ends early, at a frame
/// whose address belongs to no known method.
///
/// While the table of methods is being filled, the signal handler writes the address of a method that it does not find
/// there. After too many classes have been loaded and unloaded, the table stays incomplete. A frame with an unknown
/// address is then taken for a method of an unloaded class.
fn expand(engine: &Engine, words: &[u64], found: &mut Vec<Frame>) -> bool {
    let known = engine.known();
    if is_in_early_code(&known, words) {
        engine.early_samples.fetch_add(1, Ordering::Relaxed);
    }
    let last = words.len().saturating_sub(1);
    for (index, word) in words.iter().enumerate() {
        match RawFrame::of(*word) {
            RawFrame::Interpreted { method, bcp } => {
                let bci = engine.bci(&known, method, bcp);
                found.push(Frame::Noted { method, bci });
            }
            RawFrame::Method(address) => match engine.shared.methods.find(address) {
                Some(method) => found.push(Frame::Noted { method, bci: None }),
                None if known.methods.is_full() => {
                    found.push(Frame::Known(SampleFrame::UnloadedJava));
                }
                None => {
                    if index == 0 {
                        found.push(Frame::Known(SampleFrame::Stub(StubKind::Interpreter)));
                    }
                    return false;
                }
            },
            RawFrame::Entry(address) => found.push(match engine.shared.methods.find(address) {
                Some(method) => Frame::Noted { method, bci: None },
                // If this is no method, the walk has still found the caller.
                None => Frame::Known(SampleFrame::Stub(StubKind::Interpreter)),
            }),
            RawFrame::Compiled { code, offset } => {
                expand_compiled(&known, code, offset, found);
            }
            RawFrame::Address(pc) => match engine.compiled_at(pc, index == 0) {
                // The JVM has reported this code after the sample was taken.
                Some((code, offset)) => expand_compiled(&known, code, offset, found),
                // An unknown frame is kept only at either end of the stack, and is left out between other frames.
                None if index == 0 || index == last => {
                    found.push(Frame::Known(SampleFrame::Native { pc }));
                }
                None => {}
            },
            RawFrame::Stub(kind) => found.push(Frame::Known(SampleFrame::Stub(match kind {
                CodeKind::Interpreter => StubKind::Interpreter,
                CodeKind::Dispatch => StubKind::Dispatch,
                _ => StubKind::Runtime,
            }))),
        }
    }
    true
}

/// Returns whether the innermost frame of a sample is in code that the JVM compiled before the engine was loaded.
fn is_in_early_code(known: &Known, words: &[u64]) -> bool {
    let innermost = words.first().map(|word| RawFrame::of(*word));
    let Some(RawFrame::Compiled { code, .. }) = innermost else {
        return false;
    };
    known
        .codes
        .compiled(code)
        .is_some_and(|compiled| compiled.is_early)
}

fn expand_compiled(known: &Known, code: CodeId, offset: u32, found: &mut Vec<Frame>) {
    let Some(compiled) = known.codes.compiled(code) else {
        found.push(Frame::Known(SampleFrame::UnloadedJava));
        return;
    };
    let noted = |key: MethodKey, bci| match known.methods.of_key(key) {
        Some(method) => Frame::Noted { method, bci },
        None => Frame::Known(SampleFrame::UnloadedJava),
    };
    let frames = compiled.frames_at(offset);
    found.extend(frames.map(|frame| noted(frame.method, frame.bci)));
}

/// Returns the number by which the sink knows a noted method; `None` if the method's class is unloaded. A method
/// without a number gets one, which is announced to the sink while a reference keeps the class loaded.
fn tell(
    engine: &Engine,
    jni: Jni<'_>,
    sink: &mut dyn SampleSink,
    method: u32,
) -> Option<MethodNumber> {
    let (key, class) = {
        let known = engine.known();
        if let Some(number) = known.methods.number(method) {
            return Some(number);
        }
        (known.methods.key(method)?, known.methods.class(method)?)
    };
    let give = || engine.known().methods.give_number(method);
    match class {
        ClassOf::Stays => {
            let number = give()?;
            sink.method(jni, number, key);
            Some(number)
        }
        ClassOf::Weak(weak) => jni
            .framed(|jni| {
                let class = jni.strong(weak);
                if class.is_null() {
                    return None;
                }
                let number = give()?;
                sink.method(jni, number, key);
                Some(number)
            })
            .flatten(),
    }
}
