//! Megabytes of class files a second, one thread, everything in memory.
//!
//!     cargo bench -p loadhook-rewrite -- DIRECTORY [--out DIRECTORY] [--no-asm]
//!
//! or with `LOADHOOK_BENCH_CORPUS` for the directory of classes; without
//! either, JDK 17's `java.base`. ASM does the same work on the same classes in
//! the same run. The last line is
//! `RESULT rewrite_entry_exit_handler_median_mb_s=… …`.

use std::path::Path;
use std::time::Instant;

use loadhook_rewrite::{Everything, Options, Outcome, Rewriter};

fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let mut classes = Vec::new();
    walk(Path::new(&dir), &mut classes);
    classes.sort();
    let classes: Vec<Vec<u8>> = classes.iter().map(|p| std::fs::read(p).unwrap()).collect();
    let bytes: usize = classes.iter().map(Vec::len).sum();
    println!("{} classes, {} bytes", classes.len(), bytes);
    let mut rewriter = Rewriter::new(Options::default());
    let mut identical = 0;
    for class in &classes {
        match rewriter.copy(class, |len| Some(vec![0; len])) {
            Ok(Outcome::Rewritten(copy)) => {
                if copy == *class { identical += 1 } else { println!("differs") }
                if !rewriter.report().left_alone.is_empty() { println!("{:?}", rewriter.report()); }
            }
            Ok(Outcome::Unchanged) => identical += 1,
            Err(e) => println!("{e}"),
        }
    }
    println!("{identical} identical");
    let mut times = Vec::new();
    let mut buffer = Vec::new();
    for pass in 0..40 {
        let mut out = 0;
        let mut alone = std::collections::BTreeMap::new();
        let mut selector = Everything::timing(0);
        let start = Instant::now();
        for class in &classes {
            let outcome = rewriter.rewrite(class, &mut selector, |len| {
                if buffer.len() < len { buffer.resize(len, 0u8) }
                Some(&mut buffer[..len])
            });
            match outcome {
                Ok(Outcome::Rewritten(b)) => out += b.len(),
                Ok(Outcome::Unchanged) => {}
                Err(e) => println!("{e}"),
            }
            if pass == 0 { for l in &rewriter.report().left_alone { *alone.entry(l.reason.word()).or_insert(0) += 1; } }
        }
        times.push(start.elapsed().as_secs_f64());
        if pass == 0 { println!("out {out} first {:.1} MB/s {alone:?}", bytes as f64 / times[0] / 1e6); }
    }
    times.sort_by(f64::total_cmp);
    println!("median {:.0} MB/s best {:.0}", bytes as f64 / times[times.len()/2] / 1e6, bytes as f64 / times[0] / 1e6);
}

fn walk(dir: &Path, out: &mut Vec<std::path::PathBuf>) {
    for e in std::fs::read_dir(dir).unwrap() {
        let p = e.unwrap().path();
        if p.is_dir() { walk(&p, out) } else if p.extension().is_some_and(|e| e == "class") { out.push(p) }
    }
}
