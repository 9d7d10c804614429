//! The bytes of arrays and objects, as this VM lays them out: whatever its
//! version, the width of its references, its headers and its alignment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadhook_rewrite::Allocation;

use crate::instrument::loaders::Loaders;
use crate::jvm::jni::{Argument, Jni, Reference, StaticMethod, Thrown};
use crate::jvm::jvmti::Jvmti;

/// The bits below a site's id that tell an array's kind; the tracker's.
pub(crate) const KIND_BITS: u32 = 3;

/// The kind of arrays that hold references. Those below hold primitives of 1,
/// 2, 4 and 8 bytes.
const REFERENCES: u32 = 4;

/// The alignment of objects is no larger.
const MOST_ALIGNED: i32 = 256;

/// The kind of the arrays that hold no arrays of the same allocation; `None`
/// for an object.
pub(crate) fn array_kind(allocation: &Allocation<'_>) -> Option<u32> {
    let of = |descriptor: Option<&u8>| match descriptor {
        Some(b'Z' | b'B') => 0,
        Some(b'C' | b'S') => 1,
        Some(b'I' | b'F') => 2,
        Some(b'J' | b'D') => 3,
        _ => REFERENCES,
    };
    match allocation {
        Allocation::Object(_) => None,
        // JVMS table 6.5.newarray-A.
        Allocation::PrimitiveArray(code) => {
            let descriptor = b"ZCFDBSIJ".get(usize::from(*code).wrapping_sub(4));
            Some(of(descriptor))
        }
        Allocation::ReferenceArray(_) => Some(REFERENCES),
        Allocation::MultiArray(array, dimensions) => Some(of(array.get(usize::from(*dimensions)))),
    }
}

/// What is known of them.
pub(crate) struct Sizes {
    sample: StaticMethod,
    set: StaticMethod,
    /// Whether the tracker was told.
    arrays: AtomicBool,
    instances: Mutex<HashMap<(u32, Arc<str>), u64>>,
    /// Loaders that were not there any more: what is unknown of them stays so.
    gone: Mutex<HashSet<Copy>>,
}

/// Where the classes are that code names: its copies share what is known of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Copy {
    /// The number of the loader of the code's first copy.
    pub(crate) first: u32,
    /// The number of the loader of its latest copy, which is most likely there.
    pub(crate) latest: u32,
}

impl Sizes {
    pub(crate) fn find(jni: Jni<'_>) -> Result<Self, Thrown> {
        let sizes = jni.find_class(c"java/lang/$LoadhookArraySizes")?;
        Ok(Sizes {
            sample: jni.static_method(sizes, c"sample", c"(II)Ljava/lang/Object;")?,
            set: jni.static_method(sizes, c"set", c"(IIII)V")?,
            arrays: AtomicBool::new(false),
            instances: Mutex::default(),
            gone: Mutex::default(),
        })
    }

    /// Measures arrays of each kind, for the tracker.
    pub(crate) fn measure_arrays(&self, jvmti: Jvmti, jni: Jni<'_>) {
        let known = (0..=REFERENCES as i32).all(|kind| {
            let size = |length: i32| {
                let size = jni.framed(|| {
                    let arguments = [kind, length].map(Argument::Int);
                    let array = jni.call_object(self.sample, &arguments).ok()?;
                    jvmti.object_size(array).ok()
                });
                i32::try_from(size.flatten()?).ok()
            };
            let layout = || {
                let empty = size(0)?;
                let scale = (size(MOST_ALIGNED)? - empty) / MOST_ALIGNED;
                // The first length for which there is no room behind the header.
                let (length, longer) = (1..=MOST_ALIGNED)
                    .filter_map(|length| Some((length, size(length)?)))
                    .find(|(_, size)| *size > empty)?;
                let base = empty - (length - 1) * scale;
                Some([kind, base, scale.checked_ilog2()? as i32, longer - empty])
            };
            layout()
                .is_some_and(|layout| jni.call_void(self.set, &layout.map(Argument::Int)).is_ok())
        });
        self.arrays.store(known, Ordering::Relaxed);
    }

    /// Whether the tracker knows the bytes of arrays.
    pub(crate) fn knows_arrays(&self) -> bool {
        self.arrays.load(Ordering::Relaxed)
    }

