//! Records of a dump, one after the other.

use std::io::{self, Read};

use crate::error::{Error, ErrorKind, Result, Type};
use crate::input::{Input, number, unpacked};

/// What a dump begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes of an identifier, 4 or 8.
    pub id_size: u32,
    /// When the dump was made, milliseconds since 1970.
    pub time_ms: u64,
}

/// Why an object is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RootKind {
    Unknown,
    JniGlobal,
    JniLocal,
    JavaFrame,
    NativeStack,
    StickyClass,
    ThreadBlock,
    MonitorUsed,
    ThreadObject,
}

/// An object that is kept whatever refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The object.
    pub id: u64,
    /// Why.
    pub kind: RootKind,
    /// Serial number of the thread whose it is; 0 where there is none.
    pub thread: u32,
    /// Frame of the thread's stack, from the top; of a thread object the
    /// serial number of its stack trace. `u32::MAX` where there is none.
    pub frame: u32,
}

/// A class as dumped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassDump {
    /// Its object.
    pub id: u64,
    /// The class that it extends; 0 of `java.lang.Object`.
    pub super_id: u64,
    /// Its loader, signers and protection domain.
    pub refers: [u64; 3],
    /// Objects in its constant pool.
    pub constants: Vec<u64>,
    /// Static fields: name, type and value; references as identifiers.
    pub statics: Vec<(u64, Type, u64)>,
    /// Fields of its own, in the order of the instances' values: name, type.
    pub fields: Vec<(u64, Type)>,
}

/// A frame of a stack as dumped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameDump {
    /// Its own identifier.
    pub id: u64,
    /// The method's name.
    pub method: u64,
    /// The source file's name; 0 where it is not known.
    pub file: u64,
    /// Serial number of the method's class.
    pub class: u32,
    /// In the source file; 0 or less where it is not known, -3 of a native
    /// method.
    pub line: i32,
}

/// Takes what is read. All does nothing unless it is implemented.
#[allow(unused_variables)]
pub trait Visitor {
    /// Whether fields and elements are wanted; without, they are skipped.
    fn wants_contents(&self) -> bool {
        false
    }
    /// Whether fields of this class's instances are wanted.
    fn wants_fields(&self, class: u64) -> bool {
        self.wants_contents()
    }
    /// The file's header.
    fn header(&mut self, header: Header) {}
    /// A name. Of those above 64 KiB, which Java has none of, the beginning.
    ///
    /// # Errors
    ///
    /// Stops the reading, as in all methods that have one.
    fn text(&mut self, id: u64, text: &[u8]) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// A class has a name and a serial number.
    fn load_class(
        &mut self,
        serial: u32,
        id: u64,
        name: u64,
    ) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// A frame of a stack.
    fn frame(&mut self, frame: FrameDump) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// A stack and the serial number of its thread. Its frames follow.
    fn stack(&mut self, serial: u32, thread: u32) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// Some of the last stack's frames from the top, whole identifiers.
    fn stack_frames(&mut self, ids: &[u8]) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// A root.
    fn root(&mut self, root: Root) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// A class.
    fn class(&mut self, class: ClassDump) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// An object that is no array. `fields` are the values of its class's
    /// fields, then those of the class above, and so on.
    fn instance(
        &mut self,
        id: u64,
        class: u64,
        fields: &[u8],
    ) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// An array of objects; `class` is the array's. Its elements follow.
    fn object_array(
        &mut self,
        id: u64,
        class: u64,
        length: u32,
    ) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// Some of the last array's elements, whole identifiers.
    fn elements(&mut self, ids: &[u8]) {}
    /// An array of `of`. Its values follow.
    fn primitive_array(
        &mut self,
        id: u64,
        of: Type,
        length: u32,
    ) -> std::result::Result<(), ErrorKind> {
        Ok(())
    }
    /// The file goes on behind what gzip packed; that is not read.
    fn followed(&mut self) {}
    /// Some of the last array's values.
    fn values(&mut self, bytes: &[u8]) {}
}

