//! Tests of `loadhook rewrite` on folders: only classes change, and the output folder appears
//! complete or not at all.

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use common::{classes, done, folder, loadhook};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::paths::names;
use loadhook_testkit::process;

/// Everything about a path of a folder that must survive rewriting.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Thing {
    /// Permissions, and time of the last change.
    Folder(u32, SystemTime),
    Link(PathBuf),
    /// Content, permissions, and time of the last change.
    File(Vec<u8>, u32, SystemTime),
}

fn things(folder: &Path) -> Result<BTreeMap<PathBuf, Thing>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let path = below.join(entry.file_name());
            let mode = metadata.permissions().mode() & 0o7777;
            let thing = if metadata.is_dir() {
                folders.push(path.clone());
                Thing::Folder(mode, metadata.modified()?)
            } else if metadata.is_symlink() {
                Thing::Link(fs::read_link(entry.path())?)
            } else {
                Thing::File(fs::read(entry.path())?, mode, metadata.modified()?)
            };
            found.insert(path, thing);
        }
    }
    Ok(found)
}

fn set(path: &Path, mode: u32, seconds: u64) -> Result<()> {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    File::open(path)?.set_times(FileTimes::new().set_modified(then))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
}

/// Makes a folder with the program's classes, and with files, folders and links of all kinds.
fn odd(folder: &Path) -> Result<PathBuf> {
    let place = folder.join("app");
    fs::create_dir_all(place.join("shop"))?;
    for class in fs::read_dir(classes().join("shop"))? {
        let class = class?;
        fs::copy(class.path(), place.join("shop").join(class.file_name()))?;
    }
    fs::create_dir_all(place.join("empty/in/empty"))?;
    fs::write(place.join("run.sh"), "#!/bin/sh\n")?;
    set(&place.join("run.sh"), 0o750, 1_000_000_000)?;
    fs::write(place.join("read-only"), "kept")?;
    set(&place.join("read-only"), 0o444, 1_100_000_000)?;
    fs::write(place.join(OsStr::from_bytes(b"caf\xe9.txt")), "latin")?;
    fs::write(folder.join("outside"), "not ours")?;
    symlink("run.sh", place.join("inside"))?;
    symlink("shop", place.join("classes"))?;
    symlink("../outside", place.join("out"))?;
    symlink("nothing", place.join("dangling"))?;
    fs::create_dir(place.join("closed"))?;
    fs::write(place.join("closed/file"), "kept")?;
    set(&place.join("closed"), 0o555, 1_200_000_000)?;
    Ok(place)
}

/// Checks that only classes changed, and that only the tracker's files were added.
fn check(before: &BTreeMap<PathBuf, Thing>, after: &BTreeMap<PathBuf, Thing>) -> Result<()> {
    let mut rewritten = 0;
    for (path, thing) in before {
        let now = after
            .get(path)
            .with_context(|| format!("{path:?} is missing"))?;
        match (thing, now) {
            (Thing::File(was, mode, _), Thing::File(is, now, _))
                if path
                    .extension()
                    .is_some_and(|extension| extension == "class") =>
            {
                ensure!(mode == now, "{path:?}: {mode:o} {now:o}");
                rewritten += u32::from(was != is);
            }
            _ => ensure!(thing == now, "{path:?}: {thing:?} {now:?}"),
        }
    }
    ensure!(
        rewritten >= 2,
        "at least 2 rewritten classes expected, {rewritten} found"
    );
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        let ours = ["loadhook", "META-INF"].map(Path::new);
        ensure!(ours.iter().any(|ours| path.starts_with(ours)), "{path:?}");
    }
    Ok(())
}

#[test]
fn other_files_stay_unchanged() -> Result<()> {
    let folder = folder();
    let place = odd(folder.path())?;
    let before = things(&place)?;
    let args = ["rewrite", "--all", "app", "-o", "new"];
    done(&mut loadhook(folder.path(), &args)).expect(
        0,
        "",
        &["not rewritten: ", "out: a link out of the folder"],
    );
    check(&before, &things(&folder.path().join("new"))?)?;
    ensure!(things(&place)? == before, "the command changed its input");
    let inode = |path: &str| Ok::<_, anyhow::Error>(fs::metadata(folder.path().join(path))?.ino());
    ensure!(
        inode("app/read-only")? != inode("new/read-only")?,
        "the output's file read-only is a hard link to the input's"
    );

    // The folder is rewritten in place: by its name, through a link, and from inside of it.
    symlink("app", folder.path().join("link"))?;
    let args = ["rewrite", "--all", "app", "-o", "link"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &[]);
    check(&before, &things(&place)?)?;
    let is_link = fs::symlink_metadata(folder.path().join("link"))?.is_symlink();
    ensure!(is_link, "the link was replaced by a file or folder");
    ensure!(fs::read(folder.path().join("outside"))? == b"not ours");
    ensure!(names(folder.path())? == ["app", "link", "new", "outside"]);
    Ok(())
}

