//! A copy of objects with their references and values, from which the records of dumps are written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use loadhook_jvm::heap_walk::{NewlyTagged, Source, Tagged, Variable, Visitor};
use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti_classes::FieldInfo;
use loadhook_jvm::reference::Local;

use super::dump_records::Bytes;
use super::layer::{self, Profilers};
use super::thread_record::Thread;
use super::{arrivals, definitions, stacks, tags, thread_events, threads};
use crate::abi::{Int, kind};

/// Tags of records.
mod record {
    pub(super) const UNKNOWN: u8 = 0xff;
    pub(super) const JNI_GLOBAL: u8 = 0x01;
    pub(super) const JNI_LOCAL: u8 = 0x02;
    pub(super) const JAVA_FRAME: u8 = 0x03;
    pub(super) const STICKY_CLASS: u8 = 0x05;
    pub(super) const THREAD_BLOCK: u8 = 0x06;
    pub(super) const MONITOR_USED: u8 = 0x07;
    pub(super) const CLASS: u8 = 0x20;
    pub(super) const INSTANCE: u8 = 0x21;
    pub(super) const OBJECT_ARRAY: u8 = 0x22;
    pub(super) const PRIMITIVE_ARRAY: u8 = 0x23;
}

/// A class, for its own record and the records of its objects.
struct Class {
    superclass: usize,
    interfaces: Vec<usize>,
    fields: Vec<FieldInfo>,
}

/// The values of an object or of a class's static fields.
#[derive(Default)]
struct Object {
    class: usize,
    length: Option<u32>,
    references: HashMap<i32, usize>,
    primitives: HashMap<i32, u64>,
    /// Elements of an array of a primitive type.
    elements: Vec<u8>,
    loader: usize,
    signers: usize,
    domain: usize,
}

struct Root {
    tag: u8,
    object: usize,
    variable: Option<Variable>,
}

/// Objects, their classes, and the roots of the heap.
#[derive(Default)]
pub(super) struct HeapCopy {
    /// True if the copy has values of primitive types.
    has_values: bool,
    classes: HashMap<usize, Class>,
    objects: BTreeMap<usize, Object>,
    roots: Vec<Root>,
    /// Threads, by the ids of their objects.
    threads: HashMap<usize, Arc<Thread>>,
    /// Objects that got their id in the walk.
    new: Vec<NewlyTagged>,
}

impl HeapCopy {
    /// Copies all objects that can be reached.
    pub(super) fn of_all(jni: Jni<'_>, has_values: bool) -> Option<Self> {
        let jvmti = layer::jvmti()?;
        // Everything gets an id before the walk, so that all definitions are sent.
        arrivals::existing_objects(jni);
        let mut copy = HeapCopy {
            has_values,
            ..HeapCopy::default()
        };
        for thread in threads::all() {
            let id = definitions::id_of(jni, thread.object());
            copy.threads.insert(id, thread);
        }
        jni.framed(|jni| {
            jni.ensure_local_capacity();
            for class in jvmti.loaded_classes(jni).unwrap_or_default() {
                jni.framed(|jni| copy.add_class(jni, class));
            }
        });
        let mut is_whole = false;
        arrivals::tag_all(jni, |jvmti| {
            is_whole = matches!(jvmti.follow_references(&mut copy), Ok(Ok(())));
            std::mem::take(&mut copy.new)
        });
        let HeapCopy { roots, objects, .. } = &mut copy;
        roots.retain(|root| objects.contains_key(&root.object));
        is_whole.then_some(copy)
    }

