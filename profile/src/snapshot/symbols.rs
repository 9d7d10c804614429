//! The names that belong to the ids of a snapshot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{LatencyRange, LatencySums, Method, MethodCalls, Profile, ThreadTree};
use crate::snapshot::allocation_sites::{AllocationSite, SiteTaker};
use crate::snapshot::decoder::{OVERFLOW, Snapshot};

/// The methods and allocation sites of one JVM, by the ids that the injected code passes.
///
/// Methods and allocation sites share one sequence of ids. Repeated strings, such as class names
/// and descriptors, are stored once.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    methods: HashMap<u32, Method>,
    sites: HashMap<u32, AllocationSite>,
    strings: HashSet<Arc<str>>,
}

impl Symbols {
    /// Defines the method of `id`; a second definition replaces the first.
    pub fn define(&mut self, id: u32, method: Method) {
        let method = Method {
            loader: self.intern(method.loader),
            class: self.intern(method.class),
            name: self.intern(method.name),
            descriptor: self.intern(method.descriptor),
            file: method.file.map(|file| self.intern(file)),
            line: method.line,
            loaders: method.loaders,
            is_native: method.is_native,
        };
        self.methods.insert(id, method);
    }

    /// Defines `id` as the id of an allocation site, not of a method.
    pub fn define_site(&mut self, id: u32, site: AllocationSite) {
        let type_name = self.intern(site.type_name);
        self.sites.insert(id, AllocationSite { type_name, ..site });
    }

    /// Returns the method of `id`, if defined.
    pub fn get(&self, id: u32) -> Option<&Method> {
        self.methods.get(&id)
    }

    /// Names the methods of a snapshot. The profile contains called methods only; an id without
    /// definition becomes [`Method::unknown`]. If any allocation site is defined, the counts of
    /// sites become [`Profile::allocations`].
    ///
    /// The header lacks the fields that the tracker does not know: command, JVM, versions, methods
    /// not instrumented.
    pub fn profile(&self, snapshot: Snapshot) -> Profile {
        let mut methods = Vec::new();
        let mut indexes: HashMap<u32, u32> = HashMap::new();
        let mut index = |id: u32| {
            *indexes.entry(id).or_insert_with(|| {
                methods.push(match self.get(id) {
                    Some(method) => method.clone(),
                    None if id == OVERFLOW => Method::overflow(),
                    None => Method::unknown(id),
                });
                methods.len() as u32 - 1
            })
        };
        let mut taker = SiteTaker::default();
        let threads = snapshot.threads.into_iter().zip(0..);
        let threads = threads.map(|(mut thread, at): (ThreadTree, u32)| {
            if !self.sites.is_empty() {
                taker.take(at, &mut thread, &self.sites, &mut index);
            }
            for node in &mut thread.nodes {
                node.method = index(node.method);
            }
            thread
        });
        let threads = threads.collect();
        let method_calls = snapshot.method_calls.into_iter();
        let method_calls = method_calls.map(|counted| MethodCalls {
            method: index(counted.method),
            ..counted
        });
        let method_calls = method_calls.collect();
        let mut latencies = LatencySums::default();
        for range in snapshot.latencies {
            latencies.add(LatencyRange {
                method: index(range.method),
                ..range
            });
        }
        let allocations = (!self.sites.is_empty()).then_some(taker.allocations);
        Profile {
            header: snapshot.header,
            methods,
            threads,
            method_calls,
            latencies: latencies.finish(),
            allocations,
            ..Profile::default()
        }
    }

