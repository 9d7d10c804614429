//! Combinations of arguments and profiles that cause an error or a warning, each with its remedy.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use loadhook_profile::format::{Format, Options, Sort};
use loadhook_profile::{Header, Measure, NOT_ENDED, Profile};

use super::args::{ReportArgs, SortWord};
use crate::output::{is_one_file, say};

impl ReportArgs {
    /// Refuses options after the `--`, where only profiles are allowed.
    pub(super) fn refuse_options_behind_dashes(&self) -> Result<()> {
        let is_option = |file: &&PathBuf| file.to_string_lossy().starts_with('-') && !file.exists();
        match self.after.iter().find(is_option) {
            Some(option) => bail!(
                "{}: give options before the --; only profiles can follow it",
                option.display()
            ),
            None => Ok(()),
        }
    }

    /// Returns the number of profiles on the first side.
    pub(super) fn first_side(&self) -> Result<usize> {
        match (self.files.len(), self.after.len()) {
            (2, 0) => Ok(1),
            (_, 0) => bail!(
                "--diff compares two profiles, or several of each side with -- between them: \
                 --diff A1 A2 A3 -- B1 B2 B3"
            ),
            (before, _) => Ok(before),
        }
    }

    /// Refuses options that have no effect on the format.
    pub(super) fn refuse_options_without_effect(&self) -> Result<()> {
        use Format::{Chrome, Collapsed, Hprof, Html, Json, Speedscope, Table, Tree};
        let weighed: &[Format] = &[Table, Tree, Collapsed, Json, Html, Speedscope, Chrome];
        let all_but_pprof: &[Format] = &[weighed, &[Hprof]].concat();
        for (option, is_given, formats) in [
            ("--focus", !self.focus.is_empty(), all_but_pprof),
            ("--thread", self.thread.is_some(), all_but_pprof),
            ("--show", self.show.is_some(), weighed),
            ("--sort", self.sort.is_some(), &[Table, Json, Html]),
            (
                "--top",
                self.top.is_some(),
                &[Table, Tree, Json, Html, Hprof],
            ),
            ("--explain", self.explain, &[Table]),
            ("--waiting", self.waiting, &[Table]),
            ("--latencies", self.latencies, &[Table]),
        ] {
            if is_given && !formats.contains(&self.format) {
                let formats: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
                bail!(
                    "{option} has no effect on --format {}; it works with {}",
                    self.format.as_str(),
                    formats.join(", ")
                );
            }
        }
        if self.explain && self.diff {
            bail!("--explain has no effect on --diff; give one profile, without --diff");
        }
        Ok(())
    }

    /// Returns the measure to show; `None` for all measures that the format can show. Fails if a
    /// profile lacks the measure.
    pub(super) fn measure(&self, profiles: &[Profile]) -> Result<Option<Measure>> {
        let is_in_all = |measure: &Measure| profiles.iter().all(|profile| measure.is_in(profile));
        let (measure, option) = match (self.show, self.format) {
            (Some(Measure::Contention), _) if self.diff => bail!(
                "--diff cannot compare contention; give --show time, allocated or live, or one profile without --diff"
            ),
            (Some(measure), _) => (measure, format!("--show {}", measure.as_str())),
            (None, _) if self.diff => {
                let by_rank = [Measure::Time, Measure::Live, Measure::Allocated];
                let common = by_rank.into_iter().find(is_in_all);
                return common
                    .map(Some)
                    .with_context(|| self.no_common_measure(profiles));
            }
            (None, _) => return Ok(None),
        };
        let mut pairs = self.all_files().zip(profiles);
        if let Some((file, _)) = pairs.find(|(_, profile)| !measure.is_in(profile)) {
            bail!("{}: {option}: {}", file.display(), lacking(measure));
        }
        Ok(self.show)
    }

    /// Returns whether methods are sorted by calls by default: single runs cannot distinguish
    /// changes of times from noise.
    pub(super) fn sorts_by_calls(&self, measure: Option<Measure>) -> bool {
        let is_single = self.files.len() == 1 || self.after.len() < 2;
        measure == Some(Measure::Time) && is_single
    }

