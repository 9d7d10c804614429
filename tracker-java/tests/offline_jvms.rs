//! Tests of rewritten archives with unusual class loaders, threads and JVMs.

mod support;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use loadhook_profile::Clock;
use loadhook_testkit::source;
use support::checks::{JDKS, check_public, check_work, total};
use support::offline::{self, Run, calls, check_edges, work};
use tempfile::TempDir;

#[test]
fn a_tracker_a_loader() -> Result<()> {
    let folder = work(&[])?;
    let plain = tempfile::tempdir()?;
    support::compile(plain.path(), &[support::java("offline/PlainLoaders.java")])?;
    let jar = folder.path().to_string_lossy();
    for jdk in JDKS {
        let run = Run::new(jdk, &[], plain.path(), &["PlainLoaders", &jar, "3"])?;
        ensure!(run.told.is_empty() && run.code == Some(0), "{}", run.stderr);
        let files = [
            "loadhook-%p.2.pb.gz",
            "loadhook-%p.3.pb.gz",
            "loadhook-%p.pb.gz",
        ];
        ensure!(run.files()? == files, "{:?}", run.files()?);
        let mut loaders = BTreeSet::new();
        let mut profiles = Vec::new();
        for name in files {
            let profile = run.profile(name)?;
            check_work(&profile, 1)?;
            let [note] = &profile.header.notes[..] else {
                anyhow::bail!("{:?}", profile.header.notes);
            };
            ensure!(note.starts_with("3 trackers in this process"), "{note}");
            let names: BTreeSet<String> = profile
                .methods
                .iter()
                .map(|method| method.loader.to_string())
                .collect();
            ensure!(names.len() == 1, "{names:?}");
            loaders.extend(names);
            check_public(&run.bytes(name)?)?;
            profiles.push(profile);
        }
        let class = "java.net.URLClassLoader";
        let expected = [class.to_owned(), format!("{class}#2"), format!("{class}#3")];
        ensure!(loaders.iter().eq(&expected), "{loaders:?}");
        // The profiles belong to one process, and so does the merged one.
        let merged = loadhook_profile::merge(&profiles)?;
        check_work(&merged, 3)?;
        ensure!(merged.header.notes.len() == 1, "{:?}", merged.header.notes);
        ensure!(merged.header.process == profiles[0].header.process);
        let outer = merged.methods.iter().filter(|m| &*m.name == "outer");
        ensure!(outer.count() == 3);
        let sum: u64 = profiles.iter().map(|p| p.header.duration_ns).sum();
        ensure!(merged.header.duration_ns < sum);
    }
    Ok(())
}

/// At the end of the program, its class loader may be closed. So the tracker loads all classes for
/// writing the profile at the start.
#[test]
fn classes_are_loaded_early() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        let jvm = ["-Xlog:class+load", "-Dloadhook.dump-on-exit=false"];
        let run = Run::new(jdk, &jvm, folder.path(), &["Work"])?;
        let all = loadhook_tracker::CLASSES
            .iter()
            .chain(loadhook_tracker::OFFLINE_CLASSES);
        let mut missing: Vec<&str> = all
            .map(|(name, _)| *name)
            .filter(|name| {
                let line = format!("] {} source:", name.replace('/', "."));
                !run.stdout.contains(&line)
            })
            .collect();
        // The first two classes are needed only by archives with their own trackers, the third only
        // by an agent with a budget, the fourth only by an agent in a JVM without a compiler, the
        // fifth only by an agent that records waits for locks, the sixth only by an agent that counts
        // or traces durations, the others only by an agent that traces calls.
        missing.retain(|name| {
            !name.starts_with("loadhook/ExportedProbes")
                && *name != "loadhook/ForeignProbes"
                && *name != "loadhook/MethodSums"
                && *name != "loadhook/InterpretedCount"
                && *name != "loadhook/Parks"
                && *name != "loadhook/Buckets"
                && !name.starts_with("loadhook/Trace")
                && *name != "loadhook/Describing"
        });
        // The template class has another name in an archive. From JDK 19 on, the class Memory is
        // not needed to read the ids of threads.
        let expected = match jdk {
            17 => &["loadhook/Part"][..],
            _ => &["loadhook/Memory", "loadhook/Part"],
        };
        missing.sort_unstable();
        ensure!(missing == expected, "{jdk}: {missing:?}");
    }
    Ok(())
}

