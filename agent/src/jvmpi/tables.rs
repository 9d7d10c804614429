//! Keeps a model of the heap, and the numbers of objects for the profile, by JVMPI's events.

use std::collections::HashMap;

use loadhook_profile::gc_events::{
    Amount, ClassId, Event, Fault, HeapModel, ObjectGroup, ObjectId, SiteId,
};

use super::classes::{Classes, DEEPER};
use super::events::{AllocatedObject, CallFrame, LoadedClass, ThreadId};
use super::sites::{NOT_SHOWN, Sites};
use crate::frames::numbers::Numbers;

/// The maximum number of objects that are followed. They take about 1 GB, including the room for the events of a
/// collection.
const MOST_OBJECTS: usize = 7 << 20;

/// The maximum number of types. Objects of further types are shown with an unknown type.
const MOST_TYPES: usize = 1 << 20;

/// The number of frames of a stack that are recorded. One more frame is requested, to find out whether the stack is
/// deeper.
pub(super) const DEPTH: usize = 128;

/// The heap, with the classes and places of its objects.
pub(crate) struct Tables {
    /// The live objects. In this model, the class of an object is the number of its type, and the label of a class
    /// object is the number of the class plus 1.
    pub(super) heap: HeapModel,
    pub(super) classes: Classes,
    pub(super) sites: Sites,
    /// The types of objects: the number of the class, `None` if unknown, and JVMPI's number for the kind of object or
    /// array.
    types: Numbers<(Option<u32>, i32)>,
    /// All objects that the program has allocated.
    pub(super) allocated: HashMap<(ClassId, SiteId), Amount>,
    /// Number of events that contradict earlier events.
    pub(super) contradictions: u64,
    /// Number of objects that are not followed, because there was no room.
    pub(super) not_followed: u64,
}

impl Tables {
    pub(super) fn new(most_sites: usize) -> Self {
        let mut types = Numbers::default();
        types.number((None, 0), MOST_TYPES);
        Tables {
            heap: HeapModel::of_live_objects(),
            classes: Classes::default(),
            sites: Sites::new(most_sites),
            types,
            allocated: HashMap::new(),
            contradictions: 0,
            not_followed: 0,
        }
    }

    /// Applies an event of the heap.
    pub(super) fn apply(&mut self, event: Event) {
        let refused = self.heap.apply(event).err().map(|error| error.fault);
        // An unknown object is no contradiction, because there may have been no room for it.
        if !matches!(refused, None | Some(Fault::UnknownObject(_))) {
            self.contradictions += 1;
        }
    }

    /// Returns whether an id is the id of a live object.
    pub(super) fn knows(&self, object: ObjectId) -> bool {
        self.heap.group(object).is_some()
    }

    /// Returns the number of the class whose class object has this id at present.
    pub(super) fn class(&self, class: ObjectId) -> Option<u32> {
        self.heap.label(class)?.checked_sub(1)
    }

    /// Notes a class. If its class object is not known, its methods are noted, but its objects have an unknown type.
    pub(super) fn class_loads(&mut self, loaded: &LoadedClass<'_>) {
        let known = self.class(loaded.class);
        let number = self.classes.add(known, loaded);
        self.heap.set_label(loaded.class, number + 1);
    }

    /// Forgets the methods of a class.
    pub(super) fn class_unloads(&mut self, class: ObjectId) {
        if let Some(number) = self.class(class) {
            self.classes.unload(number);
            self.heap.set_label(class, 0);
        }
    }

    /// Finds or makes the site of a stack, innermost frame first. Frames of unknown methods are left out.
    pub(super) fn site(&mut self, thread: ThreadId, stack: &[CallFrame]) -> SiteId {
        let classes = &self.classes;
        let known = |frame: &CallFrame| Some((classes.method(frame.method)?, frame.line));
        let mut frames: Vec<_> = stack.iter().take(DEPTH).filter_map(known).collect();
        if frames
            .iter()
            .any(|(method, _)| classes.is_trackers(*method))
        {
            return NOT_SHOWN;
        }
        if stack.len() > DEPTH {
            frames.push((DEEPER, None));
        }
        self.sites.site(thread, frames.into_iter())
    }

    /// Notes an object, unless it is known already. A requested object is a class object. It is followed even if there
    /// are too many objects, because its id leads to the class that it represents.
    pub(super) fn object(&mut self, object: &AllocatedObject, site: SiteId, is_requested: bool) {
        let class = object.class.and_then(|class| self.class(class));
        let kind = (class, object.kind);
        let type_number = ClassId(self.types.number(kind, MOST_TYPES).unwrap_or(0));
        if self.knows(object.object) {
            let is_alike = |it: ObjectGroup| it.class == type_number;
            if !self.heap.group(object.object).is_some_and(is_alike) {
                self.contradictions += 1;
            }
            return;
        }
        if site != NOT_SHOWN {
            let amount = self.allocated.entry((type_number, site)).or_default();
            amount.objects += 1;
            amount.bytes += object.size;
        }
        if self.heap.objects() >= MOST_OBJECTS && !is_requested {
            self.not_followed += 1;
            return;
        }
        // A VM with only one arena may not report the arena.
        if self.heap.objects_in(object.arena).is_none() {
            let arena = object.arena;
            self.apply(Event::NewArena { arena });
        }
        self.apply(Event::NewObject {
            group: ObjectGroup {
                arena: object.arena,
                class: type_number,
                site,
            },
            object: object.object,
            size: object.size,
        });
    }

    /// Returns the name of a type.
    pub(super) fn type_name(&self, type_number: ClassId) -> String {
        let known = self.types.all().get(type_number.0 as usize);
        let (class, kind) = known.copied().unwrap_or((None, 0));
        self.classes.type_name(class, kind)
    }
}
