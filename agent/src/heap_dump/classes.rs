//! The classes of the VM, and which field a number of JVM TI's stands for.

use std::collections::HashSet;

use super::dump::{id_in, tag_of};
use super::{Fault, NO_REFERENCES, Wanted};
use crate::jvm::heap_walk::{FieldInfo, size_of};
use crate::jvm::jni::{Jni, Reference};
use crate::jvm::jvmti::{self, Jvmti};

/// `JVMTI_ERROR_CLASS_NOT_PREPARED`: JVM TI does not tell its fields. It has no
/// objects, but in the archive of the JDK's.
const CLASS_NOT_PREPARED: i32 = 22;

/// Objects have numbers in steps of this.
pub(super) const STEP: u64 = 8;

/// How often one looks for classes loaded while one looked: each time there is
/// less to look at, unless the program makes classes all the time.
const LOOKS: u32 = 10;

/// What objects of a class are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Instance,
    ObjectArray,
    PrimitiveArray,
}

#[derive(Debug)]
pub(super) struct Class {
    /// As the VM writes it: `java/lang/String`, `[I`.
    pub(super) name: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) superclass: Option<usize>,
    /// Those that it names itself.
    interfaces: Vec<usize>,
    /// Its own, in the order of the class file.
    pub(super) fields: Vec<FieldInfo>,
    pub(super) is_prepared: bool,
}

#[cfg(test)]
impl Class {
    /// One with such fields: descriptors, and whether they are static.
    pub(super) fn prepared(
        name: &str,
        kind: Kind,
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

/// Where a field's value is in an object's record, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) offset: usize,
    pub(super) of: u8,
}

/// The fields of a class's objects.
#[derive(Debug)]
pub(super) struct Plan {
    /// JVM TI's number of the first.
    first: usize,
    /// By those numbers; `None` for static ones.
    slots: Vec<Option<Slot>>,
    /// Bytes of all.
    pub(super) size: usize,
    /// Whether fields of some class are not known.
    pub(super) is_partial: bool,
}

impl Plan {
    /// The field with a number of JVM TI's.
    pub(super) fn slot(&self, index: i32, is_reference: bool) -> Option<Slot> {
        let at = usize::try_from(index).ok()?.checked_sub(self.first)?;
        let slot = (*self.slots.get(at)?)?;
        (is_reference == matches!(slot.of, b'L' | b'[')).then_some(slot)
    }
}

/// The classes, each with a number; its identifier is the number's.
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    /// `java.lang.Class`.
    pub(super) of_classes: usize,
}

/// The identifier of a class.
pub(super) fn id_of(number: usize) -> u64 {
    (number as u64 + 1) * STEP
}

impl Classes {
    /// Looks at the classes that are loaded, and tags them with their
    /// identifiers; ends when the dump is not `wanted` any more.
    pub(super) fn find(jvmti: Jvmti, jni: Jni<'_>, wanted: &Wanted<'_>) -> Result<Classes, Fault> {
        let mut classes = Classes {
            all: Vec::new(),
            of_classes: usize::MAX,
        };
        // While one looks, more are loaded.
        let mut looks = LOOKS;
        while classes.add_new(jvmti, jni)? {
            wanted.check()?;
            looks = looks.checked_sub(1).ok_or(Fault::Changed)?;
        }
        let of_classes = |class: &Class| class.name == b"java/lang/Class";
        let found = classes.all.iter().position(of_classes);
        classes.of_classes = found.ok_or(Fault::Odd("there is no java.lang.Class"))?;
        Ok(classes)
    }

    /// Adds those that have no tag; whether there were any.
    fn add_new(&mut self, jvmti: Jvmti, jni: Jni<'_>) -> Result<bool, Fault> {
        let add = || {
            jni.ensure_local_capacity();
            let mut new = Vec::new();
            for class in jvmti.loaded_classes()? {
                if jvmti.tag(class)? == 0 {
                    let id = id_of(self.all.len() + new.len());
                    jvmti.set_tag(class, tag_of(id))?;
                    new.push(class);
                }
            }
            for class in &new {
                let class = jni.framed(|| self.class(jvmti, jni, *class));
                self.all.push(class.unwrap_or(Err(NO_REFERENCES))?);
            }
            Ok(!new.is_empty())
        };
        jni.framed(add).unwrap_or(Err(NO_REFERENCES))
    }

