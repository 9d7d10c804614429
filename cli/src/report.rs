//! `loadhook report`: a profile in another form.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::Args;
use loadhook_profile::analysis::diff;
use loadhook_profile::format::diff as diff_format;
use loadhook_profile::format::pprof::{self, ReadError};
use loadhook_profile::format::{Explain, Format, Options, Sort, UnknownWord, difference_page};
use loadhook_profile::{Header, Measure, Method, NOT_ENDED, Profile};
use loadhook_rewrite::symbol::modified_utf8;
use loadhook_settings::{Pattern, PatternError};

use crate::output::{PRIVATE, can_grey, columns, is_one_file, listed, say, write_beside};

/// Arguments of `loadhook report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Profiles, as loadhook run writes them: loadhook-PID.pb.gz
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// With --diff: the profiles to compare with those before the --
    #[arg(last = true, value_name = "AFTER")]
    after: Vec<PathBuf>,

    /// Output format: table, tree, collapsed, pprof, json, html, speedscope,
    /// chrome or hprof
    #[arg(long, default_value = "table")]
    format: Format,

    /// Measure to show: time, allocated (bytes) or live (bytes still alive)
    /// [default: a table shows all that the profile has, other formats the first]
    #[arg(long, value_name = "MEASURE")]
    show: Option<Measure>,

    /// Sort methods by self, total, calls, mean or name [default: self];
    /// allocations by bytes, objects or name [default: bytes]
    #[arg(long)]
    sort: Option<SortWord>,

    /// Show at most this many: rows of a table, nodes of a tree, nodes of the
    /// call tree in a page [default: all]
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Show only the calls of the methods that match, and below them, for
    /// example com.example.** or com.example.Service::handle*
    #[arg(long, value_name = "PATTERNS")]
    focus: Vec<String>,

    /// Show only the threads whose name contains this. Ended threads are
    /// grouped, with # for any number: worker-3 is in worker-#
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,

    /// Add several profiles up: --merge A B…
    #[arg(long)]
    merge: bool,

    /// Compare two profiles, --diff A B, or several runs of each side, which tells
    /// change from noise: --diff A1 A2 A3… -- B1 B2 B3…; as table, json or html. By
    /// --show, else by a measure that all have
    #[arg(long, conflicts_with = "merge")]
    diff: bool,

    /// Write to this file instead of standard output; missing folders are made
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Show which classes have methods that were not instrumented, and why; with
    /// -o FILE list each method. Needs a profile made with run --explain
    #[arg(long)]
    explain: bool,
}

