//! Mutants of classes. The same seed gives the same mutant on every machine.
//!
//! The mutator parses classes with its own reader ([`class::Class`]), independently of the
//! rewriter. It makes two kinds of mutants. HotSpot accepts many of the *runnable* mutants. Mutants
//! of the kind *any* may violate all rules of the format.
//!
//! ```
//! use loadhook_testclasses::mutate::{Kind, Mutator};
//!
//! let mutator = Mutator::new(vec![b"not a class".to_vec()]);
//! assert_eq!(mutator.mutant(0, 7, Kind::Any), mutator.mutant(0, 7, Kind::Any));
//! ```

mod body;
mod bytes;
pub mod class;
mod code;
mod code_attributes;
mod frames;
pub mod instructions;
pub mod random;
mod tables;

use body::Body;
use class::Class;
use random::Random;
pub use tables::drop_frames;

/// The purpose of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// For HotSpot: the mutant is a class file that HotSpot may accept.
    Runnable,
    /// As `Runnable`, without mutations that often make endless loops.
    Straight,
    /// For tests of parsers: the mutant may violate any rule.
    Any,
}

/// A mutant, and the mutations that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The class.
    pub bytes: Vec<u8>,
    /// The mutations, each with the name of the changed method.
    pub steps: Vec<String>,
}

type Mutation = (&'static str, fn(&mut Body<'_>) -> Option<()>);

/// Mutations after which HotSpot often accepts the class. The most useful ones are listed more than
/// once, so that they are chosen more often.
const RUNNABLE: &[Mutation] = &[
    ("alike", code::alike),
    ("alike", code::alike),
    ("alike", code::alike),
    ("operand", code::operand),
    ("operand", code::operand),
    ("constant", code::constant),
    ("constant", code::constant),
    ("value", tables::value),
    ("swap", code::swap),
    ("shorten", code::shorten),
    ("drop statement", code::drop_statement),
    ("copy statement", code::copy_statement),
    ("exit early", code::exit_early),
    ("exit early", code::exit_early),
    ("handlers", code::handlers),
    ("handlers", code::handlers),
    ("maxima", code::maxima),
    ("line table", tables::line_table),
    ("line table", tables::line_table),
    ("local table", tables::local_table),
    ("split lines", tables::split_lines),
    ("frame forms", code::frame_forms),
    ("drop attribute", tables::drop_attribute),
    ("method flags", tables::method_flags),
    ("method flags", tables::method_flags),
    ("class flags", tables::class_flags),
    ("version", tables::version),
    ("unknown attribute", tables::unknown_attribute),
];

/// Mutations that may make endless loops.
const LOOPING: &[Mutation] = &[
    ("retarget", code::retarget),
    ("retarget", code::retarget),
    ("retarget", code::retarget),
    ("switch", code::switch),
    ("switch", code::switch),
    ("handler range", code::handler_range),
    ("handler range", code::handler_range),
    ("handler range", code::handler_range),
    ("add handler", code::add_handler),
];

/// Mutations after which HotSpot rarely accepts the class.
const ANY: &[Mutation] = &[
    ("attribute bytes", tables::attribute_bytes),
    ("attribute bytes", tables::attribute_bytes),
    ("attribute bytes", tables::attribute_bytes),
    ("attributes", tables::attributes),
    ("pool", tables::pool),
    ("pool", tables::pool),
    ("header", tables::header),
    ("code numbers", tables::code_numbers),
    ("byte of code", code::byte),
    ("byte of code", code::byte),
];

/// A maker of mutants of a set of classes.
#[derive(Clone, Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    classes: Vec<Option<Class>>,
}

impl Mutator {
    /// Makes a mutator of these seed classes.
    #[must_use]
    pub fn new(seeds: Vec<Vec<u8>>) -> Mutator {
        let classes = seeds.iter().map(|it| Class::parse(it)).collect();
        Mutator { seeds, classes }
    }

    /// Returns the number of seed classes.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Returns the seed class with the index `which`.
    #[must_use]
    pub fn seed(&self, which: usize) -> &[u8] {
        &self.seeds[which]
    }

    /// Makes the mutant `number` of the seed class `which`.
    #[must_use]
    pub fn mutant(&self, which: usize, number: u64, kind: Kind) -> Mutant {
        self.some_steps(which, number, kind, u32::MAX)
    }

    /// Makes the mutant with only the steps in the bit mask `mask`. This finds the steps that cause
    /// a failure.
    #[must_use]
    pub fn some_steps(&self, which: usize, number: u64, kind: Kind, mask: u32) -> Mutant {
        let mut random = Random::new(number ^ (which as u64) << 40);
        let mut mutant = Mutant {
            bytes: self.seeds[which].clone(),
            steps: Vec::new(),
        };
        let wanted = |step: usize| mask & (1 << step.min(31)) != 0;
        let bytes_only = kind == Kind::Any && random.one_in(4);
        if let Some(class) = self.classes[which].as_ref().filter(|_| !bytes_only) {
            let mut class = class.clone();
            let count = 1 + if random.one_in(2) { 0 } else { random.below(3) };
            for step in 0..count {
                // Each step has its own random numbers, so that omitting a step does not change the
                // others.
                let mut random = Random::new(random.bits());
                if wanted(step) {
                    mutant.steps.extend(mutate(&mut class, kind, &mut random));
                }
            }
            mutant.bytes = class.write();
        }
        if bytes_only || (kind == Kind::Any && random.one_in(4)) {
            let other = &self.seeds[random.below(self.seeds.len())];
            let name = mutate_bytes(&mut mutant.bytes, other, &mut random);
            mutant.steps.push(name.to_owned());
        }
        mutant
    }
}

/// Mutates a class once. Returns `None` if eight tries found nothing to change.
fn mutate(class: &mut Class, kind: Kind, random: &mut Random) -> Option<String> {
    let methods = class.with_code();
    for _ in 0..8 {
        let list = match (kind, random.below(8)) {
            (Kind::Any, 0..=4) => ANY,
            (Kind::Any | Kind::Runnable, 5) | (Kind::Runnable, 6) => LOOPING,
            _ => RUNNABLE,
        };
        let &(name, mutation) = random.pick(list)?;
        let &method = random.pick(&methods)?;
        let before = class.clone();
        if mutation(&mut Body {
            class,
            method,
            random,
        })
        .is_some()
        {
            let method = class
                .methods
                .get(method)
                .map_or(&b""[..], |it| class.utf8(it.name));
            return Some(format!("{name} in {}", String::from_utf8_lossy(method)));
        }
        *class = before;
    }
    None
}

fn mutate_bytes(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) -> &'static str {
    use bytes::{flip, havoc, insert, remove, splice, truncate};
    match random.below(8) {
        0 | 1 => (0..1 + random.below(4)).for_each(|_| flip(bytes, random)),
        2 | 3 => {
            havoc(bytes, random);
            return "havoc";
        }
        4 => {
            truncate(bytes, random);
            return "truncate";
        }
        5 => {
            insert(bytes, random);
            return "insert";
        }
        6 => {
            remove(bytes, random);
            return "remove";
        }
        _ => {
            splice(bytes, other, random);
            return "splice";
        }
    }
    "flip"
}