/// An archive may run in several loaders below the loader of the tracker. The archive's methods have one id for each
/// class of loader.
#[test]
fn a_tracker_above_two_loaders() -> Result<()> {
    let above = tempfile::tempdir()?;
    offline::tracker(above.path(), offline::PACKAGE)?;
    support::compile(above.path(), &[support::java("offline/PlainLoaders.java")])?;
    let below = tempfile::tempdir()?;
    offline::archive(
        below.path(),
        &["Work"],
        "00000000000000aa",
        offline::PACKAGE,
    )?;
    let jar = above.path().join("below # 1.jar");
    source::jar(&jar, &[], below.path())?;
    let places = [below.path(), &jar].map(|place| place.to_string_lossy());
    for (jdk, place) in [
        (17, &places[0]),
        (17, &places[1]),
        (25, &places[0]),
        (25, &places[1]),
    ] {
        let run = Run::new(
            jdk,
            &[],
            above.path(),
            &["PlainLoaders", place, "3", "apart"],
        )?;
        let profile = run.only()?;
        check_work(&profile, 3)?;
        for (loader, copies) in [("java.net.URLClassLoader", 2), ("PlainLoaders$Other", 1)] {
            let of_loader =
                |m: &loadhook_profile::Method| &*m.loader == loader && &*m.name == "outer";
            let outer = profile
                .methods
                .iter()
                .position(of_loader)
                .context("the tree has no node of the method outer")?;
            let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
            let found: u64 = nodes
                .filter(|node| node.method as usize == outer)
                .map(|node| node.calls)
                .sum();
            ensure!(found == 4000 * u64::from(copies), "{loader} {found}");
            ensure!(profile.methods[outer].loaders == copies, "{loader}");
        }
        // In this run, the names of methods include the loader, so the file is checked once more.
        check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
    }
    Ok(())
}

#[test]
fn two_archives_with_the_same_ids() -> Result<()> {
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), offline::PACKAGE)?;
    let sources = ["Alpha", "Beta"].map(|name| support::java(&format!("offline/{name}.java")));
    support::compile(folder.path(), &sources)?;
    offline::rewrite(
        folder.path(),
        "aaaaaaaaaaaaaaaa",
        offline::PACKAGE,
        |class| class == "Alpha",
    )?;
    offline::rewrite(
        folder.path(),
        "bbbbbbbbbbbbbbbb",
        offline::PACKAGE,
        |class| class == "Beta",
    )?;
    for jdk in JDKS {
        let run = Run::new(jdk, &[], folder.path(), &["Alpha"])?;
        let profile = run.only()?;
        let names = check_public(&run.bytes("loadhook-%p.pb.gz")?)?.names;
        let overload = "Alpha.one(int, int[][], String, double, Object[])";
        ensure!(names.iter().any(|name| name == overload), "{names:?}");
        check_edges(&profile).with_context(|| format!("JDK {jdk}"))?;
        ensure!(profile.header.left_alone["a reason"] == 14);
    }
    Ok(())
}

#[test]
fn a_package_of_its_own() -> Result<()> {
    let package = "loadhook/m0123456789abcdef";
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), package)?;
    offline::archive(folder.path(), &["Work"], "0123456789abcdef", package)?;
    ensure!(!folder.path().join("loadhook/Tracker.class").exists());
    for jdk in JDKS {
        let run = Run::new(jdk, &["-Xverify:all"], folder.path(), &["Work"])?;
        let told: Vec<&String> = run.told.iter().collect();
        ensure!(told.is_empty() && run.code == Some(0), "{}", run.stderr);
        check_work(&run.profile("loadhook-%p.pb.gz")?, 1)?;
    }
    Ok(())
}

#[test]
fn many_threads_meet_the_first_probe() -> Result<()> {
    let folder = work(&["PlainStart"])?;
    for jdk in JDKS {
        for _ in 0..5 {
            let profile = Run::new(
                jdk,
                &["-Dloadhook.timing=exact"],
                folder.path(),
                &["PlainStart"],
            )?
            .only()?;
            for (caller, method, expected) in [
                ("", "Work.work", 8),
                ("Work.work", "Work.outer", 8000),
                ("Work.outer", "Work.inner", 12_000),
            ] {
                let found = calls(&profile, caller, method);
                ensure!(found == expected, "{jdk}: {caller} {method} {found}");
            }
            let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
            let untimed = nodes.filter(|node| node.timed != node.calls).count();
            ensure!(
                untimed == 0,
                "{jdk}: every call should be timed, but {untimed} nodes have calls that are not"
            );
        }
    }
    Ok(())
}

