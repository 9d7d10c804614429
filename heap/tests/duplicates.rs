//! Tests of equal strings and arrays, in dumps whose duplicates are known. Where sizes in bytes are
//! tested, arrays lie far apart, because the reader infers the size of array headers from the
//! distances between arrays.

use loadhook_heap::{Duplicate, Duplicates, ErrorKind, ProfilerObjects, Waste};
use loadhook_testkit::dump::{CHAR, INT, OBJECT, Writer};

fn duplicates(dump: &[u8]) -> Duplicates {
    let (found, cut_off) = Duplicates::read(|| Ok(dump), 100, u64::MAX, ProfilerObjects::Shown)
        .expect("the dump is readable");
    assert!(cut_off.is_none(), "{cut_off:?}");
    found
}

/// Returns the rows of the result: class, number of objects, bytes of one object, wasted bytes, and
/// preview.
fn rows<'a>(found: &'a Duplicates) -> Vec<(&'a str, u64, u64, u64, &'a str)> {
    let row = |row: &'a Duplicate| {
        let text = &*row.preview.text;
        (&*row.class, row.count, row.bytes, row.wasted, text)
    };
    found.worst.iter().map(row).collect()
}

#[test]
fn an_array_that_strings_share_counts_once() {
    let mut writer = Writer::new();
    writer.strings();
    // Three strings "hello" of 24 bytes each. Two of them share an array; each array has 24 bytes.
    writer.string(0x1000, 0x2000, 0);
    writer.string(0x1020, 0x2000, 0);
    writer.string(0x1040, 0x2100, 0);
    writer.bytes(0x2000, b"hello");
    writer.bytes(0x2100, b"hello");
    // Arrays that belong to no string: two have the same bytes, one is longer, and one has another
    // type.
    writer.bytes(0x2200, b"hello");
    writer.bytes(0x2300, b"hello");
    writer.bytes(0x2400, b"hello\0");
    writer.primitive_array(0x2500, 4, 5, b"hello");
    // A string without a duplicate.
    writer.string(0x1060, 0x2600, 0);
    writer.bytes(0x2600, b"alone");
    // The array of the first string is missing in the dump; the second string has no array.
    writer.string(0x1080, 0x9999, 0);
    writer.string(0x10a0, 0, 0);
    let found = duplicates(&writer.finish());
    let expected = [
        ("java.lang.String", 3, 48, 2 * 24 + 24, "hello"),
        ("byte[]", 2, 24, 24, "104, 101, 108, 108, 111"),
    ];
    assert_eq!(rows(&found), expected);
    let waste = |values, objects, bytes| Waste {
        values,
        objects,
        bytes,
    };
    assert_eq!(found.strings, waste(1, 3, 72));
    assert_eq!(found.arrays, waste(1, 2, 24));
    assert_eq!(
        (found.partial_strings, found.histogram.instances()),
        (0, 13)
    );
    let strings = &found.worst[0];
    assert!(strings.is_string);
    assert_eq!(strings.array, 0x2000);
}

#[test]
fn bytes_are_characters_as_the_coder_says() {
    let mut writer = Writer::new();
    writer.strings();
    let wide: Vec<u8> = "é注".encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The same bytes are one string if they are UTF-16, and another one if they are Latin-1.
    for (at, coder) in [(0, 1), (1, 1), (2, 0), (3, 0), (4, 0)] {
        writer.string(0x1000 + 32 * at, 0x2000 + 32 * at, coder);
        writer.bytes(0x2000 + 32 * at, &wide);
    }
    let found = duplicates(&writer.finish());
    let expected = [
        ("java.lang.String", 3, 48, 96, "\u{e9}\0\u{e8}\u{6c}"),
        ("java.lang.String", 2, 48, 48, "é注"),
    ];
    assert_eq!(rows(&found), expected);
    let lengths: Vec<u32> = found.worst.iter().map(|row| row.preview.length).collect();
    assert_eq!(lengths, [4, 2]);
}

#[test]
fn long_contents_are_cut_and_compared_to_the_end() {
    let mut writer = Writer::new();
    writer.strings();
    // The byte arrays are larger than the reader's buffer. The preview of the characters would end
    // in the middle of a surrogate pair.
    let mut long = vec![b'x'; 2_500_000];
    for at in 0..4 {
        writer.string(0x1000 + 32 * at, 0x10_0000 * (at + 1), 0);
    }
    for at in 0..3 {
        writer.bytes(0x10_0000 * (at + 1), &long);
    }
    *long.last_mut().expect("the vector is not empty") = b'y';
    writer.bytes(0x40_0000, &long);
    let pairs: Vec<u8> = "a😀".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let pairs = [&pairs[..2], &pairs[2..].repeat(200)].concat();
    for at in [0x50_0000, 0x60_0000] {
        writer.primitive_array(at, CHAR, 401, &pairs);
    }
    let found = duplicates(&writer.finish());
    let [strings, characters] = &found.worst[..] else {
        panic!("{:?}", found.worst);
    };
    assert_eq!((strings.count, strings.wasted), (3, 2 * (24 + 2_500_016)));
    assert_eq!(strings.preview.length, 2_500_000);
    assert_eq!(strings.preview.text, "x".repeat(512));
    assert!(strings.preview.is_cut);
    assert_eq!(characters.preview.length, 401);
    assert_eq!(characters.preview.text, format!("a{}", "😀".repeat(127)));
}

