//! What a command left behind: the table at its end, and where the profiles
//! are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_profile::Profile;
use loadhook_profile::format::{Format, Options, pprof};

use crate::output::{PRIVATE, say, write_beside};
use crate::report;
use crate::run::RunArgs;

/// Shows the profiles that were written: one, or several together. `whole` is
/// where all are wanted in one.
pub(crate) fn show(args: &RunArgs, files: &[PathBuf], whole: Option<&Path>) -> Result<()> {
    let Some(first) = files.first() else {
        bail!("no profile was written: no JVM was started, or none has ended by itself");
    };
    let profiles = files
        .iter()
        .map(|file| report::read(file))
        .collect::<Result<Vec<Profile>>>()?;
    let merged = match &profiles[..] {
        [_] => None,
        several => Some(loadhook_profile::merge(several)?),
    };
    let shown = merged.as_ref().unwrap_or(&profiles[0]);
    table(args, shown)?;
    let picture = match &args.html {
        Some(html) => {
            let mut page = Vec::new();
            Format::Html.write(shown, &Options::default(), &mut page)?;
            write_beside(html, &page, PRIVATE)?;
            Some(format!("page: {}", report::shown(html)))
        }
        None => None,
    };
    // `x.pb.gz` becomes `x.html`.
    let html = whole.unwrap_or(first).with_extension("");
    let html = html.with_extension("html");
    let picture = |arguments: &str| {
        picture.clone().unwrap_or_else(|| {
            format!(
                "a picture: loadhook report {arguments} --format html -o {}",
                report::word(&html)
            )
        })
    };
    let Some(merged) = &merged else {
        let file = match whole {
            Some(whole) => {
                fs::rename(first, whole).with_context(|| whole.display().to_string())?;
                whole
            }
            None => first,
        };
        let word = report::word(file);
        say!("profile: {} ({})", report::shown(file), picture(&word));
        return Ok(());
    };
    say!("profiles of {} JVMs, together above:", files.len());
    for (file, profile) in files.iter().zip(&profiles) {
        let calls = match profile.calls() {
            0 => "nothing called",
            _ => "",
        };
        let line = format!(
            "  {}  {} {calls}",
            report::shown(file),
            profile.header.command
        );
        say!("{}", line.trim_end());
    }
    match whole {
        Some(whole) => {
            let mut bytes = Vec::new();
            pprof::write(merged, &mut bytes)?;
            write_beside(whole, &bytes, PRIVATE)?;
            let word = report::word(whole);
            say!(
                "profile of all: {} ({})",
                report::shown(whole),
                picture(&word)
            );
        }
        None => {
            let words: Vec<String> = files.iter().map(|file| report::word(file)).collect();
            say!("{}", picture(&format!("--merge {}", words.join(" "))));
        }
    }
    Ok(())
}

fn table(args: &RunArgs, profile: &Profile) -> Result<()> {
    let options = Options {
        top: Some(args.top),
        width: report::width(),
        explain: args.explain,
        ..Options::default()
    };
    let mut table = Vec::new();
    Format::Table.write(profile, &options, &mut table)?;
    say!("{}", String::from_utf8_lossy(&table).trim_end());
    if profile.calls() == 0 {
        say!("{}", advice(args, profile));
    }
    Ok(())
}

/// What to check where nothing was called.
fn advice(args: &RunArgs, profile: &Profile) -> String {
    let trivial = profile.header.left_alone.get("trivial");
    let includes = !args.include.is_empty() || !args.include_file.is_empty();
    let mut advice = match includes {
        true => "check the patterns: classes are named as in com.example.**, nested ones as in Map$Entry".to_owned(),
        false => "without --include the JDK's own classes are left out: --include 'com.sun.tools.javac.**' brings those in".to_owned(),
    };
    if trivial.is_some() && !args.all {
        advice += "; --all instruments trivial methods too";
    }
    advice
}