#[test]
fn a_program_asks_for_its_profile() -> Result<()> {
    let folder = work(&["PlainDump"])?;
    for jdk in JDKS {
        let jvm = ["-Dloadhook.dump-on-exit=false"];
        for (arguments, works) in [(&["PlainDump"][..], 1), (&["PlainDump", "again"], 2)] {
            let run = Run::new(jdk, &jvm, folder.path(), arguments)?;
            ensure!(run.code == Some(3), "{}", run.stderr);
            let found = calls(&run.only()?, "Work.work", "Work.outer");
            ensure!(found == works * 1000, "{found}");
        }
    }
    Ok(())
}

/// A profile may be written while threads run. The profile must have every call that ended before.
#[test]
fn threads_run_on_at_the_end() -> Result<()> {
    let folder = work(&["PlainBusy"])?;
    for jdk in JDKS {
        for timing in ["-Dloadhook.timing=adaptive", "-Dloadhook.timing=exact"] {
            let run = Run::new(jdk, &[timing], folder.path(), &["PlainBusy"])?;
            let profile = run.only()?;
            check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
            let works = calls(&profile, "", "Work.work");
            let outers = calls(&profile, "Work.work", "Work.outer");
            ensure!(
                works > 4 && outers >= (works - 4) * 1000,
                "{works} {outers}"
            );
            let live = profile
                .threads
                .iter()
                .filter(|thread| &*thread.name == "busy");
            ensure!(live.count() == 4);
        }
    }
    Ok(())
}

/// Compiles the program of another test, as an archive with a tracker.
fn other(name: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), offline::PACKAGE)?;
    let source = format!("../{name}");
    offline::archive(
        folder.path(),
        &[&source],
        "0123456789abcdef",
        offline::PACKAGE,
    )?;
    Ok(folder)
}

/// The stack may also end in the calls that the archive's part makes.
#[test]
fn caught_stack_overflows() -> Result<()> {
    let folder = other("StackOverflow")?;
    for jdk in JDKS {
        for jvm in ["-Xint", "-XX:TieredStopAtLevel=1", "-Dcompiled=all"] {
            let run = Run::new(jdk, &[jvm], folder.path(), &["StackOverflow"])?;
            let profile = run.only()?;
            let expected = support::expectations(&run.stdout);
            let edges = [
                ("StackOverflow.run", "StackOverflow.attempt", 200),
                ("StackOverflow.run", "StackOverflow.after", 200),
                (
                    "StackOverflow.attempt",
                    "StackOverflow.after",
                    expected["caught"],
                ),
            ];
            for (caller, method, expected) in edges {
                let found = calls(&profile, caller, method);
                ensure!(found == expected, "{jdk} {jvm}: {caller} {method} {found}");
            }
            let total = |name| total(&profile, name);
            ensure!(total("leaf") == expected["leaves"], "{jdk} {jvm}");
            let recursions = total("recurse") + total("wider");
            ensure!(recursions == expected["recursions"], "{jdk} {jvm}");
        }
    }
    Ok(())
}

/// The JVM does not know the processor time of a virtual thread.
#[test]
fn virtual_threads() -> Result<()> {
    let folder = other("Virtual")?;
    for clock in ["wall", "cpu"] {
        let clock_option = format!("-Dloadhook.clock={clock}");
        let jvm = ["-Xmx1g", "-Dsequence=20000", &clock_option];
        let run = Run::new(25, &jvm, folder.path(), &["Virtual"])?;
        let profile = run.only()?;
        ensure!(profile.header.clock.as_str() == clock);
        let edges = [
            ("", "Virtual.one", 100_000),
            ("Virtual.one", "Virtual.two", 100_000),
            ("Virtual.two", "Virtual.three", 200_000),
            ("", "Virtual.brief", 20_000),
            ("Virtual.brief", "Virtual.leaf", 20_000),
        ];
        for (caller, method, expected) in edges {
            let found = calls(&profile, caller, method);
            ensure!(found == expected, "{clock}: {caller} {method} {found}");
        }
        check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
    }
    Ok(())
}

