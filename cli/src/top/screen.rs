//! Draws the screen.

use std::env;

use loadhook_text::units::{counted, decimal, time};
use loadhook_text::width::width;
use loadhook_text::{clipped, count, shorten};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::model::Model;
use super::rows::Rows;
use super::session::{Session, View};

/// The number of lines above the rows: two with facts, the tabs, the titles of columns.
const HEAD: u16 = 4;

/// The smallest screen, in columns and lines, that shows anything useful.
const SMALLEST: (u16, u16) = (20, 6);

/// Facts that the screen shows beside the figures.
pub(super) struct Facts {
    pub(super) pid: u32,
    /// The answer to the last key, or the end of the process.
    pub(super) message: Option<String>,
    /// True once the process or its agent is gone.
    pub(super) has_ended: bool,
    /// False until the first figures are there.
    pub(super) has_figures: bool,
    pub(super) has_colours: bool,
}

/// Returns whether colours are wanted (<https://no-color.org>).
pub(super) fn wants_colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

/// Draws everything.
pub(super) fn draw(buffer: &mut Buffer, session: &mut Session, model: &Model, facts: &Facts) {
    let area = buffer.area;
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        line(
            buffer,
            0,
            "the terminal is too small; enlarge it",
            Style::new(),
        );
        return;
    }
    if session.shows_help {
        help(buffer);
        return;
    }
    let emphasis = colour(facts, Color::Cyan).add_modifier(Modifier::BOLD);
    line(buffer, 0, &first_line(model, facts), emphasis);
    line(buffer, 1, &second_line(session, model, facts), Style::new());
    tabs(buffer, session, facts);
    table(buffer, session, model, facts);
    foot(buffer, session, facts);
}

fn colour(facts: &Facts, colour: Color) -> Style {
    if facts.has_colours {
        Style::new().fg(colour)
    } else {
        Style::new()
    }
}

/// Writes a line over the whole width.
fn line(buffer: &mut Buffer, y: u16, text: &str, style: Style) {
    let area = buffer.area;
    if y >= area.height {
        return;
    }
    let text = clipped(text, area.width.into());
    buffer.set_stringn(area.x, area.y + y, text, area.width.into(), style);
}

fn first_line(model: &Model, facts: &Facts) -> String {
    format!("loadhook top  process {}  {}", facts.pid, model.command)
}

fn second_line(session: &Session, model: &Model, facts: &Facts) -> String {
    if !facts.has_figures {
        return "waiting for the first figures".to_owned();
    }
    let picture = &model.picture;
    let mut parts = vec![format!("last {}", time(picture.duration_ns))];
    let known = picture.threads.iter().filter_map(|it| it.running_ns);
    if let Some(running) = known.reduce(|sum, more| sum + more) {
        let processors = model.per_second(running) / 1e9;
        parts.push(format!("processors {}", decimal(processors, 2)));
    }
    let calls: u64 = picture
        .methods
        .iter()
        .filter_map(|figures| figures.calls)
        .sum();
    if calls > 0 {
        let calls = model.per_second(calls as f64);
        let least = if picture.not_counted > 0 { "≥" } else { "" };
        parts.push(format!("calls/s {least}{}", count(calls.round() as u64)));
    }
    if picture.is_sampled {
        parts.push(format!("samples {}", count(picture.samples)));
    }
    parts.push(format!("threads {}", count(picture.threads.len() as u64)));
    if session.is_paused {
        parts.push("PAUSED".to_owned());
    }
    if facts.has_ended {
        parts.push("ENDED".to_owned());
    }
    parts.join("  ")
}

fn tabs(buffer: &mut Buffer, session: &Session, facts: &Facts) {
    let (mut x, y) = (buffer.area.x, buffer.area.y + 2);
    let end = buffer.area.right();
    for (number, view) in (1..).zip(View::ALL) {
        let style = if view == session.view {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        let text = format!(" {number} {} ", view.title());
        x = buffer
            .set_stringn(x, y, &text, end.saturating_sub(x).into(), style)
            .0;
    }
    if session.is_typing || !session.filter.is_empty() {
        let cursor = if session.is_typing { "_" } else { "" };
        let filter = loadhook_text::printable(&session.filter);
        let text = format!("  filter: {filter}{cursor}");
        let style = colour(facts, Color::Yellow).add_modifier(Modifier::BOLD);
        buffer.set_stringn(x, y, text, end.saturating_sub(x).into(), style);
    }
}

/// Returns the sign before the title of the column by which a table is sorted.
fn arrow(is_reversed: bool) -> &'static str {
    if is_reversed { "▲" } else { "▼" }
}

/// Returns the line that says how many methods lost probes; `None` if none did.
fn lost_probes(model: &Model) -> Option<String> {
    let picture = &model.picture;
    let methods = |number| counted(number, "method", "methods");
    let told = match (picture.only_counted, picture.not_counted) {
        (0, 0) => return None,
        (timed, 0) => format!("{} only counted (‡)", methods(timed)),
        (0, silent) => format!("{} no longer counted (≥, –)", methods(silent)),
        (timed, silent) => format!(
            "{} only counted (‡), {} no longer counted (≥, –)",
            methods(timed),
            count(silent)
        ),
    };
    Some(format!("--budget: {told}"))
}

