//! The thread that connects to the address of `net=`, and carries out the commands that the reader sends.

use std::net::TcpStream;
use std::sync::atomic::Ordering;

use loadhook_hprof::{COLLECT_FIRST, Command, Received};
use loadhook_profile::Timing;
use loadhook_profile::format::hprof::{Part, StreamSettings, begin_stream};

use super::{Connection, NotSent};
use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::jni_calls::Argument;
use crate::snapshot::assembly::{Moment, Sources};
use crate::snapshot::stream::{self, Answer, StreamError};

/// Starts the thread that connects and carries out commands.
pub(crate) fn start(agent: &'static Agent, connection: &'static Connection, jni: Jni<'_>) {
    let run = move |jni: Jni<'_>| {
        let opened = begin(agent).and_then(|begin| connection.open(&begin));
        match opened {
            Ok(commands) => serve(agent, connection, jni, &commands),
            Err(error) => diagnostics::line(&format!(
                "net={address}: {error}; the program runs, and nothing is written; start \
                 `loadhook hprof listen PORT -o FILE` at that address before the program",
                address = connection.address
            )),
        }
    };
    let name = c"loadhook hprof net";
    if !agent.own_threads.start(agent.jvmti, jni, name, run) {
        connection.end();
        diagnostics::once(
            "net=: the thread for the connection cannot be started; nothing is written",
        );
    }
}

/// Makes the beginning of the stream: the header, and the records that every stream begins with.
fn begin(agent: &Agent) -> std::io::Result<Vec<u8>> {
    let options = agent.options();
    let hprof = options.settings.hprof.as_ref();
    let settings = StreamSettings {
        has_sites: agent.samples.is_some(),
        has_samples: options.timing == Some(Timing::Sampled),
        depth: hprof.map_or(0, |hprof| hprof.depth as usize),
    };
    let mut begin = Vec::new();
    begin_stream(agent.start_time.epoch_millis(), settings, &mut begin)?.finish()?;
    Ok(begin)
}

/// Carries out commands until the reader closes its side of the connection.
fn serve(agent: &'static Agent, connection: &'static Connection, jni: Jni<'_>, input: &TcpStream) {
    loop {
        match Command::read(input) {
            Ok(Some(Received::Command(Command::End)) | None) | Err(_) => return,
            Ok(Some(Received::Command(command))) => {
                // The frame frees the local references that a command makes.
                let _ = jni.framed(|jni| execute(agent, connection, jni, command));
            }
            Ok(Some(Received::Unknown { tag })) => {
                diagnostics::once(&format!("net=: unknown command {tag:#04x} is ignored"));
            }
            Ok(Some(Received::TooLong { length })) => {
                diagnostics::line(&format!(
                    "net=: a command of {length} bytes is too long for HPROF; further commands are not read"
                ));
                return;
            }
        }
    }
}

fn execute(agent: &'static Agent, connection: &'static Connection, jni: Jni<'_>, command: Command) {
    if agent.gate.is_ending() {
        return;
    }
    match command {
        Command::Collect => collect(agent),
        Command::DumpHeap => answer(agent, jni, Answer::HEAP),
        Command::AllocSites { flags, cutoff } => {
            if flags & COLLECT_FIRST != 0 {
                collect(agent);
            }
            if flags & !COLLECT_FIRST != 0 {
                diagnostics::once(
                    "net=: all sites are sent, ordered by live bytes; the flags 1 (changes only) and 2 (order by allocated bytes) have no effect",
                );
            }
            answer(agent, jni, Answer::of(Part::Sites).with_cutoff(cutoff));
        }
        Command::HeapSummary => answer(agent, jni, Answer::of(Part::Summary)),
        Command::Exit => exit(jni),
        Command::DumpTraces => answer(agent, jni, Answer::of(Part::Traces)),
        Command::CpuSamples { cutoff } => {
            answer(agent, jni, Answer::of(Part::Costs).with_cutoff(cutoff));
        }
        Command::AllocationTraces(is_on) => {
            connection.notes_allocations.store(is_on, Ordering::Relaxed)
        }
        Command::Sampling(is_on, thread) => {
            if thread != 0 {
                diagnostics::once(
                    "net=: a command to sample one thread was applied to all threads",
                );
            }
            if connection.samples.swap(is_on, Ordering::Relaxed) != is_on {
                sampling(agent, jni, is_on);
            }
        }
        Command::End => {}
    }
}

/// Makes the JVM collect garbage.
fn collect(agent: &Agent) {
    if let Err(error) = agent.jvmti.collect_garbage() {
        diagnostics::once(&format!(
            "net=: a command asked for a garbage collection, which failed ({error})"
        ));
    }
}

fn answer(agent: &'static Agent, jni: Jni<'_>, answer: Answer) {
    let Some(sources) = agent.sources() else {
        return;
    };
    if let Some(_pass) = agent.gate.enter() {
        send(&sources, jni, answer);
    }
}

/// Sends an answer while the program runs. The caller has entered the gate.
pub(crate) fn send(sources: &Sources<'_>, jni: Jni<'_>, answer: Answer) {
    if !sources.has_heap_for_snapshot(jni) {
        diagnostics::line("net=: nothing is sent: the heap is nearly full; raise -Xmx");
        return;
    }
    match stream::send(sources, jni, Moment::Running, answer) {
        // This error is not reported, because the answer at the end will have all data.
        Err(StreamError::Assembly(_)) if sources.gate.is_ending() => {}
        // The end of the connection was reported already.
        Err(StreamError::NotSent(NotSent::Closed)) => {}
        Err(error) => {
            diagnostics::line(&format!("net=: an answer was not sent completely: {error}"))
        }
        Ok(()) => {}
    }
}

fn sampling(agent: &'static Agent, jni: Jni<'_>, is_on: bool) {
    let Some(sampler) = &agent.sampler else {
        diagnostics::once(
            "net=: a command for CPU samples has no effect; start the program with cpu=samples",
        );
        return;
    };
    if is_on {
        sampler.resume(&agent.instrumentation, jni);
    } else {
        sampler.pause(&agent.instrumentation, jni);
    }
}

/// Ends the program by a call of `System.exit(0)`.
fn exit(jni: Jni<'_>) {
    diagnostics::line("net=: the command EXIT ends the program");
    let called = jni.find_class(c"java/lang/System").and_then(|system| {
        let exit = jni.static_method(system, c"exit", c"(I)V")?;
        jni.call_void(exit, &[Argument::Int(0)])
    });
    if called.is_err() {
        diagnostics::line("net=: the program does not end: System.exit has thrown an exception");
    }
}
