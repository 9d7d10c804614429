//! Tests heap walks that JVM TI can report, and walks that its specification rules out.

use std::cell::Cell;

use loadhook_hprof::Header;

use super::*;
use crate::heap_dump::classes::Class;

const HEADER: Header = Header {
    id_size: ID_SIZE as u32,
    time_ms: 7,
};

const A: usize = 2;
const AS: usize = 3;
const INTS: usize = 4;

fn classes() -> Classes {
    let class = |name, kind, fields| Class::prepared(name, kind, Some(0), fields);
    Classes {
        of_classes: 1,
        all: vec![
            Class::prepared("java/lang/Object", ObjectKind::Instance, None, &[]),
            class("java/lang/Class", ObjectKind::Instance, &[]),
            class(
                "A",
                ObjectKind::Instance,
                &[("LA;", false), ("I", false), ("J", true)],
            ),
            class("[LA;", ObjectKind::ObjectArray, &[]),
            class("[I", ObjectKind::PrimitiveArray, &[]),
        ],
    }
}

/// A simulated object: its tag, which is 0 at first, and the number of its class.
struct Shown(Cell<Long>, usize);

impl Shown {
    fn new(class: usize) -> Shown {
        Shown(Cell::new(0), class)
    }

    fn tagged(&self) -> Tagged<'_> {
        Tagged {
            tag: &self.0,
            class_tag: tag_of(id_of_class(self.1)),
        }
    }
}

/// Dumps the objects that `show` reports. Returns the number of written objects, or the text of the fault.
fn shown(show: impl FnOnce(&mut dyn Visitor)) -> Result<u64, String> {
    let (classes, threads) = (classes(), Threads::default());
    let out = Writer::new(io::sink(), HEADER).expect("writing to a sink cannot fail");
    let mut dump = Dump::new(&classes, &threads, Ids::new(), out);
    show(&mut dump);
    // Ends the record of the last object, so that `written` counts it. A fault in `show` is returned by `finish` below.
    let _ = dump.end();
    let objects = dump.written;
    dump.finish().map_err(|fault| fault.to_string())?;
    Ok(objects)
}

fn refer(visitor: &mut dyn Visitor, source: Source, from: Option<&Shown>, to: &Shown) -> bool {
    let from = from.map(Shown::tagged);
    visitor.reference(source, from, to.tagged(), 24, Some(3))
}

#[test]
fn each_object_is_written_once() {
    let [a, b, array, ints] = [A, A, AS, INTS].map(Shown::new);
    let written = shown(|visitor| {
        assert!(refer(visitor, Source::JniGlobal, None, &array));
        assert!(refer(visitor, Source::Element(0), Some(&array), &a));
        assert!(refer(visitor, Source::Element(2), Some(&array), &ints));
        // The object refers to itself.
        assert!(refer(visitor, Source::Field(0), Some(&a), &a));
        assert!(visitor.primitive_field(b'I', 1, a.tagged(), 7));
        assert!(visitor.primitive_array(b'I', ints.tagged(), 2, &[0; 8]));
        assert!(refer(visitor, Source::Monitor, None, &b));
        assert!(visitor.primitive_field(b'I', 1, b.tagged(), 8));
    });
    assert_eq!(written, Ok(4));
}

/// Walks that break the specification of JVM TI fail, because a missing dump is better than a wrong one.
#[test]
fn walks_against_the_specification_fail() {
    type Show = fn(&mut dyn Visitor, [&Shown; 3]) -> bool;
    let cases: &[(&str, Show)] = &[
        ("an object twice", |visitor, [a, b, _]| {
            refer(visitor, Source::Field(0), Some(a), b)
                && visitor.primitive_field(b'I', 1, b.tagged(), 1)
                && visitor.primitive_field(b'I', 1, a.tagged(), 1)
        }),
        ("but not their content", |visitor, [a, b, _]| {
            !refer(visitor, Source::Field(0), Some(a), b)
        }),
        ("elements out of order", |visitor, [a, _, array]| {
            refer(visitor, Source::Element(1), Some(array), a)
                && refer(visitor, Source::Element(1), Some(array), a)
        }),
        (
            "a field that the class does not have",
            |visitor, [a, ..]| visitor.primitive_field(b'I', 3, a.tagged(), 1),
        ),
        (
            "a field that the class does not have",
            |visitor, [a, ..]| visitor.primitive_field(b'J', 1, a.tagged(), 1),
        ),
        (
            "a field that the class does not have",
            |visitor, [a, ..]| visitor.primitive_field(b'J', 2, a.tagged(), 1),
        ),
        (
            "a field that the class does not have",
            |visitor, [a, b, _]| refer(visitor, Source::Field(1), Some(a), b),
        ),
        (
            "elements of an object that is not an array",
            |visitor, [a, ..]| visitor.primitive_array(b'I', a.tagged(), 0, &[]),
        ),
        ("a reference of an unknown kind", |visitor, [a, b, _]| {
            refer(visitor, Source::Element(0), Some(a), b)
        }),
        ("loaded or unloaded classes", |visitor, _| {
            refer(visitor, Source::JniGlobal, None, &Shown::new(99))
        }),
    ];
    for (expected, show) in cases {
        let [a, b, array] = [A, A, AS].map(Shown::new);
        let outcome = shown(|visitor| {
            for object in [&a, &array] {
                assert!(refer(visitor, Source::JniGlobal, None, object));
            }
            assert!(!show(visitor, [&a, &b, &array]), "{expected}");
        });
        let fault = outcome.expect_err(expected);
        assert!(fault.contains(expected), "{fault}");
    }
}

