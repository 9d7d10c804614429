//! Compiles the tracker's Java sources and lists the classes for the crate to embed.

#[allow(unreachable_pub)]
#[path = "src/boot.rs"]
mod boot;
#[allow(unreachable_pub)]
#[path = "src/rename.rs"]
mod rename;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Classes that stand in for classes of the JDK when the sources are compiled.
const STAND_INS: [(&str, &str); 2] = [
    ("loadhook/JavaThread", "java/lang/Thread"),
    ("loadhook/JavaUnsafe", "sun/misc/Unsafe"),
];

/// Annotations and constants, whose classes nothing needs at run time.
const LEFT_OUT: [&str; 4] = [
    "loadhook/Guarded",
    "loadhook/Inlined",
    "loadhook/OutOfLine",
    "loadhook/Version",
];

/// The sources of the tracker, of the classes that run it without an agent, and of the program that verifies rewritten
/// classes.
const TRACKER: &str = "java/loadhook";
const OFFLINE: &str = "offline/loadhook";
const VERIFY: &str = "verify/loadhook";

fn main() {
    println!("cargo::rerun-if-changed=java");
    println!("cargo::rerun-if-changed=offline");
    println!("cargo::rerun-if-changed=verify");
    println!("cargo::rerun-if-env-changed=JAVA_HOME_17");
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if let Err(error) = build(&out) {
        println!("cargo::error={error}");
    }
}

fn build(out: &Path) -> Result<(), String> {
    let classes = out.join("classes");
    // Files of an earlier build would be embedded too.
    let _ = fs::remove_dir_all(&classes);
    fs::create_dir_all(&classes)
        .map_err(|error| format!("cannot create {}: {error}", classes.display()))?;
    compile(&classes, out)?;
    let mut found = files(&classes.join("loadhook"))?
        .iter()
        .map(|file| read(file))
        .collect::<Result<Vec<_>, _>>()?;
    found.retain(|class| {
        let name = rename::names(class).0;
        !LEFT_OUT.contains(&name) && stands_for(name).is_none()
    });
    let is_of = |class: &Vec<u8>, folder: &str| {
        let name = rename::names(class).0;
        // A nested class is in the source file of its outermost class.
        let outer = name.split('$').next().unwrap_or(name);
        let source = outer.replacen("loadhook", folder, 1) + ".java";
        Path::new(&source).is_file()
    };
    let (offline, rest): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|class| is_of(class, OFFLINE));
    let (verify, tracker): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|class| is_of(class, VERIFY));
    let mut list = String::new();
    let tracker = superclasses_first(tracker);
    let boot = tracker
        .iter()
        .map(|class| rename::renamed(&rename::renamed(class, &stands_for), &boot::boot_name));
    for (constant, classes) in [
        ("BOOT_CLASSES", boot.collect()),
        ("CLASSES", tracker),
        ("OFFLINE_CLASSES", superclasses_first(offline)),
        ("VERIFY_CLASSES", superclasses_first(verify)),
    ] {
        list.push_str(&embedded(constant, classes, out)?);
    }
    write(&out.join("classes.rs"), list.as_bytes())
}

/// Returns the Rust source that defines a constant. lib.rs documents the constants.
fn embedded(constant: &str, classes: Vec<Vec<u8>>, out: &Path) -> Result<String, String> {
    let mut list = format!("const {constant}_HERE: &[(&str, &[u8])] = &[\n");
    for class in classes {
        let class = rename::renamed(&class, &stands_for);
        let name = rename::names(&class).0;
        let file = out.join(name.replace('/', ".") + ".class");
        write(&file, &class)?;
        writeln!(list, "    ({name:?}, include_bytes!({file:?})),")
            .expect("writing to a String cannot fail");
    }
    list.push_str("];\n");
    Ok(list)
}

fn stands_for(name: &str) -> Option<String> {
    let stand_in = STAND_INS.iter().find(|(stand_in, _)| *stand_in == name)?;
    Some(stand_in.1.to_owned())
}

fn compile(classes: &Path, out: &Path) -> Result<(), String> {
    let Some(javac) = javac() else {
        return Err("no javac found to compile the tracker: install openjdk-17-jdk-headless or set JAVA_HOME_17".into());
    };
    let version = out.join("Version.java");
    let number = env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    let source = format!(
        "package loadhook;\nfinal class Version {{\n    static final String TEXT = {number:?};\n}}\n"
    );
    write(&version, source.as_bytes())?;
    let mut sources = files(Path::new(TRACKER))?;
    sources.extend(files(Path::new(OFFLINE))?);
    sources.extend(files(Path::new(VERIFY))?);
    sources.push(version);
    let output = Command::new(&javac)
        .args([
            "--release",
            "8",
            "-g:lines,source",
            "-encoding",
            "UTF-8",
            "-Xlint:all,-options",
            "-Werror",
            "-d",
        ])
        .arg(classes)
        .args(sources)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", javac.display()))?;
    if output.status.success() {
        return Ok(());
    }
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    Err(format!("{} does not compile the tracker", javac.display()))
}

/// Returns the first compiler that is found: the compiler of JDK 17 if there is one.
fn javac() -> Option<PathBuf> {
    let homes = ["JAVA_HOME_17", "JAVA_HOME"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from);
    let installed = files(Path::new("/usr/lib/jvm")).unwrap_or_default();
    let is_17 = |path: &&PathBuf| path.to_string_lossy().contains("17");
    let path = env::var_os("PATH").unwrap_or_default();
    homes
        .chain(installed.iter().filter(is_17).cloned())
        .chain(installed.iter().cloned())
        .map(|home| home.join("bin/javac"))
        .chain(env::split_paths(&path).map(|folder| folder.join("javac")))
        .find(|javac| javac.is_file())
}

/// Returns the paths of a folder's entries, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

fn superclasses_first(mut classes: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut sorted: Vec<Vec<u8>> = Vec::new();
    while !classes.is_empty() {
        let waiting: Vec<String> = classes
            .iter()
            .map(|class| rename::names(class).0.to_owned())
            .collect();
        let (ready, rest): (Vec<_>, Vec<_>) = classes
            .into_iter()
            .partition(|class| !waiting.iter().any(|name| name == rename::names(class).1));
        sorted.extend(ready);
        classes = rest;
    }
    sorted
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(file, bytes).map_err(|error| format!("cannot write {}: {error}", file.display()))
}
