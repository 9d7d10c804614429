//! Who gets which probes, and what the ids stand for.

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Filter, Probes, Selector, Site};
use serde_json::{Value, json};

use super::ProbeFamily;

/// Up to this many instructions a method without call and loop is trivial:
/// it costs less than its probes.
const TRIVIAL: usize = 24;

/// Gives out ids and remembers what they stand for.
pub(super) struct Chooser {
    pub(super) filter: Filter,
    pub(super) probes: Vec<ProbeFamily>,
    pub(super) all: bool,
    pub(super) trivial: u32,
    pub(super) methods: Vec<Value>,
    pub(super) sites: Vec<Value>,
    /// Whether `methods` and `sites` are wanted.
    pub(super) remember: bool,
    pub(super) next_method: u32,
    pub(super) next_site: u32,
    /// Of the class being rewritten: the method's position, and its entry of
    /// `methods` or `sites`. Only those that were not left alone are kept.
    pub(super) staged_methods: Vec<(u16, Value)>,
    pub(super) staged_sites: Vec<(u16, Value)>,
}

impl Chooser {
    /// Keeps what was staged for the methods that `is_kept`.
    pub(super) fn commit(&mut self, is_kept: impl Fn(u16) -> bool) {
        for (staged, all) in [
            (&mut self.staged_methods, &mut self.methods),
            (&mut self.staged_sites, &mut self.sites),
        ] {
            let kept = staged.drain(..).filter(|(method, _)| is_kept(*method));
            all.extend(kept.map(|(_, value)| value));
        }
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    loadhook_rewrite::text::display(bytes).to_string()
}

pub(super) fn class_name(method: &Member<'_, '_>) -> String {
    text(method.class().name()).replace('/', ".")
}

impl Selector for Chooser {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        self.filter.class(class)
    }

    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        self.filter.method(method)
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let wants = |family| self.probes.contains(&family);
        let mut probes = Probes {
            timing: None,
            allocations: wants(ProbeFamily::Alloc),
            objects: wants(ProbeFamily::Object),
        };
        if wants(ProbeFamily::Timing) {
            if !self.all && method.is_trivial(TRIVIAL) {
                self.trivial += 1;
            } else {
                probes.timing = Some(self.next_method);
                if self.remember {
                    self.staged_methods.push((
                        method.index(),
                        json!({
                            "id": self.next_method,
                            "class": class_name(method),
                            "method": text(method.name()),
                            "descriptor": text(method.descriptor()),
                        }),
                    ));
                }
                self.next_method += 1;
            }
        }
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let id = self.next_site;
        if self.remember {
            self.staged_sites.push((
                method.index(),
                json!({
                    "id": id,
                    "class": class_name(method),
                    "method": text(method.name()),
                    "descriptor": text(method.descriptor()),
                    "bci": site.bci,
                    "type": site.allocation.type_name(),
                }),
            ));
        }
        self.next_site += 1;
        id
    }
}
