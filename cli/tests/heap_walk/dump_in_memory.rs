//! A whole dump in memory, so that two dumps can be compared field by field.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use loadhook_hprof::{ClassDump, ErrorKind, LoadClass, Root, Type, Visitor, read};

pub(crate) enum Object {
    Instance {
        class: u64,
        fields: Vec<u8>,
    },
    Array {
        class: u64,
        ids: Vec<u64>,
    },
    Values {
        of: Type,
        length: u32,
        bytes: Vec<u8>,
    },
}

/// Returns the number of bytes that a value of this type has in a dump.
pub(crate) fn size(of: Type) -> usize {
    match of {
        Type::Boolean | Type::Byte => 1,
        Type::Char | Type::Short => 2,
        Type::Int | Type::Float => 4,
        Type::Object | Type::Long | Type::Double => 8,
    }
}

/// All records of a dump.
#[derive(Default)]
pub(crate) struct Dump {
    pub(crate) names: HashMap<u64, String>,
    pub(crate) loaded: HashMap<u64, u64>,
    pub(crate) serials: HashMap<u32, u64>,
    pub(crate) classes: HashMap<u64, ClassDump>,
    pub(crate) objects: HashMap<u64, Object>,
    pub(crate) roots: Vec<Root>,
    pub(crate) last: u64,
}

impl Visitor for Dump {
    fn wants_contents(&self) -> bool {
        true
    }
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.names.insert(id, String::from_utf8_lossy(text).into());
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.serials.insert(class.serial, class.class);
        self.loaded.insert(class.class, class.name);
        Ok(())
    }
    fn root(&mut self, root: Root) -> Result<(), ErrorKind> {
        self.roots.push(root);
        Ok(())
    }
    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        self.classes.insert(class.id, class.clone());
        Ok(())
    }
    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        let fields = fields.to_vec();
        let twice = self.objects.insert(id, Object::Instance { class, fields });
        assert!(twice.is_none(), "{id:x}");
        Ok(())
    }
    fn object_array(&mut self, id: u64, class: u64, _: u32) -> Result<(), ErrorKind> {
        let ids = Vec::new();
        let twice = self.objects.insert(id, Object::Array { class, ids });
        assert!(twice.is_none(), "{id:x}");
        self.last = id;
        Ok(())
    }
    fn elements(&mut self, bytes: &[u8]) {
        let Some(Object::Array { ids, .. }) = self.objects.get_mut(&self.last) else {
            panic!("elements do not follow an array of objects");
        };
        ids.extend(
            bytes
                .chunks(8)
                .map(|id| u64::from_be_bytes(id.try_into().expect("the slice has eight bytes"))),
        );
    }
    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        let bytes = Vec::new();
        let twice = self
            .objects
            .insert(id, Object::Values { of, length, bytes });
        assert!(twice.is_none(), "{id:x}");
        self.last = id;
        Ok(())
    }
    fn values(&mut self, more: &[u8]) {
        let Some(Object::Values { bytes, .. }) = self.objects.get_mut(&self.last) else {
            panic!("values do not follow an array of primitive values");
        };
        bytes.extend(more);
    }
}

impl Dump {
    pub(crate) fn of(file: &Path) -> Dump {
        let mut dump = Dump::default();
        read(
            File::open(file).expect("the test file can be opened"),
            &mut dump,
        )
        .expect("the dump is complete");
        dump
    }

    pub(crate) fn name(&self, class: u64) -> &str {
        &self.names[&self.loaded[&class]]
    }

    pub(crate) fn class(&self, name: &str) -> &ClassDump {
        let mut all = self.classes.values();
        all.find(|class| self.name(class.id) == name)
            .expect("the class is loaded")
    }

    /// Describes the fields of an instance, first those of its class, then those of its
    /// superclasses. `number` describes the object of an identifier.
    fn fields(
        &self,
        class: u64,
        fields: &[u8],
        number: &mut dyn FnMut(u64) -> String,
    ) -> Vec<String> {
        let mut parts = Vec::new();
        let (mut above, mut rest) = (class, fields);
        while above != 0 {
            let class = &self.classes[&above];
            let mut values: Vec<_> = class
                .fields
                .iter()
                .map(|field| {
                    let (value, after) = rest.split_at(size(field.value_type));
                    rest = after;
                    (&*self.names[&field.name], field.value_type, value)
                })
                .collect();
            // The fields are sorted, because each dumper writes them in its own order.
            values.sort_by_key(|(name, ..)| *name);
            for (name, of, value) in values {
                let value = match of {
                    Type::Object => {
                        let id = u64::from_be_bytes(
                            value.try_into().expect("the slice has eight bytes"),
                        );
                        number(id)
                    }
                    _ => format!("{value:x?}"),
                };
                parts.push(format!("{}.{name} {of:?} {value}", self.name(above)));
            }
            above = class.super_id;
        }
        assert!(rest.is_empty(), "{}", self.name(class));
        parts
    }

    /// Describes, as text, the objects reached from the static fields of the class `name`. Objects
    /// are numbered in the order in which they are reached, because identifiers differ between
    /// dumps.
    pub(crate) fn reached(&self, name: &str) -> String {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut open = VecDeque::new();
        let mut text = String::new();
        let mut number = |id: u64, open: &mut VecDeque<u64>| -> String {
            if id == 0 {
                return "null".to_owned();
            }
            if self.classes.contains_key(&id) {
                return format!("class {}", self.name(id));
            }
            let next = numbers.len();
            let number = *numbers.entry(id).or_insert(next);
            if number == next {
                open.push_back(id);
            }
            format!("#{number}")
        };
        let class = self.class(name);
        let mut statics: Vec<_> = class.statics.iter().collect();
        statics.retain(|field| !self.names[&field.name].starts_with('<'));
        statics.sort_by_key(|field| &self.names[&field.name]);
        for field in statics {
            let value = match field.value_type {
                Type::Object => number(field.value, &mut open),
                _ => format!("{:x}", field.value),
            };
            let name = &self.names[&field.name];
            writeln!(text, "static {name} {:?} {value}", field.value_type)
                .expect("writing to a String cannot fail");
        }
        while let Some(id) = open.pop_front() {
            match self.objects.get(&id) {
                // The object is missing in this dump, which is normal: neither dump has all
                // objects.
                None => writeln!(text, "nothing"),
                Some(Object::Values { of, length, bytes }) => {
                    writeln!(text, "{of:?} {length} {bytes:x?}")
                }
                Some(Object::Array { class, ids }) => {
                    let ids: Vec<_> = ids.iter().map(|id| number(*id, &mut open)).collect();
                    writeln!(text, "{} {ids:?}", self.name(*class))
                }
                Some(Object::Instance { class, .. }) if self.name(*class) == "java/lang/Class" => {
                    writeln!(text, "a class of a primitive type")
                }
                Some(Object::Instance { class, fields }) => {
                    let mut number = |id| number(id, &mut open);
                    let parts = self.fields(*class, fields, &mut number);
                    writeln!(text, "{} {parts:?}", self.name(*class))
                }
            }
            .expect("writing to a String cannot fail");
        }
        text
    }

    pub(crate) fn instances(&self, name: &str) -> Vec<u64> {
        let is = |object: &Object| matches!(object, Object::Instance { class, .. } if self.name(*class) == name);
        let found = self.objects.iter().filter(|(_, object)| is(object));
        found.map(|(id, _)| *id).collect()
    }
}
