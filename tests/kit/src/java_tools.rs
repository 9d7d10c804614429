//! The kit's own Java programs (`tests/kit/java`), which verify, link and run class files: compiled once, run on any
//! JDK from 17 on.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::jdk::Jdk;
use crate::{paths, process};

/// The folder of the compiled programs, for a class path.
///
/// JDK 17's `javac --release 17` compiles them, so that every JDK from 17 on runs them. The
/// folder's name contains a hash of the sources, and the folder appears complete or not at all, so
/// several test processes may make it at the same time.
///
/// # Errors
///
/// When JDK 17 is missing or the sources do not compile.
pub fn classes() -> Result<&'static Path> {
    static CLASSES: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match CLASSES.get_or_init(|| compile().map_err(|error| format!("{error:#}"))) {
        Ok(folder) => Ok(folder),
        Err(error) => bail!("{error}"),
    }
}

/// A command that runs the `main` of one of the programs: `java <jvm_args> -cp <classes> <class>`.
///
/// # Errors
///
/// Fails as [`classes`] does.
pub fn java(jdk: &Jdk, jvm_args: &[&str], class: &str) -> Result<Command> {
    let mut command = jdk.java();
    command.args(jvm_args).arg("-cp").arg(classes()?).arg(class);
    Ok(command)
}

/// Reads a field of a line that `Lines.java` wrote: the inverse of its escaping.
pub(crate) fn unescape(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(char),
        }
    }
    out
}

fn compile() -> Result<PathBuf> {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("java"))?;
    let mut hasher = DefaultHasher::new();
    for (path, text) in &sources {
        path.file_name().hash(&mut hasher);
        text.hash(&mut hasher);
    }
    let folder = paths::target()
        .join("loadhook-tests")
        .join(format!("java-{:016x}", hasher.finish()));
    paths::make_once(&folder, |classes| {
        let mut javac = Jdk::find(17)?.javac()?;
        javac.args(["--release", "17", "-encoding", "UTF-8"]);
        javac
            .args(["-Xlint:-options", "-nowarn", "-d"])
            .arg(classes);
        javac.args(sources.iter().map(|(path, _)| path));
        process::output(&mut javac).context("tests/kit/java does not compile")?;
        Ok(())
    })?;
    Ok(folder)
}

/// Every `.java` file below a folder with its text, sorted by path.
fn sources(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for path in paths::files(folder, "java")? {
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        found.push((path, text));
    }
    Ok(found)
}
