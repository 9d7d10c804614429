//! Tests that records are equal after they were written and read again.

use loadhook_hprof::{
    ClassDump, Constant, ErrorKind, Header, InstanceField, LoadClass, NO_TRACE, Root, RootKind,
    StackFrame, StaticField, Type, Visitor, Writer, read, validate,
};
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
enum Record {
    Text(u64, Vec<u8>),
    LoadClass(LoadClass),
    Frame(StackFrame),
    Trace(u32, u32, Vec<u64>),
    Root(Root),
    Class(ClassDump),
    Instance(u64, u64, Vec<u8>),
    ObjectArray(u64, u64, Vec<u64>),
    PrimitiveArray(u64, Type, Vec<u8>),
}

impl Record {
    /// Returns whether this is a top-level record. The writer writes top-level records before the
    /// heap records.
    fn is_top(&self) -> bool {
        use Record::{Frame, LoadClass, Text, Trace};
        matches!(self, Text(..) | LoadClass(_) | Frame(_) | Trace(..))
    }
}

/// All records of a dump, in the order in which they are read.
#[derive(Default)]
struct Records {
    header: Header,
    all: Vec<Record>,
}

impl Records {
    fn ids<'i>(&self, ids: &'i [u8]) -> impl Iterator<Item = u64> + use<'i> {
        ids.chunks_exact(self.header.id_size as usize)
            .map(loadhook_hprof::number)
    }
}

impl Visitor for Records {
    fn wants_contents(&self) -> bool {
        true
    }
    fn header(&mut self, header: Header) {
        self.header = header;
    }
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.all.push(Record::Text(id, text.to_vec()));
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.all.push(Record::LoadClass(class));
        Ok(())
    }
    fn stack_frame(&mut self, frame: StackFrame) -> Result<(), ErrorKind> {
        self.all.push(Record::Frame(frame));
        Ok(())
    }
    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result<(), ErrorKind> {
        self.all.push(Record::Trace(serial, thread, Vec::new()));
        Ok(())
    }
    fn trace_frames(&mut self, ids: &[u8]) -> Result<(), ErrorKind> {
        let more = self.ids(ids);
        if let Some(Record::Trace(_, _, frames)) = self.all.last_mut() {
            frames.extend(more);
        }
        Ok(())
    }
    fn root(&mut self, root: Root) -> Result<(), ErrorKind> {
        self.all.push(Record::Root(root));
        Ok(())
    }
    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        self.all.push(Record::Class(class.clone()));
        Ok(())
    }
    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        self.all.push(Record::Instance(id, class, fields.to_vec()));
        Ok(())
    }
    fn object_array(&mut self, id: u64, class: u64, _: u32) -> Result<(), ErrorKind> {
        self.all.push(Record::ObjectArray(id, class, Vec::new()));
        Ok(())
    }
    fn elements(&mut self, ids: &[u8]) {
        let more = self.ids(ids);
        if let Some(Record::ObjectArray(_, _, elements)) = self.all.last_mut() {
            elements.extend(more);
        }
    }
    fn primitive_array(&mut self, id: u64, element: Type, _: u32) -> Result<(), ErrorKind> {
        self.all
            .push(Record::PrimitiveArray(id, element, Vec::new()));
        Ok(())
    }
    fn values(&mut self, bytes: &[u8]) {
        if let Some(Record::PrimitiveArray(_, _, values)) = self.all.last_mut() {
            values.extend(bytes);
        }
    }
}

fn write(header: Header, records: &[Record]) -> std::io::Result<Vec<u8>> {
    let mut dump = Vec::new();
    let mut writer = Writer::new(&mut dump, header)?;
    for record in records {
        match record {
            Record::Text(id, text) => writer.text(*id, text)?,
            Record::LoadClass(class) => writer.load_class(class)?,
            Record::Frame(frame) => writer.stack_frame(frame)?,
            Record::Trace(serial, thread, frames) => {
                writer.stack_trace(*serial, *thread, frames)?;
            }
            Record::Root(root) => writer.root(root)?,
            Record::Class(class) => writer.class(class)?,
            Record::Instance(id, class, fields) => writer.instance(*id, *class, fields)?,
            Record::ObjectArray(id, class, elements) => {
                writer.begin_object_array(*id, *class, elements.len() as u32)?;
                for element in elements {
                    let bytes = element.to_be_bytes();
                    writer.put(&bytes[8 - header.id_size as usize..])?;
                }
                writer.end_array()?;
            }
            Record::PrimitiveArray(id, element, bytes) => {
                let length = bytes.len() as u32 / element.size(0);
                writer.begin_primitive_array(*id, *element, length)?;
                writer.put(bytes)?;
                writer.end_array()?;
            }
        }
    }
    writer.finish()?;
    Ok(dump)
}