#[test]
fn arrays_of_all_types_are_compared() {
    let mut writer = Writer::new();
    for at in 0..2 {
        let id = |kind: u64| 0x1000 + 0x100 * kind + 64 * at;
        writer.object_array(id(0), &[0x1000, 0, 0x1000]);
        writer.object_array(id(1), &[]);
        writer.primitive_array(id(2), INT, 2, &[0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 7]);
        writer.primitive_array(id(3), 4, 2, &[1, 0]);
        writer.primitive_array(id(4), 7, 1, &1.5_f64.to_be_bytes());
        writer.primitive_array(id(5), 6, 1, &(-2.5_f32).to_be_bytes());
        writer.primitive_array(id(6), 9, 1, &(-3_i16).to_be_bytes());
        writer.primitive_array(id(7), 11, 1, &i64::MIN.to_be_bytes());
    }
    let found = duplicates(&writer.finish());
    let mut shown: Vec<String> = found
        .worst
        .iter()
        .map(|row| format!("{} {}", row.class, row.preview.text))
        .collect();
    shown.sort();
    let expected = [
        "boolean[] true, false",
        "double[] 1.5",
        "float[] -2.5",
        "int[] -2, 7",
        "java.lang.Object[] ",
        "java.lang.Object[] 0x1000, null, 0x1000",
        "long[] -9223372036854775808",
        "short[] -3",
    ];
    assert_eq!(shown, expected);
    assert_eq!(found.arrays.objects, 16);
}

/// Dumps with strings as JDK 8 lays them out, and as JDK 6 does, where strings share arrays.
#[test]
fn strings_of_old_vms_have_arrays_of_characters() {
    let mut writer = Writer::new();
    for (id, name) in [
        (30, "value"),
        (31, "offset"),
        (32, "count"),
        (33, "java/lang/String"),
    ] {
        writer.text(id, name);
    }
    writer.load_class(30, 0x130, 33);
    writer.class(0x130, 0, &[(30, OBJECT), (31, INT), (32, INT)], &[]);
    let mut string = |id: u64, array: u64, part: [u32; 2]| {
        let fields = [
            &array.to_be_bytes()[..],
            &part.map(u32::to_be_bytes).concat(),
        ]
        .concat();
        writer.instance(id, 0x130, &fields);
    };
    string(0x1000, 0x2000, [0, 3]);
    string(0x1020, 0x2100, [0, 3]);
    string(0x1040, 0x2000, [1, 2]);
    string(0x1060, 0x2000, [0, 2]);
    for at in [0x2000, 0x2100] {
        writer.primitive_array(at, CHAR, 3, &[0, b'a', 0, b'b', 0, b'c']);
    }
    let found = duplicates(&writer.finish());
    // A string has a header of 12 bytes and three fields of 4 bytes: 24 bytes. The array has a
    // header of 16 bytes and 6 bytes of characters, which is rounded up to 24, too.
    assert_eq!(rows(&found), [("java.lang.String", 2, 48, 48, "abc")]);
    assert_eq!(found.partial_strings, 2);
}

fn many() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    for at in 0..100 {
        writer.string(0x1000 + 32 * at, 0x10_0000 + 64 * at, 0);
        let text = format!("number {}", at % 10);
        writer.bytes(0x10_0000 + 64 * at, text.as_bytes());
    }
    writer.finish()
}

#[test]
fn only_the_worst_are_listed_but_all_are_counted() {
    let dump = many();
    let (found, _) = Duplicates::read(|| Ok(&dump[..]), 3, u64::MAX, ProfilerObjects::Shown)
        .expect("the dump is readable");
    // All values waste the same number of bytes, so they are sorted by address.
    let texts: Vec<&str> = found.worst.iter().map(|row| &*row.preview.text).collect();
    assert_eq!(texts, ["number 0", "number 1", "number 2"]);
    assert_eq!((found.strings.values, found.strings.objects), (10, 100));
    let (none, _) = Duplicates::read(|| Ok(&dump[..]), 0, u64::MAX, ProfilerObjects::Shown)
        .expect("the dump is readable");
    assert_eq!(none.worst, []);
    assert_eq!(none.strings, found.strings);
}

#[test]
fn memory_has_its_limit() {
    let dump = many();
    let needed = 100 * (40 + 8);
    assert!(Duplicates::read(|| Ok(&dump[..]), 3, needed, ProfilerObjects::Shown).is_ok());
    let error = Duplicates::read(|| Ok(&dump[..]), 3, needed - 1, ProfilerObjects::Shown)
        .expect_err("one byte is missing");
    assert!(matches!(error.kind, ErrorKind::TooMany { .. }), "{error}");
}

#[test]
fn the_part_before_a_cut_is_compared() {
    let dump = many();
    let mut most = 0;
    for length in (31..dump.len()).step_by(7) {
        let (found, cut_off) = Duplicates::read(
            || Ok(&dump[..length]),
            100,
            u64::MAX,
            ProfilerObjects::Shown,
        )
        .expect("the dump is readable");
        assert!(cut_off.is_some(), "{length}");
        assert!(found.strings.objects >= most, "{length}");
        most = found.strings.objects;
    }
    assert!(most > 90, "{most}");
}
