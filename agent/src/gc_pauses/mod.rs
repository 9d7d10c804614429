//! `--gc`: the pauses of the garbage collector, from the JVM's events and performance counters.

mod counters;
mod recording;

pub(crate) use self::recording::GcRecording;
