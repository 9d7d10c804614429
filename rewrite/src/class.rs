//! A class file's skeleton, read in place (JVMS §4.1).

use crate::annotations::AnnotationTypes;
use crate::attribute::attribute_at;
use crate::code::Code;
use crate::constant_pool::ConstantPool;
use crate::cp_index::CpIndex;
use crate::error::{Error, ErrorKind, Result, Structure};
use crate::reader::Reader;

pub use crate::attribute::{Attribute, Attributes};

/// `access_flags` of classes, fields and methods (JVMS tables 4.1-B, 4.5-A, 4.6-A).
pub mod access {
    #![allow(missing_docs)]
    pub const PUBLIC: u16 = 0x0001;
    pub const STATIC: u16 = 0x0008;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
}

/// The oldest `major_version` that is read.
///
/// Up to version 45.2, `Code` had another layout, with 8 bits for `max_stack` and `max_locals`. JDK
/// 11 still reads that layout; JDK 17 and this crate do not. Code in that layout is reported as
/// unreadable, because its lengths do not fit.
const FIRST_MAJOR: u16 = 45;

/// Offsets in the class file: of a field or method, and of those attributes of a method that are often needed.
/// The offset of an absent attribute is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    attributes: u32,
    end: u32,
    code: u32,
    visible_annotations: u32,
    invisible_annotations: u32,
}

/// Buffers for reading a class. Their memory is reused for the next class.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    pool_offsets: Vec<u32>,
    fields: Vec<Span>,
    methods: Vec<Span>,
}

/// A class file whose structure was read to the end.
///
/// [`ClassFile::parse`] checks lengths and counts, the names of attributes, and the constants of class,
/// superclass and interfaces. The content of attributes is read when it is asked for.
#[derive(Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    pool: ConstantPool<'a>,
    minor_version: u16,
    major_version: u16,
    access_flags: u16,
    this_class: CpIndex,
    super_class: CpIndex,
    interfaces: &'a [u8],
    fields: Vec<Span>,
    methods: Vec<Span>,
    attributes: usize,
}

