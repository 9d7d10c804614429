//! Measures the sizes of arrays and objects in this JVM. Sizes depend on the JVM's version, the width of references,
//! the headers and the alignment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loadhook_rewrite::Allocation;

use super::array_kinds::REFERENCES;
use crate::instrument::loaders::Loaders;
use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jni_calls::{Argument, StaticMethod};
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::locks::lock;

/// An upper bound of the alignment of objects, in bytes.
const MOST_ALIGNED: i32 = 256;

/// The measured sizes.
pub(crate) struct Sizes {
    sample: StaticMethod,
    set: StaticMethod,
    /// True when the tracker knows the sizes of arrays.
    arrays: AtomicBool,
    /// Sizes of instances in bytes, by the number of the loader and the name of the class.
    instances: Mutex<HashMap<(u32, Arc<str>), u64>>,
    /// Code whose loaders were collected. The sizes of further classes that this code names can no longer be measured.
    gone: Mutex<HashSet<CodeCopies>>,
}

/// The loaders of code that names classes to be measured. All copies of this code share the measured sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CodeCopies {
    /// The number of the loader of the first copy.
    pub(crate) first: u32,
    /// The number of the loader of the latest copy. This loader is the most likely to be alive.
    pub(crate) latest: u32,
}

/// Names of the classes to be measured, as Java writes them.
type Names = BTreeSet<Arc<str>>;

impl Sizes {
    /// Looks up the tracker's methods.
    pub(crate) fn find(jni: Jni<'_>) -> Result<Self, JniError> {
        let sizes = jni.find_class(c"java/lang/$LoadhookArraySizes")?;
        Ok(Sizes {
            sample: jni.static_method(sizes, c"sample", c"(II)Ljava/lang/Object;")?,
            set: jni.static_method(sizes, c"set", c"(IIII)V")?,
            arrays: AtomicBool::new(false),
            instances: Mutex::default(),
            gone: Mutex::default(),
        })
    }

    /// Forgets all measured sizes.
    pub(super) fn forget(&self) {
        self.arrays.store(false, Ordering::Relaxed);
        lock(&self.instances).clear();
        lock(&self.gone).clear();
    }

    /// Measures arrays of each kind, and passes the layouts of arrays to the tracker.
    pub(crate) fn measure_arrays(&self, jvmti: Jvmti, jni: Jni<'_>) {
        let known = (0..=REFERENCES as i32).all(|kind| {
            self.array_layout(jvmti, jni, kind)
                .is_some_and(|layout| jni.call_void(self.set, &layout.map(Argument::Int)).is_ok())
        });
        self.arrays.store(known, Ordering::Relaxed);
    }

    /// Measures the layout of arrays of a kind. Returns this kind, the bytes before the first element, the binary
    /// logarithm of an element's size in bytes, and the alignment in bytes.
    fn array_layout(&self, jvmti: Jvmti, jni: Jni<'_>, kind: i32) -> Option<[i32; 4]> {
        let size = |length: i32| {
            let size = jni.framed(|jni| {
                let arguments = [kind, length].map(Argument::Int);
                let array = jni.call_object(self.sample, &arguments).ok()?;
                jvmti.object_size(array).ok()
            });
            i32::try_from(size.flatten()?).ok()
        };
        let empty = size(0)?;
        let scale = (size(MOST_ALIGNED)? - empty) / MOST_ALIGNED;
        // Finds the shortest array that is larger than an empty array. Shorter arrays fit into the padding after the
        // header.
        let (length, longer) = (1..=MOST_ALIGNED)
            .filter_map(|length| Some((length, size(length)?)))
            .find(|(_, size)| *size > empty)?;
        let base = empty - (length - 1) * scale;
        Some([kind, base, scale.checked_ilog2()? as i32, longer - empty])
    }

    /// Returns whether the tracker knows the sizes of arrays.
    pub(crate) fn knows_arrays(&self) -> bool {
        self.arrays.load(Ordering::Relaxed)
    }

    /// Returns the size of an instance in bytes, if [`Sizes::measure`] has found it.
    pub(crate) fn instance(&self, loader: u32, class: &Arc<str>) -> Option<u64> {
        lock(&self.instances).get(&(loader, class.clone())).copied()
    }

    /// Measures an instance of each class in `wanted`, as long as the heap has room for an instance.
    ///
    /// Only initialised classes are instantiated, because the wait for a running initialiser may never end. No
    /// constructor runs, so no finalizer is registered.
    pub(crate) fn measure(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loaders: &Loaders,
        mut wanted: BTreeMap<CodeCopies, Names>,
        has_room: impl Fn() -> bool,
    ) {
        self.retain_unknown(&mut wanted);
        if wanted.is_empty() {
            return;
        }
        let _ = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let numbers = wanted.keys().map(|copies| copies.latest).collect();
            let references = loaders.references(jvmti, jni, &numbers);
            let measure = |copies: CodeCopies, loader, names: &mut Names| {
                // Each loader is handled in a separate frame of local references, because it may have many classes.
                jni.framed(|jni| {
                    self.measure_classes_of(jvmti, jni, copies, loader, names, &has_room)
                })
                .unwrap_or(false)
            };
            for (copies, mut names) in wanted {
                let loader = references.get(&copies.latest);
                if let Some(loader) = loader
                    && !measure(copies, *loader, &mut names)
                {
                    return;
                }
                // If the loader was collected, only classes of the JDK can still be measured.
                names.retain(|name| name.starts_with("java."));
                if !names.is_empty() && !measure(copies, Local::BOOT_LOADER, &mut names) {
                    return;
                }
                if loader.is_none() {
                    lock(&self.gone).insert(copies);
                }
            }
        });
    }

    /// Removes the classes whose sizes are known, or can no longer be measured.
    fn retain_unknown(&self, wanted: &mut BTreeMap<CodeCopies, Names>) {
        // If `wanted` no longer has an entry of `gone`, an entry for a later copy of the code has replaced it. The
        // loader of that copy may be alive, so the sizes may be measured after all.
        lock(&self.gone).retain(|copies| wanted.contains_key(copies));
        let known = lock(&self.instances);
        for (copies, names) in &mut *wanted {
            names.retain(|name| !known.contains_key(&(copies.first, name.clone())));
        }
        drop(known);
        let gone = lock(&self.gone);
        wanted.retain(|copies, names| !names.is_empty() && !gone.contains(copies));
    }

    /// Measures instances of a loader's classes whose names are in `names`, and removes these names. Returns false if
    /// there was not enough room in the heap.
    fn measure_classes_of(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        copies: CodeCopies,
        loader: Local<'_>,
        names: &mut Names,
        has_room: impl Fn() -> bool,
    ) -> bool {
        jni.ensure_local_capacity();
        let classes = jvmti.class_loader_classes(jni, loader).unwrap_or_default();
        for class in classes {
            let signature = jvmti.class_signature(class).unwrap_or_default();
            let internal_name = signature.strip_prefix(b"L");
            let internal_name = internal_name.and_then(|name| name.strip_suffix(b";"));
            let name = internal_name.map(|name| Allocation::Object(name).type_name());
            let Some(name) = name.and_then(|name| names.take(name.as_str())) else {
                continue;
            };
            if !jvmti.is_initialised(class).unwrap_or(false) {
                continue;
            }
            if !has_room() {
                return false;
            }
            let size = jni.framed(|jni| jvmti.object_size(jni.alloc_object(class).ok()?).ok());
            if let Some(size) = size.flatten() {
                lock(&self.instances).insert((copies.first, name), size.cast_unsigned());
            }
            if names.is_empty() {
                break;
            }
        }
        true
    }
}
