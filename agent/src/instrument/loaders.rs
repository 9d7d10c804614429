//! Finds the origin of a class: the number and kind of its loader, and whether the class belongs to the JDK.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use loadhook_rewrite::symbol::java_name;

use super::loader_kinds::LoaderKinds;
use super::weak_values::{JvmObjects, WeakValues};
use crate::jvm::jni::{Field, Jni};
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};
use crate::locks::lock;

/// The loaders that every JVM has. Each of them is the only loader of its kind.
const BOOT: Loader = Loader::common(0);
const PLATFORM: Loader = Loader::common(1);
const APP: Loader = Loader::common(2);

/// The names of the common loaders, by number.
const COMMON: [&str; 3] = ["", "platform", "app"];

/// A class loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Loader {
    /// A number that no other loader ever has.
    pub(crate) number: u32,
    /// The number of the loader's [kind](LoaderKinds).
    pub(crate) kind: u32,
}

/// The origin of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) loader: Loader,
    /// True if the class belongs to the JDK.
    pub(crate) is_jdk: bool,
}

impl Loader {
    const fn common(number: u32) -> Self {
        Loader {
            number,
            kind: number,
        }
    }

    /// Returns whether the loader is never collected.
    pub(crate) fn stays(self) -> bool {
        (self.number as usize) < COMMON.len()
    }
}

/// Beginnings of the names of the JDK's packages.
const JDK_PACKAGES: [&[u8]; 8] = [
    b"java/",
    b"javax/",
    b"jdk/",
    b"sun/",
    b"com/sun/",
    b"org/ietf/jgss/",
    b"org/w3c/dom/",
    b"org/xml/sax/",
];

impl Origin {
    /// Returns an origin that is judged by the internal name of a class only. The loader of such an origin is always
    /// the boot loader.
    pub(crate) fn by_name(name: &[u8]) -> Self {
        Origin {
            loader: BOOT,
            is_jdk: JDK_PACKAGES.iter().any(|package| name.starts_with(package)),
        }
    }
}

/// The class loaders seen so far.
pub(crate) struct Loaders {
    platform: OnceLock<Global>,
    app: OnceLock<Global>,
    /// `ClassLoader.name`. The field is read, because a program can override the method `getName()`.
    name: OnceLock<Field>,
    /// `ClassLoader.parent`. The field is read for the same reason as `name`.
    parent: OnceLock<Field>,
    /// The class `DelegatingClassLoader`, which JDKs up to 21 have.
    delegating: OnceLock<Global>,
    /// `Module.name`. The field is read, because a call of `getName()` would be counted as a call of the program if
    /// that method is instrumented.
    module_name: OnceLock<Field>,
    /// All loaders but the common ones.
    others: WeakValues<Loader>,
    /// The number for the next new loader.
    next: AtomicU32,
    kinds: Mutex<LoaderKinds>,
    /// For each loader's number and each package's name, true if the package belongs to a module of the JDK.
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
            others: WeakValues::default(),
            next: AtomicU32::new(COMMON.len() as u32),
            kinds: Mutex::new(LoaderKinds::new(&COMMON)),
            jdk_packages: Mutex::default(),
        }
    }
}