impl<'a> ClassFile<'a> {
    /// Reads the class file `bytes`.
    ///
    /// # Errors
    /// When the structure is cut short, when an index or length is impossible,
    /// or when bytes follow the end. The error has the offset of the fault.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, Storage::default())
    }

    pub(crate) fn parse_with(bytes: &'a [u8], mut storage: Storage) -> Result<Self> {
        if u32::try_from(bytes.len()).is_err() {
            let kind = ErrorKind::ClassTooLarge(bytes.len());
            return Err(Error::new(kind, 0, Structure::Class));
        }
        let mut reader = Reader::new(bytes, 0, Structure::Class);
        let magic = reader.u4()?;
        if magic != 0xCAFE_BABE {
            return Err(Error::new(ErrorKind::BadMagic(magic), 0, Structure::Class));
        }
        let minor = reader.u2()?;
        let major = reader.u2()?;
        if major < FIRST_MAJOR {
            let kind = ErrorKind::UnsupportedVersion { major, minor };
            return Err(Error::new(kind, 4, Structure::Class));
        }
        let pool = ConstantPool::read(bytes, storage.pool_offsets)?;
        reader.skip(pool.end() - reader.offset())?;
        let access_flags = reader.u2()?;
        let this_class = reader.cp_index()?;
        let super_class = reader.cp_index()?;
        let interfaces_count = reader.u2()? as usize;
        let interfaces = reader.take(2 * interfaces_count)?;
        read_members(&mut reader, &pool, &mut storage.fields, Structure::Field)?;
        read_members(&mut reader, &pool, &mut storage.methods, Structure::Method)?;
        let attributes = reader.offset();
        for _ in 0..reader.u2()? {
            pool.utf8(reader.cp_index()?)?;
            let len = reader.u4()? as usize;
            reader.skip(len)?;
        }
        reader.finish()?;
        // These indexes are checked here: after rewriting, an index beyond the old pool would refer
        // to an appended constant.
        pool.class_name(this_class)?;
        if !super_class.is_none() {
            pool.class_name(super_class)?;
        }
        for index in interfaces.as_chunks::<2>().0 {
            pool.class_name(CpIndex::from_be_bytes(*index))?;
        }
        Ok(ClassFile {
            bytes,
            pool,
            minor_version: minor,
            major_version: major,
            access_flags,
            this_class,
            super_class,
            interfaces,
            fields: storage.fields,
            methods: storage.methods,
            attributes,
        })
    }

    pub(crate) fn into_storage(self) -> Storage {
        Storage {
            pool_offsets: self.pool.into_storage(),
            fields: self.fields,
            methods: self.methods,
        }
    }

    /// Returns the whole class file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the constant pool.
    #[inline]
    pub fn pool(&self) -> &ConstantPool<'a> {
        &self.pool
    }

    /// Returns `major_version` (JVMS §4.1): 45 for JDK 1.1 to 69 for JDK 25.
    #[inline]
    pub fn major_version(&self) -> u16 {
        self.major_version
    }

    /// Returns `minor_version` (JVMS §4.1).
    pub fn minor_version(&self) -> u16 {
        self.minor_version
    }

    /// Returns `access_flags`, see [`access`].
    pub fn access_flags(&self) -> u16 {
        self.access_flags
    }

    /// Returns the class's internal name, as modified UTF-8: `java/lang/Object`.
    pub fn name(&self) -> &'a [u8] {
        // Checked when the class was read.
        self.pool.class_name(self.this_class).unwrap_or_default()
    }

    pub(crate) fn this_class_index(&self) -> CpIndex {
        self.this_class
    }

    pub(crate) fn super_class_index(&self) -> CpIndex {
        self.super_class
    }

    /// Returns the superclass's internal name; `None` for `java/lang/Object` and for modules.
    pub fn super_name(&self) -> Option<&'a [u8]> {
        self.pool.class_name(self.super_class).ok()
    }

    /// Returns the constant-pool indexes of the direct superinterfaces.
    pub fn interfaces(&self) -> impl ExactSizeIterator<Item = CpIndex> + 'a {
        self.interfaces
            .as_chunks::<2>()
            .0
            .iter()
            .map(|index| CpIndex::from_be_bytes(*index))
    }

    /// Returns the fields, in file order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = Member<'_, 'a>> {
        members(self, &self.fields, Structure::Field)
    }

    /// Returns the methods, in file order.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Member<'_, 'a>> {
        members(self, &self.methods, Structure::Method)
    }

    #[inline]
    pub(crate) fn method(&self, index: usize) -> Option<Member<'_, 'a>> {
        let span = *self.methods.get(index)?;
        Some(Member {
            class: self,
            span,
            index: index as u16,
            structure: Structure::Method,
        })
    }

    /// Returns the attributes of the class itself.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes::at(self.bytes, self.attributes, Structure::Class)
    }

    /// Returns the types of the annotations on the class, as field descriptors: `Lcom/example/Timed;`. The
    /// runtime-visible annotations come first. The iterator ends at the first unreadable annotation.
    pub fn annotation_types(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        [
            b"RuntimeVisibleAnnotations".as_slice(),
            b"RuntimeInvisibleAnnotations",
        ]
        .into_iter()
        .flat_map(move |wanted| {
            self.attributes()
                .map_while(Result::ok)
                .filter(move |a| self.pool.utf8(a.name_index).is_ok_and(|n| n == wanted))
                .flat_map(move |a| AnnotationTypes::new(&self.pool, a.reader(Structure::Class)))
                .map_while(Result::ok)
        })
    }
}

fn members<'c, 'a>(
    class: &'c ClassFile<'a>,
    spans: &'c [Span],
    structure: fn(u16) -> Structure,
) -> impl ExactSizeIterator<Item = Member<'c, 'a>> {
    spans.iter().enumerate().map(move |(index, &span)| Member {
        class,
        span,
        index: index as u16,
        structure,
    })
}

fn read_members(
    reader: &mut Reader<'_>,
    pool: &ConstantPool<'_>,
    spans: &mut Vec<Span>,
    structure: fn(u16) -> Structure,
) -> Result<()> {
    let count = reader.u2()?;
    spans.clear();
    for index in 0..count {
        let mut span = Span {
            start: reader.offset() as u32,
            ..Span::default()
        };
        reader.skip(2)?;
        pool.utf8(reader.cp_index()?)?;
        pool.utf8(reader.cp_index()?)?;
        span.attributes = reader.offset() as u32;
        for _ in 0..reader.u2()? {
            let offset = reader.offset();
            let name = pool.utf8(reader.cp_index()?)?;
            let known = match name {
                b"Code" => &mut span.code,
                b"RuntimeVisibleAnnotations" => &mut span.visible_annotations,
                b"RuntimeInvisibleAnnotations" => &mut span.invisible_annotations,
                _ => &mut 0,
            };
            if *known != 0 && name == b"Code" {
                let kind = ErrorKind::DuplicateAttribute("Code");
                return Err(Error::new(kind, offset, structure(index)));
            }
            *known = offset as u32;
            let len = reader.u4()? as usize;
            reader.skip(len)?;
        }
        span.end = reader.offset() as u32;
        spans.push(span);
    }
    Ok(())
}

