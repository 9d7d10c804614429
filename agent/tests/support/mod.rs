//! Runs the Java programs of `tests/java` under the agent on each JDK, and reads their profiles.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use loadhook_profile::analysis::{CountingCosts, figures};
use loadhook_profile::format::pprof;
use loadhook_profile::{Profile, Timing};
use loadhook_settings::AgentOptions;
use loadhook_testkit::jdk::Jdk;
pub(crate) use loadhook_testkit::paths::agent_library as agent;
pub(crate) use loadhook_testkit::process::finish;
use loadhook_testkit::{paths, process, source};
use tempfile::TempDir;

pub(crate) mod attach;
pub(crate) mod marks;
pub(crate) mod orders;

/// The values of the agent's option `timing`.
pub(crate) const TIMINGS: [&str; 4] = ["adaptive", "exact", "count", "sampled"];

/// Each of [`TIMINGS`], once with the JVM's compilers and once with `-Xint`; other probes are used
/// without the compilers.
pub(crate) fn compiled_and_interpreted() -> impl Iterator<Item = (&'static str, &'static str)> {
    let both = ["-Xmixed", "-Xint"];
    TIMINGS
        .into_iter()
        .flat_map(move |timing| both.map(|compiler| (timing, compiler)))
}

/// Makes a test for each JDK: `on_each_jdk!(counts_are_exact)` calls `fn counts_are_exact(feature: u32)`.
#[macro_export]
macro_rules! on_each_jdk {
    ($($check:ident)+) => { $crate::on_jdks!($($check)+: on_11 11, on_17 17, on_21 21, on_25 25); };
}

/// Makes a test for each of some JDKs.
#[macro_export]
macro_rules! on_jdks {
    ($check:ident : $($name:ident $feature:literal),+) => {
        mod $check {
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                super::$check($feature)
            })+
        }
    };
    ($first:ident $($check:ident)+ : $($jdks:tt)+) => {
        $crate::on_jdks!($first: $($jdks)+);
        $crate::on_jdks!($($check)+: $($jdks)+);
    };
}

/// Returns the folder with the classes of all programs in `tests/java`. JDK 17 compiles them once, for JDK 11 and
/// later, because the other JDKs may be runtimes without a compiler. To compile all programs in one run takes much less
/// time than a run for each program.
pub(crate) fn compiled() -> Result<PathBuf> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java"))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "java")
        {
            sources.push(path);
        }
    }
    sources.sort();
    source::compile_once("programs", &sources, |javac| {
        javac.args(["-g", "--release", "11"]).args(&sources);
        Ok(())
    })
}

/// Makes a jar, once for all tests, that loads a class of the program as a Java agent, so that the
/// program can ask for the sizes of objects.
pub(crate) fn java_agent(main: &str) -> Result<PathBuf> {
    let folder = paths::target().join(format!("loadhook-tests/java-agent-{main}"));
    paths::make_once(&folder, |made| {
        let manifest = made.join("manifest");
        fs::write(
            &manifest,
            format!("Premain-Class: {main}\nCan-Retransform-Classes: true\n"),
        )?;
        // The jar contains only a manifest, since the class is in the program's folder.
        let mut tool = Jdk::find(17)?.tool("jar")?;
        tool.arg("cfm").arg(made.join("agent.jar")).arg(&manifest);
        process::output(&mut tool).map(drop)
    })?;
    Ok(folder.join("agent.jar"))
}

/// Compiles the agent `tests/agents/<name>.c`, once for all tests. Returns the library.
pub(crate) fn native_agent(name: &str) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/agents/{name}.c"));
    let mut hasher = DefaultHasher::new();
    fs::read(&source)?.hash(&mut hasher);
    let folder = format!("loadhook-tests/agent-{name}-{:016x}", hasher.finish());
    let folder = paths::target().join(folder);
    paths::make_once(&folder, |built| {
        let include = Jdk::find(17)?.home.join("include");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O1", "-fPIC", "-shared", "-I"])
            .arg(&include)
            .arg("-I")
            .arg(include.join("linux"))
            .arg("-o")
            .arg(built.join("agent.so"))
            .arg(&source);
        process::output(&mut cc)
            .context("a C compiler and the headers of JDK 17 are needed, as for linking Rust")?;
        Ok(())
    })?;
    Ok(folder.join("agent.so"))
}