impl Loaders {
    /// Finds the common loaders, and the fields that hold the names of loaders and modules.
    pub(crate) fn find(&self, jni: Jni<'_>) {
        const LOADER: &CStr = c"java/lang/ClassLoader";
        const STRING: &CStr = c"Ljava/lang/String;";
        for (place, class, name, descriptor) in [
            (&self.name, LOADER, c"name", STRING),
            (&self.parent, LOADER, c"parent", c"Ljava/lang/ClassLoader;"),
            (&self.module_name, c"java/lang/Module", c"name", STRING),
        ] {
            let field = jni.framed(|jni| {
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
            let found = jni.framed(|jni| {
                let class = jni.find_class(c"java/lang/ClassLoader")?;
                let getter = jni.static_method(class, getter, c"()Ljava/lang/ClassLoader;")?;
                jni.global(jni.call_object(getter, &[])?)
            });
            if let Some(Ok(loader)) = found {
                // This succeeds, because `find` is called only once.
                let _ = place.set(loader);
            }
        }
        let delegating = jni.framed(|jni| {
            jni.global(jni.find_class(c"jdk/internal/reflect/DelegatingClassLoader")?)
        });
        if let Some(Ok(class)) = delegating {
            let _ = self.delegating.set(class);
        }
    }

    /// Deletes the references to loaders. Called when the agent has left.
    pub(crate) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.others.release(&JvmObjects { jvmti, jni });
        for place in [&self.platform, &self.app, &self.delegating] {
            if let Some(reference) = place.get() {
                jni.delete_global(*reference);
            }
        }
    }

    /// Returns the parent of a loader that reflection made for a single class; `None` for other loaders. A JVM may have
    /// many such loaders. The agent uses the parent instead of the loader, because the loader finds all other classes
    /// in its parent.
    fn delegates_to<'f>(&self, jni: Jni<'f>, loader: Local<'_>) -> Option<Local<'f>> {
        let delegating = *self.delegating.get()?;
        let class = jni.class_of(loader).ok()?;
        let is_it = jni.is_same(class, delegating);
        is_it.then(|| jni.object_field(loader, *self.parent.get()?).ok())?
    }

    /// Returns the number and kind of the loader to which a reference leads.
    pub(crate) fn loader(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Local<'_>) -> Loader {
        let is =
            |place: &OnceLock<Global>| place.get().is_some_and(|known| jni.is_same(*known, loader));
        if loader.is_null() {
            return BOOT;
        }
        if is(&self.app) {
            return APP;
        }
        if is(&self.platform) {
            return PLATFORM;
        }
        let delegated = jni.framed(|jni| {
            let parent = self.delegates_to(jni, loader)?;
            Some(self.loader(jvmti, jni, parent))
        });
        if let Some(Some(delegated)) = delegated {
            return delegated;
        }
        let make = || {
            let class = self.class_name(jvmti, jni, loader);
            let name = self.given_name(jni, loader);
            let name = name.as_ref().unwrap_or(&class);
            Loader {
                kind: lock(&self.kinds).add_loader(&class, name),
                number: self.next.fetch_add(1, Ordering::Relaxed),
            }
        };
        let discard = |loader: Loader| lock(&self.kinds).discard_loader(loader.kind);
        self.others
            .get_or_make(&JvmObjects { jvmti, jni }, loader, make, discard)
    }

    /// Removes collected loaders and returns their numbers. Most calls return at once without a number, because the
    /// search is done only now and then.
    pub(crate) fn take_gone(&self, jvmti: Jvmti, jni: Jni<'_>) -> Vec<u32> {
        let gone = self.others.take_gone(&JvmObjects { jvmti, jni });
        for loader in &gone {
            lock(&self.kinds).remove_loader(loader.kind);
            lock(&self.jdk_packages).remove(&loader.number);
        }
        gone.into_iter().map(|loader| loader.number).collect()
    }

    /// Returns a note for the profile if loaders were folded.
    pub(crate) fn note(&self) -> Option<String> {
        lock(&self.kinds).note()
    }

    /// Returns the name that the program gave a loader; `None` if the loader has no name.
    fn given_name(&self, jni: Jni<'_>, loader: Local<'_>) -> Option<String> {
        let name = jni.framed(|jni| jni.string_field(loader, *self.name.get()?).ok()?);
        name.flatten().filter(|name| !name.is_empty())
    }

    /// Returns the name of the class of a loader.
    fn class_name(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Local<'_>) -> String {
        let found = jni.framed(|jni| {
            let class = jni.class_of(loader).ok()?;
            let signature = jvmti.class_signature(class).ok()?;
            let name = signature.strip_prefix(b"L")?.strip_suffix(b";")?;
            // The name of a hidden class ends in a dot and an address, which are cut off.
            let name = name.split(|byte| *byte == b'.').next()?;
            Some(java_name(name))
        });
        found.flatten().unwrap_or_else(|| "loader".to_owned())
    }

    /// Makes the names that a profile shows for `loaders`, by the loaders' numbers.
    ///
    /// The common loaders have the same names in every run. If several other loaders have one name, all except the
    /// first get an ordinal, for example `plugins#2`, in the order in which they first loaded a class.
    pub(crate) fn names(&self, loaders: BTreeSet<Loader>) -> HashMap<u32, String> {
        let kinds = lock(&self.kinds);
        let others = loaders.into_iter().filter(|loader| !loader.stays());
        let named = others.filter_map(|loader| Some((loader.number, kinds.name(loader.kind)?)));
        let mut names = distinct(named);
        drop(kinds);
        for (number, name) in (0..).zip(COMMON) {
            names.insert(number, name.to_owned());
        }
        names
    }

    /// Returns references to the `wanted` loaders that are still alive, by the loaders' numbers.
    pub(crate) fn references<'f>(
        &self,
        jvmti: Jvmti,
        jni: Jni<'f>,
        wanted: &BTreeSet<u32>,
    ) -> HashMap<u32, Local<'f>> {
        let mut found: HashMap<u32, Local<'f>> = HashMap::from([(BOOT.number, Local::BOOT_LOADER)]);
        let platform = self.platform.get().map(|loader| loader.local());
        found.extend(platform.map(|loader| (PLATFORM.number, loader)));
        let app = self.app.get().map(|loader| loader.local());
        found.extend(app.map(|loader| (APP.number, loader)));
        if wanted.iter().any(|number| !found.contains_key(number)) {
            let objects = JvmObjects { jvmti, jni };
            for class in jvmti.loaded_classes(jni).unwrap_or_default() {
                let Ok(loader) = jvmti.class_loader(jni, class) else {
                    continue;
                };
                if !loader.is_null()
                    && let Some(known) = self.others.get(&objects, loader)
                {
                    found.entry(known.number).or_insert(loader);
                }
            }
        }
        found.retain(|number, _| wanted.contains(number));
        found
    }

    /// Returns the origin of the class that has this internal name in a loader.
    pub(crate) fn origin(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loader: Local<'_>,
        name: &[u8],
    ) -> Origin {
        let known = self.loader(jvmti, jni, loader);
        // Up to JDK 21, reflection generates classes named `jdk/internal/…`, each in a separate loader.
        let is_jdk = matches!(known, BOOT | PLATFORM)
            || name.starts_with(b"jdk/internal/")
            || self.in_jdk_module(jvmti, jni, loader, known.number, name);
        Origin {
            loader: known,
            is_jdk,
        }
    }

    /// Returns whether a class belongs to a module of the JDK. The loader alone does not show this, because the
    /// application loader also has the modules of the JDK's tools, such as `jdk.compiler`.
    fn in_jdk_module(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loader: Local<'_>,
        number: u32,
        name: &[u8],
    ) -> bool {
        let slash = name.iter().rposition(|byte| *byte == b'/');
        let Some(package) = slash.and_then(|slash| name.get(..slash)) else {
            return false;
        };
        let known = lock(&self.jdk_packages)
            .get(&number)
            .and_then(|of| of.get(package).copied());
        if let Some(known) = known {
            return known;
        }
        let module_name = jni.framed(|jni| {
            let module = jvmti.named_module(jni, loader, package)?;
            jni.string_field(module, *self.module_name.get()?).ok()?
        });
        let is_jdk = module_name
            .flatten()
            .is_some_and(|name| name.starts_with("java.") || name.starts_with("jdk."));
        lock(&self.jdk_packages)
            .entry(number)
            .or_default()
            .insert(package.to_vec(), is_jdk);
        is_jdk
    }
}

/// Makes a name for each loader, by the loader's number. All names differ from each other and from the names of the
/// common loaders.
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
