//! A threaded server and its clients, in `tests/kit/tomcat`. They use jars that
//! `scripts/corpora.sh` fetches.

use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use crate::jdk::Jdk;
use crate::process;

/// Number of requests that each client sends.
pub const REQUESTS: usize = 1000;
/// Number of clients.
pub const CLIENTS: usize = 16;

/// Compiles the server and the clients into `folder`. Returns a class path of these classes and the
/// jars that they need.
///
/// # Errors
///
/// When the classes do not compile, or JDK 17 is missing.
pub fn class_path(jars: &[PathBuf], folder: &Path) -> Result<String> {
    let jars: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
    let jars = jars.join(":");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tomcat");
    let classes = folder.join("classes");
    let mut javac = Jdk::find(17)?.javac()?;
    javac.args(["-nowarn", "-XDignore.symbol.file", "--release", "11", "-cp"]);
    javac.arg(&jars).arg("-d").arg(&classes);
    javac.args(["TomcatServer", "HttpClients"].map(|name| sources.join(format!("{name}.java"))));
    process::output(&mut javac)?;
    Ok(format!("{}:{jars}", classes.display()))
}

/// A running server. It is killed if the test ends first.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the server has already ended.
        let _ = self.0.kill();
    }
}

/// Sends a server all requests, then makes the server end. Returns its output.
///
/// # Errors
///
/// When the server does not answer every request correctly.
pub fn talk(java: &mut Command, jdk: &Jdk, class_path: &str) -> Result<Output> {
    // The server's standard error goes to a file. No thread reads a pipe meanwhile, so a pipe would
    // fill up.
    let mut errors = tempfile::tempfile()?;
    java.stdout(Stdio::piped()).stderr(errors.try_clone()?);
    let mut server = Server(java.spawn()?);
    let mut said = BufReader::new(
        server
            .0
            .stdout
            .take()
            .context("the process has no standard output")?,
    );
    let mut port = String::new();
    said.read_line(&mut port)?;
    let clients = jdk
        .java()
        .args(["-cp", class_path, "HttpClients", port.trim()])
        .args([CLIENTS, REQUESTS].map(|number| number.to_string()))
        .output()?;
    let answers = CLIENTS * REQUESTS;
    let answered = String::from_utf8_lossy(&clients.stdout);
    ensure!(answered == format!("{answers} answered\n"), "{clients:?}");
    process::output(Command::new("kill").arg(server.0.id().to_string()))?;
    let mut stdout = String::new();
    said.read_to_string(&mut stdout)?;
    let refusals = answers / 10;
    let summary = format!("{answers} answers, {refusals} of them refusals\n");
    ensure!(stdout == summary, "{stdout}");
    let status = server.0.wait()?;
    let mut stderr = Vec::new();
    errors.rewind()?;
    errors.read_to_end(&mut stderr)?;
    Ok(Output {
        status,
        stdout: stdout.into_bytes(),
        stderr,
    })
}