/// Generates identifiers of `id_size` bytes.
fn id(id_size: u32) -> BoxedStrategy<u64> {
    match id_size {
        4 => any::<u32>().prop_map(u64::from).boxed(),
        _ => any::<u64>().boxed(),
    }
}

fn value_type() -> impl Strategy<Value = Type> {
    prop::sample::select(&Type::ALL[..])
}

/// Generates types, each with the bits of one of its values.
fn value(id_size: u32) -> impl Strategy<Value = (Type, u64)> {
    (value_type(), any::<u64>()).prop_map(move |(of, bits)| {
        let unused = 64 - 8 * of.size(id_size);
        (of, bits << unused >> unused)
    })
}

fn root(id_size: u32) -> impl Strategy<Value = Root> {
    use RootKind::*;
    let kinds = [
        Unknown,
        JniGlobal,
        JniLocal,
        JavaFrame,
        NativeStack,
        StickyClass,
        ThreadBlock,
        MonitorUsed,
        ThreadObject,
    ];
    let parts = (
        id(id_size),
        prop::sample::select(kinds.to_vec()),
        any::<u32>(),
        any::<u32>(),
    );
    parts.prop_map(|(id, kind, thread, frame)| Root {
        id,
        kind,
        thread: match kind {
            Unknown | JniGlobal | StickyClass | MonitorUsed => 0,
            _ => thread,
        },
        frame: match kind {
            JniLocal | JavaFrame | ThreadObject => frame,
            _ => u32::MAX,
        },
    })
}

fn class(id_size: u32) -> impl Strategy<Value = ClassDump> {
    let constant =
        (any::<u16>(), value(id_size)).prop_map(|(index, (value_type, value))| Constant {
            index,
            value_type,
            value,
        });
    let static_field =
        (id(id_size), value(id_size)).prop_map(|(name, (value_type, value))| StaticField {
            name,
            value_type,
            value,
        });
    let field = (id(id_size), value_type())
        .prop_map(|(name, value_type)| InstanceField { name, value_type });
    let lists = (
        prop::collection::vec(constant, 0..4),
        prop::collection::vec(static_field, 0..4),
        prop::collection::vec(field, 0..4),
    );
    let ids = prop::collection::vec(id(id_size), 5);
    (ids, any::<u32>(), lists).prop_map(|(ids, instance_size, (constants, statics, fields))| {
        ClassDump {
            id: ids[0],
            super_id: ids[1],
            loader: ids[2],
            signers: ids[3],
            protection_domain: ids[4],
            instance_size,
            constants,
            statics,
            fields,
        }
    })
}

fn record(id_size: u32) -> impl Strategy<Value = Record> {
    let id = || id(id_size);
    let ids = || prop::collection::vec(id(), 0..20);
    let bytes = || prop::collection::vec(any::<u8>(), 0..100);
    let elements = (value_type(), bytes()).prop_map(|(of, mut bytes)| {
        let element = if of == Type::Object { Type::Int } else { of };
        bytes.truncate(bytes.len() / 8 * 8);
        (element, bytes)
    });
    let frame = (id(), id(), id(), id(), any::<u32>(), any::<i32>());
    prop_oneof![
        (id(), bytes()).prop_map(|(id, text)| Record::Text(id, text)),
        (any::<u32>(), id(), id()).prop_map(|(serial, class, name)| {
            Record::LoadClass(LoadClass {
                serial,
                class,
                name,
            })
        }),
        frame.prop_map(
            |(id, method_name, method_descriptor, source_file, class_serial, line)| {
                Record::Frame(StackFrame {
                    id,
                    method_name,
                    method_descriptor,
                    source_file,
                    class_serial,
                    line,
                })
            }
        ),
        (any::<u32>(), any::<u32>(), ids())
            .prop_map(|(serial, thread, frames)| Record::Trace(serial, thread, frames)),
        root(id_size).prop_map(Record::Root),
        class(id_size).prop_map(Record::Class),
        (id(), id(), bytes()).prop_map(|(id, class, fields)| Record::Instance(id, class, fields)),
        (id(), id(), ids()).prop_map(|(id, class, ids)| Record::ObjectArray(id, class, ids)),
        (id(), elements).prop_map(|(id, (of, bytes))| Record::PrimitiveArray(id, of, bytes)),
    ]
}

