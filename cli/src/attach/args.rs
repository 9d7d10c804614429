//! Arguments of `loadhook attach`, and the agent's options that follow from them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use loadhook_settings::{AgentOptions, SnapshotInterval};

use crate::agent_path::utf8;
use crate::output::check_writable;
use crate::recording::RecordingArgs;

/// Arguments of `loadhook attach`.
#[derive(Debug, Args)]
#[command(
    mut_arg("include", |include| include.help(INCLUDE)),
    mut_arg("budget", |budget| budget.help(BUDGET).long_help(BUDGET)),
    after_help = "Ctrl-C ends the watching and shows the profile. A second Ctrl-C ends this command at once."
)]
pub(crate) struct AttachArgs {
    /// The process id of the JVM, as loadhook ps prints it
    pub(super) pid: u32,

    /// Watch this long, for example 500ms, 30s or 5m (default: until Ctrl-C)
    #[arg(long, value_name = "TIME")]
    duration: Option<SnapshotInterval>,

    #[command(flatten)]
    pub(super) recording: RecordingArgs,
}

/// The help text of `--include` for a JVM that runs already.
pub(crate) const INCLUDE: &str = "Instrument only the classes and methods that match, for example com.example.** \
    or com.example.Service::handle* (default: no class, so only samples are taken)";

/// The help text of `--budget` for a JVM that runs already.
const BUDGET: &str = "Processor time that Loadhook may take, in percent of what the program takes by itself, or the word \
    none. Above this limit, hot methods lose probes; if that is not enough, Loadhook leaves the process [default: 10; \
    none with --timing exact or count]";

impl AttachArgs {
    /// Returns the agent's options, without the files that it writes.
    pub(super) fn agent_options(&self) -> Result<AgentOptions> {
        let choice = self.recording.choice.options_for_running()?;
        let mut options = self.recording.complete(choice)?;
        options.duration = self.duration;
        Ok(options)
    }

    /// Returns the absolute path of the profile. Fails if the profile or its page cannot be
    /// written.
    pub(super) fn output(&self) -> Result<PathBuf> {
        let output = std::path::absolute(&self.recording.output)?;
        let name = output.file_name().with_context(|| {
            let output = self.recording.output.display();
            format!("--output: {output}: not the name of a file; give another name")
        })?;
        utf8(&output)?;
        let name = name.to_string_lossy().replace("%p", &self.pid.to_string());
        let output = output.with_file_name(name);
        check_writable(&output).context("--output")?;
        self.recording.check_page(&output)?;
        Ok(output)
    }
}
