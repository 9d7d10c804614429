//! Converts the heap dump of a binary file into lines of text: its threads and traces, then `HEAP DUMP`.

use std::collections::HashMap;
use std::io::{self, Read};

use super::heap::{Array, Class, HeapBegin, Holder, Object, Reference, Root, RootReason};
use super::line::Line;
use super::thread::ThreadStart;
use super::trace::{Frame, NoFrames, TraceHead};
use crate::error::{Error, ErrorKind};
use crate::input::number;
use crate::reader::read;
use crate::record::class_dump::ClassDump;
use crate::record::header::Header;
use crate::record::load_class::LoadClass;
use crate::record::root::{self, RootKind};
use crate::record::stack_frame::StackFrame;
use crate::record::thread::StartThread;
use crate::trace_table::TraceTable;
use crate::types::Type;
use crate::visitor::Visitor;
use crate::writer::NO_TRACE;

/// Passes the lines of a binary dump to `line`. `open` opens the dump, which is read twice. The size of an object
/// is the distance from its identifier to the next higher one, or to `end`. So identifiers must be like the
/// addresses of a heap without gaps. Takes 8 bytes of memory for each object.
///
/// # Errors
///
/// Fails if the dump is faulty, or if `open` or `line` fails.
pub fn heap_lines<R: Read>(
    open: impl Fn() -> io::Result<R>,
    end: u64,
    date: &str,
    mut line: impl FnMut(&Line) -> io::Result<()>,
) -> Result<(), Error> {
    let failed = |error| Error {
        kind: ErrorKind::Io(error),
        at: 0,
    };
    let mut survey = Survey::default();
    read(open().map_err(failed)?, &mut survey)?;
    survey.ids.sort_unstable();
    survey.ids.push(end);
    survey.stacks(&mut line).map_err(failed)?;
    let first = survey.ids.first().copied().unwrap_or(end);
    let begin = HeapBegin {
        objects: survey.ids.len() as u64 - 1,
        bytes: end.saturating_sub(first),
        date: date.to_owned(),
    };
    line(&Line::HeapBegin(begin)).map_err(failed)?;
    let mut lines = HeapLines {
        survey: &survey,
        next: 0,
        line: &mut line,
        fault: None,
    };
    read(open().map_err(failed)?, &mut lines)?;
    if let Some(fault) = lines.fault.take() {
        return Err(failed(fault));
    }
    line(&Line::HeapEnd).map_err(failed)
}

/// A class of the dump.
#[derive(Default)]
struct Layout {
    superclass: u64,
    /// The types of the fields that the class declares, with the identifiers of their names.
    fields: Vec<(u64, Type)>,
}

/// The names, classes, threads and traces of a dump, and the identifiers of its objects.
#[derive(Default)]
struct Survey {
    id_size: usize,
    names: HashMap<u64, String>,
    /// Names of classes by the classes' serial numbers.
    serials: HashMap<u32, String>,
    /// Names of classes by the classes' identifiers.
    class_names: HashMap<u64, String>,
    layouts: HashMap<u64, Layout>,
    frames: HashMap<u64, Frame>,
    threads: Vec<ThreadStart>,
    traces: TraceTable,
    /// Identifiers of all objects that are not classes. They are sorted when all are known.
    ids: Vec<u64>,
}

impl Survey {
    fn name(&self, id: u64) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    fn class_name(&self, id: u64) -> String {
        self.class_names.get(&id).cloned().unwrap_or_default()
    }

    /// Returns the number of bytes of an object.
    fn size(&self, id: u64) -> u64 {
        let at = self.ids.partition_point(|other| *other <= id);
        self.ids.get(at).map_or(0, |next| next - id)
    }

