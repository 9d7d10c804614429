//! Rewrites archives for JVMs without an agent, and runs them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{Options, Outcome, Probes, Rewriter, Selector};
use loadhook_testkit::corpus;
use loadhook_testkit::jdk::Jdk;
use loadhook_tracker::{ARCHIVE, CLASSES, OFFLINE_CLASSES, PART, renamed};
use tempfile::TempDir;

use super::{compile, java};

/// The package of the tracker if it is not renamed.
pub const PACKAGE: &str = "loadhook";

/// Gives ids from 0 on to the methods of an archive, and writes their symbols.
#[derive(Default)]
struct Symbols {
    text: String,
    ids: u32,
}

impl Selector for Symbols {
    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let id = self.ids;
        self.ids += 1;
        let [name, descriptor] =
            [method.name(), method.descriptor()].map(|text| String::from_utf8_lossy(text));
        let _ = writeln!(self.text, "M\t{id}\t{name}\t{descriptor}\t{}", line(id));
        Probes {
            timing: Some(id),
            ..Probes::default()
        }
    }
}

/// Returns the first line of the method with this id. Every third method has no line.
pub fn line(id: u32) -> String {
    match id % 3 {
        0 => String::new(),
        _ => (100 + id).to_string(),
    }
}

/// Compiles sources of `tests/java/offline` into a folder and rewrites its classes, except those
/// named `Plain…`, as one archive with this id.
pub fn archive(folder: &Path, sources: &[&str], id: &str, package: &str) -> Result<()> {
    let sources: Vec<PathBuf> = sources
        .iter()
        .map(|name| java(&format!("offline/{name}.java")))
        .collect();
    compile(folder, &sources)?;
    rewrite(folder, id, package, |_| true)
}

/// Rewrites those classes of a folder that `chosen` accepts as one archive, and adds the archive's
/// part and symbols.
pub fn rewrite(
    folder: &Path,
    id: &str,
    package: &str,
    chosen: impl Fn(&str) -> bool,
) -> Result<()> {
    let part = format!("{package}/P{id}");
    let mut rewriter = Rewriter::new(Options {
        owner: part.clone(),
        ..Options::default()
    });
    let mut symbols = Symbols::default();
    symbols.text.push_str("loadhook symbols 1\n");
    for file in corpus::walk(folder)? {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        if file.parent() != Some(folder) || stem.starts_with("Plain") || !chosen(&stem) {
            continue;
        }
        let _ = writeln!(symbols.text, "C\t{stem}\t{stem}\\\\\\t.java");
        let class = fs::read(&file)?;
        if let Outcome::Rewritten(class) =
            rewriter.rewrite(&class, &mut symbols, |len| Some(vec![0; len]))?
        {
            fs::write(&file, class)?;
        }
    }
    symbols.text.push_str("S\ta reason\t3\nS\ta reason\t4\n");
    let numbers = format!("{id} {}", symbols.ids);
    let (_, template) = OFFLINE_CLASSES
        .iter()
        .find(|(name, _)| *name == PART)
        .context("the tracker has no template of parts")?;
    let copy = renamed(template, &|text| match text {
        PART => Some(part.clone()),
        ARCHIVE => Some(numbers.clone()),
        _ => in_package(text, package),
    });
    write(&folder.join(format!("{part}.class")), &copy)?;
    if package != PACKAGE {
        let resource = folder.join("META-INF/loadhook/tracker");
        write(&resource, package.replace('/', ".").as_bytes())?;
    }
    let resource = folder.join(format!("META-INF/loadhook/{id}.symbols"));
    write(&resource, symbols.text.as_bytes())
}

/// Writes the tracker's classes into a folder.
pub fn tracker(folder: &Path, package: &str) -> Result<()> {
    for (name, class) in CLASSES.iter().chain(OFFLINE_CLASSES) {
        let class = renamed(class, &|text| in_package(text, package));
        let name = in_package(name, package).context("a class outside the package")?;
        if *name != format!("{package}/Part") {
            write(&folder.join(format!("{name}.class")), &class)?;
        }
    }
    Ok(())
}

fn in_package(name: &str, package: &str) -> Option<String> {
    let rest = name.strip_prefix("loadhook/")?;
    Some(format!("{package}/{rest}"))
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Rewrites `Work` and the other sources as one archive with the tracker.
pub fn work(others: &[&str]) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    tracker(folder.path(), PACKAGE)?;
    let sources: Vec<&str> = [&["Work"], others].concat();
    archive(folder.path(), &sources, "0123456789abcdef", PACKAGE)?;
    Ok(folder)
}

