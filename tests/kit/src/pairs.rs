//! Links and runs a class and its rewritten form in a real JVM, thousands of pairs a second.
//!
//! A [`Runner`] owns one long-lived JVM (`tests/kit/java/RunPairs.java`). If a class under test
//! loops, exits or crashes the JVM, the runner starts another JVM, and the verdict reports the
//! event.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

mod outcome;
mod process;

use crate::java_tools;
use crate::jdk::Jdk;
pub use outcome::{Outcome, Ran, Run, TrackerCounts, Verdict};
use process::{Process, Reply};

/// A judge of pairs of classes. It runs them in a JVM.
#[derive(Debug)]
pub struct Runner {
    jdk: Jdk,
    jvm_args: Vec<String>,
    class_path: Vec<PathBuf>,
    time_limit: Duration,
    instances: bool,
    export_all: bool,
    process: Option<Process>,
    started: usize,
}

impl Runner {
    /// Makes a runner on a JDK. `jvm_args` are further arguments for its JVM. The JVM starts with
    /// the first pair.
    #[must_use]
    pub fn new(jdk: &Jdk, jvm_args: &[&str]) -> Runner {
        Runner {
            jdk: jdk.clone(),
            jvm_args: jvm_args.iter().map(ToString::to_string).collect(),
            class_path: Vec::new(),
            time_limit: Duration::from_millis(300),
            instances: false,
            export_all: false,
            process: None,
            started: 0,
        }
    }

    /// Adds a folder or jar to the class path of the classes under test, which always see the JDK
    /// and `loadhook/Tracker`.
    #[must_use]
    pub fn with_class_path(mut self, entry: &Path) -> Runner {
        // Make the path absolute, since the JVM runs in another folder.
        self.class_path
            .push(std::path::absolute(entry).unwrap_or_else(|_| entry.to_path_buf()));
        self.restarted()
    }

