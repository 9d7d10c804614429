//! Runs every target on every committed input.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn committed_classes_pass_the_targets() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut failed = Vec::new();
    let (mut files_read, mut parsed) = (0, 0);
    for folder in ["seeds", "regressions"] {
        for file in files(&corpus.join(folder)) {
            let data = fs::read(&file).unwrap();
            files_read += 1;
            match catch_unwind(|| loadhook_fuzz::all(&data)) {
                Ok(told) => parsed += u32::from(told.parsed),
                Err(_) => failed.push(file),
            }
        }
    }
    println!("{files_read} files, {parsed} of them class files");
    assert!(failed.is_empty(), "a target failed on {failed:#?}");
    assert!(parsed > 0, "no file of the corpus is a class");
}
