//! One class of the limit generator, made on demand.

use std::fmt;

use crate::assembler::ClassBuilder;
use crate::shapes::Driver;

/// A function that fills a class, and adds to the driver the calls that `run()` makes.
type Build = dyn Fn(&mut ClassBuilder, &mut Driver) + Send + Sync;

/// A function that makes a complete class with the given name.
type Make = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// One class of the limit generator.
pub struct LimitCase {
    /// The limit that the class tests: `branches`, `pools`, …
    pub group: &'static str,
    /// The class's internal name, unique among all cases.
    pub name: String,
    /// The class-file version.
    pub version: u16,
    source: Source,
}

enum Source {
    Build(Box<Build>),
    Whole(Box<Make>),
}

impl LimitCase {
    /// Makes a case whose class is named `limits/<group>_<what>_v<version>` and filled by `build`.
    pub(super) fn new(
        group: &'static str,
        what: &str,
        version: u16,
        build: impl Fn(&mut ClassBuilder, &mut Driver) + Send + Sync + 'static,
    ) -> Self {
        let name = format!("limits/{group}_{what}_v{version}");
        Self {
            group,
            name,
            version,
            source: Source::Build(Box::new(build)),
        }
    }

    /// Makes a case whose complete class is made by `make`. `make` gets the name of the class.
    pub(super) fn whole(
        group: &'static str,
        name: String,
        version: u16,
        make: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self {
            group,
            name,
            version,
            source: Source::Whole(Box::new(make)),
        }
    }

    /// Makes the class file.
    ///
    /// # Panics
    /// If the assembler refuses the class, which is a fault of the generator.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.source {
            Source::Whole(make) => make(&self.name),
            Source::Build(build) => {
                let mut class = ClassBuilder::new(self.version, &self.name);
                let mut driver = Driver::new();
                build(&mut class, &mut driver);
                driver.add_to(&mut class);
                class
                    .finish()
                    .unwrap_or_else(|error| panic!("{}: {error}", self.name))
            }
        }
    }
}

impl fmt::Debug for LimitCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LimitCase").field(&self.name).finish()
    }
}
