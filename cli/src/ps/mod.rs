//! `loadhook ps`: lists the JVMs of this machine, and whether Loadhook can attach to them.

mod found;
mod program;
mod render;

use std::io;

use anyhow::Result;
use clap::Args;
use loadhook_text::terminal::columns;

/// Width of a table that is not written to a terminal.
const COLUMNS: usize = 80;

/// Arguments of `loadhook ps`.
#[derive(Debug, Args)]
pub(crate) struct PsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the JVMs on standard output.
pub(crate) fn run(args: &PsArgs) -> Result<()> {
    let jvms = found::all()?;
    let mut out = io::stdout().lock();
    if args.json {
        render::json(&jvms, &mut out)?;
    } else {
        let width = columns(io::stdout(), COLUMNS);
        render::table(&jvms, width, &mut out)?;
    }
    Ok(())
}