    /// Copies one object.
    pub(super) fn of_object(jni: Jni<'_>, object: Local<'_>) -> Option<Self> {
        let mut copy = HeapCopy {
            has_values: true,
            ..HeapCopy::default()
        };
        let class = jni.class_of(object).ok()?;
        let id = definitions::id_of(jni, object);
        let class_id = definitions::class_id(jni, class);
        copy.add_with_supers(jni, class);
        let of_classes = jni.find_class(c"java/lang/Class").ok()?;
        if jni.is_instance(object, of_classes) {
            copy.add_with_supers(jni, object);
        }
        let is_array = definitions::facts_by_id(class_id)?.is_array != kind::NORMAL_OBJECT;
        let own = copy.objects.entry(id).or_default();
        own.class = class_id;
        own.length = is_array.then(|| jni.array_length(object).max(0).cast_unsigned());
        let mut is_whole = false;
        arrivals::tag_all(jni, |jvmti| {
            is_whole = matches!(jvmti.show_object(object, &mut copy), Ok(Ok(())));
            std::mem::take(&mut copy.new)
        });
        is_whole.then_some(copy)
    }

    /// Adds a class with its superclasses and superinterfaces, whose fields are numbered together.
    fn add_with_supers(&mut self, jni: Jni<'_>, class: Local<'_>) {
        if class.is_null()
            || self
                .classes
                .contains_key(&definitions::class_id(jni, class))
        {
            return;
        }
        self.add_class(jni, class);
        jni.framed(|jni| {
            self.add_with_supers(jni, jni.superclass(class));
            let interfaces = layer::jvmti().and_then(|it| it.interfaces(jni, class).ok());
            for interface in interfaces.unwrap_or_default() {
                self.add_with_supers(jni, interface);
            }
        });
    }

    fn add_class(&mut self, jni: Jni<'_>, class: Local<'_>) {
        let Some(jvmti) = layer::jvmti() else {
            return;
        };
        let id = definitions::class_id(jni, class);
        let superclass = jni.superclass(class);
        let interfaces = jvmti.interfaces(jni, class).unwrap_or_default();
        let found = Class {
            superclass: definitions::id_of(jni, superclass),
            interfaces: interfaces
                .into_iter()
                .map(|it| definitions::id_of(jni, it))
                .collect(),
            fields: jvmti.class_fields(class).unwrap_or_default(),
        };
        self.classes.insert(id, found);
    }

    /// Returns a class and its superclasses.
    fn with_supers(&self, class: usize) -> impl Iterator<Item = &Class> {
        std::iter::successors(self.classes.get(&class), |class| {
            self.classes.get(&class.superclass)
        })
    }

    /// Returns the number of fields of all superinterfaces. JVM TI numbers these fields first.
    fn interface_fields(&self, class: usize) -> usize {
        let mut open: Vec<usize> = self
            .with_supers(class)
            .flat_map(|class| class.interfaces.iter().copied())
            .collect();
        let mut seen = HashSet::new();
        let mut fields = 0;
        while let Some(interface) = open.pop() {
            if let Some(class) = self.classes.get(&interface)
                && seen.insert(interface)
            {
                fields += class.fields.len();
                open.extend(&class.interfaces);
            }
        }
        fields
    }

    /// Forgets all objects that are no classes. Roots stay.
    pub(super) fn keep_classes(&mut self) {
        let classes = &self.classes;
        self.objects.retain(|id, _| classes.contains_key(id));
    }

    /// Forgets the roots and the threads.
    pub(super) fn drop_roots(&mut self) {
        self.roots = Vec::new();
        self.threads = HashMap::new();
    }

    /// Returns the fields of a class and then of its superclasses, each with JVM TI's number.
    fn numbered(&self, class: usize) -> Vec<(i32, &FieldInfo)> {
        let chain: Vec<&Class> = self.with_supers(class).collect();
        let above = |place: usize| -> usize {
            chain
                .iter()
                .skip(place + 1)
                .map(|class| class.fields.len())
                .sum()
        };
        let first = self.interface_fields(class);
        let mut fields = Vec::new();
        for (place, class) in chain.iter().enumerate() {
            let start = first + above(place);
            let numbers = (start..).map(|number| number as i32);
            fields.extend(numbers.zip(&class.fields));
        }
        fields
    }

