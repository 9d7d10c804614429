//! Classes assembled by hand. Each class shows one construct.
//!
//! HotSpot 17 and 25 accept every class under `-Xverify:all`. Most classes have a method `run()`
//! (see [`loadhook_testclasses::shapes::Driver`]). The driver's own methods are synthetic, and
//! golden files omit their bodies.

mod allocations;
mod constants;
mod constructors;
mod debug_tables;
mod frames;
mod handlers;
mod jumps;
mod list;
mod members;
mod sizes;
mod stack_maps;
mod subroutines;
mod switches;
mod type_annotations;
mod uninitialized;
mod wide;

pub use list::Handmade;
use list::List;

/// Returns all hand-made classes, in an order that does not change. Their names are unique.
pub fn all() -> Vec<Handmade> {
    let mut list = List::default();
    frames::add(&mut list);
    switches::add(&mut list);
    wide::add(&mut list);
    jumps::add(&mut list);
    subroutines::add(&mut list);
    handlers::add(&mut list);
    uninitialized::add(&mut list);
    constructors::add(&mut list);
    debug_tables::add(&mut list);
    type_annotations::add(&mut list);
    stack_maps::add(&mut list);
    constants::add(&mut list);
    allocations::add(&mut list);
    members::add(&mut list);
    sizes::add(&mut list);
    list.classes
}
