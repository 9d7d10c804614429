//! Tests of rewritten modules: named modules, automatic ones, modules in a jlink image, and modules
//! that contain hashes of each other.

use std::fs;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Profile, Timing};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{process, source};

use crate::common::{calls, done, folder, loadhook, profiles, read};
use crate::{
    JDKS, check_calls, check_one, jar, java_files, module_jars, modules, rewrite, run, sources,
};

/// The JVM refuses two modules with the same package. So each module has its tracker in a package
/// of its own, and the tracker that is used first counts for both modules.
#[test]
fn modules_start_together() -> Result<()> {
    let folder = folder();
    module_jars(folder.path())?;
    rewrite(folder.path(), &["app.jar", "lib.jar", "-o", "out"]);
    rewrite(folder.path(), &["modules", "-o", "exploded"]);
    for feature in JDKS {
        for path in ["out", "exploded"] {
            let args = ["-p", path, "-m", "app/app.Main"];
            let (out, profiles) = run(feature, folder.path(), &args)?;
            ensure!(out == "sum 501500 in module app and module lib\n", "{out}");
            check_one(&profiles)?;
        }
        for path in ["out/app.jar:out/lib.jar", "out/lib.jar:out/app.jar"] {
            let (_, profiles) = run(feature, folder.path(), &["-cp", path, "app.Main"])?;
            check_one(&profiles)?;
        }
    }
    Ok(())
}

/// A settings file in the module takes precedence over one on the class path.
#[test]
fn modules_find_settings() -> Result<()> {
    let folder = folder();
    modules(folder.path(), true)?;
    rewrite(folder.path(), &["modules", "-o", "out"]);
    let file = |place: &str| folder.path().join(place).join("loadhook.properties");
    fs::create_dir(folder.path().join("settings"))?;
    fs::write(file("settings"), "timing=count\n")?;
    let args = ["-p", "out", "-cp", "settings", "-m", "app/app.Main"];
    for (own, expected) in [
        (None, Timing::Count),
        (Some("timing=exact\n"), Timing::Exact),
    ] {
        if let Some(own) = own {
            fs::write(file("out/app"), own)?;
        }
        for feature in JDKS {
            let (_, profiles) = run(feature, folder.path(), &args)?;
            check_one(&profiles)?;
            let found = profiles[0].header.timing;
            ensure!(
                found == expected,
                "JDK {feature}: {expected:?} expected, {found:?} found"
            );
        }
    }
    Ok(())
}

/// A jar without a module description is an automatic module if it is on the module path. Its
/// tracker has the same package as on the class path.
#[test]
fn automatic_modules_start_together() -> Result<()> {
    let folder = folder();
    modules(folder.path(), false)?;
    let at = |name: &str| folder.path().join(name);
    let jdk = Jdk::find(17)?;
    for module in ["app", "lib"] {
        fs::create_dir(at(module))?;
        fs::rename(at("modules").join(module), at(module).join(module))?;
        fs::write(at("mf"), format!("Automatic-Module-Name: {module}\n"))?;
        let name = format!("{module}.jar");
        let manifest = at("mf").display().to_string();
        source::jar(&at(&name), &["--manifest", &manifest], &at(module))?;
    }
    let mut javac = jdk.javac()?;
    javac.arg("-cp").arg(at("app")).arg("-d").arg(at("start"));
    process::output(javac.args(java_files(&sources("plain"))?))?;
    jar(folder.path(), "start.jar", &at("start"))?;
    rewrite(
        folder.path(),
        &["app.jar", "lib.jar", "start.jar", "-o", "out"],
    );
    for feature in JDKS {
        let args = ["-p", "out/app.jar:out/lib.jar", "-m", "app/app.Main"];
        let (out, profiles) = run(feature, folder.path(), &args)?;
        ensure!(out == "sum 501500 in module app and module lib\n", "{out}");
        check_one(&profiles)?;
        for jars in [["app", "lib", "start"], ["start", "app", "lib"]] {
            let path = jars.map(|jar| format!("out/{jar}.jar")).join(":");
            let (_, profiles) = run(feature, folder.path(), &["-cp", &path, "start.Start"])?;
            check_one(&profiles)?;
            let name = |at: u32| &*profiles[0].methods[at as usize].name;
            let is_below = |thread: &loadhook_profile::ThreadTree| {
                thread.nodes.iter().any(|node| {
                    let parent = node.parent.map(|at| thread.nodes[at as usize].method);
                    name(node.method) == "main" && parent.is_some_and(|at| name(at) == "main")
                })
            };
            ensure!(
                profiles[0].threads.iter().any(is_below),
                "no thread has a call of the module app below `start`"
            );
        }
    }
    Ok(())
}

