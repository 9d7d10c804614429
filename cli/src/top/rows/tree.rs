//! The call tree.

use super::table::{Column, Rows, named, percent};
use crate::top::model::Model;

/// The call tree of all threads.
pub(in crate::top) struct Tree<'m>(pub(in crate::top) &'m Model);

const TREE: [Column; 2] = [
    Column {
        title: "total %",
        width: 8,
    },
    Column {
        title: "self %",
        width: 7,
    },
];

/// Maximum number of columns by which a name is indented.
const DEEPEST: u32 = 30;

impl Rows for Tree<'_> {
    fn columns(&self) -> &'static [Column] {
        &TREE
    }

    fn title(&self) -> String {
        "call tree of all threads".to_owned()
    }

    fn len(&self) -> usize {
        self.0.picture.tree.len()
    }

    fn name(&self, row: usize) -> &str {
        let branch = self.0.picture.tree.get(row);
        branch.map_or("", |branch| named(self.0, branch.method))
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        let branch = self.0.picture.tree.get(row);
        branch.map_or(0.0, |branch| match column {
            0 => branch.total,
            _ => branch.own,
        })
    }

    fn cell(&self, row: usize, column: usize) -> String {
        percent(self.0.percent(self.number(row, column)))
    }

    fn method(&self, row: usize) -> Option<u32> {
        Some(self.0.picture.tree.get(row)?.method)
    }

    fn can_sort(&self) -> bool {
        false
    }

    fn lead(&self, row: usize) -> String {
        let depth = self
            .0
            .picture
            .tree
            .get(row)
            .map_or(0, |branch| branch.depth);
        if depth <= DEEPEST {
            " ".repeat(depth as usize)
        } else {
            let deeper = format!("+{} ", depth - DEEPEST);
            format!("{}{deeper}", " ".repeat(DEEPEST as usize))
        }
    }
}
