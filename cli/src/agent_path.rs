//! `loadhook agent-path`, and the agent's library for other subcommands.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The file name of the agent's library.
pub(crate) const AGENT: &str = "libloadhook_agent.so";

/// Prints the path of the agent's library.
pub(crate) fn run() -> Result<()> {
    let written = writeln!(io::stdout(), "{}", agent_path()?.display());
    written.context("cannot write to standard output")
}

/// Finds the agent's library: beside this program, or in `../lib`.
pub(crate) fn agent_path() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find the folder of loadhook itself")?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(AGENT), folder.join("../lib").join(AGENT)];
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.canonicalize()?),
        None => bail!(
            "{AGENT}, the agent, is neither in {} nor in {}: build it (cargo build -p loadhook-agent) or copy it there",
            folder.display(),
            folder.join("../lib").display()
        ),
    }
}

/// The text of a path, for the agent's options, which are UTF-8.
pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| {
        format!(
            "{}: the name is not UTF-8; give the file another one",
            path.display()
        )
    })
}
