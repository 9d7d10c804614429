//! Arguments that `loadhook run` and `loadhook attach` share: what is recorded, and where the profile goes.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use loadhook_settings::{AgentOptions, SnapshotInterval};

use super::choice::{ChoiceArgs, refused};
use crate::output::{check_writable, is_same};

/// Arguments that say what is recorded, and where the profile goes.
#[derive(Debug, Args)]
pub(crate) struct RecordingArgs {
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    /// Write the profile to this file; %p in its name is the process id
    ///
    /// Missing folders are created.
    #[arg(short, long, value_name = "FILE", default_value = "loadhook-%p.pb.gz")]
    pub(crate) output: PathBuf,

    /// Also write an HTML page with flame graph, method table and call tree
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Also write the profile at this interval, for example 500ms, 10s or 5m
    /// (at least 100ms); if the JVM is killed, the last profile remains
    #[arg(long, value_name = "TIME")]
    snapshot_every: Option<SnapshotInterval>,

    /// Also record the pauses of the garbage collector: how many, how long, and
    /// why
    #[arg(long)]
    gc: bool,

    /// Also record what the JIT compiler compiles and inlines, with the sizes of
    /// the code (only with --timing sampled)
    #[arg(long)]
    jit: bool,

    /// Show which classes have methods that were not instrumented, and why;
    /// loadhook report --explain -o FILE lists the methods
    #[arg(long)]
    pub(crate) explain: bool,

    /// Maximum number of rows of the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

impl RecordingArgs {
    /// Adds the other options to those of `choice`, without the files that the agent writes.
    ///
    /// # Errors
    /// Fails if the options exclude each other.
    pub(crate) fn complete(&self, choice: AgentOptions) -> Result<AgentOptions> {
        let options = AgentOptions {
            snapshot_every: self.snapshot_every,
            explain: self.explain,
            gc: self.gc,
            jit: self.jit,
            ..choice
        };
        options.check().map_err(refused)?;
        Ok(options)
    }

    /// Checks that the page can be written, and that it does not replace the profile.
    pub(crate) fn check_page(&self, profile: &Path) -> Result<()> {
        let Some(html) = &self.html else {
            return Ok(());
        };
        check_writable(html)?;
        if is_same(html, profile) {
            bail!(
                "{}: the profile and the page cannot be the same file; give -o or --html another name",
                html.display()
            );
        }
        Ok(())
    }
}
