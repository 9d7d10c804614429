//! Tests of the strings, arrays and threads in dumps of a real program, on JDK 11, 17, 21 and 25.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use loadhook_heap::{Duplicates, Frame, ProfilerObjects, Threads, Waste};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use tempfile::TempDir;

const SOURCE: &str = include_str!("java/Waiting.java");

/// Compiles a program with JDK 25 for `release`, and returns the folder of its classes.
fn classes(program: &str, release: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    let mut javac = Jdk::find(25)
        .expect("JDK 25 is installed")
        .javac()
        .expect("javac is installed");
    javac.args(["-encoding", "UTF-8", "--release", release, "-d"]);
    javac
        .arg(&folder)
        .arg(sources.join(program).with_extension("java"));
    process::output(&mut javac).expect("the program compiles");
    folder
}

/// Runs the program, which dumps its own heap, because runtimes have no `jcmd`.
fn dump_of(program: &str, classes: &Path, feature: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let file = folder.path().join("heap.hprof");
    let mut java = Jdk::find(feature).expect("the JDK is installed").java();
    java.args(["-Xmx64m", "-cp"]).arg(classes);
    java.arg(program).arg(&file).stdin(Stdio::null());
    process::output(&mut java).expect("the program ends");
    (folder, file)
}

fn dump(feature: u32) -> (TempDir, PathBuf) {
    // The program is compiled once.
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    let classes = CLASSES.get_or_init(|| classes("Waiting", "11"));
    dump_of("Waiting", classes, feature)
}

/// Returns the number of the line in the program's source that contains this text.
fn line(text: &str) -> Option<u32> {
    let at = SOURCE.lines().position(|line| line.contains(text));
    at.map(|at| at as u32 + 1)
}

fn has_its_duplicates(feature: u32) {
    let (_folder, file) = dump(feature);
    let (found, cut_off) = Duplicates::read(
        || File::open(&file),
        usize::MAX,
        u64::MAX,
        ProfilerObjects::Shown,
    )
    .expect("the dump is readable");
    assert!(cut_off.is_none(), "{cut_off:?}");
    let row = |text: &str| {
        let mut rows = found.worst.iter().filter(|row| row.preview.text == text);
        let row = rows.next().unwrap_or_else(|| panic!("{feature}: {text}"));
        (row.count, row.bytes, row.wasted)
    };
    // A hundred strings and the literal are equal. Each has its own array: a header of 16 bytes and
    // 20 characters.
    assert_eq!(
        row("said a hundred times"),
        (101, 64, 100 * 64),
        "{feature}"
    );
    // The literal has its own array: a header of 16 bytes and 18 bytes of characters. The eleven
    // copies share another array.
    assert_eq!(row("注文 shared"), (12, 64, 11 * 24 + 40), "{feature}");
    let ints = found.worst.iter().find(|row| row.preview.length == 777);
    let ints = ints.expect("the arrays of 777 are duplicates");
    assert_eq!((&*ints.class, ints.is_string), ("int[]", false));
    assert_eq!((ints.count, ints.wasted), (50, 49 * 3128), "{feature}");
    for (waste, is_string) in [(found.strings, true), (found.arrays, false)] {
        let rows = found.worst.iter().filter(|row| row.is_string == is_string);
        let sum = rows.fold(Waste::default(), |sum, row| Waste {
            values: sum.values + 1,
            objects: sum.objects + row.count,
            bytes: sum.bytes + row.wasted,
        });
        assert_eq!(waste, sum, "{feature}");
    }
}

fn has_its_threads(feature: u32) {
    let (_folder, file) = dump(feature);
    let (found, cut_off) =
        Threads::read(|| File::open(&file), ProfilerObjects::Shown).expect("the dump is readable");
    assert!(cut_off.is_none(), "{cut_off:?}");
    let thread = |name: &str| {
        let mut threads = found.threads.iter().filter(|thread| thread.name == name);
        threads
            .next()
            .unwrap_or_else(|| panic!("{feature}: {name}"))
    };
    for (name, depth) in [("holder one", 0), ("holder two", 3)] {
        let thread = thread(name);
        assert_eq!(&*thread.class, "java.lang.Thread");
        assert!(thread.frames[0].is_native, "{:?}", thread.frames[0]);
        assert_eq!(&*thread.frames[0].method, "park");
        let is_hold = |frame: &&Frame| (&*frame.class, &*frame.method) == ("Waiting", "hold");
        let frames: Vec<&Frame> = thread.frames.iter().filter(is_hold).collect();
        let lines: Vec<_> = frames.iter().map(|frame| frame.line).collect();
        let mut expected = vec![line("LockSupport.park()")];
        expected.extend(vec![line("hold(text, numbers, depth - 1)"); depth]);
        assert_eq!(lines, expected, "{feature}");
        for frame in frames {
            assert_eq!(frame.file.as_deref(), Some("Waiting.java"));
            let mut locals: Vec<_> = frame
                .locals
                .iter()
                .map(|local| {
                    let text = local.preview.as_ref().map(|contents| &*contents.text);
                    (&*local.class, local.bytes, text)
                })
                .collect();
            locals.sort_unstable();
            let text = format!("text of {name}");
            let expected = [
                ("int[]", 16 + 4 * 1234, None),
                ("java.lang.String", 24, Some(&*text)),
                ("java.lang.StringBuilder", 24, None),
            ];
            assert_eq!(locals, expected, "{feature}");
        }
    }
    let main = thread("main")
        .frames
        .last()
        .expect("the thread has a stack");
    assert_eq!((&*main.class, &*main.method), ("Waiting", "main"));
    assert_eq!(main.line, line(".dumpHeap("));
    assert!(found.threads.is_sorted_by(|a, b| a.name <= b.name));
}

#[test]
fn jdk_11() {
    has_its_duplicates(11);
    has_its_threads(11);
}

#[test]
fn jdk_17() {
    has_its_duplicates(17);
    has_its_threads(17);
}

#[test]
fn jdk_21() {
    has_its_duplicates(21);
    has_its_threads(21);
}

#[test]
fn jdk_25() {
    has_its_duplicates(25);
    has_its_threads(25);
}

/// JDK 25 dumps virtual threads with their stacks, even if they are parked.
#[test]
fn virtual_threads_have_stacks() {
    let (_folder, file) = dump_of("Virtual", &classes("Virtual", "21"), 25);
    let (found, _) =
        Threads::read(|| File::open(&file), ProfilerObjects::Shown).expect("the dump is readable");
    let mut threads = found.threads.iter();
    let thread = threads.find(|thread| thread.name == "virtual one");
    let thread = thread.expect("the dump has the thread or frame");
    assert_eq!(&*thread.class, "java.lang.VirtualThread");
    let mut frames = thread.frames.iter();
    let hold = frames.find(|frame| &*frame.method == "hold");
    let [local] = &hold.expect("the dump has the thread or frame").locals[..] else {
        panic!("{hold:?}");
    };
    let text = local.preview.as_ref().map(|contents| &*contents.text);
    assert_eq!(text, Some("text of one"));
}