/// Reads a dump, packed by gzip or not, in memory of a megabyte beside what
/// the visitor keeps.
///
/// # Errors
///
/// At the first thing that is wrong. Of a dump that is cut off
/// ([`Error::is_truncated`]) the visitor has got what was whole.
pub fn read(source: impl Read, visitor: &mut impl Visitor) -> std::result::Result<u64, Error> {
    let source = unpacked(source).map_err(|error| Error {
        kind: ErrorKind::Io(error),
        at: 0,
    })?;
    let mut reader = Reader {
        input: Input::new(source),
        id_size: 8,
        left: 0,
        visitor,
    };
    let outcome = reader.read();
    if reader.input.is_followed {
        reader.visitor.followed();
    }
    outcome.map(|()| reader.input.at())
}

/// Opens a dump and reads it as [`read_part`] does.
pub(crate) fn pass<R: Read>(
    open: &impl Fn() -> io::Result<R>,
    visitor: &mut impl Visitor,
) -> Result<(u64, Option<Error>)> {
    let source = open().map_err(|error| Error {
        kind: ErrorKind::Io(error),
        at: 0,
    })?;
    read_part(source, visitor)
}

/// Reads a dump, and tells how many bytes it has. One that is cut off is read so
/// far, and the error comes back.
pub(crate) fn read_part(
    source: impl Read,
    visitor: &mut impl Visitor,
) -> Result<(u64, Option<Error>)> {
    match read(source, visitor) {
        Ok(bytes) => Ok((bytes, None)),
        Err(error) if error.is_truncated() => Ok((error.at, Some(error))),
        Err(error) => Err(error),
    }
}

const MAGIC: [&[u8]; 2] = [b"JAVA PROFILE 1.0.1\0", b"JAVA PROFILE 1.0.2\0"];

/// Bytes of a name that are kept: as long as the VM's names can be.
const LONGEST_TEXT: u64 = 65_535;

struct Reader<'v, R, V> {
    input: Input<R>,
    id_size: usize,
    /// Bytes left of the segment.
    left: u64,
    visitor: &'v mut V,
}

