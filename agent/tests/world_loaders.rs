//! Class loaders of every kind. Counts are exact, and only copies of a class in loaders of one class and name share their
//! methods.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;

use world::{Program, calls, classes, compiled, expect, sources};

mod world;

const PLUGIN: &str = "plug.Plugin.run";

fn loaders(feature: u32, mode: &str) -> Result<Program> {
    let (a, b) = (classes("plugin-a")?, classes("plugin-b")?);
    let (a, b) = (a.display().to_string(), b.display().to_string());
    Program::new(feature, &classes("loaders")?, &["Loaders", mode, &a, &b])
}

/// Returns the numbers of calls of a method, one for each loader that the profile names, sorted.
fn by_loader(profile: &Profile, method: &str) -> Vec<u64> {
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    for node in nodes {
        let found = &profile.methods[node.method as usize];
        if format!("{}.{}", found.class, found.name) == method {
            *calls.entry(&found.loader).or_default() += node.calls;
        }
    }
    let mut calls: Vec<u64> = calls.into_values().collect();
    calls.sort_unstable();
    calls
}

/// Returns, for each row of a method, the number of loaders that share it. The numbers are sorted.
fn copies(profile: &Profile, class: &str, name: &str) -> Vec<u32> {
    let found = profile.methods.iter();
    let found = found.filter(|method| &*method.class == class && &*method.name == name);
    let mut copies: Vec<u32> = found.map(|method| method.loaders).collect();
    copies.sort_unstable();
    copies
}

/// Five loaders each load a class of the same name. Four of the loaders are instances of one class.
/// Two of these load the same bytes, and the other two load the same bytes as well. Only the
/// classes of such a pair share their methods.
fn several(feature: u32) -> Result<()> {
    let profile = loaders(feature, "several")?.prints("several\n", 0)?;
    let found = by_loader(&profile, PLUGIN);
    ensure!(found == [1 + 2, 5, 3 + 4], "{found:?}");
    let found = by_loader(&profile, "plug.Plugin.step");
    ensure!(found == [15, 9 + 12, 11 + 22], "{found:?}");
    let found = by_loader(&profile, "plug.Plugin.before");
    ensure!(found == [5, 3 + 4], "{found:?}");
    let found = copies(&profile, "plug.Plugin", "run");
    ensure!(found == [1, 2, 2], "{found:?}");
    expect(
        &profile,
        &[
            ("plug.Plugin$Inner.inner", 3),
            ("plug.Plugin$Inner.fail", 3),
            ("plug.Plugin.<init>", 5),
        ],
    )
}

/// Loaders have the names that the program gave them, or the names of their classes. They have an ordinal only if
/// several have one name.
fn named(feature: u32) -> Result<()> {
    let profile = loaders(feature, "named")?.prints("named\n", 0)?;
    let mut found = BTreeMap::new();
    for node in profile.threads.iter().flat_map(|thread| &thread.nodes) {
        let method = &profile.methods[node.method as usize];
        if &*method.class == "plug.Plugin" && &*method.name == "run" {
            *found.entry(&*method.loader).or_insert(0) += node.calls;
        }
    }
    let expected = [
        ("plugins", 1),
        ("app#2", 2),
        ("Loaders$Bundle", 3),
        ("plugins#2", 4),
        ("Loaders$Bundle#2", 5),
        ("店", 6),
    ];
    ensure!(found == BTreeMap::from(expected), "{found:?}");
    Ok(())
}

fn parallel(feature: u32) -> Result<()> {
    let profile = loaders(feature, "parallel")?.prints("parallel\n", 0)?;
    ensure!(by_loader(&profile, PLUGIN) == [800]);
    expect(&profile, &[("plug.Plugin.step", 8800)])
}

fn child_first(feature: u32) -> Result<()> {
    let mut program = loaders(feature, "child-first")?;
    let plugin = classes("plugin-a")?;
    program.jvm[1] += &format!(":{}", plugin.display());
    let profile = program.prints("child-first\n", 0)?;
    let found = by_loader(&profile, PLUGIN);
    ensure!(found == [5, 7], "{found:?}");
    expect(&profile, &[("plug.Plugin.before", 7)])
}

/// A class of the boot loader is instrumented if a pattern matches it.
fn bootstrap(feature: u32) -> Result<()> {
    let boot = format!("-Xbootclasspath/a:{}", classes("plugin-a")?.display());
    for (options, runs) in [
        ("all=true,quiet=true", 0),
        ("all=true,quiet=true,include=plug.**", 6),
    ] {
        let program = loaders(feature, "found")?.jvm(&[&boot]).options(options);
        let profile = program.prints("true\nfound\n", 0)?;
        expect(&profile, &[(PLUGIN, runs), ("plug.Plugin.step", 11 * runs)])?;
    }
    Ok(())
}

