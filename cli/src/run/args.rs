//! Arguments of `loadhook run`.

use std::ffi::OsString;

use clap::Args;

use crate::recording::RecordingArgs;

/// Arguments of `loadhook run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "loadhook run [OPTIONS] [--] <COMMAND>...",
    after_long_help = SEVERAL_JVMS
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(super) recording: RecordingArgs,

    /// Let loadhook ctl give orders to the agent while the program runs
    #[arg(long)]
    pub(super) control: bool,

    /// Measure and write as the old agent HPROF does with these options, for example
    /// cpu=samples,depth=8,file=out.txt; --hprof help lists them
    #[arg(long, value_name = "OPTIONS", conflicts_with_all = [
        "include", "exclude", "include_file", "all", "timing", "latencies", "clock", "budget", "sampler", "interval",
        "clock_source", "alloc", "alloc_context", "locks", "max_nodes", "output", "html", "snapshot_every", "gc", "jit", "explain", "top", "control",
    ])]
    pub(super) hprof: Option<String>,

    /// Load this profiler, which was written for JVMPI, into the JVM. The text after the first equals
    /// sign is the profiler's own options, for example ./libold.so=cpu=samples
    #[arg(long, value_name = "LIBRARY=OPTIONS", conflicts_with_all = [
        "include", "exclude", "include_file", "all", "timing", "latencies", "clock", "budget", "sampler", "interval",
        "clock_source", "alloc", "alloc_context", "locks", "max_nodes", "output", "html", "snapshot_every", "gc", "jit", "explain", "top", "control",
        "hprof",
    ])]
    pub(super) jvmpi: Option<String>,

    /// Show virtual threads to the profiler of --jvmpi as threads of their own. Without this option,
    /// the profiler sees their carrier threads
    #[arg(long, requires = "jvmpi")]
    pub(super) virtual_threads: bool,

    /// The command to run: java and its arguments, or a script that starts it
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

const SEVERAL_JVMS: &str = "If the command is not java itself, it may start several JVMs. With --output \
    x.pb.gz, a name without %p, this file then holds the profiles of all JVMs together, and each JVM also \
    writes its own file beside it, x-PID.pb.gz.";
