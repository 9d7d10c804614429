//! Constructors whose branches are nearly too long.

use super::case::LimitCase;
use crate::shapes::Filler;
use crate::shapes::constructors::shapes;

/// Returns the constructors of all shapes whose branches are nearly too long, in one version
/// without frames and in two with frames.
pub(super) fn cases() -> Vec<LimitCase> {
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
                cases.push(LimitCase::whole("constructors", name, version, make));
            }
        }
    }
    cases
}
