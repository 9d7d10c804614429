//! Shared code of the `world_*` tests: runs programs with and without the agent.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_testkit::jdk::Jdk;
pub(crate) use loadhook_testkit::paths::agent_library;
use loadhook_testkit::{corpus, process, source};

/// Returns the folder with the Java programs of the tests.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/world")
}

/// Returns the folder with the classes of the programs in `tests/java/world/<group>`, which JDK 17
/// compiles once so that every JDK from 11 on runs them.
pub(crate) fn classes(group: &str) -> Result<PathBuf> {
    compiled(group, |javac, files| {
        javac.args(files);
        Ok(())
    })
}

/// Compiles the programs of a group like [`classes`], with further arguments of the compiler. The given function adds
/// these; it gets the source files.
pub(crate) fn compiled(
    group: &str,
    arguments: impl FnOnce(&mut Command, &[PathBuf]) -> Result<()>,
) -> Result<PathBuf> {
    let files = corpus::files(&sources().join(group), "java")?;
    source::compile_once(&format!("world-{group}"), &files, |javac| {
        arguments(javac.args(["--release", "11", "-g"]), &files)
    })
}

/// A program on a JDK.
pub(crate) struct Program {
    pub(crate) jdk: Jdk,
    /// The JVM's options, including the class path.
    pub(crate) jvm: Vec<String>,
    /// The main class and its arguments.
    pub(crate) main: Vec<String>,
    /// The agent's options except for `file`.
    pub(crate) options: String,
    folder: tempfile::TempDir,
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// Returns the option that loads the agent. Without a timing, calls are timed adaptively, and all methods keep their
/// probes: these tests check the calls of each thread.
pub(crate) fn agent_option(options: &str, file: &Path) -> Result<String> {
    let mut options = options.to_owned();
    if !options.contains("timing=") {
        options += ",timing=adaptive";
    }
    if options.contains("timing=adaptive") && !options.contains("budget=") {
        options += ",budget=none";
    }
    Ok(format!(
        "-agentpath:{}={options},file={}",
        agent_library()?.display(),
        file.display()
    ))
}

impl Program {
    pub(crate) fn new(feature: u32, classes: &Path, main: &[&str]) -> Result<Self> {
        Ok(Program {
            jdk: Jdk::find(feature)?,
            jvm: vec!["-cp".to_owned(), classes.display().to_string()],
            main: main.iter().map(|word| (*word).to_owned()).collect(),
            options: "all=true,quiet=true".to_owned(),
            folder: tempfile::tempdir()?,
        })
    }

    pub(crate) fn jvm(mut self, options: &[&str]) -> Self {
        self.jvm
            .extend(options.iter().map(|option| (*option).to_owned()));
        self
    }

    pub(crate) fn options(mut self, options: &str) -> Self {
        self.options = options.to_owned();
        self
    }

    /// Returns a folder that only this program uses.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the file that the agent writes the profile to.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder().join("profile.pb.gz")
    }

    /// Returns the option that loads the agent.
    pub(crate) fn agent_option(&self) -> Result<String> {
        agent_option(&self.options, &self.file())
    }

    /// Returns the command that runs the JDK's `java`.
    pub(crate) fn java(&self) -> Command {
        without_options(self.jdk.java())
    }

    pub(crate) fn command(&self, agent: bool) -> Result<Command> {
        let mut command = self.java();
        if agent {
            command.arg(self.agent_option()?);
        }
        command.args(&self.jvm).args(&self.main);
        command.current_dir(self.folder());
        Ok(command)
    }

    pub(crate) fn plain(&self) -> Result<Ran> {
        Ok(process::finish(&mut self.command(false)?)?.into())
    }

    pub(crate) fn observed(&self) -> Result<Ran> {
        Ok(process::finish(&mut self.command(true)?)?.into())
    }

    /// Runs the program with and without the agent, and returns its profile. Output and exit code
    /// must be the same, and the agent must print nothing.
    pub(crate) fn unchanged(&self) -> Result<Profile> {
        let (plain, observed) = (self.plain()?, self.observed()?);
        ensure!(
            plain.stdout == observed.stdout && plain.code == observed.code,
            "JDK {}: plain {plain}\nwith the agent {observed}",
            self.jdk.feature
        );
        ensure!(!observed.stderr.contains("loadhook"), "{observed}");
        self.profile()
    }

    /// Runs the program with the agent only, and returns its profile. Output and exit code must be
    /// the given ones, and the agent must print nothing.
    pub(crate) fn prints(&self, stdout: &str, code: i32) -> Result<Profile> {
        let observed = self.observed()?;
        ensure!(
            observed.stdout == stdout && observed.code == Some(code),
            "JDK {}: {code} and {stdout:?} expected: {observed}",
            self.jdk.feature
        );
        ensure!(!observed.stderr.contains("loadhook"), "{observed}");
        self.profile()
    }

    pub(crate) fn profile(&self) -> Result<Profile> {
        read(&self.file())
    }
}

/// Removes the options that a developer may have in the environment.
pub(crate) fn without_options(mut java: Command) -> Command {
    java.env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("JDK_JAVA_OPTIONS");
    java
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran {
            stdout,
            stderr,
            code,
        } = self;
        write!(f, "ended with {code:?}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

pub(crate) fn read(file: &Path) -> Result<Profile> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    pprof::read(&bytes[..]).with_context(|| file.display().to_string())
}

/// Returns the number of calls of each method (`Class.name`), over all loaders and threads.
pub(crate) fn calls(profile: &Profile) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for thread in &profile.threads {
        for node in &thread.nodes {
            let method = &profile.methods[node.method as usize];
            let name = format!("{}.{}", method.class, method.name);
            *calls.entry(name).or_default() += node.calls;
        }
    }
    calls
}

/// Checks the given numbers of calls; a method that is not in the profile was called 0 times.
pub(crate) fn expect(profile: &Profile, expected: &[(&str, u64)]) -> Result<()> {
    let calls = calls(profile);
    for (method, count) in expected {
        let found = calls.get(*method).copied().unwrap_or(0);
        ensure!(
            found == *count,
            "{method}: {count} expected, {found} found in {calls:#?}"
        );
    }
    Ok(())
}
