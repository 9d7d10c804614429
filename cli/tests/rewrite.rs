//! Tests of `loadhook rewrite` on files: outputs, errors, and interruptions.

mod common;

use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use common::{classes, done, folder, loadhook};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::paths::names;
use loadhook_testkit::{corpus, process, source};
use zip::write::SimpleFileOptions;

/// Makes a jar of the program's classes with the JDK's tool.
fn jar(folder: &Path, name: &str) -> Result<PathBuf> {
    let jar = folder.join(name);
    source::jar(&jar, &["--main-class", "shop.Shop"], &classes())?;
    Ok(jar)
}

/// Makes a jar of several megabytes.
fn large_jar(path: &Path) -> Result<()> {
    let root = corpus::jdk_classes(17)?.join("java.base");
    let mut jar = zip::ZipWriter::new(File::create(path)?);
    for class in corpus::files(&root.join("java/util"), "class")? {
        let name = class.strip_prefix(&root)?.to_string_lossy().into_owned();
        jar.start_file(name, SimpleFileOptions::default())?;
        jar.write_all(&fs::read(&class)?)?;
    }
    jar.finish()?;
    Ok(())
}

fn entry(jar: &Path, name: &str) -> Result<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(File::open(jar)?)?;
    let mut content = Vec::new();
    archive.by_name(name)?.read_to_end(&mut content)?;
    Ok(content)
}

#[test]
fn output_does_not_depend_on_threads() -> Result<()> {
    let folder = folder();
    large_jar(&folder.path().join("in.jar"))?;
    for jobs in ["1", "2", "7"] {
        let out = format!("out{jobs}.jar");
        let args = ["rewrite", "in.jar", "-o", &out, "--jobs", jobs, "--quiet"];
        done(&mut loadhook(folder.path(), &args)).expect(0, "", &[]);
    }
    let out = |jobs: &str| fs::read(folder.path().join(format!("out{jobs}.jar")));
    ensure!(out("1")? == out("2")? && out("1")? == out("7")?);
    Ok(())
}

#[test]
fn signed_archives_are_refused_or_stripped() -> Result<()> {
    let folder = folder();
    let signed = jar(folder.path(), "signed.jar")?;
    let jdk = Jdk::find(17)?;
    let secrets = ["-keystore", "keys", "-storepass", "changeit"];
    let mut keytool = jdk.tool("keytool")?;
    keytool.args([
        "-genkeypair",
        "-alias",
        "a",
        "-keyalg",
        "EC",
        "-dname",
        "CN=a",
    ]);
    process::output(keytool.args(secrets).current_dir(folder.path()))?;
    let mut jarsigner = jdk.tool("jarsigner")?;
    jarsigner.args(secrets).arg(&signed).arg("a");
    process::output(jarsigner.current_dir(folder.path()))?;
    let before = fs::read(&signed)?;

    let refused = ["rewrite", "signed.jar", "-o", "signed.jar"];
    done(&mut loadhook(folder.path(), &refused)).expect(
        1,
        "",
        &[
            "error: signed.jar is signed",
            "add --strip-signatures to remove it",
        ],
    );
    ensure!(
        fs::read(&signed)? == before,
        "the command refused the archive, but changed it"
    );
    ensure!(names(folder.path())? == ["keys", "signed.jar"]);

    let stripped = [
        "rewrite",
        "signed.jar",
        "-o",
        "out.jar",
        "--strip-signatures",
    ];
    done(&mut loadhook(folder.path(), &stripped)).expect(0, "", &["signature removed: signed.jar"]);
    let out = folder.path().join("out.jar");
    let manifest = String::from_utf8(entry(&out, "META-INF/MANIFEST.MF")?)?;
    ensure!(manifest.contains("Main-Class: shop.Shop"), "{manifest}");
    ensure!(!manifest.contains("Digest"), "{manifest}");
    ensure!(entry(&out, "META-INF/A.SF").is_err());
    let verify = process::output(jdk.tool("jarsigner")?.arg("-verify").arg(&out))?;
    ensure!(verify.contains("jar is unsigned"), "{verify}");

    // If no class of a signed jar changes, its signature stays valid.
    let nothing = [
        "rewrite",
        "signed.jar",
        "-o",
        "same.jar",
        "--include",
        "no.Such",
    ];
    done(&mut loadhook(folder.path(), &nothing)).expect(
        0,
        "",
        &["warning: no class or method matched `no.Such`"],
    );
    ensure!(fs::read(folder.path().join("same.jar"))? == before);
    Ok(())
}

