//! One simulated heap for each kind of collector. An object takes one cell. The simulation decides
//! which ids objects get and when, and sends the events.

use super::*;

/// A step of the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Allocates an object of this many bytes.
    Allocate(u64),
    /// Drops the reference to one of its objects.
    Drop(usize),
    /// Runs the collector; the number is the seed of random orders.
    Collect(u64),
}

/// A space of cells, each with the number of its object.
pub(super) struct Space {
    arena: i32,
    cells: Vec<Option<usize>>,
}

pub(super) enum Collector {
    /// Frees dead objects, and moves none.
    MarkSweep(Space),
    /// Frees dead objects, then moves the live ones towards the beginning, in order.
    Sliding(Space),
    /// Moves live objects anywhere and frees dead ones, in any order.
    Arbitrary(Space),
    /// Moves live objects to the other space.
    TwoSpace([Space; 2]),
    /// Moves live objects of the first space to the second. Every other collection also compacts
    /// the second.
    Generational([Space; 2], bool),
    /// Frees an object as soon as its last reference is dropped.
    ReferenceCounting(Space),
}

impl Space {
    fn new(arena: i32) -> Space {
        let cells = Vec::new();
        Space { arena, cells }
    }

    fn arena(&self) -> ArenaId {
        ArenaId(self.arena)
    }

    fn id(&self, cell: usize) -> ObjectId {
        ObjectId(0x1000 * self.arena as u64 + 8 * cell as u64)
    }

    /// Puts an object into the first free cell.
    fn place(&mut self, number: usize) -> ObjectId {
        let free = self.cells.iter().position(Option::is_none);
        let cell = free.unwrap_or(self.cells.len());
        if cell == self.cells.len() {
            self.cells.push(None);
        }
        self.cells[cell] = Some(number);
        self.id(cell)
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().flatten().copied()
    }

    fn sweep(&mut self, oracle: &mut Oracle, held: &[bool]) {
        for cell in &mut self.cells {
            if let Some(dead) = cell.take_if(|number| !held[*number]) {
                oracle.delete(dead);
            }
        }
    }

    /// Gives all live objects new cells, and sends the moves and frees in any order.
    fn rearrange(&mut self, oracle: &mut Oracle, held: &[bool], mut random: Random) {
        let mut cells = self.cells.clone();
        cells.push(None);
        let mut numbers: Vec<usize> = self.numbers().collect();
        for cell in &mut cells {
            cell.take_if(|number| !held[*number]);
        }
        random.shuffle(&mut cells);
        random.shuffle(&mut numbers);
        let arena = self.arena();
        for number in numbers {
            let cell = cells.iter().position(|cell| *cell == Some(number));
            let id = cell.map(|cell| self.id(cell));
            match id {
                None => oracle.delete(number),
                // An object that stays may be reported as moved or not.
                Some(id)
                    if oracle.objects[number].at == Some((arena, id))
                        && random.next().is_multiple_of(2) => {}
                Some(id) => oracle.move_to(number, arena, id),
            }
        }
        self.cells = cells;
    }

    /// Moves live objects to another space, and replaces this space's arena by a new one.
    fn evacuate(&mut self, to: &mut Space, oracle: &mut Oracle, held: &[bool]) {
        for number in self.numbers().filter(|number| held[*number]) {
            let id = to.place(number);
            oracle.move_to(number, to.arena(), id);
        }
        self.cells.clear();
        let arena = self.arena();
        oracle.delete_arena(arena);
        oracle.send(Event::NewArena { arena });
    }
}

impl Collector {
    pub(super) fn all() -> [Collector; 6] {
        let spaces = || [Space::new(1), Space::new(2)];
        [
            Collector::MarkSweep(Space::new(1)),
            Collector::Sliding(Space::new(1)),
            Collector::Arbitrary(Space::new(1)),
            Collector::TwoSpace(spaces()),
            Collector::Generational(spaces(), false),
            Collector::ReferenceCounting(Space::new(1)),
        ]
    }

    fn spaces(&mut self) -> &mut [Space] {
        match self {
            Collector::MarkSweep(space)
            | Collector::Sliding(space)
            | Collector::Arbitrary(space)
            | Collector::ReferenceCounting(space) => std::slice::from_mut(space),
            Collector::TwoSpace(spaces) | Collector::Generational(spaces, _) => spaces,
        }
    }

    fn collect(&mut self, oracle: &mut Oracle, held: &[bool], random: u64) {
        let random = Random(random);
        match self {
            Collector::MarkSweep(space) => space.sweep(oracle, held),
            Collector::Sliding(space) => {
                space.sweep(oracle, held);
                let numbers: Vec<usize> = space.numbers().collect();
                space.cells.clear();
                for number in numbers {
                    let id = space.place(number);
                    oracle.move_to(number, space.arena(), id);
                }
            }
            Collector::Arbitrary(space) => space.rearrange(oracle, held, random),
            Collector::TwoSpace(spaces) => {
                let [from, to] = spaces;
                from.evacuate(to, oracle, held);
                spaces.swap(0, 1);
            }
            Collector::Generational([young, old], compacts) => {
                young.evacuate(old, oracle, held);
                if *compacts {
                    old.rearrange(oracle, held, random);
                }
                *compacts = !*compacts;
            }
            Collector::ReferenceCounting(_) => {}
        }
    }
}

/// Runs a program. Checks the model after each event, and after whole collections compares it with
/// the objects that the program holds.
pub(super) fn run(mut collector: Collector, steps: &[Step]) -> Oracle {
    let mut oracle = Oracle::default();
    for space in collector.spaces() {
        let arena = space.arena();
        oracle.send(Event::NewArena { arena });
    }
    let mut held = Vec::new();
    let end = [Step::Collect(1), Step::Collect(2)];
    for step in steps.iter().chain(&end) {
        match *step {
            Step::Allocate(size) => {
                let [space, ..] = collector.spaces() else {
                    unreachable!("every collector has a space");
                };
                let id = space.place(held.len());
                oracle.allocate(size, space.arena(), id);
                held.push(true);
            }
            Step::Drop(which) if !held.is_empty() => {
                let number = which % held.len();
                let was_held = std::mem::take(&mut held[number]);
                if let Collector::ReferenceCounting(space) = &mut collector
                    && was_held
                {
                    space.sweep(&mut oracle, &held);
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
    // One of the two collections was of the whole heap.
    let numbers = (0..held.len()).filter(|number| held[*number]);
    assert_eq!(oracle.alive(), numbers.collect::<Vec<_>>());
    oracle
}

/// Pseudo-random numbers, so that a run can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        // The generator of Knuth's MMIX; its high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.next() % (end + 1));
        }
    }
}