/// A run that has ended, in a folder of its own, which also has its profiles.
pub struct Run {
    pub folder: TempDir,
    pub stdout: String,
    /// The lines of standard error that begin with `loadhook:`.
    pub told: Vec<String>,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Run {
    pub fn new(jdk: u32, jvm: &[&str], class_path: &Path, arguments: &[&str]) -> Result<Run> {
        let folder = tempfile::tempdir()?;
        Run::within(folder, jdk, jvm, class_path, arguments, &[])
    }

    pub fn within(
        folder: TempDir,
        jdk: u32,
        jvm: &[&str],
        class_path: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Run> {
        let mut command = Jdk::find(jdk)?.java();
        command.args(jvm).arg("-cp").arg(class_path).args(arguments);
        command.envs(environment.iter().copied());
        Run::of(folder, command)
    }

    pub fn of(folder: TempDir, mut command: Command) -> Result<Run> {
        let output = command
            .current_dir(folder.path())
            .output()
            .with_context(|| format!("cannot start {command:?}"))?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let told = stderr.lines().filter(|line| line.starts_with("loadhook: "));
        Ok(Run {
            folder,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            told: told.map(str::to_owned).collect(),
            stderr,
            code: output.status.code(),
        })
    }

    /// Returns the sorted names of the files in the run's folder, with `%p` in place of the process id.
    pub fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.folder.path())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            names.push(match name.strip_prefix("loadhook-") {
                Some(rest) => {
                    ensure!(!digits.is_empty(), "{name}");
                    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                    format!("loadhook-%p{rest}")
                }
                None => name,
            });
        }
        names.sort();
        Ok(names)
    }

    /// Returns the bytes of the file `name`, or of the only file whose name ends with it.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        for entry in fs::read_dir(self.folder.path())? {
            let entry = entry?;
            let found = entry.file_name().to_string_lossy().into_owned();
            let of_process = name.strip_prefix("loadhook-%p").is_some_and(|rest| {
                let tail = found.strip_prefix("loadhook-");
                tail.is_some_and(|tail| {
                    tail.trim_start_matches(|c: char| c.is_ascii_digit()) == rest
                })
            });
            if found == name || of_process {
                return Ok(fs::read(entry.path())?);
            }
        }
        anyhow::bail!(
            "the file {name} was not written, only {:?}\n{}",
            self.files()?,
            self.stderr
        )
    }

    pub fn profile(&self, name: &str) -> Result<Profile> {
        let bytes = self.bytes(name)?;
        pprof::read(&bytes).with_context(|| format!("{name} of {} bytes", bytes.len()))
    }

    /// Returns the only profile of the run, which has the default name. Fails if the run printed a message.
    pub fn only(&self) -> Result<Profile> {
        ensure!(self.told.is_empty(), "{}", self.stderr);
        ensure!(
            self.files()? == ["loadhook-%p.pb.gz"],
            "the file loadhook-%p.pb.gz alone expected, found {:?}\n{}",
            self.files()?,
            self.stderr
        );
        self.profile("loadhook-%p.pb.gz")
    }
}

/// Returns the number of calls of a method from a caller, summed over all threads. Both are `Class.name`; the
/// caller `""` stands for none.
pub fn calls(profile: &Profile, caller: &str, method: &str) -> u64 {
    let name = |at: u32| {
        let method = &profile.methods[at as usize];
        format!("{}.{}", method.class, method.name)
    };
    let mut calls = 0;
    for thread in &profile.threads {
        for node in &thread.nodes {
            let parent = node.parent.map(|parent| &thread.nodes[parent as usize]);
            let from = parent.map_or(String::new(), |parent| name(parent.method));
            if from == caller && name(node.method) == method {
                calls += node.calls;
            }
        }
    }
    calls
}

/// Checks the number of calls between the programs `Alpha` and `Beta`.
pub fn check_edges(profile: &Profile) -> Result<()> {
    for (caller, method, expected) in [
        ("", "Alpha.main", 1),
        ("Alpha.main", "Alpha.one", 11),
        ("Alpha.main", "Alpha.<init>", 1),
        ("Alpha.one", "Beta.two", 20),
        ("Beta.two", "Beta.three", 20),
        ("Beta.two", "Alpha.back", 20),
    ] {
        let found = calls(profile, caller, method);
        ensure!(found == expected, "{caller} {method} {found}");
    }
    ensure!(profile.calls() == 73, "{}", profile.calls());
    Ok(())
}
