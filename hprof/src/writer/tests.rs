//! Tests of the segments and names that the writer makes.

use super::*;
use crate::record::class_dump::InstanceField;
use crate::record::root::RootKind;

const HEADER: Header = Header {
    id_size: 8,
    time_ms: 7,
};

/// Returns the bodies of a dump's segments.
fn segments(dump: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &dump[31..];
    let mut segments = Vec::new();
    while let [tag, _, _, _, _, a, b, c, d, body @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if *tag == top::HEAP_DUMP_SEGMENT {
            segments.push(body[..length].to_vec());
        }
        rest = &body[length..];
    }
    assert!(rest.is_empty());
    segments
}

/// Bytes before the elements of a byte array.
const HEAD: usize = 1 + 8 + 4 + 4 + 1;

#[test]
fn large_objects_have_segments_of_their_own() {
    let mut dump = Vec::new();
    let mut writer = Writer::new(&mut dump, HEADER).expect("writing to memory cannot fail");
    let small = Root {
        id: 7,
        kind: RootKind::StickyClass,
        thread: 0,
        frame: u32::MAX,
    };
    writer.root(&small).expect("writing to memory cannot fail");
    let bytes = [SEGMENT - HEAD, SEGMENT - HEAD + 1, 3 * SEGMENT + 5];
    for more in bytes {
        writer
            .begin_primitive_array(1, Type::Byte, more as u32)
            .expect("writing to memory cannot fail");
        for byte in 0..more {
            writer
                .put(&[byte as u8])
                .expect("writing to memory cannot fail");
        }
        writer.end_array().expect("writing to memory cannot fail");
    }
    writer
        .begin_primitive_array(1, Type::Byte, 2 * SEGMENT as u32)
        .expect("writing to memory cannot fail");
    writer
        .put(&vec![9; 2 * SEGMENT])
        .expect("writing to memory cannot fail");
    writer.end_array().expect("writing to memory cannot fail");
    writer.root(&small).expect("writing to memory cannot fail");
    writer.finish().expect("writing to memory cannot fail");
    let segments = segments(&dump);
    let lengths: Vec<usize> = segments.iter().map(Vec::len).collect();
    let large = [
        SEGMENT,
        SEGMENT + 1,
        3 * SEGMENT + 5 + HEAD,
        2 * SEGMENT + HEAD,
    ];
    assert_eq!(lengths, [&[9], &large[..], &[9]].concat());
    assert_eq!(segments[3][HEAD..][..300].last(), Some(&43));
    assert!(segments[4][HEAD..].iter().all(|byte| *byte == 9));
}

#[test]
fn no_record_is_written_into_an_array() {
    for length in [8, 2 * SEGMENT] {
        let mut dump = Vec::new();
        let mut writer = Writer::new(&mut dump, HEADER).expect("writing to memory cannot fail");
        writer
            .begin_primitive_array(1, Type::Byte, length as u32)
            .expect("writing to memory cannot fail");
        writer.text(5, b"name").expect_err("an array is open");
        writer.instance(2, 3, &[]).expect_err("an array is open");
        writer
            .put(&vec![9; length])
            .expect("writing to memory cannot fail");
        writer.end_array().expect("writing to memory cannot fail");
        writer
            .text(5, b"name")
            .expect("writing to memory cannot fail");
        writer.finish().expect("writing to memory cannot fail");
        let segments = segments(&dump);
        assert_eq!(segments.len(), 1);
        assert!(segments[0][HEAD..].iter().all(|byte| *byte == 9));
    }
}

#[test]
fn a_class_with_too_many_fields_is_refused() {
    let field = InstanceField {
        name: 1,
        value_type: Type::Int,
    };
    for (fields, is_refused) in [(65_535, false), (65_536, true)] {
        let class = ClassDump {
            fields: vec![field; fields],
            ..ClassDump::default()
        };
        let mut writer = Writer::new(io::sink(), HEADER).expect("writing to memory cannot fail");
        assert_eq!(writer.class(&class).is_err(), is_refused, "{fields}");
    }
}

/// A sink that counts the calls of `write`.
struct Calls<'c>(&'c mut usize);

impl Write for Calls<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn many_names_are_written_at_once() {
    let mut calls = 0;
    let mut writer = Writer::new(Calls(&mut calls), HEADER).expect("writing to memory cannot fail");
    for number in 0..10_000_u32 {
        writer
            .name(&number.to_be_bytes())
            .expect("writing to memory cannot fail");
    }
    writer.finish().expect("writing to memory cannot fail");
    assert!(calls < 100, "{calls}");
}

#[test]
fn names_are_written_once() {
    let mut dump = Vec::new();
    let mut writer = Writer::new(&mut dump, HEADER).expect("writing to memory cannot fail");
    let ids = [b"one", b"two", b"one"]
        .map(|name| writer.name(name).expect("writing to memory cannot fail"));
    assert_eq!(ids, [1, 2, 1]);
    writer.finish().expect("writing to memory cannot fail");
    let found = dump.windows(3).filter(|bytes| *bytes == b"one").count();
    assert_eq!(found, 1);
}