/// An existing output folder keeps its other files, and nothing is written through the links in it.
#[test]
fn an_existing_output_folder_is_kept() -> Result<()> {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    odd(folder.path())?;
    for place in ["there/shop", "there/other/empty", "elsewhere"] {
        fs::create_dir_all(at(place))?;
    }
    fs::write(at("there/other/file"), "kept")?;
    set(&at("there/other/file"), 0o640, 1_300_000_000)?;
    fs::write(at("there/run.sh"), "old")?;
    fs::remove_dir(at("there/shop"))?;
    symlink("../elsewhere", at("there/shop"))?;
    let args = ["rewrite", "app", "-o", "there"];
    done(&mut loadhook(folder.path(), &args)).expect(
        1,
        "",
        &["shop: a folder in the input, and a file in the existing output"],
    );
    ensure!(
        fs::read(at("there/run.sh"))? == b"old",
        "the file behind the link has changed"
    );
    fs::remove_file(at("there/shop"))?;
    symlink("../outside", at("there/inside"))?;
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &[]);
    ensure!(fs::read(at("outside"))? == b"not ours");
    ensure!(fs::read_dir(at("elsewhere"))?.next().is_none());
    let found = things(&at("there"))?;
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_300_000_000);
    let kept = Thing::File(b"kept".to_vec(), 0o640, then);
    ensure!(found.get(Path::new("other/file")) == Some(&kept));
    ensure!(matches!(
        found.get(Path::new("other/empty")),
        Some(Thing::Folder(..))
    ));
    ensure!(fs::read(at("there/run.sh"))? == b"#!/bin/sh\n");

    // The input may be inside the output folder. The output folder must not be inside the input.
    let args = ["rewrite", "there/shop", "-o", "there"];
    let before = things(&at("there/shop"))?;
    done(&mut loadhook(folder.path(), &args)).expect(
        1,
        "",
        &["is already instrumented; add --skip-instrumented to leave such classes unchanged"],
    );
    fs::create_dir(at("around"))?;
    fs::rename(at("app"), at("around/app"))?;
    let args = ["rewrite", "around/app", "-o", "around"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &[]);
    ensure!(things(&at("there/shop"))? == before);
    ensure!(at("around/app/shop/Shop.class").is_file() && at("around/shop/Shop.class").is_file());
    let args = ["rewrite", "around/app", "-o", "around/app/out"];
    done(&mut loadhook(folder.path(), &args)).expect(2, "", &["is inside the input"]);
    Ok(())
}

/// Makes a folder so large that its rewriting can be interrupted.
fn many(folder: &Path) -> Result<PathBuf> {
    let place = odd(folder)?;
    let class = fs::read(classes().join("shop/Shop.class"))?;
    for n in 0..60 {
        let copy = place.join(format!("c{n}/shop"));
        fs::create_dir_all(&copy)?;
        fs::write(copy.join("Shop.class"), &class)?;
    }
    Ok(place)
}

/// At every moment the folder must be complete, either old or new, even if it is rewritten in place.
#[test]
fn a_kill_leaves_the_old_folder_or_the_new_one() -> Result<()> {
    let folder = folder();
    let place = many(folder.path())?;
    let copy = |from: &str, to: &str| -> Result<()> {
        let _ = fs::remove_dir_all(folder.path().join(to));
        let status = Command::new("cp")
            .current_dir(folder.path())
            .args(["-a", from, to])
            .status()?;
        ensure!(status.success());
        Ok(())
    };
    copy("app", "old")?;
    let before = things(&place)?;
    let args = ["rewrite", "app", "-o", "app", "--quiet"];
    let started = std::time::Instant::now();
    let quiet = done(&mut loadhook(folder.path(), &args));
    ensure!(quiet.expect(0, "", &[]).err.is_empty(), "{}", quiet.err);
    let mut latest = started.elapsed();
    let contents = |things: &BTreeMap<PathBuf, Thing>| -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let content = |thing: &Thing| match thing {
            Thing::File(content, ..) => Some(content.clone()),
            _ => None,
        };
        things
            .iter()
            .map(|(path, thing)| (path.clone(), content(thing)))
            .collect()
    };
    let after = contents(&things(&place)?);
    let mut killed = 0;
    for part in (0..12).cycle() {
        copy("old", "app")?;
        let mut child = loadhook(folder.path(), &args)
            .stdin(Stdio::null())
            .spawn()?;
        thread::sleep(latest * part / 12);
        child.kill()?;
        if child.wait()?.success() {
            // The command ended before it was killed, so kill the next command earlier.
            latest = latest * 3 / 4;
        } else {
            killed += 1;
        }
        let found = things(&place)?;
        ensure!(
            found == before || contents(&found) == after,
            "the folder is neither old nor new after {part}"
        );
        if killed == 12 {
            break;
        }
    }
    Ok(())
}

