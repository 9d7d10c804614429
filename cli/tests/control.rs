//! Tests of `loadhook ctl` with real JVMs.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use common::held::{Held, in_container, names, needs_root};
use common::watched::{INCLUDE, Watching, classes, looping, works};
use common::{Done, calls, done, folder, loadhook, mode, read};
use loadhook_settings::control::{Reply, Status};
use loadhook_testkit::jdk::Jdk;
use rustix::process::geteuid;
use serde_json::Value;

const STEP: &str = "watched.Looping";

/// Runs `loadhook ctl PID ORDER…`.
fn ctl(folder: &Path, pid: &str, order: &[&str]) -> Done {
    let mut command = loadhook(folder, &["ctl", pid]);
    done(command.args(order))
}

fn status(folder: &Path, pid: &str) -> Value {
    let shown = ctl(folder, pid, &["status", "--json"]);
    assert_eq!((shown.code, &*shown.err), (Some(0), ""));
    serde_json::from_str(&shown.out).expect("the output is JSON")
}

/// Changes what is watched, takes a snapshot, and makes the agent leave.
fn all_orders(folder: &Path, pid: &str) {
    let shown = ctl(folder, pid, &["status"]);
    let process = format!("process  {pid}\nagent    ");
    for part in [
        &*process,
        "\ninclude  none\nexclude  none\nclasses  0\nprofile  /",
    ] {
        assert!(shown.out.contains(part), "{}", shown.out);
    }
    let changed = format!(
        "loadhook: process {pid}: 1 class changed in 1 batch; the program stopped for at most "
    );
    let included = ctl(folder, pid, &["include", "watched.**"]);
    let now = "loadhook: include watched.**, exclude none\n";
    included.expect(0, "", &[&changed, now]);
    let method = "watched.Looping::step";
    let excluded = ctl(folder, pid, &["exclude", method]);
    let now = format!("loadhook: include watched.**, exclude {method}\n");
    excluded.expect(0, "", &[&changed, &now]);
    let again = ctl(folder, pid, &["include", &format!("{method},not.There")]);
    let now = format!("loadhook: include watched.**, {method}, not.There, exclude none\n");
    again.expect(0, "", &[&now]);
    ctl(folder, pid, &["exclude", "other.**"]).expect(0, "", &["exclude other.**\n"]);
    let covered = ctl(folder, pid, &["include", "other.Class"]);
    let note = "loadhook: note: other.Class stays excluded, because other.** is excluded; ";
    covered.expect(0, "", &[note]);
    ctl(folder, pid, &["exclude", "other.Class"]).expect(
        0,
        "",
        &["exclude other.**, other.Class\n"],
    );
    let widened = ctl(folder, pid, &["include", "other.**,other.Class"]);
    let now = format!(
        "loadhook: include watched.**, {method}, not.There, other.**, other.Class, exclude none\n"
    );
    widened.expect(0, "", &[&now]);
    let status = status(folder, pid);
    assert_eq!(status["classes"], 1);
    assert_eq!(status["include"][2], "not.There");
    let paused = ctl(folder, pid, &["pause"]);
    paused.expect(0, "", &[&changed, &now]);
    let shown = ctl(folder, pid, &["status"]);
    assert!(shown.out.contains(", paused now\n"), "{}", shown.out);
    ctl(folder, pid, &["pause"]).expect(1, "", &["error: the agent is paused already; "]);
    ctl(folder, pid, &["resume"]).expect(0, "", &[&changed, &now]);
    ctl(folder, pid, &["resume"]).expect(1, "", &["error: the agent is not paused; "]);
    let snapshot = ctl(folder, pid, &["snapshot", "so/far.pb.gz"]);
    let said = format!("loadhook: profile of process {pid} so far: so/far.pb.gz (as a table: ");
    snapshot.expect(0, "", &[&said]);
    let file = folder.join("so/far.pb.gz");
    assert!(calls(&read(&file), STEP, "step") > 0);
    assert_eq!(mode(&file), 0o600);
    let left = format!("loadhook: the agent has left process {pid}\n");
    ctl(folder, pid, &["detach"]).expect(0, "", &[&left]);
    let gone = ctl(folder, pid, &["status"]);
    gone.expect(1, "", &["error: no agent takes orders in process "]);
}

#[test]
fn an_attached_agent_takes_orders() {
    let jvm = looping(25, &[]);
    let folder = folder();
    let watching = Watching::start(folder.path(), &jvm.pid(), &[]);
    let listed = done(&mut loadhook(folder.path(), &["ps"]));
    let note = " watched, takes orders from loadhook ctl\n";
    assert!(listed.out.contains(note), "{}", listed.out);
    all_orders(folder.path(), &jvm.pid());
    watching.end().expect(0, "", &["watched.Looping.step"]);
    assert!(calls(&read(&folder.path().join("p.pb.gz")), STEP, "step") > 0);
    jvm.ends_well();
}

#[test]
fn an_agent_under_run_takes_orders() {
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let folder = folder();
    let options = [
        "run",
        "--control",
        "--include",
        "none",
        "-o",
        "p.pb.gz",
        "--",
    ];
    let mut run = loadhook(folder.path(), &options);
    run.arg(java.get_program()).arg("-cp").arg(classes());
    let mut jvm = Held::wait(run.arg("watched.Looping").stderr(Stdio::null()));
    let children = format!("/proc/{0}/task/{0}/children", jvm.pid());
    let pid = fs::read_to_string(children).expect("the process is alive");
    all_orders(folder.path(), pid.trim());
    drop(jvm.0.stdin.take());
    assert_eq!(jvm.0.wait().expect("the process ends").code(), Some(0));
}