    /// Passes the lines of threads and traces.
    fn stacks(&self, line: &mut impl FnMut(&Line) -> io::Result<()>) -> io::Result<()> {
        for thread in &self.threads {
            line(&Line::ThreadStart(thread.clone()))?;
        }
        for (serial, (thread, frames)) in &self.traces.traces {
            let head = TraceHead {
                serial: *serial,
                thread: (*thread > 0).then_some(*thread),
                phase: None,
            };
            line(&Line::Trace(head))?;
            for frame in frames.iter().filter_map(|id| self.frames.get(id)) {
                line(&Line::Frame(frame.clone()))?;
            }
            if frames.is_empty() {
                line(&Line::NoFrames(NoFrames))?;
            }
        }
        Ok(())
    }
}

impl Visitor for Survey {
    fn header(&mut self, header: Header) {
        self.id_size = header.id_size as usize;
    }
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        let text = String::from_utf8_lossy(text).into_owned();
        self.names.insert(id, text);
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        let name = java_name(&self.name(class.name));
        self.serials.insert(class.serial, name.clone());
        self.class_names.insert(class.class, name);
        Ok(())
    }
    fn stack_frame(&mut self, frame: StackFrame) -> Result<(), ErrorKind> {
        let class = self.serials.get(&frame.class_serial);
        let source = Some(self.name(frame.source_file));
        let written = Frame {
            class: class.cloned().unwrap_or_default(),
            method: self.name(frame.method_name),
            source: source.filter(|name| !name.is_empty()),
            line: frame.line,
        };
        self.frames.insert(frame.id, written);
        Ok(())
    }
    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result<(), ErrorKind> {
        self.traces.begin(serial, thread);
        Ok(())
    }
    fn trace_frames(&mut self, ids: &[u8]) -> Result<(), ErrorKind> {
        self.traces.add_frames(ids, self.id_size);
        Ok(())
    }
    fn start_thread(&mut self, thread: StartThread) -> Result<(), ErrorKind> {
        self.threads.push(ThreadStart {
            object: thread.object,
            serial: thread.serial,
            name: self.name(thread.name),
            group: self.name(thread.group),
        });
        Ok(())
    }
    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        let fields = class.fields.iter();
        let layout = Layout {
            superclass: class.super_id,
            fields: fields.map(|field| (field.name, field.value_type)).collect(),
        };
        self.layouts.insert(class.id, layout);
        Ok(())
    }
    fn instance(&mut self, id: u64, _: u64, _: &[u8]) -> Result<(), ErrorKind> {
        self.ids.push(id);
        Ok(())
    }
    fn object_array(&mut self, id: u64, _: u64, _: u32) -> Result<(), ErrorKind> {
        self.ids.push(id);
        Ok(())
    }
    fn primitive_array(&mut self, id: u64, _: Type, _: u32) -> Result<(), ErrorKind> {
        self.ids.push(id);
        Ok(())
    }
}

/// Passes the records of the heap as lines.
struct HeapLines<'s, F> {
    survey: &'s Survey,
    /// Index of the next element of the current array.
    next: u32,
    line: F,
    /// The first error that `line` returned for an element. It is kept, because [`Visitor::elements`] cannot return it.
    fault: Option<io::Error>,
}

impl<F: FnMut(&Line) -> io::Result<()>> HeapLines<'_, F> {
    fn put(&mut self, line: &Line) -> Result<(), ErrorKind> {
        (self.line)(line).map_err(ErrorKind::Io)
    }

    /// Passes the line of a reference, unless the reference is null.
    fn reference(&mut self, from: Holder, to: u64) -> Result<(), ErrorKind> {
        if to == 0 {
            return Ok(());
        }
        self.put(&Line::Reference(Reference { from, to }))
    }

    fn array(&mut self, id: u64, length: u32, of: String, class_id: Option<u64>) -> Line {
        self.next = 0;
        Line::Array(Array {
            id,
            bytes: self.survey.size(id),
            trace: NO_TRACE,
            length,
            of,
            class_id,
        })
    }
}

