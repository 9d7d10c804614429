//! Finds the JVMs among all processes. Most JVMs write performance data, which contain most of the
//! facts shown. The others are found by the libraries that they have loaded.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use loadhook_settings::control::{folder, socket_name};

use super::program::program;
use crate::agent_path::AGENT;
use crate::jvm::{Connection, Jvm, Process, connect_to};
use crate::users;

/// A JVM, as far as it can be seen from outside.
pub(super) struct FoundJvm {
    pub(super) pid: u32,
    /// The id of the process inside its container.
    pub(super) own_pid: u32,
    pub(super) uid: u32,
    pub(super) user: String,
    /// The version of the JDK.
    pub(super) jdk: Option<String>,
    /// The main class or jar.
    pub(super) program: Option<String>,
    /// True if the process is in a PID namespace below ours, as in a container.
    pub(super) is_in_container: bool,
    /// True if the process has loaded the agent's library. A JVM never unloads it, so the agent may
    /// have left since.
    pub(super) has_agent: bool,
    /// True if an agent that watches the JVM takes orders.
    pub(super) takes_orders: bool,
    /// The reason why Loadhook cannot attach to the JVM; `None` if it can.
    pub(super) refused: Option<String>,
}

/// Finds all JVMs, ordered by their process ids.
pub(super) fn all() -> Result<Vec<FoundJvm>> {
    let entries = fs::read_dir("/proc").context("/proc")?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut pids: Vec<u32> = names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids.into_iter().filter_map(found).collect())
}

/// Returns the JVM of a process; `None` if the process is no JVM or has ended.
fn found(pid: u32) -> Option<FoundJvm> {
    let process = Process::read(pid).ok()?;
    let arguments = process.arguments();
    // Another user's map cannot be read.
    let mapped = process.mapped_files().ok();
    let is_jvm = match &mapped {
        Some(mapped) => mapped.has_jvm(),
        None => process.looks_like_jvm(&arguments),
    };
    if !is_jvm {
        return None;
    }
    let data = process.performance_data();
    let value = |name| data.as_ref()?.text(name).filter(|value| !value.is_empty());
    let jdk = value("java.property.java.version").or_else(|| {
        let folder = mapped.as_ref()?.jdk()?;
        let below = folder.strip_prefix("/").ok()?;
        released(&process.path("root").join(below))
    });
    // The command of a jar begins with its path, which may contain blanks.
    let command = value("sun.rt.javaCommand");
    let program = program(&arguments).or_else(|| {
        let command = command?;
        command.split(' ').next().map(str::to_owned)
    });
    let checked = Jvm::of(pid).and_then(|jvm| jvm.check_loads_agents());
    Some(FoundJvm {
        pid,
        own_pid: process.own_pid,
        uid: process.user,
        user: users::name(process.user),
        jdk,
        program,
        is_in_container: process.is_in_namespace,
        takes_orders: takes_orders(&process),
        has_agent: mapped.is_some_and(|mapped| mapped.find(AGENT).is_some()),
        refused: checked.err().map(|error| format!("{error:#}")),
    })
}

/// Returns whether an agent listens on the socket. A JVM that was killed leaves its socket.
fn takes_orders(process: &Process) -> bool {
    let Ok(tmp) = process.open_tmp() else {
        return false;
    };
    let folder = folder(process.own_user);
    let folder = tmp.path().join(folder.file_name().unwrap_or_default());
    let path = folder.join(socket_name(process.own_pid));
    matches!(
        connect_to(&path),
        Ok(Connection::Made(_) | Connection::Full)
    )
}

/// Returns the version in the file `release` of a JDK.
fn released(jdk: &Path) -> Option<String> {
    let text = fs::read_to_string(jdk.join("release")).ok()?;
    let mut lines = text.lines();
    let version = lines.find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim_matches('"').to_owned())
}
