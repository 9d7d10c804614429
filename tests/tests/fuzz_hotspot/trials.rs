//! Makes, rewrites and judges mutants, in several JVMs at a time.

use anyhow::{Context, Result};
use loadhook_rewrite::{Reason, Report, Rewriter};
use loadhook_testclasses::mutate::class::Class;
use loadhook_testclasses::mutate::{Kind, Mutant, Mutator};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::{Outcome as PairOutcome, Run, Runner, Verdict};
use loadhook_testkit::paths;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::counts::Counts;
use crate::probing::{Probing, rewrite};
use crate::seeds::{handmade_seeds, jdk_runner, jdk_seeds, own_seeds};
use crate::verdicts::{fault, is_overflowed, locks_differ, short};

const BATCH: u64 = 256;
pub(crate) const TIME_LIMIT: Duration = Duration::from_millis(60);
/// Time limit of the second attempt, for a rewritten class that was too slow. Probes can slow down
/// a loop of millions of calls so much that it exceeds the first limit. An endless loop also
/// exceeds this limit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of findings. Further findings would add no information.
pub(crate) const ENOUGH: usize = 20;

pub(crate) struct Finding {
    pub(crate) number: u64,
    pub(crate) message: String,
}

/// The kind of classes from which mutants are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeds {
    /// The sources in `fuzz_seeds`, and golden inputs.
    Sources,
    /// Classes assembled by hand, with constructs that no compiler writes.
    Handmade,
    /// A JDK's own classes.
    Jdk,
}

/// A series of mutants: the kind of seeds, the JDK, and the way in which the mutants are made.
pub(crate) struct Trial {
    pub(crate) feature: u32,
    pub(crate) seeds: Seeds,
    pub(crate) mutator: Mutator,
}

