//! The ends of programs. The profile is written, and the exit code is the program's own. If the
//! profile cannot be written, the agent prints a message, and nothing else changes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use loadhook_testkit::process;
use world::{Program, Ran, classes, expect, read, without_options};

mod world;

fn program(feature: u32, how: &[&str]) -> Result<Program> {
    let mut main = vec!["Ends"];
    main.extend(how);
    Program::new(feature, &classes("ends")?, &main)
}

/// Waits until the program is ready, and sends it the signal.
fn signalled(program: &Program, signal: &str) -> Result<Ran> {
    let mut command = program.command(true)?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdout = BufReader::new(
        child
            .stdout
            .take()
            .context("the process has no standard output")?,
    );
    let mut line = String::new();
    stdout.read_line(&mut line)?;
    let kill = format!("kill -{signal} {}", child.id());
    ensure!(Command::new("sh").args(["-c", &kill]).status()?.success());
    let mut stdout = stdout.lines().collect::<Result<Vec<_>, _>>()?;
    stdout.insert(0, line.trim_end().to_owned());
    let output = process::end(child)?;
    Ok(Ran {
        stdout: stdout.join("\n"),
        ..output.into()
    })
}

fn signals(feature: u32) -> Result<()> {
    for (signal, code) in [("HUP", 129), ("INT", 130), ("TERM", 143)] {
        for (how, steps, stdout) in [("sleep", 1000, "ready"), ("hook", 1010, "ready\nhook")] {
            let program = program(feature, &[how])?;
            let observed = signalled(&program, signal)?;
            ensure!(
                observed.code == Some(code) && observed.stdout == stdout,
                "{signal}: {observed}"
            );
            ensure!(!observed.stderr.contains("loadhook"), "{observed}");
            expect(&program.profile()?, &[("Ends.step", steps)])
                .with_context(|| format!("JDK {feature}, {signal}, {how}"))?;
        }
    }
    Ok(())
}

#[test]
fn signals_write_the_profile_on_17() -> Result<()> {
    signals(17)
}

#[test]
fn signals_write_the_profile_on_25() -> Result<()> {
    signals(25)
}

fn exits(feature: u32) -> Result<()> {
    for (how, code) in [
        ("return", 0),
        ("throw", 1),
        ("halt", 3),
        ("exit", 4),
        ("exit-elsewhere", 5),
        ("exit-twice", 6),
        ("daemon", 0),
    ] {
        let program = program(feature, &[how])?;
        let profile = program.prints("ready\n", code).context(how)?;
        expect(&profile, &[("Ends.step", 1000), ("Ends.main", 1)]).context(how)?;
        let mode = fs::metadata(program.file())?.permissions().mode();
        ensure!(
            mode & 0o777 == 0o600,
            "the profile should have mode 600, but has {mode:o}"
        );
    }
    Ok(())
}

#[test]
fn every_exit_writes_the_profile_on_17() -> Result<()> {
    exits(17)
}

#[test]
fn every_exit_writes_the_profile_on_25() -> Result<()> {
    exits(25)
}

/// Runs the program with `file` as the agent's file, and returns the agent's messages.
fn with_file(program: &Program, file: &Path) -> Result<Vec<String>> {
    let plain = program.plain()?;
    let mut command = program.java();
    command.arg(world::agent_option("all=true,quiet=true", file)?);
    let observed: Ran = process::finish(command.args(&program.jvm).args(&program.main))?.into();
    ensure!(
        observed.stdout == plain.stdout && observed.code == plain.code,
        "output or exit code differ. Without the agent: {plain}\nwith it, profile {}: {observed}",
        file.display()
    );
    let lines = observed.stderr.lines();
    Ok(lines
        .filter(|line| line.starts_with("loadhook"))
        .map(str::to_owned)
        .collect())
}

/// If the file cannot be written, the agent says so before the program starts and after it has
/// ended. The program runs.
#[test]
fn unwritable_files_are_reported() -> Result<()> {
    let program = program(17, &["exit"])?;
    let folder = program.folder().join("a-folder");
    fs::create_dir(&folder)?;
    let missing = program.folder().join("missing/profile");
    let below_file = program.folder().join("file/profile");
    fs::write(program.folder().join("file"), "")?;
    with_file(&program, &missing)?;
    read(&missing).context("a missing folder is made")?;
    for (file, error) in [
        (&below_file, "Not a directory"),
        (&folder, "is a directory"),
    ] {
        let lines = with_file(&program, file)?;
        let [before, after] = &lines[..] else {
            anyhow::bail!("two lines of output expected: {lines:#?}");
        };
        let name = file.display().to_string();
        ensure!(
            before.contains(&name) && before.contains(error) && before.contains("tried again"),
            "{before}"
        );
        ensure!(
            after.contains("no profile") && after.contains(error),
            "{after}"
        );
    }
    ensure!(fs::read_dir(&folder)?.next().is_none());
    Ok(())
}