    /// Returns a number of bytes that is enough for the records of roots: each has a tag, up to two pointers and up to
    /// four bytes more.
    pub(super) fn most_bytes_of_roots(&self) -> usize {
        self.roots.len() * (1 + 2 * size_of::<usize>() + 4)
    }

    /// Writes the records of roots. Returns the environments of the threads that have roots. Names only threads that
    /// the profilers of `to` know.
    pub(super) fn roots(&self, bytes: &mut Bytes, to: Profilers) -> Vec<usize> {
        let known: HashMap<usize, usize> = self
            .threads
            .iter()
            .filter(|(_, thread)| thread_events::is_known(thread, to))
            .map(|(id, thread)| (*id, thread.env))
            .collect();
        let mut envs: BTreeSet<usize> = BTreeSet::new();
        let mut depths: HashMap<usize, i32> = HashMap::new();
        for root in &self.roots {
            let env = match root.variable {
                Some(variable) => known.get(&(variable.thread_tag as usize)).copied(),
                None => known.get(&root.object).copied(),
            };
            let needs_env =
                [record::JNI_LOCAL, record::JAVA_FRAME, record::THREAD_BLOCK].contains(&root.tag);
            // A thread that has ended or is just starting has no environment here, nor has a virtual thread that
            // profilers do not see.
            let tag = if needs_env && env.is_none() {
                record::UNKNOWN
            } else {
                root.tag
            };
            bytes.u1(tag);
            bytes.pointer(root.object);
            if tag == record::JNI_GLOBAL {
                // The JVM does not show the JNI reference that holds the object.
                bytes.pointer(0);
            }
            let Some(env) = env.filter(|_| needs_env) else {
                continue;
            };
            bytes.pointer(env);
            envs.insert(env);
            if let Some(variable) = root.variable {
                let count = *depths.entry(env).or_insert_with(|| {
                    let env = std::ptr::with_exposed_provenance_mut(env);
                    stacks::depth(env) as i32
                });
                let frame = if count == 0 {
                    -1
                } else {
                    (count - variable.depth).clamp(1, count)
                };
                bytes.u4(frame as u32);
            }
        }
        envs.into_iter().collect()
    }

    /// Writes the records of all objects.
    pub(super) fn records(&self, bytes: &mut Bytes) {
        self.objects.keys().for_each(|id| self.record(bytes, *id));
    }

    /// Writes the record of an object.
    pub(super) fn record(&self, bytes: &mut Bytes, id: usize) {
        let Some(object) = self.objects.get(&id) else {
            return;
        };
        if self.classes.contains_key(&id) {
            self.class_record(bytes, id, object);
            return;
        }
        let facts = definitions::facts_by_id(object.class).unwrap_or_default();
        let length = object.length.unwrap_or(0);
        match facts.is_array {
            kind::NORMAL_OBJECT => {
                let mut values = Bytes::default();
                for (number, field) in self.numbered(object.class) {
                    if !field.is_static {
                        self.field_value(&mut values, object, number, field);
                    }
                }
                bytes.u1(record::INSTANCE);
                bytes.pointer(id);
                bytes.pointer(object.class);
                bytes.u4(values.len() as u32);
                bytes.append(&values);
            }
            kind::CLASS => {
                bytes.u1(record::OBJECT_ARRAY);
                bytes.pointer(id);
                bytes.u4(length);
                bytes.pointer(facts.shown_class);
                for place in 0..length {
                    let element = object.references.get(&(place as i32));
                    bytes.pointer(element.copied().unwrap_or(0));
                }
            }
            of => {
                bytes.u1(record::PRIMITIVE_ARRAY);
                bytes.pointer(id);
                bytes.u4(length);
                bytes.u1(of as u8);
                if self.has_values {
                    bytes.elements(descriptor(of), &object.elements);
                }
            }
        }
    }

