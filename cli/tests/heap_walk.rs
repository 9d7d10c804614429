//! `loadhook heap PID --via jvmti`: the walk's dump is that of the VM's own
//! dumper, and the program unharmed.

mod common;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::held::{
    Held, begun, classes, dump, is_whole, names, needs_root, outcome, send, spawned, until,
};
use common::{done, folder, loadhook, mode};
use loadhook_heap::{Graph, histogram};
use loadhook_hprof::{ClassDump, ErrorKind, LoadClass, Root, RootKind, Type, Visitor, read};
use loadhook_testkit::jdk::Jdk;
use rustix::process::Signal;

const WALK: &[&str] = &["--via", "jvmti"];

/// By class, instances and bytes.
type Counts = BTreeMap<String, (u64, u64)>;

fn counts(file: &Path) -> Counts {
    let (histogram, outcome) = histogram(File::open(file).expect("written"));
    outcome.expect("the dump is whole");
    let mut counts = Counts::new();
    for class in histogram.classes {
        let count = counts.entry(class.name.to_string()).or_default();
        *count = (count.0 + class.instances, count.1 + class.bytes);
    }
    counts
}

enum Object {
    Instance {
        class: u64,
        fields: Vec<u8>,
    },
    Array {
        class: u64,
        ids: Vec<u64>,
    },
    Values {
        of: Type,
        length: u32,
        bytes: Vec<u8>,
    },
}

/// Bytes of a value in a dump.
fn size(of: Type) -> usize {
    match of {
        Type::Boolean | Type::Byte => 1,
        Type::Char | Type::Short => 2,
        Type::Int | Type::Float => 4,
        Type::Object | Type::Long | Type::Double => 8,
    }
}

/// A dump in memory.
#[derive(Default)]
struct Dump {
    names: HashMap<u64, String>,
    loaded: HashMap<u64, u64>,
    serials: HashMap<u32, u64>,
    classes: HashMap<u64, ClassDump>,
    objects: HashMap<u64, Object>,
    roots: Vec<Root>,
    last: u64,
}

impl Visitor for Dump {
    fn wants_contents(&self) -> bool {
        true
    }
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.names.insert(id, String::from_utf8_lossy(text).into());
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.serials.insert(class.serial, class.class);
        self.loaded.insert(class.class, class.name);
        Ok(())
    }
    fn root(&mut self, root: Root) -> Result<(), ErrorKind> {
        self.roots.push(root);
        Ok(())
    }
    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        self.classes.insert(class.id, class.clone());
        Ok(())
    }
    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        let fields = fields.to_vec();
        let twice = self.objects.insert(id, Object::Instance { class, fields });
        assert!(twice.is_none(), "{id:x}");
        Ok(())
    }
    fn object_array(&mut self, id: u64, class: u64, _: u32) -> Result<(), ErrorKind> {
        let ids = Vec::new();
        let twice = self.objects.insert(id, Object::Array { class, ids });
        assert!(twice.is_none(), "{id:x}");
        self.last = id;
        Ok(())
    }
    fn elements(&mut self, bytes: &[u8]) {
        let Some(Object::Array { ids, .. }) = self.objects.get_mut(&self.last) else {
            panic!("no array");
        };
        ids.extend(
            bytes
                .chunks(8)
                .map(|id| u64::from_be_bytes(id.try_into().expect("8"))),
        );
    }
    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        let bytes = Vec::new();
        let twice = self
            .objects
            .insert(id, Object::Values { of, length, bytes });
        assert!(twice.is_none(), "{id:x}");
        self.last = id;
        Ok(())
    }
    fn values(&mut self, more: &[u8]) {
        let Some(Object::Values { bytes, .. }) = self.objects.get_mut(&self.last) else {
            panic!("no array");
        };
        bytes.extend(more);
    }
}

impl Dump {
    fn of(file: &Path) -> Dump {
        let mut dump = Dump::default();
        read(File::open(file).expect("written"), &mut dump).expect("a whole dump");
        dump
    }

