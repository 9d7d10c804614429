//! Groups ended threads by their names, in which numbers are replaced. The tracker forms the same groups.

use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of groups by name.
const MOST_GROUPS: usize = 256;

/// The group of ended threads with further names.
pub(crate) const OTHERS: &str = "(other threads)";

/// The name under which all virtual threads are shown together.
pub(crate) const VIRTUAL_THREADS: &str = "(virtual threads)";

/// The numbers of the groups, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(HashMap<Arc<str>, u32>);

impl Groups {
    /// Returns the number of the group for threads with this name. If there is no such group, `make` makes it and
    /// returns its number.
    pub(crate) fn number(&mut self, thread_name: &str, make: impl FnOnce(Arc<str>) -> u32) -> u32 {
        let name = without_numbers(thread_name);
        if let Some(group) = self.0.get(&*name) {
            return *group;
        }
        let name: Arc<str> = if self.0.len() < MOST_GROUPS {
            name.into()
        } else {
            OTHERS.into()
        };
        if let Some(group) = self.0.get(&name) {
            return *group;
        }
        let group = make(name.clone());
        self.0.insert(name, group);
        group
    }
}

/// Replaces each run of digits in a name by one `#`. So all threads of a pool get the same name.
pub(crate) fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        if !char.is_ascii_digit() {
            text.push(char);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_a_limit() {
        let mut groups = Groups::default();
        let mut made = 0;
        for round in 0..2 {
            for letters in 0..2 * MOST_GROUPS {
                let name: String = std::iter::repeat_n('x', letters).collect();
                let name = format!("{name}{round}{letters}");
                groups.number(&name, |_| {
                    made += 1;
                    made
                });
            }
        }
        assert_eq!(made as usize, MOST_GROUPS + 1);
        assert!(groups.0.contains_key(OTHERS) && groups.0.contains_key("xx#"));
    }
}