#[test]
fn several_inputs_go_to_a_folder() -> Result<()> {
    let folder = folder();
    jar(folder.path(), "a.jar")?;
    fs::create_dir(folder.path().join("sub"))?;
    jar(&folder.path().join("sub"), "a.jar")?;
    jar(folder.path(), "b.jar")?;
    let args = ["rewrite", "a.jar", "b.jar", "-o", "out", "--dry-run"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &["no file was written (--dry-run)"]);
    ensure!(names(folder.path())? == ["a.jar", "b.jar", "sub"]);
    done(&mut loadhook(folder.path(), &args[..5])).expect(0, "", &["classes rewritten"]);
    ensure!(names(&folder.path().join("out"))? == ["a.jar", "b.jar"]);
    let twice = ["rewrite", "a.jar", "sub/a.jar", "-o", "out"];
    done(&mut loadhook(folder.path(), &twice)).expect(
        2,
        "",
        &["a.jar and sub/a.jar would both be written to out/a.jar"],
    );
    let file = ["rewrite", "a.jar", "b.jar", "-o", "a.jar"];
    done(&mut loadhook(folder.path(), &file)).expect(2, "", &["several inputs need a folder"]);
    Ok(())
}

#[test]
fn instrumented_classes_are_refused_or_copied() -> Result<()> {
    let folder = folder();
    jar(folder.path(), "a.jar")?;
    let rewrite = |from, to, more: &[&str]| {
        let mut args = vec!["rewrite", from, "-o", to];
        args.extend(more);
        done(&mut loadhook(folder.path(), &args))
    };
    rewrite("a.jar", "b.jar", &[]).expect(0, "", &["classes rewritten"]);
    rewrite("b.jar", "c.jar", &[]).expect(
        1,
        "",
        &[
            "b.jar!/",
            "is already instrumented; add --skip-instrumented to leave such classes unchanged",
        ],
    );
    rewrite("b.jar", "c.jar", &["--skip-instrumented"]).expect(
        0,
        "",
        &["classes were instrumented already and are unchanged"],
    );
    let read = |name: &str| fs::read(folder.path().join(name));
    ensure!(read("b.jar")? == read("c.jar")?);
    Ok(())
}

#[test]
fn unreadable_classes_are_copied_and_named() -> Result<()> {
    let folder = folder();
    let mut jar = zip::ZipWriter::new(File::create(folder.path().join("a.jar"))?);
    for (name, content) in [
        ("shop/Bad.class", &b"\xca\xfe\xba\xbe\0\0"[..]),
        ("lib/inner.jar", b"no archive"),
        ("text", b"text"),
    ] {
        jar.start_file(name, SimpleFileOptions::default())?;
        jar.write_all(content)?;
    }
    jar.finish()?;
    let args = ["rewrite", "a.jar", "-o", "b.jar", "--json"];
    let result = done(&mut loadhook(folder.path(), &args));
    ensure!(result.code == Some(0), "{}", result.err);
    let json: serde_json::Value = serde_json::from_str(&result.out)?;
    let unreadable = json["unreadable"]
        .as_array()
        .context("the field is no list")?;
    ensure!(unreadable.len() == 2, "{unreadable:?}");
    for what in [
        "a.jar!/shop/Bad.class: ",
        "a.jar!/lib/inner.jar: not an archive",
    ] {
        ensure!(
            unreadable
                .iter()
                .any(|line| line.as_str().is_some_and(|l| l.starts_with(what)))
        );
    }
    ensure!(fs::read(folder.path().join("a.jar"))? == fs::read(folder.path().join("b.jar"))?);
    let strict = ["rewrite", "a.jar", "-o", "c.jar", "--strict"];
    done(&mut loadhook(folder.path(), &strict)).expect(1, "", &["error: a.jar!/"]);
    let dry = [&strict[..], &["--dry-run"]].concat();
    done(&mut loadhook(folder.path(), &dry)).expect(1, "", &["error: a.jar!/"]);
    ensure!(
        names(folder.path())? == ["a.jar", "b.jar"],
        "an output was written despite the error"
    );
    Ok(())
}