    fn name(&self, class: u64) -> &str {
        &self.names[&self.loaded[&class]]
    }

    fn class(&self, name: &str) -> &ClassDump {
        let mut all = self.classes.values();
        all.find(|class| self.name(class.id) == name)
            .expect("it is loaded")
    }

    /// What is reached from a class's static fields, without identifiers: objects by
    /// their number in the order of being reached.
    fn reached(&self, name: &str) -> String {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut open = VecDeque::new();
        let mut text = String::new();
        let mut number = |id: u64, open: &mut VecDeque<u64>| -> String {
            if id == 0 {
                return "null".to_owned();
            }
            if self.classes.contains_key(&id) {
                return format!("class {}", self.name(id));
            }
            let next = numbers.len();
            let number = *numbers.entry(id).or_insert(next);
            if number == next {
                open.push_back(id);
            }
            format!("#{number}")
        };
        let class = self.class(name);
        let mut statics: Vec<_> = class.statics.iter().collect();
        statics.retain(|field| !self.names[&field.name].starts_with('<'));
        statics.sort_by_key(|field| &self.names[&field.name]);
        for field in statics {
            let value = match field.value_type {
                Type::Object => number(field.value, &mut open),
                _ => format!("{:x}", field.value),
            };
            let name = &self.names[&field.name];
            writeln!(text, "static {name} {:?} {value}", field.value_type).expect("memory");
        }
        while let Some(id) = open.pop_front() {
            match self.objects.get(&id) {
                // As JVM TI, no dump has all of them.
                None => writeln!(text, "nothing"),
                Some(Object::Values { of, length, bytes }) => {
                    writeln!(text, "{of:?} {length} {bytes:x?}")
                }
                Some(Object::Array { class, ids }) => {
                    let ids: Vec<_> = ids.iter().map(|id| number(*id, &mut open)).collect();
                    writeln!(text, "{} {ids:?}", self.name(*class))
                }
                Some(Object::Instance { class, .. }) if self.name(*class) == "java/lang/Class" => {
                    writeln!(text, "a class of a primitive type")
                }
                Some(Object::Instance { class, fields }) => {
                    let mut parts = Vec::new();
                    let (mut above, mut rest) = (*class, &fields[..]);
                    while above != 0 {
                        let class = &self.classes[&above];
                        let mut values: Vec<_> = class
                            .fields
                            .iter()
                            .map(|field| {
                                let (value, after) = rest.split_at(size(field.value_type));
                                rest = after;
                                (&*self.names[&field.name], field.value_type, value)
                            })
                            .collect();
                        // Their order is up to who dumps.
                        values.sort_by_key(|(name, ..)| *name);
                        for (name, of, value) in values {
                            let value = match of {
                                Type::Object => {
                                    let id = u64::from_be_bytes(value.try_into().expect("8"));
                                    number(id, &mut open)
                                }
                                _ => format!("{value:x?}"),
                            };
                            parts.push(format!("{}.{name} {of:?} {value}", self.name(above)));
                        }
                        above = class.super_id;
                    }
                    assert!(rest.is_empty(), "{}", self.name(*class));
                    writeln!(text, "{} {parts:?}", self.name(*class))
                }
            }
            .expect("memory");
        }
        text
    }

    fn instances(&self, name: &str) -> Vec<u64> {
        let is = |object: &Object| matches!(object, Object::Instance { class, .. } if self.name(*class) == name);
        let found = self.objects.iter().filter(|(_, object)| is(object));
        found.map(|(id, _)| *id).collect()
    }
}

