//! The places where threads waited, from samples.

use std::collections::HashMap;

use super::view::View;
use crate::model::{Method, Profile, Waiting};

/// Prefixes of the names of the JDK's classes. Threads of every program wait in methods of these
/// classes.
const JDK: [&str; 4] = ["java.", "javax.", "jdk.", "sun."];

/// A place of waiting: one method of the program in which threads waited for one reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WaitingPlace {
    /// The word for the reason.
    pub(crate) reason: &'static str,
    /// The innermost method of the program on the stack.
    pub(crate) method: u32,
    /// The innermost method on the stack, by which the thread waited, such as `Unsafe.park`.
    pub(crate) innermost: u32,
    /// The time of all threads together.
    pub(crate) ns: f64,
}

/// Returns the places of a view, the longest waiting first.
///
/// Threads wait in few methods of the JDK, such as `Unsafe.park`. So the innermost method of the program on the stack
/// stands for the place. Methods of the program are those whose calls were counted. If no calls were counted, all
/// methods outside the JDK count as the program's.
pub(crate) fn waiting_places(view: &View<'_>) -> Vec<WaitingPlace> {
    let is_program = program_methods(view.profile);
    let mut places: HashMap<(usize, u32, u32), f64> = HashMap::new();
    for tree in &view.trees {
        // For each entry, the innermost method of the program at or above it.
        let mut program: Vec<Option<u32>> = Vec::with_capacity(tree.entries.len());
        for entry in &tree.entries {
            let above = entry.parent.and_then(|parent| program[parent as usize]);
            let own = is_program[entry.method as usize].then_some(entry.method);
            program.push(own.or(above));
            let method = own.or(above).unwrap_or(entry.method);
            for (reason, ns) in entry.weight.waiting.parts().into_iter().enumerate() {
                if ns > 0 {
                    *places.entry((reason, method, entry.method)).or_default() += ns as f64;
                }
            }
        }
    }
    let place = |((reason, method, innermost), ns)| WaitingPlace {
        reason: Waiting::REASONS[reason],
        method,
        innermost,
        ns,
    };
    let mut places: Vec<WaitingPlace> = places.into_iter().map(place).collect();
    let name = |method: u32| &view.names[method as usize];
    places.sort_by(|a, b| {
        let names = |place: &WaitingPlace| (name(place.method), name(place.innermost));
        let by_name = names(a).cmp(&names(b)).then(a.reason.cmp(b.reason));
        b.ns.total_cmp(&a.ns).then(by_name)
    });
    places
}

/// Returns for each method whether it is the program's.
fn program_methods(profile: &Profile) -> Vec<bool> {
    if profile.method_calls.is_empty() {
        let is_jdk = |method: &Method| {
            method.loader.is_empty() || JDK.iter().any(|package| method.class.starts_with(package))
        };
        return profile
            .methods
            .iter()
            .map(|method| !is_jdk(method))
            .collect();
    }
    let mut is_program = vec![false; profile.methods.len()];
    for counted in &profile.method_calls {
        is_program[counted.method as usize] = true;
    }
    is_program
}
