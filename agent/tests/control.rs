//! Orders to an agent in a running program.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use loadhook_profile::Profile;
use loadhook_settings::attach::DETACH;
use loadhook_settings::control::{Reply, Request};
use tempfile::TempDir;

mod support;
use support::attach::{Running, attach, load};
use support::orders::{Connection, exclude, include, socket};
use support::{java_agent, read};

on_jdks!(changes_keep_counts_exact: on_17 17, on_25 25);
on_jdks!(probes_are_taken_out_again: on_11 11);
on_jdks!(pauses_are_left_out: on_17 17, on_25 25);
on_jdks!(choices_are_narrowed_and_widened: on_17 17);
on_jdks!(another_agent_changes_the_class_at_the_same_time: on_25 25);
on_jdks!(wrong_orders_hurt_nobody the_socket_goes_with_the_agent: on_21 21);

/// The class that is changed, as a pattern.
const WORK: &str = "Controlled$Work";

/// All methods of this class but the one that is counted all the time.
const OTHERS: [&str; 6] = [
    "<init>",
    "looping",
    "short_",
    "recursive",
    "parking",
    "ordered",
];

/// The number of times that classes are included and excluded again.
const ROUNDS: u64 = 30;

/// Returns the number of calls of a method of the class that is changed.
fn calls(profile: &Profile, name: &str) -> u64 {
    let of_methods = profile.method_calls.iter().map(|it| (it.method, it.calls));
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let all = of_methods.chain(nodes.map(|node| (node.method, node.calls)));
    let is_it = |method: u32| {
        let method = profile.methods.get(method as usize);
        method.is_some_and(|method| &*method.class == WORK && &*method.name == name)
    };
    all.filter(|(method, _)| is_it(*method))
        .map(|it| it.1)
        .sum()
}

/// The class is changed while its methods loop, call themselves, build objects, and are parked. One of the methods
/// stays counted, and is counted exactly.
fn changes_keep_counts_exact(feature: u32) -> Result<()> {
    let timing = match feature {
        17 => "sampled",
        _ => "exact",
    };
    let mut program = Running::start(feature, "Controlled", &["-Xverify:all"])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options =
        format!("include={WORK}::stable,timing={timing},all=true,control=true,budget=none");
    let answer = attach(&program, &options, &folder)?;
    program.order("start")?;
    let mut agent = Connection::new(&program)?;
    let others = OTHERS.map(|method| format!("{WORK}::{method}")).join(",");
    for _ in 0..ROUNDS {
        ensure!(agent.change(&include(&others))? == 1);
        program.order("call 7")?;
        ensure!(agent.change(&exclude(&others))? == 1);
        program.order("call 5")?;
    }
    let snapshot = folder.path().join("snapshot");
    agent.ask(&Request::Snapshot(snapshot.display().to_string()))?;
    let so_far = calls(&read(&snapshot)?, "stable");
    let made = program.order("stop")?;
    let made: u64 = made.strip_prefix("calls ").context("a number")?.parse()?;
    ensure!(agent.ask(&Request::Detach)? == Reply::Done);
    let profile = read(&answer.wait_until_left()?)?;
    ensure!(
        calls(&profile, "stable") == made,
        "{} of {made}",
        calls(&profile, "stable")
    );
    ensure!(so_far <= made && so_far > 0, "{so_far} of {made}");
    ensure!(
        calls(&profile, "ordered") == 7 * ROUNDS,
        "{}",
        calls(&profile, "ordered")
    );
    // The thread was in these methods all the time.
    for name in ["looping", "parking"] {
        ensure!(
            calls(&profile, name) == 0,
            "{name}: {}",
            calls(&profile, name)
        );
    }
    for name in ["short_", "recursive", "<init>"] {
        let counted = calls(&profile, name);
        ensure!(counted > 0, "{name} was counted for a while");
    }
    program.end()
}

/// Another agent retransforms the class again and again while the choice of methods changes.
fn another_agent_changes_the_class_at_the_same_time(feature: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let jar = java_agent("Controlled")?;
    let java_agent = format!("-javaagent:{}", jar.display());
    let mut program = Running::start(feature, "Controlled", &[&java_agent])?;
    program.answer()?;
    let options = format!("include={WORK}::stable,all=true,control=true,budget=none");
    let answer = attach(&program, &options, &folder)?;
    program.order("start")?;
    program.order("retransform")?;
    let mut agent = Connection::new(&program)?;
    let others = OTHERS.map(|method| format!("{WORK}::{method}")).join(",");
    for _ in 0..ROUNDS {
        ensure!(agent.change(&include(&others))? == 1);
        program.order("call 7")?;
        ensure!(agent.change(&exclude(&others))? == 1);
        program.order("call 5")?;
    }
    let made = program.order("stop")?;
    let made: u64 = made.strip_prefix("calls ").context("a number")?.parse()?;
    ensure!(agent.ask(&Request::Detach)? == Reply::Done);
    let profile = read(&answer.wait_until_left()?)?;
    for (name, calls_made) in [("stable", made), ("ordered", 7 * ROUNDS)] {
        let counted = calls(&profile, name);
        ensure!(counted == calls_made, "{name}: {counted} of {calls_made}");
    }
    program.end()
}