/// The frames of each thread, by its serial number: class, method and line.
fn stacks(dump: &Dump, file: &Path) -> HashMap<u32, Vec<(String, String, i32)>> {
    let bytes = fs::read(file).expect("written");
    let u4 = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4"));
    let id = |bytes: &[u8], at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8"));
    let mut frames = HashMap::new();
    let mut stacks = HashMap::new();
    let mut rest = &bytes[31..];
    while let Some(tag) = rest.first() {
        let (body, after) = rest[9..].split_at(u4(rest, 5) as usize);
        if *tag == 0x04 {
            let class = dump.serials[&u4(body, 32)];
            let method = dump.names[&id(body, 8)].clone();
            let line = u4(body, 36).cast_signed();
            frames.insert(id(body, 0), (dump.name(class).to_owned(), method, line));
        } else if *tag == 0x05 {
            let ids = (0..u4(body, 8) as usize).map(|at| id(body, 12 + 8 * at));
            stacks.insert(u4(body, 4), ids.map(|id| frames[&id].clone()).collect());
        }
        rest = after;
    }
    stacks
}

/// Where the only object of a class is a thread's variable: the frame.
fn variable(file: &Path, class: &str) -> (String, String, i32) {
    let dump = Dump::of(file);
    let objects = dump.instances(class);
    assert_eq!(objects.len(), 1, "{class}");
    let is = |root: &&Root| root.id == objects[0] && root.kind == RootKind::JavaFrame;
    let root = dump.roots.iter().find(is).expect("it is a variable");
    let stacks = stacks(&dump, file);
    let thread = dump
        .roots
        .iter()
        .find(|other| other.kind == RootKind::ThreadObject && other.thread == root.thread);
    let thread = thread.expect("the thread is a root");
    assert!(dump.objects.contains_key(&thread.id));
    stacks[&root.thread][root.frame as usize].clone()
}

/// What the walk cannot see, by class: what only classes' own objects keep, or
/// the VM's hidden threads; and classes that are in the archive of the JDK only.
fn may_differ(class: &str) -> bool {
    class.starts_with("java.lang.Class")
        || class.starts_with("java.lang.Thread")
        || class.starts_with("java.lang.reflect.")
        || class.starts_with("jdk.internal.")
        || [
            "byte[]",
            "int[]",
            "java.lang.Object[]",
            "java.lang.Object",
            "java.lang.String",
            "java.lang.String[]",
            "java.lang.ref.SoftReference",
            "java.security.AccessControlContext",
            // Not initialised yet, but in the archive.
            "java.util.jar.Attributes$Name",
            "sun.util.locale.BaseLocale",
        ]
        .contains(&class)
}

const CHAIN: &str = "heap.Walked$Chain";

