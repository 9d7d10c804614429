//! Tests that the archives of a program find one tracker, which counts for all of them.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Profile, ThreadKind};
use support::offline::{self, Run, calls, check_edges};
use tempfile::TempDir;

const JDKS: [u32; 2] = [17, 25];

/// Makes two archives, `Alpha` and `Beta`, whose methods call each other. Each has a tracker in the package given
/// for it.
fn two(packages: [&str; 2]) -> Result<[TempDir; 2]> {
    let sources = ["Alpha", "Beta"].map(|name| support::java(&format!("offline/{name}.java")));
    let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
    let parts = [("Alpha", "aaaaaaaaaaaaaaaa"), ("Beta", "bbbbbbbbbbbbbbbb")];
    for ((folder, package), (class, id)) in folders.iter().zip(packages).zip(parts) {
        support::compile(folder.path(), &sources)?;
        let other = if class == "Alpha" { "Beta" } else { "Alpha" };
        fs::remove_file(folder.path().join(format!("{other}.class")))?;
        offline::tracker(folder.path(), package)?;
        offline::rewrite(folder.path(), id, package, |_| true)?;
    }
    Ok(folders)
}

fn class_path(folders: &[TempDir; 2], swapped: bool) -> PathBuf {
    let [first, second] = folders.each_ref().map(|folder| folder.path().display());
    match swapped {
        false => format!("{first}:{second}").into(),
        true => format!("{second}:{first}").into(),
    }
}

/// One tracker counts for both archives, whatever packages their trackers are in, and whichever
/// archive comes first.
#[test]
fn archives_of_a_loader_share_a_tracker() -> Result<()> {
    for packages in [
        ["loadhook/aa", "loadhook/ab"],
        ["loadhook/aa", "loadhook"],
        ["loadhook", "loadhook/ab"],
        ["loadhook", "loadhook"],
    ] {
        let folders = two(packages)?;
        for jdk in JDKS {
            for swapped in [false, true] {
                let path = class_path(&folders, swapped);
                let run = Run::new(jdk, &["-Xverify:all"], &path, &["Alpha"])?;
                let context = || format!("{jdk} {packages:?} {swapped}");
                check_edges(&run.only().with_context(context)?).with_context(context)?;
            }
        }
    }
    Ok(())
}