#[test]
fn modules_share_a_tracker_in_a_jar() -> Result<()> {
    let folder = folder();
    module_jars(folder.path())?;
    let args = [
        "app.jar",
        "lib.jar",
        "-o",
        "out",
        "--tracker",
        "jar:out/tracker.jar",
    ];
    rewrite(folder.path(), &args);
    for feature in JDKS {
        for args in [
            ["-p", "out", "-m", "app/app.Main"],
            [
                "-cp",
                "out/app.jar:out/lib.jar:out/tracker.jar",
                "-Dx=y",
                "app.Main",
            ],
        ] {
            let (_, profiles) = run(feature, folder.path(), &args)?;
            let [profile] = profiles.as_slice() else {
                anyhow::bail!("{args:?}: one profile expected, {} found", profiles.len());
            };
            check_calls(std::slice::from_ref(profile))?;
            // One tracker counts for all archives, so the callback stands below the library's
            // method.
            let thread = profile
                .threads
                .iter()
                .find(|thread| &*thread.name == "main");
            let nodes = &thread.context("the profile has no thread main")?.nodes;
            let name = |at: u32| &*profile.methods[nodes[at as usize].method as usize].name;
            let below = (0..nodes.len() as u32).filter(|at| name(*at) == "increment");
            for at in below {
                let parent = nodes[at as usize]
                    .parent
                    .context("the node has no caller")?;
                ensure!(
                    name(parent) == "twice" || name(parent).contains("lambda"),
                    "{}",
                    name(parent)
                );
            }
        }
    }
    Ok(())
}

/// A jlink image cannot contain automatic modules, so the tracker must be part of a named module.
#[test]
fn images_are_linked_of_rewritten_modules() -> Result<()> {
    let folder = folder();
    modules(folder.path(), true)?;
    for module in ["app", "lib"] {
        let place = folder.path().join("modules").join(module);
        jar(folder.path(), &format!("{module}.jar"), &place)?;
    }
    rewrite(folder.path(), &["app.jar", "lib.jar", "-o", "embedded"]);
    let shared = [
        "app.jar",
        "lib.jar",
        "-o",
        "shared",
        "--tracker",
        "jar:shared/tracker.jar",
    ];
    rewrite(folder.path(), &shared);
    for feature in JDKS {
        for path in ["embedded", "shared"] {
            let image = folder.path().join(format!("{path}{feature}"));
            let mut jlink = Jdk::find(feature)?.tool("jlink")?;
            jlink.current_dir(folder.path());
            jlink.args(["--module-path", path, "--add-modules", "app", "--output"]);
            process::output(jlink.arg(&image))?;
            for old in profiles(folder.path()) {
                fs::remove_file(folder.path().join(old))?;
            }
            let mut java = std::process::Command::new(image.join("bin/java"));
            java.current_dir(folder.path()).args(["-m", "app/app.Main"]);
            let out = process::output(&mut java)?;
            ensure!(out == "sum 501500 in module app and module lib\n", "{out}");
            let found = profiles(folder.path());
            let found: Vec<Profile> = found
                .iter()
                .map(|file| read(&folder.path().join(file)))
                .collect();
            check_one(&found).with_context(|| format!("{path} {feature}"))?;
        }
    }
    Ok(())
}

/// A module may contain hashes of other modules and an index of packages. After rewriting, both
/// would be wrong, so they are removed.
#[test]
fn outdated_hashes_and_indexes_are_removed() -> Result<()> {
    let folder = folder();
    modules(folder.path(), true)?;
    let jdk = Jdk::find(17)?;
    jar(folder.path(), "app.jar", &folder.path().join("modules/app"))?;
    let mut tool = jdk.tool("jar")?;
    tool.current_dir(folder.path())
        .args(["--create", "--file", "lib.jar"]);
    tool.args(["--hash-modules", "app", "--module-path", "."]);
    process::output(tool.args(["-C", "modules/lib", "."]))?;
    rewrite(folder.path(), &["app.jar", "lib.jar", "-o", "out"]);
    // The hashes are removed even if nothing else changes in a module.
    let args = [
        "rewrite",
        "--all",
        "--include",
        "app.**",
        "app.jar",
        "lib.jar",
        "-o",
        "some",
    ];
    let said = ["hashes of other modules removed: lib.jar"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &said);
    for feature in JDKS {
        let (_, profiles) = run(feature, folder.path(), &["-p", "out", "-m", "app/app.Main"])?;
        check_calls(&profiles)?;
        let (_, profiles) = run(
            feature,
            folder.path(),
            &["-p", "some", "-m", "app/app.Main"],
        )?;
        ensure!(profiles.len() == 1 && calls(&profiles[0], "app.Main", "increment") == 2000);
    }

    modules(folder.path(), false)?;
    fs::write(
        folder.path().join("mf"),
        "Class-Path: lib2.jar\nMain-Class: app.Main\n",
    )?;
    for (part, more) in [("lib", None), ("app", Some("mf"))] {
        let name = format!("{part}2.jar");
        let mut tool = jdk.tool("jar")?;
        tool.current_dir(folder.path())
            .args(["--create", "--file", &name]);
        tool.args(more.iter().flat_map(|manifest| ["--manifest", manifest]));
        process::output(tool.args(["-C", "modules", part]))?;
    }
    let mut tool = jdk.tool("jar")?;
    process::output(tool.current_dir(folder.path()).args(["-i", "app2.jar"]))?;
    let args = ["rewrite", "--all", "app2.jar", "lib2.jar", "-o", "out2"];
    done(&mut loadhook(folder.path(), &args)).expect(0, "", &["INDEX.LIST removed: app2.jar"]);
    for feature in JDKS {
        let (_, profiles) = run(feature, folder.path(), &["-jar", "out2/app2.jar"])?;
        check_calls(&profiles)?;
    }
    Ok(())
}
