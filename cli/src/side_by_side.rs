//! Two classes in two columns, with marked differences.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

use loadhook_rewrite::text::Line;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of equal lines that are shown before and after a difference.
const CONTEXT: usize = 3;

/// The width of the separator ` | ` between the columns.
const GUTTER: usize = 3;

/// The minimum width of a column.
const NARROWEST: usize = 16;

/// Two texts with their names.
pub(crate) struct Pair<'n> {
    pub(crate) names: [&'n str; 2],
    pub(crate) lines: [Vec<Line>; 2],
}

/// A row: a line of the left text, of the right text, or of both.
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
        // No difference precedes the first range, and none follows the last.
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

/// Writes one line in place of many equal rows. The line names the last field or method that begins
/// in these rows, because the next row belongs to it.
fn fold(rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    let is_member = |line: &&str| line.starts_with("  method ") || line.starts_with("  field ");
    let lines = rows.iter().rev().filter_map(|row| row.left);
    match lines.map(|line| line.text.as_str()).find(is_member) {
        Some(member) => writeln!(out, "⋯ {} lines, in {}", rows.len(), member.trim_start()),
        None => writeln!(out, "⋯ {} lines", rows.len()),
    }
}

/// The number of rounds after which, in practice, the alignment no longer changes.
const ROUNDS: usize = 3;

/// Pairs the lines of both texts into rows.
///
/// One inserted instruction changes every later bytecode offset. So lines are first compared
/// without their offsets. The pairs of instructions found in this way map left offsets to right
/// ones. Then offsets can be compared as well, which gives better pairs.
fn rows<'l>(left: &'l [Line], right: &'l [Line]) -> Vec<Row<'l>> {
    let mut rows = Vec::new();
    let mut moves = Moves::default();
    for _ in 0..ROUNDS {
        rows = align(left, right, &moves);
        moves = Moves::of(&rows);
    }
    rows
}

fn align<'l>(left: &'l [Line], right: &'l [Line], moves: &Moves) -> Vec<Row<'l>> {
    let left_keys = left
        .iter()
        .map(|line| key(line, |offset| moves.left(line, offset)));
    let right_keys = right
        .iter()
        .map(|line| key(line, |offset| moves.right(line, offset)));
    let mut rows = Vec::with_capacity(left.len().max(right.len()));
    for (left_range, right_range, is_equal) in runs(left_keys.collect(), right_keys.collect()) {
        let (left, right) = (&left[left_range], &right[right_range]);
        let from_front = is_equal
            || likeness(left.first(), right.first()) >= likeness(left.last(), right.last());
        let most = left.len().max(right.len());
        for i in 0..most {
            let line = |lines: &'l [Line]| {
                if from_front {
                    lines.get(i)
                } else {
                    lines.get((i + lines.len()).checked_sub(most)?)
                }
            };
            let (left, right) = (line(left), line(right));
            let mark = match (left, right) {
                (_, None) => '<',
                (None, _) => '>',
                _ if is_equal => ' ',
                _ => '|',
            };
            rows.push(Row { left, right, mark });
        }
    }
    slide(&mut rows);
    rows
}

/// Returns the number of leading characters that two lines have in common, without their offsets.
fn likeness(left: Option<&Line>, right: Option<&Line>) -> usize {
    let key = |line: &Line| key(line, |_| String::new());
    let (left, right) = (
        left.map_or(String::new(), key),
        right.map_or(String::new(), key),
    );
    left.chars()
        .zip(right.chars())
        .take_while(|(left, right)| left == right)
        .count()
}

/// Pairs an original `athrow` with itself, not with the `athrow` of a handler that was added behind it.
///
/// [`runs`] compares the lines from the end. So if the code before the added handler ends in `athrow`,
/// `runs` pairs this `athrow` with the one at the end of the handler.
fn slide(rows: &mut [Row<'_>]) {
    let throws = |row: &Row<'_>| {
        let line = row.right.filter(|line| line.instruction.is_some());
        line.is_some_and(|line| line.text.ends_with(": athrow"))
    };
    for first in 1..rows.len() {
        let (before, added) = rows.split_at_mut(first);
        let len = added.iter().take_while(|row| row.mark == '>').count();
        let Some((added, [paired, ..])) = added.split_at_mut_checked(len) else {
            continue;
        };
        if let ([.., before], [first, ..]) = (before, added)
            && (before.mark, paired.mark) == (' ', ' ')
            && throws(first)
            && throws(paired)
        {
            (first.left, first.mark) = (paired.left.take(), ' ');
            paired.mark = '>';
        }
    }
}

/// Splits both lists into pairs of ranges, in order. The bool is true if the two ranges are equal.
///
/// The lists are compared from the end, because probes are inserted before an
/// instruction. If the first inserted instruction equals the original one, a
/// comparison from the front would pair these two.
fn runs(
    mut left: Vec<String>,
    mut right: Vec<String>,
) -> impl Iterator<Item = (Range<usize>, Range<usize>, bool)> {
    left.reverse();
    right.reverse();
    let operations = capture_diff_slices(Algorithm::Patience, &left, &right);
    let turned = |range: Range<usize>, len: usize| len - range.end..len - range.start;
    operations.into_iter().rev().map(move |operation| {
        let is_equal = matches!(operation, DiffOp::Equal { .. });
        let left_range = turned(operation.old_range(), left.len());
        (
            left_range,
            turned(operation.new_range(), right.len()),
            is_equal,
        )
    })
}

/// Returns the text of a line with the result of `offset` in place of each bytecode offset.
fn key(line: &Line, offset: impl Fn(i64) -> String) -> String {
    let mut key = String::with_capacity(line.text.len());
    let mut end = 0;
    for (range, value) in &line.offsets {
        key.push_str(&line.text[end..range.start]);
        key.push_str(&offset(*value));
        end = range.end;
    }
    key.push_str(&line.text[end..]);
    // Offsets are right-aligned.
    key.trim_start().to_owned()
}

