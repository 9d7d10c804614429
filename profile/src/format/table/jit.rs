//! The tables of methods that the JIT compiler has compiled and inlined.

use std::io::{self, Write};

use loadhook_text::units;
use loadhook_text::width::joined;

use super::columns::{Column, fitted, text_table};
use crate::analysis::jit::{by_size, inlined_into, inlinings, sum};
use crate::analysis::method_names::names;
use crate::analysis::options::Options;
use crate::model::{JitCode, Profile};

/// Writes the compiled methods by the size of their code, and the inlined methods, if they were recorded.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(code) = &profile.jit else {
        return Ok(());
    };
    let all = sum(code);
    let facts = [
        format!(
            "{} compiled by the JIT compiler, {} in all",
            units::counted(code.methods.len() as u64, "method", "methods"),
            units::counted(all.compilations, "time", "times"),
        ),
        format!("{} of code", units::bytes(all.code_bytes)),
        format!(
            "discarded {}",
            units::counted(all.discarded, "time", "times")
        ),
    ];
    writeln!(out, "\n{}", joined(&facts, options.width))?;
    let names = names(&profile.methods);
    compiled(code, &names, options, out)?;
    inlined(code, &names, options, out)
}

/// Writes the columns of the first rows, and how many more there are.
fn rows(
    columns: Vec<Column>,
    title: &str,
    names: &[&str],
    left: usize,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns = fitted(columns, names, options.width);
    text_table(&columns, title, names, options.width, out)?;
    if left > 0 {
        let more = units::counted(left as u64, "more method", "more methods");
        writeln!(out, "      {more}")?;
    }
    Ok(())
}

fn compiled(
    code: &JitCode,
    names: &[String],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = by_size(code);
    let shown = &all[..all.len().min(options.top.unwrap_or(usize::MAX))];
    if shown.is_empty() {
        return Ok(());
    }
    let inlined = inlined_into(code);
    let of = |method: u32| inlined.get(&method).copied().unwrap_or_default();
    let columns = vec![
        Column::new(
            "code",
            0,
            shown.iter().map(|row| units::bytes(row.size)).collect(),
        ),
        Column::new(
            "compiled",
            0,
            shown
                .iter()
                .map(|row| units::count(row.compilations))
                .collect(),
        ),
        Column::new(
            "discarded",
            1,
            shown
                .iter()
                .map(|row| units::count(row.discarded))
                .collect(),
        ),
        Column::new(
            "inlined",
            0,
            shown
                .iter()
                .map(|row| units::count(of(row.method).0))
                .collect(),
        ),
        Column::new(
            "depth",
            2,
            shown
                .iter()
                .map(|row| of(row.method).1.to_string())
                .collect(),
        ),
    ];
    let named: Vec<&str> = shown
        .iter()
        .map(|row| &*names[row.method as usize])
        .collect();
    let left = all.len() - shown.len();
    rows(columns, "compiled method", &named, left, options, out)
}

fn inlined(
    code: &JitCode,
    names: &[String],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = inlinings(code);
    let shown = &all[..all.len().min(options.top.unwrap_or(usize::MAX))];
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let columns = vec![
        Column::new(
            "calls",
            0,
            shown.iter().map(|row| units::count(row.calls)).collect(),
        ),
        Column::new(
            "into",
            0,
            shown.iter().map(|row| units::count(row.into)).collect(),
        ),
        Column::new(
            "depth",
            1,
            shown.iter().map(|row| row.depth.to_string()).collect(),
        ),
    ];
    let named: Vec<&str> = shown
        .iter()
        .map(|row| &*names[row.method as usize])
        .collect();
    let left = all.len() - shown.len();
    rows(columns, "inlined method", &named, left, options, out)
}
