//! The `ClassFile` structure (JVMS §4.1).

use super::bytes::Put;
use super::error::{AssembleError, Result, u2};
use super::frames;
use super::{CodeBuilder, ConstantPool, FrameTable, VerificationTypeInfo};

/// Access flags of classes, fields and methods (JVMS tables 4.1-B, 4.5-A, 4.6-A).
pub mod access {
    /// `ACC_PUBLIC`.
    pub const PUBLIC: u16 = 0x0001;
    /// `ACC_PRIVATE`.
    pub const PRIVATE: u16 = 0x0002;
    /// `ACC_STATIC`.
    pub const STATIC: u16 = 0x0008;
    /// `ACC_FINAL`.
    pub const FINAL: u16 = 0x0010;
    /// `ACC_SUPER`.
    pub const SUPER: u16 = 0x0020;
    /// `ACC_SYNCHRONIZED`.
    pub const SYNCHRONIZED: u16 = 0x0020;
    /// `ACC_NATIVE`.
    pub const NATIVE: u16 = 0x0100;
    /// `ACC_INTERFACE`.
    pub const INTERFACE: u16 = 0x0200;
    /// `ACC_ABSTRACT`.
    pub const ABSTRACT: u16 = 0x0400;
    /// `ACC_SYNTHETIC`.
    pub const SYNTHETIC: u16 = 0x1000;
}

/// A class under construction. By default it is public and a subclass of `Object`.
#[derive(Debug)]
pub struct ClassBuilder {
    version: u16,
    name: String,
    access: u16,
    super_class: String,
    interfaces: Vec<String>,
    pool: ConstantPool,
    fields: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
    attributes: Vec<Vec<u8>>,
    bootstrap_methods: Vec<Vec<u8>>,
    pool_entries: Option<u16>,
    error: Option<AssembleError>,
}

impl ClassBuilder {
    /// Begins a class of the given `major_version` and internal name.
    pub fn new(version: u16, name: &str) -> Self {
        Self {
            version,
            name: name.to_owned(),
            access: access::PUBLIC | access::SUPER,
            super_class: "java/lang/Object".to_owned(),
            interfaces: Vec::new(),
            pool: ConstantPool::default(),
            fields: Vec::new(),
            methods: Vec::new(),
            attributes: Vec::new(),
            bootstrap_methods: Vec::new(),
            pool_entries: None,
            error: None,
        }
    }

    /// Returns the internal name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the `major_version`.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Returns the internal name of the superclass.
    pub fn super_class(&self) -> &str {
        &self.super_class
    }

    /// Returns the constant pool, for adding entries or padding.
    pub fn pool(&mut self) -> &mut ConstantPool {
        &mut self.pool
    }

    /// Sets the access flags.
    pub fn access(&mut self, access: u16) -> &mut Self {
        self.access = access;
        self
    }

    /// Sets the superclass.
    pub fn extends(&mut self, name: &str) -> &mut Self {
        name.clone_into(&mut self.super_class);
        self
    }

    /// Adds an interface.
    pub fn implements(&mut self, name: &str) -> &mut Self {
        self.interfaces.push(name.to_owned());
        self
    }

    /// Makes [`ClassBuilder::finish`] add constants until the pool has exactly `entries` entries.
    /// If the pool already has more, `finish` fails.
    pub fn pool_entries(&mut self, entries: u16) -> &mut Self {
        self.pool_entries = Some(entries);
        self
    }

    /// Adds an entry of `BootstrapMethods` (JVMS §4.7.23). `handle` is the index of a method
    /// handle; `arguments` are the indexes of its arguments. Returns the index of the entry.
    pub fn bootstrap_method(&mut self, handle: u16, arguments: &[u16]) -> u16 {
        let mut entry = Vec::new();
        entry.u2(handle);
        entry.u2(arguments.len() as u16);
        for &argument in arguments {
            entry.u2(argument);
        }
        self.bootstrap_methods.push(entry);
        (self.bootstrap_methods.len() - 1) as u16
    }