fn agrees(feature: u32, options: &[&str]) {
    let folder = folder();
    let jvm = Held::program(feature, options, &["heap.Walked"]);
    let [vm, walk] = ["vm", "walk"].map(|name| folder.path().join(name));
    let result = done(&mut dump(folder.path(), &jvm.pid(), "vm", &[]));
    result.expect(0, "", &["heap dump: vm ("]);
    let result = done(&mut dump(folder.path(), &jvm.pid(), "walk", WALK));
    let said = [" objects; tagging them takes about ", "heap dump: walk ("];
    result.expect(0, "", &said);
    assert_eq!(
        (mode(&walk), names(folder.path())),
        (0o600, vec!["vm".to_owned(), "walk".to_owned()])
    );

    let (theirs, ours) = (counts(&vm), counts(&walk));
    let mut own = 0;
    for class in theirs.keys().chain(ours.keys()) {
        own += u32::from(class.starts_with("heap."));
        assert!(
            theirs.get(class) == ours.get(class) || may_differ(class),
            "{feature} {options:?}: {class}: {:?} by the dumper, {:?} by the walk",
            theirs.get(class),
            ours.get(class)
        );
    }
    assert!(own >= 10, "{own}");
    // Of the program's many these are few.
    for class in ["byte[]", "java.lang.String"] {
        let [theirs, ours] = [theirs[class].0, ours[class].0];
        assert!(theirs.abs_diff(ours) < 100, "{class}: {theirs} and {ours}");
    }

    // Every field, element and static field that the program's own statics lead to.
    for class in [
        "Walked",
        "Walked$Derived",
        "Walked$Base",
        "Walked$Above",
        "Walked$DominatedClass",
        "Walked$Colour",
    ] {
        let class = format!("heap/{class}");
        let [theirs, ours] = [&vm, &walk].map(|file| Dump::of(file).reached(&class));
        let differs = theirs.lines().zip(ours.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{feature} {options:?}: {class}");
        assert_eq!(theirs.lines().count(), ours.lines().count(), "{class}");
    }

    let retained = |file: &Path, class: &str| {
        let (graph, _) = Graph::read(|| File::open(file), u64::MAX).expect("a dump");
        let found = graph.dominators().expect("dominators");
        let retained = graph
            .objects_of_class(class)
            .map(|object| found.retained(object));
        let largest = graph
            .objects_of_class(class)
            .max_by_key(|object| found.retained(*object));
        let path = found.path(largest.expect("it is there"));
        let links = graph
            .reference_names(File::open(file).expect("ours"), &path)
            .expect("a dump");
        let mut retained: Vec<_> = retained.collect();
        retained.sort();
        (retained, links)
    };
    let (ours, theirs) = (retained(&walk, CHAIN), retained(&vm, CHAIN));
    let mut both = ours.0.iter().zip(&theirs.0);
    assert_eq!(both.find(|(ours, theirs)| ours != theirs), None);
    assert_eq!((ours.0.len(), theirs.0.len()), (300, 300));
    // From there on by different ways, JVM TI showing more.
    assert_eq!((&*ours.1[0], &*theirs.1[0]), ("chain", "chain"));

    let ours = variable(&walk, "heap/Walked$Local");
    assert_eq!(ours, variable(&vm, "heap/Walked$Local"));
    assert_eq!((&*ours.0, &*ours.1), ("heap/Walked", "waiting"));
    assert!(ours.2 > 0, "{ours:?}");
    jvm.ends_well();
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_11() {
    agrees(11, &["-XX:+UseSerialGC"]);
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_17() {
    agrees(17, &["-XX:+UseParallelGC"]);
    agrees(17, &["-XX:-UseCompressedOops", "-XX:+UseG1GC"]);
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_21() {
    agrees(21, &["-XX:+UseG1GC"]);
}

#[test]
fn the_walk_agrees_with_the_dumper_of_jdk_25() {
    agrees(25, &["-XX:+UseZGC"]);
    agrees(25, &["-XX:+UseCompactObjectHeaders", "-XX:+UseSerialGC"]);
}

/// Variables of virtual threads come while other objects are shown.
#[test]
fn variables_of_virtual_threads_are_roots() {
    for feature in [21, 25] {
        let folder = folder();
        let jvm = Held::program(feature, &[], &["heap.Parked"]);
        done(&mut dump(folder.path(), &jvm.pid(), "h", WALK)).expect(0, "", &[]);
        let dump = Dump::of(&folder.path().join("h"));
        let objects = dump.instances("heap/Parked$Mine");
        assert_eq!(objects.len(), 100, "{feature}");
        for object in objects {
            let is = |root: &Root| root.id == object && root.kind == RootKind::JavaFrame;
            assert!(dump.roots.iter().any(is), "{feature}");
        }
        jvm.ends_well();
    }
}

#[test]
fn a_walk_that_would_take_too_much_is_refused() {
    let folder = folder();
    let jvm = Held::start(17, &[], 10_000);
    // The folders that it made go, too.
    let options = ["--via", "jvmti", "--max-memory", "800000"];
    let result = done(&mut dump(
        folder.path(),
        &jvm.pid(),
        "new/folder/h",
        &options,
    ));
    let said = [
        "error: new/folder/h: tagging ",
        " objects would take about ",
        " of the process's memory, and the limit is 781 KB; raise --max-memory\n",
    ];
    result.expect(1, "", &said);
    // The objects that are kept, their array and those of the JDK.
    let objects = result.err.split(' ').nth(3).expect("a number");
    let objects: u64 = objects.replace(',', "").parse().expect("a number");
    assert!((10_000..100_000).contains(&objects), "{}", result.err);
    assert_eq!(names(folder.path()), [""; 0]);
    let options = ["--via", "jvmti", "--max-memory", "1g"];
    done(&mut dump(folder.path(), &jvm.pid(), "h", &options)).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
    jvm.ends_well();
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = folder();
    for (options, said) in [
        (
            &["--via", "jvmti", "--all"][..],
            "error: --all does not work with --via jvmti, ",
        ),
        (
            &["--max-memory", "1g"],
            "error: --max-memory needs --via jvmti\n",
        ),
    ] {
        done(&mut dump(folder.path(), "1", "h", options)).expect(1, "", &[said]);
    }
    let odd = &["--via", "jvmti", "--max-memory", "1x"];
    done(&mut dump(folder.path(), "1", "h", odd)).expect(2, "", &["a number of bytes"]);
}

#[test]
fn a_full_disk_ends_the_walk() {
    for feature in [11, 25] {
        let folder = folder();
        let file = folder.path().join("h");
        fs::write(&file, "what was there").expect("ours");
        let java = Jdk::find(feature).expect("a JDK").java();
        let mut command = Command::new("sh");
        // In units of 512 bytes; some shells take kilobytes.
        command.args(["-c", "ulimit -f 2000; exec \"$@\"", "sh"]);
        command.arg(java.get_program()).arg("-cp").arg(classes());
        let jvm = Held::wait(command.args(["heap.Held", "100000"]));
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        result.expect(1, "", &["error: h: no dump: File too large"]);
        assert_eq!(names(folder.path()), ["h"]);
        let there = fs::read_to_string(&file);
        assert_eq!(there.expect("readable"), "what was there");
        jvm.ends_well();
    }
}

/// The answer cannot be written either, and the program hears nothing of it.
#[test]
fn a_disk_that_is_full_from_the_start_is_told() {
    for feature in [11, 25] {
        let folder = folder();
        let java = Jdk::find(feature).expect("a JDK").java();
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]);
        command.arg(java.get_program()).arg("-XX:-UsePerfData");
        command.arg("-cp").arg(classes()).stderr(Stdio::piped());
        let mut jvm = Held::wait(command.args(["heap.Held", "10"]));
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        let said = "error: h: no dump: the agent left no answer; is the disk full?\n";
        result.expect(1, "", &[said]);
        assert_eq!(names(folder.path()), [""; 0]);
        let stderr = jvm.0.stderr.take().expect("piped");
        jvm.ends_well();
        let mut told = String::new();
        let mut stderr = BufReader::new(stderr);
        stderr.read_to_string(&mut told).expect("UTF-8");
        assert!(!told.contains("loadhook: "), "{told}");
    }
}

#[test]
fn a_jvm_that_ends_leaves_no_dump() {
    let folder = folder();
    let file = folder.path().join("h");
    loop {
        fs::write(&file, "what was there").expect("ours");
        let mut jvm = Held::start(17, &[], 400_000);
        let loadhook = spawned(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        begun(folder.path(), &loadhook);
        jvm.send(Signal::KILL);
        jvm.0.wait().expect("it ends");
        let result = outcome(loadhook);
        assert_eq!(names(folder.path()), ["h"]);
        if result.code == Some(0) {
            // It was done before.
            continue;
        }
        let said = format!(
            "error: h: process {} ended before the dump was done\n",
            jvm.pid()
        );
        result.expect(1, "", &[&said]);
        let there = fs::read_to_string(&file);
        assert_eq!(there.expect("readable"), "what was there");
        break;
    }
}

#[test]
fn who_gives_up_ends_the_walk() {
    let jvm = Held::start(25, &[], 400_000);
    let folder = folder();
    let mut inner = dump(folder.path(), &jvm.pid(), "h", WALK);
    let result = loop {
        let mut command = common::in_environment(Path::new("env"), folder.path());
        command.arg("--default-signal=TERM");
        command.arg(inner.get_program()).args(inner.get_args());
        let loadhook = spawned(&mut command);
        begun(folder.path(), &loadhook);
        jvm.send(Signal::STOP);
        send(&loadhook, Signal::TERM);
        let result = outcome(loadhook);
        jvm.send(Signal::CONT);
        if result.code != Some(0) {
            break result;
        }
        // It was done before.
        fs::remove_file(folder.path().join("h")).expect("written");
    };
    result.expect(143, "", &["loadhook: interrupted; "]);
    assert_eq!(names(folder.path()), [""; 0]);
    // Behind this one it has done with the other.
    done(&mut inner).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
    jvm.ends_well();
}

/// The walk went on for ever, and whoever asked next waited for it.
#[test]
fn a_program_that_makes_classes_all_the_time_is_given_up() {
    let folder = folder();
    for feature in [17, 25] {
        let jvm = Held::program(feature, &["-Xmx256m"], &["heap.Defining"]);
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        if result.code != Some(0) {
            let said = "error: h: no dump: classes are loaded faster than they can be looked at";
            result.expect(1, "", &[said]);
        }
        done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &["heap dump: h"]);
        assert_eq!(names(folder.path()), ["h"]);
        jvm.ends_well();
    }
}

/// How many kilobytes the walk takes of a program with so many threads.
fn walked_threads(threads: u64) -> u64 {
    let options = ["-Xmx64m", "-Xss256k", "-XX:+UseSerialGC"];
    let jvm = Held::program(11, &options, &["heap.Crowd", &threads.to_string()]);
    let folder = folder();
    // Has the VM collect as the walk does.
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    let most = || {
        let status = fs::read_to_string(format!("/proc/{}/status", jvm.pid()));
        let status = status.expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        let kilobytes = kilobytes.and_then(|kilobytes| kilobytes.parse::<u64>().ok());
        kilobytes.expect("a number")
    };
    let before = most();
    done(&mut dump(folder.path(), &jvm.pid(), "h", WALK)).expect(0, "", &[]);
    let more = most() - before;
    let dump = Dump::of(&folder.path().join("h"));
    let is = |root: &&Root| root.kind == RootKind::ThreadObject;
    assert!(dump.roots.iter().filter(is).count() as u64 >= threads);
    jvm.ends_well();
    more
}

/// The VM takes 32 KB for a stack, however short. The walk of later
/// JDKs takes as much for each thread itself.
#[test]
fn stacks_of_many_threads_take_little_memory() {
    const THREADS: u64 = 2_000;
    let [few, many] = [10, THREADS].map(walked_threads);
    // A quarter of what all at once would take.
    assert!(many < few + THREADS * 32 / 4, "{few}, {many} KB");
}

/// The agent finds no folder any more, and nothing is said where the program
/// says what it has to.
#[test]
fn who_gives_up_before_the_walk_disturbs_nobody() {
    let java = Jdk::find(17).expect("JDK 17").java();
    let mut command = Command::new(java.get_program());
    command.arg("-cp").arg(classes()).stderr(Stdio::piped());
    let mut jvm = Held::wait(command.args(["heap.Held", "10"]));
    let folder = folder();
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    // The VM waits for this one's order.
    let socket = format!("/tmp/.java_pid{}", jvm.pid());
    let other = UnixStream::connect(socket).expect("it listens");
    let loadhook = spawned(&mut dump(folder.path(), &jvm.pid(), "given-up", WALK));
    let files = PathBuf::from(format!("/proc/{}/fd", loadhook.id()));
    let is_socket = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).unwrap_or_default();
        link.to_string_lossy().starts_with("socket:")
    };
    until(&loadhook, || {
        let files = fs::read_dir(&files).into_iter().flatten();
        files.flatten().any(is_socket)
    });
    send(&loadhook, Signal::TERM);
    outcome(loadhook).expect(143, "", &["loadhook: interrupted; "]);
    drop(other);
    // Behind it.
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
    let stderr = jvm.0.stderr.take().expect("piped");
    jvm.ends_well();
    let mut said = String::new();
    BufReader::new(stderr)
        .read_to_string(&mut said)
        .expect("UTF-8");
    assert_eq!(said, "");
}

