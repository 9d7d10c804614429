//! `loadhook heap FILE`: reads a view of a dump, and prints it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::created_dirs::CreatedDirs;
use super::options::{By, Format, ReportArgs};
use super::render::text::shown;
use super::render::{html, json, table};
use super::views::{class_changes, duplicates, histogram, path, retained, threads};
use crate::output::{PRIVATE, check_writable, write_beside};

/// Runs the command.
pub(crate) fn run(file: &Path, args: &ReportArgs, output: Option<&Path>) -> Result<()> {
    args.check(file, output)?;
    let Some(output) = output else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        write(file, args, &mut out)?;
        return Ok(out.flush()?);
    };
    let folder = output.parent().filter(|path| !path.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // If the report fails, the folders that were created for it are removed.
    let _created = CreatedDirs::missing(folder).with_context(|| shown(output))?;
    fs::create_dir_all(folder).with_context(|| shown(output))?;
    check_writable(output)?;
    let mut bytes = Vec::new();
    write(file, args, &mut bytes)?;
    write_beside(output, &bytes, PRIVATE)
}

fn write(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let top = args.top;
    let is_json = match args.format {
        Format::Html => return html::write(file, args, out),
        Format::Json => true,
        Format::Table => false,
    };
    let written = if let Some(wanted) = &args.path {
        let most = if is_json { usize::MAX } else { top };
        let view = path::read(file, args, wanted, most)?;
        if is_json {
            json::path(&view, out)
        } else {
            table::path::write(&view, top, out)
        }
    } else if args.biggest {
        let view = retained::biggest(file, args)?;
        if is_json {
            json::biggest(&view, out)
        } else {
            table::retained::biggest(&view, top, out)
        }
    } else if args.by == By::Retained {
        let view = retained::classes(file, args)?;
        if is_json {
            json::retained_classes(&view, top, out)
        } else {
            table::retained::classes(&view, top, out)
        }
    } else if args.duplicates {
        let view = duplicates::read(file, args)?;
        if is_json {
            json::duplicates(&view, out)
        } else {
            table::duplicates::write(&view, top, out)
        }
    } else if args.threads {
        let view = threads::read(file, args)?;
        if is_json {
            json::threads(&view, top, out)
        } else {
            table::threads::write(&view, top, out)
        }
    } else if let Some(later) = &args.diff {
        let histogram = histogram::read(file, args)?;
        let view = class_changes::ClassChanges {
            names: [shown(file), shown(later)],
            histograms: [histogram, histogram::read(later, args)?],
        };
        if is_json {
            json::class_changes(&view, top, out)
        } else {
            table::class_changes::write(&view, top, out)
        }
    } else {
        let histogram = histogram::read(file, args)?;
        if is_json {
            json::histogram(&histogram, top, out)
        } else {
            table::histogram::write(&histogram, top, out)
        }
    };
    Ok(written?)
}