fn table(buffer: &mut Buffer, session: &mut Session, model: &Model, facts: &Facts) {
    let area = buffer.area;
    let lost = lost_probes(model);
    let foot = 1 + u16::from(lost.is_some());
    session.height = usize::from(area.height.saturating_sub(HEAD + foot));
    session.keep_in_sight();
    let rows = session.rows(model);
    titles(buffer, session, &*rows);
    let body = Rect {
        y: area.y + HEAD,
        height: area.height.saturating_sub(HEAD + foot),
        ..area
    };
    if let Some(lost) = lost {
        line(buffer, area.height - foot, &lost, Style::new());
    }
    if session.order.is_empty() && facts.has_figures {
        let text = if session.filter.is_empty() {
            rows.nothing()
        } else {
            "no name contains the filter (Esc clears it)"
        };
        line(buffer, HEAD + 1, text, Style::new());
    }
    let visible = session.order.iter().enumerate().skip(session.top);
    for (y, (place, row)) in (body.top()..body.bottom()).zip(visible) {
        let text = row_text(&*rows, *row, area.width.into());
        let style = if place == session.cursor {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        buffer.set_stringn(area.x, y, text, area.width.into(), style);
        if place == session.cursor {
            buffer.set_style(
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                style,
            );
        }
    }
}

fn titles(buffer: &mut Buffer, session: &Session, rows: &dyn Rows) {
    let (column, is_reversed) = session.sorted_by();
    let is_sorted_by = |at: usize| rows.can_sort() && at == column;
    let mut text = String::new();
    for (at, column) in rows.columns().iter().enumerate() {
        let mut title = column.title.to_owned();
        if is_sorted_by(at) {
            title.insert_str(0, arrow(is_reversed));
        }
        text += &padded(&title, column.width);
        text.push(' ');
    }
    text.push(' ');
    if is_sorted_by(rows.columns().len()) {
        text += arrow(is_reversed);
    }
    text += &rows.title();
    line(
        buffer,
        HEAD - 1,
        &text,
        Style::new().add_modifier(Modifier::BOLD),
    );
}

/// Aligns a text to the right of a column.
fn padded(text: &str, columns: usize) -> String {
    let text = clipped(text, columns);
    let blanks = " ".repeat(columns.saturating_sub(width(&text)));
    format!("{blanks}{text}")
}

fn row_text(rows: &dyn Rows, row: usize, columns: usize) -> String {
    let mut text = String::new();
    for (at, column) in rows.columns().iter().enumerate() {
        text += &padded(&rows.cell(row, at), column.width);
        text.push(' ');
    }
    text.push(' ');
    text += &rows.lead(row);
    let room = columns.saturating_sub(width(&text));
    text + &shorten(rows.name(row), room)
}

/// The keys that fit into 80 columns.
const KEYS: &str =
    "q quit  ? help  / filter  < > sort  Enter calls  p pause  s snapshot  + - count";

fn foot(buffer: &mut Buffer, session: &Session, facts: &Facts) {
    let y = buffer.area.height - 1;
    match &facts.message {
        Some(message) => {
            let style = colour(facts, Color::Yellow).add_modifier(Modifier::BOLD);
            line(buffer, y, message, style);
        }
        None if session.is_typing => {
            line(
                buffer,
                y,
                "type a part of a name; Enter keeps the filter, Esc clears it",
                Style::new(),
            );
        }
        None => line(buffer, y, KEYS, Style::new().add_modifier(Modifier::DIM)),
    }
}

const HELP: [(&str, &str); 18] = [
    ("1 2 3 4, Tab", "methods, threads, call tree, allocations"),
    (
        "arrows, j k",
        "move the cursor (also PgUp, PgDn, Home, End)",
    ),
    ("/", "show only names that contain a text; Esc clears it"),
    ("< >", "sort by the column to the left or right; r reverses"),
    ("Enter", "callers and callees of the method; Esc goes back"),
    ("+", "count the calls of the method at the cursor"),
    ("-", "stop counting the calls of the method at the cursor"),
    ("p", "pause the screen; recording goes on"),
    ("s", "write a profile of everything so far to a file"),
    (
        "q, Ctrl-C",
        "quit; an agent that this command attached leaves",
    ),
    ("", ""),
    (
        "calls/s",
        "counted calls; ‡ not timed, ≥ counting stopped, – not counted",
    ),
    ("self %", "share of the running time, without callees"),
    ("total %", "share of the running time, with callees"),
    ("mean", "mean time of a call, with callees"),
    (
        "p99",
        "99 % of calls take at most this long, † if some were not timed",
    ),
    ("last", "calls/s (or self %) of the last intervals, as bars"),
    ("CPU %", "100 is one processor"),
];

fn help(buffer: &mut Buffer) {
    line(
        buffer,
        0,
        "loadhook top: keys and columns",
        Style::new().add_modifier(Modifier::BOLD),
    );
    for (y, (key, text)) in (2..).zip(HELP) {
        line(buffer, y, &format!("  {key:<14}{text}"), Style::new());
    }
    let y = buffer.area.height - 1;
    line(
        buffer,
        y,
        "any key goes back",
        Style::new().add_modifier(Modifier::DIM),
    );
}

#[cfg(test)]
mod tests;