impl ReportArgs {
    /// The profiles of both sides.
    fn all_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.after)
    }

    /// Refuses options that stand where only profiles can.
    fn no_options_at_the_end(&self) -> Result<()> {
        let is_option = |file: &&PathBuf| file.to_string_lossy().starts_with('-') && !file.exists();
        match self.after.iter().find(is_option) {
            Some(option) => bail!(
                "{}: options stand before the --, behind it profiles only",
                option.display()
            ),
            None => Ok(()),
        }
    }

    /// How many of the profiles are those of the first side.
    fn first_side(&self) -> Result<usize> {
        match (self.files.len(), self.after.len()) {
            (2, 0) => Ok(1),
            (_, 0) => bail!(
                "--diff compares two profiles, or several of each side with -- between them: \
                 --diff A1 A2 A3 -- B1 B2 B3"
            ),
            (before, _) => Ok(before),
        }
    }

    /// Refuses what would be without effect.
    fn fit_the_format(&self) -> Result<()> {
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

    /// The measure to show. Refuses one that a profile does not have.
    fn measure(&self, profiles: &[Profile]) -> Result<Option<Measure>> {
        let is_in_all = |measure: &Measure| profiles.iter().all(|profile| measure.is_in(profile));
        let (measure, option) = match (self.show, self.format) {
            (Some(measure), _) => (measure, format!("--show {}", measure.as_str())),
            // HPROF's text is of allocations alone.
            (None, Format::Hprof) => (Measure::Allocated, "--format hprof".to_owned()),
            (None, _) if self.diff => {
                let by_rank = [Measure::Time, Measure::Live, Measure::Allocated];
                let common = by_rank.into_iter().find(is_in_all);
                return common
                    .map(Some)
                    .with_context(|| self.nothing_common(profiles));
            }
            (None, _) => return Ok(None),
        };
        let mut pairs = self.all_files().zip(profiles);
        if let Some((file, _)) = pairs.find(|(_, profile)| !measure.is_in(profile)) {
            bail!("{}: {option}: {}", file.display(), lacking(measure));
        }
        Ok(self.show)
    }

    /// Whether calls decide the order, since single runs tell nothing sure about times.
    fn is_exact_first(&self, measure: Option<Measure>) -> bool {
        let is_single = self.files.len() == 1 || self.after.len() < 2;
        measure == Some(Measure::Time) && is_single
    }

    /// Refuses to sort allocations by what only calls have, and calls by what only allocations have.
    fn can_sort(&self, measure: Option<Measure>, profiles: &[Profile]) -> Result<()> {
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
            // A page has bytes in the place of times.
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
        if matches!(sort, Sort::Total | Sort::Mean) && !has_times {
            bail!("--sort {word}: allocations can be sorted by bytes, objects or name");
        }
        Ok(())
    }

    /// Names the measure of each profile, where none is in all.
    fn nothing_common(&self, profiles: &[Profile]) -> String {
        let told = |(file, profile): (&PathBuf, &Profile)| {
            let what = match profile.allocations {
                Some(_) => "allocations",
                None => "times",
            };
            format!("{} has {what} only", file.display())
        };
        let told: Vec<String> = self.all_files().zip(profiles).map(told).collect();
        format!(
            "nothing to compare: {}; profile both with the same --timing and --alloc",
            told.join(", ")
        )
    }

    /// Says which options find nothing in these profiles.
    fn warn(&self, profiles: &[Profile], options: &Options<'_>) {
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

    /// Says of which programs only a part is compared; other reports have it below their numbers.
    fn warn_of_parts(&self, profiles: &[Profile]) {
        for (file, profile) in self.all_files().zip(profiles) {
            if profile.header.not_ended {
                say!("warning: {}: {NOT_ENDED}", file.display());
            }
        }
    }

    /// Refuses a report in the place of a profile, which would be lost.
    fn keep_the_profiles(&self) -> Result<()> {
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

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let focus = Focus::parse(&args.focus)?;
    if args.diff {
        args.first_side()?;
        if !matches!(args.format, Format::Table | Format::Json | Format::Html) {
            bail!("--diff writes --format table, json or html only");
        }
    } else if args.all_files().count() > 1 && !args.merge {
        bail!("several profiles: add --merge to sum them, or --diff to compare them");
    }
    args.no_options_at_the_end()?;
    args.fit_the_format()?;
    args.keep_the_profiles()?;
    let profiles: Vec<Profile> = args.all_files().map(|f| read(f)).collect::<Result<_>>()?;
    let names = |method: &Method| focus.names(method);
    let text = args.thread.as_deref().unwrap_or_default();
    let group = without_numbers(text);
    let has_text = |name: &str| name.contains(text) || name.contains(&group);
    let measure = args.measure(&profiles)?;
    args.can_sort(measure, &profiles)?;
    if let Some(name) = &args.thread {
        check_thread(name, &profiles, has_text)?;
    }
    let options = Options {
        measure,
        sort: match &args.sort {
            Some(word) => word.sort,
            None if args.diff && args.is_exact_first(measure) => Sort::Calls,
            None => Sort::default(),
        },
        top: args.top,
        focus: (!args.focus.is_empty()).then_some(&names as &dyn Fn(&Method) -> bool),
        thread: args
            .thread
            .is_some()
            .then_some(&has_text as &dyn Fn(&str) -> bool),
        width: columns(io::stdout(), COLUMNS),
        explain: match (args.explain, &args.output) {
            (false, _) => Explain::No,
            (true, None) => Explain::Classes,
            (true, Some(_)) => Explain::Methods,
        },
        grey: args.output.is_none() && can_grey(io::stdout()),
        ..Options::default()
    };
    args.warn(&profiles, &options);
    if args.diff {
        args.warn_of_parts(&profiles);
    }
    let mut bytes = Vec::new();
    // A vector takes all: what fails is refused.
    let refused = || format!("--format {}", args.format.as_str());
    match &profiles[..] {
        all if args.diff => {
            let sides = all.split_at(args.first_side()?);
            compare(sides.into(), args.format, &options, &mut bytes)?;
        }
        [profile] => {
            let written = args.format.write(profile, &options, &mut bytes);
            written.with_context(refused)?;
        }
        several => {
            let merged = loadhook_profile::merge(several)?;
            let written = args.format.write(&merged, &options, &mut bytes);
            written.with_context(refused)?;
        }
    }
    match &args.output {
        Some(file) => write_beside(file, &bytes, PRIVATE),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(&bytes)?;
            Ok(out.flush()?)
        }
    }
}

/// Writes what the second side has more or less of.
fn compare(
    sides: [&[Profile]; 2],
    format: Format,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if format == Format::Html {
        let [before, after] = sides;
        let page = difference_page(before, after, options)?;
        return Ok(page.write(out)?);
    }
    if options.measure == Some(Measure::Time) {
        let compared = diff::methods::compare(sides, options)?;
        match format {
            Format::Json => diff_format::methods::write_json(&compared, options, out)?,
            _ => diff_format::methods::write(&compared, options, out)?,
        }
    } else {
        let compared = diff::allocations::compare(sides, options)?;
        match format {
            Format::Json => diff_format::allocations::write_json(&compared, options, out)?,
            _ => diff_format::allocations::write(&compared, options, out)?,
        }
    }
    Ok(())
}

/// Refuses a name that is in none of the threads' names.
fn check_thread(name: &str, profiles: &[Profile], is_it: impl Fn(&str) -> bool) -> Result<()> {
    let threads = profiles.iter().flat_map(|profile| &profile.threads);
    let names: BTreeSet<&str> = threads.map(|thread| &*thread.name).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    if names.iter().any(|name| is_it(name)) {
        return Ok(());
    }
    if names.is_empty() {
        bail!("--thread {name}: no such thread; no thread of this profile ran instrumented code")
    } else {
        bail!(
            "--thread {name}: no such thread. Threads: {}",
            listed(&names)
        )
    }
}

/// What a profile without a measure needs to have it.
fn lacking(measure: Measure) -> &'static str {
    match measure {
        Measure::Time => "this profile has no calls; run again with --timing adaptive",
        Measure::Allocated => {
            "this profile has no allocation data; run again with --alloc exact or sampled"
        }
        Measure::Live => {
            "this profile does not say what is still alive; run again with --alloc live"
        }
    }
}

