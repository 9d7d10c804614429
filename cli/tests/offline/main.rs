//! Tests that rewritten programs run without an agent on JDK 17 and 25, and write exact profiles.

#[path = "../common/mod.rs"]
mod common;
mod modules;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use common::{calls, classes, done, folder, loadhook, profiles, read};
use loadhook_profile::Profile;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{process, source};
use zip::write::SimpleFileOptions;

const JDKS: [u32; 2] = [17, 25];

fn sources(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/java")
        .join(part)
}

/// Returns the paths of all files below a folder, as arguments for `javac`.
fn java_files(folder: &Path) -> Result<Vec<PathBuf>> {
    loadhook_testkit::corpus::files(folder, "java")
}

fn rewrite(folder: &Path, arguments: &[&str]) {
    let mut all = vec!["rewrite", "--all"];
    all.extend(arguments);
    done(&mut loadhook(folder, &all)).expect(0, "", &["classes rewritten"]);
}

/// Runs `java ARGUMENTS` in a folder. Returns its standard output, and the profiles that it wrote.
fn run(feature: u32, folder: &Path, arguments: &[&str]) -> Result<(String, Vec<Profile>)> {
    for old in profiles(folder) {
        fs::remove_file(folder.join(old))?;
    }
    let mut java = Jdk::find(feature)?.java();
    let out = process::output(java.current_dir(folder).args(arguments))?;
    let found = profiles(folder);
    Ok((
        out,
        found.iter().map(|file| read(&folder.join(file))).collect(),
    ))
}

/// Compiles the classes of two modules into the folders `app` and `lib`, with or without their
/// module descriptions.
fn modules(folder: &Path, with_descriptions: bool) -> Result<()> {
    let mut javac = Jdk::find(17)?.javac()?;
    javac.arg("-d").arg(folder.join("modules"));
    if with_descriptions {
        javac.arg("--module-source-path").arg(sources("modules"));
    }
    let is_wanted = |file: &PathBuf| with_descriptions || !file.ends_with("module-info.java");
    let files = java_files(&sources("modules"))?;
    process::output(javac.args(files.into_iter().filter(is_wanted)))?;
    Ok(())
}

/// Makes a jar of the folder `of` with the JDK's tool, which also adds the list of the module's
/// packages.
fn jar(folder: &Path, name: &str, of: &Path) -> Result<()> {
    source::jar(&folder.join(name), &[], of)
}

/// Compiles both modules and makes a jar of each.
fn module_jars(folder: &Path) -> Result<()> {
    modules(folder, true)?;
    for module in ["app", "lib"] {
        jar(
            folder,
            &format!("{module}.jar"),
            &folder.join("modules").join(module),
        )?;
    }
    Ok(())
}

/// Checks all calls of the program in the two modules, and the callers of each method.
fn check_calls(profiles: &[Profile]) -> Result<()> {
    let all = |class: &str, method: &str| -> u64 {
        profiles
            .iter()
            .map(|profile| calls(profile, class, method))
            .sum()
    };
    ensure!(all("app.Main", "main") == 1);
    ensure!(all("lib.Library", "twice") == 1000);
    ensure!(all("app.Main", "increment") == 2000);
    Ok(())
}

/// Checks that there is one profile, and that calls from one archive into another stand below their
/// callers.
fn check_one(profiles: &[Profile]) -> Result<()> {
    let [profile] = profiles else {
        anyhow::bail!("one profile expected, {} found", profiles.len());
    };
    check_calls(profiles)?;
    let main = profile.threads.iter().flat_map(|thread| {
        let name = |at: u32| &*profile.methods[thread.nodes[at as usize].method as usize].name;
        let nodes = 0..thread.nodes.len() as u32;
        nodes.map(move |at| (thread.nodes[at as usize].parent.map(name), name(at)))
    });
    let mut across = 0;
    for (parent, name) in main {
        let expected: &[&str] = match name {
            "twice" => &["main"],
            "increment" => &["twice", "lambda$main$0"],
            _ => continue,
        };
        let parent = parent.context("the node has no caller")?;
        ensure!(
            expected.contains(&parent),
            "{name} should stand below one of {expected:?}, but stands below {parent}"
        );
        across += 1;
    }
    ensure!(across >= 2);
    Ok(())
}

