//! Makes and sends answers to the address of `net=`: to commands from there, to a signal, and at the end of the JVM. An
//! answer has tables so far, a dump of the heap, or both, in HPROF's binary format.

use std::cell::Cell;
use std::io::{self, Read};

use loadhook_hprof::records;
use loadhook_profile::format::Options;
use loadhook_profile::format::hprof::{Part, add_part, go_on_with_stream};
use thiserror::Error;

use super::assembly::{AssemblyError, Moment, Sources};
use super::hprof_parts::{detail, heap};
use crate::jvm::jni::Jni;
use crate::locks::lock;
use crate::net::NotSent;

/// The reason why an answer was not sent.
#[derive(Debug, Error)]
pub(crate) enum StreamError {
    /// The profile could not be assembled.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// The answer was not sent.
    #[error(transparent)]
    NotSent(#[from] NotSent),
    /// The answer could not be made.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The parts of an answer.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    tables: Option<Part>,
    heap: bool,
    /// The smallest share that a row of the tables must have, if the command gives one.
    cutoff: Option<f64>,
}

impl Answer {
    /// A dump of the heap.
    pub(crate) const HEAP: Answer = Answer {
        tables: None,
        heap: true,
        cutoff: None,
    };

    /// Makes an answer that consists of these tables.
    pub(crate) fn of(tables: Part) -> Answer {
        Answer {
            tables: Some(tables),
            heap: false,
            cutoff: None,
        }
    }

    /// Makes an answer with all the tables, and the heap dump, that the options ask for.
    pub(crate) fn whole(sources: &Sources<'_>) -> Answer {
        let hprof = sources.options().settings.hprof.as_ref();
        Answer {
            heap: hprof.is_some_and(|hprof| hprof.dump),
            ..Answer::of(Part::All)
        }
    }

    /// Makes the answer leave out rows whose share is smaller than `cutoff`.
    pub(crate) fn with_cutoff(self, cutoff: f32) -> Answer {
        Answer {
            cutoff: Some(cutoff.into()),
            ..self
        }
    }
}

/// Makes an answer and sends it. Each answer ends in the same way as a file, so a stream that is cut off after an
/// answer is a complete file. While an answer is being sent, the end of the JVM waits for the connection, not for the
/// writer at the gate.
pub(crate) fn send(
    sources: &Sources<'_>,
    jni: Jni<'_>,
    moment: Moment,
    answer: Answer,
) -> Result<(), StreamError> {
    let (Some(connection), Some(hprof)) = (sources.connection, &sources.options().settings.hprof)
    else {
        return Ok(());
    };
    // Once its sending has begun, an answer is sent completely. Otherwise the last answer could not follow in the
    // stream.
    let is_sending = Cell::new(false);
    let goes_on = || moment == Moment::End || is_sending.get() || !sources.gate.is_ending();
    let mut tables = Vec::new();
    if let Some(part) = answer.tables {
        let mut profile = sources.profile(jni, moment, goes_on)?;
        let monitors = sources.monitors.map(|monitors| {
            monitors
                .tables(sources.instrumentation, jni, &mut profile)
                .0
        });
        let mut detail = detail(hprof, answer.heap);
        detail.cutoff = answer.cutoff.unwrap_or(detail.cutoff);
        let mut numbers = lock(&connection.numbers);
        let mut out = go_on_with_stream(&numbers, &mut tables);
        let monitors = monitors.as_ref();
        let options = Options::default();
        add_part(
            &profile,
            monitors,
            &detail,
            &options,
            part,
            &mut numbers,
            &mut out,
        )?;
        out.finish()?;
    }
    let beside = std::env::temp_dir().join("loadhook");
    let heap = if answer.heap {
        heap(sources, jni, &beside, false, &goes_on)
    } else {
        None
    };
    is_sending.set(true);
    if moment == Moment::End {
        connection.program_ends();
    }
    let dump: Box<dyn Read> = match &heap {
        Some(heap) => Box::new(records(heap.open()?, 8)?),
        None => Box::new(io::empty()),
    };
    let mut sent = Ok(());
    sources
        .gate
        .release_during(|| sent = connection.send(tables.as_slice().chain(dump)));
    Ok(sent?)
}