/// A JVM that has only the module `java.base` has no CPU clock. The tracker prints a message and
/// uses the wall clock.
#[test]
fn a_jvm_without_modules() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        let jvm = ["--limit-modules", "java.base", "-Dloadhook.clock=cpu"];
        let run = Run::new(jdk, &jvm, folder.path(), &["Work", "exit"])?;
        ensure!(run.code == Some(7), "{}", run.stderr);
        ensure!(
            run.told.len() == 1 && run.told[0].contains("so calls are timed by the wall clock"),
            "{}",
            run.stderr
        );
        let profile = run.profile("loadhook-%p.pb.gz")?;
        ensure!(profile.header.clock == Clock::Wall);
        check_work(&profile, 1)?;
    }
    Ok(())
}

#[test]
fn a_security_manager_forbids_all() -> Result<()> {
    let folder = work(&[])?;
    let run = Run::new(17, &["-Djava.security.manager"], folder.path(), &["Work"])?;
    ensure!(
        run.code == Some(0) && run.stdout == "the sum is positive\n",
        "{}",
        run.stderr
    );
    ensure!(
        !run.told.is_empty() && run.files()?.is_empty(),
        "{}",
        run.stderr
    );
    Ok(())
}

/// A class of the tracker is missing, or the symbols are damaged. The program still runs, and the
/// fault is reported where that is possible.
#[test]
fn a_damaged_archive() -> Result<()> {
    for jdk in JDKS {
        let folder = work(&[])?;
        let symbols = folder
            .path()
            .join("META-INF/loadhook/0123456789abcdef.symbols");
        for (text, note) in [
            (Some("loadhook symbols 2\n"), "they are of another version"),
            (None, "META-INF"),
        ] {
            match text {
                Some(text) => fs::write(&symbols, text)?,
                None => fs::remove_file(&symbols)?,
            }
            let profile = Run::new(jdk, &[], folder.path(), &["Work"])?.only()?;
            ensure!(
                profile.header.notes.len() == 1 && profile.header.notes[0].contains(note),
                "{:?}",
                profile.header
            );
            let outer = profile
                .methods
                .iter()
                .all(|method| &*method.class == "(unknown)");
            ensure!(outer && profile.calls() > 10_000);
        }
        fs::remove_file(folder.path().join("loadhook/Tracker.class"))?;
        let run = Run::new(jdk, &[], folder.path(), &["Work", "exit"])?;
        ensure!(
            run.code == Some(7) && run.stdout == "the sum is positive\n",
            "{}",
            run.stderr
        );
        ensure!(
            run.told.len() == 1 && run.files()?.is_empty(),
            "{}",
            run.stderr
        );
        fs::remove_file(folder.path().join("loadhook/Parts.class"))?;
        let run = Run::new(jdk, &[], folder.path(), &["Work", "exit"])?;
        ensure!(
            run.code == Some(7) && run.told.len() == 1 && run.told[0].contains("is missing"),
            "{}",
            run.stderr
        );
    }
    Ok(())
}

/// The JVM is started with an option that ends it at the first allocation that fails. The tracker
/// must not cause such a failure.
#[test]
fn a_full_heap() -> Result<()> {
    // The tree has a node for each sequence of one to five of the twelve methods.
    let nodes = 12 + 132 + 1320 + 11_880 + 95_040;
    let folder = work(&["Many", "PlainFull"])?;
    for jdk in JDKS {
        let jvm = [
            "-Xmx160m",
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            "-Dloadhook.timing=exact",
        ];
        let (mut profiles, mut full) = (0, 0);
        for megabytes in (30..160).step_by(10) {
            let arguments = ["PlainFull", &megabytes.to_string()];
            let run = Run::new(jdk, &jvm, folder.path(), &arguments)?;
            if run.code != Some(0) {
                // The program itself ran out of heap, so it must have ended before it printed
                // `full`.
                ensure!(!run.stdout.contains("full"), "{megabytes}: {}", run.stderr);
            } else if run.files()?.is_empty() {
                full += 1;
                let [told] = &run.told[..] else {
                    anyhow::bail!("{}", run.stderr);
                };
                ensure!(told.ends_with(": the heap is full"), "{told}");
            } else {
                profiles += 1;
                let found = run.only()?.calls();
                ensure!(found == nodes, "{jdk} {megabytes}: {found}");
            }
        }
        println!("{jdk}: {profiles} profiles, {full} heaps too full for one");
        ensure!(profiles > 0 && full > 0);
    }
    Ok(())
}