/// The agent is loaded before another agent, which sees the bytes that our agent makes.
fn probes_are_taken_out_again(feature: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let jar = java_agent("Controlled")?;
    let file = folder.path().join("profile.pb.gz");
    let path = from_start("include=none", &file)?;
    let java_agent = format!("-javaagent:{}", jar.display());
    let mut program = Running::start(feature, "Controlled", &[&path, &java_agent, "-Xcheck:jni"])?;
    program.answer()?;
    let mut agent = Connection::new(&program)?;
    let Reply::Status(status) = agent.ask(&Request::Status)? else {
        bail!("no status");
    };
    ensure!(
        status.include == ["none"] && status.classes == 0,
        "{status:?}"
    );
    program.order("bytes")?;
    for _ in 0..3 {
        ensure!(agent.change(&include(WORK))? == 1);
        ensure!(program.order("bytes")? == "other");
        // This pattern names none of the loaded classes.
        ensure!(agent.change(&exclude("not.There"))? == 0);
        ensure!(agent.change(&include("not.There"))? == 0);
        ensure!(agent.change(&exclude("not.There"))? == 0);
        ensure!(agent.change(&exclude(WORK))? == 1);
        ensure!(program.order("bytes")? == "same");
    }
    program.end()?;
    ensure!(calls(&read(&file)?, "ordered") == 0);
    Ok(())
}

/// Neither calls nor times of pauses are in the profile.
fn pauses_are_left_out(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Controlled", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options = format!("include={WORK},timing=sampled,control=true");
    let answer = attach(&program, &options, &folder)?;
    let mut agent = Connection::new(&program)?;
    let mut paused = Duration::ZERO;
    let rounds = 5;
    for _ in 0..rounds {
        program.order("call 7")?;
        ensure!(agent.change(&Request::Pause)? == 1);
        program.order("call 5")?;
        // Threads start and end in the pause, and one thread was there before.
        let begin = Instant::now();
        program.order("start")?;
        program.order("burn 200")?;
        program.order("stop")?;
        paused += begin.elapsed();
        ensure!(agent.change(&exclude("not.There"))? == 0);
        ensure!(agent.change(&Request::Resume)? == 1);
    }
    program.order("burn 100")?;
    // The agent may also leave during a pause.
    ensure!(agent.change(&Request::Pause)? == 1);
    program.order("burn 200")?;
    ensure!(agent.ask(&Request::Detach)? == Reply::Done);
    let profile = read(&answer.wait_until_left()?)?;
    ensure!(
        calls(&profile, "ordered") == 7 * rounds,
        "{}",
        calls(&profile, "ordered")
    );
    ensure!(calls(&profile, "looping") == 0);
    let burnt = time_of(&profile, "burn");
    let [least, most] = [20, 400].map(Duration::from_millis);
    ensure!(burnt > least && burnt < most, "{burnt:?}");
    // In the pauses, four threads were busy.
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let all = Duration::from_nanos(nodes.map(|node| node.ticked_ns).sum());
    ensure!(
        all < paused,
        "{all:?} on a processor, {paused:?} elapsed in the pauses"
    );
    let notes = &profile.header.notes;
    let noted = notes
        .iter()
        .any(|note| note.contains("was paused 6 times, for "));
    ensure!(noted, "{notes:?}");
    program.end()
}

/// The choice is first all classes, then some of them, then fewer, because an exclusion lies inside
/// an inclusion.
fn choices_are_narrowed_and_widened(feature: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let mut program = Running::start(
        feature,
        "Controlled",
        &[&from_start("timing=exact,all=true", &file)?],
    )?;
    program.answer()?;
    let mut agent = Connection::new(&program)?;
    let Reply::Status(all) = agent.ask(&Request::Status)? else {
        bail!("no status");
    };
    ensure!(all.include.is_empty(), "{all:?}");
    let narrowed = agent.ask(&include("Controlled*"))?;
    let Reply::Changed(changed) = narrowed else {
        bail!("{narrowed}");
    };
    // Only classes of the program are touched, not those of the JDK.
    ensure!(
        changed.figures.classes <= all.classes,
        "{changed:?}, {all:?}"
    );
    ensure!(
        changed.notes.len() == 1 && changed.notes[0].starts_with("until now all classes"),
        "{changed:?}"
    );
    program.order("call 1")?;
    ensure!(agent.change(&exclude(WORK))? == 1);
    program.order("call 2")?;
    ensure!(agent.change(&include(WORK))? == 1);
    program.order("call 4")?;
    // Two orders in one: the class leaves the list, and is excluded because the other pattern names it, too.
    ensure!(agent.change(&exclude(&format!("{WORK},not.There")))? == 1);
    program.order("call 8")?;
    let many: Vec<String> = (0..1001).map(|number| format!("a.C{number}")).collect();
    let reply = agent.line(&include(&many.join(",")).to_string())?;
    ensure!(reply.to_string().contains("too many patterns"), "{reply}");
    let Reply::Status(left) = agent.ask(&Request::Status)? else {
        bail!("no status");
    };
    ensure!(left.exclude == [WORK, "not.There"], "{left:?}");
    // A call that is under way has the pause in its time.
    agent.change(&include(WORK))?;
    program.order("start")?;
    agent.change(&Request::Pause)?;
    agent.change(&Request::Resume)?;
    program.order("stop")?;
    program.end()?;
    let profile = read(&file)?;
    // The program has called the method once before the first order.
    ensure!(
        calls(&profile, "ordered") == 6,
        "{}",
        calls(&profile, "ordered")
    );
    let notes = &profile.header.notes;
    let noted = |note: &String| note.ends_with("under way has the pause in its time");
    ensure!(notes.iter().any(noted), "{notes:?}");
    Ok(())
}

