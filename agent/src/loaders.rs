//! Where classes come from: loaders by number, and which are the JDK's.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loadhook_rewrite::symbol::java_name;

use crate::ffi::jni::{Field, Jni, Reference};
use crate::ffi::jvmti::Jvmti;
use crate::hook::Origin;

/// The numbers of the loaders that every VM has.
const BOOT: u32 = 0;
const PLATFORM: u32 = 1;
const APP: u32 = 2;

/// What these are called.
const COMMON: [(u32, &str); 3] = [(BOOT, ""), (PLATFORM, "platform"), (APP, "app")];

/// The class loaders seen so far.
#[derive(Default)]
pub(crate) struct Loaders {
    platform: OnceLock<Reference>,
    app: OnceLock<Reference>,
    /// `ClassLoader.name`. Not the method: programs can override that.
    name: OnceLock<Field>,
    /// `ClassLoader.parent`. Not the method, as above.
    parent: OnceLock<Field>,
    /// `DelegatingClassLoader`, up to JDK 21.
    delegating: OnceLock<Reference>,
    /// `Module.name`. Not the method: where it is instrumented, a call of ours
    /// would be one of the program's.
    module_name: OnceLock<Field>,
    /// Those that are none of the three.
    others: Mutex<Others>,
    /// By loader and package, whether it belongs to a module of the JDK.
    jdk_packages: Mutex<HashMap<(u32, Vec<u8>), bool>>,
}

/// Loaders of the program's own.
#[derive(Default)]
struct Others {
    /// By identity hash.
    numbers: HashMap<i32, u32>,
    /// What each is called, several perhaps the same; in the order of their
    /// numbers.
    names: Vec<Arc<str>>,
}

impl Loaders {
    /// Finds the loaders that every VM has, and where loaders and modules have
    /// their names.
    pub(crate) fn find(&self, jni: Jni<'_>) {
        const LOADER: &CStr = c"java/lang/ClassLoader";
        const STRING: &CStr = c"Ljava/lang/String;";
        for (place, class, name, descriptor) in [
            (&self.name, LOADER, c"name", STRING),
            (&self.parent, LOADER, c"parent", c"Ljava/lang/ClassLoader;"),
            (&self.module_name, c"java/lang/Module", c"name", STRING),
        ] {
            let field = jni.framed(|| {
                let class = jni.find_class(class)?;
                jni.field(class, name, descriptor)
            });
            if let Some(Ok(field)) = field {
                let _ = place.set(field);
            }
        }
        for (place, getter) in [
            (&self.platform, c"getPlatformClassLoader"),
            (&self.app, c"getSystemClassLoader"),
        ] {
            let found = jni.framed(|| {
                let class = jni.find_class(c"java/lang/ClassLoader")?;
                let getter = jni.static_method(class, getter, c"()Ljava/lang/ClassLoader;")?;
                jni.global(jni.call_object(getter, &[])?)
            });
            if let Some(Ok(loader)) = found {
                // Set once: at VMInit.
                let _ = place.set(loader);
            }
        }
        let delegating = jni
            .framed(|| jni.global(jni.find_class(c"jdk/internal/reflect/DelegatingClassLoader")?));
        if let Some(Ok(class)) = delegating {
            let _ = self.delegating.set(class);
        }
    }

    /// The parent of a loader that reflection made for one class. The VM has it find what
    /// that class names, and so do we: such loaders know no classes, and are many.
    fn delegates_to(&self, jni: Jni<'_>, loader: Reference) -> Option<Reference> {
        let delegating = *self.delegating.get()?;
        let class = jni.class_of(loader).ok()?;
        let is_it = jni.is_same(class, delegating);
        is_it.then(|| jni.object_field(loader, *self.parent.get()?).ok())?
    }

    /// The number of a loader. One of the program's own is known by identity
    /// hash: should two share it, their equal classes share their ids, no more.
    pub(crate) fn number(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Reference) -> u32 {
        let is = |place: &OnceLock<Reference>| {
            place.get().is_some_and(|known| jni.is_same(*known, loader))
        };
        if loader.is_null() {
            return BOOT;
        }
        if is(&self.app) {
            return APP;
        }
        if is(&self.platform) {
            return PLATFORM;
        }
        let delegated = jni.framed(|| {
            let parent = self.delegates_to(jni, loader)?;
            Some(self.number(jvmti, jni, parent))
        });
        if let Some(Some(number)) = delegated {
            return number;
        }
        let hash = jvmti.hash_code(loader);
        let known = self.others().numbers.get(&hash).copied();
        known.unwrap_or_else(|| {
            let name = self.name(jvmti, jni, loader);
            let mut others = self.others();
            let Others { numbers, names } = &mut *others;
            match numbers.entry(hash) {
                // Another thread was faster.
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => {
                    names.push(name.into());
                    *place.insert(APP + names.len() as u32)
                }
            }
        })
    }

