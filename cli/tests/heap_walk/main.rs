//! Tests of `loadhook heap PID --via jvmti`: the dump must equal the JVM's own, and the program
//! must not be affected.

mod agreement;
#[path = "../common/mod.rs"]
mod common;
mod dump_in_memory;
mod interrupted;

use std::fs;
use std::io::{BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use loadhook_hprof::{Root, RootKind};
use loadhook_testkit::jdk::Jdk;

use crate::agreement::counts;
use crate::common::held::{Held, classes, dump, is_whole, names, needs_root, outcome, spawned};
use crate::common::{done, folder, loadhook};
use crate::dump_in_memory::Dump;

const WALK: &[&str] = &["--via", "jvmti"];

/// JVM TI reports variables of virtual threads in the midst of other objects.
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
    // When the command fails, it also removes the folders that it has created.
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
    // The number of objects includes the program's objects, their array, and objects of the JDK.
    let objects = result.err.split(' ').nth(3).expect("the text is a number");
    let objects: u64 = objects
        .replace(',', "")
        .parse()
        .expect("the text is a number");
    assert!((10_000..100_000).contains(&objects), "{}", result.err);
    assert_eq!(names(folder.path()), [""; 0]);
    let options = ["--via", "jvmti", "--max-memory", "1g"];
    done(&mut dump(folder.path(), &jvm.pid(), "h", &options)).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
    jvm.ends_well();
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let folder = folder();
    for (options, said) in [
        (
            &["--via", "jvmti", "--all"][..],
            "error: --all does not work with --via jvmti, ",
        ),
        (
            &["--max-memory", "1g"],
            "error: --max-memory limits only the walk of --via jvmti; add --via jvmti, or leave out --max-memory\n",
        ),
    ] {
        done(&mut dump(folder.path(), "1", "h", options)).expect(1, "", &[said]);
    }
    let odd = &["--via", "jvmti", "--max-memory", "1x"];
    done(&mut dump(folder.path(), "1", "h", odd)).expect(2, "", &["a number of bytes"]);
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
        assert!(
            is_whole(&fs::read(&file).expect("the test file can be read")),
            "{name}"
        );
        counts(&file)["long[]"]
    };
    assert_eq!(kept("a"), kept("b"));
    assert_eq!(kept("a"), kept("c"));
    jvm.ends_well();
}

#[test]
fn a_jvm_that_refuses_agents_causes_an_error() {
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

/// An agent that already runs in the JVM has tagged the objects that it follows. The walk must not
/// change those tags.
#[test]
fn an_agent_that_is_already_loaded_continues_to_work() {
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
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
    let child = fs::read_to_string(children).expect("the list of child processes can be read");
    // The path is given in full; the message shows it relative to the current folder.
    let file = folder
        .path()
        .canonicalize()
        .expect("the path exists")
        .join("h");
    let file = file.to_str().expect("the text is UTF-8");
    done(&mut dump(folder.path(), child.trim(), file, WALK)).expect(0, "", &["heap dump: h ("]);
    let walked = counts(&folder.path().join("h"))["long[]"];
    assert!(walked.0 >= 20_000, "{walked:?}");
    drop(jvm.0.stdin.take());
    assert_eq!(jvm.0.wait().expect("the process ends").code(), Some(0));
    let mut said = String::new();
    let stderr = jvm.0.stderr.take().expect("the stream is a pipe");
    BufReader::new(stderr)
        .read_to_string(&mut said)
        .expect("the text is UTF-8");
    assert!(!said.contains("loadhook: "), "{said}");
    let profile = common::read(&jvm.1.path().join("p.pb.gz"));
    let allocations = profile.allocations.expect("the profile has allocations");
    let sites = allocations
        .sites
        .iter()
        .filter(|site| &*site.type_name == "long[]");
    let live: f64 = sites.map(|site| site.live.objects).sum();
    // The program allocated 20,000 arrays of 48 bytes, and one sample is taken for each KiB.
    assert!((15_000.0..25_000.0).contains(&live), "{live}");
}

/// Root may dump another user's JVM, both by the JVM's own dump and by the walk. The user of the
/// JVM may be unable to read the agent's library.
#[test]
fn the_jvm_of_another_user_writes_into_its_own_folder() {
    needs_root();
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let mut command = Command::new(java.get_program());
    command.uid(65_534).gid(65_534).arg("-cp").arg(classes());
    let jvm = Held::wait(command.args(["heap.Held", "1000"]));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))
        .expect("the permissions can be set");
    for (name, options) in [("vm", &[][..]), ("walk", WALK)] {
        done(&mut dump(folder.path(), &jvm.pid(), name, options)).expect(0, "", &["heap dump: "]);
        let metadata = fs::metadata(folder.path().join(name)).expect("the metadata can be read");
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o600));
    }
    assert_eq!(names(folder.path()), ["vm", "walk"]);
    jvm.ends_well();
}