/// A field or method of a class (JVMS §4.5, §4.6).
#[derive(Clone, Copy, Debug)]
pub struct Member<'c, 'a> {
    class: &'c ClassFile<'a>,
    span: Span,
    index: u16,
    structure: fn(u16) -> Structure,
}

impl<'c, 'a> Member<'c, 'a> {
    /// Returns the class that declares the member.
    pub fn class(&self) -> &'c ClassFile<'a> {
        self.class
    }

    /// Returns the member's position among the class's fields or methods, from 0.
    #[inline]
    pub fn index(&self) -> u16 {
        self.index
    }

    #[inline]
    fn u2(&self, at: usize) -> u16 {
        let offset = self.span.start as usize + at;
        match self.class.bytes.get(offset..offset + 2) {
            Some(&[high, low]) => u16::from_be_bytes([high, low]),
            _ => 0,
        }
    }

    /// Returns `access_flags`, see [`access`].
    #[inline]
    pub fn access_flags(&self) -> u16 {
        self.u2(0)
    }

    /// Returns the name, as modified UTF-8.
    #[inline]
    pub fn name(&self) -> &'a [u8] {
        // Checked when the class was read.
        self.class
            .pool
            .utf8(CpIndex(self.u2(2)))
            .unwrap_or_default()
    }

    /// Returns the descriptor, as modified UTF-8: `(I[Ljava/lang/String;)V`.
    #[inline]
    pub fn descriptor(&self) -> &'a [u8] {
        self.class
            .pool
            .utf8(CpIndex(self.u2(4)))
            .unwrap_or_default()
    }

    /// Returns the attributes of the member.
    pub fn attributes(&self) -> Attributes<'a> {
        let structure = (self.structure)(self.index);
        Attributes::at(self.class.bytes, self.span.attributes as usize, structure)
    }

    /// Returns whether the member has a `Code` attribute. Abstract and native
    /// methods have none.
    #[inline]
    pub fn has_code(&self) -> bool {
        self.span.code != 0
    }

    /// Returns the `Code` attribute; `None` if the member has none.
    ///
    /// # Errors
    /// When the attribute does not have the layout of JVMS §4.7.3.
    pub fn code(&self) -> Result<Option<Code<'a>>> {
        if self.span.code == 0 {
            return Ok(None);
        }
        let offset = self.span.code as usize;
        Code::parse(self.class.bytes, offset, Structure::Method(self.index)).map(Some)
    }

    /// Returns the types of the annotations on the member, as field descriptors: `Lcom/example/Timed;`. The
    /// runtime-visible annotations come first. The iterator ends at the first unreadable annotation.
    pub fn annotation_types(&self) -> impl Iterator<Item = &'a [u8]> + 'c {
        let class = self.class;
        let structure = Structure::Method(self.index);
        [
            self.span.visible_annotations,
            self.span.invisible_annotations,
        ]
        .into_iter()
        .filter(|&offset| offset != 0)
        .filter_map(move |offset| attribute_at(class.bytes, offset as usize, structure).ok())
        .flat_map(move |attribute| AnnotationTypes::new(&class.pool, attribute.reader(structure)))
        .map_while(Result::ok)
    }

    /// Returns whether the method is the constructor of `Object`, which every other constructor finally calls.
    #[inline]
    pub(crate) fn is_object_init(&self) -> bool {
        self.name() == b"<init>" && self.class.name() == b"java/lang/Object"
    }

    /// Returns whether the method has an annotation attribute. This is cheap, as
    /// no attribute is read.
    #[inline]
    pub(crate) fn has_annotations(&self) -> bool {
        self.span.visible_annotations | self.span.invisible_annotations != 0
    }
}
