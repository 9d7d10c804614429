//! The classes of the JVM, and their fields, which JVM TI identifies by numbers.

use std::collections::HashSet;

use super::cancellable::Cancellable;
use super::fault::Fault;
use super::tags::{class_number, id_in, id_of_class, tag_of};
use crate::jvm::heap_walk::size_of;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::jvmti_classes::FieldInfo;
use crate::jvm::reference::Local;

/// `JVMTI_ERROR_CLASS_NOT_PREPARED`: JVM TI does not list the fields of the class. The only objects of such a class
/// are those in the JDK's archive for class data sharing.
const CLASS_NOT_PREPARED: i32 = 22;

/// The maximum number of times that the classes are listed, because the program may load classes during a listing. Each
/// list has fewer new classes, unless the program makes classes all the time.
const MOST_LISTS: u32 = 10;

/// The kind of the objects of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Instance,
    ObjectArray,
    PrimitiveArray,
}

#[derive(Debug)]
pub(super) struct Class {
    /// Name as the JVM writes it: `java/lang/String`, `[I`.
    pub(super) name: Vec<u8>,
    pub(super) kind: ObjectKind,
    pub(super) superclass: Option<usize>,
    /// The direct superinterfaces, by number.
    interfaces: Vec<usize>,
    /// The fields that the class declares, in the order of the class file.
    pub(super) fields: Vec<FieldInfo>,
    pub(super) is_prepared: bool,
}

#[cfg(test)]
impl Class {
    /// Makes a class that declares `fields`. Each of them is a descriptor, and true for a static field.
    pub(super) fn prepared(
        name: &str,
        kind: ObjectKind,
        superclass: Option<usize>,
        fields: &[(&str, bool)],
    ) -> Class {
        let field = |(descriptor, is_static): &(&str, bool)| FieldInfo {
            name: b"f".to_vec(),
            descriptor: descriptor.as_bytes().to_vec(),
            is_static: *is_static,
        };
        Class {
            name: name.as_bytes().to_vec(),
            kind,
            superclass,
            interfaces: Vec::new(),
            fields: fields.iter().map(field).collect(),
            is_prepared: true,
        }
    }
}

/// A field in the record of an object: the offset of its value, and the first byte of its descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) offset: usize,
    pub(super) of: u8,
}

/// The layout of an object's record. It is the same for all objects of a class.
#[derive(Debug)]
pub(super) struct RecordLayout {
    /// JVM TI's number of the first field in `slots`.
    first: usize,
    /// Slots of the fields by JVM TI's numbers, counted from `first`; `None` for static fields.
    slots: Vec<Option<Slot>>,
    /// Size of all values in bytes.
    pub(super) size: usize,
    /// True if the fields of the class or of a superclass are not known.
    pub(super) is_partial: bool,
}

impl RecordLayout {
    /// Returns the slot of the field that has the number `index` in JVM TI; `None` if there is no such instance field,
    /// or if `is_reference` does not fit the field's type.
    pub(super) fn slot(&self, index: i32, is_reference: bool) -> Option<Slot> {
        let at = usize::try_from(index).ok()?.checked_sub(self.first)?;
        let slot = (*self.slots.get(at)?)?;
        (is_reference == matches!(slot.of, b'L' | b'[')).then_some(slot)
    }
}

/// The classes. The number of a class is its index in `all`.
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    /// Number of `java.lang.Class`.
    pub(super) of_classes: usize,
}

impl Classes {
    /// Lists the loaded classes and tags them with their identifiers, unless the dump is cancelled.
    pub(super) fn find(
        jvmti: Jvmti,
        jni: Jni<'_>,
        file: &Cancellable<'_>,
    ) -> Result<Classes, Fault> {
        let mut classes = Classes {
            all: Vec::new(),
            of_classes: usize::MAX,
        };
        // The program may load classes during a listing, so listings are repeated until one finds no new class.
        let mut lists = MOST_LISTS;
        while classes.add_new(jvmti, jni)? {
            file.check()?;
            lists = lists.checked_sub(1).ok_or(Fault::ClassesChanged)?;
        }
        let is_of_classes = |class: &Class| class.name == b"java/lang/Class";
        let of_classes = classes.all.iter().position(is_of_classes);
        classes.of_classes = of_classes.ok_or(Fault::Unspecified("there is no java.lang.Class"))?;
        Ok(classes)
    }

