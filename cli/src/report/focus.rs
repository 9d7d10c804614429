//! `--focus`: methods by patterns.

use anyhow::{Context, Result};
use loadhook_profile::Method;
use loadhook_rewrite::symbol::modified_utf8;
use loadhook_settings::{Pattern, PatternError};

/// The patterns of `--focus`.
pub(super) struct Focus(Vec<Pattern>);

impl Focus {
    pub(super) fn parse(lists: &[String]) -> Result<Focus> {
        let mut patterns = Vec::new();
        for list in lists {
            patterns.extend(Pattern::parse_list(list).context("--focus")?);
        }
        // A profile contains the names of methods, but not their annotations.
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

    /// Returns whether a pattern matches the method.
    pub(super) fn matches(&self, method: &Method) -> bool {
        let class = method.class.replace('.', "/");
        let [class, name, descriptor] =
            [&class, &*method.name, &*method.descriptor].map(modified_utf8);
        let mut patterns = self.0.iter();
        patterns.any(|pattern| pattern.names(&class, &name, &descriptor) == Some(true))
    }
}
