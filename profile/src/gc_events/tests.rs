//! Simulates collectors of all kinds, and compares the model with a record of the state of each object.

mod collectors;

use std::collections::BTreeMap;

use loadhook_testkit::collectors::Collector;
use proptest::collection::vec;
use proptest::prelude::*;

use self::collectors::Step;
use super::*;

/// The record: it identifies each object by a number, independent of its id. It passes each event
/// to the model and compares the results.
struct Oracle {
    heap: HeapModel,
    /// A model of live objects only.
    living: HeapModel,
    events: Vec<Event>,
    objects: Vec<Known>,
}

struct Known {
    class: ClassId,
    size: u64,
    born: ArenaId,
    at: Option<(ArenaId, ObjectId)>,
}

impl Default for Oracle {
    fn default() -> Self {
        Oracle {
            heap: HeapModel::default(),
            living: HeapModel::of_live_objects(),
            events: Vec::new(),
            objects: Vec::new(),
        }
    }
}

impl Oracle {
    fn send(&mut self, event: Event) {
        self.events.push(event);
        let applied = self.heap.apply(event);
        applied.unwrap_or_else(|error| panic!("{error}: {:?}", self.events));
        // The number serves as the site, so that all objects are distinguished.
        assert_eq!(
            self.heap.amounts_by(|group| group),
            self.amounts(),
            "{:?}",
            self.events
        );
        self.living.apply(event).expect("the event is valid");
        self.compare_living();
    }

    /// Checks that the model has the live objects in their arenas, and no others.
    fn compare_living(&self) {
        let amounts = self
            .amounts()
            .into_iter()
            .map(|(group, sums)| (group, sums.live));
        let alive: BTreeMap<ObjectGroup, Amount> =
            amounts.filter(|(_, live)| live.objects > 0).collect();
        let found = self.living.amounts_by(|group| group);
        let found: BTreeMap<ObjectGroup, Amount> = found
            .into_iter()
            .map(|(group, sums)| (group, sums.live))
            .collect();
        assert_eq!(found, alive, "{:?}", self.events);
        let places: Vec<_> = self.objects.iter().filter_map(|known| known.at).collect();
        assert_eq!(self.living.objects(), places.len(), "{:?}", self.events);
        for arena in self.living.arenas.keys() {
            let objects = places.iter().filter(|(at, _)| at == arena).count();
            assert_eq!(self.living.objects_in(*arena), Some(objects));
        }
        // Two objects have the same id only while a collection moves them.
        for (arena, id) in places {
            let group = self.living.group(id).expect("the object is alive");
            assert!(group.arena == arena || !self.living.covered.is_empty());
        }
    }

    fn amounts(&self) -> BTreeMap<ObjectGroup, Amounts> {
        let mut amounts = BTreeMap::<ObjectGroup, Amounts>::new();
        for (site, known) in (0..).map(SiteId).zip(&self.objects) {
            let class = known.class;
            let group = |arena| ObjectGroup { arena, class, site };
            let allocated = amounts.entry(group(known.born)).or_default();
            allocated.allocated.put(known.size);
            if let Some((arena, _)) = known.at {
                amounts
                    .entry(group(arena))
                    .or_default()
                    .live
                    .put(known.size);
            }
        }
        // For an arena that objects only passed through, the model keeps a group with empty sums.
        for group in self.heap.amounts.keys() {
            amounts.entry(*group).or_default();
        }
        amounts
    }

    fn allocate(&mut self, size: u64, arena: ArenaId, object: ObjectId) -> usize {
        let number = self.objects.len();
        let class = ClassId(number as u32 % 3);
        let site = SiteId(number as u32);
        self.objects.push(Known {
            class,
            size,
            born: arena,
            at: Some((arena, object)),
        });
        self.send(Event::NewObject {
            group: ObjectGroup { arena, class, site },
            object,
            size,
        });
        number
    }