#[test]
fn orders_that_need_another_agent_are_refused() {
    let folder = folder();
    for (order, said) in [
        (
            &["timing", "exact"][..],
            "error: an agent cannot change its timing while it watches; ",
        ),
        (
            &["alloc", "live"],
            "error: an agent cannot change how it records allocations ",
        ),
        (
            &["reset"],
            "detach it, then attach again with other options",
        ),
        (&["include", "a..b"], "error: bad pattern: "),
        (
            &["include", "none"],
            "error: none is no pattern here; to instrument nothing, exclude the patterns ",
        ),
    ] {
        ctl(folder.path(), "1", order).expect(1, "", &[said]);
    }
    let jvm = looping(17, &[]);
    let unwatched = ctl(folder.path(), &jvm.pid(), &["status"]);
    let said = format!(
        "error: process {0} is not watched by Loadhook; attach to it first (loadhook attach {0})\n",
        jvm.pid()
    );
    unwatched.expect(1, "", &[&said]);
    jvm.ends_well();
}

/// Another process listens at the agent's socket, as can happen if containers share one `/tmp`.
#[test]
fn an_agent_of_another_process_gets_no_orders() {
    let jvm = looping(17, &[]);
    let folder = folder();
    let watching = Watching::start(folder.path(), &jvm.pid(), INCLUDE);
    let path = private(geteuid().as_raw()).join(format!("{}.sock", jvm.pid()));
    fs::remove_file(&path).expect("the agent has a socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let status = Status {
            namespace: Some("pid:[7]".to_owned()),
            ..Status::default()
        };
        writeln!(stream, "{}", Reply::Status(status)).expect("the reply is sent");
        let mut orders = String::new();
        stream.read_to_string(&mut orders).expect("orders");
        orders.lines().count()
    });
    let refused = ctl(folder.path(), &jvm.pid(), &["pause"]);
    refused.expect(
        1,
        "",
        &[
            "error: another process than ",
            "give each container its own /tmp",
        ],
    );
    assert_eq!(
        other.join().expect("the thread ends"),
        1,
        "only the order status"
    );
    jvm.ends_well();
    watching.end().expect(0, "", &["watched.Looping.step"]);
    assert!(
        path.exists(),
        "the agent does not remove the socket of another process"
    );
    fs::remove_file(&path).expect("the socket is there");
}

/// Returns the folder with the sockets of a user's agents.
fn private(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/loadhook-{user}"))
}

/// Root can give orders to an agent of another user. The agent refuses a folder for its socket that its own user does
/// not own. At first, root owns the folder here.
#[test]
fn the_agent_of_another_user_takes_orders() {
    needs_root();
    const OTHER: u32 = 65_533;
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let mut command = Command::new(java.get_program());
    command.uid(OTHER).gid(OTHER).arg("-cp").arg(classes());
    let jvm = Held::wait(command.arg("watched.Looping"));
    let pid = jvm.pid();
    fs::create_dir(private(OTHER)).expect("the folder is new");
    fs::set_permissions(private(OTHER), fs::Permissions::from_mode(0o700)).expect("permissions");
    let watching = Watching::start(folder.path(), &pid, INCLUDE);
    let unreached = "loadhook: the program cannot be reached by loadhook ctl: ";
    let refused = ctl(folder.path(), &pid, &["status"]);
    refused.expect(
        1,
        "",
        &["can enter; ask the owner of the folder or root to remove it, "],
    );
    fs::remove_dir(private(OTHER)).expect("the folder is empty");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&watching.command),
        rustix::process::Signal::INT,
    )
    .expect("the command is alive");
    watching.end().expect(0, "", &[unreached]);
    let watching = Watching::start(folder.path(), &pid, &[]);
    all_orders(folder.path(), &pid);
    watching.end().expect(0, "", &["watched.Looping"]);
    assert!(!private(OTHER).exists());
    jvm.ends_well();
}

#[test]
fn an_agent_in_a_container_takes_orders() {
    needs_root();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let (jvm, pid) = in_container(&java, &classes(), "rw", &["watched.Looping"]);
    let folder = folder();
    let watching = Watching::start(folder.path(), &pid, &[]);
    let sockets = format!("/proc/{pid}/root/tmp/loadhook-{}", geteuid().as_raw());
    assert_eq!(names(Path::new(&sockets)), ["1.sock"]);
    all_orders(folder.path(), &pid);
    watching.end().expect(0, "", &["watched.Looping.step"]);
    jvm.ends_well();
}

/// Each change of the filter gives the method a new address, which the sampler's thread notes up to a tenth of a second
/// later. Samples that are taken before have the method, too, because it is looked up when they are read.
#[test]
fn samples_follow_changes_of_the_filter() {
    let jvm = looping(17, &["-Xint"]);
    let folder = folder();
    let pid = jvm.pid();
    let options = ["--include", "other.**", "--budget", "none"];
    let watching = Watching::start(folder.path(), &pid, &options);
    for order in ["include", "exclude", "include", "exclude", "include"] {
        works(&jvm, &pid);
        let changed = ctl(folder.path(), &pid, &[order, "watched.**"]);
        changed.expect(0, "", &["1 class changed"]);
    }
    for _ in 0..5 {
        works(&jvm, &pid);
    }
    ctl(folder.path(), &pid, &["detach"]).expect(0, "", &[]);
    watching.end().expect(0, "", &["watched.Looping.step"]);
    let profile = read(&folder.path().join("p.pb.gz"));
    let sampling = profile.sampling.expect("there are samples");
    assert!(
        sampling.samples > 20 && 10 * sampling.unwalked < sampling.samples,
        "{} of {} samples do not reach the outermost method",
        sampling.unwalked,
        sampling.samples
    );
    jvm.ends_well();
}
