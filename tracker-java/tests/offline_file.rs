//! Tests of the profile that a rewritten archive writes, and of the settings of that archive.

mod support;

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use loadhook_profile::format::pprof;
use loadhook_profile::{Profile, Timing};
use loadhook_testkit::jdk::Jdk;
use support::checks::{JDKS, check_work};
use support::offline::{Run, work};

#[test]
fn each_process_finds_a_name() -> Result<()> {
    let archive = work(&[])?;
    let folder = tempfile::tempdir()?;
    let jvm = ["-Dloadhook.append=true", "-Dloadhook.file=x.pb.gz"];
    let start = |_| {
        let mut java = Jdk::find(17)?.java();
        java.args(jvm).arg("-cp").arg(archive.path()).arg("Work");
        java.current_dir(folder.path()).stdout(Stdio::null());
        Ok(java.spawn()?)
    };
    let processes: Vec<_> = (0..6).map(start).collect::<Result<_>>()?;
    for mut process in processes {
        ensure!(process.wait()?.success());
    }
    for name in ["x", "x.2", "x.3", "x.4", "x.5", "x.6"] {
        let file = fs::read(folder.path().join(format!("{name}.pb.gz")));
        check_work(&pprof::read(&file.context(name)?)?, 1)?;
    }
    ensure!(fs::read_dir(folder.path())?.count() == 6);
    Ok(())
}

#[test]
fn the_longest_name_is_written() -> Result<()> {
    let archive = work(&[])?;
    let folder = tempfile::tempdir()?;
    let name = "x".repeat(249) + ".pb.gz";
    let mut java = Jdk::find(17)?.java();
    java.arg(format!("-Dloadhook.file={name}"));
    java.arg("-cp").arg(archive.path()).arg("Work");
    java.current_dir(folder.path()).stdout(Stdio::null());
    ensure!(java.status()?.success());
    let file = fs::read(folder.path().join(name))?;
    check_work(&pprof::read(&file)?, 1)?;
    ensure!(fs::read_dir(folder.path())?.count() == 1);
    Ok(())
}

#[test]
fn later_settings_win() -> Result<()> {
    let folder = work(&[])?;
    let properties = folder.path().join("loadhook.properties");
    fs::write(
        &properties,
        "# ours\ntiming = count\nmax-nodes = 5\nfile: from-file-%p.pb.gz\n",
    )?;
    let run = |jvm: &[&str], environment: &[(&str, &str)]| {
        Run::within(
            tempfile::tempdir()?,
            17,
            jvm,
            folder.path(),
            &["Work"],
            environment,
        )
    };
    let only = |run: &Run| -> Result<(String, Profile)> {
        ensure!(run.told.is_empty(), "{}", run.stderr);
        let files = run.files()?;
        ensure!(files.len() == 1, "{files:?}");
        Ok((files[0].clone(), run.profile(&files[0])?))
    };
    let (name, profile) = only(&run(&[], &[])?)?;
    let id = name
        .trim_start_matches("from-file-")
        .trim_end_matches(".pb.gz");
    ensure!(id.parse::<u32>().is_ok(), "{name}");
    ensure!(profile.header.timing == Timing::Count && profile.header.overflowed_calls > 0);
    let all: u64 = profile.calls();

    let environment = [
        ("LOADHOOK_TIMING", "exact"),
        ("LOADHOOK_MAX_NODES", "1000"),
        ("LOADHOOK_FILE", "from-environment.pb.gz"),
        ("LOADHOOK_CLOCK", ""),
    ];
    let (name, profile) = only(&run(&[], &environment)?)?;
    ensure!(name == "from-environment.pb.gz");
    ensure!(profile.header.timing == Timing::Exact && profile.header.overflowed_calls == 0);
    ensure!(profile.calls() == all, "{} {all}", profile.calls());

    let jvm = [
        "-Dloadhook.timing=adaptive",
        "-Dloadhook.file=from-option.pb.gz",
    ];
    let (name, profile) = only(&run(&jvm, &environment)?)?;
    ensure!(name == "from-option.pb.gz");
    ensure!(profile.header.timing == Timing::Adaptive && profile.header.overflowed_calls == 0);

    let off = run(&["-Dloadhook.dump-on-exit=false"], &[])?;
    ensure!(off.code == Some(0) && off.told.is_empty() && off.files()?.is_empty());
    Ok(())
}

/// In the name of the file, `%p` stands for the process id; in the name of a folder, it stays as it is. The agent
/// does the same.
#[test]
fn the_process_id_goes_into_the_name_only() -> Result<()> {
    let archive = work(&[])?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("a%p");
    fs::create_dir(&place)?;
    let jvm = ["-Dloadhook.file=a%p/%p.pb.gz"];
    let run = Run::within(folder, 17, &jvm, archive.path(), &["Work"], &[])?;
    ensure!(run.told.is_empty(), "{}", run.stderr);
    let file = fs::read_dir(&place)?
        .next()
        .context("the run wrote no profile")??
        .path();
    let name = file
        .file_name()
        .context("the path has no file name")?
        .to_string_lossy();
    let id = name.trim_end_matches(".pb.gz");
    ensure!(id.parse::<u32>().is_ok(), "{name}");
    check_work(&pprof::read(&fs::read(&file)?)?, 1)
}

