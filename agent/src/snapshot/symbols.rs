//! Converts the registry's classes to the symbols of a profile: names of methods and allocation sites, and sizes of the
//! objects that sites allocate.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use loadhook_profile::snapshot::Snapshot;
use loadhook_profile::{AllocationSite, Method, SiteBytes, Symbols};

use crate::instrument::registry::{ClassSymbols, SiteSymbol};
use crate::tracker::sizes::{CodeCopies, Sizes};

/// Returns the classes of the objects that the sites in a snapshot allocate, by the loaders of the sites' code.
pub(super) fn allocated_classes(
    classes: &[ClassSymbols],
    snapshot: &Snapshot,
) -> BTreeMap<CodeCopies, BTreeSet<Arc<str>>> {
    let nodes = snapshot.threads.iter().flat_map(|thread| &thread.nodes);
    let ids: HashSet<u32> = nodes.map(|node| node.method).collect();
    let mut allocated: BTreeMap<CodeCopies, BTreeSet<Arc<str>>> = BTreeMap::new();
    // Folded classes are left out, because the objects that a site in them allocates may have several sizes.
    for class in classes.iter().filter(|class| !class.is_folded) {
        let sites = class.sites.iter();
        let met = sites.filter(|site| !site.is_array && ids.contains(&site.id));
        let names = met.map(|site| site.type_name.clone());
        let copies = CodeCopies {
            first: class.loader.number,
            latest: class.latest,
        };
        allocated.entry(copies).or_default().extend(names);
    }
    allocated
}

/// Makes the symbols of the instrumented classes. `loaders` has the names of loaders by their numbers.
pub(crate) fn symbols(
    classes: Vec<ClassSymbols>,
    loaders: &HashMap<u32, String>,
    sizes: &Sizes,
) -> Symbols {
    let mut symbols = Symbols::default();
    for class in classes {
        let loader = loaders.get(&class.loader.number);
        let loader: Arc<str> = loader.map_or("?", |name| name).into();
        for method in class.methods {
            let symbol = Method {
                loader: loader.clone(),
                class: class.name.clone(),
                name: method.name,
                descriptor: method.descriptor,
                file: class.source_file.clone(),
                line: method.line.map(u32::from),
                loaders: class.loaders,
                // Native methods have no code, so they have no probes.
                is_native: false,
            };
            symbols.define(method.id, symbol);
        }
        for site in class.sites {
            let allocation_site = AllocationSite {
                method: site.method,
                line: site.line.map(u32::from),
                bci: site.bci,
                bytes: bytes(&site, class.loader.number, sizes),
                type_name: site.type_name,
            };
            symbols.define_site(site.id, allocation_site);
        }
    }
    symbols
}

/// Returns how the bytes of a site's objects are computed: from the size of an instance, or as a sum that the tracker
/// has made. `Unknown` if the sizes of this JVM are not known.
fn bytes(site: &SiteSymbol, loader: u32, sizes: &Sizes) -> SiteBytes {
    let known = if site.is_array {
        sizes.knows_arrays().then_some(SiteBytes::Summed)
    } else {
        sizes.instance(loader, &site.type_name).map(SiteBytes::Each)
    };
    known.unwrap_or(SiteBytes::Unknown)
}