/// A word of `--sort`: `bytes` and `self` are one order, but not of the same things.
#[derive(Clone, Debug)]
struct SortWord {
    word: String,
    sort: Sort,
}

impl FromStr for SortWord {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<SortWord, UnknownWord> {
        let sort = word.parse()?;
        let word = word.to_owned();
        Ok(SortWord { word, sort })
    }
}

/// As the tracker names the group of an ended thread.
fn without_numbers(name: &str) -> String {
    let mut group = String::with_capacity(name.len());
    for char in name.chars() {
        match char.is_ascii_digit() {
            true if group.ends_with('#') => {}
            true => group.push('#'),
            false => group.push(char),
        }
    }
    group
}

/// The patterns of `--focus`.
struct Focus(Vec<Pattern>);

impl Focus {
    fn parse(lists: &[String]) -> Result<Focus> {
        let mut patterns = Vec::new();
        for list in lists {
            patterns.extend(Pattern::parse_list(list).context("--focus")?);
        }
        // Profiles know names only.
        if let Some(annotation) = patterns.iter().find(|p| p.text().starts_with('@')) {
            let fault = PatternError {
                pattern: annotation.text().to_owned(),
                at: 0,
                message: "a profile has no annotations; give the names of classes or methods",
            };
            return Err(fault).context("--focus");
        }
        Ok(Focus(patterns))
    }

    fn names(&self, method: &Method) -> bool {
        let class = method.class.replace('.', "/");
        let [class, name, descriptor] =
            [&class, &*method.name, &*method.descriptor].map(modified_utf8);
        let mut patterns = self.0.iter();
        patterns.any(|pattern| pattern.names(&class, &name, &descriptor) == Some(true))
    }
}

/// Reads a profile.
pub(crate) fn read(file: &Path) -> Result<Profile> {
    let name = || file.display().to_string();
    let mut source = File::open(file).with_context(name)?;
    let mut bytes = Vec::new();
    // Dumps may be larger than memory.
    let head = (&mut source).take(4096).read_to_end(&mut bytes);
    head.with_context(name)?;
    let outcome = loadhook_heap::histogram(&bytes[..]).1;
    if outcome.map_or_else(|error| error.is_truncated(), |()| true) {
        bail!(
            "{}: a heap dump, not a profile; to show it: loadhook heap {}",
            name(),
            word(file)
        );
    }
    source.read_to_end(&mut bytes).with_context(name)?;
    match pprof::read(&bytes[..]) {
        Err(ReadError::NotPprof) if starts_with(&bytes, b"{") => bail!(
            "{}: JSON, not a profile; give the .pb.gz file that it was made from",
            name()
        ),
        Err(ReadError::NotPprof) if starts_with(&bytes, b"<") => bail!(
            "{}: a page, not a profile; give the .pb.gz file that it was made from",
            name()
        ),
        read => read.with_context(name),
    }
}

/// Whether a text begins so, after blanks.
fn starts_with(text: &[u8], start: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(start)
}

/// Columns of a table that goes to no terminal.
pub(crate) const COLUMNS: usize = 100;

/// A path as short as it can be said here.
pub(crate) fn shown(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let short = file.strip_prefix(&here).unwrap_or(file);
    short.display().to_string()
}

/// The same as a word for a shell.
pub(crate) fn word(file: &Path) -> String {
    let shown = shown(file);
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+%,:@=".contains(c);
    if shown.chars().all(is_plain) {
        shown
    } else {
        format!("'{}'", shown.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    #[test]
    fn numbers_of_ended_threads_go() {
        assert_eq!(without_numbers("worker-3"), "worker-#");
        assert_eq!(without_numbers("pool-12-thread-345"), "pool-#-thread-#");
        assert_eq!(without_numbers("x#1 2"), "x# #");
        assert_eq!(without_numbers("main"), "main");
    }
}