/// A Java program, and the JDK and options to run it with.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    feature: u32,
    main: &'static str,
    options: String,
    /// True if the agent gets the options as they are, without those that most tests rely on.
    is_bare: bool,
    /// True if the layer loads the agent as a profiler for JVMPI.
    is_by_jvmpi: bool,
    jvm: Vec<String>,
    args: Vec<String>,
}

/// The result of a program under the agent.
pub(crate) struct Finished {
    pub(crate) output: Output,
    pub(crate) profile: Profile,
    /// Name of the run for messages.
    pub(crate) name: String,
}

impl Program {
    /// Returns the program of `tests/java/<main>.java`.
    pub(crate) fn new(feature: u32, main: &'static str) -> Self {
        Program {
            feature,
            main,
            options: "all=true".to_owned(),
            is_bare: false,
            is_by_jvmpi: false,
            jvm: Vec::new(),
            args: Vec::new(),
        }
    }

    /// Adds options of the agent. In these tests, the agent also instruments trivial methods.
    pub(crate) fn options(mut self, options: &str) -> Self {
        self.options = format!("{},{options}", self.options);
        self
    }

    /// Gives the agent these options and no others but those for its file.
    pub(crate) fn only_options(mut self, options: &str) -> Self {
        (self.options, self.is_bare) = (options.to_owned(), true);
        self
    }

    /// Has the layer load the agent as a profiler for JVMPI.
    pub(crate) fn by_jvmpi(mut self) -> Self {
        self.is_by_jvmpi = true;
        self
    }

    /// Adds options of the JVM.
    pub(crate) fn jvm(mut self, options: &[&str]) -> Self {
        self.jvm.extend(options.iter().map(|&o| o.to_owned()));
        self
    }

    /// Adds arguments of the program.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&a| a.to_owned()));
        self
    }

    fn java(&self) -> Result<Command> {
        let mut java = Jdk::find(self.feature)?.java();
        // Options in the developer's environment must not change the test.
        java.env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS");
        java.args(&self.jvm).arg("-cp").arg(compiled()?);
        Ok(java)
    }

    /// Runs the program without the agent.
    pub(crate) fn plain(&self) -> Result<Output> {
        finish(self.java()?.arg(self.main).args(&self.args))
    }

    /// Returns the command that runs the program under the agent, which writes the profile to `file`.
    pub(crate) fn command(&self, file: &Path) -> Result<Command> {
        let mut java = self.java()?;
        let options = if self.is_bare {
            self.options.clone()
        } else {
            with_probes(&self.options)
        };
        let agent = agent()?.display().to_string();
        let agent = if self.is_by_jvmpi {
            let layer = paths::jvmpi_library()?;
            format!("{}=lib={agent},opts=", layer.display())
        } else {
            format!("{agent}=")
        };
        java.arg(format!(
            "-agentpath:{agent}quiet=true,file={},{options}",
            file.display(),
        ));
        java.arg(self.main).args(&self.args);
        Ok(java)
    }

    /// Runs the program under the agent, which must print no message.
    pub(crate) fn run(&self) -> Result<Finished> {
        let folder = TempDir::new()?;
        let file = folder.path().join("profile.pb.gz");
        let output = finish(&mut self.command(&file)?).with_context(|| self.name())?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(!stderr.contains("loadhook"), "{}: {stderr}", self.name());
        let profile = read(&file).with_context(|| format!("{}: {output:?}", self.name()))?;
        Ok(Finished {
            output,
            profile,
            name: self.name(),
        })
    }

    fn name(&self) -> String {
        format!(
            "JDK {}, {} {} {} {}",
            self.feature,
            self.options,
            self.jvm.join(" "),
            self.main,
            self.args.join(" ")
        )
    }
}