    /// Whether these classes' fields still are not told: then they were not
    /// when the walk came by.
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
                    wanted.insert(id_of(number));
                }
                next = self.all[number].superclass;
            }
        }
        let look = || {
            jni.ensure_local_capacity();
            for class in jvmti.loaded_classes()? {
                let id = id_in(jvmti.tag(class)?);
                if wanted.contains(&id)
                    && jvmti.class_fields(class).err() != Some(jvmti::Error(CLASS_NOT_PREPARED))
                {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match wanted.is_empty() {
            true => Ok(true),
            false => jni.framed(look).unwrap_or(Err(NO_REFERENCES)),
        }
    }

    /// The number of a class by its identifier.
    pub(super) fn number(&self, id: u64) -> Option<usize> {
        let number = (id / STEP).checked_sub(1)?;
        usize::try_from(number)
            .ok()
            .filter(|number| *number < self.all.len())
    }

    fn class(&self, jvmti: Jvmti, jni: Jni<'_>, class: Reference) -> Result<Class, Fault> {
        let number = |class: Reference| -> Result<usize, Fault> {
            let id = id_in(jvmti.tag(class)?);
            // All above are loaded before, but may be found after.
            match (id / STEP).checked_sub(1) {
                Some(number) => Ok(number as usize),
                None => Err(Fault::Changed),
            }
        };
        let signature = jvmti.class_signature(class)?;
        let superclass = jni.superclass(class);
        let superclass = match superclass.is_null() {
            true => None,
            false => Some(number(superclass)?),
        };
        let unless_new = |error| match error {
            jvmti::Error(CLASS_NOT_PREPARED) => Ok(None),
            error => Err(Fault::Vm(error)),
        };
        let fields = jvmti.class_fields(class).map(Some).or_else(unless_new)?;
        let interfaces = match &fields {
            None => Vec::new(),
            Some(_) => {
                let interfaces = jvmti.interfaces(class)?;
                let interfaces = interfaces.into_iter().map(number);
                interfaces.collect::<Result<_, _>>()?
            }
        };
        let kind = match &*signature {
            [b'[', b'[' | b'L', ..] => Kind::ObjectArray,
            [b'[', ..] => Kind::PrimitiveArray,
            _ => Kind::Instance,
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

    /// A class and those above it.
    fn with_supers(&self, class: usize) -> impl Iterator<Item = &Class> {
        let above = |class: &&Class| class.superclass.and_then(|above| self.all.get(above));
        std::iter::successors(self.all.get(class), above)
    }

    /// JVM TI counts the fields of all interfaces first.
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

    /// The fields of a class's objects: in their records the class's own come
    /// first.
    pub(super) fn plan(&self, class: usize) -> Plan {
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
        Plan {
            first: self.interface_fields(class),
            slots: parts.into_iter().rev().flatten().collect(),
            size,
            is_partial: self.with_supers(class).any(|class| !class.is_prepared),
        }
    }

    /// JVM TI's number of a class's own first field, where static ones are
    /// meant.
    pub(super) fn first_static(&self, class: usize) -> usize {
        let above = self.with_supers(class).skip(1);
        let above: usize = above.map(|class| class.fields.len()).sum();
        above + self.interface_fields(class)
    }
}

/// As class files have it, from `Ljava/lang/String;`.
fn name(signature: Vec<u8>) -> Vec<u8> {
    let inner = signature.strip_prefix(b"L");
    let Some(inner) = inner.and_then(|inner| inner.strip_suffix(b";")) else {
        return signature;
    };
    // JVM TI's mark of hidden classes, which the VM writes as a plus.
    let plain = |byte: &u8| if *byte == b'.' { b'+' } else { *byte };
    inner.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(superclass: Option<usize>, interfaces: &[usize], fields: &[(&str, bool)]) -> Class {
        Class {
            interfaces: interfaces.to_vec(),
            ..Class::prepared("C", Kind::Instance, superclass, fields)
        }
    }

    /// The rule of `jvmtiHeapReferenceInfoField`.
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
        let plan = classes.plan(4);
        assert_eq!((plan.first, plan.size), (3, 8 + 8 + 1 + 8));
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
            assert_eq!(plan.slot(index, is_reference), expected, "{index}");
        }
        let first = [1, 2, 3, 4].map(|class| classes.first_static(class));
        assert_eq!(first, [0, 2, 3, 6]);
    }

    #[test]
    fn names_are_the_vms() {
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
