//! Tests the text of a class with one of each construct, and of broken classes.

use super::*;
use crate::Bci;

/// Appends big-endian values: `bytes!(out, u2: 1, raw: b"Code")`.
macro_rules! bytes {
    ($($kind:ident: $value:expr),* $(,)?) => {{
        let mut out: Vec<u8> = Vec::new();
        $(bytes!(@ out, $kind, $value);)*
        out
    }};
    (@ $out:ident, u1, $value:expr) => { $out.push($value) };
    (@ $out:ident, u2, $value:expr) => { $out.extend(u16::to_be_bytes($value)) };
    (@ $out:ident, u4, $value:expr) => { $out.extend(u32::to_be_bytes($value)) };
    (@ $out:ident, raw, $value:expr) => { $out.extend($value) };
}

const NAMES: [&str; 18] = [
    "C",
    "java/lang/Object",
    "m",
    "(I)V",
    "Code",
    "StackMapTable",
    "LineNumberTable",
    "LocalVariableTable",
    "RuntimeVisibleTypeAnnotations",
    "Odd",
    "StackMap",
    "LA;",
    "text",
    "RuntimeVisibleAnnotations",
    "BootstrapMethods",
    "Record",
    "I",
    "Signature",
];

/// Returns the index of the constant with this name. The names are the first constants of the pool.
fn n(name: &str) -> u16 {
    NAMES
        .iter()
        .position(|&other| other == name)
        .map_or(0, |at| at as u16 + 1)
}

/// The constants after the names, by index.
const THIS: u16 = 19;
const SUPER: u16 = 20;
const STRING: u16 = 21;
const NAN: u16 = 22;
const LONG: u16 = 23;
const METHOD: u16 = 25;
const TYPE: u16 = 26;
const HANDLE: u16 = 27;
const CALL_SITE: u16 = 28;
const POOL_COUNT: u16 = 29;

fn pool() -> Vec<u8> {
    let mut pool = bytes!(u2: POOL_COUNT);
    for name in NAMES {
        pool.extend(bytes!(u1: 1, u2: name.len() as u16, raw: name.as_bytes()));
    }
    pool.extend(bytes!(
        u1: 7, u2: n("C"),
        u1: 7, u2: n("java/lang/Object"),
        u1: 8, u2: n("text"),
        u1: 4, u4: 0x7fc0_0001,
        u1: 5, u4: 0xffff_ffff, u4: 0xffff_fffe,
        u1: 10, u2: THIS, u2: TYPE,
        u1: 12, u2: n("m"), u2: n("(I)V"),
        u1: 15, u1: 6, u2: METHOD,
        u1: 18, u2: 0, u2: TYPE,
    ));
    pool
}

fn attribute(name: &str, info: Vec<u8>) -> Vec<u8> {
    bytes!(u2: n(name), u4: info.len() as u32, raw: info)
}

/// Returns a class with one field and one method, which has `code` and its tables.
fn class_of(code: &[u8], code_attributes: &[Vec<u8>]) -> Vec<u8> {
    let handlers = bytes!(u2: 1, u2: 0, u2: 1, u2: 2, u2: SUPER);
    let code = bytes!(
        u2: 1, u2: 300, u4: code.len() as u32, raw: code.to_vec(), raw: handlers,
        u2: code_attributes.len() as u16, raw: code_attributes.concat(),
    );
    let annotations = bytes!(
        u2: 1, u2: n("LA;"), u2: 2,
        u2: n("m"), u1: b'[', u2: 2, u1: b's', u2: n("text"), u1: b'c', u2: n("I"),
        u2: n("text"), u1: b'@', u2: n("LA;"), u2: 0,
    );
    let bootstrap_methods = bytes!(u2: 1, u2: HANDLE, u2: 1, u2: STRING);
    let component = attribute("Signature", bytes!(u2: n("I")));
    let record = bytes!(u2: 1, u2: n("m"), u2: n("I"), u2: 1, raw: component);
    bytes!(
        u4: 0xCAFE_BABE, u2: 0, u2: 61, raw: pool(), u2: 0x0421, u2: THIS, u2: SUPER, u2: 0,
        u2: 1, u2: 0x0009, u2: n("m"), u2: n("I"), u2: 0,
        u2: 1, u2: 0x0008, u2: n("m"), u2: n("(I)V"), u2: 1, raw: attribute("Code", code),
        u2: 4,
        raw: attribute("RuntimeVisibleAnnotations", annotations),
        raw: attribute("BootstrapMethods", bootstrap_methods),
        raw: attribute("Record", record),
        raw: attribute("Odd", vec![0xab; 66]),
    )
}

