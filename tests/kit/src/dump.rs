//! Writes heap dumps for tests, record by record, without the code under test.

/// A writer of a dump with 8-byte identifiers.
pub struct Writer {
    bytes: Vec<u8>,
    heap: Vec<u8>,
}

/// Type of a field: a reference.
pub const OBJECT: u8 = 2;
/// Type of a field: `char`.
pub const CHAR: u8 = 5;
/// Type of a field: `byte`.
pub const BYTE: u8 = 8;
/// Type of a field: `int`.
pub const INT: u8 = 10;
/// Type of a field: `long`.
pub const LONG: u8 = 11;

/// Identifier of the class of most test objects, with the fields `left`, `right` and a number.
pub const PAIR: u64 = 0x100;
/// Identifier of the class `Object[]`.
pub const OBJECTS: u64 = 0x110;
/// Identifier of `java.lang.String`, once [`Writer::strings`] has written it.
pub const STRING: u64 = 0x130;
/// Identifier of `java.lang.Thread`, once [`Writer::threads`] has written it.
pub const THREAD: u64 = 0x140;

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

impl Writer {
    /// Begins a dump with the classes `Pair` and `Object[]`. Both classes are roots.
    #[must_use]
    pub fn new() -> Writer {
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

    /// Writes a record with this tag.
    pub fn record(&mut self, tag: u8, body: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend([0; 4]);
        self.bytes.extend((body.len() as u32).to_be_bytes());
        self.bytes.extend(body);
    }

    /// Writes a text. Other records refer to it by its identifier.
    pub fn text(&mut self, id: u64, text: &str) {
        self.record(1, &[&id.to_be_bytes(), text.as_bytes()].concat());
    }

    /// Writes that the class `id` has this serial number and the text `name` as its name.
    pub fn load_class(&mut self, serial: u32, id: u64, name: u64) {
        let [id, name] = [id, name].map(u64::to_be_bytes);
        self.record(
            2,
            &[&serial.to_be_bytes()[..], &id, &[0; 4], &name].concat(),
        );
    }

    /// Writes a class. Its static fields are references.
    pub fn class(&mut self, id: u64, above: u64, fields: &[(u64, u8)], statics: &[(u64, u64)]) {
        self.class_of(0, id, above, fields, statics);
    }

    /// Writes a class of a class loader.
    pub fn class_of(
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

    /// Writes a root: the kind, the object, and further words. Their number depends on the kind.
    pub fn root(&mut self, tag: u8, id: u64, words: &[u32]) {
        self.heap.push(tag);
        self.heap.extend(id.to_be_bytes());
        for word in words {
            self.heap.extend(word.to_be_bytes());
        }
    }

    /// Writes an instance with the bytes of its fields.
    pub fn instance(&mut self, id: u64, class: u64, fields: &[u8]) {
        self.heap.push(0x21);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend(class.to_be_bytes());
        self.heap.extend((fields.len() as u32).to_be_bytes());
        self.heap.extend(fields);
    }

    /// Writes an instance of the class [`PAIR`] that refers to two objects.
    pub fn pair(&mut self, id: u64, left: u64, right: u64) {
        let fields = [&left.to_be_bytes()[..], &right.to_be_bytes(), &[0; 4]].concat();
        self.instance(id, PAIR, &fields);
    }

    /// Writes an `Object[]`.
    pub fn object_array(&mut self, id: u64, elements: &[u64]) {
        self.array_of(id, OBJECTS, elements);
    }

    /// Writes an array of references. `class` is the class of the array.
    pub fn array_of(&mut self, id: u64, class: u64, elements: &[u64]) {
        self.heap.push(0x22);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend((elements.len() as u32).to_be_bytes());
        self.heap.extend(class.to_be_bytes());
        self.heap
            .extend(elements.iter().flat_map(|id| id.to_be_bytes()));
    }

    /// Writes an array of elements of the type `of`. The bytes of its values need not fit its
    /// length.
    pub fn primitive_array(&mut self, id: u64, of: u8, length: u32, values: &[u8]) {
        self.heap.push(0x23);
        self.heap.extend(id.to_be_bytes());
        self.heap.extend([0; 4]);
        self.heap.extend(length.to_be_bytes());
        self.heap.push(of);
        self.heap.extend(values);
    }

    /// Writes a frame. `class` is the serial number of the class of its method.
    pub fn frame(&mut self, id: u64, method: u64, file: u64, class: u32, line: i32) {
        let ids = [id, method, 0, file].map(u64::to_be_bytes).concat();
        let numbers = [class.to_be_bytes(), line.to_be_bytes()].concat();
        self.record(4, &[ids, numbers].concat());
    }

    /// Writes a thread's stack trace.
    pub fn stack(&mut self, serial: u32, thread: u32, frames: &[u64]) {
        let numbers = [serial, thread, frames.len() as u32].map(u32::to_be_bytes);
        let frames: Vec<u8> = frames.iter().flat_map(|id| id.to_be_bytes()).collect();
        self.record(5, &[numbers.concat(), frames].concat());
    }

    /// Writes the class `java.lang.String` of JDK 9 and later.
    pub fn strings(&mut self) {
        for (id, name) in [(30, "value"), (31, "coder"), (32, "java/lang/String")] {
            self.text(id, name);
        }
        self.load_class(30, STRING, 32);
        self.class(STRING, 0, &[(30, OBJECT), (31, BYTE)], &[]);
    }

    /// Writes the class `java.lang.Thread` with its field `name`. The text 41 is the name of the
    /// class, 40 its serial number.
    pub fn threads(&mut self) {
        self.text(40, "name");
        self.text(41, "java/lang/Thread");
        self.load_class(40, THREAD, 41);
        self.class(THREAD, 0, &[(40, OBJECT)], &[]);
    }

    /// Writes a string. The test must also write the string's array.
    pub fn string(&mut self, id: u64, array: u64, coder: u8) {
        self.instance(id, STRING, &[&array.to_be_bytes()[..], &[coder]].concat());
    }

    /// Writes a `byte[]`.
    pub fn bytes(&mut self, id: u64, bytes: &[u8]) {
        self.primitive_array(id, BYTE, bytes.len() as u32, bytes);
    }

    /// Ends a segment.
    pub fn segment(&mut self) {
        let heap = std::mem::take(&mut self.heap);
        self.record(0x1c, &heap);
    }

    /// Takes the bytes written so far.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Ends the dump, and returns its bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.segment();
        self.record(0x2c, &[]);
        self.bytes
    }
}
