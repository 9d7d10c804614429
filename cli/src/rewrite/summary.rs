//! What happened, for people and for scripts.

use std::collections::BTreeMap;

use loadhook_rewrite::{ClassFile, Rewriter};
use serde_json::{Value, json};

use super::chooser::{Chooser, class_name, text};
use super::{RewriteArgs, Tracker};

use crate::output::say;

/// What happened to all classes together.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) classes: u32,
    pub(super) rewritten: u32,
    pub(super) other_files: u32,
    with_code: u32,
    instrumented: u32,
    left_alone: BTreeMap<&'static str, Vec<String>>,
    /// Those among them that are too large or unreadable: a user may want to
    /// know each, where the others are left alone by rule.
    refused: Vec<String>,
    uncovered: Vec<String>,
    pub(super) unreadable: Vec<String>,
}

impl Summary {
    pub(super) fn count(&mut self, name: &str, bytes: &[u8], rewriter: &Rewriter) {
        let report = rewriter.report();
        self.with_code += report.with_code;
        self.instrumented += report.instrumented;
        if report.left_alone.is_empty() && report.uncovered.is_empty() {
            return;
        }
        let class = ClassFile::parse(bytes);
        let method_name = |index: u16| {
            let class = class.as_ref().ok();
            class
                .and_then(|class| class.methods().nth(usize::from(index)))
                .map_or_else(
                    || format!("{name}: method {index}"),
                    |m| {
                        let class = class_name(&m);
                        format!("{class}.{}{}", text(m.name()), text(m.descriptor()))
                    },
                )
        };
        for left in &report.left_alone {
            let mut line = method_name(left.method);
            if !left.reason.is_by_nature() {
                line = format!("{line}: {}", left.reason);
                self.refused.push(line.clone());
            }
            self.left_alone
                .entry(left.reason.word())
                .or_default()
                .push(line);
        }
        for uncovered in &report.uncovered {
            self.uncovered.push(format!(
                "{}: {} instructions",
                method_name(uncovered.method),
                uncovered.instructions
            ));
        }
    }

    pub(super) fn json(&self, chooser: &Chooser) -> Value {
        let unmatched: Vec<&str> = chooser.filter.unmatched().map(|p| p.text()).collect();
        json!({
            "version": 1,
            "classes": self.classes,
            "rewritten": self.rewritten,
            "other_files": self.other_files,
            "methods_with_code": self.with_code,
            "instrumented": self.instrumented,
            "trivial": chooser.trivial,
            "left_alone": self.left_alone,
            "uncovered": self.uncovered,
            "unreadable": self.unreadable,
            "unmatched_patterns": unmatched,
            "methods": chooser.methods,
            "sites": chooser.sites,
        })
    }

    pub(super) fn print(&self, chooser: &Chooser, args: &RewriteArgs) {
        say!(
            "{} of {} classes rewritten, {} of {} methods instrumented",
            self.rewritten,
            self.classes,
            self.instrumented,
            self.with_code
        );
        if chooser.trivial != 0 {
            say!(
                "  {:>7} skipped: trivial (--all keeps them)",
                chooser.trivial
            );
        }
        for (word, methods) in &self.left_alone {
            say!("  {:>7} left alone: {word}", methods.len());
        }
        list("left alone", &self.refused);
        list("covered only in part", &self.uncovered);
        list("unreadable, kept as it was", &self.unreadable);
        for pattern in chooser.filter.unmatched() {
            say!("warning: the pattern {} matched nothing", pattern.text());
        }
        if args.tracker == Tracker::None && self.rewritten != 0 {
            say!("the rewritten classes call loadhook.Tracker, which you provide");
        }
    }
}

/// Prints at most ten lines; `--json` has them all.
fn list(what: &str, lines: &[String]) {
    for line in lines.iter().take(10) {
        // A name in a class may be 64 KB long.
        let short: String = line.chars().take(500).collect();
        say!("{what}: {short}");
    }
    if let Some(more) = lines.len().checked_sub(10)
        && more != 0
    {
        say!("{what}: {more} more (--json lists all)");
    }
}
