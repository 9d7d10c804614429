//! Tables of objects and of classes by retained size.

use std::io::{self, Write};

use loadhook_heap::Histogram;
use loadhook_text::{bytes, count};

use super::super::super::views::retained::{BiggestObjects, RetainedClasses};
use super::super::columns;
use super::super::text::{self, UNREACHABLE, id, percent, rest, width};

/// Writes the lines above the table. They include the number of unreachable objects, which are part
/// of no retained size.
fn head(histogram: &Histogram, unreachable: u64, out: &mut dyn Write) -> io::Result<()> {
    text::head(histogram, out)?;
    match unreachable {
        0 => Ok(()),
        _ => text::sentence(&format!("{} {UNREACHABLE}\n", count(unreachable)), out),
    }
}

/// Writes the objects with the largest retained sizes.
pub(in crate::heap) fn biggest(
    view: &BiggestObjects,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(&view.histogram, view.unreachable, out)?;
    let titles = ["#", "retained %", "retained", "bytes", "id", "object"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let all = view.histogram.bytes();
    for (rank, object) in view.objects.iter().enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(object.retained, all),
            bytes(object.retained),
            bytes(object.bytes),
            id(object.id),
            object.class.clone(),
        ]);
    }
    columns::write(&rows, width(), out)?;
    rest(view.reachable, top, ["object", "objects"], out)
}

/// Writes the classes, ordered by their retained sizes.
pub(in crate::heap) fn classes(
    view: &RetainedClasses,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(&view.histogram, view.unreachable, out)?;
    let titles = ["#", "retained %", "retained", "bytes", "instances", "class"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let all = view.histogram.bytes();
    for (rank, (class, retained)) in view.classes.iter().take(top).enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(*retained, all),
            bytes(*retained),
            bytes(class.bytes),
            count(class.instances),
            class.name.to_string(),
        ]);
    }
    columns::write(&rows, width(), out)?;
    rest(view.classes.len(), top, ["class", "classes"], out)
}
