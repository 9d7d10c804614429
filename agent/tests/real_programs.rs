//! Real programs (javac, the Closure compiler, Tomcat) end as they do without the agent, and the
//! profile has their calls.
//!
//! `scripts/corpora.sh` fetches the programs and their input. `.ci/run` runs that script and then
//! these tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use loadhook_hprof::contents::Contents;
use loadhook_profile::Profile;
use loadhook_testkit::jdk::{Jdk, REPEATABLE};
use loadhook_testkit::{paths, tomcat};
use tempfile::TempDir;

mod support;
use support::{Finished, finish};

macro_rules! on_17_and_25 {
    ($($check:ident)+) => { $(
        mod $check {
            #[test]
            #[ignore = "needs scripts/corpora.sh"]
            fn on_17() -> anyhow::Result<()> {
                super::$check(17)
            }

            #[test]
            #[ignore = "needs scripts/corpora.sh"]
            fn on_25() -> anyhow::Result<()> {
                super::$check(25)
            }
        }
    )+ };
}

on_17_and_25!(javac javac_on_an_instrumented_jdk closure_compiler tomcat_on_threads);

#[test]
#[ignore = "needs scripts/corpora.sh"]
fn tomcat_on_virtual_threads() -> Result<()> {
    serve(
        25,
        true,
        &[
            "timing=adaptive,budget=none",
            "timing=adaptive,include=**,budget=none",
        ],
    )
}

/// A program, and the folder that it writes into.
struct Program {
    name: &'static str,
    jdk: Jdk,
    arguments: Vec<String>,
    out: PathBuf,
    scratch: TempDir,
}

/// The result of a program: its output, and its files by name.
#[derive(PartialEq, Eq)]
struct Left {
    output: Output,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Program {
    fn new(name: &'static str, feature: u32) -> Result<Self> {
        let scratch = TempDir::new()?;
        Ok(Program {
            name,
            jdk: Jdk::find(feature)?,
            arguments: Vec::new(),
            out: scratch.path().join("out"),
            scratch,
        })
    }

    fn run(&self, jvm: &[&str]) -> Result<Left> {
        if self.out.exists() {
            fs::remove_dir_all(&self.out)?;
        }
        fs::create_dir(&self.out)?;
        let output = finish(java(&self.jdk).args(jvm).args(&self.arguments))?;
        ensure!(output.status.success(), "{}: {output:?}", self.name);
        let files = files(&self.out)?;
        ensure!(!files.is_empty(), "{} wrote no file", self.name);
        Ok(Left { output, files })
    }

    /// Runs the program under the agent, and returns its profile. The program must end as `plain`
    /// did.
    fn observed(&self, plain: &Left, jvm: &[&str], options: &str) -> Result<Finished> {
        let file = self.scratch.path().join("profile.pb.gz");
        let agent = agent_option(&file, options)?;
        let left = self.run(&[jvm, &[&*agent]].concat())?;
        let name = format!("{}, JDK {}, {options}", self.name, self.jdk.feature);
        let same = |a: &[u8], b: &[u8]| -> Result<()> {
            let text = String::from_utf8_lossy;
            ensure!(
                a == b,
                "{name}: outputs differ. With the agent: {}\nwithout: {}",
                text(b),
                text(a)
            );
            Ok(())
        };
        same(&plain.output.stdout, &left.output.stdout)?;
        same(&plain.output.stderr, &left.output.stderr)?;
        for (path, bytes) in &plain.files {
            let found = left.files.get(path);
            ensure!(
                found == Some(bytes),
                "{name}: the file {} is not the same without the agent",
                path.display()
            );
        }
        ensure!(
            plain.files.len() == left.files.len(),
            "{name}: with the agent, the program wrote other files"
        );
        Ok(Finished {
            output: left.output,
            profile: support::read(&file).with_context(|| name.clone())?,
            name,
        })
    }
}

/// Returns a command that runs `java` without options from the environment.
fn java(jdk: &Jdk) -> Command {
    let mut java = jdk.java();
    java.env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("JDK_JAVA_OPTIONS");
    java
}

fn agent_option(file: &Path, options: &str) -> Result<String> {
    let agent = support::agent()?;
    Ok(format!(
        "-agentpath:{}=quiet=true,file={},{options}",
        agent.display(),
        file.display()
    ))
}

/// Returns the folder of this name that `scripts/corpora.sh` has filled.
fn corpus(name: &str) -> Result<PathBuf> {
    let path = paths::target().join("corpora").join(name);
    ensure!(
        path.exists(),
        "{} is missing: scripts/corpora.sh fetches it",
        path.display()
    );
    Ok(path)
}

/// Returns the contents of all files below a folder, by path relative to the folder.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder)?.to_path_buf(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// Returns the number of calls of each method. This includes the calls that were counted without their callers.
fn calls(profile: &Profile) -> BTreeMap<String, u64> {
    let with_callers = profile
        .threads
        .iter()
        .flat_map(|thread| &thread.nodes)
        .map(|node| (node.method, node.calls));
    let only_counted = profile
        .method_calls
        .iter()
        .map(|counted| (counted.method, counted.calls));
    let mut calls = BTreeMap::new();
    for (method, number) in with_callers.chain(only_counted) {
        let method = &profile.methods[method as usize];
        let name = format!("{}.{}{}", method.class, method.name, method.descriptor);
        *calls.entry(support::from_anywhere(&name)).or_default() += number;
    }
    calls
}

impl Finished {
    /// Checks the number of calls of each given edge (caller and callee).
    fn facts(&self, facts: &[(&str, usize)]) -> Result<&Self> {
        let edges = support::edges(&self.profile, "-");
        for &(edge, expected) in facts {
            let found = edges.get(edge).copied().unwrap_or_default();
            ensure!(
                found == expected as u64,
                "{}: {edge}: {found} calls found, {expected} expected",
                self.name
            );
        }
        Ok(self)
    }

