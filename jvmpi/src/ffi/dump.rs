//! Sends `HEAP_DUMP` and `OBJECT_DUMP`.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_jvm::heap_walk::{NewlyTagged, Source, Tagged, Visitor};
use loadhook_jvm::jni::Jni;

use super::dump_records::Bytes;
use super::heap_copy::HeapCopy;
use super::layer::{self, Profilers};
use super::stacks::Traces;
use super::{arrivals, collections, definitions, own, tags, thread_events};
use crate::abi::{Data, HeapDump, Int, ObjectDump, REQUESTED, event, kind};

/// `JVMPI_DUMP_LEVEL_2`.
pub(super) const HIGHEST_LEVEL: Int = 2;

/// The classes of each dump of the highest level that is being sent, with the token of the sending thread. HPROF asks
/// for an `OBJECT_DUMP` of every class while it handles a dump. To make each anew would take seconds to minutes: the
/// JVM looks through all tags to find the object, and up to JDK 21 through the whole heap at the end of a walk.
static DUMPED: Mutex<Vec<(usize, HeapCopy)>> = Mutex::new(Vec::new());

fn dumped() -> MutexGuard<'static, Vec<(usize, HeapCopy)>> {
    DUMPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time in which the calling thread answers requests for classes from the dump that it sends. It ends when this
/// value is dropped.
struct Answering;

impl Answering {
    fn begin(mut copy: HeapCopy) -> Answering {
        copy.drop_roots();
        dumped().push((own::token(), copy));
        Answering
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut dumped = dumped();
        let own = dumped
            .iter()
            .rposition(|(sender, _)| *sender == own::token());
        if let Some(place) = own {
            dumped.remove(place);
        }
    }
}

/// Sends a dump of the heap. Returns whether it was made.
pub(super) fn heap(jni: Jni<'_>, level: Int, to: Profilers) -> bool {
    collections::disable();
    let made = if level == 0 {
        list(jni).map(|bytes| (bytes, Vec::new(), None, None))
    } else {
        HeapCopy::of_all(jni, level == HIGHEST_LEVEL).map(|mut copy| {
            // The records of objects name no thread, and can take long. So they are made before threads are held up,
            // although the roots stand in front of them. To free the objects takes long, too.
            let mut bytes = Bytes::with_room(copy.most_bytes_of_roots());
            copy.records(&mut bytes);
            copy.keep_classes();
            // No thread that the dump names ends until it is sent, but threads wait no longer than the patience of
            // `announcing.rs`.
            let held = thread_events::hold_ends();
            let mut roots = Bytes::default();
            let envs = copy.roots(&mut roots, to);
            bytes.put_in_front(&roots);
            let answering = (level == HIGHEST_LEVEL).then(|| Answering::begin(copy));
            (bytes, envs, Some(held), answering)
        })
    };
    let sent = made.is_some_and(|(bytes, envs, _held, _answering)| {
        let traces = Traces::of(&envs);
        let (begin, end) = bytes.range();
        let (raw, num_traces) = traces.raw();
        let heap_dump = HeapDump {
            level,
            begin,
            end,
            num_traces,
            traces: raw,
        };
        let event_type = event::HEAP_DUMP | REQUESTED;
        layer::send(to, event_type, layer::id(jni), Data { heap_dump });
        true
    });
    collections::enable();
    sent
}

/// Sends a dump of one class from the dump of the heap that the calling thread is just sending. Returns false if it
/// sends none, or if the dump has no such class.
pub(super) fn class_of_dump(jni: Jni<'_>, id: usize, to: Profilers) -> bool {
    let mut bytes = Bytes::default();
    for (sender, copy) in dumped().iter().rev() {
        if *sender == own::token() {
            copy.record(&mut bytes, id);
            break;
        }
    }
    if bytes.len() == 0 {
        return false;
    }
    send_object(jni, &bytes, to);
    true
}

/// Sends a dump of one object. The walk covers only this object.
pub(super) fn object(jni: Jni<'_>, id: usize, to: Profilers) -> bool {
    let Some(copy) = HeapCopy::of_object(jni, tags::find(jni, id)) else {
        return false;
    };
    let mut bytes = Bytes::default();
    copy.record(&mut bytes, id);
    send_object(jni, &bytes, to);
    true
}

fn send_object(jni: Jni<'_>, record: &Bytes, to: Profilers) {
    let object_dump = ObjectDump {
        len: record.len() as Int,
        data: record.range().0,
    };
    let event_type = event::OBJECT_DUMP | REQUESTED;
    layer::send(to, event_type, layer::id(jni), Data { object_dump });
}

/// Makes the content of a dump of level 0: kind and id of each object.
fn list(jni: Jni<'_>) -> Option<Bytes> {
    arrivals::existing_objects(jni);
    let mut list = List::default();
    let mut is_whole = false;
    arrivals::tag_all(jni, |jvmti| {
        is_whole = matches!(jvmti.follow_references(&mut list), Ok(Ok(())));
        std::mem::take(&mut list.new)
    });
    is_whole.then_some(list.bytes)
}

/// Lists the objects that a walk reaches.
#[derive(Default)]
struct List {
    bytes: Bytes,
    seen: HashSet<i64>,
    new: Vec<NewlyTagged>,
}

impl Visitor for List {
    fn wants_values(&self) -> bool {
        false
    }

    fn reference(
        &mut self,
        _source: Source,
        _from: Option<Tagged<'_>>,
        to: Tagged<'_>,
        size: i64,
        _length: Option<u32>,
    ) -> bool {
        self.new.extend(tags::tag_in_walk(to, size));
        if self.seen.insert(to.tag.get()) {
            let facts = definitions::facts_by_id(to.class_tag as usize);
            let of = facts.map_or(kind::NORMAL_OBJECT, |facts| facts.is_array);
            self.bytes.u1(of as u8);
            self.bytes.pointer(to.tag.get() as usize);
        }
        true
    }

    fn primitive_field(&mut self, _of: u8, _index: i32, _from: Tagged<'_>, _bits: u64) -> bool {
        true
    }

    fn primitive_array(&mut self, _: u8, _: Tagged<'_>, _: u32, _: &[u8]) -> bool {
        true
    }
}
