//! The Java class whose methods the probes call.
//!
//! The methods for entry and exit are native, and bound to functions of this library. The methods that only
//! Loadhook's own tracker needs do nothing.

/// Name of the class. It is defined in the boot loader, where every class finds it.
pub(crate) const NAME: &str = "java/lang/$LoadhookJvmpi";

/// The native methods, with their descriptors.
pub(crate) const NATIVES: [(&str, &str); 5] = [
    ("enter", "(I)V"),
    ("enter", "(Ljava/lang/Object;I)V"),
    ("exit", "(I)V"),
    ("caught", "(I)V"),
    ("ended", "(II)V"),
];

/// The methods that do nothing.
const EMPTY: [(&str, &str); 2] = [("construct", "(III)V"), ("constructed", "(I)V")];

/// Makes the bytes of the class (JVMS §4).
pub(crate) fn bytes() -> Vec<u8> {
    const PUBLIC_FINAL_SUPER: u16 = 0x0031;
    const PUBLIC_STATIC: u16 = 0x0009;
    const NATIVE: u16 = 0x0100;
    let mut pool = Pool::default();
    let this = pool.class(NAME);
    let object = pool.class("java/lang/Object");
    let code = pool.utf8("Code");
    let mut methods = Vec::new();
    for (name, descriptor) in NATIVES {
        u2(&mut methods, PUBLIC_STATIC | NATIVE);
        u2(&mut methods, pool.utf8(name));
        u2(&mut methods, pool.utf8(descriptor));
        u2(&mut methods, 0);
    }
    for (name, descriptor) in EMPTY {
        u2(&mut methods, PUBLIC_STATIC);
        u2(&mut methods, pool.utf8(name));
        u2(&mut methods, pool.utf8(descriptor));
        u2(&mut methods, 1);
        u2(&mut methods, code);
        methods.extend([0, 0, 0, 13]);
        // No operands, three locals, one instruction (`return`), no handlers, no attributes.
        methods.extend([0, 0, 0, 3, 0, 0, 0, 1, 0xb1, 0, 0, 0, 0]);
    }
    let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52];
    u2(&mut class, pool.count + 1);
    class.extend(pool.bytes);
    for item in [PUBLIC_FINAL_SUPER, this, object, 0, 0] {
        u2(&mut class, item);
    }
    u2(&mut class, (NATIVES.len() + EMPTY.len()) as u16);
    class.extend(methods);
    u2(&mut class, 0);
    class
}

/// A constant pool that is being written.
#[derive(Default)]
struct Pool {
    bytes: Vec<u8>,
    count: u16,
}

impl Pool {
    fn utf8(&mut self, text: &str) -> u16 {
        self.bytes.push(1);
        u2(&mut self.bytes, text.len() as u16);
        self.bytes.extend(text.as_bytes());
        self.count += 1;
        self.count
    }

    fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.bytes.push(7);
        u2(&mut self.bytes, name);
        self.count += 1;
        self.count
    }
}

fn u2(bytes: &mut Vec<u8>, value: u16) {
    bytes.extend(value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadhook_rewrite::ClassFile;

    #[test]
    fn the_class_has_all_methods_of_probes() {
        let bytes = bytes();
        let class = ClassFile::parse(&bytes).expect("a class");
        assert_eq!(class.name(), NAME.as_bytes());
        let methods: Vec<_> = class.methods().map(|method| method.name()).collect();
        let expected = NATIVES
            .iter()
            .chain(&EMPTY)
            .map(|(name, _)| name.as_bytes());
        assert_eq!(methods, expected.collect::<Vec<_>>());
        assert!(class.methods().all(|method| method.code().is_ok()));
    }
}