/// Two JVMs use the same name for their profiles, as in two containers. The second JVM takes
/// another name.
#[test]
fn a_noted_name_is_not_taken_again() -> Result<()> {
    let program = program(17, &["exit"])?;
    let manifest = program.folder().join("list");
    let with_list = |manifest: &Path, more: &str| -> Result<Ran> {
        let mut command = program.java();
        command.arg(format!(
            "{},manifest={}{more}",
            program.agent_option()?,
            manifest.display()
        ));
        Ok(process::finish(command.args(&program.jvm).args(&program.main))?.into())
    };
    for more in ["", ",snapshot-every=100ms"] {
        let ran = with_list(&manifest, more)?;
        ensure!(ran.code == Some(4) && ran.stderr.is_empty(), "{ran}");
    }
    let second = program.folder().join("profile.2.pb.gz");
    for file in [&program.file(), &second] {
        expect(&read(file)?, &[("Ends.step", 1000)])?;
    }
    let listed = format!("{}\0{}\0", program.file().display(), second.display());
    ensure!(fs::read_to_string(&manifest)? == listed);
    ensure!(fs::read_dir(program.folder())?.count() == 3);

    // The command that made the manifest sets `quiet`, and may have exited before the JVM.
    let missing = program.folder().join("missing/list");
    for (quiet, lines) in [("true", 0), ("false", 2)] {
        let ran = with_list(&missing, &format!(",quiet={quiet}"))?;
        let told: Vec<&str> = ran.stderr.lines().collect();
        ensure!(ran.code == Some(4) && told.len() == lines, "{ran}");
        let name = missing.display().to_string();
        ensure!(lines == 0 || told[0].contains(&name), "{ran}");
    }
    Ok(())
}

/// A folder that does not exist at the start may exist at the end; then the profile is written.
#[test]
fn the_file_is_tried_again_at_the_end() -> Result<()> {
    let folder = tempfile::tempdir()?;
    // The link leads to nothing until the program has made the folder. The agent cannot make this
    // folder.
    let [made, link] = ["made", "link"].map(|name| folder.path().join(name));
    symlink(&made, &link)?;
    let made_text = made.display().to_string();
    let program = program(17, &["mkdir", &made_text])?;
    // `with_file` is not used, because its plain run would make the folder.
    let mut command = program.java();
    let file = link.join("profile");
    command.arg(world::agent_option("all=true,quiet=true", &file)?);
    let ran: Ran = process::finish(command.args(&program.jvm).args(&program.main))?.into();
    ensure!(
        ran.stdout == "ready\ntrue\n" && ran.code == Some(0),
        "{ran}"
    );
    ensure!(ran.stderr.lines().count() == 1, "{ran}");
    expect(&read(&file)?, &[("Ends.step", 1000)])
}

/// If the file is a link, the agent replaces the file that the link leads to, and keeps the link.
#[test]
fn a_link_stays_a_link() -> Result<()> {
    let program = program(17, &["exit"])?;
    let (target, link) = (
        program.folder().join("target"),
        program.folder().join("link"),
    );
    fs::write(&target, "earlier")?;
    symlink(&target, &link)?;
    let lines = with_file(&program, &link)?;
    ensure!(lines.is_empty(), "{lines:#?}");
    ensure!(fs::symlink_metadata(&link)?.is_symlink());
    expect(&read(&target)?, &[("Ends.step", 1000)])
}

/// If there is no room for the profile, the agent prints one message, the exit code is the
/// program's, the earlier file stays, and no temporary file is left. A limit on the size of files
/// stands for a full disk.
#[test]
fn a_full_disk_is_reported() -> Result<()> {
    let program = program(17, &["exit"])?;
    fs::write(program.file(), "earlier")?;
    let mut command = without_options(Command::new("sh"));
    // The unit of the limit is 512 or 1,024 bytes, depending on the shell. The JVM's file of
    // performance data also needs room.
    command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]);
    command.arg(program.jdk.home.join("bin/java"));
    command.arg("-XX:-UsePerfData");
    command.arg(program.agent_option()?);
    command.args(&program.jvm).args(&program.main);
    // The profile contains the command, so an argument of random letters, which cannot be
    // compressed, makes it large.
    let mut state = 1_u32;
    let noise: String = (0..8000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'a' + (state >> 24) as u8 % 26)
        })
        .collect();
    let ran: Ran = process::finish(command.arg(noise))?.into();
    ensure!(ran.stdout == "ready\n" && ran.code == Some(4), "{ran}");
    let told: Vec<&str> = ran.stderr.lines().collect();
    ensure!(
        told.len() == 1 && told[0].starts_with("loadhook: no profile:"),
        "{ran}"
    );
    ensure!(told[0].contains("File too large"), "{ran}");
    ensure!(fs::read(program.file())? == b"earlier");
    let names: Vec<_> = fs::read_dir(program.folder())?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    ensure!(names == ["profile.pb.gz"], "{names:?}");
    Ok(())
}

/// The heap has no room for the agent. No allocation of the agent may fail, since with
/// `-XX:+ExitOnOutOfMemoryError` the JVM would then end with an exit code of its own. (On JDK 25,
/// the default collector itself ends the program in this way.)
#[test]
fn a_full_heap_is_reported() -> Result<()> {
    let jvm = ["-Xmx32m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"];
    for options in ["", ",snapshot-every=100ms"] {
        let program = Program::new(17, &classes("ends")?, &["Full", "90"])?
            .jvm(&jvm)
            .options(&format!("all=true,quiet=true{options}"));
        let plain = program.plain()?;
        ensure!(plain.stdout == "full\n" && plain.code == Some(8), "{plain}");
        let observed = program.observed()?;
        ensure!(
            observed.stdout == plain.stdout && observed.code == plain.code,
            "{observed}"
        );
        // If a collection frees enough memory, a profile is written.
        let told = observed
            .stderr
            .contains("no profile: the heap is full; give the JVM more heap (-Xmx)");
        ensure!(told || program.profile().is_ok(), "{observed}");
    }
    Ok(())
}
