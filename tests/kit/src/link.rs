//! Makes HotSpot link every class of a tree. HotSpot decides whether a class links. For versions
//! below 50, no other verifier is available.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

use crate::java_tools::{self, unescape};
use crate::jdk::Jdk;
use crate::process;

/// A class file, by its path below the tree, and the result of linking the class. An `Err` is a
/// text of the Java error: its class and its message.
pub type Linked = (PathBuf, Result<(), String>);

/// Links every class file below `tree` under `-Xverify:all`, without running any.
///
/// Each class gets its own loader, which sees the rest of the tree, then `class_path`, the kit's
/// Java programs (with `loadhook/Tracker`) and the JDK. Classes of `java.*` fail here, since no
/// loader of a program may define them; use `--patch-module` for these.
///
/// # Errors
///
/// When the JVM does not run. Classes that do not link are part of the result.
pub fn link_tree(jdk: &Jdk, tree: &Path, class_path: &[&Path]) -> Result<Vec<Linked>> {
    let mut command = java_tools::java(
        jdk,
        &[
            "-Xverify:all",
            "-XX:+DisplayVMOutputToStderr",
            "-Dstdout.encoding=UTF-8",
        ],
        "LinkTree",
    )?;
    command.arg(tree).args(class_path);
    let output = process::output(&mut command)?;
    parse(&output).with_context(|| format!("LinkTree printed unexpected output:\n{output}"))
}

/// Links every class file in `jars`. As in a real program, all jars are on the class path, and
/// classes of the JDK are not verified. Each class file is named `jar!entry`.
///
/// # Errors
///
/// Fails as [`link_tree`] does.
pub fn link_jars(jdk: &Jdk, jars: &[PathBuf]) -> Result<Vec<Linked>> {
    let options = ["-Xmx2g", "-Dstdout.encoding=UTF-8"];
    let mut command = java_tools::java(jdk, &options, "LinkJars")?;
    let output = process::output(command.args(jars))?;
    parse(&output).context("LinkJars printed unexpected output")
}

/// Fails with the first few classes that did not link, if there are any.
///
/// # Errors
///
/// When a class did not link.
pub fn require_all(linked: &[Linked]) -> Result<()> {
    let failed: Vec<String> = linked
        .iter()
        .filter_map(|(file, result)| {
            result
                .as_ref()
                .err()
                .map(|error| format!("{}: {error}", file.display()))
        })
        .collect();
    ensure!(
        failed.is_empty(),
        "{} of {} classes do not link, among them:\n{}",
        failed.len(),
        linked.len(),
        failed[..failed.len().min(20)].join("\n")
    );
    Ok(())
}

fn parse(output: &str) -> Result<Vec<Linked>> {
    let mut linked = Vec::new();
    for line in output.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["OK", file] => linked.push((unescape(file).into(), Ok(()))),
            ["FAIL", file, error] => linked.push((unescape(file).into(), Err(unescape(error)))),
            ["DONE", count] => {
                ensure!(
                    count.parse() == Ok(linked.len()),
                    "the JVM reports {count} linked classes, but printed {} lines",
                    linked.len()
                );
                return Ok(linked);
            }
            _ => bail!("the JVM printed an unknown line: {line}"),
        }
    }
    bail!("the last line of the output is missing");
}