impl Trial {
    pub(crate) fn new(feature: u32, seeds: Seeds) -> Result<Trial> {
        let classes = match seeds {
            Seeds::Sources => own_seeds()?,
            Seeds::Handmade => handmade_seeds()?,
            Seeds::Jdk => jdk_seeds(feature)?,
        };
        let mutator = Mutator::new(classes);
        Ok(Trial {
            feature,
            seeds,
            mutator,
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("{:?}{}", self.seeds, self.feature)
    }

    fn runner(&self) -> Result<Runner> {
        let jdk = Jdk::find(self.feature)?;
        Ok(match self.seeds {
            Seeds::Sources | Seeds::Handmade => Runner::new(&jdk, &[]),
            Seeds::Jdk => jdk_runner(&jdk),
        })
    }

    fn kind(&self) -> Kind {
        if self.feature == 25 {
            Kind::Straight
        } else {
            Kind::Runnable
        }
    }

    /// Makes the mutant `number`, applying only the steps whose bit is set in `mask`. Returns the
    /// number of its seed, and the mutant.
    fn mutant(&self, number: u64, mask: u32) -> (usize, Mutant) {
        let which = number as usize % self.mutator.seeds();
        (
            which,
            self.mutator.some_steps(which, number, self.kind(), mask),
        )
    }
}

/// The runner, the rewriters and the results of one thread.
struct Worker<'t> {
    trial: &'t Trial,
    runner: Runner,
    patient: Runner,
    rewriters: Vec<(Probing, Rewriter)>,
    counts: Counts,
    findings: Vec<Finding>,
}

impl<'t> Worker<'t> {
    fn new(trial: &'t Trial) -> Result<Worker<'t>> {
        let probings = [
            Probing::All,
            Probing::AllDropping,
            Probing::Timing,
            Probing::TimingByClass,
            Probing::Count,
        ];
        Ok(Worker {
            trial,
            runner: trial.runner()?.with_time_limit(TIME_LIMIT),
            patient: trial.runner()?.with_time_limit(PATIENCE),
            rewriters: probings.map(|it| (it, it.rewriter())).into(),
            counts: Counts::default(),
            findings: Vec::new(),
        })
    }

    fn rewrite(&mut self, class: &[u8], number: u64) -> Result<(Option<Vec<u8>>, Report)> {
        let probing = Probing::of(number);
        let (_, rewriter) = self
            .rewriters
            .iter_mut()
            .find(|it| it.0 == probing)
            .context("there is no rewriter for these probes")?;
        rewrite(rewriter, class, probing)
    }

    fn batch(&mut self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        let mutants: Vec<_> = numbers
            .map(|it| (it, self.trial.mutant(it, u32::MAX)))
            .collect();
        let mut rewritten = Vec::new();
        for (number, (_, mutant)) in &mutants {
            rewritten.push(self.rewrite(&mutant.bytes, *number));
        }
        let pairs: Vec<(&[u8], &[u8])> = mutants
            .iter()
            .zip(&rewritten)
            .map(|((_, (_, mutant)), rewritten)| {
                let bytes = rewritten.as_ref().ok().and_then(|it| it.0.as_deref());
                (&mutant.bytes[..], bytes.unwrap_or(&mutant.bytes))
            })
            .collect();
        let mut verdicts = match self.runner.judge_all(&pairs) {
            Ok(verdicts) => verdicts,
            // The protocol with the running JVM failed, perhaps because of the last output of a
            // dying JVM. Judge the pairs one by one to find the cause.
            Err(_) => pairs
                .iter()
                .map(|(original, rewritten)| self.judge_one(original, rewritten))
                .collect::<Result<_>>()?,
        };
        for (verdict, (original, rewritten)) in verdicts.iter_mut().zip(&pairs) {
            self.look_again(verdict, original, rewritten)?;
        }
        for (((number, (which, mutant)), rewritten), verdict) in
            mutants.iter().zip(&rewritten).zip(&verdicts)
        {
            if let Some(message) = self.count(*which, mutant, rewritten, verdict) {
                self.findings.push(Finding {
                    number: *number,
                    message,
                });
            }
        }
        Ok(())
    }

    /// Judges one pair. If the running JVM fails, judges the pair again in a new JVM.
    fn judge_one(&mut self, original: &[u8], rewritten: &[u8]) -> Result<Verdict> {
        for with in [rewritten, &[]] {
            match self.runner.judge(original, with) {
                Ok(mut verdict) if with.is_empty() => {
                    verdict.rewritten = Some(PairOutcome {
                        link: Ok(()),
                        run: Run::Died,
                    });
                    return Ok(verdict);
                }
                Ok(verdict) => return Ok(verdict),
                Err(_) => self.runner = self.trial.runner()?.with_time_limit(TIME_LIMIT),
            }
        }
        let original = PairOutcome {
            link: Ok(()),
            run: Run::Died,
        };
        Ok(Verdict {
            original,
            rewritten: None,
            nondeterministic: false,
        })
    }

    /// Judges a pair again with more time, if the rewritten class ran too long and the original
    /// class did not.
    fn look_again(
        &mut self,
        verdict: &mut Verdict,
        original: &[u8],
        rewritten: &[u8],
    ) -> Result<()> {
        let too_long = verdict
            .rewritten
            .as_ref()
            .is_some_and(|it| matches!(it.run, Run::TimedOut | Run::Hung));
        if too_long && verdict.original.ran().is_some() {
            self.counts.slow += 1;
            *verdict = self.patient.judge(original, rewritten)?;
        }
        Ok(())
    }

    /// Counts a verdict. Returns the fault that it shows, if any.
    fn count(
        &mut self,
        which: usize,
        mutant: &Mutant,
        rewritten: &Result<(Option<Vec<u8>>, Report)>,
        verdict: &Verdict,
    ) -> Option<String> {
        let counts = &mut self.counts;
        counts.mutants += 1;
        let accepted = verdict.original.link.is_ok();
        let step = mutant
            .steps
            .last()
            .map_or("none", |it| it.split(" in ").next().unwrap_or(it));
        let major = u16::from_be_bytes([mutant.bytes[6], mutant.bytes[7]]);
        for place in [
            counts.by_step.entry(step.to_owned()).or_default(),
            counts.by_version.entry(major).or_default(),
        ] {
            place.0 += u64::from(accepted);
            place.1 += 1;
        }
        if !accepted {
            return None;
        }
        counts.accepted += 1;
        let (bytes, report) = match rewritten {
            Ok(rewritten) => rewritten,
            Err(error) => {
                return Some(format!(
                    "HotSpot accepts the class, but the rewriter cannot read it: {error:#}"
                ));
            }
        };
        counts.unchanged += u64::from(bytes.is_none());
        for left_alone in &report.left_alone {
            let text = match &left_alone.reason {
                Reason::Unreadable(error) => format!("unreadable: {}", error.kind()),
                reason => reason.word().to_owned(),
            };
            *counts.left_alone.entry(text).or_default() += 1;
        }
        let comparable = !locks_differ(self.trial.mutator.seed(which), &mutant.bytes);
        match verdict.original.run {
            Run::TimedOut | Run::Hung => counts.timed_out += 1,
            Run::Died => counts.died += 1,
            Run::Ended(_) if !comparable => counts.unlocked += 1,
            Run::Ended(_) if verdict.nondeterministic => counts.nondeterministic += 1,
            Run::Ended(_) => {
                counts.compared += 1;
                counts.overflowed += u64::from(is_overflowed(verdict));
            }
            Run::NotRun => {}
        }
        fault(verdict, report, &mutant.bytes, comparable)
    }
}

/// Describes a finding with the steps that cause it, and writes its classes to files.
pub(crate) fn explain(trial: &Trial, number: u64, message: &str) -> Result<String> {
    let mut worker = Worker::new(trial)?;
    let mut judge = |mask: u32| -> Result<Option<(Mutant, Vec<u8>, String)>> {
        let (which, mutant) = trial.mutant(number, mask);
        let rewritten = worker.rewrite(&mutant.bytes, number);
        let bytes = rewritten
            .as_ref()
            .ok()
            .and_then(|it| it.0.clone())
            .unwrap_or(mutant.bytes.clone());
        let mut verdict = worker.judge_one(&mutant.bytes, &bytes)?;
        worker.look_again(&mut verdict, &mutant.bytes, &bytes)?;
        let message = worker.count(which, &mutant, &rewritten, &verdict);
        Ok(message.map(|it| (mutant, bytes, it)))
    };
    let mut mask = u32::MAX;
    for step in 0..3 {
        if judge(mask & !(1 << step))?.is_some() {
            mask &= !(1 << step);
        }
    }
    let place = format!(
        "LOADHOOK_HOTSPOT_MUTANT={}:{number} {:?}",
        trial.name(),
        Probing::of(number)
    );
    let Some((mutant, bytes, message)) = judge(mask)? else {
        return Ok(format!(
            "{place}: the finding did not occur again: {message}"
        ));
    };
    let folder = format!("hotspot-{}-{number}", trial.name());
    let folder = write_down(&folder, &mutant.bytes, &bytes)?;
    Ok(format!(
        "{place} {:?}\n  {}\n  {}",
        mutant.steps,
        folder.display(),
        short(&message)
    ))
}

/// Writes the original and the rewritten class to two folders, each of which can be a class path.
pub(crate) fn write_down(name: &str, original: &[u8], rewritten: &[u8]) -> Result<PathBuf> {
    let all = paths::target().join("fuzz-findings").join(name);
    if all.exists() {
        fs::remove_dir_all(&all)?;
    }
    for (name, bytes) in [("original", original), ("rewritten", rewritten)] {
        let class = Class::parse(bytes).context("the bytes are no class")?;
        let this = class.pool.get(usize::from(class.this_class));
        let this =
            String::from_utf8_lossy(class.utf8(this.map_or(0, |it| it.index(0)))).into_owned();
        let file = all.join(name).join(format!("{this}.class"));
        fs::create_dir_all(file.parent().context("the path has no folder")?)?;
        fs::write(file, bytes)?;
    }
    Ok(all)
}

/// Judges the mutants 0 to `mutants` - 1, in two JVMs at a time.
pub(crate) fn judge_all(trial: &Trial, mutants: u64) -> Result<(Counts, Vec<Finding>)> {
    let next = AtomicU64::new(0);
    let all = Mutex::new((Counts::default(), Vec::new()));
    let work = || -> Result<()> {
        let mut worker = Worker::new(trial)?;
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            if from >= mutants || worker.findings.len() >= ENOUGH {
                let mut all = all
                    .lock()
                    .map_err(|_| anyhow::anyhow!("a thread panicked"))?;
                all.0 += worker.counts;
                all.1.extend(worker.findings);
                return Ok(());
            }
            worker.batch(from..mutants.min(from + BATCH))?;
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|it| {
            it.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let (counts, mut findings) = all.into_inner()?;
    findings.sort_by_key(|it| it.number);
    Ok((counts, findings))
}