    fn others(&self) -> MutexGuard<'_, Others> {
        // A name without a number, after a panic, is nobody's.
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name that the program gave a loader, else its class's.
    fn name(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Reference) -> String {
        let found = jni.framed(|| {
            let field = self.name.get()?;
            let given = jni.string_field(loader, *field).ok()?;
            given.filter(|name| !name.is_empty()).or_else(|| {
                let class = jni.class_of(loader).ok()?;
                let signature = jvmti.class_signature(class).ok()?;
                let name = signature.strip_prefix(b"L")?.strip_suffix(b";")?;
                // A hidden class's has an address behind a dot.
                let name = name.split(|byte| *byte == b'.').next()?;
                Some(java_name(name))
            })
        });
        found.flatten().unwrap_or_else(|| "loader".to_owned())
    }

    /// What a profile calls the loaders of these numbers: the same in every
    /// run for those that every VM has. Of others with one name all but the
    /// first have an ordinal too, `plugins#2`, in the order in which they
    /// loaded something first.
    pub(crate) fn names(&self, numbers: BTreeSet<u32>) -> HashMap<u32, String> {
        let others = self.others();
        let name = |number: u32| {
            let other = number.checked_sub(APP + 1)?;
            others.names.get(other as usize).cloned()
        };
        let named = numbers.into_iter().filter_map(|n| Some((n, name(n)?)));
        let mut names = distinct(named);
        drop(others);
        for (number, name) in COMMON {
            names.insert(number, name.to_owned());
        }
        names
    }

    /// The loaders of these numbers, as far as they are there, as references
    /// of the calling thread.
    pub(crate) fn references(
        &self,
        jvmti: Jvmti,
        wanted: &BTreeSet<u32>,
    ) -> HashMap<u32, Reference> {
        let mut found = HashMap::from([(BOOT, Reference::BOOT_LOADER)]);
        found.extend(self.platform.get().map(|loader| (PLATFORM, *loader)));
        found.extend(self.app.get().map(|loader| (APP, *loader)));
        if wanted.iter().any(|number| !found.contains_key(number)) {
            for class in jvmti.loaded_classes().unwrap_or_default() {
                let Ok(loader) = jvmti.class_loader(class) else {
                    continue;
                };
                if !loader.is_null() {
                    let hash = jvmti.hash_code(loader);
                    if let Some(number) = self.others().numbers.get(&hash) {
                        found.entry(*number).or_insert(loader);
                    }
                }
            }
        }
        found.retain(|number, _| wanted.contains(number));
        found
    }

    /// Where the class of this internal name comes from.
    pub(crate) fn origin(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loader: Reference,
        name: &[u8],
    ) -> Origin {
        let number = self.number(jvmti, jni, loader);
        // Up to JDK 21 reflection generates classes, each in a loader of its own.
        let is_jdk = matches!(number, BOOT | PLATFORM)
            || name.starts_with(b"jdk/internal/")
            || self.in_jdk_module(jvmti, jni, loader, number, name);
        Origin {
            loader: number,
            is_jdk,
        }
    }

    /// Modules of the JDK in other loaders: the tools, `jdk.compiler` among
    /// them, are in the application's.
    fn in_jdk_module(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loader: Reference,
        number: u32,
        name: &[u8],
    ) -> bool {
        let slash = name.iter().rposition(|byte| *byte == b'/');
        let Some(package) = slash.and_then(|slash| name.get(..slash)) else {
            return false;
        };
        let key = (number, package.to_vec());
        let known = |packages: &HashMap<(u32, Vec<u8>), bool>| packages.get(&key).copied();
        let lock = || {
            self.jdk_packages
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = known(&lock()) {
            return known;
        }
        let module_name = jni.framed(|| {
            let module = jvmti.named_module(loader, package)?;
            jni.string_field(module, *self.module_name.get()?).ok()?
        });
        let is_jdk = module_name
            .flatten()
            .is_some_and(|name| name.starts_with("java.") || name.starts_with("jdk."));
        lock().insert(key, is_jdk);
        is_jdk
    }
}

/// Names that differ from each other and from those of [`COMMON`].
fn distinct(named: impl Iterator<Item = (u32, Arc<str>)>) -> HashMap<u32, String> {
    let mut taken: HashSet<String> = COMMON.iter().map(|(_, name)| (*name).to_owned()).collect();
    let mut ordinals: HashMap<Arc<str>, u32> = HashMap::new();
    let distinct = named.map(|(number, base)| {
        let ordinal = ordinals.entry(base.clone()).or_insert(0);
        let mut name = base.to_string();
        loop {
            *ordinal += 1;
            if *ordinal > 1 {
                name = format!("{base}#{ordinal}");
            }
            if taken.insert(name.clone()) {
                return (number, name);
            }
        }
    });
    distinct.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_loaders_have_one_name() {
        let named = ["plugins", "plugins", "app", "x#2", "x", "x", "plugins", ""];
        let named = (3..).zip(named.map(Arc::from));
        let mut names: Vec<(u32, String)> = distinct(named).into_iter().collect();
        names.sort();
        let names: Vec<&str> = names.iter().map(|(_, name)| &**name).collect();
        let expected = [
            "plugins",
            "plugins#2",
            "app#2",
            "x#2",
            "x",
            "x#3",
            "plugins#3",
            "#2",
        ];
        assert_eq!(names, expected);
    }
}