fn dump() -> impl Strategy<Value = (Header, Vec<Record>)> {
    prop::sample::select(&[4_u32, 8][..]).prop_flat_map(|id_size| {
        let header = any::<u64>().prop_map(move |time_ms| Header { id_size, time_ms });
        (header, prop::collection::vec(record(id_size), 0..40))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_records_are_read_again((header, records) in dump()) {
        let dump = write(header, &records).expect("writing to memory cannot fail");
        validate(std::io::Cursor::new(&dump)).expect("the dump is complete");
        let mut found = Records::default();
        prop_assert_eq!(read(&dump[..], &mut found).expect("the dump is complete"), dump.len() as u64);
        prop_assert_eq!(found.header, header);
        let no_trace = Record::Trace(NO_TRACE, 0, Vec::new());
        let (top, heap): (Vec<Record>, Vec<Record>) = records.into_iter().partition(Record::is_top);
        let expected: Vec<Record> = [no_trace].into_iter().chain(top).chain(heap).collect();
        prop_assert_eq!(found.all, expected);
    }

    #[test]
    fn any_bytes_have_an_end((header, records) in dump(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut dump = write(header, &records).expect("writing to memory cannot fail");
        for (at, byte) in changes {
            let at = at.index(dump.len());
            dump[at] = byte;
        }
        let _ = read(&dump[..], &mut Records::default());
        let _ = validate(std::io::Cursor::new(&dump));
    }
}

fn one_of_each_kind() -> [Record; 9] {
    [
        Record::Text(0x11, b"ab".to_vec()),
        Record::LoadClass(LoadClass {
            serial: 9,
            class: 0x12,
            name: 0x11,
        }),
        Record::Frame(StackFrame {
            id: 1,
            method_name: 2,
            method_descriptor: 3,
            source_file: 4,
            class_serial: 9,
            line: StackFrame::NATIVE_METHOD,
        }),
        Record::Trace(7, 8, vec![1]),
        Record::Root(Root {
            id: 0x20,
            kind: RootKind::JavaFrame,
            thread: 8,
            frame: 0,
        }),
        Record::Class(ClassDump {
            id: 0x12,
            super_id: 1,
            loader: 2,
            signers: 3,
            protection_domain: 4,
            instance_size: 5,
            constants: vec![Constant {
                index: 6,
                value_type: Type::Object,
                value: 7,
            }],
            statics: vec![StaticField {
                name: 0x11,
                value_type: Type::Short,
                value: 0x0809,
            }],
            fields: vec![InstanceField {
                name: 0x11,
                value_type: Type::Long,
            }],
        }),
        Record::Instance(0x20, 0x12, vec![0xaa; 3]),
        Record::ObjectArray(0x30, 0x13, vec![0x20, 0]),
        Record::PrimitiveArray(0x40, Type::Char, vec![0, 0x61]),
    ]
}

/// Compares one record of each kind with its exact bytes. This finds faults that writing and
/// reading have in common.
#[test]
fn records_have_the_bytes_of_the_format() {
    let header = Header {
        id_size: 4,
        time_ms: 0x0102_0304_0506_0708,
    };
    let expected: &[&[u8]] = &[
        b"JAVA PROFILE 1.0.2\0",
        &[0, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8],
        // The empty stack trace, to which all objects refer.
        &[
            5, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
        ],
        &[1, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0x11, b'a', b'b'],
        &[2, 0, 0, 0, 0, 0, 0, 0, 16],
        &[0, 0, 0, 9, 0, 0, 0, 0x12, 0, 0, 0, 1, 0, 0, 0, 0x11],
        &[
            4, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3,
        ],
        &[0, 0, 0, 4, 0, 0, 0, 9, 0xff, 0xff, 0xff, 0xfd],
        &[
            5, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1,
        ],
        &[0x1c, 0, 0, 0, 0, 0, 0, 0, 13 + 62 + 20 + 25 + 16],
        &[0x03, 0, 0, 0, 0x20, 0, 0, 0, 8, 0, 0, 0, 0],
        &[
            0x20, 0, 0, 0, 0x12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4,
        ],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5],
        &[0, 1, 0, 6, 2, 0, 0, 0, 7],
        &[0, 1, 0, 0, 0, 0x11, 9, 8, 9],
        &[0, 1, 0, 0, 0, 0x11, 11],
        &[
            0x21, 0, 0, 0, 0x20, 0, 0, 0, 1, 0, 0, 0, 0x12, 0, 0, 0, 3, 0xaa, 0xaa, 0xaa,
        ],
        &[
            0x22, 0, 0, 0, 0x30, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x13, 0, 0, 0, 0x20, 0, 0, 0, 0,
        ],
        &[0x23, 0, 0, 0, 0x40, 0, 0, 0, 1, 0, 0, 0, 1, 5, 0, 0x61],
        &[0x2c, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    let dump = write(header, &one_of_each_kind()).expect("writing to memory cannot fail");
    assert_eq!(dump, expected.concat());
}
