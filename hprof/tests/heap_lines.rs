//! Converts a binary dump with one record of each kind into text, and compares each line.

use std::fmt::Write as _;
use std::io;

use loadhook_hprof::{
    ClassDump, Header, InstanceField, LoadClass, Root, RootKind, StackFrame, StartThread,
    StaticField, Type, Writer, text,
};

/// Writes an instance with its class, an array of objects, and an array of characters.
fn objects(out: &mut Writer<&mut Vec<u8>>, items: u64) -> io::Result<()> {
    // The object precedes its class, as in the dumps of the agent.
    out.instance(0x100, 8, &0x120_u64.to_be_bytes())?;
    out.class(&ClassDump {
        id: 8,
        loader: 0x100,
        instance_size: 8,
        statics: vec![StaticField {
            name: items,
            value_type: Type::Object,
            value: 0x120,
        }],
        fields: vec![InstanceField {
            name: items,
            value_type: Type::Object,
        }],
        ..ClassDump::default()
    })?;
    out.begin_object_array(0x120, 16, 2)?;
    out.put(&[0; 8])?;
    out.put(&0x100_u64.to_be_bytes())?;
    out.end_array()?;
    out.begin_primitive_array(0x140, Type::Char, 1)?;
    out.put(b"ab")?;
    out.end_array()
}

fn dump() -> io::Result<Vec<u8>> {
    let mut dump = Vec::new();
    let header = Header {
        id_size: 8,
        time_ms: 0,
    };
    let mut out = Writer::new(&mut dump, header)?.with_names_from(1000);
    let mut names = Vec::new();
    for name in [
        "shop/Cart",
        "[Lshop/Cart;",
        "items",
        "add",
        "main",
        "Cart.java",
    ] {
        names.push(out.name(name.as_bytes())?);
    }
    let [cart, carts, items, add, main, file] = names[..] else {
        return Err(io::Error::other("six names"));
    };
    assert_eq!(cart, 1000);
    for (serial, class, name) in [(1, 8, cart), (2, 16, carts)] {
        out.load_class(&LoadClass {
            serial,
            class,
            name,
        })?;
    }
    out.start_thread(&StartThread {
        serial: 1,
        object: 0x100,
        name: main,
        ..StartThread::default()
    })?;
    out.stack_frame(&StackFrame {
        id: 7,
        method_name: add,
        source_file: file,
        class_serial: 1,
        line: 12,
        ..StackFrame::default()
    })?;
    out.stack_trace(2, 1, &[7])?;
    for (id, kind, thread, frame) in [
        (0x100, RootKind::ThreadObject, 1, 2),
        (0x120, RootKind::JavaFrame, 1, 0),
        (8, RootKind::StickyClass, 0, u32::MAX),
    ] {
        out.root(&Root {
            id,
            kind,
            thread,
            frame,
        })?;
    }
    objects(&mut out, items)?;
    out.finish()?;
    Ok(dump)
}

#[test]
fn each_record_is_a_line() {
    let dump = dump().expect("memory can be written");
    let mut lines = String::new();
    let outcome = text::heap_lines(
        || Ok(&dump[..]),
        0x158,
        "Wed Oct  7 11:38:10 1998",
        |line| writeln!(lines, "{line}").map_err(io::Error::other),
    );
    outcome.expect("the dump is complete");
    let expected = "\
THREAD START (obj=100, id = 1, name=\"main\", group=\"\")
TRACE 1:
\t<empty>
TRACE 2: (thread=1)
\tshop.Cart.add(Cart.java:12)
HEAP DUMP BEGIN (3 objects, 88 bytes) Wed Oct  7 11:38:10 1998
ROOT 100 (kind=<thread>, id=1, trace=2)
ROOT 120 (kind=<Java stack>, thread=1, frame=0)
ROOT 8 (kind=<system class>, name=shop.Cart)
OBJ 100 (sz=32, trace=1, class=shop.Cart@8)
\titems\t\t120
CLS 8 (name=shop.Cart, trace=1)
\tloader\t\t100
\tstatic items\t120
ARR 120 (sz=32, trace=1, nelems=2, elem type=shop.Cart[]@10)
\t[1]\t\t100
ARR 140 (sz=24, trace=1, nelems=1, elem type=char[])
HEAP DUMP END
";
    assert_eq!(lines, expected);
}

#[test]
fn a_dump_that_is_cut_off_and_a_full_disk_are_errors() {
    let dump = dump().expect("memory can be written");
    let cut = text::heap_lines(|| Ok(&dump[..dump.len() - 1]), 0x158, "", |_| Ok(()));
    assert!(cut.is_err_and(|error| error.is_truncated()));
    for most in 0..17 {
        let mut left = most;
        let full = text::heap_lines(
            || Ok(&dump[..]),
            0x158,
            "",
            |_| match left {
                0 => Err(io::ErrorKind::StorageFull.into()),
                _ => {
                    left -= 1;
                    Ok(())
                }
            },
        );
        assert!(full.is_err(), "{most}");
    }
}

/// Writes a profile's records and then a dump into one file.
#[test]
fn a_dump_ends_another_file() {
    let dump = dump().expect("memory can be written");
    let mut file = Vec::new();
    for (id_size, is_right) in [(8, true), (4, false)] {
        file.clear();
        let header = Header {
            id_size,
            time_ms: 9,
        };
        let begun = Writer::new(&mut file, header).expect("memory can be written");
        let ended = begun.finish_with(&dump[..]);
        assert_eq!(ended.is_ok(), is_right, "{ended:?}");
        if is_right {
            let counts = loadhook_testkit::hprof_walk::walk(&file);
            assert_eq!((counts[&0x2c], counts[&(256 + 0x21)]), (1, 1));
        }
    }
}