/// A small nested archive unpacks to many megabytes. The name of the archive around it has control
/// characters.
#[test]
fn bombs_are_refused_and_names_cannot_move_the_cursor() -> Result<()> {
    let folder = folder();
    let mut bomb = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for number in 0..3 {
        bomb.start_file(format!("{number}.class"), options)?;
        bomb.write_all(&vec![0; 1 << 20])?;
    }
    let bomb = bomb.finish()?.into_inner();
    let mut jar = zip::ZipWriter::new(File::create(folder.path().join("a.jar"))?);
    jar.start_file("\x1b[2J\nerror.jar", options)?;
    jar.write_all(&bomb)?;
    jar.start_file("\x1b[2J.class", options)?;
    jar.finish()?;
    let args = ["rewrite", "a.jar", "-o", "b.jar", "--max-total", "3"];
    let said = "error: a.jar!/\\u{1b}[2J\\nerror.jar unpacks to more than 3 MiB; raise --max-total";
    done(&mut loadhook(folder.path(), &args)).expect(1, "", &[said, "--max-total"]);
    ensure!(names(folder.path())? == ["a.jar"]);
    let said = "unreadable, copied unchanged: a.jar!/\\u{1b}[2J.class: ";
    let result = done(&mut loadhook(folder.path(), &args[..4]));
    result.expect(0, "", &[said]);
    ensure!(!result.err.contains('\x1b'), "{}", result.err);
    Ok(())
}

/// Commands whose output would overwrite an input, or would not run, are refused before anything is
/// written.
#[test]
fn impossible_outputs_are_refused() -> Result<()> {
    let folder = folder();
    jar(folder.path(), "a.jar")?;
    jar(folder.path(), "b.jar")?;
    let ends = |code: i32, args: &[&str], said: &str| {
        let mut all = vec!["rewrite"];
        all.extend(args);
        done(&mut loadhook(folder.path(), &all)).expect(code, "", &["error: ", said]);
    };
    let refused = |args: &[&str], said: &str| ends(2, args, said);
    let before = fs::read(folder.path().join("a.jar"))?;
    for tracker in ["jar:out/b.jar", "jar:./a.jar"] {
        let args = ["a.jar", "b.jar", "-o", "out", "--tracker", tracker];
        refused(&args, "the tracker jar would replace ");
    }
    let class = classes().join("shop/Shop.class");
    let class = class.to_str().context("the path is not UTF-8")?;
    refused(
        &["a.jar", class, "-o", "out"],
        "a single class file cannot contain a tracker; ",
    );
    let plain = ["a.jar", "-o", "out"];
    for (more, said) in [
        (["--include", "a[["], "--include: "),
        (["--exclude", "a[["], "--exclude: "),
        (
            ["--probes", "alloc"],
            "need your own tracker; add --tracker none",
        ),
        (
            ["--probes", "timing,count"],
            "--probes timing counts calls, too; leave out timing or count",
        ),
    ] {
        refused(&[&plain[..], &more].concat(), said);
    }
    // The name of the tracker's jar is checked at the start, although that jar is written at the
    // end.
    let nowhere = ["--tracker", "jar:b.jar/tracker.jar"];
    ends(1, &[&plain[..], &nowhere].concat(), "b.jar");
    ends(1, &["none.jar", "-o", "out"], "none.jar: ");
    ensure!(!folder.path().join("out").exists());
    ensure!(
        std::process::Command::new("mkfifo")
            .arg(folder.path().join("pipe"))
            .status()?
            .success()
    );
    ends(1, &["a.jar", "-o", "pipe"], "pipe: not a file");
    ensure!(!fs::metadata(folder.path().join("pipe"))?.is_file());
    ensure!(fs::read(folder.path().join("a.jar"))? == before);
    Ok(())
}

/// Returns the length of the temporary file to which the output is written; `None` if there is none.
fn beside(folder: &Path) -> Result<Option<u64>> {
    for name in names(folder)? {
        if name.starts_with(".loadhook-") {
            // The length is `None` if the file was renamed after its name was listed.
            return Ok(fs::metadata(folder.join(name)).ok().map(|file| file.len()));
        }
    }
    Ok(None)
}

