//! Tests of `loadhook rewrite` on archives of other projects: the Closure compiler, Tomcat, Groovy,
//! and all jars of Spark.
//!
//! `scripts/corpora.sh` fetches the archives. `.ci/run` runs that script and then these tests.

mod directory;
mod programs;

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use common::{done, loadhook};
use directory::{Compared, compare};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{corpus, link, paths};

/// The archives of a corpus, and their rewritten versions.
pub(crate) struct Archives {
    pub(crate) before: Vec<PathBuf>,
    pub(crate) after: Vec<PathBuf>,
}

impl Archives {
    /// Rewrites all methods in the archives of a corpus, with `--verify`.
    pub(crate) fn of(name: &str) -> Result<Archives> {
        let folder = paths::target().join("corpora").join(name);
        ensure!(
            folder.exists(),
            "{} is missing: scripts/corpora.sh fetches it",
            folder.display()
        );
        let before = corpus::files(&folder, "jar")?;
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("real-archives-{name}"));
        let _ = fs::remove_dir_all(&out);
        let mut rewrite = loadhook(
            &folder,
            &["rewrite", "--all", "--strip-signatures", "--verify"],
        );
        rewrite.env("JAVA_HOME", Jdk::find(25)?.home);
        // The slash at the end makes the output a folder, even for a single jar.
        rewrite.args(&before).arg("-o").arg(out.join(""));
        let said = done(&mut rewrite);
        print!("{name}: {}", said.err);
        ensure!(said.code == Some(0), "{name}: {}", said.err);
        let archives = Archives {
            after: corpus::files(&out, "jar")?,
            before,
        };
        archives.check(&said.err).with_context(|| name.to_owned())?;
        Ok(archives)
    }

    /// Checks that everything except changed classes is equal to the byte, and that all classes
    /// were verified.
    fn check(&self, said: &str) -> Result<()> {
        let names = |paths: &[PathBuf]| -> Vec<_> {
            paths
                .iter()
                .map(|path| path.file_name().map(ToOwned::to_owned))
                .collect()
        };
        ensure!(
            names(&self.before) == names(&self.after),
            "the output folder does not have the same archives as the input"
        );
        let mut all = Compared::default();
        for (before, after) in self.before.iter().zip(&self.after) {
            let (old, new) = (fs::read(before)?, fs::read(after)?);
            if old == new {
                all.untouched += 1;
                continue;
            }
            let found = compare(&old, &new).with_context(|| before.display().to_string())?;
            all.untouched += found.untouched;
            all.changed += found.changed;
            all.added += found.added;
        }
        println!("{all:?}");
        let whole = format!(
            "verified: {} changed classes are well-formed, {} other entries are unchanged\n",
            all.changed + all.added,
            all.untouched
        );
        ensure!(said.contains(&whole), "{whole} expected: {said}");
        let judged = said.lines().find_map(|line| line.split_once(" accepts "));
        let (_, judged) = judged.context("no JDK has verified the classes")?;
        let numbers = judged.split(|c: char| !c.is_ascii_digit());
        let numbers = numbers.filter(|number| !number.is_empty());
        let judged: u64 = numbers.map(|n| n.parse::<u64>().unwrap_or(0)).sum();
        ensure!(
            judged == all.changed + all.added,
            "{judged} classes were verified, which is not the number of changed ones: {said}"
        );
        Ok(())
    }

    /// Checks that HotSpot accepts or rejects each class as it does the original.
    fn link(&self, feature: u32) -> Result<()> {
        let jdk = Jdk::find(feature)?;
        // Two JVMs run in parallel, on two processors.
        let (before, after) = thread::scope(|scope| {
            let before = scope.spawn(|| link::link_jars(&jdk, &self.before));
            let after = link::link_jars(&jdk, &self.after);
            (before.join(), after)
        });
        let before: BTreeMap<_, _> = before
            .map_err(|_| anyhow!("the thread that links the original classes panicked"))??
            .into_iter()
            .collect();
        let after: BTreeMap<_, _> = after?.into_iter().collect();
        let failing = before.values().filter(|answer| answer.is_err()).count();
        println!(
            "JDK {feature}: {} classes, {failing} do not link as they are",
            before.len()
        );
        let mut wrong = Vec::new();
        for (class, answer) in &after {
            let name = class.display();
            let same = match before.get(class) {
                Some(original) => gist(original) == gist(answer),
                None => answer.is_ok() && name.to_string().contains("loadhook/"),
            };
            if !same {
                wrong.push(format!("{name}: {answer:?}, was {:?}", before.get(class)));
            }
        }
        let all_there = before.keys().all(|class| after.contains_key(class));
        ensure!(
            all_there,
            "some original classes are missing after rewriting"
        );
        let first = &wrong[..wrong.len().min(20)];
        ensure!(
            wrong.is_empty(),
            "{} classes link differently after rewriting: {first:#?}",
            wrong.len()
        );
        Ok(())
    }
}

/// Returns the part of HotSpot's answer that does not depend on rewriting. Numbers are removed, because a
/// fault has another position in rewritten code. Names of missing classes are removed, because
/// HotSpot reports the first class that it misses. Which one is first depends on the order of methods,
/// which HotSpot sorts by the addresses of their names.
fn gist(answer: &Result<(), String>) -> String {
    let text = answer.as_ref().err().cloned().unwrap_or_default();
    let missing = "java.lang.NoClassDefFoundError";
    if text.starts_with(missing) {
        missing.to_owned()
    } else {
        text.chars().filter(|c| !c.is_ascii_digit()).collect()
    }
}

#[test]
#[ignore = "needs scripts/corpora.sh"]
fn closure_compiler() -> Result<()> {
    let archives = Archives::of("closure-compiler")?;
    archives.link(17)?;
    archives.link(25)?;
    programs::closure_compiler(&archives)
}

#[test]
#[ignore = "needs scripts/corpora.sh"]
fn tomcat() -> Result<()> {
    let archives = Archives::of("tomcat")?;
    archives.link(17)?;
    archives.link(25)?;
    programs::tomcat(&archives)
}

#[test]
#[ignore = "needs scripts/corpora.sh"]
fn groovy() -> Result<()> {
    let archives = Archives::of("groovy")?;
    archives.link(17)?;
    archives.link(25)?;
    programs::groovy(&archives)
}

#[test]
#[ignore = "needs scripts/corpora.sh"]
fn spark() -> Result<()> {
    let archives = Archives::of("spark")?;
    archives.link(17)?;
    programs::spark(&archives)
}