/// Makes a folder with a tracker in the usual package, and one with a tracker in another package.
fn trackers() -> Result<(TempDir, TempDir)> {
    let (usual, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    offline::tracker(usual.path(), offline::PACKAGE)?;
    offline::tracker(other.path(), "loadhook/aa")?;
    Ok((usual, other))
}

/// The probes of constructors pass their keys to the tracker of the other archive.
#[test]
fn constructors_of_an_archive_with_another_tracker() -> Result<()> {
    let (usual, other) = trackers()?;
    offline::archive(
        other.path(),
        &["../Constructors"],
        "0123456789abcdef",
        "loadhook/aa",
    )?;
    let alone = tempfile::tempdir()?;
    offline::tracker(alone.path(), offline::PACKAGE)?;
    offline::archive(
        alone.path(),
        &["../Constructors"],
        "0123456789abcdef",
        offline::PACKAGE,
    )?;
    let all = |profile: &Profile| {
        let mut edges: Vec<String> = Vec::new();
        for thread in &profile.threads {
            for node in &thread.nodes {
                let name = |at: u32| profile.methods[at as usize].key();
                let parent = node.parent.map(|at| name(thread.nodes[at as usize].method));
                edges.push(format!("{parent:?} {:?} {}", name(node.method), node.calls));
            }
        }
        edges.sort();
        edges
    };
    for jdk in JDKS {
        let expected = Run::new(jdk, &[], alone.path(), &["Constructors"])?;
        let path: PathBuf = format!("{}:{}", other.path().display(), usual.path().display()).into();
        let found = Run::new(jdk, &[], &path, &["Constructors"])?;
        ensure!(found.stdout == expected.stdout, "{}", found.stdout);
        let (found, expected) = (all(&found.only()?), all(&expected.only()?));
        ensure!(
            expected.len() > 5 && found == expected,
            "{found:#?} {expected:#?}"
        );
    }
    Ok(())
}

/// A negative key is still negative when it reaches the other tracker. Otherwise constructors that
/// fail would stay on the path.
#[test]
fn keys_of_an_archive_with_another_tracker() -> Result<()> {
    let (usual, other) = trackers()?;
    let sources = ["Keys", "PlainKeys"];
    offline::archive(other.path(), &sources, "0123456789abcdef", "loadhook/aa")?;
    let path: PathBuf = format!("{}:{}", other.path().display(), usual.path().display()).into();
    for jdk in JDKS {
        let profile = Run::new(jdk, &[], &path, &["PlainKeys"])?.only()?;
        for (caller, method, expected) in [
            ("", "Keys.behind", 40),
            ("", "Keys$B.<init>", 10),
            ("", "Keys$H.<init>", 10),
            ("Keys$B.<init>", "Keys$A.<init>", 10),
            ("Keys$F.<init>", "Keys$A.<init>", 10),
            ("Keys$E.<init>", "Keys$D.<init>", 10),
            ("Keys$H.<init>", "Keys$D.<init>", 10),
        ] {
            let found = calls(&profile, caller, method);
            ensure!(found == expected, "{jdk}: {caller} {method} {found}");
        }
        ensure!(profile.calls() == 120, "{}", profile.calls());
    }
    Ok(())
}

/// Changes the version that the tracker in a folder has.
fn age(folder: &Path) -> Result<()> {
    let file = folder.join("loadhook/Parts.class");
    let mut class = fs::read(&file)?;
    // The bytecode iload_2, iconst_2, if_icmp… compares the version that is passed with the
    // tracker's own.
    let mut places = 0;
    for at in 0..class.len() - 2 {
        if class[at..at + 2] == [0x1c, 0x05] && matches!(class[at + 2], 0x9f | 0xa0) {
            class[at + 1] = 0x04;
            places += 1;
        }
    }
    ensure!(
        places == 2,
        "two places that check the version expected, {places} found"
    );
    Ok(fs::write(file, class)?)
}

/// A class that looks like a tracker, but is none, is not called. One message says so, and the
/// program runs as usual.
#[test]
fn a_tracker_of_another_version_is_left_alone() -> Result<()> {
    let folders = two([offline::PACKAGE, offline::PACKAGE])?;
    age(folders[0].path())?;
    age(folders[1].path())?;
    let path = class_path(&folders, false);
    for jdk in JDKS {
        let run = Run::new(jdk, &[], &path, &["Alpha"])?;
        ensure!(
            run.code == Some(0) && run.files()?.is_empty(),
            "{}",
            run.stderr
        );
        let [told] = &run.told[..] else {
            anyhow::bail!("{}", run.stderr);
        };
        ensure!(told.contains("of another version"), "{told}");
    }
    // This version of a tracker lacks the methods that parts call.
    for folder in &folders {
        let none =
            "public final class Parts { public static int register(Class<?> part) { return 1; } }";
        let source = folder.path().join("Parts.java");
        fs::write(&source, format!("package loadhook; {none}"))?;
        support::compile(folder.path(), &[source])?;
    }
    for jdk in JDKS {
        let run = Run::new(jdk, &[], &path, &["Alpha"])?;
        ensure!(
            run.code == Some(0) && run.files()?.is_empty(),
            "{}",
            run.stderr
        );
        ensure!(run.told.len() == 1, "{}", run.stderr);
    }
    // The other archive uses its own tracker.
    let folders = two([offline::PACKAGE, "loadhook/ab"])?;
    age(folders[0].path())?;
    let path = class_path(&folders, false);
    for jdk in JDKS {
        let run = Run::new(jdk, &[], &path, &["Alpha"])?;
        ensure!(run.told.len() == 1, "{}", run.stderr);
        let profile = run.profile("loadhook-%p.pb.gz")?;
        ensure!(calls(&profile, "", "Beta.two") == 20 && profile.calls() == 40);
    }
    Ok(())
}

/// The first probe of a part may run near the end of the stack. Then the part does not start yet;
/// otherwise it, or classes that it initialises, would be unusable from then on.
#[test]
fn the_first_probe_near_the_end_of_a_stack() -> Result<()> {
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), offline::PACKAGE)?;
    let sources = ["Edge", "PlainEdge", "edge/Named"];
    offline::archive(
        folder.path(),
        &sources,
        "0123456789abcdef",
        offline::PACKAGE,
    )?;
    for jdk in JDKS {
        let mut counted = 0;
        for at in [0, 1, 10, 40, 100, 200, 300, 450, 1000, 4000] {
            for jvm in ["-Xint", "-Xcomp"] {
                // Only the recursive methods are compiled, because compiling all of them takes
                // seconds.
                let only = "-XX:CompileCommand=compileonly,*::d*";
                let jvm = [jvm, "-XX:CompileCommand=quiet", only];
                let arguments = ["PlainEdge", &at.to_string()];
                let run = Run::new(jdk, &jvm, folder.path(), &arguments)?;
                ensure!(
                    run.code == Some(0) && run.stdout.ends_with("1001 calls\n"),
                    "{jdk} {jvm:?} {at}: {}{}",
                    run.stdout,
                    run.stderr
                );
                let found = calls(&run.only()?, "", "Edge.touch");
                ensure!(found == 1001 || found == 1002, "{jdk} {at}: {found}");
                counted += found - 1001;
            }
        }
        println!("{jdk}: {counted} first calls counted");
        ensure!(counted > 0 && counted < 20);
    }
    Ok(())
}

/// The counts of an ended thread do not keep alive the objects to which the thread referred.
#[test]
fn ended_threads_can_be_collected() -> Result<()> {
    let folder = offline::work(&["PlainWeak"])?;
    for jdk in JDKS {
        let run = Run::new(jdk, &["-Xmx64m"], folder.path(), &["PlainWeak"])?;
        ensure!(run.stdout == "0 loaders left\n", "{jdk}: {}", run.stdout);
        let profile = run.only()?;
        let found = calls(&profile, "Work.work", "Work.outer");
        ensure!(found == 20_000, "{found}");
        let ended = profile.threads.iter().find(|t| &*t.name == "brief-#");
        ensure!(ended.context("no ended thread of this name")?.kind == ThreadKind::Ended);
    }
    Ok(())
}
