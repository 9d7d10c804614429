//! Finds circles among files. A circle is a set of files in which each file uses every other,
//! directly or through other files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// For each file, the files that it uses, each with the names that are used.
pub(crate) type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// A circle: the arrows between its files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle(pub(crate) Arrows);

impl Circle {
    /// Describes each arrow in a line, with paths relative to `folder`.
    pub(crate) fn describe(&self, folder: &Path) -> String {
        let short = |path: &Path| {
            path.strip_prefix(folder)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        let mut text = String::new();
        for (from, uses) in &self.0 {
            for (to, names) in uses {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let (from, to) = (short(from), short(to));
                writeln!(text, "  {from} -> {to}: {}", names.join(", ")).unwrap();
            }
        }
        text
    }
}

/// Returns all circles of a set of arrows. Each circle is as large as possible.
pub(crate) fn circles(arrows: &Arrows) -> Vec<Circle> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = arrows
        .keys()
        .map(|file| (file.as_path(), reached_from(arrows, file)))
        .collect();
    let mut circles = Vec::new();
    let mut placed: BTreeSet<&Path> = BTreeSet::new();
    for (file, others) in &reached {
        if placed.contains(file) || !others.contains(file) {
            continue;
        }
        let reaches_back =
            |other: &&&Path| reached.get(**other).is_some_and(|it| it.contains(file));
        let members: BTreeSet<&Path> = others.iter().filter(reaches_back).copied().collect();
        circles.push(Circle(between(arrows, &members)));
        placed.extend(members);
    }
    circles
}

/// Returns the files that a file uses, directly or through other files.
fn reached_from<'a>(arrows: &'a Arrows, file: &'a Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![file];
    while let Some(file) = pending.pop() {
        for next in arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.as_path()) {
                pending.push(next);
            }
        }
    }
    reached
}

/// Returns the arrows between the files in `files`.
fn between(arrows: &Arrows, files: &BTreeSet<&Path>) -> Arrows {
    let mut inner = Arrows::new();
    for (from, uses) in arrows
        .iter()
        .filter(|(from, _)| files.contains(from.as_path()))
    {
        let uses = uses.iter().filter(|(to, _)| files.contains(to.as_path()));
        let uses = uses.map(|(to, names)| (to.clone(), names.clone()));
        inner.insert(from.clone(), uses.collect());
    }
    inner
}
