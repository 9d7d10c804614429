//! `HEAP DUMP`: the roots, classes, objects and arrays of a heap. Only values that are references are written.

use std::fmt::{self, Display, Formatter};

use super::name::Name;
use super::scan::{Scan, hexadecimal};

/// The beginning of a heap dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapBegin {
    /// Number of objects.
    pub objects: u64,
    /// Bytes of all objects.
    pub bytes: u64,
    /// The time at which the dump was made.
    pub date: String,
}

impl HeapBegin {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<HeapBegin> {
        line.literal("HEAP DUMP BEGIN (")?;
        let objects = line.until(" objects, ")?.parse().ok()?;
        let bytes = line.until(" bytes) ")?.parse().ok()?;
        let date = line.rest().to_owned();
        Some(HeapBegin {
            objects,
            bytes,
            date,
        })
    }
}

impl Display for HeapBegin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (objects, bytes, date) = (self.objects, self.bytes, Name(&self.date));
        write!(
            f,
            "HEAP DUMP BEGIN ({objects} objects, {bytes} bytes) {date}"
        )
    }
}

/// A GC root: an object and the reason why it is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Identifier of the object.
    pub id: u64,
    /// The reason why the object is a root.
    pub reason: RootReason,
}

/// The reason why an object is a root. Threads and traces are given by their serial numbers. Frames are counted
/// from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RootReason {
    Unknown,
    Thread { serial: u32, trace: u32 },
    JniGlobal { reference: u64, trace: u32 },
    JniLocal { thread: u32, frame: i32 },
    SystemClass { name: String },
    BusyMonitor,
    ThreadBlock { thread: u32 },
    JavaStack { thread: u32, frame: i32 },
    NativeStack { thread: u32 },
}

impl Root {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Root> {
        line.literal("ROOT ")?;
        let id = line.id()?;
        line.literal(" (kind=<")?;
        let kind = line.until(">")?;
        let reason = match kind {
            "unknown" => RootReason::Unknown,
            "thread" => {
                line.literal(", id=")?;
                let serial = line.number()?;
                line.literal(", trace=")?;
                let trace = line.number()?;
                RootReason::Thread { serial, trace }
            }
            "JNI global ref" => {
                line.literal(", id=")?;
                let reference = line.id()?;
                line.literal(", trace=")?;
                let trace = line.number()?;
                RootReason::JniGlobal { reference, trace }
            }
            "system class" => {
                line.literal(", name=")?;
                let name = line.until_last(")")?.to_owned();
                line.end()?;
                let reason = RootReason::SystemClass { name };
                return Some(Root { id, reason });
            }
            "busy monitor" => RootReason::BusyMonitor,
            _ => {
                line.literal(", thread=")?;
                let thread = line.number()?;
                match kind {
                    "thread block" => RootReason::ThreadBlock { thread },
                    "native stack" => RootReason::NativeStack { thread },
                    _ => {
                        line.literal(", frame=")?;
                        let frame = line.number()?;
                        match kind {
                            "JNI local ref" => RootReason::JniLocal { thread, frame },
                            "Java stack" => RootReason::JavaStack { thread, frame },
                            _ => return None,
                        }
                    }
                }
            }
        };
        line.literal(")")?;
        line.end()?;
        Some(Root { id, reason })
    }
}

impl Display for Root {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ROOT {:x} (kind=<", self.id)?;
        match &self.reason {
            RootReason::Unknown => f.write_str("unknown>)"),
            RootReason::Thread { serial, trace } => {
                write!(f, "thread>, id={serial}, trace={trace})")
            }
            RootReason::JniGlobal { reference, trace } => {
                write!(f, "JNI global ref>, id={reference:x}, trace={trace})")
            }
            RootReason::JniLocal { thread, frame } => {
                write!(f, "JNI local ref>, thread={thread}, frame={frame})")
            }
            RootReason::SystemClass { name } => {
                write!(f, "system class>, name={})", Name(name))
            }
            RootReason::BusyMonitor => f.write_str("busy monitor>)"),
            RootReason::ThreadBlock { thread } => write!(f, "thread block>, thread={thread})"),
            RootReason::JavaStack { thread, frame } => {
                write!(f, "Java stack>, thread={thread}, frame={frame})")
            }
            RootReason::NativeStack { thread } => write!(f, "native stack>, thread={thread})"),
        }
    }
}

/// A class. Its references follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Identifier of the class object.
    pub id: u64,
    /// Name of the class.
    pub name: String,
    /// Serial number of the trace at which the class was loaded.
    pub trace: u32,
}

impl Class {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Class> {
        line.literal("CLS ")?;
        let id = line.id()?;
        line.literal(" (name=")?;
        let name = line.until_last(", trace=")?.to_owned();
        let trace = line.number()?;
        line.literal(")")?;
        line.end()?;
        Some(Class { id, name, trace })
    }
}

impl Display for Class {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Class { id, name, trace } = self;
        write!(f, "CLS {id:x} (name={}, trace={trace})", Name(name))
    }
}