    fn intern(&mut self, text: Arc<str>) -> Arc<str> {
        match self.strings.get(&text) {
            Some(kept) => kept.clone(),
            None => {
                self.strings.insert(text.clone());
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Amount;
    use crate::model::{Header, Node};
    use crate::snapshot::allocation_sites::SiteBytes;

    #[test]
    fn strings_are_shared() {
        let mut symbols = Symbols::default();
        symbols.define(0, Method::new("a.B", "run", "()V"));
        symbols.define(2, Method::new("a.B", "stop", "()V"));
        let [run, stop] = [0, 2].map(|id| symbols.get(id).expect("the id is defined"));
        assert!(Arc::ptr_eq(&run.class, &stop.class));
        assert!(Arc::ptr_eq(&run.descriptor, &stop.descriptor));
        assert_eq!(symbols.get(1), None);
    }

    /// Returns symbols of three methods, and of a site in each of them.
    fn with_sites() -> Symbols {
        let mut symbols = Symbols::default();
        for (id, name) in ["main", "timed", "trivial"].into_iter().enumerate() {
            symbols.define(id as u32, Method::new("a.B", name, "()V"));
        }
        for (id, method, bytes) in [
            (3, 1, SiteBytes::Each(24)),
            (4, 2, SiteBytes::Summed),
            (5, 0, SiteBytes::Unknown),
        ] {
            let site = AllocationSite {
                method,
                line: Some(10 * id),
                bci: id as u16,
                type_name: "int[]".into(),
                bytes,
            };
            symbols.define_site(id, site);
        }
        symbols
    }

    /// Describes each allocation site with its stack and its amount.
    fn lines(profile: &Profile) -> Vec<String> {
        let allocations = profile.allocations.as_ref();
        let allocations = allocations.expect("the profile has allocations");
        let told = allocations.sites.iter().map(|site| {
            let mut path = Vec::new();
            let mut at = site.frame;
            while let Some(frame) = at.map(|at| allocations.frames[at as usize]) {
                let name = &profile.methods[frame.method as usize].name;
                path.push(match (frame.line, frame.bci) {
                    (Some(line), Some(bci)) => format!("{name}:{line}@{bci}"),
                    _ => name.to_string(),
                });
                at = frame.parent;
            }
            let Amount { objects, bytes, .. } = site.allocated;
            format!("{} {} {objects} {bytes:?}", site.thread, path.join(" < "))
        });
        told.collect()
    }

    /// If calls are recorded, the parent of a site's leaf is the site's method; otherwise this method is not in
    /// the tree.
    #[test]
    fn sites_leave_the_tree() {
        let symbols = with_sites();
        let node = |parent, method, calls, all_ns| Node {
            parent,
            method,
            calls,
            all_ns,
            ..Node::default()
        };
        // A leaf before a node that has further leaves below it, a leaf at the root, and a leaf
        // without a count.
        let nodes = vec![
            node(None, 5, 2, 0),
            node(None, 0, 1, 0),
            node(Some(1), 4, 3, 80),
            node(Some(1), 1, 7, 0),
            node(Some(3), 3, 5, 0),
            node(Some(3), 4, 1, 16),
            node(Some(1), 5, 0, 0),
        ];
        let tree = |nodes| ThreadTree {
            name: "main".into(),
            id: Some(1),
            kind: Default::default(),
            cpu_ns: None,
            nodes,
        };
        let profile = symbols.profile(Snapshot {
            header: Header::default(),
            threads: vec![tree(nodes), tree(vec![node(None, 5, 4, 0)])],
            method_calls: Vec::new(),
            latencies: Vec::new(),
        });
        let [first, second] = &profile.threads[..] else {
            panic!("two threads expected");
        };
        let kept: Vec<_> = first.nodes.iter().map(|n| (n.parent, n.calls)).collect();
        assert_eq!(kept, [(None, 1), (Some(0), 7)]);
        assert_eq!(second.nodes, []);
        let expected = [
            "0 main:50@5 2 None",
            "0 trivial:40@4 < main 3 Some(80.0)",
            "0 timed:30@3 < main 5 Some(120.0)",
            "0 trivial:40@4 < timed < main 1 Some(16.0)",
            "1 main:50@5 4 None",
        ];
        assert_eq!(lines(&profile), expected);
    }

    #[test]
    fn only_called_methods_are_named() {
        let mut symbols = Symbols::default();
        symbols.define(7, Method::new("a.B", "run", "()V"));
        let call = |method| Node {
            method,
            calls: 1,
            ..Node::default()
        };
        let snapshot = Snapshot {
            header: Header::default(),
            threads: vec![ThreadTree {
                name: "main".into(),
                id: Some(1),
                kind: Default::default(),
                cpu_ns: None,
                nodes: [9, 7, 9, OVERFLOW].map(call).to_vec(),
            }],
            method_calls: [(7, 5), (8, 1)]
                .map(|(method, calls)| MethodCalls {
                    method,
                    calls,
                    since_ns: None,
                    until_ns: None,
                })
                .to_vec(),
            latencies: Vec::new(),
        };
        let profile = symbols.profile(snapshot);
        let indexes: Vec<u32> = profile.threads[0].nodes.iter().map(|n| n.method).collect();
        assert_eq!(indexes, [0, 1, 0, 2]);
        assert_eq!(profile.methods[0], Method::unknown(9));
        assert_eq!(&*profile.methods[1].name, "run");
        assert_eq!(profile.methods[2], Method::overflow());
        let counted = profile.method_calls.iter().map(|c| (c.method, c.calls));
        assert_eq!(counted.collect::<Vec<_>>(), [(1, 5), (3, 1)]);
        assert_eq!(profile.methods[3], Method::unknown(8));
    }
}