/// Loaders are made and collected. Their classes stay in the profile, once each.
fn unload(feature: u32) -> Result<()> {
    for gc in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
        let program = loaders(feature, "unload")?.jvm(&["-Xmx64m", gc]);
        let profile = program.prints("unloaded: 200\nunload\n", 0)?;
        expect(
            &profile,
            &[
                (PLUGIN, 2000),
                ("plug.Plugin.step", 22_000),
                ("plug.Plugin$Inner.fail", 2000),
            ],
        )?;
        let found = copies(&profile, "plug.Plugin", "step");
        ensure!(found == [200], "{found:?}");
        let unknown = profile.methods.iter().find(|m| m.class.starts_with('('));
        ensure!(unknown.is_none(), "{unknown:?}");
    }
    Ok(())
}

/// Returns the folder with the modules of `tests/java/world/modules`, which are compiled together.
fn modules() -> Result<PathBuf> {
    compiled("modules", |javac, _| {
        javac
            .arg("--module-source-path")
            .arg(sources().join("modules"));
        javac.args(["--module", "world.app,world.lib,world.layer"]);
        Ok(())
    })
}

/// Named modules on the module path, and two layers with a module each.
fn named_modules(feature: u32) -> Result<()> {
    let modules = modules()?;
    let text = |name: &str| modules.join(name).display().to_string();
    let mut program = Program::new(feature, &modules, &["world.app/app.Main"])?;
    program.main = vec![
        "-m".to_owned(),
        "world.app/app.Main".to_owned(),
        text("world.layer"),
    ];
    program.jvm = vec![
        "-p".to_owned(),
        format!("{}:{}", text("world.app"), text("world.lib")),
    ];
    let layer = "module world.layer true\n";
    let printed = format!("module world.app module world.lib\n{layer}{layer}");
    let profile = program.prints(&printed, 0)?;
    // The loaders of both layers are instances of one class and have no names.
    let found = by_loader(&profile, "layer.Entry.run");
    ensure!(found == [2], "{found:?}");
    expect(
        &profile,
        &[
            ("lib.Library.call", 20),
            ("app.Main.use", 1),
            ("app.Main.main", 1),
        ],
    )
}

/// The agent reads the names of modules without calling their methods: `getName` is called equally
/// often, whatever else is instrumented. (For a module whose class is transformed, the JVM itself
/// calls other methods.)
fn modules_are_not_called(feature: u32) -> Result<()> {
    let modules = modules()?;
    let text = |name: &str| modules.join(name).display().to_string();
    let run = |include: &str| -> Result<_> {
        let mut program = Program::new(feature, &modules, &[])?
            .options(&format!("all=true,quiet=true,include={include}"));
        program.jvm = vec![
            "-p".to_owned(),
            format!("{}:{}", text("world.app"), text("world.lib")),
        ];
        program.main = ["-m", "world.app/app.Main", &text("world.layer")]
            .map(str::to_owned)
            .to_vec();
        let calls = calls(&program.unchanged()?);
        let names = calls.get("java.lang.Module.getName").copied();
        names.with_context(|| format!("{calls:#?}"))
    };
    let alone = run("java.lang.Module")?;
    let beside = run("java.lang.Module,app.*,lib.*,layer.*")?;
    ensure!(
        alone == beside,
        "Module.getName has {alone} calls if only Module is instrumented, but {beside} if other classes are, too"
    );
    Ok(())
}

fn all(feature: u32) -> Result<()> {
    type Check = fn(u32) -> Result<()>;
    let checks: [(&str, Check); 8] = [
        ("several", several),
        ("named", named),
        ("parallel", parallel),
        ("child_first", child_first),
        ("bootstrap", bootstrap),
        ("unload", unload),
        ("named_modules", named_modules),
        ("modules_are_not_called", modules_are_not_called),
    ];
    for (name, check) in checks {
        check(feature).with_context(|| format!("JDK {feature}: {name}"))?;
    }
    Ok(())
}

#[test]
fn loaders_of_every_shape_on_11() -> Result<()> {
    all(11)
}

#[test]
fn loaders_of_every_shape_on_17() -> Result<()> {
    all(17)
}

#[test]
fn loaders_of_every_shape_on_21() -> Result<()> {
    all(21)
}

#[test]
fn loaders_of_every_shape_on_25() -> Result<()> {
    all(25)
}