    /// Checks that each method was called as often as in the run `more`, in which more methods may
    /// have probes.
    fn as_in(&self, more: &Finished) -> Result<&Self> {
        let wanted = calls(&self.profile);
        let mut found = calls(&more.profile);
        found.retain(|method, _| wanted.contains_key(method));
        ensure!(wanted.len() > 1000, "{}: {}", self.name, wanted.len());
        more.same_calls(&wanted, &found)?;
        Ok(self)
    }
}

/// Two callers and callees, each with the number of its calls.
type Facts = [(&'static str, usize); 2];

/// Returns javac, what it leaves when it compiles more than 200 files, and the calls of two of its methods.
fn javac_and_facts(feature: u32) -> Result<(Program, Left, Facts)> {
    let sources = corpus("bcel")?;
    let names: Vec<PathBuf> = files(&sources)?.into_keys().collect();
    ensure!(
        names.len() > 200,
        "more than 200 source files expected, {} found",
        names.len()
    );
    let mut javac = Program::new("javac", feature)?;
    javac.jdk.javac()?;
    javac.arguments = ["-m", "jdk.compiler/com.sun.tools.javac.Main"]
        .into_iter()
        .chain(["-nowarn", "-XDignore.symbol.file", "-proc:none", "-g", "-d"])
        .map(str::to_owned)
        .collect();
    javac.arguments.push(javac.out.display().to_string());
    javac.arguments.push("--patch-module".to_owned());
    javac
        .arguments
        .push(format!("java.xml={}", sources.display()));
    let paths = names.iter().map(|name| sources.join(name));
    javac
        .arguments
        .extend(paths.map(|path| path.display().to_string()));

    let plain = javac.run(&[])?;
    let facts = [
        (
            "com.sun.tools.javac.main.JavaCompiler.parse > com.sun.tools.javac.parser.JavacParser.parseCompilationUnit",
            names.len(),
        ),
        (
            "com.sun.tools.javac.main.JavaCompiler.genCode > com.sun.tools.javac.jvm.ClassWriter.writeClass",
            plain.files.len(),
        ),
    ];
    Ok((javac, plain, facts))
}

fn javac(feature: u32) -> Result<()> {
    let (javac, plain, facts) = javac_and_facts(feature)?;
    let own = "include=com.sun.tools.javac.**";
    let repeated = |options: &str| -> Result<Finished> {
        let run = javac.observed(&plain, REPEATABLE, &format!("{own},{options}"))?;
        run.facts(&facts)?.sound(1)?;
        Ok(run)
    };
    let counted = repeated("timing=count")?;
    counted.as_in(&repeated("timing=adaptive,budget=none,all=true")?)?;
    counted.as_in(&repeated("timing=exact")?)?;
    let sampled = javac.observed(&plain, REPEATABLE, own)?;
    sampled.sound(1)?;
    counted.as_in(&sampled)?;
    Ok(())
}

/// The whole JDK is instrumented, which needs more nodes than the program alone.
fn javac_on_an_instrumented_jdk(feature: u32) -> Result<()> {
    let (javac, plain, facts) = javac_and_facts(feature)?;
    let options = "include=**,all=true,max-nodes=5000000,timing=adaptive";
    javac
        .observed(&plain, &[], options)?
        .facts(&facts)?
        .sound(100)?;
    Ok(())
}

fn closure_compiler(feature: u32) -> Result<()> {
    let mut closure = Program::new("the Closure compiler", feature)?;
    closure.arguments = vec![
        "-jar".to_owned(),
        corpus("closure-compiler/compiler.jar")?
            .display()
            .to_string(),
        "--js".to_owned(),
        corpus("jquery/jquery.js")?.display().to_string(),
        // Leave out the declarations of the browser, which take longer to compile than the program.
        "--env=CUSTOM".to_owned(),
        "--js_output_file".to_owned(),
        closure.out.join("small.js").display().to_string(),
    ];
    let plain = closure.run(REPEATABLE)?;
    let main = [("- > com.google.javascript.jscomp.CommandLineRunner.main", 1)];
    let counted = closure.observed(&plain, REPEATABLE, "timing=count")?;
    counted.facts(&main)?.sound(2)?;
    let all = closure.observed(&plain, REPEATABLE, "timing=adaptive,all=true")?;
    all.facts(&main)?.sound(2)?;
    counted.as_in(&all)?;
    let sampled = closure.observed(&plain, REPEATABLE, "")?;
    sampled.sound(2)?;
    counted.as_in(&sampled)?;
    Ok(())
}

/// Under the options of HPROF, javac and the Closure compiler do what they do without the agent, and `-Xcheck:jni` finds
/// no fault of the agent. Their input is small, because the JVM checks each call of JNI.
#[test]
#[ignore = "needs scripts/corpora.sh"]
fn programs_under_options_of_hprof() -> Result<()> {
    let compiler = corpus("closure-compiler/compiler.jar")?;
    let mut javac = Program::new("javac", 17)?;
    let input = |program: &Program, name: &str, text: &str| -> Result<String> {
        let file = program.scratch.path().join(name);
        fs::write(&file, text)?;
        Ok(file.display().to_string())
    };
    let source = input(
        &javac,
        "Sum.java",
        "class Sum { int of(int a) { return a + 1; } }",
    )?;
    let out = javac.out.display().to_string();
    let main = "jdk.compiler/com.sun.tools.javac.Main";
    let arguments = ["-m", main, "-proc:none", "-d", &out, &source];
    javac.arguments = arguments.map(str::to_owned).to_vec();
    let mut closure = Program::new("the Closure compiler", 17)?;
    let source = input(
        &closure,
        "sum.js",
        "function sum(a) { return a + 1 } alert(sum(2));",
    )?;
    let (jar, out) = (compiler.display().to_string(), closure.out.join("small.js"));
    let out = out.display().to_string();
    let arguments = [
        "-jar",
        &jar,
        "--env=CUSTOM",
        "--js",
        &source,
        "--js_output_file",
        &out,
    ];
    closure.arguments = arguments.map(str::to_owned).to_vec();
    // The probes of `cpu=times`, which `cpu=old` has too, would take minutes in the Closure compiler.
    let measured = [
        "cpu=samples",
        "heap=sites,depth=8",
        "heap=dump,format=b",
        "monitor=y,thread=y",
    ];
    for (program, more) in [(javac, Some("cpu=times")), (closure, None)] {
        let plain = program.run(&["-Xcheck:jni"])?;
        for options in measured.into_iter().chain(more) {
            let file = program.scratch.path().join("java.hprof");
            let (agent, path) = (support::agent()?, file.display());
            let agent = format!(
                "-agentpath:{}=hprof:{options},verbose=n,file={path}",
                agent.display()
            );
            let left = program.run(&["-Xcheck:jni", &agent])?;
            let name = format!("{} under {options}", program.name);
            ensure!(
                left == plain,
                "{name}: {:?} {:?}",
                left.output,
                plain.output
            );
            let read = Contents::read(fs::read(&file)?.as_slice());
            ensure!(read.error.is_none(), "{name}: {:?}", read.error);
        }
    }
    Ok(())
}

fn tomcat_on_threads(feature: u32) -> Result<()> {
    serve(
        feature,
        false,
        &["timing=exact", "timing=adaptive,include=**,budget=none"],
    )
}

fn serve(feature: u32, on_virtual: bool, all_options: &[&str]) -> Result<()> {
    let jdk = Jdk::find(feature)?;
    let scratch = TempDir::new()?;
    let jars = [
        "tomcat/tomcat10-embed-core.jar",
        "tomcat/jakarta-annotation-api.jar",
    ];
    let jars: Vec<PathBuf> = jars.into_iter().map(corpus).collect::<Result<_>>()?;
    let class_path = tomcat::class_path(&jars, scratch.path())?;
    let file = scratch.path().join("profile.pb.gz");
    for options in all_options {
        let mut java = java(&jdk);
        java.arg(agent_option(&file, options)?)
            .args(["-cp", &class_path, "TomcatServer"])
            .arg(scratch.path())
            .arg(on_virtual.to_string());
        let output = tomcat::talk(&mut java, &jdk, &class_path)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let by_signal = output.status.code() == Some(128 + 15);
        ensure!(by_signal && !stderr.contains("loadhook"), "{output:?}");
        let run = Finished {
            output,
            profile: support::read(&file)?,
            name: format!("Tomcat, JDK {feature}, {options}"),
        };
        served(&run, on_virtual)?;
    }
    Ok(())
}

/// Checks that the work of each HTTP answer was counted, in the threads that answer.
fn served(run: &Finished, on_virtual: bool) -> Result<()> {
    let answers = tomcat::CLIENTS * tomcat::REQUESTS;
    run.sound(100)?.facts(&[
        (
            "jakarta.servlet.http.HttpServlet.service > TomcatServer$Answers.doGet",
            answers,
        ),
        (
            "TomcatServer$Answers.doGet > TomcatServer$Answers.answer",
            answers,
        ),
        (
            "TomcatServer$Answers.answer > TomcatServer$Answers.part",
            4 * answers,
        ),
    ])?;
    let name = if on_virtual { "-virt-" } else { "-exec-" };
    for thread in &run.profile.threads {
        let answered = thread.nodes.iter().any(|node| {
            let method = &run.profile.methods[node.method as usize];
            &*method.class == "TomcatServer$Answers" && &*method.name == "doGet"
        });
        ensure!(
            !answered || thread.name.contains(name),
            "{}: a thread named like {name} should answer, but {} did",
            run.name,
            thread.name
        );
    }
    Ok(())
}
