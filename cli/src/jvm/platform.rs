//! The processor and the C library of a process, which must be those of the agent's library.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::process::Process;

/// The agent's library is built together with this program, so for the same C library.
const IS_MUSL: bool = cfg!(target_env = "musl");

/// Refuses a process that cannot load the agent's library.
pub(super) fn check(process: &Process) -> Result<()> {
    let pid = process.pid;
    let theirs = machine(&process.path("exe")).with_context(|| {
        format!("cannot read the program of process {pid}; run loadhook as its user or as root")
    })?;
    if theirs != machine(Path::new("/proc/self/exe"))? {
        bail!(
            "process {pid} runs code for another processor than this loadhook; use a loadhook that was built for that processor"
        );
    }
    let is_musl = process.mapped_files()?.find("ld-musl-").is_some();
    if is_musl != IS_MUSL {
        let [theirs, ours] = [is_musl, IS_MUSL].map(|is| if is { "musl" } else { "glibc" });
        bail!(
            "process {pid} runs on {theirs}, and the agent of this loadhook is built for {ours}; use a loadhook that was built for {theirs}"
        );
    }
    Ok(())
}

/// Returns the class and the machine in the header of an ELF file.
fn machine(program: &Path) -> Result<[u8; 3]> {
    let mut header = [0; 20];
    File::open(program)?.read_exact(&mut header)?;
    Ok([header[4], header[18], header[19]])
}