#[test]
fn a_jar_counts_by_itself() -> Result<()> {
    let folder = folder();
    let shop = folder.path().join("shop.jar");
    source::jar(&shop, &["--main-class", "shop.Shop"], &classes())?;
    rewrite(folder.path(), &["shop.jar", "-o", "counted.jar"]);
    for feature in JDKS {
        let (plain, none) = run(feature, folder.path(), &["-jar", "shop.jar", "serve"])?;
        ensure!(
            none.is_empty(),
            "the program wrote a profile before it was rewritten"
        );
        let args = ["-Xverify:all", "-jar", "counted.jar", "serve"];
        let (out, profiles) = run(feature, folder.path(), &args)?;
        ensure!(out == plain, "{out}");
        let [profile] = profiles.as_slice() else {
            anyhow::bail!("one profile expected, {} found", profiles.len());
        };
        ensure!(calls(profile, "shop.Shop", "serve") == 2);
        ensure!(calls(profile, "shop.Shop$Order", "<init>") == 1500);
        ensure!(calls(profile, "shop.Shop$Order", "first") == 1500);
        ensure!(
            profile.header.command == "counted.jar serve",
            "{:?}",
            profile.header
        );
        let file = &common::profiles(folder.path())[0];
        let report = done(&mut loadhook(folder.path(), &["report", file]));
        ensure!(report.out.contains("shop.Shop"));
    }
    Ok(())
}

/// Checks the number of calls of a method, summed over all threads. With probes that only count, it
/// is not known by thread.
fn check_counted(profile: &Profile, class: &str, method: &str, expected: u64) -> Result<()> {
    let is_it = |at: u32| {
        let found = &profile.methods[at as usize];
        &*found.class == class && &*found.name == method
    };
    let counted = profile.method_calls.iter();
    let found: u64 = counted
        .filter(|it| is_it(it.method))
        .map(|it| it.calls)
        .sum();
    ensure!(
        found == expected,
        "{class}.{method}: {expected} calls expected, {found} found"
    );
    Ok(())
}

/// Trivial methods are counted without `--all`.
#[test]
fn a_jar_can_only_count() -> Result<()> {
    let folder = folder();
    let shop = folder.path().join("shop.jar");
    source::jar(&shop, &["--main-class", "shop.Shop"], &classes())?;
    let arguments = [
        "rewrite",
        "shop.jar",
        "-o",
        "counted.jar",
        "--probes",
        "count",
    ];
    done(&mut loadhook(folder.path(), &arguments)).expect(0, "", &["classes rewritten"]);
    for feature in JDKS {
        let (plain, _) = run(feature, folder.path(), &["-jar", "shop.jar", "serve"])?;
        let args = ["-Xverify:all", "-jar", "counted.jar", "serve"];
        let (out, profiles) = run(feature, folder.path(), &args)?;
        ensure!(out == plain, "{out}");
        let [profile] = profiles.as_slice() else {
            anyhow::bail!("one profile expected, {} found", profiles.len());
        };
        check_counted(profile, "shop.Shop", "serve", 2)?;
        check_counted(profile, "shop.Shop$Order", "<init>", 1500)?;
        check_counted(profile, "shop.Shop$Order", "first", 1500)?;
        ensure!(profile.threads.iter().all(|thread| thread.nodes.is_empty()));
        let file = &common::profiles(folder.path())[0];
        let report = done(&mut loadhook(folder.path(), &["report", file]));
        ensure!(
            report.out.contains("shop.Shop$Order.first"),
            "{}",
            report.out
        );
    }
    Ok(())
}

#[test]
fn a_folder_counts_by_itself() -> Result<()> {
    let folder = folder();
    modules(folder.path(), false)?;
    rewrite(folder.path(), &["modules", "-o", "out"]);
    for feature in JDKS {
        let (out, profiles) = run(feature, folder.path(), &["-cp", "out", "app.Main"])?;
        ensure!(out.starts_with("sum 501500 "), "{out}");
        ensure!(profiles.len() == 1);
        check_calls(&profiles)?;
    }
    Ok(())
}

/// Two archives have their own trackers, in unrelated class loaders. Each tracker writes a part of
/// the profile, and the parts of one run can be merged.
#[test]
fn parts_of_a_run_are_merged() -> Result<()> {
    let folder = folder();
    modules(folder.path(), false)?;
    rewrite(folder.path(), &["modules", "-o", "out"]);
    let launcher = folder.path().join("Two.java");
    fs::write(
        &launcher,
        "import java.net.*; public class Two { public static void main(String[] a) throws Exception { \
         for (int n = 0; n < 2; n++) { new URLClassLoader(new URL[] {new java.io.File(a[0]).toURI().toURL()}) \
         .loadClass(\"app.Main\").getMethod(\"main\", String[].class).invoke(null, (Object) a); } } }",
    )?;
    let (_, profiles) = run(17, folder.path(), &["Two.java", "out/"])?;
    ensure!(profiles.len() == 2);
    // Neither loader sees the classes of the other, so two files are written, one for each part.
    let [first, second] = &common::profiles(folder.path())[..] else {
        anyhow::bail!("two profiles expected");
    };
    let merge = ["report", "--merge", first, second, "--format", "json"];
    let merged = done(&mut loadhook(folder.path(), &merge));
    let json: serde_json::Value = serde_json::from_str(&merged.out).context(merged.err)?;
    let twice = json["methods"]
        .as_array()
        .context("the JSON has no methods")?;
    let twice = twice.iter().filter(|method| method["method"] == "twice");
    let calls: Vec<_> = twice.map(|method| &method["calls"]).collect();
    ensure!(
        calls == [1000, 1000],
        "two rows expected, each of 1000 calls in its own loader: {calls:?}"
    );
    let merge = ["report", "--merge", first, second];
    let merged = done(&mut loadhook(folder.path(), &merge));
    let note = "2 trackers in this process";
    ensure!(merged.out.matches(note).count() == 1, "{}", merged.out);
    Ok(())
}