    /// The bytes of an instance, where [`Sizes::measure`] found it.
    pub(crate) fn instance(&self, loader: u32, class: &Arc<str>) -> Option<u64> {
        self.lock().get(&(loader, class.clone())).copied()
    }

    fn gone(&self) -> MutexGuard<'_, HashSet<Copy>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u32, Arc<str>), u64>> {
        self.instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures instances of the classes that code of these loaders names, as
    /// long as the heap has room for one. Only initialised classes have one made: who
    /// waits for an initialiser that is under way may wait for ever. No constructor
    /// runs, so that none has a finalizer.
    pub(crate) fn measure(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loaders: &Loaders,
        mut wanted: BTreeMap<Copy, BTreeSet<Arc<str>>>,
        has_room: impl Fn() -> bool,
    ) {
        // There is a later copy of the others.
        self.gone().retain(|copy| wanted.contains_key(copy));
        let known = self.lock();
        for (copy, classes) in &mut wanted {
            classes.retain(|class| !known.contains_key(&(copy.first, class.clone())));
        }
        drop(known);
        let gone = self.gone();
        wanted.retain(|copy, classes| !classes.is_empty() && !gone.contains(copy));
        drop(gone);
        if wanted.is_empty() {
            return;
        }
        let _ = jni.framed(|| {
            jni.ensure_local_capacity();
            // Whether there is still room.
            let among = |copy: Copy, reference: Reference, classes: &mut BTreeSet<Arc<str>>| {
                jni.ensure_local_capacity();
                for class in jvmti.class_loader_classes(reference).unwrap_or_default() {
                    let signature = jvmti.class_signature(class).unwrap_or_default();
                    let name = signature.strip_prefix(b"L");
                    let name = name.and_then(|name| name.strip_suffix(b";"));
                    let name = name.map(|name| Allocation::Object(name).type_name());
                    let Some(name) = name.and_then(|name| classes.take(name.as_str())) else {
                        continue;
                    };
                    if !jvmti.is_initialised(class).unwrap_or(false) {
                        continue;
                    }
                    if !has_room() {
                        return false;
                    }
                    let size = jni.framed(|| jvmti.object_size(jni.alloc_object(class).ok()?).ok());
                    if let Some(size) = size.flatten() {
                        self.lock().insert((copy.first, name), size.cast_unsigned());
                    }
                    if classes.is_empty() {
                        break;
                    }
                }
                true
            };
            // The references to a loader's classes are many, and go at once.
            let in_frame = |copy, reference, classes: &mut BTreeSet<Arc<str>>| {
                jni.framed(|| among(copy, reference, classes))
                    .unwrap_or(false)
            };
            let numbers = wanted.keys().map(|copy| copy.latest).collect();
            let references = loaders.references(jvmti, jni, &numbers);
            for (copy, mut classes) in wanted {
                let reference = references.get(&copy.latest);
                if let Some(reference) = reference
                    && !in_frame(copy, *reference, &mut classes)
                {
                    return;
                }
                // Of a loader that is gone, the JDK's classes are still there.
                classes.retain(|class| class.starts_with("java."));
                if !classes.is_empty() && !in_frame(copy, Reference::BOOT_LOADER, &mut classes) {
                    return;
                }
                if reference.is_none() {
                    self.gone().insert(copy);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_last_dimension_holds() {
        for (allocation, kind) in [
            (Allocation::Object(b"[I"), None),
            (Allocation::PrimitiveArray(4), Some(0)),
            (Allocation::PrimitiveArray(5), Some(1)),
            (Allocation::PrimitiveArray(6), Some(2)),
            (Allocation::PrimitiveArray(7), Some(3)),
            (Allocation::PrimitiveArray(8), Some(0)),
            (Allocation::PrimitiveArray(9), Some(1)),
            (Allocation::PrimitiveArray(10), Some(2)),
            (Allocation::PrimitiveArray(11), Some(3)),
            (Allocation::ReferenceArray(b"[J"), Some(4)),
            (Allocation::MultiArray(b"[[J", 1), Some(4)),
            (Allocation::MultiArray(b"[[J", 2), Some(3)),
            (Allocation::MultiArray(b"[[[LB;", 3), Some(4)),
            (Allocation::MultiArray(b"[[[Z", 3), Some(0)),
        ] {
            assert_eq!(array_kind(&allocation), kind, "{allocation:?}");
        }
    }
}
