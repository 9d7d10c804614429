//! Adds methods and threads to a profile. Several parts of the agent add the same methods and threads, and each must be
//! in the profile only once.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_profile::{Method, Profile, ThreadKind, ThreadTree};

use super::symbol::{CopyLoaders, Symbol};

/// The indexes of a profile's methods. A key is the result of `identity` for a method.
pub(crate) struct ProfileMethods(HashMap<Method, u32>);

impl ProfileMethods {
    /// Begins with the methods that the profile already has.
    pub(crate) fn of(profile: &Profile) -> Self {
        ProfileMethods(profile.methods.iter().map(identity).zip(0..).collect())
    }

    /// Returns the index of a method, after adding the method to the profile if it is not there.
    pub(crate) fn number(&mut self, profile: &mut Profile, method: Method) -> u32 {
        let methods = &mut profile.methods;
        *self.0.entry(identity(&method)).or_insert_with(|| {
            methods.push(method);
            methods.len() as u32 - 1
        })
    }
}

/// Makes a profile's method from a symbol. `loaders` has the names of the loaders by their numbers.
pub(crate) fn method(
    symbol: &Symbol,
    copies: CopyLoaders,
    loaders: &HashMap<u32, String>,
) -> Method {
    let loader = loaders.get(&copies.first).map_or("?", |name| name);
    Method {
        loader: loader.into(),
        class: symbol.class.clone(),
        name: symbol.name.clone(),
        descriptor: symbol.descriptor.clone(),
        file: symbol.file.clone(),
        line: symbol.line,
        loaders: copies.loaders.max(1),
        is_native: symbol.is_native,
    }
}

/// Returns a copy of a method with only the parts that distinguish it from other methods.
fn identity(method: &Method) -> Method {
    Method {
        file: None,
        line: None,
        loaders: 1,
        is_native: false,
        ..method.clone()
    }
}

/// Returns the index of a thread, or of a group of threads, in the profile. Adds it if the profile does not have it
/// yet.
pub(crate) fn thread(
    profile: &mut Profile,
    name: &Arc<str>,
    id: Option<u64>,
    kind: ThreadKind,
) -> u32 {
    let threads = &mut profile.threads;
    let is_it = |thread: &ThreadTree| {
        thread.kind == kind
            && match kind {
                ThreadKind::Platform => thread.id.is_some() && thread.id == id,
                ThreadKind::Virtual => true,
                ThreadKind::Ended => thread.name == *name,
            }
    };
    let at = threads.iter().position(is_it).unwrap_or_else(|| {
        threads.push(ThreadTree {
            name: name.clone(),
            id,
            kind,
            cpu_ns: None,
            nodes: Vec::new(),
        });
        threads.len() - 1
    });
    at as u32
}