#[test]
fn walks_at_once_come_one_after_the_other() {
    let folder = folder();
    let jvm = Held::start(21, &[], 100_000);
    let all = [("a", WALK), ("b", &[]), ("c", WALK)];
    let all =
        all.map(|(name, options)| spawned(&mut dump(folder.path(), &jvm.pid(), name, options)));
    for child in all {
        outcome(child).expect(0, "", &["heap dump: "]);
    }
    let names = names(folder.path());
    assert_eq!(names, ["a", "b", "c"]);
    let kept = |name: &str| {
        let file = folder.path().join(name);
        assert!(is_whole(&fs::read(&file).expect("written")), "{name}");
        counts(&file)["long[]"]
    };
    assert_eq!(kept("a"), kept("b"));
    assert_eq!(kept("a"), kept("c"));
    jvm.ends_well();
}

#[test]
fn a_jvm_that_takes_no_agents_says_so() {
    let folder = folder();
    for feature in [17, 25] {
        let jvm = Held::start(feature, &["-XX:-EnableDynamicAgentLoading"], 10);
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        let said = [
            "error: h: the JVM does not load the agent: ",
            "Dynamic agent loading is not enabled",
        ];
        result.expect(1, "", &said);
        assert!(!result.err.contains('\\'), "{}", result.err);
        assert_eq!(names(folder.path()), [""; 0]);
        jvm.ends_well();
    }
}