    fn alive(&self) -> Vec<usize> {
        let numbers = 0..self.objects.len();
        numbers.filter(|n| self.objects[*n].at.is_some()).collect()
    }
}

impl HeapModel {
    /// Returns the number of objects for which the model's tables have room.
    fn room(&self) -> usize {
        self.objects.capacity() + self.covered.capacity()
    }
}

/// Returns everything in the model except the number of events.
fn state(heap: &HeapModel) -> impl PartialEq + std::fmt::Debug + use<> {
    let HeapModel {
        arenas,
        objects,
        covered,
        is_collecting,
        amounts,
        allocated,
        forgets: _,
        events: _,
    } = heap.clone();
    (arenas, objects, covered, is_collecting, amounts, allocated)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..100_u64).prop_map(Step::Allocate),
        3 => any::<usize>().prop_map(Step::Drop),
        1 => any::<u64>().prop_map(Step::Collect),
    ];
    vec(step, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_collector_loses_an_object(steps in steps()) {
        for collector in Collector::all() {
            collectors::run(collector, &steps);
        }
    }

    #[test]
    fn invalid_events_change_nothing(steps in steps(), at in any::<prop::sample::Index>()) {
        for collector in Collector::all() {
            let events = collectors::run(collector, &steps).events;
            let (before, after) = events.split_at(at.index(events.len()));
            let mut heap = HeapModel::default();
            for event in before {
                heap.apply(*event).expect("the event is valid");
            }
            let positions = before.len() as u64..;
            for (position, (event, fault)) in positions.zip(impossible(&heap)) {
                let unchanged = state(&heap);
                prop_assert_eq!(heap.apply(event), Err(HeapError { position, fault }), "{:?}", event);
                prop_assert_eq!(state(&heap), unchanged, "{:?}", event);
            }
            for event in after {
                heap.apply(*event).expect("the event is valid");
            }
        }
    }
}

/// Returns events that are invalid in this state of the heap, with their faults.
fn impossible(heap: &HeapModel) -> Vec<(Event, Fault)> {
    let group = |arena| ObjectGroup {
        arena,
        class: ClassId(0),
        site: SiteId(0),
    };
    let new = |arena, object, size| Event::NewObject {
        group: group(arena),
        object,
        size,
    };
    let shift = |(arena, object), (new_arena, new_object)| Event::MoveObject {
        arena,
        object,
        new_arena,
        new_object,
    };
    // No collector uses these ids.
    let (no_arena, no_object) = (ArenaId(-1), ObjectId(u64::MAX));
    let unknown = Fault::UnknownArena(no_arena);
    let mut all = vec![
        (Event::DeleteArena { arena: no_arena }, unknown),
        (new(no_arena, no_object, 1), unknown),
        (
            Event::DeleteObject { object: no_object },
            Fault::UnknownObject(no_object),
        ),
    ];
    for &arena in heap.arenas.keys() {
        let from = (arena, no_object);
        all.push((Event::NewArena { arena }, Fault::ArenaInUse(arena)));
        all.push((shift(from, from), Fault::UnknownObject(no_object)));
        if heap.allocated.bytes > 0 {
            all.push((new(arena, no_object, u64::MAX), Fault::TooManyBytes));
        }
    }
    // If two objects have one id, the id names the first.
    let arena_of = |id| heap.group(id).expect("the object is alive").arena;
    for &id in heap.objects.keys() {
        let arena = arena_of(id);
        let in_use = Fault::ObjectInUse(id);
        all.push((new(arena, id, 1), in_use));
        all.push((
            shift((no_arena, id), (arena, id)),
            Fault::OtherArena(id, arena),
        ));
        all.push((shift((arena, id), (no_arena, no_object)), unknown));
        // One object that could move there is enough.
        if (!heap.is_collecting || heap.covered.contains_key(&id))
            && let Some(&other) = heap.objects.keys().find(|other| **other != id)
        {
            all.push((shift((arena_of(other), other), (arena, id)), in_use));
        }
    }
    all.push(match (heap.is_collecting, heap.covered.keys().min()) {
        (false, _) => (Event::CollectionFinish, Fault::NotCollecting),
        (true, None) => (Event::CollectionStart, Fault::Collecting),
        (true, Some(left)) => (Event::CollectionFinish, Fault::ObjectInUse(*left)),
    });
    all
}

