//! Instruments Java programs, runs them under the tracker, and reads the snapshots that they print.
#![allow(dead_code, unreachable_pub)] // a module of test programs, each of which uses a part

pub mod chance;
pub mod checks;
pub mod offline;
pub mod profile;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Options, Outcome, Probes, Rewriter, Selector};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{corpus, paths, process, source};
use profile::Profile;
use tempfile::TempDir;

pub const ADAPTIVE: &str = "0";
pub const EXACT: &str = "1";
pub const COUNT: &str = "2";
pub const SAMPLED: &str = "3";

/// A compiled program in a folder with the tracker. All classes except those named `Plain…` are
/// instrumented.
pub struct Program {
    folder: TempDir,
    name: String,
    pub methods: Vec<String>,
}

/// Gives an id to each method of a program, and remembers its name.
#[derive(Default)]
struct Names {
    /// True if methods get probes that only count, instead of entry and exit probes.
    counts: bool,
    class: String,
    methods: Vec<String>,
}

impl Selector for Names {
    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let id = self.methods.len() as u32;
        let name = String::from_utf8_lossy(method.name());
        self.methods.push(format!("{}.{name}", self.class));
        Probes {
            timing: Some(id).filter(|_| !self.counts),
            count: Some(id).filter(|_| self.counts),
            ..Probes::default()
        }
    }
}

impl Program {
    /// Compiles a source without instrumenting its classes.
    pub fn compiled(file: &str) -> Result<TempDir> {
        let folder = tempfile::tempdir()?;
        compile(folder.path(), &[java(&format!("../{file}"))])?;
        Ok(folder)
    }

    /// Compiles `tests/java/<name>.java` and the sources in `tests/java/loadhook`. Instruments the
    /// classes of `<name>.java`.
    pub fn new(name: &str) -> Result<Program> {
        let mut program = Program::plain(name)?;
        program.instrument(Names::default())?;
        Ok(program)
    }

    /// Like [`Program::new`], but with the probes of `Exact`, which time every call.
    pub fn exact(name: &str) -> Result<Program> {
        let mut program = Program::plain(name)?;
        program.instrument_for("loadhook/Exact", Names::default())?;
        Ok(program)
    }

    /// Like [`Program::new`], but with probes that only count.
    pub fn counted(name: &str) -> Result<Program> {
        let mut program = Program::plain(name)?;
        program.instrument(Names {
            counts: true,
            ..Names::default()
        })?;
        Ok(program)
    }

    /// Like [`Program::new`], but without instrumenting the classes.
    pub fn plain(name: &str) -> Result<Program> {
        let folder = tempfile::tempdir()?;
        for (class, bytes) in loadhook_tracker::CLASSES {
            let file = folder.path().join(class).with_extension("class");
            fs::create_dir_all(file.parent().context("a class is in a folder")?)?;
            fs::write(file, bytes)?;
        }
        compile(
            folder.path(),
            &[java("loadhook/Run.java"), java(&format!("{name}.java"))],
        )?;
        let class = name.rsplit('/').next().unwrap_or(name);
        Ok(Program {
            folder,
            name: class.to_owned(),
            methods: Vec::new(),
        })
    }

    /// Returns the folder with the program's classes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Compiles a source into the tracker's package without probes. The compiled class replaces the tracker's class
    /// of the same name, or is added.
    pub fn with(self, file: &str) -> Result<Program> {
        compile(self.folder.path(), &[java(file)])?;
        Ok(self)
    }

    fn instrument(&mut self, names: Names) -> Result<()> {
        self.instrument_for("loadhook/Tracker", names)
    }

    /// Instruments the classes with probes that call the class `owner`.
    fn instrument_for(&mut self, owner: &str, mut names: Names) -> Result<()> {
        let mut rewriter = Rewriter::new(Options {
            owner: owner.to_owned(),
            ..Options::default()
        });
        for file in corpus::walk(self.folder.path())? {
            let class = fs::read(&file)?;
            let stem = file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if file.parent() != Some(self.folder.path()) || stem.contains("Plain") {
                continue;
            }
            names.class = stem.rsplit('$').next().unwrap_or_default().to_owned();
            ClassFile::parse(&class)?;
            if let Outcome::Rewritten(class) =
                rewriter.rewrite(&class, &mut names, |len| Some(vec![0; len]))?
            {
                fs::write(&file, class)?;
            }
        }
        self.methods = names.methods;
        Ok(())
    }

    /// Runs the program with a timing and a limit of nodes, and reads the snapshot that it prints.
    pub fn run(&self, jdk: u32, jvm: &[&str], timing: &str, limit: u32) -> Result<Profile> {
        let output = self.output(jdk, jvm, timing, limit)?;
        Profile::read(&output, &self.methods)
            .with_context(|| output.chars().take(4000).collect::<String>())
    }

    pub fn output(&self, jdk: u32, jvm: &[&str], timing: &str, limit: u32) -> Result<String> {
        let mut command = self.java(jdk, jvm)?;
        command.args(["loadhook.Run", timing, &limit.to_string(), &self.name]);
        process::output(&mut command)
    }

    pub fn java(&self, jdk: u32, jvm: &[&str]) -> Result<Command> {
        let mut command = Jdk::find(jdk)?.java();
        command.args(jvm);
        command.arg("-cp").arg(self.folder.path());
        Ok(command)
    }
}

/// Runs a program on both JDKs, and compares the call trees of its threads, as text, with
/// `expected`.
pub fn check(name: &str, timing: &str, expected: &str) -> Result<()> {
    check_program(&Program::new(name)?, timing, expected)
}

pub fn check_program(program: &Program, timing: &str, expected: &str) -> Result<()> {
    let name = &program.name;
    for jdk in [17, 25] {
        let profile = program.run(jdk, &[], timing, 1_000_000)?;
        let found = profile.tree("main");
        if found.trim() != dedent(expected).trim() {
            bail!("{name} on {jdk}, timing {timing}: unexpected tree:\n{found}");
        }
        anyhow::ensure!(
            profile.depth == 0,
            "{name} on {jdk}: the path should be empty at the end, but has {} entries",
            profile.depth
        );
        profile.check_times()?;
    }
    Ok(())
}

fn dedent(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let indent = lines
        .clone()
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    lines.map(|line| format!("{}\n", &line[indent..])).collect()
}

pub fn java(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/java")
        .join(file)
}

/// Compiles sources against the classes in a folder, and adds the new classes to the folder. The
/// compiler runs only once for the same sources and classes.
pub fn compile(folder: &Path, sources: &[PathBuf]) -> Result<()> {
    let mut hasher = DefaultHasher::new();
    for file in paths::files(folder, "class")? {
        file.strip_prefix(folder)?.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    let name = format!("tracker-{:016x}", hasher.finish());
    let classes = source::compile_once(&name, sources, |javac| {
        javac.args(["--release", "8", "-g", "-cp"]).arg(folder);
        javac.args(sources);
        Ok(())
    })?;
    for file in paths::files(&classes, "class")? {
        let copy = folder.join(file.strip_prefix(&classes)?);
        fs::create_dir_all(copy.parent().context("a file is in a folder")?)?;
        fs::copy(&file, copy)?;
    }
    Ok(())
}

/// Returns the counts in lines `expect name count`, which a program printed about itself.
pub fn expectations(output: &str) -> BTreeMap<String, u64> {
    let lines = output
        .lines()
        .filter_map(|line| line.strip_prefix("expect "));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, count)| Some((name.to_owned(), count.parse().ok()?)))
        .collect()
}
