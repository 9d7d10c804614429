//! A writer of dumps.
#![allow(dead_code)]

/// The bytes of a dump with 8-byte identifiers.
pub(crate) struct Writer {
    bytes: Vec<u8>,
    heap: Vec<u8>,
}

pub(crate) const OBJECT: u8 = 2;
pub(crate) const CHAR: u8 = 5;
pub(crate) const BYTE: u8 = 8;
pub(crate) const INT: u8 = 10;
pub(crate) const LONG: u8 = 11;

/// Identifier of the class of most test objects, with the fields `left`, `right` and a number.
pub(crate) const PAIR: u64 = 0x100;
pub(crate) const OBJECTS: u64 = 0x110;
pub(crate) const STRING: u64 = 0x130;

impl Writer {
    pub(crate) fn new() -> Writer {
        let mut bytes = b"JAVA PROFILE 1.0.2\0".to_vec();
        bytes.extend(8_u32.to_be_bytes());
        bytes.extend(1_000_000_000_000_u64.to_be_bytes());
        let mut writer = Writer {
            bytes,
            heap: Vec::new(),
        };
        for (id, name) in [
            (1, "left"),
            (2, "right"),
            (3, "number"),
            (4, "test/Pair"),
            (5, "[Ljava/lang/Object;"),
            (6, "referent"),
            (7, "java/lang/ref/Reference"),
            (8, "java/lang/ref/WeakReference"),
            (9, "java/lang/Class"),
        ] {
            writer.text(id, name);
        }
        writer.load_class(1, PAIR, 4);
        writer.load_class(2, OBJECTS, 5);
        writer.class(PAIR, 0, &[(1, OBJECT), (2, OBJECT), (3, INT)], &[]);
        writer.class(OBJECTS, 0, &[], &[]);
        writer.root(0x05, PAIR, &[]);
        writer.root(0x05, OBJECTS, &[]);
        writer
    }

    pub(crate) fn record(&mut self, tag: u8, body: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend([0; 4]);
        self.bytes.extend((body.len() as u32).to_be_bytes());
        self.bytes.extend(body);
    }

    pub(crate) fn text(&mut self, id: u64, text: &str) {
        self.record(1, &[&id.to_be_bytes(), text.as_bytes()].concat());
    }

    pub(crate) fn load_class(&mut self, serial: u32, id: u64, name: u64) {
        let [id, name] = [id, name].map(u64::to_be_bytes);
        self.record(
            2,
            &[&serial.to_be_bytes()[..], &id, &[0; 4], &name].concat(),
        );
    }

    /// Writes a class, whose static fields are references.
    pub(crate) fn class(
        &mut self,
        id: u64,
        above: u64,
        fields: &[(u64, u8)],
        statics: &[(u64, u64)],
    ) {
        self.class_of(0, id, above, fields, statics);
    }

    pub(crate) fn class_of(
        &mut self,
        loader: u64,
        id: u64,
        above: u64,
        fields: &[(u64, u8)],
        statics: &[(u64, u64)],
    ) {
        self.heap.push(0x20);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend(above.to_be_bytes());
        self.heap.extend(loader.to_be_bytes());
        self.heap.extend([0; 4 * 8 + 4 + 2]);
        self.heap.extend((statics.len() as u16).to_be_bytes());
        for (name, value) in statics {
            self.heap.extend(name.to_be_bytes());
            self.heap.push(OBJECT);
            self.heap.extend(value.to_be_bytes());
        }
        self.heap.extend((fields.len() as u16).to_be_bytes());
        for (name, of) in fields {
            self.heap.extend(name.to_be_bytes());
            self.heap.push(*of);
        }
    }

    pub(crate) fn root(&mut self, tag: u8, id: u64, words: &[u32]) {
        self.heap.push(tag);
        self.heap.extend(id.to_be_bytes());
        for word in words {
            self.heap.extend(word.to_be_bytes());
        }
    }

    pub(crate) fn instance(&mut self, id: u64, class: u64, fields: &[u8]) {
        self.heap.push(0x21);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend(class.to_be_bytes());
        self.heap.extend((fields.len() as u32).to_be_bytes());
        self.heap.extend(fields);
    }

    pub(crate) fn pair(&mut self, id: u64, left: u64, right: u64) {
        let fields = [&left.to_be_bytes()[..], &right.to_be_bytes(), &[0; 4]].concat();
        self.instance(id, PAIR, &fields);
    }

    pub(crate) fn object_array(&mut self, id: u64, elements: &[u64]) {
        self.array_of(id, OBJECTS, elements);
    }

    pub(crate) fn array_of(&mut self, id: u64, class: u64, elements: &[u64]) {
        self.heap.push(0x22);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend((elements.len() as u32).to_be_bytes());
        self.heap.extend(class.to_be_bytes());
        self.heap
            .extend(elements.iter().flat_map(|id| id.to_be_bytes()));
    }

    pub(crate) fn primitive_array(&mut self, id: u64, of: u8, length: u32, values: &[u8]) {
        self.heap.push(0x23);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend(length.to_be_bytes());
        self.heap.push(of);
        self.heap.extend(values);
    }

    /// Writes a frame in `class`, which is a serial number.
    pub(crate) fn frame(&mut self, id: u64, method: u64, file: u64, class: u32, line: i32) {
        let ids = [id, method, 0, file].map(u64::to_be_bytes).concat();
        let numbers = [class.to_be_bytes(), line.to_be_bytes()].concat();
        self.record(4, &[ids, numbers].concat());
    }

    pub(crate) fn stack(&mut self, serial: u32, thread: u32, frames: &[u64]) {
        let numbers = [serial, thread, frames.len() as u32].map(u32::to_be_bytes);
        let frames: Vec<u8> = frames.iter().flat_map(|id| id.to_be_bytes()).collect();
        self.record(5, &[numbers.concat(), frames].concat());
    }

    /// Writes the class `java.lang.String` of JDK 9 and later.
    pub(crate) fn strings(&mut self) {
        for (id, name) in [(30, "value"), (31, "coder"), (32, "java/lang/String")] {
            self.text(id, name);
        }
        self.load_class(30, STRING, 32);
        self.class(STRING, 0, &[(30, OBJECT), (31, BYTE)], &[]);
    }

    /// Writes a string. The test also has to write its array.
    pub(crate) fn string(&mut self, id: u64, array: u64, coder: u8) {
        self.instance(id, STRING, &[&array.to_be_bytes()[..], &[coder]].concat());
    }

    pub(crate) fn bytes(&mut self, id: u64, bytes: &[u8]) {
        self.primitive_array(id, BYTE, bytes.len() as u32, bytes);
    }

    /// Ends a segment.
    pub(crate) fn segment(&mut self) {
        let heap = std::mem::take(&mut self.heap);
        self.record(0x1c, &heap);
    }

    /// The bytes so far.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.segment();
        self.record(0x2c, &[]);
        self.bytes
    }
}
