//! The installed command `loadhook`, and a program to run under it.
#![allow(dead_code)]

pub(crate) mod held;
pub(crate) mod watched;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context, anyhow, ensure};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{paths, process, source};
use tempfile::TempDir;

/// Files that all tests of one test program share. They are made once, and exist as long as the
/// tests run.
struct Shared {
    folder: PathBuf,
    /// The program's class files.
    classes: PathBuf,
    java: PathBuf,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        let _ = fs::remove_dir_all(&folder);
        for part in ["bin", "lib"] {
            fs::create_dir_all(folder.join(part)).expect("the test folder can be created");
        }
        let test = std::env::current_exe().expect("a test has an executable");
        // Cargo builds the agent beside the tests, because it is one of their dependencies.
        let agent = test.with_file_name("libloadhook_agent.so");
        for (from, to) in [
            (Path::new(env!("CARGO_BIN_EXE_loadhook")), "bin/loadhook"),
            (&agent, "lib/libloadhook_agent.so"),
        ] {
            executable(from, &folder.join(to));
        }
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Shop.java");
        let classes = source::compile_once("shop", std::slice::from_ref(&program), |javac| {
            // The names of some class files are not ASCII.
            javac.env("LC_ALL", "C.UTF-8").arg(&program);
            Ok(())
        });
        let jdk = Jdk::find(17).expect("JDK 17 is installed");
        Shared {
            folder,
            classes: classes.expect("the program compiles"),
            java: jdk.home.join("bin"),
        }
    })
}

/// Copies an executable, in a process of its own. If this process wrote the copy, a process that
/// another test starts at that moment would inherit the open file; and a file that is open for
/// writing cannot be executed.
pub(crate) fn executable(from: &Path, to: &Path) {
    let mut install = Command::new("install");
    process::output(install.args(["-m", "755"]).args([from, to])).expect("the copy succeeds");
}

/// Returns the path of the installed agent library.
pub(crate) fn agent() -> PathBuf {
    shared().folder.join("lib/libloadhook_agent.so")
}

/// Returns the folder of the program's class files.
pub(crate) fn classes() -> PathBuf {
    shared().classes.clone()
}

/// Makes a temporary folder.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder can be created")
}

/// Makes a command with JDK 17's `java` on its path. Environment variables with JVM options are removed.
pub(crate) fn in_environment(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", shared().java.display()))
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "120");
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(variable);
    }
    command
}

/// Makes the command `loadhook ARGUMENTS` in a folder.
pub(crate) fn loadhook(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = in_environment(&shared().folder.join("bin/loadhook"), folder);
    command.args(arguments);
    command
}

/// Makes the command `loadhook run OPTIONS -- java -cp CLASSES shop.Shop ARGUMENTS`.
pub(crate) fn run(folder: &Path, options: &[&str], arguments: &[&str]) -> Command {
    let mut command = loadhook(folder, &["run"]);
    command.args(options).args(["--", "java", "-cp"]);
    command.arg(classes()).arg("shop.Shop").args(arguments);
    command
}

/// The output and the exit status of a command.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn done(command: &mut Command) -> Done {
    ended(process::finish(command.stdin(Stdio::null())).expect("the process ends"))
}

pub(crate) fn ended(output: Output) -> Done {
    Done {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("the text is UTF-8"),
        err: String::from_utf8(output.stderr).expect("the text is UTF-8"),
    }
}

impl Done {
    /// Checks exit code and standard output, and that standard error contains each text of `said`.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, out: &str, said: &[&str]) -> &Done {
        let Done {
            code: c,
            out: o,
            err,
        } = self;
        assert_eq!(*c, Some(code), "standard error: {err}");
        assert_eq!(o, out, "standard error: {err}");
        for text in said {
            assert!(err.contains(text), "`{text}` expected: {err}");
        }
        self
    }
}

/// Returns the names of the profiles in a folder.
pub(crate) fn profiles(folder: &Path) -> Vec<String> {
    let mut names = paths::names(folder).expect("the test folder can be listed");
    names.retain(|name| name.contains(".pb.gz"));
    names
}

pub(crate) fn read(file: &Path) -> Profile {
    let bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    pprof::read(&bytes[..]).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Returns the number of calls of a method, summed over all threads and callers.
pub(crate) fn calls(profile: &Profile, class: &str, method: &str) -> u64 {
    let is_it = |at: u32| {
        let found = &profile.methods[at as usize];
        &*found.class == class && &*found.name == method
    };
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let of_nodes = nodes.map(|node| (node.method, node.calls));
    let without_callers = profile.method_calls.iter().map(|it| (it.method, it.calls));
    let all = of_nodes.chain(without_callers);
    all.filter(|it| is_it(it.0)).map(|it| it.1).sum()
}

pub(crate) fn mode(file: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file)
        .expect("the metadata can be read")
        .permissions()
        .mode()
        & 0o777
}

/// Runs a command that must succeed. Returns its output, and its peak memory in MB.
pub(crate) fn most_memory(command: &mut Command) -> anyhow::Result<(String, u64)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let _limit = process::limit(&child);
    let mut stdout = child.stdout.take().context("the stream is not piped")?;
    let reader = thread::spawn(move || io::read_to_string(&mut stdout));
    let id = child.id().to_string();
    let mut peak = 0;
    let code = loop {
        if let Some(code) = child.try_wait()? {
            break code;
        }
        // The kernel does not tell the peak of a process that has ended. So the peak is read again and
        // again until the process ends.
        if let Some(bytes) = process::peak_memory(&id) {
            peak = bytes / 1024 / 1000;
        }
        thread::sleep(Duration::from_millis(5));
    };
    ensure!(code.success(), "{command:?}: {code}");
    ensure!(
        peak != 0,
        "the peak memory of the process was not measured: it ended too early"
    );
    let output = reader
        .join()
        .map_err(|_| anyhow!("the thread that reads the output panicked"))??;
    Ok((output, peak))
}
