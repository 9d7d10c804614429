//! Starts the user's command with the agent in its JVM.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::java_options;
use crate::agent_path::{AGENT, utf8};
use crate::output::say;
use crate::signals::Held;

/// Returns whether a command is the Java launcher itself, which gets the agent as an argument.
/// Other commands may start JVMs, which get the agent through the environment.
pub(crate) fn is_java(command: &[OsString]) -> bool {
    let program = command.first().map(Path::new);
    program.is_some_and(|program| program.file_name().is_some_and(|name| name == "java"))
}

/// A command, and the agent to load into its JVM.
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a [OsString],
    pub(crate) agent: &'a Path,
    pub(crate) options: &'a str,
}

/// The way in which a command ended.
pub(crate) enum Ended {
    /// The exit code of the command; 128 plus the signal's number if a signal ended it.
    With(u8),
    /// The command was not found (127) or cannot be run (126).
    NotStarted(u8),
    /// The exit code of a command that loads an agent itself.
    Elsewhere(u8),
}

impl Launch<'_> {
    /// Runs the command to its end.
    pub(crate) fn run(&self) -> Result<Ended> {
        let Some((program, arguments)) = self.command.split_first() else {
            bail!("no command; give java and its arguments, or a script");
        };
        let is_java = is_java(self.command);
        let name = program.display();
        if let Some(refused) = java_options::refused(is_java.then_some(arguments)) {
            bail!("{refused}: this option cannot be combined with a Java agent; run without it");
        }
        let agent = utf8(self.agent)?;
        if agent.contains('=') {
            bail!(
                "{agent}: a JVM cannot load an agent from a path with an equals sign; move loadhook to another folder"
            );
        }
        let option = format!("-agentpath:{agent}={}", self.options);
        let mut command = Command::new(program);
        // If a JVM is given the agent twice, only the first one counts. The JVMPI layer can be given twice.
        let other = self
            .agent
            .ends_with(AGENT)
            .then(|| java_options::with_agent(is_java.then_some(arguments), AGENT))
            .flatten();
        let told = if let Some(place) = &other {
            command.args(arguments);
            Some(format!(
                "{place} already loads the agent; the options given there apply, those of this loadhook run are ignored"
            ))
        } else if is_java {
            command.arg(option).args(arguments);
            None
        } else {
            // The variable's value may be in any encoding.
            let mut tool_options = env::var_os("JAVA_TOOL_OPTIONS").unwrap_or_default();
            if !tool_options.is_empty() {
                tool_options.push(" ");
            }
            tool_options.push(java_options::quoted(&option));
            command
                .args(arguments)
                .env("JAVA_TOOL_OPTIONS", tool_options);
            Some(format!(
                "{name} is not the java launcher; every JVM that it starts will be profiled (through JAVA_TOOL_OPTIONS)"
            ))
        };
        let held = Held::new()?;
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                say!(
                    "error: cannot start {name}: {}",
                    not_started(&name.to_string(), &error)
                );
                return Ok(Ended::NotStarted(match error.kind() {
                    io::ErrorKind::NotFound => 127,
                    _ => 126,
                }));
            }
        };
        let handed_on = held.hand_on(child.id());
        // A command that cannot be started gets no message but its error.
        if let Some(told) = told {
            say!("loadhook: {told}");
        }
        let status = child.wait()?;
        drop(handed_on);
        let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
        let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Ok(match other {
            Some(_) => Ended::Elsewhere(code),
            None => Ended::With(code),
        })
    }
}

/// Returns the reason why a command cannot be started, and the remedy.
fn not_started(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if name.contains('/') => "no such file; check its path".to_owned(),
        io::ErrorKind::NotFound => {
            "no folder on PATH has this command; check its name, or give its path".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "no permission to execute it; check its path, or allow it (chmod +x)".to_owned()
        }
        _ => error.to_string(),
    }
}
