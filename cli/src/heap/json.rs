//! What all JSON about a dump has.

use std::io::{self, Write};

use loadhook_heap::Histogram;
use serde_json::{Map, Value, json};

use loadhook_text::date::utc;

/// Writes the dump's own data with those of a view.
pub(super) fn write(
    histogram: &Histogram,
    view: Map<String, Value>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut all = head(histogram);
    all.extend(view);
    print(all, out)
}

/// Writes what is JSON already, with a line's end.
pub(super) fn print(all: Map<String, Value>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Value::Object(all))?;
    writeln!(out)
}

/// A dump's own data.
pub(super) fn head(histogram: &Histogram) -> Map<String, Value> {
    map(json!({
        "time": utc(histogram.header.time_ms),
        "id_size": histogram.header.id_size,
        "header_size": histogram.model.header,
        "reference_size": histogram.model.reference,
        "dump_bytes": histogram.dump_bytes,
        "instances": histogram.instances(),
        "bytes": histogram.bytes(),
        "profiler": {
            "instances": histogram.left_out.instances,
            "bytes": histogram.left_out.bytes,
        },
    }))
}

/// The first `top` rows, of which no more are made, and how many are left out.
pub(super) fn rows(
    name: &str,
    rows: impl ExactSizeIterator<Item = Value>,
    top: usize,
) -> Map<String, Value> {
    let left_out = rows.len().saturating_sub(top);
    let rows: Vec<Value> = rows.take(top).collect();
    let mut map = Map::new();
    map.insert(name.to_owned(), rows.into());
    map.insert("left_out".to_owned(), left_out.into());
    map
}

/// The members of an object.
pub(super) fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
