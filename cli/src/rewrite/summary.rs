//! Summary of a rewriting, for people and for scripts.

use std::time::Duration;

use loadhook_offline::{Names, Plan, Tally};
use loadhook_text::printable;
use serde_json::{Value, json};

use super::args::{RewriteArgs, TrackerOption};
use crate::output::say;

pub(super) fn json(tally: &Tally, unmatched: &[String]) -> Value {
    let mut json = serde_json::to_value(tally).unwrap_or_default();
    json["version"] = json!(1);
    json["unmatched_patterns"] = json!(unmatched);
    json
}

pub(super) fn print(
    args: &RewriteArgs,
    plan: &Plan,
    tally: &Tally,
    unmatched: &[String],
    took: Duration,
) {
    let megabytes = tally.class_bytes as f64 / 1e6;
    say!(
        "{} of {} classes rewritten, {} of {} methods instrumented; {megabytes:.1} MB of classes in {:.1} s, {:.0} MB/s",
        tally.rewritten,
        tally.classes,
        tally.instrumented,
        tally.methods_with_code,
        took.as_secs_f64(),
        megabytes / took.as_secs_f64().max(1e-3)
    );
    let stayed = [
        tally.already_instrumented,
        tally.unreadable.total(),
        tally.left_out.total(),
    ];
    if tally.classes == 0 && stayed == [0; 3] {
        say!("the input contains no class");
    }
    if tally.trivial != 0 {
        say!(
            "  {:>7} not instrumented: trivial (--all instruments them)",
            tally.trivial
        );
    }
    for (word, methods) in &tally.left_alone {
        say!("  {:>7} not instrumented: {word}", methods.total());
    }
    if tally.already_instrumented != 0 {
        say!(
            "  {:>7} classes were instrumented already and are unchanged",
            tally.already_instrumented
        );
    }
    let most = if args.verbose { usize::MAX } else { Names::FEW };
    let list = |what: &str, names: &Names| list(what, names, most);
    if args.verbose {
        for (word, methods) in &tally.left_alone {
            list(&format!("not instrumented ({word})"), methods);
        }
    } else {
        list("not instrumented", &tally.refused);
    }
    list("instrumented only in part", &tally.uncovered);
    list("unreadable, copied unchanged", &tally.unreadable);
    list("skipped, copied unchanged", &tally.left_out);
    list("signature removed", &tally.unsigned);
    list("INDEX.LIST removed", &tally.unindexed);
    list("hashes of other modules removed", &tally.unhashed);
    for pattern in unmatched {
        say!("warning: no class or method matched `{pattern}`");
    }
    if args.dry_run {
        say!("no file was written (--dry-run)");
    } else if tally.rewritten != 0 {
        match &args.tracker {
            Some(TrackerOption::Jar(path)) => say!(
                "also put {} on the class path, or on the module path with --add-modules loadhook.tracker",
                path.display()
            ),
            _ if plan.tracker == loadhook_offline::Tracker::None => {
                say!(
                    "the rewritten classes call loadhook.Tracker; put your own class of that name on the class path"
                );
            }
            _ => {}
        }
    }
}

/// Prints at most `most` names; `--json` and `-v` list all.
fn list(what: &str, names: &Names, most: usize) {
    let shown = names.kept().iter().take(most);
    let more = names.total() - shown.len() as u64;
    for line in shown {
        // A name in a class may be 64 KB long.
        let short: String = line.chars().take(500).collect();
        say!("{what}: {}", printable(&short));
    }
    if more != 0 {
        say!("{what}: {more} more (-v lists all)");
    }
}