/// The agent that is there keeps its own tags, by which it knows what is alive.
#[test]
fn the_agent_that_is_there_goes_on() {
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17").java();
    let mut run = loadhook(
        folder.path(),
        &[
            "run",
            "--alloc=live=1k",
            "--timing=none",
            "-o",
            "p.pb.gz",
            "--",
        ],
    );
    run.arg(java.get_program()).arg("-cp").arg(classes());
    run.args(["heap.Held", "20000"]).stderr(Stdio::piped());
    let mut jvm = Held::wait(&mut run);
    let pid = jvm.pid();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let child = fs::read_to_string(children).expect("a child");
    done(&mut dump(folder.path(), child.trim(), "h", WALK)).expect(0, "", &["heap dump: h"]);
    let walked = counts(&folder.path().join("h"))["long[]"];
    assert!(walked.0 >= 20_000, "{walked:?}");
    drop(jvm.0.stdin.take());
    assert_eq!(jvm.0.wait().expect("it ends").code(), Some(0));
    let mut said = String::new();
    let stderr = jvm.0.stderr.take().expect("piped");
    BufReader::new(stderr)
        .read_to_string(&mut said)
        .expect("UTF-8");
    assert!(!said.contains("loadhook: "), "{said}");
    let profile = common::read(&jvm.1.path().join("p.pb.gz"));
    let allocations = profile.allocations.expect("they were sampled");
    let sites = allocations
        .sites
        .iter()
        .filter(|site| &*site.type_name == "long[]");
    let live: f64 = sites.map(|site| site.live.objects).sum();
    // One sample in 1 KiB of 20,000 arrays of 48 bytes.
    assert!((15_000.0..25_000.0).contains(&live), "{live}");
}

/// Root may dump another user's JVM, by the dumper and by the walk, whose
/// library that user cannot read.
#[test]
fn the_jvm_of_another_user_writes_into_its_own_folder() {
    needs_root();
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17").java();
    let mut command = Command::new(java.get_program());
    command.uid(65_534).gid(65_534).arg("-cp").arg(classes());
    let jvm = Held::wait(command.args(["heap.Held", "1000"]));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    for (name, options) in [("vm", &[][..]), ("walk", WALK)] {
        done(&mut dump(folder.path(), &jvm.pid(), name, options)).expect(0, "", &["heap dump: "]);
        let metadata = fs::metadata(folder.path().join(name)).expect("written");
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o600));
    }
    assert_eq!(names(folder.path()), ["vm", "walk"]);
    jvm.ends_well();
}
