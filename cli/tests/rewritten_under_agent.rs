//! Tests of rewritten programs under `loadhook run`. Both the agent and the program's own tracker
//! count, and neither replaces the other's profile.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use common::{calls, classes, done, folder, loadhook, profiles, read};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

/// Rewrites the classes in `from` into the folder `counted`.
fn rewrite(folder: &Path, from: &Path) -> Result<()> {
    let mut rewrite = loadhook(folder, &["rewrite", "--all", "-o", "counted"]);
    done(rewrite.arg(from)).expect(0, "", &["classes rewritten"]);
    Ok(())
}

/// Returns the name of each profile in a folder, and its number of calls of `shop.Shop.main`.
fn mains(folder: &Path) -> Vec<(String, u64)> {
    let count = |name: String| {
        let profile = read(&folder.join(&name));
        let calls = calls(&profile, "shop.Shop", "main");
        (name, calls)
    };
    profiles(folder).into_iter().map(count).collect()
}

fn options<'o>(agent: &[&'o str], jvm: &[&'o str]) -> Vec<&'o str> {
    let mut all = vec!["run", "--all"];
    all.extend(agent);
    all.extend(["--", "java"]);
    all.extend(jvm);
    all.extend(["-cp", "counted", "shop.Shop", "serve"]);
    all
}

#[test]
fn each_has_a_profile_of_its_own() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    rewrite(path, &classes())?;
    let result = done(&mut loadhook(path, &options(&[], &[])));
    ensure!(result.code == Some(0), "{}", result.err);
    let found = mains(path);
    let [(second, 1), (first, 1)] = &found[..] else {
        anyhow::bail!("{found:?}: {}", result.err);
    };
    let (stem, number) = (
        first.strip_suffix(".pb.gz"),
        second.strip_suffix(".2.pb.gz"),
    );
    ensure!(stem.is_some() && stem == number, "{found:?}");
    for line in [
        format!("profile: {first} (as a page"),
        format!(
            "profile of a rewritten archive, which counted its own calls (not part of the table above): {second}"
        ),
    ] {
        ensure!(result.err.contains(&line), "{line}: {}", result.err);
    }
    Ok(())
}

/// If agent and tracker are given the same file name, they write separate files. This holds for
/// names that the user chose, for snapshots, and if earlier profiles are kept.
#[test]
fn equal_names_get_separate_files() -> Result<()> {
    for (agent, jvm, expected) in [
        (
            &["-o", "x.pb.gz", "--snapshot-every", "100ms"][..],
            &["-Dloadhook.file=x.pb.gz"][..],
            &["x.2.pb.gz", "x.pb.gz"][..],
        ),
        (
            &["-o", "x.pb.gz"],
            &["-Dloadhook.file=./x.pb.gz", "-Dloadhook.append=true"],
            &["x.2.pb.gz", "x.pb.gz"],
        ),
        (
            &["-o", "x.2.pb.gz"],
            &["-Dloadhook.file=x.pb.gz", "-Dloadhook.append=true"],
            &["x.2.pb.gz", "x.pb.gz"],
        ),
        (
            &["-o", "a.pb.gz"],
            &["-Dloadhook.file=x.pb.gz"],
            &["a.pb.gz", "x.pb.gz"],
        ),
        (
            &["-o", "link.pb.gz"],
            &["-Dloadhook.file=x.pb.gz"],
            &["link.pb.gz", "x.2.pb.gz", "x.pb.gz"],
        ),
    ] {
        let folder = folder();
        let path = folder.path();
        rewrite(path, &classes())?;
        if expected.contains(&"link.pb.gz") {
            std::os::unix::fs::symlink("x.pb.gz", path.join("link.pb.gz"))?;
        }
        for round in 0..2 {
            let result = done(&mut loadhook(path, &options(agent, jvm)));
            ensure!(result.code == Some(0), "{}", result.err);
            if round == 1 && jvm.len() == 2 {
                // The earlier profile is kept, so there is one more file.
                ensure!(profiles(path).len() == expected.len() + 1, "{agent:?}");
                continue;
            }
            let found = mains(path);
            let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
            ensure!(
                names == expected,
                "{agent:?} {jvm:?}: {names:?}: {}",
                result.err
            );
            ensure!(found.iter().all(|(_, calls)| *calls == 1), "{found:?}");
        }
    }
    Ok(())
}