/// A sealed archive must have all classes of its packages. So its tracker needs a package of its
/// own.
#[test]
fn sealed_archives_start_beside_others() -> Result<()> {
    let folder = folder();
    modules(folder.path(), false)?;
    fs::write(folder.path().join("sealed.mf"), "Sealed: true\n")?;
    for part in ["app", "lib"] {
        fs::create_dir_all(folder.path().join(part))?;
        fs::rename(
            folder.path().join("modules").join(part),
            folder.path().join(part).join(part),
        )?;
        let mut jar = Jdk::find(17)?.tool("jar")?;
        jar.current_dir(folder.path());
        let name = format!("{part}.jar");
        jar.args(["--create", "--file", &name, "--manifest", "sealed.mf"]);
        process::output(jar.args(["-C", part, "."]))?;
    }
    rewrite(folder.path(), &["app.jar", "lib.jar", "-o", "out"]);
    for feature in JDKS {
        let args = ["-cp", "out/app.jar:out/lib.jar", "app.Main"];
        let (out, profiles) = run(feature, folder.path(), &args)?;
        ensure!(out.starts_with("sum 501500 "), "{out}");
        check_calls(&profiles)?;
    }
    Ok(())
}

/// A launcher's jar, as Spring Boot makes it: classes in `BOOT-INF/classes`, and a library in
/// `BOOT-INF/lib`. The library is not compressed, because the launcher reads it inside the jar.
#[test]
fn an_archive_with_libraries_starts() -> Result<()> {
    let folder = folder();
    modules(folder.path(), false)?;
    let mut javac = Jdk::find(17)?.javac()?;
    javac
        .arg("-d")
        .arg(folder.path().join("boot"))
        .args(java_files(&sources("boot"))?);
    process::output(&mut javac)?;
    fs::create_dir(folder.path().join("l"))?;
    fs::rename(
        folder.path().join("modules/lib"),
        folder.path().join("l/lib"),
    )?;
    jar(folder.path(), "library.jar", &folder.path().join("l"))?;

    let mut fat = zip::ZipWriter::new(File::create(folder.path().join("fat.jar"))?);
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut add = |name: &str, options, content: &[u8]| -> Result<()> {
        fat.start_file(name, options)?;
        Ok(fat.write_all(content)?)
    };
    let packed = SimpleFileOptions::default();
    add(
        "META-INF/MANIFEST.MF",
        packed,
        b"Manifest-Version: 1.0\nMain-Class: fat.Launcher\n\n",
    )?;
    for (root, prefix) in [("boot", ""), ("modules", "BOOT-INF/classes/")] {
        let root = folder.path().join(root);
        for class in loadhook_testkit::corpus::files(&root, "class")? {
            let name = format!("{prefix}{}", class.strip_prefix(&root)?.display());
            add(&name, packed, &fs::read(&class)?)?;
        }
    }
    add(
        "BOOT-INF/lib/library.jar",
        stored,
        &fs::read(folder.path().join("library.jar"))?,
    )?;
    fat.finish()?;

    rewrite(folder.path(), &["fat.jar", "-o", "counted.jar"]);
    for feature in JDKS {
        let (plain, _) = run(feature, folder.path(), &["-jar", "fat.jar"])?;
        let (out, profiles) = run(feature, folder.path(), &["-jar", "counted.jar"])?;
        let stable = |out: &str| out.split('@').next().map(str::to_owned);
        ensure!(
            stable(&out) == stable(&plain) && out.starts_with("sum 501500 "),
            "{out}"
        );
        // Class loaders find the launcher's tracker first, so all classes use the launcher's.
        ensure!(
            profiles.len() == 1,
            "one profile expected, {} found",
            profiles.len()
        );
        check_calls(&profiles)?;
        ensure!(calls(&profiles[0], "fat.Launcher", "findClass") > 2);
    }
    Ok(())
}
