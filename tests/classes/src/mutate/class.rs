//! Parses a class file, and writes it again.
//!
//! This parser shares no code with the rewriter, so that a misreading in one of them is noticed.
//! Unknown parts are stored as bytes. `Class::parse` checks that `write` gives the same bytes
//! again.

/// A constant: its tag and the bytes after it. The unusable half of a `Long` or `Double` has tag 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The tag of the constant (JVMS table 4.4-A).
    pub tag: u8,
    /// The bytes after the tag.
    pub bytes: Vec<u8>,
}

impl Constant {
    /// Returns the `n`th two-byte index of the constant.
    #[must_use]
    pub fn index(&self, n: usize) -> u16 {
        u2(&self.bytes, 2 * n).unwrap_or(0)
    }
}

/// A class file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// `minor_version`.
    pub minor: u16,
    /// `major_version`.
    pub major: u16,
    /// The constants by index. The first entry, of index 0, is unusable.
    pub pool: Vec<Constant>,
    /// `access_flags`.
    pub access: u16,
    /// The index of the `CONSTANT_Class` of this class.
    pub this_class: u16,
    /// The index of the superclass; 0 for none.
    pub super_class: u16,
    /// The indexes of the interfaces.
    pub interfaces: Vec<u16>,
    /// The fields, in file order.
    pub fields: Vec<Member>,
    /// The methods, in file order.
    pub methods: Vec<Member>,
    /// The attributes of the class itself.
    pub attributes: Vec<Attribute>,
}

/// A field or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// `access_flags`.
    pub access: u16,
    /// The index of the member's name.
    pub name: u16,
    /// The index of the member's descriptor.
    pub descriptor: u16,
    /// The member's attributes, `Code` among them.
    pub attributes: Vec<Attribute>,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The index of the attribute's name.
    pub name: u16,
    /// The attribute's content.
    pub info: Info,
}

/// The content of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Info {
    /// Content that is not parsed.
    Bytes(Vec<u8>),
    /// The content of a `Code` attribute.
    Code(Code),
}

/// A `Code` attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// `max_stack`.
    pub max_stack: u16,
    /// `max_locals`.
    pub max_locals: u16,
    /// The instructions.
    pub bytes: Vec<u8>,
    /// For each handler: `start_pc`, `end_pc`, `handler_pc`, `catch_type`.
    pub handlers: Vec<[u16; 4]>,
    /// The attributes of the code, such as its tables.
    pub attributes: Vec<Attribute>,
}

