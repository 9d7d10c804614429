//! Where classes come from: loaders by number and kind, and which are the JDK's.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loadhook_rewrite::symbol::java_name;

use crate::instrument::hook::Origin;
use crate::instrument::loader_kinds::Kinds;
use crate::instrument::weak_values::Mortal;
use crate::jvm::jni::{Field, Jni, Reference};
use crate::jvm::jvmti::Jvmti;

/// The loaders that every VM has; each is the only one of its kind.
const BOOT: Loader = Loader::common(0);
const PLATFORM: Loader = Loader::common(1);
const APP: Loader = Loader::common(2);

/// Their names, by number.
const COMMON: [&str; 3] = ["", "platform", "app"];

/// A class loader: its number, which no other one ever has, and the number of
/// its [kind](crate::instrument::loader_kinds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Loader {
    pub(crate) number: u32,
    pub(crate) kind: u32,
}

impl Loader {
    const fn common(number: u32) -> Self {
        Loader {
            number,
            kind: number,
        }
    }

    /// Returns whether the loader lives as long as the VM.
    pub(crate) fn stays(self) -> bool {
        (self.number as usize) < COMMON.len()
    }
}

/// The class loaders seen so far.
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
    others: Mortal<Loader>,
    /// The number of the next one.
    next: AtomicU32,
    kinds: Mutex<Kinds>,
    /// By loader and package, whether it belongs to a module of the JDK.
    jdk_packages: Mutex<HashMap<u32, HashMap<Vec<u8>, bool>>>,
}

impl Default for Loaders {
    fn default() -> Self {
        Loaders {
            platform: OnceLock::new(),
            app: OnceLock::new(),
            name: OnceLock::new(),
            parent: OnceLock::new(),
            delegating: OnceLock::new(),
            module_name: OnceLock::new(),
            others: Mortal::default(),
            next: AtomicU32::new(COMMON.len() as u32),
            kinds: Mutex::new(Kinds::new(&COMMON)),
            jdk_packages: Mutex::default(),
        }
    }
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

    /// The loader behind a reference.
    pub(crate) fn loader(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Reference) -> Loader {
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
            Some(self.loader(jvmti, jni, parent))
        });
        if let Some(Some(delegated)) = delegated {
            return delegated;
        }
        self.others.get_or_make(jvmti, jni, loader, || {
            let class = self.class_name(jvmti, jni, loader);
            let name = self.given_name(jni, loader);
            let kind = self.kinds().of(&class, name.as_ref().unwrap_or(&class));
            Loader {
                number: self.next.fetch_add(1, Ordering::Relaxed),
                kind,
            }
        })
    }

    /// The numbers of loaders that are gone, each once. They are looked for now
    /// and then.
    pub(crate) fn gone(&self, jni: Jni<'_>) -> Vec<u32> {
        let gone = self.others.gone(jni);
        for loader in &gone {
            self.kinds().forget(loader.kind);
            self.packages().remove(&loader.number);
        }
        gone.into_iter().map(|loader| loader.number).collect()
    }

    /// A note for the profile, if loaders were folded.
    pub(crate) fn note(&self) -> Option<String> {
        self.kinds().note()
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds> {
        // After a panic a kind may seem to have a loader more or less.
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn packages(&self) -> MutexGuard<'_, HashMap<u32, HashMap<Vec<u8>, bool>>> {
        self.jdk_packages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The name that the program gave a loader.
    fn given_name(&self, jni: Jni<'_>, loader: Reference) -> Option<String> {
        let name = jni.framed(|| jni.string_field(loader, *self.name.get()?).ok()?);
        name.flatten().filter(|name| !name.is_empty())
    }

    /// The name of a loader's class.
    fn class_name(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Reference) -> String {
        let found = jni.framed(|| {
            let class = jni.class_of(loader).ok()?;
            let signature = jvmti.class_signature(class).ok()?;
            let name = signature.strip_prefix(b"L")?.strip_suffix(b";")?;
            // A hidden class's has an address behind a dot.
            let name = name.split(|byte| *byte == b'.').next()?;
            Some(java_name(name))
        });
        found.flatten().unwrap_or_else(|| "loader".to_owned())
    }

    /// The names of these loaders in a profile, by number: the same in every
    /// run for those that every VM has. Of others with one name all but the
    /// first have an ordinal too, `plugins#2`, in the order in which they
    /// loaded something first.
    pub(crate) fn names(&self, loaders: BTreeSet<Loader>) -> HashMap<u32, String> {
        let kinds = self.kinds();
        let others = loaders.into_iter().filter(|loader| !loader.stays());
        let named = others.filter_map(|loader| Some((loader.number, kinds.name(loader.kind)?)));
        let mut names = distinct(named);
        drop(kinds);
        for (number, name) in (0..).zip(COMMON) {
            names.insert(number, name.to_owned());
        }
        names
    }

    /// The loaders of these numbers, as far as they are there, as references
    /// of the calling thread.
    pub(crate) fn references(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        wanted: &BTreeSet<u32>,
    ) -> HashMap<u32, Reference> {
        let mut found = HashMap::from([(BOOT.number, Reference::BOOT_LOADER)]);
        found.extend(self.platform.get().map(|loader| (PLATFORM.number, *loader)));
        found.extend(self.app.get().map(|loader| (APP.number, *loader)));
        if wanted.iter().any(|number| !found.contains_key(number)) {
            for class in jvmti.loaded_classes().unwrap_or_default() {
                let Ok(loader) = jvmti.class_loader(class) else {
                    continue;
                };
                if !loader.is_null()
                    && let Some(known) = self.others.get(jvmti, jni, loader)
                {
                    found.entry(known.number).or_insert(loader);
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
        let known = self.loader(jvmti, jni, loader);
        // Up to JDK 21 reflection generates classes, each in a loader of its own.
        let is_jdk = matches!(known, BOOT | PLATFORM)
            || name.starts_with(b"jdk/internal/")
            || self.in_jdk_module(jvmti, jni, loader, known.number, name);
        Origin {
            loader: known,
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
        let known = self
            .packages()
            .get(&number)
            .and_then(|of| of.get(package).copied());
        if let Some(known) = known {
            return known;
        }
        let module_name = jni.framed(|| {
            let module = jvmti.named_module(loader, package)?;
            jni.string_field(module, *self.module_name.get()?).ok()?
        });
        let is_jdk = module_name
            .flatten()
            .is_some_and(|name| name.starts_with("java.") || name.starts_with("jdk."));
        let mut packages = self.packages();
        packages
            .entry(number)
            .or_default()
            .insert(package.to_vec(), is_jdk);
        is_jdk
    }
}

/// Names that differ from each other and from those of [`COMMON`].
fn distinct(named: impl Iterator<Item = (u32, Arc<str>)>) -> HashMap<u32, String> {
    let mut taken: HashSet<String> = COMMON.iter().map(|name| (*name).to_owned()).collect();
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
