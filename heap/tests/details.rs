//! Tests of objects' fields, of references to objects, and of paths to the roots.

use loadhook_heap::{Details, FieldValue, Graph, Preview, Type};
use loadhook_testkit::dump::{BYTE, CHAR, INT, LONG, OBJECT, Writer};

const PARENT: u64 = 0x200;
const CHILD: u64 = 0x210;
const MOST: usize = 4;

/// Returns a dump with an object whose fields are declared by its class and its superclass, an
/// array with null elements, and a string.
fn dump() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    let names = [
        "parent", "Parent", "small", "letter", "long", "Child", "shared", "double",
    ];
    for (id, name) in (50..).zip(names) {
        writer.text(id, name);
    }
    writer.load_class(50, PARENT, 51);
    writer.load_class(51, CHILD, 55);
    writer.class(PARENT, 0, &[(50, OBJECT), (57, 7)], &[]);
    let own = [(52, BYTE), (53, CHAR), (54, LONG), (3, INT), (1, OBJECT)];
    writer.class(CHILD, PARENT, &own, &[(56, 0x2000), (2, 0)]);
    writer.root(0x05, CHILD, &[]);
    let fields = [
        &[0xff][..],
        &(b'x' as u16).to_be_bytes(),
        &(-5_i64).to_be_bytes(),
        &7_u32.to_be_bytes(),
        &0x9999_u64.to_be_bytes(),
        &0x3000_u64.to_be_bytes(),
        &2.5_f64.to_be_bytes(),
    ];
    writer.instance(0x1000, CHILD, &fields.concat());
    writer.object_array(0x2000, &[0, 0x3000, 0, 0x1000, 0x3000, 0x3000, 0x1000]);
    writer.string(0x3000, 0x3100, 0);
    writer.bytes(0x3100, b"text");
    // This object is unreachable.
    writer.pair(0x4000, 0x3000, 0);
    writer.finish()
}

fn read(dump: &[u8], objects: &[u64], pairs: &[(u64, u64)]) -> (Graph, Details) {
    let (graph, _) = Graph::read(|| Ok(dump), u64::MAX).expect("the dump is readable");
    let number = |id: u64| graph.object(id).expect("the object is in the dump");
    let objects: Vec<u32> = objects.iter().map(|id| number(*id)).collect();
    let pairs = pairs.iter().map(|(from, to)| (number(*from), number(*to)));
    let pairs: Vec<(u32, u32)> = pairs.collect();
    let details = graph.details(dump, &objects, MOST, &pairs);
    let details = details.expect("the graph is of this dump");
    (graph, details)
}

/// Returns the first fields of an object as texts `name type value`, and the number of all its
/// fields.
fn fields(graph: &Graph, details: &Details, id: u64) -> (Vec<String>, u64) {
    let object = graph.object(id).expect("the object is in the dump");
    let fields = &details.fields[&object];
    let field = |field: &loadhook_heap::Field| {
        let value = match &field.value {
            FieldValue::Null => "null".to_owned(),
            FieldValue::Object(to) => format!("{:#x}", graph.id(*to)),
            FieldValue::Absent(id) => format!("absent {id:#x}"),
            FieldValue::Number(text) => text.clone(),
        };
        let of = if field.value_type == Type::Object {
            "→".to_owned()
        } else {
            field.value_type.to_string()
        };
        format!("{} {of} {value}", field.name)
    };
    (fields.first.iter().map(field).collect(), fields.count)
}

#[test]
fn fields_have_names_types_and_values() {
    let dump = dump();
    let (graph, details) = read(&dump, &[0x1000, 0x2000, 0x3000, 0x3100, CHILD], &[]);
    let expected = [
        "small byte -1",
        "letter char 'x'",
        "long long -5",
        "number int 7",
    ];
    assert_eq!(
        fields(&graph, &details, 0x1000),
        (expected.map(str::to_owned).to_vec(), 7)
    );
    let expected = [
        "[1] → 0x3000",
        "[3] → 0x1000",
        "[4] → 0x3000",
        "[5] → 0x3000",
    ];
    assert_eq!(
        fields(&graph, &details, 0x2000),
        (expected.map(str::to_owned).to_vec(), 5)
    );
    let expected = ["shared → 0x2000", "right → null"];
    assert_eq!(
        fields(&graph, &details, CHILD),
        (expected.map(str::to_owned).to_vec(), 2)
    );
    let [string, array] =
        [0x3000, 0x3100].map(|id| graph.object(id).expect("the object is in the dump"));
    let contents = |text: &str| Preview {
        text: text.to_owned(),
        length: 4,
        is_cut: false,
    };
    assert_eq!(details.previews[&string], contents("text"));
    assert_eq!(details.previews[&array], contents("116, 101, 120, 116"));
}

#[test]
fn referrers_and_links_are_found() {
    let dump = dump();
    let pairs = [
        (0x1000, 0x3000),
        (0x2000, 0x3000),
        (0x2000, 0x1000),
        (CHILD, 0x2000),
    ];
    let (graph, details) = read(&dump, &[], &pairs);
    let number = |id: u64| graph.object(id).expect("the object is in the dump");
    let links =
        pairs.map(|(from, to)| details.reference_names[&(number(from), number(to))].as_str());
    assert_eq!(links, ["parent", "[1]", "[3]", "shared"]);
    let found = graph.referrers(&[number(0x3000), number(0x1000)], 1);
    // The array refers to the string three times, but is listed once.
    assert_eq!(
        found,
        [(vec![number(0x1000)], 3), (vec![number(0x2000)], 1)]
    );

    let paths = graph.shortest_paths().expect("shortest paths are computed");
    let path = std::iter::successors(Some(number(0x3100)), |object| paths.previous(*object));
    let path: Vec<u64> = path.map(|object| graph.id(object)).collect();
    assert_eq!(path, [0x3100, 0x3000, 0x2000, CHILD]);
    assert_eq!(paths.root(number(0x3100)), Some(number(CHILD)));
    assert_eq!(paths.root(number(0x4000)), None);
}
