//! Tests that the tracker keeps no class loader alive.

mod support;

use std::fs;

use anyhow::{Context, Result, ensure};
use loadhook_testkit::source;
use support::offline::{self, Run, calls};
use tempfile::TempDir;

const JDKS: [u32; 2] = [17, 25];

/// Makes a folder with `PlainRounds`, and with `alpha.jar`, which contains `Alpha` and `Beta`. The
/// tracker is in the jar (`embedded`) or in the folder.
fn rounds(embedded: bool) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let archive = tempfile::tempdir()?;
    let tracker = if embedded { &archive } else { &folder };
    offline::tracker(tracker.path(), offline::PACKAGE)?;
    support::compile(folder.path(), &[support::java("offline/PlainRounds.java")])?;
    offline::archive(
        archive.path(),
        &["Alpha", "Beta"],
        "0123456789abcdef",
        offline::PACKAGE,
    )?;
    source::jar(&folder.path().join("alpha.jar"), &[], archive.path())?;
    Ok(folder)
}

/// Class loaders below the loader of the tracker can be collected. The profile names each of their
/// methods once.
#[test]
fn loaders_below_the_tracker_can_go() -> Result<()> {
    let folder = rounds(false)?;
    let jar = folder.path().join("alpha.jar");
    for jdk in JDKS {
        let jvm = ["-XX:MaxMetaspaceSize=16m"];
        let arguments = ["PlainRounds", &jar.to_string_lossy(), "500"];
        let run = Run::new(jdk, &jvm, folder.path(), &arguments)?;
        ensure!(run.code == Some(0), "{jdk}: {}", run.stderr);
        ensure!(
            run.stdout == "0 loaders left, 0 with ticks of 1 threads\n",
            "{jdk}: {}",
            run.stdout
        );
        let profile = run.only()?;
        ensure!(profile.header.notes.is_empty(), "{:?}", profile.header);
        for (caller, method, each) in [
            ("", "Alpha.main", 1),
            ("Alpha.main", "Alpha.one", 11),
            ("Alpha.one", "Beta.two", 20),
        ] {
            let found = calls(&profile, caller, method);
            ensure!(found == 500 * each, "{jdk}: {caller} {method} {found}");
        }
        let mains = profile.methods.iter().filter(|m| &*m.name == "main");
        let loaders: Vec<_> = mains.map(|m| (&*m.loader, m.loaders)).collect();
        ensure!(
            loaders == [("java.net.URLClassLoader", 500)],
            "{jdk}: {loaders:?}"
        );
    }
    // If the program also deletes the archive, one note stands for all loaders.
    let text = fs::read_to_string(support::java("offline/PlainRounds.java"))?;
    let gone = "new File(args[0]).delete();\n        local.remove();";
    let source = folder.path().join("PlainRounds.java");
    fs::write(&source, text.replace("local.remove();", gone))?;
    support::compile(folder.path(), &[source])?;
    let run = Run::new(
        17,
        &[],
        folder.path(),
        &["PlainRounds", &jar.to_string_lossy(), "3"],
    )?;
    let profile = run.only()?;
    let [note] = &profile.header.notes[..] else {
        anyhow::bail!("{:?}", profile.header.notes);
    };
    ensure!(
        note.contains("could not be read") && note.contains("alpha.jar"),
        "{note}"
    );
    ensure!(profile.calls() == 3 * 73);
    Ok(())
}

/// Hundreds of class loaders with different names come and go. From some number on, further loaders
/// count as one, which bounds the number of rows and ids.
#[test]
fn names_that_come_and_go_are_one() -> Result<()> {
    let folder = rounds(false)?;
    let jar = folder.path().join("alpha.jar");
    for jdk in JDKS {
        let jvm = ["-XX:MaxMetaspaceSize=16m"];
        let arguments = ["PlainRounds", &jar.to_string_lossy(), "3000", "plugin-"];
        let run = Run::new(jdk, &jvm, folder.path(), &arguments)?;
        ensure!(run.code == Some(0), "{jdk}: {}", run.stderr);
        let profile = run.only()?;
        ensure!(profile.calls() == 3000 * 73, "{jdk}: {}", profile.calls());
        let mains = profile.methods.iter().filter(|m| &*m.name == "main");
        let mut loaders: Vec<_> = mains.map(|m| (m.loaders, &*m.loader)).collect();
        loaders.sort_unstable();
        let many = loaders.pop().context("the profile has no such rows")?;
        ensure!(
            many.1 == "plugin-#" && many.0 > 300,
            "{jdk}: {many:?} {}",
            loaders.len()
        );
        ensure!(loaders.len() as u32 + many.0 == 3000);
        ensure!(loaders.contains(&(1, "plugin-0")), "{jdk}");
        let [note] = &profile.header.notes[..] else {
            anyhow::bail!("{:?}", profile.header.notes);
        };
        ensure!(
            note.starts_with(&format!("{} class loaders", many.0)),
            "{note}"
        );
    }
    Ok(())
}

/// A tracker keeps its own class loader alive. So only a limited number of trackers count;
/// otherwise the program would run out of memory.
#[test]
fn loaders_with_trackers_are_few() -> Result<()> {
    let folder = rounds(true)?;
    let jar = folder.path().join("alpha.jar");
    for jdk in JDKS {
        let jvm = ["-XX:MaxMetaspaceSize=16m"];
        let arguments = ["PlainRounds", &jar.to_string_lossy(), "100"];
        let run = Run::new(jdk, &jvm, folder.path(), &arguments)?;
        ensure!(run.code == Some(0), "{jdk}: {}", run.stderr);
        ensure!(
            run.stdout == "16 loaders left, 16 with ticks of 1 threads\n",
            "{jdk}: {}",
            run.stdout
        );
        let [told] = &run.told[..] else {
            anyhow::bail!("{jdk}: {}", run.stderr);
        };
        ensure!(told.contains("--tracker jar:"), "{told}");
        let mut expected: Vec<String> = (2..17).map(|n| format!("loadhook-%p.{n}.pb.gz")).collect();
        expected.push("loadhook-%p.pb.gz".to_owned());
        expected.sort();
        ensure!(run.files()? == expected, "{jdk}: {:?}", run.files()?);
        for file in &expected {
            let profile = run.profile(file)?;
            ensure!(profile.calls() == 73, "{file}: {}", profile.calls());
            let [note] = &profile.header.notes[..] else {
                anyhow::bail!("{:?}", profile.header.notes);
            };
            let expected =
                "16 trackers in this process, each with a profile, and the archives of 84 more";
            ensure!(note.starts_with(expected), "{note}");
        }
    }
    Ok(())
}