/// Returns the options, and further ones that keep the probes of every call. Most tests check the calls of each caller.
///
/// - Options without a timing get one: `adaptive`, or `none` if allocations are recorded.
/// - Options without a budget get `budget=none` if the timing has one. Otherwise hot methods could lose their probes.
pub(crate) fn with_probes(options: &str) -> String {
    let has = |key: &str| options.split(',').any(|option| option.starts_with(key));
    let mut options = options.to_owned();
    if !has("timing=") {
        options += match (has("alloc="), has("alloc-context=")) {
            (_, true) => "",
            (true, false) => ",timing=none",
            (false, false) => ",timing=adaptive",
        };
    }
    match options.parse::<AgentOptions>() {
        Ok(parsed) if parsed.budget.is_none() && parsed.budget_percent().is_some() => {
            options + ",budget=none"
        }
        _ => options,
    }
}

/// Reads a profile.
pub(crate) fn read(file: &Path) -> Result<Profile> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    Ok(pprof::read(&bytes[..])?)
}

impl Finished {
    /// Checks the program's output and exit code, and that it printed no error.
    pub(crate) fn printed(&self, stdout: &str, code: i32) -> Result<&Self> {
        ensure!(
            self.output.stdout == stdout.as_bytes()
                && self.output.stderr.is_empty()
                && self.output.status.code() == Some(code),
            "{}: {stdout:?} and {code} expected: {:?}",
            self.name,
            self.output
        );
        Ok(self)
    }

    /// Checks that the profile has these calls and no others, a line each: `caller > callee calls`.
    /// The caller is `-` for calls from outside. Methods of the program's main class are named
    /// without the class, and methods of nested classes with the simple name of their class.
    pub(crate) fn calls(&self, main: &str, expected: &str) -> Result<&Self> {
        let mut wanted = BTreeMap::new();
        for line in expected.lines().map(str::trim).filter(|l| !l.is_empty()) {
            let (edge, calls) = line.rsplit_once(' ').context(line.to_owned())?;
            let calls: u64 = calls.parse().with_context(|| line.to_owned())?;
            let again = wanted.insert(edge.trim().to_owned(), calls);
            ensure!(again.is_none(), "{line} is listed twice");
        }
        self.same_calls(&wanted, &edges(&self.profile, main))
    }

    /// Checks that two tables of calls are equal. With `timing=sampled` callers are left out.
    pub(crate) fn same_calls(
        &self,
        wanted: &BTreeMap<String, u64>,
        found: &BTreeMap<String, u64>,
    ) -> Result<&Self> {
        let wanted = &if self.profile.header.timing == Timing::Sampled {
            by_callee(wanted)
        } else {
            wanted.clone()
        };
        let mut wrong = String::new();
        for (edge, calls) in wanted {
            let found = found.get(edge).copied().unwrap_or_default();
            if found != *calls {
                writeln!(wrong, "  {edge}: {calls} expected, {found} found")?;
            }
        }
        for (edge, calls) in found.iter().filter(|(edge, _)| !wanted.contains_key(*edge)) {
            writeln!(wrong, "  {edge}: none expected, {calls} found")?;
        }
        ensure!(wrong.is_empty(), "{}:\n{wrong}", self.name);
        Ok(self)
    }

