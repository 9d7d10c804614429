//! An agent that comes into a running JVM, and leaves it again.

pub(crate) mod answer;
pub(crate) mod session;
mod watch;