/// For each `Code` attribute, the offsets of the instructions that are on both sides.
#[derive(Default)]
struct Moves {
    /// By the number of the `Code` attribute on the left: the left offsets of these instructions.
    left: BTreeMap<usize, BTreeSet<i64>>,
    /// By the number of the `Code` attribute on the right: the right offset of each of these
    /// instructions, with its left offset.
    right: BTreeMap<usize, BTreeMap<i64, i64>>,
}

impl Moves {
    /// Collects the offsets of the instructions that are in the same row.
    fn of(rows: &[Row<'_>]) -> Self {
        let mut moves = Moves::default();
        for row in rows.iter().filter(|row| row.mark == ' ') {
            if let (Some(left), Some(right)) = (row.left, row.right)
                && let (Some(from), Some(to)) = (left.instruction, right.instruction)
            {
                let (from, to) = (i64::from(from), i64::from(to));
                moves.left.entry(left.code).or_default().insert(from);
                moves.right.entry(right.code).or_default().insert(to, from);
            }
        }
        moves
    }

    /// Returns the offset of the first instruction at or after `offset` on the left that is on both
    /// sides.
    fn left(&self, line: &Line, offset: i64) -> String {
        let code = self.left.get(&line.code);
        let next = code.and_then(|code| code.range(offset..).next());
        next.map_or("end".to_owned(), i64::to_string)
    }

    /// Returns the left offset of the first instruction at or after `offset` on the right that is
    /// on both sides.
    fn right(&self, line: &Line, offset: i64) -> String {
        let code = self.right.get(&line.code);
        let next = code.and_then(|code| code.range(offset..).next());
        next.map_or("end".to_owned(), |(_, from)| from.to_string())
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

    /// Writes one row, on as many lines as the longer side needs.
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

    /// Splits `text` into parts that fit the column. All parts but the first are indented.
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

#[cfg(test)]
mod tests {
    use loadhook_rewrite::Bci;

    use super::*;

    /// Splits text into lines and marks bytecode offsets with `@`. A line that begins with an
    /// offset is an instruction.
    fn lines(text: &str) -> Vec<Line> {
        let line = |text: &str| {
            let mut line = Line {
                code: 1,
                ..Line::default()
            };
            for (i, part) in text.split('@').enumerate() {
                let digits = part.chars().take_while(char::is_ascii_digit).count();
                if i > 0 {
                    let start = line.text.len();
                    let offset = part[..digits].parse().unwrap_or(-1);
                    line.offsets.push((start..start + digits, offset));
                    let first = u16::try_from(line.offsets[0].1);
                    line.instruction = first.ok().filter(|_| text.starts_with('@')).map(Bci);
                }
                line.text.push_str(part);
            }
            line
        };
        text.lines().map(line).collect()
    }

    fn side_by_side(left: &str, right: &str, columns: usize) -> String {
        let pair = Pair {
            names: ["left", "right"],
            lines: [lines(left), lines(right)],
        };
        let mut out = Vec::new();
        write_pair(&pair, columns, &mut out).unwrap_or_default();
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn moved_code_is_no_difference() {
        let left = "@0: iload_0\n@1: ifeq @0\n@4: return\nline 7 at @4";
        let right = "@0: enter\n@3: iload_0\n@4: ifeq @3\n@7: exit\n@10: return\nline 7 at @7";
        let expected = "\
left                right
                  > 0: enter
0: iload_0          3: iload_0
1: ifeq 0           4: ifeq 3
                  > 7: exit
4: return           10: return
line 7 at 4         line 7 at 7
";
        assert_eq!(side_by_side(left, right, 37), expected);
    }

    #[test]
    fn a_table_that_did_not_move_along_is_a_difference() {
        let left = "@0: iload_0\n@1: return\nline 7 at @1";
        let right = "@0: enter\n@3: iload_0\n@4: return\nline 7 at @1";
        let text = side_by_side(left, right, 37);
        assert!(
            text.ends_with("line 7 at 1       | line 7 at 1\n"),
            "{text}"
        );
    }

    #[test]
    fn a_throw_at_the_end_stays_with_its_code() {
        let left = "@0: aload_0\n@1: athrow\nto @2";
        let right = "@0: aload_0\n@1: athrow\n@2: exit\n@5: athrow\nto @2";
        let text = side_by_side(left, right, 37);
        assert!(text.contains("1: athrow           1: athrow\n"), "{text}");
        assert!(
            text.contains("                  > 5: athrow\nto 2                to 2\n"),
            "{text}"
        );
    }

    #[test]
    fn long_equal_runs_fold_and_say_where_they_end() {
        let many: Vec<String> = (0..20).map(|i| format!("line {i}")).collect();
        let left = format!("{}\n  method m()V\na\nb\nc\nleft", many.join("\n"));
        let right = format!("{}\n  method m()V\na\nb\nc\nright", many.join("\n"));
        let expected = "\
left                right
⋯ 21 lines, in method m()V
a                   a
b                   b
c                   c
left              | right
";
        assert_eq!(side_by_side(&left, &right, 37), expected);
        let expected = "left                right\n⋯ 25 lines, in method m()V\n";
        assert_eq!(side_by_side(&left, &left, 37), expected);
    }

    #[test]
    fn long_lines_wrap_by_their_width() {
        let text = side_by_side("  値値値値値値値値値値", "", 35);
        let expected = "left               right\n  値値値値値値値 <\n      値値値     <\n";
        assert_eq!(text, expected);
    }
}
