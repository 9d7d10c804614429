//! Checks the documents: lines of text (not of tables or code) are at most 120 characters wide, and each link to a file
//! or a heading of the project leads to one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use loadhook_testkit::paths;

const WIDEST: usize = 120;

/// Returns the documents of the project: those of the top folder, of `docs/`, and the README of each crate.
fn documents() -> Result<Vec<PathBuf>> {
    let root = paths::workspace();
    let mut found = Vec::new();
    for folder in ["docs", "docs/user", "docs/dev"] {
        found.extend(markdown_files(&root.join(folder))?);
    }
    found.extend(markdown_files(&root)?);
    for entry in fs::read_dir(&root)? {
        let readme = entry?.path().join("README.md");
        if readme.is_file() {
            found.push(readme);
        }
    }
    found.sort();
    ensure!(
        found.len() > 10,
        "only {} documents were found",
        found.len()
    );
    Ok(found)
}

fn markdown_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the lines of a page that are not code, with their numbers from 1.
fn text_lines(page: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !line.starts_with("    ") {
            lines.push((index + 1, line));
        }
    }
    lines
}

#[test]
fn paragraphs_are_at_most_120_characters_wide() -> Result<()> {
    let mut wide = String::new();
    for path in documents()? {
        for (number, line) in text_lines(&fs::read_to_string(&path)?) {
            // A row of a table cannot be broken.
            if !line.starts_with('|') && line.chars().count() > WIDEST {
                wide += &format!("\n{}:{number}", path.display());
            }
        }
    }
    ensure!(
        wide.is_empty(),
        "lines are wider than {WIDEST} characters:{wide}"
    );
    Ok(())
}

/// Returns the targets of the inline links of a page, with the line of each.
fn links(page: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in text_lines(page) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, behind)) = after.split_once(')') else {
                break;
            };
            found.push((number, target));
            rest = behind;
        }
    }
    found
}

/// Returns the anchors of the headings of a page: small letters, hyphens for spaces, no other punctuation.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in text_lines(page) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor: String = heading
            .trim()
            .chars()
            .filter_map(|character| match character {
                ' ' => Some('-'),
                '-' | '_' => Some(character),
                _ if character.is_alphanumeric() => Some(character.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        anchors.insert(anchor);
    }
    anchors
}

/// Returns the reason why a link of the document leads nowhere, or `None` if it is right or leads outside.
fn fault(document: &Path, link: &str) -> Result<Option<String>> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(None);
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() {
        document.to_owned()
    } else {
        document.parent().unwrap_or(Path::new("/")).join(file)
    };
    if !target.exists() {
        return Ok(Some("no such file".to_owned()));
    }
    if !anchor.is_empty() && !anchors(&fs::read_to_string(&target)?).contains(anchor) {
        return Ok(Some("no such heading".to_owned()));
    }
    Ok(None)
}

#[test]
fn links_lead_to_files_and_headings() -> Result<()> {
    let mut faults = String::new();
    let mut checked = 0;
    for path in documents()? {
        for (number, link) in links(&fs::read_to_string(&path)?) {
            checked += 1;
            if let Some(reason) = fault(&path, link)? {
                faults += &format!("\n{}:{number}: {link}: {reason}", path.display());
            }
        }
    }
    ensure!(checked > 100, "only {checked} links were found");
    ensure!(faults.is_empty(), "links lead nowhere:{faults}");
    Ok(())
}