/// An object that is not an array. Its references follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Identifier of the object.
    pub id: u64,
    /// Number of bytes of the object.
    pub bytes: u64,
    /// Serial number of the trace at which the object was allocated.
    pub trace: u32,
    /// Name of the object's class.
    pub class: String,
    /// Identifier of the object's class.
    pub class_id: u64,
}

impl Object {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Object> {
        line.literal("OBJ ")?;
        let id = line.id()?;
        line.literal(" (sz=")?;
        let bytes = line.number()?;
        line.literal(", trace=")?;
        let trace = line.number()?;
        line.literal(", class=")?;
        let class = line.until_last("@")?.to_owned();
        let class_id = line.id()?;
        line.literal(")")?;
        line.end()?;
        Some(Object {
            id,
            bytes,
            trace,
            class,
            class_id,
        })
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Object {
            id,
            bytes,
            trace,
            class,
            class_id,
        } = self;
        let class = Name(class);
        write!(
            f,
            "OBJ {id:x} (sz={bytes}, trace={trace}, class={class}@{class_id:x})"
        )
    }
}

/// An array. The elements that are references follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Array {
    /// Identifier of the array.
    pub id: u64,
    /// Number of bytes of the array.
    pub bytes: u64,
    /// Serial number of the trace at which the array was allocated.
    pub trace: u32,
    /// Number of elements.
    pub length: u32,
    /// The type of the array, for example `char[]` (HPROF calls it the type of the elements).
    pub of: String,
    /// Identifier of the array's class; `None` for arrays of a primitive type.
    pub class_id: Option<u64>,
}

impl Array {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Array> {
        line.literal("ARR ")?;
        let id = line.id()?;
        line.literal(" (sz=")?;
        let bytes = line.number()?;
        line.literal(", trace=")?;
        let trace = line.number()?;
        line.literal(", nelems=")?;
        let length = line.number()?;
        line.literal(", elem type=")?;
        let of = line.until_last(")")?;
        line.end()?;
        let class = of.rsplit_once('@');
        let class = class.and_then(|(name, id)| Some((name, hexadecimal(id)?)));
        let (of, class_id) = match class {
            Some((of, id)) => (of, Some(id)),
            None => (of, None),
        };
        Some(Array {
            id,
            bytes,
            trace,
            length,
            of: of.to_owned(),
            class_id,
        })
    }
}

impl Display for Array {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (id, bytes, trace) = (self.id, self.bytes, self.trace);
        let (length, of) = (self.length, Name(&self.of));
        write!(
            f,
            "ARR {id:x} (sz={bytes}, trace={trace}, nelems={length}, elem type={of}"
        )?;
        match self.class_id {
            Some(id) => write!(f, "@{id:x})"),
            None => f.write_str(")"),
        }
    }
}

/// A reference of the class, object or array whose line came before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The place of the reference.
    pub from: Holder,
    /// Identifier of the object to which the reference leads.
    pub to: u64,
}

/// The place of a reference in a class, object or array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Holder {
    /// The superclass of a class.
    Super,
    /// The class loader of a class.
    Loader,
    Signers,
    ProtectionDomain,
    /// A static field of a class.
    Static(String),
    /// An entry of a class's constant pool.
    Constant(u32),
    /// A field of an object.
    Field(String),
    /// An element of an array.
    Element(u32),
}

/// The kind of the record whose references are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Referrer {
    Class,
    Object,
    Array,
}

impl Reference {
    pub(crate) fn parse(of: Referrer, line: &mut Scan<'_>) -> Option<Reference> {
        line.literal("\t")?;
        let name = line.until("\t")?;
        let from = match of {
            Referrer::Class => match name {
                "super" => Holder::Super,
                "loader" => Holder::Loader,
                "signers" => Holder::Signers,
                "domain" => Holder::ProtectionDomain,
                _ => match name.strip_prefix("constant pool entry ") {
                    Some(index) => Holder::Constant(index.parse().ok()?),
                    None => Holder::Static(name.strip_prefix("static ")?.to_owned()),
                },
            },
            Referrer::Object => Holder::Field(name.to_owned()),
            Referrer::Array => {
                let index = name.strip_prefix('[')?.strip_suffix(']')?;
                Holder::Element(index.parse().ok()?)
            }
        };
        line.spaces();
        let to = line.id()?;
        line.end()?;
        Some(Reference { from, to })
    }
}

/// A field's line has a second tab after the name if the name is shorter than this.
const LONG_NAME: usize = 8;

impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let to = self.to;
        match &self.from {
            Holder::Super => write!(f, "\tsuper\t\t{to:x}"),
            Holder::Loader => write!(f, "\tloader\t\t{to:x}"),
            Holder::Signers => write!(f, "\tsigners\t\t{to:x}"),
            Holder::ProtectionDomain => write!(f, "\tdomain\t\t{to:x}"),
            Holder::Static(name) => write!(f, "\tstatic {}\t{to:x}", Name(name)),
            Holder::Constant(index) => write!(f, "\tconstant pool entry {index}\t{to:x}"),
            Holder::Field(name) => {
                let tab = if name.len() < LONG_NAME { "\t" } else { "" };
                write!(f, "\t{}\t{tab}{to:x}", Name(name))
            }
            Holder::Element(index) => write!(f, "\t[{index}]\t\t{to:x}"),
        }
    }
}
