//! Compares sizes with the JVM's own histogram. A dump does not show the full size of some objects:
//! of the stacks of virtual threads, and of classes with hidden fields.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use loadhook_heap::{Graph, Local, ProfilerObjects, Threads, histogram};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

fn agrees_with_the_vm(feature: u32, options: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Parked.java");
    let mut javac = Jdk::find(25)
        .expect("JDK 25 is installed")
        .javac()
        .expect("javac is installed");
    javac.args(["--release", "21", "-d"]).arg(folder.path());
    process::output(javac.arg(source)).expect("the program compiles");
    let file = folder.path().join("heap.hprof");
    let mut java = Jdk::find(feature).expect("the JDK is installed").java();
    // The program reads the stack of a thread by reflection, so these packages must be opened.
    for package in ["java.lang", "jdk.internal.vm"] {
        let package = format!("java.base/{package}=ALL-UNNAMED");
        java.args(["--add-opens", &package]);
    }
    java.args(options)
        .arg("-Xmx64m")
        .arg("-cp")
        .arg(folder.path());
    java.arg("Parked").arg(&file).stdin(Stdio::null());
    let said = process::output(&mut java).expect("the program ends");

    let (histogram, outcome) = histogram(File::open(&file).expect("the dump is readable"));
    outcome.expect("the dump is complete");
    let (graph, _) = Graph::read(|| File::open(&file), u64::MAX).expect("the dump is readable");
    for class in [
        "jdk.internal.vm.StackChunk",
        "java.lang.VirtualThread",
        "java.lang.Thread",
        "java.lang.invoke.ResolvedMethodName",
    ] {
        let theirs = said.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_it = words.get(3) == Some(&class);
            is_it.then(|| {
                [words[1], words[2]].map(|word| word.parse::<u64>().expect("the text is a number"))
            })
        });
        let theirs = theirs.unwrap_or_else(|| panic!("{class}: {said}"));
        let ours = histogram.classes.iter().find(|row| &*row.name == class);
        let ours = ours.expect("the dump has this class");
        // The number of these objects may change between histogram and dump. So only the size of
        // one object is compared.
        let theirs = match class {
            "java.lang.Thread" | "java.lang.invoke.ResolvedMethodName" => {
                [ours.instances, theirs[1] / theirs[0] * ours.instances]
            }
            _ => theirs,
        };
        let counted = [ours.instances, ours.bytes];
        assert_eq!(counted, theirs, "{feature} {options:?}: {class}");
        let sizes = graph
            .objects_of_class(class)
            .map(|object| graph.size(object));
        assert_eq!(
            sizes.sum::<u64>(),
            ours.bytes,
            "{feature} {options:?}: {class}"
        );
    }

    // In the list of variables, the size of a stack includes the frames that follow its fields.
    let read = Threads::read(|| File::open(&file), ProfilerObjects::Shown);
    let (threads, _) = read.expect("the dump is readable");
    let variables = threads.threads.iter().flat_map(|thread| {
        let of_frames = thread.frames.iter().flat_map(|frame| &frame.locals);
        of_frames.chain(&thread.locals)
    });
    let stacks: Vec<&Local> = variables
        .filter(|local| &*local.class == "jdk.internal.vm.StackChunk")
        .collect();
    // One variable refers to the stack of the last thread, which is the deepest stack.
    assert!(!stacks.is_empty(), "{feature} {options:?}");
    for local in stacks {
        assert!(local.bytes > 5_000, "{feature} {options:?}: {local:?}");
        let object = graph.object(local.id).expect("the object is in the dump");
        assert_eq!(local.bytes, graph.size(object), "{feature} {options:?}");
    }
}

#[test]
fn bytes_of_stacks_agree_with_jdk_21() {
    agrees_with_the_vm(21, &[]);
    agrees_with_the_vm(21, &["-XX:-UseCompressedOops"]);
}

#[test]
fn bytes_of_stacks_agree_with_jdk_25() {
    agrees_with_the_vm(25, &[]);
    agrees_with_the_vm(25, &["-XX:+UseZGC"]);
    agrees_with_the_vm(25, &["-XX:+UseCompactObjectHeaders"]);
}
