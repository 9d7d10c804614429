//! Runs every target on each file below the given paths. Useful for examining a finding, or a whole
//! JDK.
//!
//! `cargo run -p loadhook-fuzz --example each -- target/loadhook-corpus`

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            walk(&entry.unwrap().path(), files);
        }
    } else {
        files.push(path.to_path_buf());
    }
}

fn main() {
    let mut files = Vec::new();
    for path in std::env::args().skip(1) {
        walk(Path::new(&path), &mut files);
    }
    files.sort();
    let (mut parsed, mut failed) = (0, 0);
    for file in &files {
        let data = fs::read(file).unwrap();
        match catch_unwind(|| loadhook_fuzz::all(&data)) {
            Ok(told) => parsed += u32::from(told.parsed),
            Err(_) => {
                println!("FAILED {}", file.display());
                failed += 1;
            }
        }
    }
    println!(
        "{} files, {parsed} class files, {failed} failed",
        files.len()
    );
    std::process::exit(i32::from(failed > 0));
}
