//! The table of allocations.

use loadhook_profile::analysis::picture::PlaceFigures;
use loadhook_text::{bytes, clipped};

use super::table::{Column, Rows, known, rate};
use crate::top::model::Model;

/// Places that allocate.
pub(in crate::top) struct Allocations<'m>(pub(in crate::top) &'m Model);

const ALLOCATIONS: [Column; 3] = [
    Column {
        title: "bytes/s",
        width: 10,
    },
    Column {
        title: "objects/s",
        width: 11,
    },
    Column {
        title: "alive",
        width: 10,
    },
];

/// Maximum width of a type. It leaves room for the place.
const WIDEST_TYPE: usize = 24;

impl Allocations<'_> {
    fn all(&self) -> &[PlaceFigures] {
        self.0.picture.allocations.as_deref().unwrap_or_default()
    }

    /// Splits the name of a row into type and place, which two blanks separate.
    fn type_and_place(&self, row: usize) -> (&str, &str) {
        let name = self.all().get(row).map_or("", |place| &place.name);
        name.split_once("  ").unwrap_or(("", name))
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let place = self.all().get(row)?;
        match column {
            0 => place.bytes.map(|bytes| self.0.per_second(bytes)),
            1 => Some(self.0.per_second(place.objects)),
            _ => place.live_bytes,
        }
    }
}

impl Rows for Allocations<'_> {
    fn columns(&self) -> &'static [Column] {
        &ALLOCATIONS
    }

    fn title(&self) -> String {
        "type and place".to_owned()
    }

    fn nothing(&self) -> &'static str {
        if self.0.picture.allocations.is_some() {
            "no allocations in this interval"
        } else {
            "allocations are not recorded; for them, start loadhook top with --alloc sampled"
        }
    }

    fn len(&self) -> usize {
        self.all().len()
    }

    fn name(&self, row: usize) -> &str {
        self.type_and_place(row).1
    }

    fn lead(&self, row: usize) -> String {
        format!("{}  ", clipped(self.type_and_place(row).0, WIDEST_TYPE))
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        self.value(row, column).unwrap_or(-1.0)
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let value = self.value(row, column);
        match column {
            1 => known(value, rate),
            _ => known(value, |number| bytes(number.round() as u64)),
        }
    }

    fn method(&self, row: usize) -> Option<u32> {
        self.all().get(row)?.method
    }
}
