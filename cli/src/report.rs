//! `loadhook report`: a profile in another form.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use loadhook_profile::format::{Format, Options, Sort, pprof};
use loadhook_profile::{Method, Profile};

/// Arguments of `loadhook report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Profiles that loadhook wrote
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// table, tree, collapsed, pprof, json, html, speedscope or chrome
    #[arg(long, default_value = "table")]
    format: Format,

    /// self, total, calls, mean or name
    #[arg(long, default_value = "self")]
    sort: Sort,

    /// At most this many methods
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Only what runs in methods whose class and name contain this
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,

    /// Only the threads whose name contains this
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,

    /// Add the profiles up
    #[arg(long)]
    merge: bool,

    /// Compare the second profile with the first
    #[arg(long, conflicts_with = "merge")]
    diff: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let profiles: Vec<Profile> = args.files.iter().map(|f| read(f)).collect::<Result<_>>()?;
    let focus = args.focus.as_deref().map(|text| {
        move |method: &Method| format!("{}.{}", method.class, method.name).contains(text)
    });
    let thread = args
        .thread
        .as_deref()
        .map(|text| move |name: &str| name.contains(text));
    let options = Options {
        sort: args.sort,
        top: args.top,
        focus: focus.as_ref().map(|f| f as &dyn Fn(&Method) -> bool),
        thread: thread.as_ref().map(|f| f as &dyn Fn(&str) -> bool),
        width: width(),
        ..Options::default()
    };
    let mut out = io::stdout().lock();
    match &profiles[..] {
        [before, after] if args.diff => {
            let changes = loadhook_profile::diff::diff(before, after, &options)?;
            loadhook_profile::diff::write(&changes, width(), &mut out)?;
        }
        _ if args.diff => bail!("--diff compares two profiles"),
        [profile] => args.format.write(profile, &options, &mut out)?,
        several if args.merge => {
            let merged = loadhook_profile::merge(several)?;
            args.format.write(&merged, &options, &mut out)?;
        }
        _ => bail!("several profiles: --merge adds them up, --diff compares two"),
    }
    out.flush()?;
    Ok(())
}

/// Reads a profile.
pub(crate) fn read(file: &Path) -> Result<Profile> {
    let name = || file.display().to_string();
    let bytes = std::fs::read(file).with_context(name)?;
    pprof::read(&bytes[..]).with_context(name)
}

/// The columns of the terminal; 100 where there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}

/// A path as short as it can be said here.
pub(crate) fn shown(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let short = file.strip_prefix(&here).unwrap_or(file);
    short.display().to_string()
}