pub(super) fn u2(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn i4(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u1(&mut self) -> Option<u8> {
        self.take(1).map(|it| it[0])
    }

    fn u2(&mut self) -> Option<u16> {
        u2(self.take(2)?, 0)
    }

    fn u4(&mut self) -> Option<usize> {
        i4(self.take(4)?, 0).map(|it| it as u32 as usize)
    }

    fn u2s(&mut self) -> Option<Vec<u16>> {
        let count = self.u2()?;
        (0..count).map(|_| self.u2()).collect()
    }

    fn constant(&mut self) -> Option<Constant> {
        let tag = self.u1()?;
        let length = match tag {
            1 => 2 + usize::from(u2(self.0, 0)?),
            3 | 4 | 9..=12 | 17 | 18 => 4,
            5 | 6 => 8,
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            _ => return None,
        };
        Some(Constant {
            tag,
            bytes: self.take(length)?.to_vec(),
        })
    }

    fn members(&mut self, pool: &[Constant]) -> Option<Vec<Member>> {
        let count = self.u2()?;
        (0..count)
            .map(|_| {
                Some(Member {
                    access: self.u2()?,
                    name: self.u2()?,
                    descriptor: self.u2()?,
                    attributes: self.attributes(pool)?,
                })
            })
            .collect()
    }

    fn attributes(&mut self, pool: &[Constant]) -> Option<Vec<Attribute>> {
        let count = self.u2()?;
        (0..count)
            .map(|_| {
                let name = self.u2()?;
                let length = self.u4()?;
                let info = self.take(length)?;
                let is_code = utf8(pool, name) == Some(b"Code");
                let code = is_code.then(|| Cursor(info).code(pool)).flatten();
                Some(Attribute {
                    name,
                    info: code.map_or_else(|| Info::Bytes(info.to_vec()), Info::Code),
                })
            })
            .collect()
    }

    fn code(&mut self, pool: &[Constant]) -> Option<Code> {
        let (max_stack, max_locals) = (self.u2()?, self.u2()?);
        let length = self.u4()?;
        let bytes = self.take(length)?.to_vec();
        let count = self.u2()?;
        let handlers = (0..count)
            .map(|_| Some([self.u2()?, self.u2()?, self.u2()?, self.u2()?]))
            .collect::<Option<_>>()?;
        let attributes = self.attributes(pool)?;
        self.0.is_empty().then_some(Code {
            max_stack,
            max_locals,
            bytes,
            handlers,
            attributes,
        })
    }
}

fn utf8(pool: &[Constant], index: u16) -> Option<&[u8]> {
    let constant = pool.get(usize::from(index)).filter(|it| it.tag == 1)?;
    constant.bytes.get(2..)
}

impl Class {
    /// Parses a class file; `None` if the bytes are not a class file.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Class> {
        let mut cursor = Cursor(bytes);
        (cursor.u4()? == 0xCAFE_BABE).then_some(())?;
        let (minor, major) = (cursor.u2()?, cursor.u2()?);
        let count = usize::from(cursor.u2()?);
        let unusable = Constant {
            tag: 0,
            bytes: Vec::new(),
        };
        let mut pool = vec![unusable.clone()];
        while pool.len() < count {
            let constant = cursor.constant()?;
            let is_wide = matches!(constant.tag, 5 | 6);
            pool.push(constant);
            if is_wide {
                pool.push(unusable.clone());
            }
        }
        (pool.len() == count).then_some(())?;
        let class = Class {
            minor,
            major,
            access: cursor.u2()?,
            this_class: cursor.u2()?,
            super_class: cursor.u2()?,
            interfaces: cursor.u2s()?,
            fields: cursor.members(&pool)?,
            methods: cursor.members(&pool)?,
            attributes: cursor.attributes(&pool)?,
            pool,
        };
        (cursor.0.is_empty() && class.write() == bytes).then_some(class)
    }

    /// Returns the bytes of the class file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE];
        put(&mut out, &[self.minor, self.major, self.pool.len() as u16]);
        for constant in self.pool.iter().filter(|it| it.tag != 0) {
            out.push(constant.tag);
            out.extend_from_slice(&constant.bytes);
        }
        put(
            &mut out,
            &[
                self.access,
                self.this_class,
                self.super_class,
                self.interfaces.len() as u16,
            ],
        );
        put(&mut out, &self.interfaces);
        for members in [&self.fields, &self.methods] {
            put(&mut out, &[members.len() as u16]);
            for member in members {
                put(&mut out, &[member.access, member.name, member.descriptor]);
                put_attributes(&mut out, &member.attributes);
            }
        }
        put_attributes(&mut out, &self.attributes);
        out
    }

    /// Returns the text of a `Utf8` constant; empty for any other constant.
    #[must_use]
    pub fn utf8(&self, index: u16) -> &[u8] {
        utf8(&self.pool, index).unwrap_or_default()
    }

    /// Returns the indexes of the constants with this tag.
    #[must_use]
    pub fn constants(&self, tag: u8) -> Vec<u16> {
        (1..self.pool.len() as u16)
            .filter(|&it| self.pool[usize::from(it)].tag == tag)
            .collect()
    }

    /// Returns the descriptor of the member that a field or method constant names.
    #[must_use]
    pub fn descriptor_of(&self, index: u16) -> &[u8] {
        let name_and_type = self
            .pool
            .get(usize::from(index))
            .map_or(0, |it| it.index(1));
        self.utf8(
            self.pool
                .get(usize::from(name_and_type))
                .map_or(0, |it| it.index(1)),
        )
    }

    /// Returns the positions of the methods that have code.
    #[must_use]
    pub fn with_code(&self) -> Vec<usize> {
        (0..self.methods.len())
            .filter(|&it| self.methods[it].code().is_some())
            .collect()
    }
}

impl Member {
    /// Returns the method's code, if it has any.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.attributes.iter().find_map(|it| match &it.info {
            Info::Code(code) => Some(code),
            Info::Bytes(_) => None,
        })
    }

    /// Returns the method's code for changing; `None` if it has none.
    pub fn code_mut(&mut self) -> Option<&mut Code> {
        self.attributes
            .iter_mut()
            .find_map(|it| match &mut it.info {
                Info::Code(code) => Some(code),
                Info::Bytes(_) => None,
            })
    }
}

fn put(out: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        out.extend_from_slice(&value.to_be_bytes());
    }
}

fn put_attributes(out: &mut Vec<u8>, attributes: &[Attribute]) {
    put(out, &[attributes.len() as u16]);
    for attribute in attributes {
        put(out, &[attribute.name]);
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        match &attribute.info {
            Info::Bytes(bytes) => out.extend_from_slice(bytes),
            Info::Code(code) => {
                put(out, &[code.max_stack, code.max_locals]);
                out.extend_from_slice(&(code.bytes.len() as u32).to_be_bytes());
                out.extend_from_slice(&code.bytes);
                put(out, &[code.handlers.len() as u16]);
                put(out, code.handlers.as_flattened());
                put_attributes(out, &code.attributes);
            }
        }
        let length = (out.len() - length_at - 4) as u32;
        out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}