    /// Sets how much processor time a run may take; the default is 300 ms. The rewritten class gets
    /// ten times as much.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Runner {
        self.time_limit = limit;
        self.restarted()
    }

    /// Makes the runner also call the constructor without arguments, and instance methods.
    #[must_use]
    pub fn with_instances(mut self) -> Runner {
        self.instances = true;
        self.restarted()
    }

    /// Lets the classes under test use packages that the JDK's modules do not export. Classes of
    /// the JDK need this, since the runner runs them outside of their modules. Classes of `java.*`
    /// cannot be tested, since HotSpot lets no loader of a program define them.
    #[must_use]
    pub fn with_jdk_internals(mut self) -> Runner {
        self.export_all = true;
        self.restarted()
    }

    /// Ends the running JVM, so that new settings apply from the next run on.
    fn restarted(mut self) -> Runner {
        self.process = None;
        self
    }

    /// Returns the number of JVMs that this runner has started: one, and one more for each JVM that
    /// hung or died.
    #[must_use]
    pub fn processes_started(&self) -> usize {
        self.started
    }

    /// Judges one pair.
    ///
    /// Runs only `static run()` if the class has it, else every static method without arguments or
    /// with one `int`. The `int` has a few fixed values.
    ///
    /// # Errors
    ///
    /// When the JVM cannot start or violates the protocol. Everything that a class does is part of
    /// the verdict.
    pub fn judge(&mut self, original: &[u8], rewritten: &[u8]) -> Result<Verdict> {
        let mut verdicts = self.judge_all(&[(original, rewritten)])?;
        verdicts.pop().context("the judge gave no verdict")
    }

    /// Links and runs one class.
    ///
    /// # Errors
    ///
    /// Fails as [`Runner::judge`] does.
    pub fn try_class(&mut self, class: &[u8]) -> Result<Outcome> {
        Ok(self.judge(class, &[])?.original)
    }

    /// Judges many pairs. They are sent ahead of the answers. Batches of some hundred pairs are
    /// enough.
    ///
    /// # Errors
    ///
    /// Fails as [`Runner::judge`] does.
    pub fn judge_all<A, B>(&mut self, pairs: &[(A, B)]) -> Result<Vec<Verdict>>
    where
        A: AsRef<[u8]> + Sync,
        B: AsRef<[u8]> + Sync,
    {
        let pairs: Vec<(&[u8], &[u8])> = pairs
            .iter()
            .map(|(a, b)| (a.as_ref(), b.as_ref()))
            .collect();
        let mut verdicts = Vec::with_capacity(pairs.len());
        while verdicts.len() < pairs.len() {
            let rest = &pairs[verdicts.len()..];
            self.judge_until_death(rest, &mut verdicts)?;
            let Some(&(original, rewritten)) = pairs.get(verdicts.len()) else {
                break;
            };
            // The JVM ended during this pair. An earlier pair may have damaged it, so judge this
            // pair again in a new JVM.
            let before = verdicts.len();
            self.judge_until_death(&[(original, rewritten)], &mut verdicts)?;
            if verdicts.len() == before {
                verdicts.push(self.bury(original, rewritten)?);
            }
        }
        for (verdict, &(original, rewritten)) in verdicts.iter_mut().zip(&pairs) {
            if verdict.differs() {
                verdict.nondeterministic = self.chance(original, rewritten)?;
            }
        }
        Ok(verdicts)
    }

    /// Returns whether a difference between two classes has another cause than the rewriting. The
    /// cause is time or chance if two runs of the original also differ. The cause is the order of
    /// runs if the classes agree when each is the first in its JVM: a library can be loaded only
    /// once, a provider registered only once, and loader constraints accumulate.
    fn chance(&mut self, original: &[u8], rewritten: &[u8]) -> Result<bool> {
        let twice = self.judge_once(original, original)?;
        if twice.is_none_or(|twice| twice.differs()) {
            return Ok(true);
        }
        let mut first_runs = Vec::new();
        for class in [original, rewritten, original, rewritten] {
            self.process = None;
            first_runs.push(self.judge_once(class, &[])?.map(|verdict| verdict.original));
        }
        let [
            Some(before),
            Some(after),
            Some(before_again),
            Some(after_again),
        ] = &first_runs[..]
        else {
            return Ok(true);
        };
        Ok(!before.differs(after) || before.differs(before_again) || after.differs(after_again))
    }

    /// Judges a pair in the running JVM; `None` if the pair ended the JVM.
    fn judge_once(&mut self, original: &[u8], rewritten: &[u8]) -> Result<Option<Verdict>> {
        let mut verdicts = Vec::new();
        self.judge_until_death(&[(original, rewritten)], &mut verdicts)?;
        Ok(verdicts.pop())
    }

    /// Judges a pair that ended the JVM twice: finds out which of the two classes ends the JVM.
    fn bury(&mut self, original: &[u8], rewritten: &[u8]) -> Result<Verdict> {
        self.process = None;
        let alone = self
            .judge_once(original, &[])?
            .map(|verdict| verdict.original);
        let died = Outcome {
            link: Ok(()),
            run: Run::Died,
        };
        Ok(match alone {
            Some(original) => {
                ensure!(
                    !rewritten.is_empty(),
                    "a pair ended the JVM twice, but not the third time"
                );
                Verdict {
                    original,
                    rewritten: Some(died),
                    nondeterministic: false,
                }
            }
            None => Verdict {
                original: died,
                rewritten: None,
                nondeterministic: false,
            },
        })
    }

    /// Judges pairs in order and appends their verdicts, up to the end or to a pair on which the JVM dies.
    fn judge_until_death(
        &mut self,
        pairs: &[(&[u8], &[u8])],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<()> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => self.start()?,
        };
        let alive = process.send_all(pairs, |process| {
            for (_, rewritten) in pairs {
                let Reply::Outcome(original) = process.reply()? else {
                    return Ok(false);
                };
                let hung = original.run == Run::Hung;
                let mut verdict = Verdict {
                    original,
                    rewritten: None,
                    nondeterministic: false,
                };
                if !rewritten.is_empty() && verdict.original.link.is_ok() {
                    let Reply::Outcome(rewritten) = process.reply()? else {
                        return Ok(false);
                    };
                    verdict.rewritten = Some(rewritten);
                }
                let hung = hung
                    || verdict
                        .rewritten
                        .as_ref()
                        .is_some_and(|it| it.run == Run::Hung);
                verdicts.push(verdict);
                if hung {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        if alive {
            self.process = Some(process);
        }
        Ok(())
    }

    fn start(&mut self) -> Result<Process> {
        let separator = if cfg!(windows) { ";" } else { ":" };
        let mut class_path = java_tools::classes()?.as_os_str().to_owned();
        for entry in &self.class_path {
            class_path.push(separator);
            class_path.push(entry);
        }
        let mut command = self.jdk.java();
        // Messages of the JVM must not be mixed into the protocol on standard output.
        command.args([
            "-Xverify:all",
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
        ]);
        command.args([
            "-Xlog:disable",
            "-Xlog:all=warning:stderr",
            "-XX:+DisplayVMOutputToStderr",
        ]);
        command.args(["-XX:-CreateCoredumpOnCrash"]);
        if self.export_all {
            command.arg("--add-opens=java.base/java.lang=ALL-UNNAMED");
        }
        command.args(&self.jvm_args).arg("-cp").arg(class_path);
        command
            .arg("RunPairs")
            .arg(self.time_limit.as_millis().to_string());
        if self.instances {
            command.arg("--instances");
        }
        if self.export_all {
            command.arg("--export-all");
        }
        self.started += 1;
        Process::start(command)
    }
}