/// Two archives have their own trackers, in separate class loaders, and the agent counts, too.
#[test]
fn several_trackers_stay_apart() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    rewrite(path, &classes())?;
    let source = path.join("Two.java");
    fs::write(
        &source,
        "import java.net.*;
         public class Two {
             public static void main(String[] args) throws Exception {
                 for (int i = 0; i < 2; i++) {
                     URL[] urls = {new java.io.File(\"counted/\").toURI().toURL()};
                     ClassLoader loader = new URLClassLoader(urls, null);
                     loader.loadClass(\"shop.Shop\").getMethod(\"main\", String[].class)
                         .invoke(null, (Object) new String[] {\"serve\"});
                 }
             }
         }",
    )?;
    process::output(Jdk::find(17)?.javac()?.arg(&source))?;
    let arguments = [
        "run",
        "--all",
        "-o",
        "x.pb.gz",
        "--",
        "java",
        "-Dloadhook.file=x.pb.gz",
        "-cp",
        ".",
        "Two",
    ];
    let result = done(&mut loadhook(path, &arguments));
    ensure!(result.code == Some(0), "{}", result.err);
    let expected = [("x.2.pb.gz", 1), ("x.3.pb.gz", 1), ("x.pb.gz", 2)];
    let expected = expected.map(|(name, calls)| (name.to_owned(), calls));
    ensure!(mains(path) == expected, "{:?}: {}", mains(path), result.err);
    for name in ["x.2.pb.gz", "x.3.pb.gz"] {
        let line = format!("not part of the table above): {name}");
        ensure!(result.err.contains(&line), "{}", result.err);
    }
    Ok(())
}

/// The agents' profiles and the trackers' have the same calls. So the merged file contains only the
/// agents'.
#[test]
fn calls_are_not_added_up() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    rewrite(path, &classes())?;
    fs::write(path.join("start"), "java -cp counted shop.Shop serve\n")?;
    let arguments = ["run", "--all", "-o", "all.pb.gz", "sh", "start"];
    let result = done(&mut loadhook(path, &arguments));
    ensure!(result.code == Some(0), "{}", result.err);
    let found = mains(path);
    let all = found.iter().find(|(name, _)| name == "all.pb.gz");
    ensure!(all.is_some_and(|(_, calls)| *calls == 1), "{found:?}");
    ensure!(
        found.len() == 2 && found.iter().all(|(_, calls)| *calls == 1),
        "{found:?}"
    );
    Ok(())
}

/// The agent runs without `loadhook run`. Its message names its own profile and the tracker's.
#[test]
fn the_agent_alone_names_both() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    rewrite(path, &classes())?;
    let mut java = Jdk::find(17)?.java();
    java.current_dir(path)
        .arg(format!(
            "-agentpath:{}=file=x.pb.gz",
            common::agent().display()
        ))
        .args([
            "-Dloadhook.file=x.pb.gz",
            "-cp",
            "counted",
            "shop.Shop",
            "serve",
        ]);
    let result = done(&mut java);
    let line = format!(
        "loadhook: profile written to x.pb.gz; profiles of rewritten archives: {}\n",
        path.canonicalize()?.join("x.2.pb.gz").display()
    );
    ensure!(result.err.contains(&line), "{}", result.err);
    // A device can take both profiles, so neither gets another name.
    let mut java = Jdk::find(17)?.java();
    let agent = common::agent();
    java.current_dir(path)
        .arg(format!(
            "-agentpath:{}=file=/dev/null,quiet=true",
            agent.display()
        ))
        .args([
            "-Dloadhook.file=/dev/null",
            "-cp",
            "counted",
            "shop.Shop",
            "serve",
        ]);
    let result = done(&mut java);
    ensure!(
        result.code == Some(0) && result.err.is_empty(),
        "{}",
        result.err
    );
    ensure!(!Path::new("/dev/null.2").exists());
    Ok(())
}

/// One class is loaded normally, and 20 copies of it are hidden classes. Each is called 30 times.
#[test]
fn agent_and_tracker_count_hidden_classes_alike() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    let source: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/tests/java/Hidden.java");
    let mut javac = Jdk::find(17)?.javac()?;
    javac.args(["--release", "11", "-nowarn", "-d"]);
    process::output(javac.arg(path.join("plain")).arg(source))?;
    rewrite(path, &path.join("plain"))?;
    let java = ["-cp", "plain", "Hidden", "copies"];
    let mut run = loadhook(path, &["run", "--all", "-o", "run.pb.gz", "--", "java"]);
    done(run.args(java)).expect(0, "18270\n", &[]);
    let mut offline = Jdk::find(17)?.java();
    offline.current_dir(path);
    offline.args([
        "-Dloadhook.file=offline.pb.gz",
        "-cp",
        "counted",
        "Hidden",
        "copies",
    ]);
    done(&mut offline).expect(0, "18270\n", &[]);
    for name in ["run.pb.gz", "offline.pb.gz"] {
        let profile = read(&path.join(name));
        for method in ["run", "step"] {
            let found = calls(&profile, "Counted", method);
            ensure!(found == 630, "{name}: {method} {found}");
            let rows = profile.methods.iter();
            let rows = rows.filter(|it| &*it.class == "Counted" && &*it.name == method);
            ensure!(rows.count() == 1, "{name}");
        }
    }
    fs::metadata(path.join("run.pb.gz")).context("the profile is missing")?;
    Ok(())
}
