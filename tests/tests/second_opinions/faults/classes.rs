//! Makes the class files that show the known faults of other parsers.

use loadhook_testclasses::mutate::class::{Attribute, Class, Code, Constant, Info, Member};

fn constant(class: &mut Class, tag: u8, bytes: &[u8]) -> u16 {
    let known = class
        .pool
        .iter()
        .position(|it| it.tag == tag && it.bytes == bytes);
    known.unwrap_or_else(|| {
        class.pool.push(Constant {
            tag,
            bytes: bytes.to_vec(),
        });
        class.pool.len() - 1
    }) as u16
}

fn big_endian(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|it| it.to_be_bytes()).collect()
}

fn indexes(class: &mut Class, tag: u8, indexes: &[u16]) -> u16 {
    constant(class, tag, &big_endian(indexes))
}

fn utf8(class: &mut Class, text: &[u8]) -> u16 {
    let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
    bytes.extend_from_slice(text);
    constant(class, 1, &bytes)
}

/// Adds a `CONSTANT_Class`, or another constant that consists of a name. Returns the index of the
/// constant.
fn named(class: &mut Class, tag: u8, name: &str) -> u16 {
    let name = utf8(class, name.as_bytes());
    indexes(class, tag, &[name])
}

fn name_and_type(class: &mut Class, name: &str, descriptor: &str) -> u16 {
    let (name, descriptor) = (
        utf8(class, name.as_bytes()),
        utf8(class, descriptor.as_bytes()),
    );
    indexes(class, 12, &[name, descriptor])
}

fn attribute(class: &mut Class, name: &str, info: &[u8]) -> Attribute {
    Attribute {
        name: utf8(class, name.as_bytes()),
        info: Info::Bytes(info.to_vec()),
    }
}

fn empty(name: &str, major: u16) -> Class {
    let mut class = Class {
        minor: 0,
        major,
        pool: vec![Constant {
            tag: 0,
            bytes: Vec::new(),
        }],
        access: 0x0421,
        this_class: 0,
        super_class: 0,
        interfaces: Vec::new(),
        fields: Vec::new(),
        methods: Vec::new(),
        attributes: Vec::new(),
    };
    class.this_class = named(&mut class, 7, name);
    class.super_class = named(&mut class, 7, "java/lang/Object");
    class
}

fn member(
    class: &mut Class,
    access: u16,
    name: &[u8],
    descriptor: &str,
    attributes: Vec<Attribute>,
) -> Member {
    Member {
        access,
        name: utf8(class, name),
        descriptor: utf8(class, descriptor.as_bytes()),
        attributes,
    }
}

/// Returns a class with the method `static void code()`, which has this code.
fn with_code(name: &str, bytes: &[u8], frames: Option<&[u8]>) -> Vec<u8> {
    let mut class = empty(name, 52);
    let attributes = frames
        .map(|it| attribute(&mut class, "StackMapTable", it))
        .into_iter()
        .collect();
    let code = Code {
        max_stack: 1,
        max_locals: 0,
        bytes: bytes.to_vec(),
        handlers: Vec::new(),
        attributes,
    };
    let code = Attribute {
        name: utf8(&mut class, b"Code"),
        info: Info::Code(code),
    };
    let method = member(&mut class, 0x0008, b"code", "()V", vec![code]);
    class.methods.push(method);
    class.write()
}

pub(super) fn dynamic_argument() -> Vec<u8> {
    let mut class = empty("DynamicArgument", 55);
    let owner = named(&mut class, 7, "java/lang/invoke/ConstantBootstraps");
    let signature = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Object;";
    let bootstrap = name_and_type(&mut class, "nullConstant", signature);
    let [high, low] = indexes(&mut class, 10, &[owner, bootstrap]).to_be_bytes();
    let handle = constant(&mut class, 15, &[6, high, low]);
    let inner = name_and_type(&mut class, "inner", "Ljava/lang/Object;");
    let inner = indexes(&mut class, 17, &[0, inner]);
    let outer = name_and_type(&mut class, "outer", "Ljava/lang/Object;");
    indexes(&mut class, 17, &[1, outer]);
    let methods = big_endian(&[2, handle, 0, handle, 1, inner]);
    let methods = attribute(&mut class, "BootstrapMethods", &methods);
    class.attributes.push(methods);
    class.write()
}

pub(super) fn module_info() -> Vec<u8> {
    let mut class = empty("module-info", 53);
    (class.access, class.super_class) = (0x8000, 0);
    let (module, base) = (
        named(&mut class, 19, "demo"),
        named(&mut class, 19, "java.base"),
    );
    let (package, version) = (named(&mut class, 20, "demo/api"), utf8(&mut class, b"1.0"));
    // The module requires one module, and exports one package to all.
    let module = [
        module, 0, version, 1, base, 0x8000, 0, 1, package, 0, 0, 0, 0, 0,
    ];
    let module = attribute(&mut class, "Module", &big_endian(&module));
    class.attributes.push(module);
    class.write()
}

pub(super) fn lone_surrogate() -> Vec<u8> {
    let mut class = empty("LoneSurrogate", 52);
    let field = member(&mut class, 0, b"\xed\xa0\x80", "I", Vec::new());
    class.fields.push(field);
    class.write()
}

pub(super) fn unknown_flags() -> Vec<u8> {
    let mut class = empty("UnknownFlags", 52);
    let method = member(&mut class, 0xa409, b"method", "()V", Vec::new());
    class.methods.push(method);
    class.write()
}

pub(super) fn whole_range_switch() -> Vec<u8> {
    let mut code = vec![0x03, 0xaa, 0, 0];
    for word in [15, i32::MIN, i32::MAX] {
        code.extend_from_slice(&i32::to_be_bytes(word));
    }
    code.push(0xb1);
    with_code("WholeRangeSwitch", &code, None)
}

pub(super) fn cut_frame() -> Vec<u8> {
    // The table has one frame with one stack entry, whose type is missing.
    with_code("CutFrame", &[0xb1], Some(&[0, 1, 64]))
}

pub(super) fn trailing_bytes() -> Vec<u8> {
    let mut class = empty("TrailingBytes", 52).write();
    class.extend_from_slice(&[1, 2, 3]);
    class
}

pub(super) fn long_at_end() -> Vec<u8> {
    let mut class = empty("LongAtEnd", 52);
    constant(&mut class, 5, &[0, 0, 0, 0, 0, 0, 0, 1]);
    class.write()
}

pub(super) fn bad_opcode() -> Vec<u8> {
    with_code("BadOpcode", &[0x00, 0x00, 0xdb, 0xb1], None)
}

pub(super) fn surrogate_type() -> Vec<u8> {
    let mut class = empty("SurrogateType", 52);
    let (name, descriptor) = (utf8(&mut class, b"name"), utf8(&mut class, b"\xed\xa0\x80"));
    indexes(&mut class, 12, &[name, descriptor]);
    class.write()
}