#[test]
fn an_interrupt_leaves_no_half_folder() -> Result<()> {
    let folder = folder();
    many(folder.path())?;
    let mut delay = Duration::from_millis(20);
    for _ in 0..100 {
        let args = ["rewrite", "app", "-o", "new", "--quiet"];
        let child = loadhook(folder.path(), &args)
            .stderr(Stdio::null())
            .spawn()?;
        thread::sleep(delay);
        let pid = child.id().to_string();
        ensure!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()?
                .success()
        );
        match process::end(child)?.status.code() {
            Some(130) => {
                ensure!(
                    names(folder.path())? == ["app", "outside"],
                    "a temporary folder is left"
                );
                return Ok(());
            }
            // The signal came before the command handled signals. So send the next signal later.
            None => delay = delay * 3 / 2,
            Some(0) => delay = delay * 3 / 4,
            Some(code) => anyhow::bail!(
                "exit code 0 or that of an interrupted command expected, {code} found"
            ),
        }
        let _ = fs::remove_dir_all(folder.path().join("new"));
    }
    anyhow::bail!("the command was never interrupted in time")
}

#[test]
fn a_description_that_cannot_be_read_keeps_its_classes() -> Result<()> {
    let folder = folder();
    let place = odd(folder.path())?;
    fs::write(place.join("module-info.class"), b"no class")?;
    let before = things(&place)?;
    let said = [
        "0 of 0 classes rewritten",
        "unreadable, copied unchanged: module-info.class: ",
        "; the module's classes are not instrumented",
    ];
    done(&mut loadhook(
        folder.path(),
        &["rewrite", "app", "-o", "out"],
    ))
    .expect(0, "", &said);
    for (path, thing) in things(&folder.path().join("out"))? {
        ensure!(before.get(&path) == Some(&thing), "{}", path.display());
    }
    Ok(())
}

/// If other programs create or replace files in a folder while it is rewritten, the rewritten
/// folder must have these files.
#[test]
fn files_written_meanwhile_are_kept() -> Result<()> {
    let folder = folder();
    let place = many(folder.path())?;
    fs::create_dir(place.join("logs"))?;
    let is_done = AtomicBool::new(false);
    let (made, rewritten) = thread::scope(|scope| {
        let logs = place.join("logs");
        let is_done = &is_done;
        let writer = scope.spawn(move || {
            let mut made = 0;
            while !is_done.load(Ordering::Relaxed) {
                let number = (made + 1).to_string();
                let new = logs.join(format!("{number}.new"));
                // The rewriting may have just removed the folder, if the folder was empty. Then the
                // file was not created, and is not expected in the output.
                let is_made = fs::write(logs.join(&number), "made").is_ok();
                while is_made
                    && !(fs::write(&new, &number).is_ok()
                        && fs::rename(&new, logs.join("state")).is_ok())
                {}
                made += u32::from(is_made);
                thread::sleep(Duration::from_micros(200));
            }
            made
        });
        let rewritten = [false, true].iter().try_for_each(|verify| -> Result<()> {
            let args = ["rewrite", "app", "-o", "app", "--skip-instrumented"];
            let mut command = loadhook(folder.path(), &args);
            command.env("JAVA_HOME", Jdk::find(25)?.home);
            if *verify {
                command.arg("--verify");
            }
            let done = done(&mut command);
            ensure!(done.code == Some(0), "{}", done.err);
            Ok(())
        });
        is_done.store(true, Ordering::Relaxed);
        (writer.join(), rewritten)
    });
    rewritten?;
    let made = made.map_err(|_| anyhow::anyhow!("the thread that writes files panicked"))?;
    ensure!(made > 100, "{made}");
    let missing = (1..=made).filter(|n| !place.join(format!("logs/{n}")).exists());
    let missing: Vec<u32> = missing.collect();
    ensure!(
        missing.is_empty(),
        "the writer made {made} files, and the folder lacks these: {missing:?}"
    );
    let state = fs::read_to_string(place.join("logs/state"))?;
    ensure!(
        state == made.to_string(),
        "the file `state` should say {made}, but says {state}"
    );
    ensure!(names(folder.path())? == ["app", "outside"]);
    Ok(())
}

