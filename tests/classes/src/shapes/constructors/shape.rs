//! One way to write a constructor.

use crate::assembler::ClassBuilder;
use crate::shapes::{Driver, Filler};

/// One way to write a constructor.
#[derive(Debug, Clone, Copy)]
pub struct ConstructorShape {
    /// A name that can be part of a class name.
    pub name: &'static str,
    /// The unusual construct that the shape shows.
    pub construct: &'static str,
    /// The newest class file version whose verifier accepts the shape.
    pub max_version: u16,
    build: fn(&mut ClassBuilder, &mut Driver, Filler),
}

impl ConstructorShape {
    /// Makes a shape that is legal in every version.
    pub(super) const fn any(
        name: &'static str,
        construct: &'static str,
        build: fn(&mut ClassBuilder, &mut Driver, Filler),
    ) -> Self {
        Self {
            name,
            construct,
            max_version: u16::MAX,
            build,
        }
    }

    /// Makes a shape that only the old verifier, which infers types, accepts (JVMS §4.10.2).
    pub(super) const fn old(
        name: &'static str,
        construct: &'static str,
        build: fn(&mut ClassBuilder, &mut Driver, Filler),
    ) -> Self {
        Self {
            name,
            construct,
            max_version: 49,
            build,
        }
    }

    /// Makes the class `name` of `version` with this constructor. `filler` is inserted at a place
    /// where it makes the constructor's branches long.
    ///
    /// # Panics
    /// If the assembler refuses the class, which is a fault of this module.
    pub fn class(&self, name: &str, version: u16, filler: Filler) -> Vec<u8> {
        let mut class = ClassBuilder::new(version, name);
        let mut driver = Driver::new();
        (self.build)(&mut class, &mut driver, filler);
        driver.add_to(&mut class);
        class
            .finish()
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