/// Returns a class with one of each construct.
fn class() -> Vec<u8> {
    let code = bytes!(
        raw: [0xa7, 0, 3], // 0: goto 3
        u1: 0x12, u1: STRING as u8, // 3: ldc
        u1: 0x13, u2: NAN, // 5: ldc_w
        u1: 0x14, u2: LONG, // 8: ldc2_w
        raw: [0xc4, 0x84, 1, 4, 0xff, 0xfe], // 11: wide iinc 260 -2
        raw: [0x10, 0x80], // 17: bipush -128
        raw: [0xaa], u4: 13, u4: 0xffff_ffff, u4: 0, u4: 1, u4: 0xffff_ffed, // 19
        raw: [0xbc, 10], // 40: newarray int
        u1: 0xba, u2: CALL_SITE, u2: 0, // 42: invokedynamic
        raw: [0xb1], // 47: return
    );
    // The text shows frames even if they do not fit the code.
    let frames = bytes!(
        u2: 7, u1: 3, u1: 64, u1: 1, u1: 247, u2: 5, u1: 8, u2: 0, u1: 249, u2: 0,
        u1: 251, u2: 0, u1: 253, u2: 0, u1: 4, u1: 0,
        u1: 255, u2: 0, u2: 2, u1: 6, u1: 7, u2: THIS, u2: 1, u1: 5,
    );
    let types = bytes!(
        u2: 2,
        u1: 0x40, u2: 1, u2: 3, u2: 2, u2: 7, u1: 1, u1: 3, u1: 1, u2: n("LA;"), u2: 0,
        u1: 0x47, u2: 3, u1: 1, u1: 0, u2: n("LA;"), u2: 0,
    );
    class_of(
        &code,
        &[
            attribute("LineNumberTable", bytes!(u2: 1, u2: 3, u2: 42)),
            attribute(
                "LocalVariableTable",
                bytes!(u2: 1, u2: 3, u2: 44, u2: n("text"), u2: n("I"), u2: 0),
            ),
            attribute("StackMapTable", frames),
            attribute("StackMap", bytes!(u2: 1, u2: 9, u2: 0, u2: 1, u1: 1)),
            attribute("RuntimeVisibleTypeAnnotations", types),
            attribute("Odd", vec![1, 2, 3]),
        ],
    )
}

fn text(class: &[u8], method: Option<&str>) -> String {
    let mut out = String::new();
    if let Ok(class) = ClassFile::parse(class) {
        let printed = print(&class, method, &mut out);
        assert_eq!(printed, Ok(()));
        let lines = comparable(&class, method);
        for line in &lines {
            for (range, value) in &line.offsets {
                assert_eq!(line.text.get(range.clone()), Some(&*value.to_string()));
            }
        }
    }
    out
}

/// The text of [`class`] after the constants that are names.
const AFTER_THE_NAMES: &str = "  \
  #19 = Class              #1           // C
  #20 = Class              #2           // java/lang/Object
  #21 = String             #13          // \"text\"
  #22 = Float              NaN 0x7fc00001
  #23 = Long               -2
  #25 = Methodref          #19.#26      // C.m:(I)V
  #26 = NameAndType        #3:#4        // m:(I)V
  #27 = MethodHandle       6:#25        // REF_invokeStatic C.m:(I)V
  #28 = InvokeDynamic      0:#26        // bootstrap 0 m:(I)V

fields (1)
  field m I
    access_flags 0x0009 ACC_PUBLIC ACC_STATIC

