//! Where classes come from: loaders by number, and which are the JDK's.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::ffi::jni::{Jni, Reference};
use crate::ffi::jvmti::Jvmti;
use crate::hook::Origin;

/// The numbers of the loaders that every VM has.
const BOOT: u32 = 0;
const PLATFORM: u32 = 1;
const APP: u32 = 2;

/// What a profile calls the loader of this number: the same in every run for
/// those that every VM has.
pub(crate) fn name(loader: u32) -> String {
    match loader {
        BOOT => String::new(),
        PLATFORM => "platform".to_owned(),
        APP => "app".to_owned(),
        other => format!("loader-{other}"),
    }
}

/// The class loaders seen so far.
#[derive(Default)]
pub(crate) struct Loaders {
    platform: OnceLock<Reference>,
    app: OnceLock<Reference>,
    /// By identity hash, those that are none of the three.
    numbers: Mutex<HashMap<i32, u32>>,
    /// By loader and package, whether it belongs to a module of the JDK.
    jdk_packages: Mutex<HashMap<(u32, String), bool>>,
}

impl Loaders {
    /// Finds the loaders that every VM has.
    pub(crate) fn find(&self, jni: Jni<'_>) {
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
    }

    /// The number of a loader. One of the program's own is known by identity
    /// hash: should two share it, their equal classes share their ids, no more.
    fn number(&self, jvmti: Jvmti, jni: Jni<'_>, loader: Reference) -> u32 {
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
        let hash = jvmti.hash_code(loader);
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = APP + 1 + numbers.len() as u32;
        *numbers.entry(hash).or_insert(next)
    }

    /// Where the class of this internal name comes from.
    pub(crate) fn origin(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        loader: Reference,
        name: &str,
    ) -> Origin {
        let number = self.number(jvmti, jni, loader);
        // Up to JDK 21 reflection generates classes, each in a loader of its own.
        let is_jdk = matches!(number, BOOT | PLATFORM)
            || name.starts_with("jdk/internal/")
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
        name: &str,
    ) -> bool {
        let Some((package, _)) = name.rsplit_once('/') else {
            return false;
        };
        let key = (number, package.to_owned());
        let known = |packages: &HashMap<(u32, String), bool>| packages.get(&key).copied();
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
            jni.call_string(module, c"getName").ok()
        });
        let is_jdk = module_name
            .flatten()
            .is_some_and(|name| name.starts_with("java.") || name.starts_with("jdk."));
        lock().insert(key, is_jdk);
        is_jdk
    }
}
