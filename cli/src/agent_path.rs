//! Finds the libraries of the agent and of the JVMPI layer. `loadhook agent-path` prints the path of the agent's
//! library.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The file name of the agent's library.
pub(crate) const AGENT: &str = "libloadhook_agent.so";
/// The file name of the JVMPI layer's library.
const LAYER: &str = "libloadhook_jvmpi.so";

/// Prints the path of the agent's library.
pub(crate) fn run() -> Result<()> {
    let written = writeln!(io::stdout(), "{}", agent_path()?.display());
    written.context("cannot write to standard output")
}

/// Finds the agent's library: beside this program, or in `../lib`.
pub(crate) fn agent_path() -> Result<PathBuf> {
    find(AGENT, "the agent", "loadhook-agent")
}

/// Finds the JVMPI layer's library: beside this program, or in `../lib`.
pub(crate) fn layer_path() -> Result<PathBuf> {
    find(LAYER, "the JVMPI layer", "loadhook-jvmpi")
}

fn find(file: &str, meaning: &str, package: &str) -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find the folder of loadhook itself")?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(file), folder.join("../lib").join(file)];
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.canonicalize()?),
        None => bail!(
            "{file}, {meaning}, is neither in {} nor in {}: build it (cargo build -p {package}) or copy it into one of these folders",
            folder.display(),
            folder.join("../lib").display()
        ),
    }
}

/// Returns a path as UTF-8 text, which the agent's options need.
pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| {
        format!(
            "{}: the name is not UTF-8; give the file another name",
            path.display()
        )
    })
}