/// Returns the JVM option that loads an agent which takes orders.
fn from_start(options: &str, file: &Path) -> Result<String> {
    Ok(format!(
        "-agentpath:{}={options},control=true,quiet=true,file={}",
        support::agent()?.display(),
        file.display()
    ))
}

/// Returns the sampled self time of a method.
fn time_of(profile: &Profile, name: &str) -> Duration {
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let of_method = nodes.filter(|node| {
        let method = profile.methods.get(node.method as usize);
        method.is_some_and(|method| &*method.name == name)
    });
    Duration::from_nanos(of_method.map(|node| node.ticked_ns).sum())
}

fn wrong_orders_hurt_nobody(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Controlled", &[])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let answer = attach(&program, "control=true", &folder)?;
    let mut agent = Connection::new(&program)?;
    let no_folder = Request::Snapshot("/dev/null/x".to_owned());
    for (line, expected) in [
        (no_folder.to_string(), "/dev/null/x"),
        (
            Request::Snapshot("/dev/ptmx".to_owned()).to_string(),
            "/dev/ptmx: not a regular file",
        ),
        (
            r#"{"version":1,"order":"include","pattern":"a.b,none"}"#.to_owned(),
            "none is no pattern here",
        ),
        (
            r#"{"version":1,"order":"timing"}"#.to_owned(),
            "detach it, then attach again",
        ),
        (
            r#"{"version":1,"order":"include","pattern":"a..b"}"#.to_owned(),
            "bad pattern",
        ),
    ] {
        let reply = agent.line(&line)?;
        let is_refused = matches!(&reply, Reply::Error(error) if error.contains(expected));
        ensure!(is_refused, "{line}: {reply}");
    }
    let mut garbage = UnixStream::connect(socket(&program))?;
    while garbage.write_all(&[b'x'; 1 << 16]).is_ok() {}
    ensure!(program.order("call 1")? == "done");
    // This agent has only sampled and changed no class. It counts from the first order on.
    ensure!(agent.change(&include(WORK))? == 1);
    program.order("call 3")?;
    ensure!(load(&program.child, DETACH)? == 0);
    let profile = read(&answer.wait_until_left()?)?;
    ensure!(calls(&profile, "ordered") == 3 && profile.sampling.is_some());
    ensure!(
        agent.ask(&Request::Status).is_err(),
        "the connection is closed"
    );
    program.end()
}

fn the_socket_goes_with_the_agent(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Controlled", &[])?;
    program.answer()?;
    let path = socket(&program);
    let folder = TempDir::new()?;
    for _ in 0..2 {
        let answer = attach(&program, "control=true", &folder)?;
        let mode = |path: &Path| -> Result<u32> {
            use std::os::unix::fs::MetadataExt;
            Ok(path.metadata()?.mode() & 0o777)
        };
        ensure!(mode(&path)? == 0o600 && mode(path.parent().context("a folder")?)? == 0o700);
        let mut agent = Connection::new(&program)?;
        let mut other = Connection::new(&program)?;
        ensure!(agent.ask(&Request::Detach)? == Reply::Done);
        answer.wait_until_left()?;
        ensure!(!path.exists() && other.ask(&Request::Status).is_err());
    }
    // Without the option there is no socket.
    let answer = attach(&program, "interval=1ms", &folder)?;
    ensure!(!path.exists());
    ensure!(load(&program.child, DETACH)? == 0);
    answer.wait_until_left()?;
    let folder = TempDir::new()?;
    let _answer = attach(&program, "control=true", &folder)?;
    ensure!(path.exists());
    program.end()?;
    ensure!(!path.exists(), "the JVM removes the socket at its end");
    Ok(())
}
