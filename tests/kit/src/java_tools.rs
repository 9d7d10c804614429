//! The kit's own Java programs (`tests/kit/java`), which verify, link and run class files. They are
//! compiled once, and run on any JDK from 17 on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, bail};

use crate::jdk::{Jdk, QUICK};
use crate::{paths, source};

/// Returns the folder of the compiled programs, for a class path.
///
/// JDK 17's `javac --release 17` compiles them, so that every JDK from 17 on runs them.
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

/// Makes a command that runs the `main` of one of the programs: `java <QUICK> <jvm_args> -cp
/// <classes> <class>`.
///
/// # Errors
///
/// Fails as [`classes`] does.
pub fn java(jdk: &Jdk, jvm_args: &[&str], class: &str) -> Result<Command> {
    let mut command = jdk.java();
    command
        .args(QUICK)
        .args(jvm_args)
        .arg("-cp")
        .arg(classes()?)
        .arg(class);
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
    let sources = paths::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("java"), "java")?;
    source::compile_once("java", &sources, |javac| {
        javac.args(["--release", "17"]).args(&sources);
        Ok(())
    })
}