    /// Checks the rules that hold for every profile: no method is below itself, no self time is negative, and no call
    /// takes longer than its caller. A thread whose times come from probes takes no longer than the program. `threads`
    /// is the highest number of ended threads of one name, which share a tree.
    pub(crate) fn sound(&self, threads: u32) -> Result<&Self> {
        let profile = &self.profile;
        ensure!(
            profile.header.overflowed_calls == 0,
            "{}: some calls overflowed the call tree",
            self.name
        );
        let wall = if profile.header.timing == Timing::Sampled {
            // Samples only estimate a thread's time, and all compiler threads of the VM share a
            // tree.
            f64::INFINITY
        } else {
            profile.header.duration_ns as f64
        };
        for thread in &profile.threads {
            let wall = wall * f64::from(threads);
            let figures = figures(&thread.nodes, &profile.header, &CountingCosts::of(profile));
            let mut own = 0.0;
            let mut roots = 0.0;
            for (node, figure) in thread.nodes.iter().zip(&figures) {
                let place = || {
                    let method = &profile.methods[node.method as usize];
                    let name = &thread.name;
                    format!("{}: {name}: {}.{}", self.name, method.class, method.name)
                };
                ensure!(figure.self_ns >= 0.0, "{}: {figure:?}", place());
                own += figure.self_ns;
                let most = match node.parent {
                    Some(parent) => figures[parent as usize].total_ns * (1.0 + 1e-9),
                    None => wall,
                };
                ensure!(
                    figure.total_ns <= most + 1.0,
                    "{}: the total time of {figure:?} is more than the {most} ns of its caller or thread: {node:?}",
                    place()
                );
                if node.parent.is_none() {
                    roots += figure.total_ns;
                }
                let mut above = node.parent;
                while let Some(parent) = above {
                    let parent = &thread.nodes[parent as usize];
                    ensure!(
                        parent.method != node.method,
                        "a method stands below itself in the tree: {}",
                        place()
                    );
                    above = parent.parent;
                }
            }
            ensure!(
                (own - roots).abs() <= 1e-6 * roots + 1.0,
                "{}: {}: the self times sum up to {own}, the roots' total times to {roots}",
                self.name,
                thread.name
            );
        }
        Ok(self)
    }
}

/// Returns the edge that stands for all calls of a method whose callers are unknown.
pub(crate) fn from_anywhere(callee: &str) -> String {
    format!("* > {callee}")
}

fn by_callee(edges: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (edge, calls) in edges {
        let callee = edge.rsplit(" > ").next().unwrap_or(edge);
        *sums.entry(from_anywhere(callee)).or_default() += calls;
    }
    sums.retain(|_, calls| *calls > 0);
    sums
}

/// Returns the number of calls from each method to each other, in all threads together. Calls that
/// were counted without their callers have the edge [`from_anywhere`].
pub(crate) fn edges(profile: &Profile, main: &str) -> BTreeMap<String, u64> {
    let name = |method: u32| {
        let method = &profile.methods[method as usize];
        let class = &*method.class;
        let nested = class.strip_prefix(main);
        match nested.map(|rest| (rest.is_empty(), rest.strip_prefix('$'))) {
            Some((true, _)) => method.name.to_string(),
            Some((_, Some(nested))) => format!("{nested}.{}", method.name),
            _ => format!("{class}.{}", method.name),
        }
    };
    let mut edges = BTreeMap::new();
    for thread in &profile.threads {
        for node in &thread.nodes {
            let caller = node.parent.map(|p| thread.nodes[p as usize].method);
            let caller = caller.map_or_else(|| "-".to_owned(), name);
            *edges
                .entry(format!("{caller} > {}", name(node.method)))
                .or_default() += node.calls;
        }
    }
    if profile.header.timing == Timing::Sampled {
        // These trees are made of samples, which have no numbers of calls.
        edges.retain(|_, calls| *calls > 0);
    }
    for counted in &profile.method_calls {
        *edges
            .entry(from_anywhere(&name(counted.method)))
            .or_default() += counted.calls;
    }
    edges
}

/// Returns the calls that a program printed, in the form of [`edges`]. Other lines were printed by
/// the JVM and are ignored.
pub(crate) fn counted(printed: &str) -> Result<BTreeMap<String, u64>> {
    let lines = printed.lines().filter(|line| line.contains(" > "));
    lines
        .map(|line| {
            let (edge, calls) = line.rsplit_once(' ').context(line.to_owned())?;
            Ok((edge.to_owned(), calls.parse()?))
        })
        .collect()
}
