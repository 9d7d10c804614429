//! `--thread`: threads by a part of their names.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use loadhook_profile::Profile;

use crate::output::listed;

/// The text that is searched for in the name of a thread, and in the name of its group.
pub(super) struct ThreadFilter {
    text: String,
    group: String,
}

impl ThreadFilter {
    pub(super) fn new(text: &str) -> ThreadFilter {
        ThreadFilter {
            text: text.to_owned(),
            group: group_name(text),
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        name.contains(&self.text) || name.contains(&self.group)
    }

    /// Refuses the filter if no thread of the profiles passes it.
    pub(super) fn check(&self, profiles: &[Profile]) -> Result<()> {
        let name = &self.text;
        let threads = profiles.iter().flat_map(|profile| &profile.threads);
        let names: BTreeSet<&str> = threads.map(|thread| &*thread.name).collect();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if names.iter().any(|name| self.matches(name)) {
            return Ok(());
        }
        if names.is_empty() {
            bail!(
                "--thread {name}: no such thread; no thread of this profile ran instrumented code"
            )
        } else {
            bail!(
                "--thread {name}: no such thread. Threads: {}",
                listed(&names)
            )
        }
    }
}

/// Returns the name of the group in which the tracker counts an ended thread: each number is
/// replaced by `#`.
fn group_name(name: &str) -> String {
    let mut group = String::with_capacity(name.len());
    for char in name.chars() {
        if !char.is_ascii_digit() {
            group.push(char);
        } else if !group.ends_with('#') {
            group.push('#');
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::group_name;

    #[test]
    fn numbers_of_ended_threads_become_one_sign() {
        assert_eq!(group_name("worker-3"), "worker-#");
        assert_eq!(group_name("pool-12-thread-345"), "pool-#-thread-#");
        assert_eq!(group_name("x#1 2"), "x# #");
        assert_eq!(group_name("main"), "main");
    }
}
