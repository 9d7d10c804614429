//! Classes at the limits of the class-file format and of the instructions.
//!
//! HotSpot 17 and 25 link each class under `-Xverify:all` and run it. The tests check that HotSpot
//! also links and runs the classes with probes. Probes make branches too long, code longer than
//! 65,535 bytes, and pools too large. Each class has `public static Object run()`. Its result
//! depends on the path taken.
//!
//! The generator is deterministic and lazy: [`all`] lists the cases, and the bytes of a case are
//! made on demand.

mod branches;
mod case;
mod chains;
mod constructors;
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

pub use case::LimitCase;

/// Returns every case, in an order that does not change.
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
        constructors::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the name and the bytes of every case, one at a time.
pub fn classes() -> impl Iterator<Item = (String, Vec<u8>)> {
    all().into_iter().map(|case| {
        let bytes = case.bytes();
        (case.name, bytes)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Every case assembles, and no two cases have the same name.
    #[test]
    fn all_cases_assemble_under_unique_names() {
        let mut names = HashSet::new();
        for (name, bytes) in classes() {
            assert_eq!(bytes[..4], [0xca, 0xfe, 0xba, 0xbe], "{name}");
            assert!(names.insert(name.clone()), "two cases have the name {name}");
        }
        assert!(
            names.len() > 2_500,
            "more than 2,500 cases expected, {} found",
            names.len()
        );
    }

    /// The bytes of a case are the same each time, so that a failing class can be made again.
    #[test]
    fn bytes_do_not_change() {
        for case in all().iter().step_by(50) {
            assert!(case.bytes() == case.bytes(), "{}", case.name);
        }
    }
}
