//! The list of JVMs as a table and as JSON.

use std::io::{self, Write};

use loadhook_text::width::{joined, width, wrapped};
use loadhook_text::{JsonWriter, clipped, printable, shorten};
use serde_json::{Value, json};

use super::found::FoundJvm;

/// Stands for a value that is not known.
const UNKNOWN: &str = "–";

/// Longest name of a user, and longest version, in columns.
const LONGEST: usize = 12;

/// Writes a row for each JVM, and below it, indented, its notes: a container, a loaded agent, or the
/// reason why Loadhook cannot attach.
pub(super) fn table(jvms: &[FoundJvm], columns: usize, out: &mut dyn Write) -> io::Result<()> {
    if jvms.is_empty() {
        return writeln!(out, "this user sees no running JVM");
    }
    let titles = ["PID", "user", "JDK", "main class or jar"].map(str::to_owned);
    let rows: Vec<[String; 4]> = jvms.iter().map(cells).collect();
    let all = || [&titles].into_iter().chain(&rows);
    let widest = |column: usize| all().map(|row| width(&row[column])).max().unwrap_or(0);
    let [pid, user, jdk] = [0, 1, 2].map(widest);
    let left = columns.saturating_sub(pid + user + jdk + 6);
    let indent = " ".repeat(pid + 2);
    for (at, row) in all().enumerate() {
        let [of_pid, of_user, of_jdk, program] = row;
        let padding = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(width(text)));
        writeln!(
            out,
            "{of_pid:>pid$}  {of_user}{}  {of_jdk}{}  {}",
            padding(of_user, user),
            padding(of_jdk, jdk),
            shorten(program, left),
        )?;
        let Some(jvm) = at.checked_sub(1).and_then(|at| jvms.get(at)) else {
            continue;
        };
        let notes = joined(&notes(jvm), columns.saturating_sub(indent.len()));
        for line in notes.lines() {
            writeln!(out, "{indent}{line}")?;
        }
        if let Some(refused) = &jvm.refused {
            writeln!(out, "{}", wrapped(&printable(refused), &indent, columns))?;
        }
    }
    Ok(())
}

fn cells(jvm: &FoundJvm) -> [String; 4] {
    let known = |text: &Option<String>| match text {
        Some(text) => printable(text).into_owned(),
        None => UNKNOWN.to_owned(),
    };
    [
        jvm.pid.to_string(),
        clipped(&printable(&jvm.user), LONGEST),
        clipped(&known(&jvm.jdk), LONGEST),
        known(&jvm.program),
    ]
}

fn notes(jvm: &FoundJvm) -> Vec<String> {
    let mut notes = Vec::new();
    if jvm.is_in_container {
        notes.push(format!("in a container, PID {} there", jvm.own_pid));
    }
    if jvm.has_agent {
        notes.push("agent loaded".to_owned());
    }
    if jvm.takes_orders {
        notes.push("watched, takes orders from loadhook ctl".to_owned());
    }
    notes
}

/// Writes an array with an object for each JVM.
pub(super) fn json(jvms: &[FoundJvm], out: &mut dyn Write) -> io::Result<()> {
    let json = jvms.iter().map(|jvm| {
        json!({
            "pid": jvm.pid,
            "own_pid": jvm.own_pid,
            "uid": jvm.uid,
            "user": jvm.user,
            "jdk": jvm.jdk,
            "program": jvm.program,
            "container": jvm.is_in_container,
            "agent_loaded": jvm.has_agent,
            "takes_orders": jvm.takes_orders,
            "refused": jvm.refused,
        })
    });
    let json = Value::Array(json.collect());
    writeln!(JsonWriter(out), "{json:#}")
}
