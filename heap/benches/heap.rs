//! Measures the speed and the peak memory of reading a large dump.
//!
//!     cargo bench -p loadhook-heap -- [MEGABYTES [FILE]]
//!
//! MEGABYTES limits the memory of the graph (default: unlimited). Without FILE, the benchmark makes
//! a dump of 10 million objects: lists, trees, and tables with byte arrays. The last line of the
//! output is `RESULT heap_…`. A megabyte is 1,000,000 bytes. Memory is the peak resident size of
//! the process.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use loadhook_heap::{Graph, histogram};
use loadhook_testkit::dump::Writer;

const OBJECTS: u64 = 10_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut arguments = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let memory = match arguments.next() {
        Some(megabytes) => megabytes.parse::<u64>()? * 1_000_000,
        None => u64::MAX,
    };
    let file = match arguments.next() {
        Some(file) => PathBuf::from(file),
        None => make(&folder.path().join("heap.hprof"))?,
    };
    let length = fs::metadata(&file)?.len();
    let mut rates = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let (histogram, outcome) = histogram(File::open(&file)?);
        outcome?;
        let seconds = start.elapsed().as_secs_f64();
        rates.push(histogram.dump_bytes as f64 / seconds / 1e6);
        println!(
            "histogram: {} objects in {seconds:.2} s",
            histogram.instances()
        );
    }
    rates.sort_by(f64::total_cmp);
    let before = peak()?;
    let (start, processor) = (Instant::now(), on_processor()?);
    let (graph, _) = Graph::read(|| File::open(&file), memory)?;
    let read = start.elapsed().as_secs_f64();
    let found = graph.dominators()?;
    let seconds = start.elapsed().as_secs_f64();
    let processor = on_processor()? - processor;
    println!(
        "graph: {read:.1} s; all: {seconds:.1} s; {} objects kept",
        found.reachable()
    );
    println!(
        "RESULT heap_dump_mb={} heap_histogram_mb_s={:.0} heap_histogram_peak_mb={before} heap_dominators_s={seconds:.1} heap_dominators_cpu_s={processor:.1} heap_dominators_peak_mb={}",
        length / 1_000_000,
        rates[rates.len() / 2],
        peak()?,
    );
    Ok(())
}

/// Returns the seconds of processor time of the main thread, which is the only thread.
fn on_processor() -> io::Result<f64> {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = statistics
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds
        .map(|nanoseconds| nanoseconds / 1e9)
        .ok_or(io::ErrorKind::NotFound.into())
}

/// Returns the peak resident memory of the process, in megabytes.
fn peak() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes * 1024 / 1_000_000)
        .ok_or(io::ErrorKind::NotFound.into())
}

/// Writes a million tables. A table is an array that refers to eight objects and a byte array. Each
/// of the objects refers to the next table and to an earlier one.
fn make(file: &Path) -> io::Result<PathBuf> {
    let mut writer = Writer::new();
    let mut out = BufWriter::new(File::create(file)?);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut address = 0x7_0000_0000_u64;
    let base = address;
    for table in 0..OBJECTS / 10 {
        // Sizes: the array of references has 56 bytes, each of the eight objects 32, the byte array
        // 40.
        let places: Vec<u64> = (0..10)
            .map(|n| if n < 9 { address + 56 + 32 * n } else { 0 })
            .collect();
        if table % 1000 == 0 {
            writer.root(0x03, address, &[1, 0]);
        }
        writer.object_array(address, &places);
        let next = address + 56 + 8 * 32 + 40;
        for place in places.iter().take(8) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let back = random % (table + 1);
            writer.pair(*place, next, base + back * 352);
        }
        writer.primitive_array(address + 56 + 8 * 32, 8, 24, &[7; 24]);
        address = next;
        if table % 1000 == 0 {
            writer.segment();
            out.write_all(&writer.take())?;
        }
    }
    out.write_all(&writer.finish())?;
    out.flush()?;
    Ok(file.to_owned())
}