#[test]
fn bad_values_are_reported_and_ignored() -> Result<()> {
    let folder = work(&[])?;
    let properties = folder.path().join("loadhook.properties");
    fs::write(&properties, "timing=fast\ntming=exact\n")?;
    let jvm = [
        "-Dloadhook.max-nodes=0",
        "-Dloadhook.clock=sundial",
        "-Dloadhook.append=yes",
    ];
    for jdk in JDKS {
        let environment = [("LOADHOOK_DUMP_ON_EXIT", "perhaps")];
        let run = Run::within(
            tempfile::tempdir()?,
            jdk,
            &jvm,
            folder.path(),
            &["Work", "exit"],
            &environment,
        )?;
        ensure!(run.code == Some(7) && run.stdout == "the sum is positive\n");
        let expected = [
            "loadhook: loadhook.properties: unknown setting tming",
            "loadhook: loadhook.properties: timing=fast: adaptive, exact or count expected; adaptive is used",
            "loadhook: -Dloadhook.clock=sundial: wall or cpu expected; wall is used",
            "loadhook: -Dloadhook.max-nodes=0: a number from 1 to 100000000 expected; 1000000 is used",
            "loadhook: LOADHOOK_DUMP_ON_EXIT=perhaps: true or false expected; true is used",
            "loadhook: -Dloadhook.append=yes: true or false expected; false is used",
        ];
        ensure!(run.told == expected, "{:#?}", run.told);
        check_work(&run.profile("loadhook-%p.pb.gz")?, 1)?;
    }
    // If the properties file is damaged, it has no effect.
    fs::write(&properties, "timing=\\u12\n")?;
    let run = Run::new(17, &[], folder.path(), &["Work"])?;
    ensure!(
        run.told.len() == 1 && run.told[0].starts_with("loadhook: loadhook.properties: Malformed"),
        "{:?}",
        run.told
    );
    check_work(&run.profile("loadhook-%p.pb.gz")?, 1)
}

#[test]
fn messages_quote_settings_without_control_characters() -> Result<()> {
    let folder = work(&[])?;
    // A byte order mark does not belong to the first key.
    let properties = "\u{feff}timing=bo\u{1b}[2J\u{9b}1m\u{202e}\u{e0041}é\t店\u{200d}!\n";
    fs::write(folder.path().join("loadhook.properties"), properties)?;
    let run = Run::new(
        17,
        &["-Dloadhook.file=/dev/null/\u{1b}[31m.pb.gz"],
        folder.path(),
        &["Work"],
    )?;
    ensure!(run.told.len() == 2, "{:#?}", run.told);
    let timing = r"timing=bo\u{1b}[2J\u{9b}1m\u{202e}\u{e0041}é";
    ensure!(
        run.told[0].contains(timing) && run.told[0].contains("\t店\u{200d}!"),
        "{:?}",
        run.told
    );
    let file = r"no profile: /dev/null/\u{1b}[31m.pb.gz";
    ensure!(run.told[1].contains(file), "{:?}", run.told);
    ensure!(!run.stderr.contains(['\u{1b}', '\u{9b}', '\u{202e}']));
    Ok(())
}

#[test]
fn a_failed_write_leaves_the_old_file() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        for (file, reason) in [
            ("missing/x.pb.gz", "missing/x.pb.gz"),
            (".", "is a directory"),
        ] {
            let option = format!("-Dloadhook.file={file}");
            let run = Run::new(jdk, &[&option], folder.path(), &["Work", "exit"])?;
            ensure!(run.code == Some(7) && run.stdout == "the sum is positive\n");
            let [told] = &run.told[..] else {
                anyhow::bail!("{}", run.stderr);
            };
            ensure!(
                told.starts_with("loadhook: no profile: ") && told.contains(reason),
                "{told}"
            );
            ensure!(run.files()?.is_empty());
        }
        // No file may be larger than one block. This causes the same error as a full disk.
        let limited = tempfile::tempdir()?;
        fs::write(limited.path().join("x.pb.gz"), "the old one")?;
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""]);
        command.arg(Jdk::find(jdk)?.home.join("bin/java"));
        command.args(["-XX:-UsePerfData", "-Dloadhook.file=x.pb.gz", "-cp"]);
        command.arg(folder.path()).args(["Work", "exit"]);
        let run = Run::of(limited, command)?;
        ensure!(run.code == Some(7), "{}", run.stderr);
        ensure!(
            run.told.len() == 1 && run.told[0].starts_with("loadhook: no profile: "),
            "{}",
            run.stderr
        );
        ensure!(run.files()? == ["x.pb.gz"] && run.bytes("x.pb.gz")? == b"the old one");
    }
    Ok(())
}

#[test]
fn a_new_run_replaces_or_comes_beside() -> Result<()> {
    let folder = work(&[])?;
    let mut run = Run::new(17, &["-Dloadhook.file=x.pb.gz"], folder.path(), &["Work"])?;
    for (jvm, files) in [
        ("-Dloadhook.append=false", &["x.pb.gz"][..]),
        ("-Dloadhook.append=true", &["x.2.pb.gz", "x.pb.gz"]),
        (
            "-Dloadhook.append=true",
            &["x.2.pb.gz", "x.3.pb.gz", "x.pb.gz"],
        ),
        (
            "-Dloadhook.append=false",
            &["x.2.pb.gz", "x.3.pb.gz", "x.pb.gz"],
        ),
    ] {
        let before = run.bytes("x.pb.gz")?;
        let jvm = [jvm, "-Dloadhook.file=x.pb.gz"];
        run = Run::within(run.folder, 17, &jvm, folder.path(), &["Work"], &[])?;
        ensure!(run.told.is_empty(), "{}", run.stderr);
        ensure!(run.files()? == files, "{:?}", run.files()?);
        let replaces = jvm[0].ends_with("false");
        ensure!((run.bytes("x.pb.gz")? != before) == replaces);
    }
    for name in ["x.pb.gz", "x.2.pb.gz", "x.3.pb.gz"] {
        let profile = run.profile(name)?;
        check_work(&profile, 1)?;
        ensure!(profile.header.notes.is_empty());
    }
    Ok(())
}
