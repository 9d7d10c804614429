//! Checks of the profiles of rewritten archives.

use std::io::Read;

use anyhow::{Result, ensure};
use loadhook_profile::Profile;

use super::offline::calls;
use loadhook_profile::format::pprof;

#[path = "../../../profile/tests/schema/mod.rs"]
pub mod schema;

pub const JDKS: [u32; 2] = [17, 25];

/// Number of calls of each method in the recursion of `Work.main`.
#[derive(Default)]
struct Recursion {
    expression: u64,
    sum: u64,
    other: u64,
}

impl Recursion {
    fn of_main() -> Recursion {
        let mut calls = Recursion::default();
        (0..100).for_each(|_| calls.expression(6));
        calls
    }

    fn expression(&mut self, depth: u32) {
        self.expression += 1;
        if depth > 0 {
            self.sum(depth - 1);
            self.other += 1;
            if depth > 1 {
                self.sum(depth - 2);
            }
        }
    }

    fn sum(&mut self, depth: u32) {
        self.sum += 1;
        self.expression(depth.saturating_sub(1));
    }
}

/// Checks the numbers of calls that every complete run of `Work.main` has.
pub fn check_work(profile: &Profile, mains: u64) -> Result<()> {
    let recursion = Recursion::of_main();
    let edges = [
        ("", "Work.main", 1),
        ("", "Work.work", 4),
        ("Work.work", "Work.outer", 4000),
        ("Work.outer", "Work.inner", 6000),
        ("Work.lambda$main$0", "Work.keep", 1),
        ("Work.keep", "Work.inner", 10),
        ("Work.main", "Work.end", 1),
    ];
    for (caller, method, expected) in edges {
        let found = calls(profile, caller, method);
        ensure!(found == mains * expected, "{caller} {method} {found}");
    }
    let inner = 6010 + recursion.expression + recursion.sum;
    let totals = [
        ("expression", recursion.expression),
        ("sum", recursion.sum),
        ("other", recursion.other),
        ("inner", inner),
    ];
    for (name, expected) in totals {
        let found = total(profile, name);
        ensure!(found == mains * expected, "{name} {found}, not {expected}");
    }
    Ok(())
}

/// Returns the number of calls of all methods named `name`.
pub fn total(profile: &Profile, name: &str) -> u64 {
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let named = nodes.filter(|node| &*profile.methods[node.method as usize].name == name);
    named.map(|node| node.calls).sum()
}

/// Returns the samples and functions that a tool other than Loadhook reads in a profile.
pub fn public(file: &[u8]) -> Result<schema::Profile> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes)?;
    Ok(schema::Profile::decode(&bytes))
}

/// Checks that the fields which other tools read agree with Loadhook's own fields.
pub fn check_public(file: &[u8]) -> Result<schema::Profile> {
    let profile = pprof::read(file)?;
    let mut again = Vec::new();
    pprof::write(&profile, &mut again)?;
    let (found, expected) = (public(file)?, public(&again)?);
    let text = |profile: &schema::Profile| format!("{profile:#?}");
    ensure!(!found.samples.is_empty());
    similar(&text(&found), &text(&expected))?;
    Ok(found)
}

pub fn similar(found: &str, expected: &str) -> Result<()> {
    for (found, expected) in found.lines().zip(expected.lines()) {
        ensure!(found == expected, "{expected} expected, {found} found");
    }
    ensure!(found.len() == expected.len());
    Ok(())
}