impl<R: Read, V: Visitor> Reader<'_, R, V> {
    fn read(&mut self) -> Result<()> {
        match self.input.take(19, "the header") {
            Ok(magic) if MAGIC.contains(&magic) => {}
            Err(error) if !error.is_truncated() => return Err(error),
            _ => {
                let kind = match self.input.at() {
                    0 => ErrorKind::Empty,
                    _ => ErrorKind::NotADump,
                };
                return Err(Error { kind, at: 0 });
            }
        }
        let id_size = self.input.u4("the header")?;
        if !matches!(id_size, 4 | 8) {
            return self.input.error(ErrorKind::IdSize(id_size));
        }
        self.id_size = id_size as usize;
        let time_ms = self.input.u8("the header")?;
        self.visitor.header(Header { id_size, time_ms });
        // What is not in segments, as in old dumps, has no end record.
        let (mut has_end, mut is_whole) = (true, false);
        while !self.input.is_at_end()? {
            let tag = self.input.u1("a record")?;
            self.input.u4("a record")?;
            let length = u64::from(self.input.u4("a record")?);
            is_whole = false;
            match tag {
                0x0c | 0x1c => {
                    has_end = tag == 0x1c;
                    self.left = length;
                    while self.left > 0 {
                        self.heap_record()?;
                    }
                }
                0x2c => {
                    is_whole = true;
                    self.input.skip(length, "a record")?;
                }
                _ => self.record(tag, length)?,
            }
        }
        if has_end && !is_whole {
            return self.input.error(ErrorKind::Truncated(
                "the heap's segments, the last of which is missing",
            ));
        }
        Ok(())
    }

    fn id(&mut self, what: &'static str) -> Result<u64> {
        self.input.take(self.id_size, what).map(number)
    }

    fn told<T>(&self, outcome: std::result::Result<T, ErrorKind>, at: u64) -> Result<T> {
        outcome.map_err(|kind| Error { kind, at })
    }

    /// A record outside the heap.
    fn record(&mut self, tag: u8, length: u64) -> Result<()> {
        let at = self.input.at();
        let id = self.id_size as u64;
        let fixed = match tag {
            0x01 => id,
            0x02 => 8 + 2 * id,
            0x04 => 8 + 4 * id,
            0x05 => 12,
            _ => 0,
        };
        let Some(mut rest) = length.checked_sub(fixed) else {
            let what = "a record";
            return self.input.error(ErrorKind::BadLength { what, length });
        };
        match tag {
            0x01 => {
                let name = self.id("a name")?;
                let kept = rest.min(LONGEST_TEXT);
                let text = self.input.take(kept as usize, "a name")?;
                let outcome = self.visitor.text(name, text);
                self.told(outcome, at)?;
                rest -= kept;
            }
            0x02 => {
                let serial = self.input.u4("a class's name")?;
                let class = self.id("a class's name")?;
                self.input.u4("a class's name")?;
                let name = self.id("a class's name")?;
                let outcome = self.visitor.load_class(serial, class, name);
                self.told(outcome, at)?;
            }
            0x04 => {
                let what = "a frame";
                let [id, method, _, file] = [
                    self.id(what)?,
                    self.id(what)?,
                    self.id(what)?,
                    self.id(what)?,
                ];
                let outcome = self.visitor.frame(FrameDump {
                    id,
                    method,
                    file,
                    class: self.input.u4(what)?,
                    line: self.input.u4(what)?.cast_signed(),
                });
                self.told(outcome, at)?;
            }
            0x05 => {
                let what = "a stack";
                let serial = self.input.u4(what)?;
                let thread = self.input.u4(what)?;
                let frames = u64::from(self.input.u4(what)?) * id;
                let Some(beyond) = rest.checked_sub(frames) else {
                    return self.input.error(ErrorKind::BadLength { what, length });
                };
                let outcome = self.visitor.stack(serial, thread);
                self.told(outcome, at)?;
                while rest > beyond {
                    let ids = self.input.some(rest - beyond, self.id_size, what)?;
                    rest -= ids.len() as u64;
                    let outcome = self.visitor.stack_frames(ids);
                    self.told(outcome, at)?;
                }
            }
            _ => {}
        }
        self.input.skip(rest, "a record")
    }

    /// Takes `bytes` off the segment.
    #[inline]
    fn within(&mut self, bytes: u64, what: &'static str) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => return self.input.error(ErrorKind::PassesSegment(what)),
        }
        Ok(())
    }

    fn heap_record(&mut self) -> Result<()> {
        let at = self.input.at();
        self.within(1, "a heap record")?;
        let tag = self.input.u1("a heap record")?;
        match tag {
            0x20 => self.class(at),
            0x21 => self.instance(at),
            0x22 => self.object_array(at),
            0x23 => self.primitive_array(at),
            _ => self.root(tag, at),
        }
    }

    fn root(&mut self, tag: u8, at: u64) -> Result<()> {
        use RootKind::*;
        let what = "a root";
        let (kind, words) = match tag {
            0xff => (Unknown, 0),
            0x01 => (JniGlobal, 0),
            0x02 => (JniLocal, 2),
            0x03 => (JavaFrame, 2),
            0x04 => (NativeStack, 1),
            0x05 => (StickyClass, 0),
            0x06 => (ThreadBlock, 1),
            0x07 => (MonitorUsed, 0),
            0x08 => (ThreadObject, 2),
            _ => {
                let kind = ErrorKind::UnknownRecord(tag);
                return Err(Error { kind, at });
            }
        };
        self.within(self.id_size as u64 + 4 * words, what)?;
        let id = self.id(what)?;
        if kind == JniGlobal {
            // The reference's own address.
            self.within(self.id_size as u64, what)?;
            self.id(what)?;
        }
        let mut word = |is_there: bool, none| match is_there {
            true => self.input.u4(what),
            false => Ok(none),
        };
        let thread = word(words > 0, 0)?;
        let frame = word(words > 1, u32::MAX)?;
        let outcome = self.visitor.root(Root {
            id,
            kind,
            thread,
            frame,
        });
        self.told(outcome, at)
    }

    fn field_type(&mut self) -> Result<Type> {
        let what = "a class";
        self.within(1, what)?;
        let code = self.input.u1(what)?;
        match Type::of(code) {
            Some(of) => Ok(of),
            None => self.input.error(ErrorKind::UnknownType(code)),
        }
    }

    fn value(&mut self, of: Type) -> Result<u64> {
        let size = of.size(self.id_size as u32) as usize;
        self.within(size as u64, "a class")?;
        self.input.take(size, "a class").map(number)
    }

    fn count(&mut self) -> Result<u16> {
        self.within(2, "a class")?;
        self.input.u2("a class")
    }

    fn class(&mut self, at: u64) -> Result<()> {
        let what = "a class";
        self.within(7 * self.id_size as u64 + 8, what)?;
        let id = self.id(what)?;
        self.input.u4(what)?;
        let super_id = self.id(what)?;
        let refers = [self.id(what)?, self.id(what)?, self.id(what)?];
        self.id(what)?;
        self.id(what)?;
        // Bytes of the fields, which say it themselves.
        self.input.u4(what)?;
        let mut class = ClassDump {
            id,
            super_id,
            refers,
            ..ClassDump::default()
        };
        for _ in 0..self.count()? {
            self.count()?;
            let of = self.field_type()?;
            let value = self.value(of)?;
            if of == Type::Object {
                class.constants.push(value);
            }
        }
        for _ in 0..self.count()? {
            let name = self.value(Type::Object)?;
            let of = self.field_type()?;
            let value = self.value(of)?;
            class.statics.push((name, of, value));
        }
        for _ in 0..self.count()? {
            let name = self.value(Type::Object)?;
            let of = self.field_type()?;
            class.fields.push((name, of));
        }
        let outcome = self.visitor.class(class);
        self.told(outcome, at)
    }

    fn instance(&mut self, at: u64) -> Result<()> {
        let what = "an object";
        let head = 2 * self.id_size + 8;
        self.within(head as u64, what)?;
        let bytes = self.input.take(head, what)?;
        let (id, rest) = bytes.split_at(self.id_size);
        let (class, length) = (&rest[4..4 + self.id_size], &rest[4 + self.id_size..]);
        let (id, class, length) = (number(id), number(class), number(length));
        self.within(length, what)?;
        let outcome = if self.visitor.wants_fields(class) {
            let fields = self.input.take(length as usize, what)?;
            self.visitor.instance(id, class, fields)
        } else {
            self.input.skip(length, what)?;
            self.visitor.instance(id, class, &[])
        };
        self.told(outcome, at)
    }

    fn object_array(&mut self, at: u64) -> Result<()> {
        let what = "an array";
        let head = 2 * self.id_size + 8;
        self.within(head as u64, what)?;
        let bytes = self.input.take(head, what)?;
        let (id, rest) = bytes.split_at(self.id_size);
        let (length, class) = (number(&rest[4..8]), number(&rest[8..]));
        let id = number(id);
        let mut left = length * self.id_size as u64;
        self.within(left, what)?;
        if !self.visitor.wants_contents() {
            // Counted when it is whole.
            self.input.skip(left, what)?;
            left = 0;
        }
        let outcome = self.visitor.object_array(id, class, length as u32);
        self.told(outcome, at)?;
        while left > 0 {
            let ids = self.input.some(left, self.id_size, what)?;
            left -= ids.len() as u64;
            self.visitor.elements(ids);
        }
        Ok(())
    }

    fn primitive_array(&mut self, at: u64) -> Result<()> {
        let what = "an array";
        let head = self.id_size + 9;
        self.within(head as u64, what)?;
        let bytes = self.input.take(head, what)?;
        let (id, rest) = bytes.split_at(self.id_size);
        let (id, length, code) = (number(id), number(&rest[4..8]), rest[8]);
        let Some(of) = Type::of(code).filter(|of| *of != Type::Object) else {
            let kind = ErrorKind::UnknownType(code);
            return Err(Error { kind, at });
        };
        let mut left = length * u64::from(of.size(0));
        self.within(left, what)?;
        if !self.visitor.wants_contents() {
            self.input.skip(left, what)?;
            left = 0;
        }
        let outcome = self.visitor.primitive_array(id, of, length as u32);
        self.told(outcome, at)?;
        while left > 0 {
            let bytes = self.input.some(left, 1, what)?;
            left -= bytes.len() as u64;
            self.visitor.values(bytes);
        }
        Ok(())
    }
}
