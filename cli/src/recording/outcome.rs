//! Shows the profiles of a program that has ended or is no longer watched: prints a table and the names of the files.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use loadhook_profile::Profile;
use loadhook_profile::format::{Explain, Format, Options, pprof};
use loadhook_text::terminal::columns;

use super::args::RecordingArgs;
use crate::output::{PRIVATE, can_grey, move_to, say, write_beside, write_text};
use crate::report;

/// Shows the profiles in `files` in one table, and writes them merged to `whole` if that is given.
/// If a file is faulty, prints the error and shows the other files.
pub(crate) fn show(args: &RecordingArgs, files: &[PathBuf], whole: Option<&Path>) {
    if files.is_empty() {
        say!(
            "loadhook: no profile. Possible causes: no JVM started, the JVM was killed, or an error that a message above reports"
        );
        return;
    }
    let read = |file: &PathBuf| Some((file.clone(), or_said(report::read(file))?));
    let (read, profiles): (Vec<PathBuf>, Vec<Profile>) = files.iter().filter_map(read).unzip();
    let merged;
    let shown = match &profiles[..] {
        [] => return,
        [one] => Some(one),
        several => {
            let together = loadhook_profile::merge(several);
            merged = or_said(together.context("the profiles cannot be shown in one table"));
            merged.as_ref()
        }
    };
    // The merged profile is saved before anything else can fail.
    let saved = whole.filter(|whole| {
        let saved = match (shown, files) {
            (_, [only]) => move_to(only, whole),
            (Some(shown), _) => save(whole, shown),
            (None, _) => return false,
        };
        or_said(saved).is_some()
    });
    let page = shown.and_then(|shown| {
        or_said(table(args, shown));
        let html = args.html.as_deref()?;
        or_said(write_page(html, shown))?;
        Some(format!("page: {}", report::shown(html)))
    });
    name(&read, &profiles, saved, page);
}

/// Prints the names of the profiles and of the merged profile. Adds the name of the page, or the
/// command that makes one.
fn name(files: &[PathBuf], profiles: &[Profile], whole: Option<&Path>, page: Option<String>) {
    let picture = |beside: &Path, arguments: &str| {
        // `x.pb.gz` becomes `x.html`.
        let html = beside.with_extension("").with_extension("html");
        page.clone().unwrap_or_else(|| {
            format!(
                "as a page: loadhook report {arguments} --format html -o {}",
                report::word(&html)
            )
        })
    };
    let one = |what: &str, file: &Path| {
        let picture = picture(file, &report::word(file));
        say!("{what}: {} ({picture})", report::shown(file));
    };
    if let [first] = files {
        let file = whole.unwrap_or(first);
        one("profile", file);
        if profiles.iter().any(|profile| !profile.latencies.is_empty()) {
            let file = report::word(file);
            say!("percentiles: loadhook report {file} --latencies");
        }
        return;
    }
    say!(
        "profiles of {} JVMs (the table above shows them together):",
        profiles.len()
    );
    for (file, profile) in files.iter().zip(profiles) {
        let calls = if profile.has_calls() || profile.allocations.is_some() {
            ""
        } else {
            "(no calls)"
        };
        let line = format!(
            "  {}  {} {calls}",
            report::shown(file),
            profile.header.command
        );
        say!("{}", line.trim_end());
    }
    if let Some(whole) = whole {
        return one("profile of all", whole);
    }
    let words: Vec<String> = files.iter().map(|file| report::word(file)).collect();
    if let Some(first) = files.first() {
        say!(
            "{}",
            picture(first, &format!("--merge {}", words.join(" ")))
        );
    }
}

/// Prints the names of the profiles that rewritten archives wrote in JVMs that also had an agent.
pub(crate) fn name_others(files: &[PathBuf]) {
    for file in files {
        say!(
            "profile of a rewritten archive, which counted its own calls (not part of the table above): {}",
            report::shown(file)
        );
    }
}

/// Returns the value, or prints the error and returns `None`.
fn or_said<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|error| say!("loadhook: {error:#}")).ok()
}

fn save(file: &Path, profile: &Profile) -> Result<()> {
    let mut bytes = Vec::new();
    pprof::write(profile, &mut bytes)?;
    write_beside(file, &bytes, PRIVATE)
}

fn write_page(file: &Path, profile: &Profile) -> Result<()> {
    let mut page = Vec::new();
    Format::Html.write(profile, &Options::default(), &mut page)?;
    write_beside(file, &page, PRIVATE)
}

fn table(args: &RecordingArgs, profile: &Profile) -> Result<()> {
    let options = Options {
        top: Some(args.top),
        width: columns(io::stderr(), report::COLUMNS),
        explain: if args.explain {
            Explain::Classes
        } else {
            Explain::No
        },
        grey: can_grey(io::stderr()),
        ..Options::default()
    };
    let mut table = Vec::new();
    Format::Table.write(profile, &options, &mut table)?;
    write_text(&String::from_utf8_lossy(&table));
    if let Some(advice) = advice(args, profile) {
        say!("{advice}");
    }
    Ok(())
}

/// Returns a hint for the user if a pattern matched nothing, or if no call was counted.
fn advice(args: &RecordingArgs, profile: &Profile) -> Option<String> {
    let header = &profile.header;
    let is_expected = profile.allocations.is_some() || args.choice.includes_none();
    let is_empty = profile.calls() == 0 && !is_expected;
    let has_patterns = !args.choice.include.is_empty() || !args.choice.include_file.is_empty();
    let mut advice = if !header.unmatched.is_empty() || is_empty && has_patterns {
        "check the patterns: classes are named as in com.example.**, nested classes as in Map$Entry"
    } else if is_empty {
        "without --include the JDK's own classes are not instrumented; name those you want, for example --include 'com.sun.tools.javac.**'"
    } else {
        return None;
    }
    .to_owned();
    if is_empty && header.left_alone.contains_key(loadhook_instrument::TRIVIAL) && !args.choice.all
    {
        advice += "; --all also instruments trivial methods";
    }
    Some(advice)
}
