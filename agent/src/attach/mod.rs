//! Attaching: an agent begins in a JVM that already runs, and later leaves this JVM.

pub(crate) mod answer;
pub(crate) mod session;
mod watch;
