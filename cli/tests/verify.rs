//! Tests of `loadhook rewrite --verify`: if outputs have no faults, they are the same as without
//! the option. Faulty outputs cannot be made here; the unit tests of the verifying modules test
//! them.

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::{classes, done, folder, loadhook};
use loadhook_testkit::corpus;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::paths::names;
use zip::write::SimpleFileOptions;

/// Makes the command `loadhook rewrite ARGUMENTS --verify`, with a JDK that has the verifier.
fn verify(folder: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = loadhook(folder, &["rewrite", "--verify", "--all"]);
    command.env("JAVA_HOME", Jdk::find(25)?.home);
    command.args(arguments);
    Ok(command)
}

/// Makes an archive with the program's classes, and with a nested archive of the same classes.
fn jar(path: &Path, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> Result<usize> {
    let files = corpus::files(&classes(), "class")?;
    let inner = path.with_extension("inner");
    for (target, inside) in [(&inner, false), (&path.to_owned(), true)] {
        let mut jar = zip::ZipWriter::new(File::create(target)?);
        for class in &files {
            let name = class
                .strip_prefix(classes())?
                .to_string_lossy()
                .into_owned();
            jar.start_file(&name, SimpleFileOptions::default())?;
            jar.write_all(&change(&name, fs::read(class)?))?;
        }
        if inside {
            jar.start_file("lib/inner.jar", SimpleFileOptions::default())?;
            jar.write_all(&fs::read(&inner)?)?;
        }
        jar.finish()?;
    }
    fs::remove_file(inner)?;
    Ok(2 * files.len())
}

#[test]
fn outputs_without_faults_are_written() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    let classes_in = jar(&path.join("a.jar"), |_, class| class)?;
    let plain = ["rewrite", "--all", "a.jar", "-o", "plain.jar"];
    done(&mut loadhook(path, &plain)).expect(0, "", &[]);

    let json = done(&mut verify(path, &["a.jar", "-o", "out/", "--json"])?);
    ensure!(json.code == Some(0), "{}", json.err);
    let json: serde_json::Value = serde_json::from_str(&json.out)?;
    let number = |name: &str| json["verified"][name].as_u64().context(name.to_owned());
    let changed = number("changed")?;
    // The classes of the trackers in both archives were added, so they count as changed classes,
    // too.
    ensure!(changed > classes_in as u64, "{changed}");
    ensure!(number("judged")? == changed && number("below_50")? == 0);
    // Not all other classes can change: an annotation has no code, and a class may be at the wrong
    // place.
    let all = |name: &str| json[name].as_u64().context(name.to_owned());
    let untouched = number("untouched")?;
    ensure!(untouched == all("classes")? + all("other_files")? - all("rewritten")?);
    ensure!(untouched < classes_in as u64);
    let jdk = json["verified"]["jdk"].as_str();
    ensure!(jdk.is_some_and(|jdk| jdk.starts_with("25")));
    let written = fs::read(path.join("plain.jar"))?;
    ensure!(fs::read(path.join("out/a.jar"))? == written);
    ensure!(names(&path.join("out"))? == ["a.jar"]);

    // Now the output replaces the input.
    let same = done(&mut verify(path, &["a.jar", "-o", "a.jar"])?);
    let whole = format!(
        "verified: {changed} changed classes are well-formed, {untouched} other entries are unchanged"
    );
    let accepted = format!(" accepts {changed} classes\n");
    same.expect(0, "", &[&whole, "verified: JDK 25", &accepted]);
    ensure!(fs::read(path.join("a.jar"))? == written);
    ensure!(names(path)? == ["a.jar", "out", "plain.jar"]);
    Ok(())
}

#[test]
fn folders_and_classes_are_verified() -> Result<()> {
    let folder = folder();
    let path = folder.path();
    let from = path.join("from");
    for class in corpus::files(&classes(), "class")? {
        let to = from.join(class.strip_prefix(classes())?);
        fs::create_dir_all(to.parent().context("the path has no folder")?)?;
        fs::copy(class, to)?;
    }
    fs::write(from.join("text"), "text")?;
    jar(&from.join("a.jar"), |_, class| class)?;
    done(&mut loadhook(
        path,
        &["rewrite", "--all", "from", "-o", "plain"],
    ))
    .expect(0, "", &[]);
    // The output folder exists already, with a file that must be kept and one that must be replaced.
    fs::create_dir_all(path.join("to/shop"))?;
    fs::write(path.join("to/shop/kept"), "kept")?;
    fs::write(path.join("to/text"), "old")?;
    done(&mut verify(path, &["from", "-o", "to"])?).expect(0, "", &["verified: JDK 25"]);
    let mut files = corpus::files(&path.join("plain"), "class")?;
    files.extend(["text", "a.jar"].map(|name| path.join("plain").join(name)));
    for file in files {
        let other = path.join("to").join(file.strip_prefix(path.join("plain"))?);
        ensure!(fs::read(&file)? == fs::read(&other)?, "{}", other.display());
    }
    ensure!(fs::read(path.join("to/shop/kept"))? == b"kept");

    let args = ["from/shop/Shop.class", "-o", "Shop.class"];
    let class = done(&mut verify(path, &args)?);
    class.expect(
        0,
        "",
        &[
            "verified: 1 changed class is well-formed, 0 other entries are unchanged\n",
            " accepts 1 class\n",
        ],
    );
    ensure!(names(path)? == ["Shop.class", "from", "plain", "to"]);
    Ok(())
}

/// The JDK also finds this fault in the original class, so it is not reported.
#[test]
fn faults_of_the_original_are_not_reported() -> Result<()> {
    let folder = folder();
    let broken = |name: &str, mut class: Vec<u8>| {
        if name == "shop/Shop$Order.class" {
            // The test replaces iaload by aaload, so the method first() reads a reference from an
            // array of ints.
            let at = class.windows(3).position(|code| code == [0x03, 0x2e, 0xac]);
            class[at.expect("first() ends with these instructions") + 1] = 0x32;
        }
        class
    };
    jar(&folder.path().join("a.jar"), broken)?;
    let args = ["a.jar", "-o", "b.jar"];
    done(&mut verify(folder.path(), &args)?).expect(0, "", &["verified: JDK 25"]);
    Ok(())
}

#[test]
fn verification_needs_an_output() -> Result<()> {
    let folder = folder();
    jar(&folder.path().join("a.jar"), |_, class| class)?;
    let args = ["a.jar", "-o", "b.jar", "--dry-run"];
    let refused = done(&mut verify(folder.path(), &args)?);
    refused.expect(2, "", &["cannot be used with"]);
    Ok(())
}
