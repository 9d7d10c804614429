//! Simulated heaps, one for each kind of collector. An object is a number and takes one cell. The
//! simulation decides which ids objects get and when, and tells a [`Heap`] of it.

/// The heap model that a simulation reports to: arenas, which are parts of the heap, begin and end; objects move and end.
pub trait Heap {
    /// Objects can be in this arena from now on.
    fn new_arena(&mut self, arena: i32);
    /// The arena ends, and with it all objects in it.
    fn delete_arena(&mut self, arena: i32);
    /// An object ends.
    fn free(&mut self, number: usize);
    /// An object gets another id, another arena, or both. Another object may still have the id.
    fn move_to(&mut self, number: usize, arena: i32, id: u64);
    /// Returns whether an object has this arena and id.
    fn is_at(&self, number: usize, arena: i32, id: u64) -> bool;
}

/// A space of cells, each with the number of its object.
pub struct Space {
    arena: i32,
    cells: Vec<Option<usize>>,
}

/// A heap and its collector.
pub enum Collector {
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

    fn id(&self, cell: usize) -> u64 {
        0x10_0000 * self.arena as u64 + 8 * (cell as u64 + 1)
    }

    /// Puts an object into the first free cell.
    fn place(&mut self, number: usize) -> u64 {
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

    fn sweep(&mut self, heap: &mut impl Heap, held: &[bool]) {
        for cell in &mut self.cells {
            if let Some(dead) = cell.take_if(|number| !held[*number]) {
                heap.free(dead);
            }
        }
    }

    /// Gives all live objects new cells, and tells of the moves and frees in any order.
    fn rearrange(&mut self, heap: &mut impl Heap, held: &[bool], mut random: Random) {
        let mut cells = self.cells.clone();
        cells.push(None);
        let mut numbers: Vec<usize> = self.numbers().collect();
        for cell in &mut cells {
            cell.take_if(|number| !held[*number]);
        }
        random.shuffle(&mut cells);
        random.shuffle(&mut numbers);
        for number in numbers {
            let cell = cells.iter().position(|cell| *cell == Some(number));
            match cell.map(|cell| self.id(cell)) {
                None => heap.free(number),
                // An object that stays may be reported as moved or not.
                Some(id)
                    if heap.is_at(number, self.arena, id) && random.next().is_multiple_of(2) => {}
                Some(id) => heap.move_to(number, self.arena, id),
            }
        }
        self.cells = cells;
    }

    /// Moves live objects to another space, and replaces this space's arena by a new one.
    fn evacuate(&mut self, to: &mut Space, heap: &mut impl Heap, held: &[bool]) {
        for number in self.numbers().filter(|number| held[*number]) {
            let id = to.place(number);
            heap.move_to(number, to.arena, id);
        }
        self.cells.clear();
        heap.delete_arena(self.arena);
        heap.new_arena(self.arena);
    }
}

impl Collector {
    /// A heap of each kind.
    #[must_use]
    pub fn all() -> [Collector; 6] {
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

    /// Tells of the arenas, before anything else.
    pub fn begin(&mut self, heap: &mut impl Heap) {
        for space in self.spaces() {
            heap.new_arena(space.arena);
        }
    }

    /// Allocates an object. Returns its arena and its id.
    pub fn allocate(&mut self, number: usize) -> (i32, u64) {
        let space = &mut self.spaces()[0];
        let id = space.place(number);
        (space.arena, id)
    }

    /// Returns whether objects end as soon as they are dropped.
    #[must_use]
    pub fn counts_references(&self) -> bool {
        matches!(self, Collector::ReferenceCounting(_))
    }

    /// Collects. `held` says which objects the program holds. `random` is the seed of random orders.
    pub fn collect(&mut self, heap: &mut impl Heap, held: &[bool], random: u64) {
        let random = Random(random);
        match self {
            Collector::MarkSweep(space) | Collector::ReferenceCounting(space) => {
                space.sweep(heap, held);
            }
            Collector::Sliding(space) => {
                space.sweep(heap, held);
                let numbers: Vec<usize> = space.numbers().collect();
                space.cells.clear();
                for number in numbers {
                    let id = space.place(number);
                    heap.move_to(number, space.arena, id);
                }
            }
            Collector::Arbitrary(space) => space.rearrange(heap, held, random),
            Collector::TwoSpace(spaces) => {
                let [from, to] = spaces;
                from.evacuate(to, heap, held);
                spaces.swap(0, 1);
            }
            Collector::Generational([young, old], compacts) => {
                young.evacuate(old, heap, held);
                if *compacts {
                    old.rearrange(heap, held, random);
                }
                *compacts = !*compacts;
            }
        }
    }
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