/// Returns a heap of one arena with objects of sizes 1, 2, 4… at these ids.
fn heap_with(ids: &[u64]) -> HeapModel {
    let arena = ArenaId(1);
    let mut heap = HeapModel::default();
    heap.apply(Event::NewArena { arena })
        .expect("this is the first event of its kind");
    for (n, id) in (0..).zip(ids) {
        let group = ObjectGroup {
            arena,
            class: ClassId(0),
            site: SiteId(n),
        };
        let (object, size) = (ObjectId(*id), 1 << n);
        let event = Event::NewObject {
            group,
            object,
            size,
        };
        heap.apply(event).expect("the id is new");
    }
    heap
}

fn shift(from: u64, to: u64) -> Event {
    Event::MoveObject {
        arena: ArenaId(1),
        object: ObjectId(from),
        new_arena: ArenaId(1),
        new_object: ObjectId(to),
    }
}

fn bytes(heap: &HeapModel) -> u64 {
    heap.amounts_by(|_| ())[&()].live.bytes
}

#[test]
fn a_ring_can_only_turn_in_a_collection() {
    let mut heap = heap_with(&[10, 20, 30]);
    let turn = [shift(10, 20), shift(20, 30), shift(30, 10)];
    let fault = Fault::ObjectInUse(ObjectId(20));
    let error = heap.apply(turn[0]).expect_err("the id is in use");
    assert_eq!(error, HeapError { position: 4, fault });
    heap.apply(Event::CollectionStart)
        .expect("this is the first event of its kind");
    for event in turn {
        heap.apply(event).expect("the moves form a ring");
    }
    heap.apply(Event::CollectionFinish)
        .expect("all objects have moved");
    // Each object has taken the id of the previous one.
    for (id, left) in [(20, 6), (30, 4), (10, 0)] {
        let object = ObjectId(id);
        heap.apply(Event::DeleteObject { object })
            .expect("the object exists");
        assert_eq!(bytes(&heap), left, "{id}");
    }
}

#[test]
fn a_label_moves_with_its_object() {
    let mut heap = heap_with(&[10, 20]);
    let id = |id| ObjectId(id);
    assert!(heap.set_label(id(10), 7) && !heap.set_label(id(30), 8));
    assert_eq!((heap.label(id(20)), heap.label(id(30))), (Some(0), None));
    heap.apply(Event::CollectionStart)
        .expect("this is the first event of its kind");
    heap.apply(shift(10, 20))
        .expect("moves are allowed in a collection");
    // The id still names the object that was there first.
    assert!(heap.set_label(id(20), 9));
    heap.apply(shift(20, 10)).expect("the id is free");
    assert_eq!((heap.label(id(10)), heap.label(id(20))), (Some(9), Some(7)));
}

#[test]
fn a_move_to_the_id_of_an_object_does_not_free_it() {
    let mut heap = heap_with(&[10, 20]);
    let delete = Event::DeleteObject {
        object: ObjectId(20),
    };
    heap.apply(Event::CollectionStart)
        .expect("this is the first event of its kind");
    heap.apply(shift(10, 20))
        .expect("moves are allowed in a collection");
    let error = heap
        .apply(Event::CollectionFinish)
        .expect_err("two objects have one id");
    assert_eq!(
        error.to_string(),
        "event 5: there is already an object 0x14"
    );
    // This frees the object that had the id first.
    heap.apply(delete).expect("the object exists");
    assert_eq!(bytes(&heap), 1);
    heap.apply(Event::CollectionFinish)
        .expect("one object has the id");
    heap.apply(delete).expect("the other object exists");
    assert_eq!(bytes(&heap), 0);
    let error = heap.apply(delete).expect_err("both objects were deleted");
    assert_eq!(error.to_string(), "event 9: there is no object 0x14");
}

