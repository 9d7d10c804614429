//! Classes at the limits of the class-file format and of the instructions.
//!
//! Each class is legal as it is: HotSpot 17 and 25 link it under `-Xverify:all`
//! and run it. What matters is whether it still is after probes went in, when
//! branches no longer reach, code passes 65,535 bytes and pools run over. Each
//! has `public static Object run()`, whose answer depends on the path taken.
//!
//! The generator is deterministic and lazy: [`all`] lists the cases, the bytes
//! of one are made on demand.

mod branches;
mod chains;
mod exceptions;
mod operands;
mod pools;
mod returns;
mod scenery;
mod sizes;
mod sources;
mod switches;
mod types;
mod under;

use std::fmt;

use crate::assembler::ClassBuilder;
use crate::shapes::constructors::shapes;
use crate::shapes::{Driver, Filler};

/// Fills a class and adds the calls that `run()` makes to the driver.
type Build = dyn Fn(&mut ClassBuilder, &mut Driver) + Send + Sync;

/// Makes a whole class of a given name.
type Make = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// One class of the generator.
pub struct LimitCase {
    /// The limit it is about: `branches`, `pools`, …
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
    /// A case whose class is `limits/<group>_<what>_v<version>`.
    fn new(
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

    /// The class file.
    ///
    /// # Panics
    /// If the assembler refuses it: a fault of the generator.
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

/// Every case, in an order that does not change.
pub fn all() -> Vec<LimitCase> {
    [
        branches::cases(),
        under::cases(),
        types::cases(),
        chains::cases(),
        returns::cases(),
        switches::cases(),
        sizes::cases(),
        pools::cases(),
        exceptions::cases(),
        constructors(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Name and bytes of every case, one at a time.
pub fn classes() -> impl Iterator<Item = (String, Vec<u8>)> {
    all().into_iter().map(|case| {
        let bytes = case.bytes();
        (case.name, bytes)
    })
}

/// Constructors of all shapes whose branches are nearly too long, in a version
/// without frames and two with.
fn constructors() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for shape in shapes() {
        for version in [48, 52, 61] {
            for length in [32_600, 32_690] {
                if version > shape.max_version {
                    continue;
                }
                let filler = Filler { length, sites: 24 };
                let name = format!("limits/constructors_{}_{length}_v{version}", shape.name);
                let make = move |name: &str| shape.class(name, version, filler);
                let source = Source::Whole(Box::new(make));
                cases.push(LimitCase {
                    group: "constructors",
                    name,
                    version,
                    source,
                });
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Every case assembles, and its name is its own.
    #[test]
    fn all_assemble_under_unique_names() {
        let mut names = HashSet::new();
        for (name, bytes) in classes() {
            assert_eq!(bytes[..4], [0xca, 0xfe, 0xba, 0xbe], "{name}");
            assert!(names.insert(name.clone()), "{name} twice");
        }
        assert!(names.len() > 2_500, "only {} cases", names.len());
    }

    /// The same bytes each time: what fails can be made again.
    #[test]
    fn bytes_do_not_change() {
        for case in all().iter().step_by(50) {
            assert!(case.bytes() == case.bytes(), "{}", case.name);
        }
    }
}
