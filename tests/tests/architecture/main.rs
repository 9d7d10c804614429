//! Compares the code with the map: the crates and their dependencies must be those listed in
//! `docs/dev/architecture.md`, and the files of a crate must not use each other in circles.
//! The documents are checked in `documents.rs`.
//!
//! The second test reads only Rust. The tracker's Java classes are one package and may use each
//! other, and so may the scripts of a page, which are one program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_testkit::{paths, process};
use serde_json::Value;

mod circles;
mod documents;
mod modules;

/// A crate of the workspace, from `cargo metadata`.
struct Package {
    /// The workspace crates that this crate depends on, without dev- and build-dependencies.
    dependencies: BTreeSet<String>,
    /// The root files of the crate's library and programs.
    roots: Vec<PathBuf>,
}

/// Returns the crates of the workspace, by name.
fn packages() -> Result<BTreeMap<String, Package>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ]);
    let metadata = process::output(cargo.current_dir(paths::workspace()))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"]
        .as_array()
        .context("the metadata has no packages")?;
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> Result<(String, Package)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut dependencies = BTreeSet::new();
    for dependency in package["dependencies"]
        .as_array()
        .context("the package has no list of dependencies")?
    {
        // A normal dependency has no `kind`, and a crate of the workspace has no `source`.
        if dependency["kind"].is_null() && dependency["source"].is_null() {
            dependencies.insert(text(&dependency["name"]));
        }
    }
    let mut roots = Vec::new();
    for target in package["targets"]
        .as_array()
        .context("the package has no list of targets")?
    {
        let kinds: Vec<String> = target["kind"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        if kinds
            .iter()
            .any(|kind| kind.ends_with("lib") || kind == "bin")
        {
            roots.push(PathBuf::from(text(&target["src_path"])));
        }
    }
    let package_name = text(&package["name"]);
    Ok((
        package_name,
        Package {
            dependencies,
            roots,
        },
    ))
}

/// Returns the lines of the block ```` ```crates ```` of a page.
fn listed_crates(page: &str) -> Result<Vec<&str>> {
    let mut lines = page.lines().skip_while(|line| *line != "```crates");
    lines.next().context("the page has no block ```crates")?;
    Ok(lines.take_while(|line| *line != "```").collect())
}

#[test]
fn the_map_lists_the_crates_and_their_dependencies() -> Result<()> {
    let page = fs::read_to_string(paths::workspace().join("docs/dev/architecture.md"))?;
    let expected: Vec<String> = packages()?
        .iter()
        .map(|(name, package)| {
            let dependencies = package.dependencies.iter().cloned().collect::<Vec<_>>();
            format!("{name} -> {}", dependencies.join(", "))
                .trim_end()
                .to_owned()
        })
        .collect();
    let listed = listed_crates(&page)?;
    ensure!(
        listed == expected,
        "docs/dev/architecture.md lists\n{}\nbut Cargo.toml says\n{}",
        listed.join("\n"),
        expected.join("\n")
    );
    Ok(())
}

#[test]
fn no_files_of_a_crate_use_each_other_in_a_circle() -> Result<()> {
    let mut found = String::new();
    for (name, package) in packages()? {
        for root in &package.roots {
            let folder = root.parent().unwrap_or(Path::new("/"));
            for circle in circles::circles(&modules::arrows(root)?) {
                found += &format!("\n{name}:\n{}", circle.describe(folder));
            }
        }
    }
    ensure!(found.is_empty(), "files use each other in circles:{found}");
    Ok(())
}