    fn class_record(&self, bytes: &mut Bytes, id: usize, object: &Object) {
        let Some(class) = self.classes.get(&id) else {
            return;
        };
        bytes.u1(record::CLASS);
        for pointer in [
            id,
            class.superclass,
            object.loader,
            object.signers,
            object.domain,
        ] {
            bytes.pointer(pointer);
        }
        // The name as an object, which may be null, and the reserved pointer.
        bytes.pointer(0);
        bytes.pointer(0);
        let size: usize = self
            .with_supers(id)
            .flat_map(|class| &class.fields)
            .filter(|field| !field.is_static)
            .map(|field| loadhook_jvm::heap_walk::size_of(first(field)))
            .sum();
        bytes.u4(size as u32);
        class
            .interfaces
            .iter()
            .for_each(|interface| bytes.pointer(*interface));
        bytes.u2(0);
        let own = class.fields.len();
        for (number, field) in self.numbered(id).into_iter().take(own) {
            if field.is_static {
                self.field_value(bytes, object, number, field);
            }
        }
    }

    /// Writes the value of a field. A copy without values has only references.
    fn field_value(&self, bytes: &mut Bytes, object: &Object, number: i32, field: &FieldInfo) {
        match first(field) {
            b'L' | b'[' => bytes.pointer(object.references.get(&number).copied().unwrap_or(0)),
            of if self.has_values => {
                bytes.value(of, object.primitives.get(&number).copied().unwrap_or(0));
            }
            _ => {}
        }
    }

    fn object(&mut self, tagged: Tagged<'_>) -> &mut Object {
        let object = self.objects.entry(tagged.tag.get() as usize).or_default();
        object.class = tagged.class_tag as usize;
        object
    }
}

fn first(field: &FieldInfo) -> u8 {
    field.descriptor.first().copied().unwrap_or(b'L')
}

/// Returns the descriptor of a primitive type.
fn descriptor(of: Int) -> u8 {
    *b"ZCFDBSIJ"
        .iter()
        .find(|descriptor| kind::of(**descriptor) == of)
        .unwrap_or(&b'J')
}

impl Visitor for HeapCopy {
    fn wants_values(&self) -> bool {
        self.has_values
    }

    fn reference(
        &mut self,
        source: Source,
        from: Option<Tagged<'_>>,
        to: Tagged<'_>,
        size: i64,
        length: Option<u32>,
    ) -> bool {
        self.new.extend(tags::tag_in_walk(to, size));
        let object = self.object(to);
        object.length = length;
        let id = to.tag.get() as usize;
        let Some(from) = from else {
            let (tag, variable) = match source {
                Source::JniGlobal => (record::JNI_GLOBAL, None),
                Source::JniLocal(variable) => (record::JNI_LOCAL, Some(variable)),
                Source::StackLocal(variable) => (record::JAVA_FRAME, Some(variable)),
                Source::SystemClass => (record::STICKY_CLASS, None),
                Source::Monitor => (record::MONITOR_USED, None),
                Source::Thread => (record::THREAD_BLOCK, None),
                _ => (record::UNKNOWN, None),
            };
            self.roots.push(Root {
                tag,
                object: id,
                variable,
            });
            return true;
        };
        let from = self.object(from);
        match source {
            Source::Field(number) | Source::StaticField(number) | Source::Element(number) => {
                from.references.insert(number, id);
            }
            Source::ClassLoader => from.loader = id,
            Source::Signers => from.signers = id,
            Source::ProtectionDomain => from.domain = id,
            _ => {}
        }
        true
    }

    fn primitive_field(&mut self, _of: u8, index: i32, from: Tagged<'_>, bits: u64) -> bool {
        self.object(from).primitives.insert(index, bits);
        true
    }

    fn primitive_array(&mut self, _of: u8, from: Tagged<'_>, length: u32, elements: &[u8]) -> bool {
        let array = self.object(from);
        array.length = Some(length);
        array.elements = elements.to_vec();
        true
    }
}
