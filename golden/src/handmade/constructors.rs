//! The constructor shapes of the limit generator, without filler, in a class file version with
//! frames and in one without.

use loadhook_testclasses::shapes::Filler;
use loadhook_testclasses::shapes::constructors::shapes;

use super::list::List;

pub(super) fn add(list: &mut List) {
    let filler = Filler {
        length: 0,
        sites: 0,
    };
    for shape in shapes() {
        // Versions below 50 have no frames. Version 48 is the last for which javac wrote
        // subroutines.
        let versions = if shape.max_version == 49 {
            [48, 49]
        } else {
            [49, 52]
        };
        for version in versions {
            let name = format!("constructor_{}_v{version}", shape.name);
            let bytes = shape.class(&format!("handmade/{name}"), version, filler);
            list.push(&name, shape.construct, false, bytes);
        }
    }
}