/// The files and folders of the output, including added ones, have the same owners as those of the
/// input.
#[test]
fn owners_and_attributes_stay() -> Result<()> {
    // The test needs extended attributes, which some file systems for temporary files lack.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let place = odd(folder.path())?;
    fs::create_dir(place.join("logs"))?;
    let own = fs::metadata(&place)?;
    let (owner, group) = if rustix::process::geteuid().is_root() {
        (1234, 1235)
    } else {
        let groups = rustix::process::getgroups()?;
        let mut others = groups.iter().map(|group| group.as_raw());
        let other = others.find(|group| *group != own.gid());
        (
            own.uid(),
            other.context("this test needs root, or a user with two groups")?,
        )
    };
    let kept = [
        "",
        "shop",
        "shop/Shop.class",
        "logs",
        "run.sh",
        "closed/file",
    ];
    for path in kept {
        std::os::unix::fs::chown(place.join(path), Some(owner), Some(group))?;
        xattr::set(place.join(path), "user.test", path.as_bytes())?;
    }
    fs::set_permissions(place.join("logs"), Permissions::from_mode(0o2750))?;
    let java = Jdk::find(25)?.home;
    for (to, more) in [("new", &[][..]), ("app", &["--verify"]), ("app", &[])] {
        let before = fs::metadata(place.join("read-only"))?.ino();
        let args = ["rewrite", "app", "-o", to, "--skip-instrumented"];
        let mut command = loadhook(folder.path(), &[&args[..], more].concat());
        done(command.env("JAVA_HOME", &java)).expect(0, "", &[]);
        let to = folder.path().join(to);
        for path in kept {
            let now = fs::metadata(to.join(path))?;
            ensure!((now.uid(), now.gid()) == (owner, group), "{path}: {now:?}");
            let value = xattr::get(to.join(path), "user.test")?;
            ensure!(value.as_deref() == Some(path.as_bytes()), "{path}");
        }
        for added in ["loadhook", "loadhook/Tracker.class", "META-INF/loadhook"] {
            let now = fs::metadata(to.join(added))?;
            ensure!((now.uid(), now.gid()) == (owner, group), "{added}: {now:?}");
        }
        let mode = fs::metadata(to.join("logs"))?.mode() & 0o7777;
        ensure!(mode == 0o2750, "{mode:o}");
        // A file that did not change is still the same file, with the same inode.
        ensure!(fs::metadata(place.join("read-only"))?.ino() == before);
    }
    Ok(())
}

/// The size limit for entries of archives also holds for class files. A larger file is copied, but
/// not read into memory.
#[test]
fn large_classes_are_copied_and_named() -> Result<()> {
    let folder = folder();
    let place = odd(folder.path())?;
    let large = File::create(place.join("shop/Large.class"))?;
    large.set_len(400 << 20)?;
    let mut command = Command::new("sh");
    command.current_dir(folder.path());
    command.args(["-c", "ulimit -v 360000; exec \"$@\"", "sh"]);
    let args = ["rewrite", "app", "-o", "app", "--max-entry", "1"];
    let limited = loadhook(folder.path(), &args);
    command.arg(limited.get_program()).args(limited.get_args());
    command.args(["--jobs", "1"]);
    let said = "unreadable, copied unchanged: shop/Large.class: larger than 1 MiB";
    done(&mut command).expect(0, "", &[said, "classes rewritten"]);
    ensure!(fs::metadata(place.join("shop/Large.class"))?.len() == 400 << 20);
    Ok(())
}

/// The user gives a folder instead of its parent, so class loaders would not find the classes by
/// their names.
#[test]
fn classes_at_the_wrong_place_are_named() -> Result<()> {
    let folder = folder();
    let place = folder.path().join("shop");
    fs::create_dir(&place)?;
    fs::copy(classes().join("shop/Shop.class"), place.join("Shop.class"))?;
    let line = "skipped, copied unchanged: Shop.class: class shop.Shop is not where a class loader would look for it";
    let result = done(&mut loadhook(
        folder.path(),
        &["rewrite", "shop", "-o", "out"],
    ));
    result.expect(0, "", &["0 of 0 classes rewritten", line]);
    ensure!(fs::read(place.join("Shop.class"))? == fs::read(folder.path().join("out/Shop.class"))?);
    Ok(())
}