    /// Adds the classes that have no tag yet. Returns whether there were such classes.
    fn add_new(&mut self, jvmti: Jvmti, jni: Jni<'_>) -> Result<bool, Fault> {
        let added = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let mut new = Vec::new();
            for class in jvmti.loaded_classes(jni)? {
                if jvmti.tag(class)? == 0 {
                    let id = id_of_class(self.all.len() + new.len());
                    jvmti.set_tag(class, tag_of(id))?;
                    new.push(class);
                }
            }
            for class in &new {
                let class = jni.framed(|jni| self.class(jvmti, jni, *class));
                self.all.push(class.unwrap_or(Err(Fault::NoReferences))?);
            }
            Ok(!new.is_empty())
        });
        added.unwrap_or(Err(Fault::NoReferences))
    }

    /// Looks at the classes in `partial` and at their superclasses. Returns whether all of them that were unprepared
    /// before the walk are unprepared now. If so, they were unprepared during the walk too.
    pub(super) fn are_unprepared(
        &self,
        partial: &[usize],
        jvmti: Jvmti,
        jni: Jni<'_>,
    ) -> Result<bool, Fault> {
        let mut wanted: HashSet<u64> = HashSet::new();
        for class in partial {
            let mut next = Some(*class);
            while let Some(number) = next {
                if !self.all[number].is_prepared {
                    wanted.insert(id_of_class(number));
                }
                next = self.all[number].superclass;
            }
        }
        if wanted.is_empty() {
            return Ok(true);
        }
        let are_unprepared = jni.framed(|jni| {
            jni.ensure_local_capacity();
            for class in jvmti.loaded_classes(jni)? {
                let id = id_in(jvmti.tag(class)?);
                if wanted.contains(&id)
                    && jvmti.class_fields(class).err() != Some(jvmti::Error(CLASS_NOT_PREPARED))
                {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        are_unprepared.unwrap_or(Err(Fault::NoReferences))
    }

    /// Returns the number of the class with this identifier; `None` if no class has it.
    pub(super) fn number(&self, id: u64) -> Option<usize> {
        class_number(id).filter(|number| *number < self.all.len())
    }

    fn class(&self, jvmti: Jvmti, jni: Jni<'_>, class: Local<'_>) -> Result<Class, Fault> {
        let number = |class: Local<'_>| -> Result<usize, Fault> {
            let id = id_in(jvmti.tag(class)?);
            // Supertypes are loaded before the class, but the JVM's list may contain the class without them.
            class_number(id).ok_or(Fault::ClassesChanged)
        };
        let signature = jvmti.class_signature(class)?;
        let superclass = jni.superclass(class);
        let superclass = if superclass.is_null() {
            None
        } else {
            Some(number(superclass)?)
        };
        let unless_unprepared = |error| match error {
            jvmti::Error(CLASS_NOT_PREPARED) => Ok(None),
            error => Err(Fault::Jvmti(error)),
        };
        let fields = jvmti.class_fields(class).map(Some);
        let fields = fields.or_else(unless_unprepared)?;
        let interfaces = match &fields {
            None => Vec::new(),
            Some(_) => {
                let interfaces = jvmti.interfaces(jni, class)?;
                let interfaces = interfaces.into_iter().map(number);
                interfaces.collect::<Result<_, _>>()?
            }
        };
        let kind = match &*signature {
            [b'[', b'[' | b'L', ..] => ObjectKind::ObjectArray,
            [b'[', ..] => ObjectKind::PrimitiveArray,
            _ => ObjectKind::Instance,
        };
        Ok(Class {
            name: name(signature),
            kind,
            superclass,
            interfaces,
            is_prepared: fields.is_some(),
            fields: fields.unwrap_or_default(),
        })
    }

    /// Returns a class, followed by its superclasses.
    fn with_supers(&self, class: usize) -> impl Iterator<Item = &Class> {
        let above = |class: &&Class| class.superclass.and_then(|above| self.all.get(above));
        std::iter::successors(self.all.get(class), above)
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
            if let Some(class) = self.all.get(interface)
                && seen.insert(interface)
            {
                fields += class.fields.len();
                open.extend(&class.interfaces);
            }
        }
        fields
    }

    /// Returns the layout of the record of a class's object. The fields that the class declares come before the fields
    /// of its superclasses.
    pub(super) fn layout(&self, class: usize) -> RecordLayout {
        let mut parts = Vec::new();
        let mut size = 0;
        for class in self.with_supers(class) {
            let mut slots = Vec::new();
            for field in &class.fields {
                let of = field.descriptor.first().copied().unwrap_or(b'L');
                slots.push((!field.is_static).then_some(Slot { offset: size, of }));
                if !field.is_static {
                    size += size_of(of);
                }
            }
            parts.push(slots);
        }
        RecordLayout {
            first: self.interface_fields(class),
            slots: parts.into_iter().rev().flatten().collect(),
            size,
            is_partial: self.with_supers(class).any(|class| !class.is_prepared),
        }
    }

    /// Returns JVM TI's number of the first field that a class declares, in reports on static fields of the class.
    pub(super) fn first_static(&self, class: usize) -> usize {
        let above = self.with_supers(class).skip(1);
        let above: usize = above.map(|class| class.fields.len()).sum();
        above + self.interface_fields(class)
    }
}

/// Converts the signature of a class to the name that class files have: `java/lang/String`.
fn name(signature: Vec<u8>) -> Vec<u8> {
    let inner = signature.strip_prefix(b"L");
    let Some(inner) = inner.and_then(|inner| inner.strip_suffix(b";")) else {
        return signature;
    };
    // In the name of a hidden class, JVM TI has a dot where the JVM writes a plus.
    let plain = |byte: &u8| if *byte == b'.' { b'+' } else { *byte };
    inner.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(superclass: Option<usize>, interfaces: &[usize], fields: &[(&str, bool)]) -> Class {
        Class {
            interfaces: interfaces.to_vec(),
            ..Class::prepared("C", ObjectKind::Instance, superclass, fields)
        }
    }

    /// Checks the numbering of fields that the specification of `jvmtiHeapReferenceInfoField` gives.
    #[test]
    fn fields_are_counted_as_jvm_ti_does() {
        let classes = Classes {
            of_classes: 0,
            all: vec![
                class(None, &[], &[]),
                // Interfaces: the first above the second.
                class(None, &[], &[("I", true), ("J", true)]),
                class(None, &[1], &[("I", true)]),
                class(
                    Some(0),
                    &[2],
                    &[("B", false), ("La;", true), ("La;", false)],
                ),
                class(
                    Some(3),
                    &[1, 2],
                    &[("J", false), ("[I", false), ("Z", true)],
                ),
            ],
        };
        let layout = classes.layout(4);
        assert_eq!((layout.first, layout.size), (3, 8 + 8 + 1 + 8));
        let slot = |offset, of| Some(Slot { offset, of });
        for (index, is_reference, expected) in [
            (2, false, None),
            (3, false, slot(16, b'B')),
            (3, true, None),
            (4, true, None),
            (5, true, slot(17, b'L')),
            (6, false, slot(0, b'J')),
            (7, true, slot(8, b'[')),
            (8, false, None),
            (9, false, None),
            (-1, false, None),
        ] {
            assert_eq!(layout.slot(index, is_reference), expected, "{index}");
        }
        let first = [1, 2, 3, 4].map(|class| classes.first_static(class));
        assert_eq!(first, [0, 2, 3, 6]);
    }

    #[test]
    fn names_are_those_of_the_jvm() {
        for (signature, expected) in [
            ("Ljava/lang/String;", "java/lang/String"),
            ("[Ljava/lang/String;", "[Ljava/lang/String;"),
            ("[[I", "[[I"),
            ("La/B$$Lambda.0x12;", "a/B$$Lambda+0x12"),
        ] {
            assert_eq!(name(signature.into()), expected.as_bytes());
        }
    }
}