methods (1)
  method m(I)V
    access_flags 0x0008 ACC_STATIC
    Code
      max_stack 1, max_locals 300
      code_length 48
          0: goto 3
          3: ldc #21  // String \"text\"
          5: ldc_w #22  // Float NaN 0x7fc00001
          8: ldc2_w #23  // Long -2
         11: wide iinc 260 -2
         17: bipush -128
         19: tableswitch -1 to 0
                -1: 20
                 0: 0
           default: 32
         40: newarray int
         42: invokedynamic #28  // InvokeDynamic bootstrap 0 m:(I)V
         47: return
      exception_table (1)
        0..1 handler 2 #20 java/lang/Object
      LineNumberTable
        3: line 42
      LocalVariableTable
        3..47 local 0 #13 text #17 I
      StackMapTable
        3: same_frame
        4: same_locals_1_stack_item_frame stack [int]
        10: same_locals_1_stack_item_frame_extended stack [uninitialized 0]
        11: chop_frame 2
        12: same_frame_extended
        13: append_frame locals [long, top]
        14: full_frame locals [uninitializedThis, #19 C] stack [null]
      StackMap
        9: full_frame locals [] stack [int]
      RuntimeVisibleTypeAnnotations
        0x40 local variable 3..5 local 7 path argument 1 @LA;
        0x47 cast at 3 argument 1 @LA;
      Odd (3 bytes)
        010203

attributes (4)
  RuntimeVisibleAnnotations
    @LA;(m = {\"text\", class I}, text = @LA;)
  BootstrapMethods (1)
    0: #27 REF_invokeStatic C.m:(I)V
      #21  // String \"text\"
  Record (1)
    #3 m #17 I
      Signature #17 I
  Odd (66 bytes)
    abababab abababab abababab abababab abababab abababab abababab abababab
    abababab abababab abababab abababab abababab abababab abababab abababab
    … 2 more, FNV-1a of all f8d5ba42e5952f93
";

#[test]
fn one_of_everything() {
    let expected = "\
class file version 61.0
access_flags 0x0421 ACC_PUBLIC ACC_SUPER ACC_ABSTRACT
this_class #19 C
super_class #20 java/lang/Object
interfaces (0)

constant_pool_count 29
   #1 = Utf8               C
";
    let text = text(&class(), None);
    assert!(text.starts_with(expected), "{text}");
    let at = text.find("  #19").unwrap_or(0);
    assert_eq!(&text[at..], AFTER_THE_NAMES, "{text}");
}

#[test]
fn unreadable_parts_are_lines_and_the_rest_goes_on() {
    let code = [0x03, 0xcb, 0x00];
    let frames = attribute("StackMapTable", bytes!(u2: 2, u1: 0, u1: 200));
    let lines = attribute("LineNumberTable", bytes!(u2: 1, u2: 0, u2: 7));
    let text = text(&class_of(&code, &[frames, lines]), Some("m"));
    for expected in [
        "\n        0: iconst_0\n    error: bad opcode 0xcb at 0x145 (method 0)\n    cb00\n",
        "\n      0: same_frame\n      error: reserved frame type 200 at 0x15",
        "\n    LineNumberTable\n      0: line 7\n",
    ] {
        assert!(text.contains(expected), "`{expected}` expected in {text}");
    }
}

#[test]
fn methods_are_named_with_or_without_descriptor() {
    let class = class();
    assert!(text(&class, Some("m")).starts_with("method m(I)V\n"));
    assert!(text(&class, Some("m(I)V")).starts_with("method m(I)V\n"));
    assert_eq!(text(&class, Some("m(J)V")), "");
    assert_eq!(text(&class, Some("")), "");
}

#[test]
fn comparable_text_has_no_indexes() {
    let bytes = class();
    let class = ClassFile::parse(&bytes).map(|class| comparable(&class, None));
    let lines = class.unwrap_or_default();
    assert!(!lines.is_empty());
    assert!(!lines.iter().any(|line| line.text.contains('#')));
    let jump = lines
        .iter()
        .find(|line| line.instruction == Some(Bci::START));
    let jump = jump.map(|line| (&*line.text, line.code, line.offsets.len()));
    assert_eq!(jump, Some(("          0: goto 3", 1, 2)));
}

#[test]
fn no_bytes_make_it_panic() {
    let class = class();
    assert_ne!(text(&class, None), "");
    for end in 0..class.len() {
        assert_eq!(text(&class[..end], None), "");
    }
    let mut printed = 0;
    let mut broken = class.clone();
    for at in 0..class.len() {
        for byte in [
            0,
            1,
            2,
            0x10,
            0x7f,
            0x80,
            0xff,
            class[at] ^ 1,
            class[at].wrapping_add(1),
        ] {
            broken[at] = byte;
            printed += usize::from(!text(&broken, None).is_empty());
        }
        broken[at] = class[at];
    }
    assert!(printed > class.len());
}
