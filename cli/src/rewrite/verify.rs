//! `--verify`: reads outputs again before they replace their targets. If a JDK with a verifier is
//! found, the verifier checks the classes.

use std::fs;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use loadhook_offline::verify::{Changed, Checked, Verifier, changed_in_archive, changed_in_folder};
use loadhook_offline::{Error, Plan, Progress};
use loadhook_text::printable;
use loadhook_text::units::noun;
use serde_json::{Value, json};

use super::inputs::Kind;
use super::java::{Java, Judge, Verdict};
use super::progress;
use super::staged::Staged;
use crate::output::say;

/// Results of a verification without faults.
pub(super) struct Verified {
    checked: Checked,
    /// The JDK whose verifier checked the classes, and the results; `None` if no such JDK was found.
    judged: Option<(Java, Verdict)>,
}

/// Checks outputs, and their classes with the verifier of `java`.
///
/// # Errors
/// Fails if an output has faults, which are printed, or cannot be checked.
pub(super) fn verify(
    staged: &[Staged<'_>],
    plan: &Plan,
    quiet: bool,
    stop: &Progress,
    java: Option<Java>,
) -> Result<Verified> {
    let mut verifier = Verifier::new(plan, stop);
    for staged in staged {
        let (from, at) = (&staged.input.from, &staged.at);
        let name = from.display().to_string();
        match staged.input.kind {
            Kind::Class => verifier.class(&name, &fs::read(from)?, &fs::read(at)?),
            Kind::Archive => verifier.archive_file(&name, from, at)?,
            Kind::Folder(ref files) => verifier.folder(from, files, at)?,
        }
    }
    let checked = verifier.checked().clone();
    refuse(
        "faulty",
        &checked.faults,
        "--verify found faults in the output",
    )?;
    let outdated = "an input changed while it was rewritten; run the command again";
    refuse("changed meanwhile", &checked.outdated, outdated)?;
    let Some(java) = java else {
        return Ok(Verified {
            checked,
            judged: None,
        });
    };
    let progress = Progress {
        stop: stop.stop.clone(),
        ..Progress::default()
    };
    let verdict = progress::shown(quiet, &progress, checked.changed_bytes, || {
        let mut judge = Judge::start(&java, &checked.superclasses, rayon::current_num_threads())?;
        judge_all(staged, plan, &mut judge, &progress)?;
        judge.finish()
    })?;
    refuse(
        "faulty",
        &verdict.faults,
        "--verify found faults in the output",
    )?;
    Ok(Verified {
        checked,
        judged: Some((java, verdict)),
    })
}

fn judge_all(
    staged: &[Staged<'_>],
    plan: &Plan,
    judge: &mut Judge,
    progress: &Progress,
) -> Result<()> {
    let mut failure = None;
    let mut visit = |changed: Changed<'_>| {
        if progress.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        judge.class(&changed).map_err(|error| {
            failure = Some(error);
            Error::Interrupted
        })?;
        let len = changed.after.len() as u64;
        progress.done.fetch_add(len, Ordering::Relaxed);
        Ok(())
    };
    let mut all = || -> Result<()> {
        for staged in staged {
            let (from, at) = (&staged.input.from, &staged.at);
            let name = from.display().to_string();
            match staged.input.kind {
                Kind::Class => {
                    let (before, after) = (fs::read(from)?, fs::read(at)?);
                    if before != after {
                        visit(Changed {
                            name: &name,
                            before: Some(&before),
                            after: &after,
                        })?;
                    }
                }
                Kind::Archive => changed_in_archive(&name, from, at, plan, &mut visit)?,
                Kind::Folder(_) => changed_in_folder(from, at, plan, &mut visit)?,
            }
        }
        Ok(())
    };
    let done = all();
    match failure {
        Some(failure) => Err(failure),
        None => done,
    }
}

/// Maximum number of faults that are printed.
const MOST: usize = 20;

fn refuse(what: &str, faults: &[String], reason: &str) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    for fault in faults.iter().take(MOST) {
        say!("{what}: {}", printable(fault));
    }
    if let Some(more) = faults.len().checked_sub(MOST).filter(|more| *more != 0) {
        say!("{what}: {more} more");
    }
    bail!("{reason}; no file was written");
}

