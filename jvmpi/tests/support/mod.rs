//! Compiles the judges, and runs Java programs under them.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{paths, process, source};
use tempfile::TempDir;

/// Makes a test for JDK 17 and one for JDK 25: `fn name(feature: u32) -> Result<()>`.
#[macro_export]
macro_rules! on_17_and_25 {
    ($($check:ident)+) => { $(
        mod $check {
            #[test]
            fn on_17() -> anyhow::Result<()> {
                super::$check(17)
            }

            #[test]
            fn on_25() -> anyhow::Result<()> {
                super::$check(25)
            }
        }
    )+ };
}

/// Compiles a judge, `agents/<name>.c`, unless an earlier test or run has done so. Returns the path of the library.
pub(crate) fn library(name: &str) -> Result<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents");
    let header = tests.join("../../include");
    let mut hasher = DefaultHasher::new();
    let mut sources = paths::files(&tests, "h")?;
    sources.extend([header.join("jvmpi.h"), tests.join(format!("{name}.c"))]);
    for source in &sources {
        fs::read(source)
            .with_context(|| source.display().to_string())?
            .hash(&mut hasher);
    }
    let folder = paths::target()
        .join("loadhook-tests")
        .join(format!("judge-{name}-{:016x}", hasher.finish()));
    paths::make_once(&folder, |built| {
        let jni = Jdk::find(17)?.home.join("include");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-O1", "-fPIC", "-shared"])
            .arg("-I")
            .arg(&header)
            .arg("-I")
            .arg(&jni)
            .arg("-I")
            .arg(jni.join("linux"))
            .arg("-o")
            .arg(built.join(format!("{name}.so")))
            .arg(tests.join(format!("{name}.c")))
            .arg("-lpthread");
        process::output(&mut cc)
            .context("a C compiler and the headers of JDK 17 are needed, as for linking Rust")?;
        Ok(())
    })?;
    Ok(folder.join(format!("{name}.so")))
}

/// The option that makes the layer load a judge.
pub(crate) fn agent_option(judge: &str, options: &str) -> Result<String> {
    let (layer, judge) = (paths::jvmpi_library()?, library(judge)?);
    Ok(format!(
        "-agentpath:{}=lib={},opts={options}",
        layer.display(),
        judge.display()
    ))
}

/// The program of `java/Judged.java`, or another one, under one judge or several.
pub(crate) struct Run {
    feature: u32,
    program: &'static str,
    arguments: Vec<String>,
    /// Empty if the program runs without a judge.
    judge: &'static str,
    options: String,
    /// True if the judges see virtual threads as threads.
    sees_virtual_threads: bool,
    others: Vec<String>,
    jvm: Vec<String>,
    /// Folder for files of the run; it is removed at the end.
    pub(crate) folder: TempDir,
}

impl Run {
    pub(crate) fn new(feature: u32, judge: &'static str, options: &str) -> Self {
        Run {
            feature,
            program: "Judged",
            arguments: Vec::new(),
            judge,
            options: options.to_owned(),
            sees_virtual_threads: false,
            others: Vec::new(),
            jvm: Vec::new(),
            folder: TempDir::new().expect("a temporary folder"),
        }
    }

    /// Gives the judge these options.
    pub(crate) fn options(mut self, options: &str) -> Self {
        self.options = options.to_owned();
        self
    }

    /// Runs another program of `java`, with these arguments.
    pub(crate) fn program(mut self, program: &'static str, arguments: &[&str]) -> Self {
        self.program = program;
        self.arguments = arguments.iter().map(|&it| it.to_owned()).collect();
        self
    }

    /// Shows the judges virtual threads as threads. To be called before `beside`.
    pub(crate) fn virtual_threads(mut self) -> Self {
        self.sees_virtual_threads = true;
        self
    }

    fn agent_option(&self, judge: &str, options: &str) -> Result<String> {
        let option = agent_option(judge, options)?;
        Ok(if self.sees_virtual_threads {
            option.replacen(",opts=", ",virtual=threads,opts=", 1)
        } else {
            option
        })
    }

    /// The option that loads the judge, if there is one.
    fn first_option(&self) -> Result<Option<String>> {
        let exists = !self.judge.is_empty();
        let option = exists.then(|| self.agent_option(self.judge, &self.options));
        option.transpose()
    }

    /// Adds a second judge.
    pub(crate) fn beside(mut self, judge: &str, options: &str) -> Result<Self> {
        let option = self.agent_option(judge, options)?;
        self.others.push(option);
        Ok(self)
    }

    /// Adds options of the JVM.
    pub(crate) fn jvm(mut self, options: &[&str]) -> Self {
        self.jvm.extend(options.iter().map(|&o| o.to_owned()));
        self
    }

    /// Runs the program, whatever its end.
    pub(crate) fn ended(&self) -> Result<Output> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        let sources = [
            "Judged.java",
            "JudgedHot.java",
            "JudgedLoader.java",
            "JudgedNumbers.java",
            "JudgedTables.java",
            "JudgedVirtual.java",
        ];
        let sources = sources.map(|source| folder.join(source));
        // `-Xjcov`, an option for coverage tools of those years, adds an attribute to the code of methods that the
        // rewriter does not know. Our own agent leaves such methods out, so the programs that it watches lack it.
        let (name, coverage) = if self.program == "Judged" {
            ("JudgedWithCoverage", Some("-Xjcov"))
        } else {
            ("Judged", None)
        };
        let classes = source::compile_once(name, &sources, |javac| {
            javac.arg("-g").args(coverage).args(["--release", "11"]);
            javac.args(&sources);
            Ok(())
        })?;
        let mut java = Jdk::find(self.feature)?.java();
        java.env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS")
            // After a crash, the JVM's files are in this folder, and no core file is written.
            .current_dir(self.folder.path())
            .arg("-XX:-CreateCoredumpOnCrash")
            .args(self.first_option()?)
            .args(&self.others)
            .args(&self.jvm)
            .arg("-cp")
            .arg(classes)
            .arg(self.program)
            .args(&self.arguments);
        process::finish(&mut java)
    }

    /// Runs the program, which must end well, and so must all `judges`.
    pub(crate) fn judged(&self, judges: usize) -> Result<Output> {
        let output = self.ended()?;
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let verdicts = stderr
            .lines()
            .filter(|line| line.starts_with("verdict of ") && line.ends_with(": 0 complaints"));
        ensure!(
            output.status.success() && verdicts.count() == judges,
            "JDK {}, {} with {:?}: {}\n{stdout}{stderr}",
            self.feature,
            self.judge,
            self.options,
            output.status
        );
        Ok(output)
    }
}