impl<F: FnMut(&Line) -> io::Result<()>> Visitor for HeapLines<'_, F> {
    fn wants_contents(&self) -> bool {
        true
    }
    fn root(&mut self, root: root::Root) -> Result<(), ErrorKind> {
        let (thread, frame) = (root.thread, root.frame.cast_signed());
        let reason = match root.kind {
            RootKind::Unknown => RootReason::Unknown,
            RootKind::JniGlobal => RootReason::JniGlobal {
                reference: 0,
                trace: NO_TRACE,
            },
            RootKind::JniLocal => RootReason::JniLocal { thread, frame },
            RootKind::JavaFrame => RootReason::JavaStack { thread, frame },
            RootKind::NativeStack => RootReason::NativeStack { thread },
            RootKind::StickyClass => RootReason::SystemClass {
                name: self.survey.class_name(root.id),
            },
            RootKind::ThreadBlock => RootReason::ThreadBlock { thread },
            RootKind::MonitorUsed => RootReason::BusyMonitor,
            RootKind::ThreadObject => RootReason::Thread {
                serial: thread,
                trace: root.frame,
            },
        };
        self.put(&Line::Root(Root {
            id: root.id,
            reason,
        }))
    }
    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        self.put(&Line::Class(Class {
            id: class.id,
            name: self.survey.class_name(class.id),
            trace: NO_TRACE,
        }))?;
        self.reference(Holder::Super, class.super_id)?;
        self.reference(Holder::Loader, class.loader)?;
        self.reference(Holder::Signers, class.signers)?;
        self.reference(Holder::ProtectionDomain, class.protection_domain)?;
        for field in &class.statics {
            if field.value_type == Type::Object {
                let name = self.survey.name(field.name);
                self.reference(Holder::Static(name), field.value)?;
            }
        }
        for constant in &class.constants {
            if constant.value_type == Type::Object {
                self.reference(Holder::Constant(constant.index.into()), constant.value)?;
            }
        }
        Ok(())
    }
    fn instance(&mut self, id: u64, class: u64, mut fields: &[u8]) -> Result<(), ErrorKind> {
        self.put(&Line::Object(Object {
            id,
            bytes: self.survey.size(id),
            trace: NO_TRACE,
            class: self.survey.class_name(class),
            class_id: class,
        }))?;
        let survey = self.survey;
        let mut next = class;
        // In a faulty dump, superclasses may form a circle. The limit of steps ends the loop also then.
        for _ in 0..survey.layouts.len() {
            let Some(layout) = survey.layouts.get(&next) else {
                break;
            };
            for (name, of) in &layout.fields {
                let Some((value, rest)) =
                    fields.split_at_checked(of.size(survey.id_size as u32) as usize)
                else {
                    return Ok(());
                };
                if *of == Type::Object {
                    self.reference(Holder::Field(survey.name(*name)), number(value))?;
                }
                fields = rest;
            }
            next = layout.superclass;
        }
        Ok(())
    }
    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        let of = self.survey.class_name(class);
        let line = self.array(id, length, of, Some(class));
        self.put(&line)
    }
    fn elements(&mut self, ids: &[u8]) {
        for id in ids.chunks_exact(self.survey.id_size) {
            let element = Holder::Element(self.next);
            self.next += 1;
            if let Err(ErrorKind::Io(error)) = self.reference(element, number(id)) {
                self.fault.get_or_insert(error);
                return;
            }
        }
    }
    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
        let line = self.array(id, length, format!("{element}[]"), None);
        self.put(&line)
    }
}

/// Returns the name of a class in the text format: `shop.Item[]` for `[Lshop/Item;`.
fn java_name(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.replace('/', ".");
    }
    let inner = element.strip_prefix('L');
    let element = match inner.and_then(|inner| inner.strip_suffix(';')) {
        Some(inner) => inner.replace('/', "."),
        None => {
            let first = element.bytes().next().unwrap_or_default();
            Type::from_descriptor(first).to_string()
        }
    };
    element + &"[]".repeat(dimensions)
}
