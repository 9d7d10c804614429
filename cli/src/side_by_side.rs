//! Two classes in two columns, what differs marked between them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Bound;

use loadhook_rewrite::text::Line;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// So many equal lines stay beside a difference.
const CONTEXT: usize = 3;

/// ` | `, between the columns.
const GUTTER: usize = 3;

/// Columns get no narrower.
const NARROWEST: usize = 16;

/// Two texts and what they are called.
pub(crate) struct Pair<'n> {
    pub(crate) names: [&'n str; 2],
    pub(crate) lines: [Vec<Line>; 2],
}

/// One row: a line of either text or of both.
#[derive(Clone, Copy)]
struct Row<'l> {
    left: Option<&'l Line>,
    right: Option<&'l Line>,
    mark: char,
}

/// Writes both texts side by side, `columns` wide.
pub(crate) fn write_pair(pair: &Pair<'_>, columns: usize, out: &mut impl Write) -> io::Result<()> {
    let [left, right] = &pair.lines;
    let rows = rows(left, right);
    let table = Table {
        column: (columns.saturating_sub(GUTTER) / 2).max(NARROWEST),
    };
    table.row(pair.names[0], ' ', pair.names[1], out)?;
    let mut rest = &rows[..];
    while !rest.is_empty() {
        let equal = rest.iter().take_while(|row| row.mark == ' ').count();
        let (run, behind) = rest.split_at(equal);
        // Nothing to be near to at the beginning and at the end.
        let before = if rest.len() == rows.len() { 0 } else { CONTEXT };
        let after = if behind.is_empty() { 0 } else { CONTEXT };
        if run.len() > 2 * CONTEXT && run.len() > before + after + 1 {
            let (shown, folded) = run.split_at(before);
            let (folded, shown_after) = folded.split_at(folded.len() - after);
            shown.iter().try_for_each(|row| table.lines(row, out))?;
            fold(folded, out)?;
            shown_after
                .iter()
                .try_for_each(|row| table.lines(row, out))?;
        } else {
            run.iter().try_for_each(|row| table.lines(row, out))?;
        }
        let different = behind.iter().take_while(|row| row.mark != ' ').count();
        let (run, behind) = behind.split_at(different);
        run.iter().try_for_each(|row| table.lines(row, out))?;
        rest = behind;
    }
    Ok(())
}

/// One line for many equal ones, with the field or method that goes on
/// behind it.
fn fold(rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    let is_member = |line: &&str| line.starts_with("  method ") || line.starts_with("  field ");
    let lines = rows.iter().rev().filter_map(|row| row.left);
    match lines.map(|line| line.text.as_str()).find(is_member) {
        Some(member) => writeln!(out, "⋯ {} lines, in {}", rows.len(), member.trim_start()),
        None => writeln!(out, "⋯ {} lines", rows.len()),
    }
}

fn rows<'l>(left: &'l [Line], right: &'l [Line]) -> Vec<Row<'l>> {
    let keys = |lines: &[Line]| lines.iter().map(key).collect::<Vec<_>>();
    let (left_keys, right_keys) = (keys(left), keys(right));
    let operations = capture_diff_slices(Algorithm::Patience, &left_keys, &right_keys);
    let mut rows = Vec::with_capacity(left.len().max(right.len()));
    for operation in operations {
        let (lines, other) = (operation.old_range(), operation.new_range());
        let (lines, other) = (&left[lines], &right[other]);
        let mark = match operation {
            DiffOp::Equal { .. } => ' ',
            DiffOp::Delete { .. } => '<',
            DiffOp::Insert { .. } => '>',
            DiffOp::Replace { .. } => '|',
        };
        for i in 0..lines.len().max(other.len()) {
            let (left, right) = (lines.get(i), other.get(i));
            let mark = match (left, right) {
                (_, None) => '<',
                (None, _) => '>',
                _ => mark,
            };
            rows.push(Row { left, right, mark });
        }
    }
    let moves = Moves::of(&rows);
    for row in &mut rows {
        if let (Some(left), Some(right), ' ') = (row.left, row.right, row.mark)
            && !moves.explain(left, right)
        {
            row.mark = '|';
        }
    }
    rows
}

/// A line without its offsets.
fn key(line: &Line) -> String {
    let mut key = String::with_capacity(line.text.len());
    let mut end = 0;
    for (range, _) in &line.offsets {
        key.push_str(&line.text[end..range.start]);
        end = range.end;
    }
    key.push_str(&line.text[end..]);
    // Offsets are right-aligned.
    key.trim_start().to_owned()
}

/// Where the instructions of each `Code` attribute have gone.
#[derive(Default)]
struct Moves {
    codes: BTreeMap<(usize, usize), BTreeMap<i64, i64>>,
}

impl Moves {
    fn of(rows: &[Row<'_>]) -> Self {
        let mut moves = Moves::default();
        for row in rows.iter().filter(|row| row.mark == ' ') {
            if let (Some(left), Some(right)) = (row.left, row.right)
                && let (Some(from), Some(to)) = (left.instruction, right.instruction)
            {
                let code = moves.codes.entry((left.code, right.code)).or_default();
                code.insert(from as i64, to as i64);
            }
        }
        moves
    }

    /// Whether the offsets in both lines mean the same instructions: behind
    /// all that lay before, and not behind what lay there.
    fn explain(&self, left: &Line, right: &Line) -> bool {
        let code = self.codes.get(&(left.code, right.code));
        let pairs = left.offsets.iter().zip(&right.offsets);
        left.offsets.len() == right.offsets.len()
            && pairs.into_iter().all(|((_, from), (_, to))| {
                let Some(code) = code else {
                    return from == to;
                };
                let before = code.range(..from).next_back().map(|(_, &to)| to);
                let at = code.range((Bound::Included(from), Bound::Unbounded)).next();
                before.is_none_or(|before| before < *to) && at.is_none_or(|(_, at)| to <= at)
            })
    }
}

/// Two columns of equal width.
struct Table {
    column: usize,
}

impl Table {
    fn lines(&self, row: &Row<'_>, out: &mut impl Write) -> io::Result<()> {
        let text = |line: Option<&Line>| line.map_or(String::new(), |line| line.text.clone());
        self.row(&text(row.left), row.mark, &text(row.right), out)
    }

    /// One row, on as many lines as the longer side needs.
    fn row(&self, left: &str, mark: char, right: &str, out: &mut impl Write) -> io::Result<()> {
        let (left, right) = (self.wrap(left), self.wrap(right));
        for i in 0..left.len().max(right.len()) {
            let part = |parts: &[String]| parts.get(i).cloned().unwrap_or_default();
            let (left, right) = (part(&left), part(&right));
            let blanks = " ".repeat(self.column.saturating_sub(left.width()));
            let line = format!("{left}{blanks} {mark} {right}");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// `text` in parts that fit the column; later ones are indented.
    fn wrap(&self, text: &str) -> Vec<String> {
        let indent = text.len() - text.trim_start().len();
        let indent = " ".repeat((indent + 4).min(self.column / 2));
        let mut parts = vec![String::new()];
        let mut width = 0;
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if width + wide > self.column {
                width = indent.len();
                parts.push(indent.clone());
            }
            width += wide;
            parts.last_mut().into_iter().for_each(|part| part.push(c));
        }
        parts
    }
}
