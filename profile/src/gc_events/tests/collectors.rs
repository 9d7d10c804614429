//! Runs programs on the simulated heaps of [`loadhook_testkit::collectors`].

use loadhook_testkit::collectors::{Collector, Heap};

use super::*;

/// A step of the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Allocates an object of this many bytes.
    Allocate(u64),
    /// Drops the reference to the object with this number, taken modulo the number of objects so far.
    Drop(usize),
    /// Runs the collector; the number is the seed of random orders.
    Collect(u64),
}

impl Heap for Oracle {
    fn new_arena(&mut self, arena: i32) {
        let arena = ArenaId(arena);
        self.send(Event::NewArena { arena });
    }

    fn delete_arena(&mut self, arena: i32) {
        let arena = ArenaId(arena);
        for known in &mut self.objects {
            known.at = known.at.filter(|(at, _)| *at != arena);
        }
        self.send(Event::DeleteArena { arena });
    }

    fn free(&mut self, number: usize) {
        let (_, object) = self.objects[number].at.take().expect("the object is alive");
        self.send(Event::DeleteObject { object });
    }

    fn move_to(&mut self, number: usize, arena: i32, id: u64) {
        let (new_arena, new_object) = (ArenaId(arena), ObjectId(id));
        let to = Some((new_arena, new_object));
        let from = std::mem::replace(&mut self.objects[number].at, to);
        let (arena, object) = from.expect("the object is alive");
        self.send(Event::MoveObject {
            arena,
            object,
            new_arena,
            new_object,
        });
    }

    fn is_at(&self, number: usize, arena: i32, id: u64) -> bool {
        self.objects[number].at == Some((ArenaId(arena), ObjectId(id)))
    }
}

/// Runs a program and checks the model of the heap after each event. At the end, compares the objects that are
/// alive according to the events with the objects that the program holds.
pub(super) fn run(mut collector: Collector, steps: &[Step]) -> Oracle {
    let mut oracle = Oracle::default();
    collector.begin(&mut oracle);
    let mut held = Vec::new();
    let end = [Step::Collect(1), Step::Collect(2)];
    for step in steps.iter().chain(&end) {
        match *step {
            Step::Allocate(size) => {
                let (arena, id) = collector.allocate(held.len());
                oracle.allocate(size, ArenaId(arena), ObjectId(id));
                held.push(true);
            }
            Step::Drop(which) if !held.is_empty() => {
                let number = which % held.len();
                held[number] = false;
                if collector.counts_references() {
                    collector.collect(&mut oracle, &held, 0);
                }
            }
            Step::Drop(_) => {}
            Step::Collect(random) => {
                oracle.send(Event::CollectionStart);
                collector.collect(&mut oracle, &held, random);
                oracle.send(Event::CollectionFinish);
            }
        }
    }
    // One of the two collections at the end collected the whole heap.
    let numbers = (0..held.len()).filter(|number| held[*number]);
    assert_eq!(oracle.alive(), numbers.collect::<Vec<_>>());
    oracle
}