/// The output is written to a temporary file and then renamed, so the archive is complete at every
/// moment. The test kills the command at several stages: before, during and after the writing.
#[test]
fn a_kill_at_every_stage_leaves_the_old_file_or_the_new_one() -> Result<()> {
    const STAGES: u64 = 8;
    let folder = folder();
    let path = folder.path().join("a.jar");
    large_jar(&path)?;
    let before = fs::read(&path)?;
    let args = ["rewrite", "a.jar", "-o", "a.jar", "--quiet"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &[]);
    let after = fs::read(&path)?;
    let len = after.len() as u64;
    for stage in 0..=STAGES + 1 {
        // In stage 0 the command is killed before the temporary file exists, in stage 1 as soon as
        // it exists.
        let wanted = stage.checked_sub(1).map(|parts| len * parts / STAGES);
        let mut tries = 0..50;
        loop {
            ensure!(
                tries.next().is_some(),
                "the command was never killed in stage {stage}"
            );
            fs::write(&path, &before)?;
            let mut child = loadhook(folder.path(), &args)
                .stdin(Stdio::null())
                .spawn()?;
            let _limit = process::limit(&child);
            let ended = loop {
                let written = beside(folder.path())?;
                if wanted.is_none_or(|wanted| written.is_some_and(|written| written >= wanted)) {
                    child.kill()?;
                    break child.wait()?.success();
                }
                if let Some(code) = child.try_wait()? {
                    break code.success();
                }
            };
            let found = fs::read(&path)?;
            let is_old = found == before;
            ensure!(
                is_old || found == after,
                "the archive is neither old nor new in stage {stage}"
            );
            if beside(folder.path())?.is_some() {
                ensure!(
                    is_old,
                    "the file was renamed before it was complete, in stage {stage}"
                );
            }
            for name in names(folder.path())? {
                ensure!(name == "a.jar" || name.starts_with(".loadhook-"), "{name}");
                if name != "a.jar" {
                    fs::remove_file(folder.path().join(name))?;
                }
            }
            // In the last stage, the command may end before it is killed.
            if !ended || stage == STAGES + 1 {
                break;
            }
        }
    }
    Ok(())
}

#[test]
fn an_interrupt_leaves_nothing_behind() -> Result<()> {
    let folder = folder();
    let path = folder.path().join("a.jar");
    large_jar(&path)?;
    let before = fs::read(&path)?;
    let mut delay = Duration::from_millis(20);
    for _ in 0..100 {
        let args = ["rewrite", "a.jar", "-o", "a.jar", "--quiet"];
        let mut command = loadhook(folder.path(), &args);
        let child = command.stderr(Stdio::null()).spawn()?;
        thread::sleep(delay);
        let pid = child.id().to_string();
        let mut kill = std::process::Command::new("kill");
        ensure!(kill.args(["-INT", &pid]).status()?.success());
        let code = process::end(child)?.status.code();
        match code {
            Some(130) => {
                ensure!(
                    names(folder.path())? == ["a.jar"],
                    "a temporary file is left"
                );
                ensure!(fs::read(&path)? == before);
                return Ok(());
            }
            // The signal came before the command handled signals. So send the next signal later.
            None => delay = delay * 3 / 2,
            Some(0) => delay = delay * 3 / 4,
            Some(code) => anyhow::bail!(
                "exit code 0 or that of an interrupted command expected, {code} found"
            ),
        }
        fs::write(&path, &before)?;
    }
    anyhow::bail!("the command was never interrupted in time")
}

#[test]
fn the_first_bytes_decide_the_kind_of_an_input() -> Result<()> {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let rewrite = |from: &str| {
        done(&mut loadhook(
            folder.path(),
            &["rewrite", from, "-o", "out"],
        ))
    };
    fs::rename(jar(folder.path(), "app.jar")?, path("app.aar"))?;
    rewrite("app.aar").expect(0, "", &[" classes rewritten"]);
    zip::ZipArchive::new(File::open(path("out"))?)?;

    fs::write(path("app.jmod"), b"JM\x01\x00PK\x03\x04")?;
    rewrite("app.jmod").expect(1, "", &["app.jmod: a JMOD file"]);
    // Nothing ever writes to this pipe, so a command that read it would wait for ever.
    process::output(std::process::Command::new("mkfifo").arg(path("pipe.jar")))?;
    rewrite("pipe.jar").expect(
        1,
        "",
        &["pipe.jar: neither a file nor a folder, so it cannot be rewritten"],
    );
    zip::ZipWriter::new(File::create(path("empty.jar"))?).finish()?;
    rewrite("empty.jar").expect(0, "", &["\nthe input contains no class\n"]);

    fs::remove_file(path("out"))?;
    std::os::unix::fs::symlink("nowhere", path("out"))?;
    rewrite("app.aar").expect(1, "", &["error: out: a link to a file that does not exist"]);
    ensure!(path("out").is_symlink() && !path("nowhere").exists());
    Ok(())
}
