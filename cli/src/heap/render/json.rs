//! Views as JSON.

use std::io::{self, Write};

use loadhook_heap::{
    ClassCount, Duplicate, Duplicates, Frame, Histogram, Local, Thread, Threads, Waste,
};
use loadhook_text::JsonWriter;
use loadhook_text::date::utc;
use serde_json::{Map, Value, json};

use super::super::views::class_changes::{Change, ClassChanges, changes};
use super::super::views::duplicates::left_out;
use super::super::views::path::{PathToRoot, Step};
use super::super::views::retained::{BiggestObjects, RetainedClasses, RetainedObject};
use super::text::id;

/// Writes the classes, ordered by the bytes of their objects.
pub(in crate::heap) fn histogram(
    histogram: &Histogram,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let classes = histogram.classes.iter().map(class_json);
    write(histogram, rows("classes", classes, top), out)
}

/// Writes the objects with the largest retained sizes.
pub(in crate::heap) fn biggest(view: &BiggestObjects, out: &mut dyn Write) -> io::Result<()> {
    let object = |object: &RetainedObject| {
        json!({
            "id": id(object.id),
            "class": object.class,
            "bytes": object.bytes,
            "retained": object.retained,
            "dominator": object.dominator.map(id),
        })
    };
    let members = json!({
        "loose": view.unreachable,
        "objects": view.objects.iter().map(object).collect::<Vec<_>>(),
        "left_out": view.reachable - view.objects.len(),
    });
    write(&view.histogram, map(members), out)
}

/// Writes the classes, ordered by their retained sizes.
pub(in crate::heap) fn retained_classes(
    view: &RetainedClasses,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let class = |(class, retained): &(ClassCount, u64)| {
        let mut json = class_json(class);
        json["retained"] = (*retained).into();
        json
    };
    let mut members = rows("classes", view.classes.iter().map(class), top);
    members.insert("loose".to_owned(), view.unreachable.into());
    write(&view.histogram, members, out)
}

/// Writes the path from an object to its root.
pub(in crate::heap) fn path(view: &PathToRoot, out: &mut dyn Write) -> io::Result<()> {
    let step = |step: &Step| {
        json!({
            "id": id(step.id),
            "class": &*step.class,
            "refers_by": step.refers_by,
            "bytes": step.bytes,
            "retained": step.retained,
        })
    };
    let members = json!({
        "loose": view.unreachable,
        "path": view.steps.iter().map(step).collect::<Vec<_>>(),
        "root": view.root.kind(),
        "thread": view.root.thread.as_ref().map(named_json),
        "frame": view.root.frame().map(frame_json),
        "others": view.others.iter().map(|other| id(*other)).collect::<Vec<_>>(),
    });
    write(&view.histogram, map(members), out)
}

/// Writes the values that waste most.
pub(in crate::heap) fn duplicates(found: &Duplicates, out: &mut dyn Write) -> io::Result<()> {
    let members = json!({
        "strings": waste_json(found.strings),
        "arrays": waste_json(found.arrays),
        "parts": found.partial_strings,
        "duplicates": found.worst.iter().map(row_json).collect::<Vec<_>>(),
        "left_out": left_out(found),
    });
    write(&found.histogram, map(members), out)
}

/// Writes the threads with their stacks.
pub(in crate::heap) fn threads(found: &Threads, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let threads = found.threads.iter().take(top);
    let members = json!({
        "threads": threads.map(|thread| thread_json(thread, top)).collect::<Vec<_>>(),
        "left_out": found.threads.len().saturating_sub(top),
    });
    write(&found.histogram, map(members), out)
}

/// Writes the changes between two dumps.
pub(in crate::heap) fn class_changes(
    view: &ClassChanges,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [before, after] = &view.histograms;
    let (_, changed) = changes([before, after]);
    let mut members = rows("classes", changed.iter().map(change_json), top);
    members.insert("before".to_owned(), head(before).into());
    members.insert("after".to_owned(), head(after).into());
    print(members, out)
}

/// Writes an object with the members that all views have, and those of `view`.
fn write(histogram: &Histogram, view: Map<String, Value>, out: &mut dyn Write) -> io::Result<()> {
    let mut all = head(histogram);
    all.extend(view);
    print(all, out)
}

/// Writes an object and a line end.
fn print(all: Map<String, Value>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(JsonWriter(&mut *out), &Value::Object(all))?;
    writeln!(out)
}

/// Returns the members that all views have: the dump's header and its sums.
pub(in crate::heap) fn head(histogram: &Histogram) -> Map<String, Value> {
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

/// Returns the first `top` rows, and the number of omitted rows.
fn rows(name: &str, rows: impl ExactSizeIterator<Item = Value>, top: usize) -> Map<String, Value> {
    let left_out = rows.len().saturating_sub(top);
    let rows: Vec<Value> = rows.take(top).collect();
    let mut map = Map::new();
    map.insert(name.to_owned(), rows.into());
    map.insert("left_out".to_owned(), left_out.into());
    map
}

/// Returns the members of a JSON object; none for another value.
pub(in crate::heap) fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn class_json(class: &ClassCount) -> Value {
    json!({
        "class": &*class.name,
        "id": id(class.class_id),
        "instances": class.instances,
        "bytes": class.bytes,
    })
}

fn change_json((name, change): &(&str, Change)) -> Value {
    let [before, after] = [0, 1]
        .map(|side| json!({ "instances": change.instances[side], "bytes": change.bytes[side] }));
    json!({ "class": name, "before": before, "after": after })
}

pub(in crate::heap) fn waste_json(waste: Waste) -> Value {
    json!({
        "values": waste.values,
        "instances": waste.objects,
        "wasted": waste.bytes,
    })
}

fn row_json(row: &Duplicate) -> Value {
    json!({
        "class": &*row.class,
        "array": id(row.array),
        "instances": row.count,
        "bytes": row.bytes,
        "wasted": row.wasted,
        "text": row.preview.text,
        "length": row.preview.length,
        "is_cut": row.preview.is_cut,
    })
}

/// Returns the name, class and identifier of a thread.
fn named_json(thread: &Thread) -> Value {
    json!({
        "name": thread.name,
        "class": &*thread.class,
        "id": (thread.id != 0).then(|| id(thread.id)),
    })
}

fn thread_json(thread: &Thread, top: usize) -> Value {
    let frames = thread
        .frames
        .iter()
        .map(|frame| with_locals(frame_json(frame), &frame.locals, top));
    let mut own = named_json(thread);
    own["frames"] = frames.take(top).collect();
    own["frames_left_out"] = thread.frames.len().saturating_sub(top).into();
    with_locals(own, &thread.locals, top)
}

fn frame_json(frame: &Frame) -> Value {
    json!({
        "class": &*frame.class,
        "method": &*frame.method,
        "file": frame.file.as_deref(),
        "line": frame.line,
        "is_native": frame.is_native,
    })
}

/// Adds the objects in `locals` to the JSON of a thread or frame.
fn with_locals(mut own: Value, locals: &[Local], top: usize) -> Value {
    let shown = locals.iter().take(top).map(local_json);
    own["locals"] = shown.collect();
    own["locals_left_out"] = locals.len().saturating_sub(top).into();
    own
}

fn local_json(local: &Local) -> Value {
    let preview = local.preview.as_ref();
    json!({
        "class": &*local.class,
        "id": id(local.id),
        "is_class": local.is_class,
        "bytes": local.bytes,
        "is_native": local.is_native,
        "text": preview.map(|preview| &*preview.text),
        "length": preview.map(|preview| preview.length),
        "is_cut": preview.map(|preview| preview.is_cut),
    })
}