    /// Refuses an order of allocations by a value that only calls have, or the reverse.
    pub(super) fn refuse_orders_without_values(
        &self,
        measure: Option<Measure>,
        profiles: &[Profile],
    ) -> Result<()> {
        let Some(SortWord { sort, word }) = &self.sort else {
            return Ok(());
        };
        if matches!(word.as_str(), "bytes" | "objects") {
            if !profiles.iter().any(|profile| profile.allocations.is_some()) {
                bail!("--sort {word}: {}", lacking(Measure::Allocated));
            }
            if measure == Some(Measure::Time) {
                bail!("--sort {word}: only allocations have {word}; add --show allocated");
            }
        }
        let has_times = match (self.format, measure) {
            // A page applies these orders to allocations, too: bytes take the place of times.
            (Format::Html, _) => true,
            (Format::Json, _) if !self.diff => {
                profiles.iter().any(|profile| Measure::Time.is_in(profile))
            }
            (_, Some(measure)) => measure == Measure::Time,
            (_, None) => {
                let mut measures = profiles.iter().map(Measure::of);
                measures.any(|measure| measure == Measure::Time)
            }
        };
        let is_shown = self.latencies || self.diff || self.format != Format::Table;
        if *sort == Sort::P99 && !is_shown {
            bail!("--sort {word}: the table of methods has no such column; add --latencies");
        }
        if *sort == Sort::P99 && self.diff && self.format == Format::Html {
            bail!(
                "--sort {word}: a page of differences has no such column; it works with --format table or json"
            );
        }
        if matches!(sort, Sort::Total | Sort::Mean | Sort::P99) && !has_times {
            bail!(
                "--sort {word}: allocations can be sorted by bytes, objects or name, locks by calls"
            );
        }
        Ok(())
    }

    /// Returns the error for profiles without a common measure. It names the measure of each
    /// profile.
    fn no_common_measure(&self, profiles: &[Profile]) -> String {
        let measures = |(file, profile): (&PathBuf, &Profile)| {
            let what = match profile.allocations {
                Some(_) => "allocations",
                None if profile.locks.is_some() && !profile.has_calls() => "locks",
                None => "times",
            };
            format!("{} has {what} only", file.display())
        };
        let measures: Vec<String> = self.all_files().zip(profiles).map(measures).collect();
        format!(
            "nothing to compare: {}; profile both with the same --timing and --alloc",
            measures.join(", ")
        )
    }

    /// Refuses `--waiting` for a profile without samples.
    pub(super) fn refuse_waiting_without_samples(&self, profiles: &[Profile]) -> Result<()> {
        let mut pairs = self.all_files().zip(profiles);
        match pairs.find(|(_, profile)| profile.sampling.is_none()) {
            Some((file, _)) if self.waiting => bail!(
                "{}: --waiting: this profile has no samples; run again with --timing sampled",
                file.display()
            ),
            _ => Ok(()),
        }
    }

    /// Refuses `--latencies` and `--sort p99` for profiles without durations of calls.
    pub(super) fn refuse_latencies_without_durations(&self, profiles: &[Profile]) -> Result<()> {
        let is_sorted = matches!(
            &self.sort,
            Some(SortWord {
                sort: Sort::P99,
                ..
            })
        );
        let option = match (self.latencies, is_sorted) {
            (true, _) => "--latencies",
            (false, true) => "--sort p99",
            (false, false) => return Ok(()),
        };
        let mut pairs = self.all_files().zip(profiles);
        if let Some((file, _)) = pairs.find(|(_, profile)| profile.latencies.is_empty()) {
            bail!(
                "{}: {option}: this profile has no durations of calls; run again with --latencies",
                file.display()
            );
        }
        Ok(())
    }

    /// Warns of options that match nothing in these profiles.
    pub(super) fn warn(&self, profiles: &[Profile], options: &Options<'_>) {
        let mut methods = profiles.iter().flat_map(|profile| &profile.methods);
        if options.focus.is_some_and(|focus| !methods.any(focus)) {
            say!(
                "warning: --focus matches no method that was called; classes are named as in com.example.Service, nested classes as in Map$Entry"
            );
        }
        let mut headers = profiles.iter().map(|profile| &profile.header);
        let is_unnamed =
            |header: &Header| header.explained.is_empty() && !header.left_alone.is_empty();
        if self.explain && headers.all(is_unnamed) {
            say!(
                "warning: --explain: this profile does not name the methods that were not instrumented; run again with --explain"
            );
        }
    }

    /// Warns of profiles that were written before their program ended. Reports other than
    /// comparisons have this warning among their notes.
    pub(super) fn warn_of_unfinished_programs(&self, profiles: &[Profile]) {
        for (file, profile) in self.all_files().zip(profiles) {
            if profile.header.not_ended {
                say!("warning: {}: {NOT_ENDED}", file.display());
            }
        }
    }

    /// Refuses an output that would replace one of the profiles.
    pub(super) fn refuse_to_replace_profiles(&self) -> Result<()> {
        if let Some(output) = self
            .output
            .as_ref()
            .filter(|_| self.format != Format::Pprof)
            && self.all_files().any(|file| is_one_file(file, output))
        {
            bail!(
                "{}: the report would replace the profile that it is made from; give -o another name",
                output.display()
            );
        }
        Ok(())
    }
}

/// Returns the error for a profile that lacks a measure. It names the option that records the
/// measure.
fn lacking(measure: Measure) -> &'static str {
    match measure {
        Measure::Time => "this profile has no calls; run again with --timing sampled",
        Measure::Allocated => {
            "this profile has no allocation data; run again with --alloc exact or sampled"
        }
        Measure::Live => {
            "this profile does not say which objects are still alive; run again with --alloc live"
        }
        Measure::Contention => "this profile has no waits for locks; run again with --locks",
    }
}
