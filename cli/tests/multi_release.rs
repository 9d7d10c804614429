//! Tests of archives with several versions of a class, for several releases of Java. Each version
//! is rewritten, and the calls of the version that the JVM loads are counted.

mod common;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::{calls, done, folder, loadhook, profiles, read};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

/// The releases for which the archive has classes. Classes for the first of them are at the
/// archive's root.
const RELEASES: [u32; 4] = [8, 9, 11, 17];

const MAIN: &str = "package multi;
public class Main {
    public static void main(String[] args) {
        for (int i = 0; i < 9; i++) Version.name();
        System.out.println(Version.name());
    }
}
";

/// The source of one class. In the version for each release, it calls a class that only this
/// release has.
const VERSION: &str = "package multi;
class Version {
    static String name() { return Since@.name(); }
}
class Since@ {
    static String name() { return \"release @\"; }
}
";

/// Compiles the classes for each release, and packs them into a jar.
fn jar(folder: &Path) -> Result<()> {
    let jdk = Jdk::find(17)?;
    let mut jar = jdk.tool("jar")?;
    jar.current_dir(folder).args([
        "--create",
        "--file",
        "multi.jar",
        "--main-class",
        "multi.Main",
    ]);
    for release in RELEASES {
        let number = release.to_string();
        let (sources, classes) = (
            folder.join(format!("src{number}")),
            format!("classes{number}"),
        );
        fs::create_dir(&sources)?;
        let mut files = vec![("Version.java", VERSION.replace('@', &number))];
        match release {
            8 => files.push(("Main.java", MAIN.to_owned())),
            // Two releases have a module description. They describe the same module, as the
            // specification requires.
            9 | 11 => files.push(("module-info.java", "module multi { }".to_owned())),
            _ => {}
        }
        let mut javac = jdk.javac()?;
        javac
            .current_dir(folder)
            .args(["--release", &number, "-d", &classes]);
        for (name, text) in files {
            fs::write(sources.join(name), text)?;
            javac.arg(sources.join(name));
        }
        process::output(&mut javac)?;
        if release != 8 {
            jar.args(["--release", &number]);
        }
        jar.args(["-C", &classes, "."]);
    }
    process::output(&mut jar)?;
    Ok(())
}

#[test]
fn each_version_is_rewritten_and_counts() -> Result<()> {
    let folder = folder();
    jar(folder.path())?;
    let args = ["rewrite", "multi.jar", "-o", "counted.jar", "--all"];
    // The classes are `Main`, and two for each release.
    let said = ["9 of 9 classes rewritten"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &said);
    for (feature, release) in [17, 25]
        .into_iter()
        .flat_map(|jdk| RELEASES.map(|r| (jdk, r)))
    {
        for place in [
            &["-cp", "counted.jar", "multi.Main"][..],
            &["-p", "counted.jar", "-m", "multi/multi.Main"],
        ] {
            if place[0] == "-p" && release == 8 {
                // For this JDK the archive is no module: its first module description is for
                // release 9.
                continue;
            }
            for old in profiles(folder.path()) {
                fs::remove_file(folder.path().join(old))?;
            }
            let mut java = Jdk::find(feature)?.java();
            java.current_dir(folder.path())
                .arg("-Xverify:all")
                .arg(format!("-Djdk.util.jar.version={release}"))
                .args(place);
            let out = process::output(&mut java)?;
            ensure!(out == format!("release {release}\n"), "{out}");
            let files = profiles(folder.path());
            let [file] = &files[..] else {
                anyhow::bail!("{files:?}");
            };
            let profile = read(&folder.path().join(file));
            let count = |class: &str| calls(&profile, class, "name");
            ensure!(count("multi.Version") == 10, "{feature} {release}");
            ensure!(
                count(&format!("multi.Since{release}")) == 10,
                "{feature} {release}"
            );
        }
    }
    Ok(())
}

/// If the module description for any release cannot be read, the classes at the root stay
/// unchanged.
#[test]
fn a_description_that_cannot_be_read_keeps_its_classes() -> Result<()> {
    let folder = folder();
    jar(folder.path())?;
    let path = folder.path().join("multi.jar");
    let mut bytes = fs::read(&path)?;
    let name = b"META-INF/versions/11/module-info.class";
    let at = bytes.windows(name.len()).position(|piece| piece == name);
    // The test damages the bytes after the entry's header, so that they do not match their
    // checksum.
    let data = at.context("the entry is missing in the archive")? + name.len() + 8;
    bytes[data] ^= 0xff;
    fs::write(&path, &bytes)?;
    let args = ["rewrite", "multi.jar", "-o", "out.jar", "--all"];
    let said = [
        "0 of 0 classes rewritten",
        "unreadable, copied unchanged: multi.jar!/META-INF/versions/11/module-info.class: damaged",
        "; the module's classes are not instrumented",
    ];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &said);
    ensure!(fs::read(folder.path().join("out.jar"))? == bytes);
    let strict = ["rewrite", "multi.jar", "-o", "no.jar", "--all", "--strict"];
    let said = ["error: multi.jar!/META-INF/versions/11/module-info.class: damaged"];
    done(&mut loadhook(folder.path(), &strict)).expect(1, "", &said);
    ensure!(!folder.path().join("no.jar").exists());
    Ok(())
}
