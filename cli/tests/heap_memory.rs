//! Tests how much memory `loadhook heap` takes for dumps of more than ten million objects. The
//! tests take gigabytes themselves, so only `.ci/run` runs them:
//!
//!     cargo test -p loadhook --test heap_memory --release -- --ignored --nocapture

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use common::{done, folder, loadhook, most_memory};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use serde_json::Value;

/// Maximum memory for a histogram, in MB.
const MOST_FOR_HISTOGRAM: u64 = 50;
const MOST_FOR_GRAPH: u64 = 2000;
/// Maximum memory for the page, in MB. The command holds the graph, and hashes of about ten million arrays.
const MOST_FOR_PAGE: u64 = 3000;

/// Returns the classes of the objects that `heap.Many` retains, with their retained sizes on a HotSpot
/// with compressed references.
fn expected() -> [(&'static str, u64); 3] {
    let aligned = |bytes: u64| bytes.next_multiple_of(8);
    let depths = 0..=21_u32;
    let data = depths.filter(|depth| depth % 3 == 0);
    let data = data.map(|depth| (1 << (21 - depth)) * aligned(16 + u64::from(depth)));
    let nodes = (1 << 22) - 1;
    let per_key = 32 + 16 + 24 + aligned(16 + 2 * 4) + 2 * 16;
    [
        ("heap.Many$Node", nodes * 32 + data.sum::<u64>()),
        (
            "java.util.LinkedList",
            32 + 1_500_000 * (24 + aligned(16 + 4)),
        ),
        (
            "java.util.HashMap",
            48 + 16 + (1 << 20) * 4 + 400_000 * per_key,
        ),
    ]
}

fn json(folder: &Path, options: &[&str], most: u64) -> Result<Value> {
    let mut command = loadhook(folder, &["heap", "many.hprof", "--format", "json"]);
    let (output, peak) = most_memory(command.args(options))?;
    println!("{options:?}: {peak} MB of memory");
    ensure!(
        peak < most,
        "{options:?}: less than {most} MB of memory expected, {peak} used"
    );
    Ok(serde_json::from_str(&output)?)
}

/// Returns the rows of the list named `list` whose class is `class`.
fn rows<'j>(json: &'j Value, list: &str, class: &str) -> impl Iterator<Item = &'j Value> {
    let rows = json[list].as_array().into_iter().flatten();
    rows.filter(move |row| row["class"] == class)
}

fn check(feature: u32) -> Result<()> {
    let folder = folder();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/heap/Many.java");
    let mut javac = Jdk::find(17)?.javac()?;
    javac.args(["--release", "11", "-d"]).arg(folder.path());
    process::output(javac.arg(source))?;
    let mut java = Jdk::find(feature)?.java();
    java.args(["-Xmx2g", "-cp"]).arg(folder.path());
    java.arg("heap.Many")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut program = java.spawn()?;
    let _limit = process::limit(&program);
    let mut line = String::new();
    BufReader::new(program.stdout.take().context("the stream is not piped")?)
        .read_line(&mut line)?;
    ensure!(line == "waiting\n", "{line}");
    let pid = program.id().to_string();
    let dumped = done(&mut loadhook(
        folder.path(),
        &["heap", &pid, "-o", "many.hprof"],
    ));
    drop(program.stdin.take());
    ensure!(
        dumped.code == Some(0) && program.wait()?.success(),
        "{}",
        dumped.err
    );

    let histogram = json(folder.path(), &["--top", "10000"], MOST_FOR_HISTOGRAM)?;
    for (class, instances) in [
        ("heap.Many$Node", (1 << 22) - 1),
        ("java.util.LinkedList$Node", 1_500_000),
    ] {
        let mut rows = rows(&histogram, "classes", class);
        let found = &rows.next().with_context(|| class)?["instances"];
        ensure!(
            *found == instances,
            "{class}: {instances} instances expected, {found} found"
        );
    }
    let biggest = json(
        folder.path(),
        &["--biggest", "--top", "100"],
        MOST_FOR_GRAPH,
    )?;
    for (class, retained) in expected() {
        let found = rows(&biggest, "objects", class)
            .next()
            .with_context(|| class)?;
        ensure!(
            found["retained"] == retained,
            "{class}: {retained} bytes retained expected, {found} found"
        );
    }
    let mut command = loadhook(folder.path(), &["heap", "many.hprof", "--format", "html"]);
    let (page, peak) = most_memory(&mut command)?;
    println!("page: {peak} MB of memory");
    ensure!(
        peak < MOST_FOR_PAGE,
        "page: less than {MOST_FOR_PAGE} MB of memory expected, {peak} used"
    );
    ensure!(
        page.contains("heap.Many$Node"),
        "the page does not name the class heap.Many$Node"
    );
    Ok(())
}

#[test]
#[ignore = "takes gigabytes"]
fn ten_million_objects() -> Result<()> {
    [17, 25].into_iter().try_for_each(check)
}
