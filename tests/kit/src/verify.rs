//! Checks rewritten classes with `java.lang.classfile`'s verifier (JDK 25). A Java program of the
//! kit also checks the tables of their code.

use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::java_tools::{self, unescape};
use crate::jdk::Jdk;
use crate::process;

/// Results of checking a tree of classes.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// Class files read.
    pub classes: usize,
    /// Classes that the verifier checked. Like HotSpot, it skips `Object`, `Class`, `String` and
    /// `Throwable`.
    pub verified: usize,
    /// Classes of versions below 50, which the verifier does not support. Only their tables were
    /// checked.
    pub below_50: usize,
    /// Classes with faults that their originals do not have.
    pub failures: Vec<Finding>,
    /// Classes with faults that their originals also have.
    pub known: Vec<Finding>,
}

/// A class with a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The class file, relative to the tree.
    pub file: PathBuf,
    /// The check that found the fault.
    pub kind: FindingKind,
    /// The first few messages, one per line.
    pub message: String,
}

/// The check that found a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// `ClassFile.verify`: HotSpot would refuse the class.
    Verify,
    /// A table has an offset at which no instruction begins.
    Tables,
    /// The file is not a class file.
    Unreadable,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({:?}): {}",
            self.file.display(),
            self.kind,
            self.message.replace('\n', "\n    ")
        )
    }
}

impl VerifyReport {
    /// Fails with the first few failures, if there are any.
    ///
    /// # Errors
    ///
    /// When the report has failures.
    pub fn require_clean(&self) -> Result<()> {
        if self.failures.is_empty() {
            return Ok(());
        }
        let first: Vec<String> = self
            .failures
            .iter()
            .take(20)
            .map(ToString::to_string)
            .collect();
        bail!(
            "{} of {} classes fail, among them:\n{}",
            self.failures.len(),
            self.classes,
            first.join("\n")
        );
    }
}

/// Checks every class below `tree`, a folder or an archive, whatever folders the classes are in. The
/// class hierarchy comes from `original`.
///
/// A fault that the original also has is `known`. The original is the class at the same relative
/// path, else the class of the same name. A class without an original is checked by itself.
///
/// # Errors
///
/// When JDK 25 is missing or the verifier itself fails. A bad class is not an error, but a failure
/// in the report.
pub fn verify_tree(tree: &Path, original: &Path) -> Result<VerifyReport> {
    let mut command = command()?;
    command.arg(tree).arg(original);
    run(&mut command)
}

/// Checks every class below `tree` by itself: every fault is a failure.
///
/// # Errors
///
/// Fails as [`verify_tree`] does.
pub fn verify_originals(tree: &Path) -> Result<VerifyReport> {
    let mut command = command()?;
    command.arg("--originals").arg(tree);
    run(&mut command)
}

fn command() -> Result<Command> {
    java_tools::java(&Jdk::find(25)?, &["-Dstdout.encoding=UTF-8"], "VerifyTree")
}

fn run(command: &mut Command) -> Result<VerifyReport> {
    let output = process::output(command)?;
    parse(&output).with_context(|| format!("VerifyTree printed unexpected output:\n{output}"))
}

fn parse(output: &str) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let mut done = false;
    for line in output.lines().filter(|line| !line.is_empty()) {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [verdict @ ("FAIL" | "KNOWN"), kind, file, message] => {
                let kind = match kind {
                    "verify" => FindingKind::Verify,
                    "tables" => FindingKind::Tables,
                    "unreadable" => FindingKind::Unreadable,
                    _ => bail!("the JVM printed an unknown kind of verdict: {line}"),
                };
                let finding = Finding {
                    file: unescape(file).into(),
                    kind,
                    message: unescape(message),
                };
                if verdict == "FAIL" {
                    &mut report.failures
                } else {
                    &mut report.known
                }
                .push(finding);
            }
            ["DONE", classes, verified, below_50] => {
                report.classes = classes.parse()?;
                report.verified = verified.parse()?;
                report.below_50 = below_50.parse()?;
                done = true;
            }
            _ => bail!("the JVM printed an unknown line: {line}"),
        }
    }
    anyhow::ensure!(done, "the last line of the output is missing");
    Ok(report)
}