    /// Adds a field without attributes.
    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) -> &mut Self {
        let mut field = Vec::new();
        field.u2(access);
        field.u2(self.pool.utf8(name));
        field.u2(self.pool.utf8(descriptor));
        field.u2(0);
        self.fields.push(field);
        self
    }

    /// Adds a method with code.
    pub fn method(
        &mut self,
        access: u16,
        name: &str,
        descriptor: &str,
        build: impl FnOnce(&mut CodeBuilder<'_>),
    ) -> &mut Self {
        self.method_with(access, name, descriptor, &[], build)
    }

    /// Adds a method with code and further attributes. Each attribute has a name and contents.
    pub fn method_with(
        &mut self,
        access: u16,
        name: &str,
        descriptor: &str,
        attributes: &[(&str, Vec<u8>)],
        build: impl FnOnce(&mut CodeBuilder<'_>),
    ) -> &mut Self {
        let code = self.code(access, name, descriptor, build);
        match code {
            Ok(code) => self.add_method(access, name, descriptor, Some(code), attributes),
            Err(error) => {
                let place = format!("{}.{name}{descriptor}", self.name);
                self.error
                    .get_or_insert(AssembleError::In(place, Box::new(error)));
            }
        }
        self
    }

    /// Adds a method without code: `native` or `abstract`.
    pub fn method_without_code(&mut self, access: u16, name: &str, descriptor: &str) -> &mut Self {
        self.add_method(access, name, descriptor, None, &[]);
        self
    }

    fn code(
        &mut self,
        access: u16,
        name: &str,
        descriptor: &str,
        build: impl FnOnce(&mut CodeBuilder<'_>),
    ) -> Result<Vec<u8>> {
        let this = match (access & access::STATIC, name) {
            (0, "<init>") => Some(VerificationTypeInfo::UninitializedThis),
            (0, _) => Some(VerificationTypeInfo::object(&self.name)),
            _ => None,
        };
        let initial = frames::initial_locals(this, descriptor)?;
        let table = match self.version {
            ..50 => FrameTable::None,
            50.. => FrameTable::StackMapTable,
        };
        let mut code = CodeBuilder::new(&mut self.pool, &self.name, table, initial);
        build(&mut code);
        code.finish()
    }

    fn add_method(
        &mut self,
        access: u16,
        name: &str,
        descriptor: &str,
        code: Option<Vec<u8>>,
        attributes: &[(&str, Vec<u8>)],
    ) {
        let mut method = Vec::new();
        method.u2(access);
        method.u2(self.pool.utf8(name));
        method.u2(self.pool.utf8(descriptor));
        method.u2(attributes.len() as u16 + u16::from(code.is_some()));
        if let Some(code) = code {
            write_attribute(&mut method, &mut self.pool, "Code", &code);
        }
        for (name, contents) in attributes {
            write_attribute(&mut method, &mut self.pool, name, contents);
        }
        self.methods.push(method);
    }

    /// Adds an attribute of the class, by name and contents.
    pub fn attribute(&mut self, name: &str, contents: &[u8]) -> &mut Self {
        let mut attribute = Vec::new();
        write_attribute(&mut attribute, &mut self.pool, name, contents);
        self.attributes.push(attribute);
        self
    }

    /// Returns the class file.
    ///
    /// # Errors
    /// Returns the first error of any builder of the class.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut body = Vec::new();
        body.u2(self.access);
        body.u2(self.pool.class(&self.name));
        body.u2(self.pool.class(&self.super_class));
        body.u2(u2("interfaces_count", self.interfaces.len())?);
        for interface in &self.interfaces {
            body.u2(self.pool.class(interface));
        }
        if !self.bootstrap_methods.is_empty() {
            let mut contents = Vec::new();
            contents.u2(u2("num_bootstrap_methods", self.bootstrap_methods.len())?);
            contents.extend(self.bootstrap_methods.concat());
            self.attribute("BootstrapMethods", &contents);
        }
        for members in [&self.fields, &self.methods, &self.attributes] {
            body.u2(u2("members", members.len())?);
            for member in members {
                body.extend_from_slice(member);
            }
        }
        if let Some(entries) = self.pool_entries {
            if self.pool.entries() > entries {
                return Err(AssembleError::PoolFull);
            }
            self.pool.pad_to(entries);
        }
        if self.pool.is_overfull() {
            return Err(AssembleError::PoolFull);
        }
        let mut out = Vec::with_capacity(body.len() + 1024);
        out.u4(0xcafe_babe);
        // JDK 1.0 and 1.1 wrote version 45.3; later minor versions are 0.
        out.u2(if self.version == 45 { 3 } else { 0 });
        out.u2(self.version);
        self.pool.write(&mut out);
        out.extend_from_slice(&body);
        Ok(out)
    }
}

fn write_attribute(out: &mut Vec<u8>, pool: &mut ConstantPool, name: &str, contents: &[u8]) {
    out.u2(pool.utf8(name));
    out.u4(contents.len() as u32);
    out.extend_from_slice(contents);
}
