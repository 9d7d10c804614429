//! Tests with dumps of real JVMs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use loadhook_heap::{Graph, histogram};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use tempfile::TempDir;

/// A JVM that runs the program `Kept` and waits.
struct Running {
    jdk: Jdk,
    child: Child,
    folder: TempDir,
}

/// Compiles the program once, and returns the folder with its classes.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Kept.java");
        let mut javac = Jdk::find(17)
            .expect("JDK 17 is installed")
            .javac()
            .expect("javac is installed");
        javac.arg("-d").arg(&folder).arg(source);
        process::output(&mut javac).expect("the program compiles");
        folder
    })
}

impl Running {
    fn start(jdk: &Jdk, options: &[&str]) -> Running {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let mut java = jdk.java();
        java.args(options).args(["-Xmx64m", "-Xshare:off", "-cp"]);
        java.arg(classes()).arg("Kept");
        java.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = java.spawn().expect("the JVM starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("the stream is a pipe");
        BufReader::new(out)
            .read_line(&mut line)
            .expect("the program prints a line");
        assert_eq!(line, "ready\n");
        Running {
            jdk: jdk.clone(),
            child,
            folder,
        }
    }

    fn jcmd(&self, arguments: &[&str]) -> String {
        let mut jcmd: Command = self.jdk.tool("jcmd").expect("jcmd is installed");
        jcmd.arg(self.child.id().to_string()).args(arguments);
        process::output(&mut jcmd).expect("jcmd works")
    }

    fn dump(&self, options: &[&str]) -> File {
        let file = self.folder.path().join("heap.hprof");
        let _ = fs::remove_file(&file);
        let path = file.to_str().expect("the text is UTF-8");
        let said = self.jcmd(&[&["GC.heap_dump"], options, &[path]].concat());
        File::open(&file).unwrap_or_else(|error| panic!("{error}: {said}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number and bytes of instances by class name.
type Counts = BTreeMap<String, (u64, u64)>;

fn ours(source: impl Read) -> Counts {
    let (histogram, outcome) = histogram(source);
    outcome.expect("the dump is complete");
    let mut counts = Counts::new();
    for class in histogram.classes {
        let count = counts.entry(class.name.to_string()).or_default();
        *count = (count.0 + class.instances, count.1 + class.bytes);
    }
    counts
}

/// Parses the JVM's class histogram, with lines such as `   1:          7214         333200  [B
/// (java.base@17)`.
fn the_vms(text: &str) -> Counts {
    let mut counts = Counts::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rank, instances, bytes, class, ..] = words[..] else {
            continue;
        };
        if !rank.ends_with(':') {
            continue;
        }
        let [Ok(instances), Ok(bytes)] = [instances, bytes].map(str::parse::<u64>) else {
            continue;
        };
        // The collector fills gaps with objects of this class. A dump shows them as arrays of
        // numbers.
        let class = class.replace("Ljdk.internal.vm.FillerElement;", "I");
        let element = class.trim_start_matches('[');
        let depth = class.len() - element.len();
        let primitives = [
            "boolean", "char", "float", "double", "byte", "short", "int", "long",
        ];
        let name = match (depth, "ZCFDBSIJ".find(element)) {
            (0, _) => element,
            (_, Some(at)) => primitives[at],
            _ => element.trim_start_matches('L').trim_end_matches(';'),
        };
        let name = name.to_owned() + &"[]".repeat(depth);
        let count = counts.entry(name).or_default();
        *count = (count.0 + instances, count.1 + bytes);
    }
    counts
}

fn agrees_with_the_vm(feature: u32, options: &[&str]) {
    let jdk = Jdk::find(feature).expect("the JDK is installed");
    let running = Running::start(&jdk, options);
    // Every jcmd leaves some objects in the JVM. The first jcmd creates them before anything is
    // compared.
    running.jcmd(&["GC.class_histogram"]);
    let theirs = || the_vms(&running.jcmd(&["GC.class_histogram"]));
    let before = theirs();
    let ours = ours(running.dump(&[]));
    // Meanwhile, the JVM's own threads may create or drop objects. So the dump must agree with the
    // histogram before it, or with the one after it.
    let after = theirs();
    assert_eq!(ours["Kept$Node"].0, 500);
    assert_eq!(ours["Kept$Longer"].0, 500);
    let names = before.keys().chain(ours.keys()).chain(after.keys());
    for name in names.collect::<BTreeSet<_>>() {
        let of = |counts: &Counts| counts.get(name).copied().unwrap_or_default();
        let [before, ours, after] = [&before, &ours, &after].map(of);
        let agrees = |(instances, bytes): (u64, u64)| {
            let within = match &**name {
                // The dump does not show where some static fields are, so sizes may differ by a
                // hundredth.
                "java.lang.Class" => bytes / 100,
                // Before JDK 19, threads have padding that a dump does not show.
                name if feature == 17 && (name.contains("Thread") || name.ends_with("Handler")) => {
                    4096
                }
                _ => 0,
            };
            instances == ours.0 && bytes.abs_diff(ours.1) <= within
        };
        assert!(
            agrees(before) || agrees(after),
            "{feature} {options:?}: {name}: {before:?}, {ours:?}, {after:?}"
        );
    }
}

#[test]
fn histograms_agree_with_jdk_17() {
    agrees_with_the_vm(17, &["-XX:+UseSerialGC"]);
    agrees_with_the_vm(17, &["-XX:+UseG1GC", "-XX:-UseCompressedOops"]);
    agrees_with_the_vm(
        17,
        &["-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers"],
    );
}

#[test]
fn histograms_agree_with_jdk_25() {
    agrees_with_the_vm(25, &["-XX:+UseG1GC"]);
    agrees_with_the_vm(25, &["-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders"]);
    agrees_with_the_vm(25, &["-XX:+UseZGC"]);
}

#[test]
fn packed_dumps_are_read() {
    for feature in [17, 25] {
        let running = Running::start(&Jdk::find(feature).expect("the JDK is installed"), &[]);
        let packed = running.dump(&["-gz=1"]);
        let mut first = [0; 2];
        (&packed)
            .read_exact(&mut first)
            .expect("the file is readable");
        assert_eq!(first, [0x1f, 0x8b]);
        let packed = first.chain(packed);
        assert_eq!(ours(packed)["Kept$Node"].0, 500);
    }
}

/// The number and size of the objects that `Kept` retains are known.
#[test]
fn a_real_program_keeps_what_it_says() {
    // The graph of one JVM is in memory, the other mostly on the disk.
    for (feature, memory) in [(17, u64::MAX), (25, 1 << 20)] {
        let running = Running::start(&Jdk::find(feature).expect("the JDK is installed"), &[]);
        running.dump(&[]);
        let file = running.folder.path().join("heap.hprof");
        let (graph, outcome) =
            Graph::read(|| File::open(&file), memory).expect("the dump is readable");
        assert!(outcome.is_none(), "{outcome:?}");
        let found = graph.dominators().expect("dominators are computed");
        let retained = |class: &str| {
            let object = graph
                .objects_of_class(class)
                .next()
                .expect("the object is in the dump");
            found.retained(object).expect("the object is reachable")
        };
        // The nodes of the two chains have 24 and 32 bytes.
        assert_eq!(retained("Kept$Chain"), 16 + 500 * (24 + 32));
        assert_eq!(retained("Kept$Shared"), 16 + 100_016);
        // Two objects refer to the shared object, so neither retains it.
        assert_eq!(retained("Kept$Side"), 16);
        let shared = graph
            .objects_of_class("Kept$Shared")
            .next()
            .expect("the object is in the dump");
        let path = found.path(shared);
        let names: Vec<String> = path.iter().map(|object| graph.name(*object)).collect();
        assert_eq!(names[..3], ["Kept$Shared", "Kept$Side", "class Kept"]);
        let links = graph
            .reference_names(
                File::open(&file).expect("the test file can be opened"),
                &path,
            )
            .expect("the dump is readable");
        assert_eq!(links[0], "shared");
        assert!(["LEFT", "RIGHT"].contains(&&*links[1]), "{links:?}");
        assert!(path.last().is_some_and(|root| graph.root(*root).is_some()));
    }
}

/// A real dump is changed at random places, or cut off. The reader still returns, and does not
/// panic.
#[test]
fn broken_dumps_of_a_jvm_do_no_harm() {
    let running = Running::start(&Jdk::find(17).expect("JDK 17 is installed"), &[]);
    let mut whole = Vec::new();
    running
        .dump(&[])
        .read_to_end(&mut whole)
        .expect("the dump is readable");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let (mut faults, mut read) = (0, 0);
    for round in 0..60 {
        let mut dump = whole.clone();
        for _ in 0..1 << (round % 12) {
            let at = next(dump.len());
            dump[at] = next(256) as u8;
        }
        if round % 5 == 0 {
            dump.truncate(next(whole.len()));
        }
        if let Err(error) = histogram(&dump[..]).1 {
            assert!(error.at <= dump.len() as u64, "{error}");
            faults += 1;
        }
        if let Ok((graph, _)) = Graph::read(|| Ok(&dump[..]), 1 << 30) {
            let found = graph.dominators().expect("dominators are computed");
            assert!(found.reachable() <= graph.len());
            found
                .largest(10)
                .iter()
                .for_each(|object| assert!(!found.path(*object).is_empty()));
            read += 1;
        }
    }
    assert!(
        faults > 10 && read > 10,
        "more than 10 refused and 10 accepted dumps expected, {faults} and {read} found"
    );
}