impl Verified {
    pub(super) fn print(&self) {
        let Checked {
            untouched, changed, ..
        } = self.checked;
        let are = |number| noun(number, "is", "are");
        say!(
            "verified: {changed} changed {} {} well-formed, {untouched} other {} {} unchanged",
            noun(changed, "class", "classes"),
            are(changed),
            noun(untouched, "entry", "entries"),
            are(untouched),
        );
        match &self.judged {
            Some((java, verdict)) => say!(
                "verified: JDK {} accepts {} {}{}",
                java.version,
                verdict.judged,
                noun(verdict.judged, "class", "classes"),
                match verdict.below_50 {
                    0 => String::new(),
                    old => format!("; {old} {} too old for its verifier", are(old)),
                }
            ),
            None => say!(
                "verified: only the structure; for a check of the bytecode, put JDK 24 or later into JAVA_HOME, PATH or /usr/lib/jvm"
            ),
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut json = json!({
            "changed": self.checked.changed,
            "untouched": self.checked.untouched,
        });
        if let Some((java, verdict)) = &self.judged {
            json["jdk"] = json!(java.version);
            json["judged"] = json!(verdict.judged);
            json["below_50"] = json!(verdict.below_50);
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use loadhook_offline::{Detail, Offline};
    use loadhook_settings::Filter;

    use super::super::inputs::{Input, inputs};
    use super::*;

    const GREETER: &[u8] = include_bytes!("../../../rewrite/doc/Greeter.class");

    /// Rewrites a folder with a class, damages the waiting output, and verifies it.
    fn verified(
        folder: &Path,
        java: Option<Java>,
        damage: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Verified> {
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(&from)?;
        fs::create_dir_all(&to)?;
        fs::write(from.join("Greeter.class"), GREETER)?;
        fs::write(to.join("Greeter.class"), "old")?;
        fs::write(to.join("other"), "other")?;
        let inputs = inputs(&[from], &to, true)?;
        let plan = Plan::new(Filter::new());
        let progress = Progress::default();
        let Input {
            kind: Kind::Folder(files),
            from,
            ..
        } = &inputs[0]
        else {
            panic!("the input should be recognised as a folder");
        };
        let mut offline = Offline::new(&plan, Detail::default(), &progress);
        let new = offline.folder(from, files, Some(&inputs[0].to))?;
        let staged = Staged::folder(&inputs[0], new.expect("the output has a path"));
        let class = staged.at.join("Greeter.class");
        fs::write(&class, damage(&fs::read(&class)?))?;
        let verified = verify(std::slice::from_ref(&staged), &plan, true, &progress, java)?;
        staged.put(true, &progress)?;
        Ok(verified)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder)
            .expect("the test folder can be listed")
            .flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn faulty_outputs_do_not_replace_their_targets() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let class = folder.path().join("to/Greeter.class");
        let cut: &dyn Fn(&[u8]) -> Vec<u8> = &|class| class[..class.len() - 1].to_vec();
        // Changes the `areturn` after the call of the exit probe into `ireturn`. Only the JDK's
        // verifier finds that an int is returned instead of a string.
        let ireturn: &dyn Fn(&[u8]) -> Vec<u8> = &|class| {
            let mut class = class.to_vec();
            let code = class
                .windows(4)
                .position(|code| code[0] == 0xb8 && code[3] == 0xb0);
            class[code.expect("greet() ends with these instructions") + 3] = 0xac;
            class
        };
        for damage in [cut, ireturn] {
            let refused = verified(folder.path(), Java::find(), damage).map(|_| ());
            let refused = refused.expect_err("the output is damaged").to_string();
            assert!(refused.contains("no file was written"), "{refused}");
            assert_eq!(fs::read(&class).expect("the test file can be read"), b"old");
            assert_eq!(names(folder.path()), ["from", "to"]);
            assert_eq!(names(&folder.path().join("to")), ["Greeter.class", "other"]);
        }
        let good =
            verified(folder.path(), Java::find(), <[u8]>::to_vec).expect("the output is correct");
        let (_, verdict) = good.judged.expect("JDK 25 is installed");
        assert_eq!(
            (verdict.judged, verdict.below_50),
            (good.checked.changed, 0)
        );
        assert_eq!(names(folder.path()), ["from", "to"]);
        assert_eq!(
            names(&folder.path().join("to")),
            ["Greeter.class", "META-INF", "loadhook", "other"]
        );
        assert_ne!(fs::read(&class).expect("the test file can be read"), b"old");

        // Without a JDK that has the verifier, only the structure is checked.
        assert!(verified(folder.path(), None, cut).is_err());
        let unjudged = verified(folder.path(), None, ireturn).expect("the structure is valid");
        assert!(unjudged.judged.is_none());
    }
}