#[test]
fn an_arena_takes_both_objects_of_an_id_or_one() {
    let [first, second] = [ArenaId(1), ArenaId(2)];
    for (deleted, left) in [(first, 2), (second, 1)] {
        let mut heap = heap_with(&[10, 20, 30]);
        let mut apply = |event| heap.apply(event).expect("the event is valid");
        apply(Event::NewArena { arena: second });
        apply(Event::CollectionStart);
        // 30 stays in the first arena, and the object at 10 moves to the id 30 in the second.
        apply(Event::MoveObject {
            arena: first,
            object: ObjectId(20),
            new_arena: second,
            new_object: ObjectId(30),
        });
        apply(Event::DeleteArena { arena: deleted });
        if deleted == first {
            apply(Event::CollectionFinish);
        } else {
            // The first object has its id alone again.
            apply(Event::CollectionFinish);
            apply(Event::DeleteObject {
                object: ObjectId(30),
            });
        }
        assert_eq!(bytes(&heap), left, "{deleted:?}");
    }
}

#[test]
fn amounts_are_by_arena_class_and_site() {
    let mut heap = HeapModel::default();
    let arena = ArenaId(3);
    heap.apply(Event::NewArena { arena })
        .expect("this is the first event of its kind");
    for n in 0..6 {
        let group = ObjectGroup {
            arena,
            class: ClassId(n % 2),
            site: SiteId(n % 3),
        };
        let (object, size) = (ObjectId(n.into()), 10);
        let event = Event::NewObject {
            group,
            object,
            size,
        };
        heap.apply(event).expect("the id is new");
    }
    let object = ObjectId(4);
    heap.apply(Event::DeleteObject { object })
        .expect("the object exists");
    let live = |sums: BTreeMap<u32, Amounts>| {
        let live = |sum: &Amounts| (sum.live.objects, sum.live.bytes, sum.allocated.objects);
        sums.values().map(live).collect::<Vec<_>>()
    };
    let by_class = live(heap.amounts_by(|group| group.class.0));
    assert_eq!(by_class, [(2, 20, 3), (3, 30, 3)]);
    let by_site = live(heap.amounts_by(|group| group.site.0));
    assert_eq!(by_site, [(2, 20, 2), (1, 10, 2), (2, 20, 2)]);
    let by_arena = live(heap.amounts_by(|_| 0));
    assert_eq!(by_arena, [(5, 50, 6)]);
}

/// One object of each arena stays alive. With a table for each arena, each table would keep room
/// for about 1,000 objects.
#[test]
fn survivors_do_not_keep_the_memory_of_dead_objects() {
    const EACH: u64 = 1000;
    let mut heap = HeapModel::of_live_objects();
    for n in 0..50 {
        let arena = ArenaId(n as i32);
        heap.apply(Event::NewArena { arena })
            .expect("the id is new");
        let objects = (n * EACH..(n + 1) * EACH).map(ObjectId);
        for object in objects.clone() {
            let group = ObjectGroup {
                arena,
                class: ClassId(0),
                site: SiteId(0),
            };
            let event = Event::NewObject {
                group,
                object,
                size: 16,
            };
            heap.apply(event).expect("the id is new");
        }
        for object in objects.skip(1) {
            let event = Event::DeleteObject { object };
            heap.apply(event).expect("the object is alive");
        }
        assert_eq!(heap.objects_in(arena), Some(1));
    }
    assert_eq!(heap.objects(), 50);
    assert!(heap.room() < 4 * (EACH as usize + 50), "{}", heap.room());
}
