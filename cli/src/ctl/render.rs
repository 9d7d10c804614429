//! Replies of an agent as text.

use std::io::{self, Write};

use loadhook_settings::NONE;
use loadhook_settings::control::{Changed, Status};
use loadhook_text::units::{counted, time};
use loadhook_text::{JsonWriter, count, printable};
use serde_json::json;

use crate::output::listed;

/// Writes what the agent watches.
pub(super) fn status(
    pid: u32,
    status: &Status,
    is_json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if is_json {
        let json = json!({
            "pid": pid,
            "agent": status.agent,
            "watched_ms": status.watched_ms,
            "timing": status.timing,
            "alloc": status.alloc,
            "include": status.include,
            "exclude": status.exclude,
            "paused": status.paused,
            "classes": status.classes,
            "file": status.file,
        });
        return writeln!(JsonWriter(out), "{json:#}");
    }
    let known = |word: &Option<String>| printable(word.as_deref().unwrap_or(NONE)).into_owned();
    let paused = if status.paused { ", paused now" } else { "" };
    let rows = [
        ("process", pid.to_string()),
        ("agent", printable(&status.agent).into_owned()),
        (
            "watched",
            format!("{}{paused}", time(1e6 * status.watched_ms as f64)),
        ),
        ("timing", known(&status.timing)),
        ("alloc", known(&status.alloc)),
        ("include", included(&status.include)),
        ("exclude", excluded(&status.exclude)),
        ("classes", count(status.classes)),
        ("profile", printable(&status.file).into_owned()),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<7}  {value}")?;
    }
    Ok(())
}

/// Returns the message after a change of patterns.
pub(super) fn changed(pid: u32, changed: &Changed) -> String {
    let mut text = format!(
        "loadhook: process {pid}: {}\nloadhook: {}",
        work(changed),
        watched(&changed.include, &changed.exclude),
    );
    for note in notes(changed) {
        text += &format!("\nloadhook: {note}");
    }
    text
}

/// Returns notes about effects of a change that the user may not expect.
pub(crate) fn notes(changed: &Changed) -> impl Iterator<Item = String> {
    let notes = changed.notes.iter();
    notes.map(|note| format!("note: {}", printable(note)))
}

/// Returns the patterns of an agent.
pub(crate) fn watched(include: &[String], exclude: &[String]) -> String {
    format!(
        "include {}, exclude {}",
        included(include),
        excluded(exclude)
    )
}

/// Returns a text about the classes that a change of patterns changed.
pub(crate) fn work(changed: &Changed) -> String {
    let figures = &changed.figures;
    let work = if figures.batches == 0 {
        "no loaded class is changed".to_owned()
    } else {
        format!(
            "{} changed in {}; the program stopped for at most {} at a time",
            counted(figures.classes, "class", "classes"),
            counted(figures.batches, "batch", "batches"),
            time(1e3 * figures.longest_pause_us as f64),
        )
    };
    let refused = match figures.refused {
        0 => String::new(),
        refused => format!("; not changed: {}", counted(refused, "class", "classes")),
    };
    format!("{work}{refused}")
}

fn included(patterns: &[String]) -> String {
    if patterns.is_empty() {
        "all classes but the JDK's".to_owned()
    } else {
        listed(patterns)
    }
}

fn excluded(patterns: &[String]) -> String {
    if patterns.is_empty() {
        NONE.to_owned()
    } else {
        listed(patterns)
    }
}