/// Compares the bytes of a dump, record by record, so that the test notices every change of the writer.
#[test]
fn records_are_those_of_the_format() {
    let (classes, threads) = (classes(), Threads::default());
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes, HEADER).expect("writing to memory cannot fail");
    assert_eq!(out.name(b"f").expect("writing to memory cannot fail"), 1);
    let mut dump = Dump::new(&classes, &threads, Ids::new(), out);
    let [a, array, ints] = [A, AS, INTS].map(Shown::new);
    assert!(refer(&mut dump, Source::JniGlobal, None, &array));
    assert!(refer(&mut dump, Source::Element(1), Some(&array), &a));
    assert!(refer(&mut dump, Source::Field(0), Some(&a), &a));
    assert!(dump.primitive_field(b'I', 1, a.tagged(), 7));
    assert!(refer(&mut dump, Source::Monitor, None, &ints));
    assert!(dump.primitive_array(b'I', ints.tagged(), 1, &9_i32.to_ne_bytes()));
    assert!(refer(&mut dump, Source::SystemClass, None, &a));
    dump.finish().expect("writing to memory cannot fail");

    let id = |object: &Shown| id_in(object.0.get()).to_be_bytes().to_vec();
    let class = |number: usize| id_of_class(number).to_be_bytes().to_vec();
    let u4 = |number: u32| number.to_be_bytes().to_vec();
    let zeros = |count: usize| vec![0; count];
    let class_dump = |number: usize, superclass: Vec<u8>, size: u32, fields: &[&[u8]]| {
        let head = [vec![0x20], class(number), u4(1), superclass, zeros(5 * 8)];
        // No constants.
        [head.concat(), u4(size), zeros(2), fields.concat()].concat()
    };
    let name: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 1];
    let no_fields: &[&[u8]] = &[&[0, 0], &[0, 0]];
    let fields: &[&[u8]] = &[
        &[0, 1],
        name,
        &[11],
        &[0; 8],
        &[0, 2],
        name,
        &[2],
        name,
        &[10],
    ];
    let heap = [
        [vec![0x01], id(&array), zeros(8)].concat(),
        [
            vec![0x22],
            id(&array),
            u4(1),
            u4(3),
            class(AS),
            zeros(8),
            id(&a),
            zeros(8),
        ]
        .concat(),
        [vec![0x21], id(&a), u4(1), class(A), u4(12), id(&a), u4(7)].concat(),
        [vec![0x07], id(&ints)].concat(),
        [vec![0x23], id(&ints), u4(1), u4(1), vec![10], u4(9)].concat(),
        [vec![0x05], id(&a)].concat(),
        class_dump(0, zeros(8), 0, no_fields),
        class_dump(1, class(0), 0, no_fields),
        class_dump(A, class(0), 12, fields),
        class_dump(AS, class(0), 0, no_fields),
        class_dump(INTS, class(0), 0, no_fields),
    ]
    .concat();
    let expected = [
        b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\x07".to_vec(),
        [vec![5, 0, 0, 0, 0], u4(12), u4(1), zeros(8)].concat(),
        [vec![1, 0, 0, 0, 0], u4(9), name.to_vec(), b"f".to_vec()].concat(),
        [vec![0x1c, 0, 0, 0, 0], u4(heap.len() as u32), heap].concat(),
        [vec![0x2c, 0, 0, 0, 0], u4(0)].concat(),
    ]
    .concat();
    assert_eq!(bytes, expected);
}
