//! Runs the targets for dumps on every committed heap dump, and on thousands of generated ones.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use loadhook_testkit::process;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the peak memory of this process in bytes.
fn peak() -> u64 {
    process::peak_memory("self").expect("Linux reports the peak memory")
}

fn random(state: &mut u64) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 24) as u8
}

#[test]
fn committed_dumps_pass_the_targets() {
    let mut failed = Vec::new();
    let (mut count, mut graphs) = (0, 0);
    for file in ["../corpus/dumps", "../corpus/dump-regressions"]
        .into_iter()
        .flat_map(files)
    {
        let data = fs::read(&file).unwrap();
        count += 1;
        let run = || {
            loadhook_fuzz::made(&data);
            loadhook_fuzz::dump(&data)
        };
        match catch_unwind(run) {
            Ok(is_graph) => graphs += u32::from(is_graph),
            Err(_) => failed.push(file),
        }
    }
    println!("{count} files, {graphs} of them readable as dumps");
    assert!(failed.is_empty(), "a target failed on {failed:#?}");
    assert!(graphs > 0, "no file of the corpus is a dump");
}

#[test]
fn made_dumps_and_their_mutants_pass_the_targets() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..1500 {
        let length = usize::from(random(&mut state)) + 4;
        let data: Vec<u8> = (0..length).map(|_| random(&mut state)).collect();
        if let Err(fault) = catch_unwind(|| loadhook_fuzz::made(&data)) {
            println!("failing input: {data:?}");
            std::panic::resume_unwind(fault);
        }
    }
    // The bound leaves room for a few buffers of the reader and for the threads of the tests.
    let peak = peak();
    assert!(
        peak < 150_000_000,
        "dumps of some kilobytes took {peak} bytes of memory"
    );
}
