//! Attaching: the agent begins in a JVM that runs already, and leaves it again.

pub(crate) mod answer;
pub(crate) mod session;
mod watch;
