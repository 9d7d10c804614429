//! Compiles the Java sources of tests with JDK 17. The sources are files, or written inside a test.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::jdk::Jdk;
use crate::{paths, process};

/// Compiles source files once for all tests and all runs. Returns the folder of the classes.
///
/// The folder's name is `name` and a hash of `sources`. The folder appears complete or not at all, so several test
/// processes may make it at the same time. `arguments` adds the other arguments of the compiler: `--release`, a class
/// path, and the source files to compile.
///
/// # Errors
///
/// When JDK 17 is missing, there is no source, or a source does not compile.
pub fn compile_once(
    name: &str,
    sources: &[PathBuf],
    arguments: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<PathBuf> {
    ensure!(
        !sources.is_empty(),
        "{name}: the folder has no Java sources"
    );
    let mut hasher = DefaultHasher::new();
    for source in sources {
        let text = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
        source.file_name().hash(&mut hasher);
        text.hash(&mut hasher);
    }
    once(name, &hasher, arguments)
}

/// Compiles sources unless the folder of this name and hash exists. Returns the folder.
fn once(
    name: &str,
    hasher: &DefaultHasher,
    arguments: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<PathBuf> {
    let folder = paths::target()
        .join("loadhook-tests")
        .join(format!("{name}-{:016x}", hasher.finish()));
    paths::make_once(&folder, |classes| {
        let mut javac = Jdk::find(17)?.javac()?;
        javac.args(["-nowarn", "-Xlint:-options", "-encoding", "UTF-8"]);
        arguments(javac.arg("-d").arg(classes))?;
        let compiled = process::output(&mut javac);
        compiled.with_context(|| format!("{name} does not compile"))?;
        Ok(())
    })?;
    Ok(folder)
}

/// Makes an archive of the files below `content`, by JDK 17's `jar --create`. `options` are further
/// options of `jar`.
///
/// # Errors
///
/// When JDK 17 is missing, or the tool fails.
pub fn jar(archive: &Path, options: &[&str], content: &Path) -> Result<()> {
    let mut jar = Jdk::find(17)?.tool("jar")?;
    jar.arg("--create").arg("--file").arg(archive).args(options);
    process::output(jar.arg("-C").arg(content).arg(".")).map(drop)
}

/// Compiles sources by JDK 17's `javac -g`, once for all tests and all runs. Each source comes with
/// its file name. Returns the folder of the classes, in which nothing may be changed.
///
/// `release` is the value of `--release`: 8 gives class files of version 52, 17 gives 61.
///
/// # Errors
///
/// When JDK 17 is missing or a source does not compile.
pub fn compile(release: u32, sources: &[(&str, &str)]) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (release, sources).hash(&mut hasher);
    let folder = tempfile::tempdir()?;
    once("sources", &hasher, |javac| {
        javac.args(["-g", "--release", &release.to_string()]);
        for (name, text) in sources {
            let file = folder.path().join(name);
            fs::write(&file, text)?;
            javac.arg(file);
        }
        Ok(())
    })
}

/// Compiles the class `name`, and returns its bytes.
///
/// # Errors
///
/// Fails as [`compile`] does, and if the source has no such class.
pub fn compile_one(release: u32, name: &str, text: &str) -> Result<Vec<u8>> {
    let folder = compile(release, &[(&format!("{name}.java"), text)])?;
    let file = folder.join(format!("{name}.class"));
    fs::read(&file).with_context(|| format!("the source has no class {name}"))
}

/// Replaces the only occurrence of `from` in `class` by `to`. Tests use this to make bad classes
/// from good ones.
///
/// # Errors
///
/// When `from` does not occur exactly once. So a test never patches another place.
pub fn patch(class: &[u8], from: &[u8], to: &[u8]) -> Result<Vec<u8>> {
    anyhow::ensure!(
        from.len() == to.len() && !from.is_empty(),
        "a patch must not change the length"
    );
    let places: Vec<usize> = (0..class.len())
        .filter(|&at| class[at..].starts_with(from))
        .collect();
    let &[at] = places.as_slice() else {
        anyhow::bail!(
            "the bytes {from:02x?} should occur once, but occur {} times",
            places.len()
        );
    };
    let mut patched = class.to_vec();
    patched[at..at + to.len()].copy_from_slice(to);
    Ok(patched)
}
