//! The thread that carries out orders of `loadhook ctl`.

use std::time::Duration;

use loadhook_settings::control::Reply;
use rustix::net::{SendFlags, send};

use super::orders::{self, LEAVING};
use super::server;
use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::Jni;

/// Makes the agent leave. Called in one of the agent's own threads. The agent may be freed afterwards. Returns false if
/// another thread already makes the agent leave and has not finished.
pub(crate) type Leave = fn(&'static Agent, Jni<'_>) -> bool;

/// The time within which a client must read the reply to its order to leave.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the thread if the options ask for a control socket. The thread takes orders once the socket is
/// [open](super::state::Control::open).
pub(crate) fn start(agent: &'static Agent, jni: Jni<'_>, leave: Leave) {
    if !agent.options().settings.control {
        return;
    }
    let run = move |jni: Jni<'_>| {
        let Some(opened) = agent.control.wait_until_open() else {
            return;
        };
        let execute = |request| orders::execute(agent, jni, request);
        let reason = || orders::reason_to_leave(agent);
        let Some(asker) = server::serve(opened, execute, reason) else {
            return;
        };
        let reply = if leave(agent, jni) {
            Reply::Done
        } else {
            Reply::Error(LEAVING.to_owned())
        };
        // The agent may have been freed, so `agent` must not be used from here on.
        let _ = asker.set_nonblocking(false);
        let _ = asker.set_write_timeout(Some(PATIENCE));
        // If the client is gone, nobody needs the reply.
        let _ = send(&asker, format!("{reply}\n").as_bytes(), SendFlags::NOSIGNAL);
    };
    if !agent
        .own_threads
        .start(agent.jvmti, jni, c"loadhook control", run)
    {
        diagnostics::once(
            "control= has no effect: the thread that takes orders cannot be started, so loadhook ctl cannot reach the program",
        );
    }
}
