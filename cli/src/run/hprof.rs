//! `loadhook run --hprof`: the options of HPROF for a command that starts a JVM.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use loadhook_settings::{AgentOptions, HPROF_HELP, HprofOptions, HprofOptionsError};

use super::launch::{Ended, Launch};
use crate::agent_path::agent_path;

/// Runs the command. The agent writes the file of HPROF and prints its name. Returns the exit code
/// of the command.
pub(super) fn run(options: &str, command: &[OsString]) -> Result<ExitCode> {
    let options = match options.parse::<HprofOptions>() {
        Err(HprofOptionsError::Help) => {
            print!("{HPROF_HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        options => options?,
    };
    let launch = Launch {
        command,
        agent: &agent_path()?,
        options: &AgentOptions::from(options).to_string(),
    };
    let status = match launch.run()? {
        Ended::With(status) => status,
        Ended::NotStarted(status) | Ended::Elsewhere(status) => status,
    };
    Ok(ExitCode::from(status))
}
