//! Orders to an agent that watches a JVM, and its replies: lines of JSON through a Unix socket.
//!
//! The socket is `/tmp/loadhook-UID/PID.sock`, where UID is the effective user of the JVM, and PID its process id as
//! the JVM itself sees it. Each [`Request`] is a line of at most [`LONGEST_LINE`] bytes, and has one [`Reply`]:
//!
//! ```text
//! {"version":1,"order":"include","pattern":"com.example.**,org.example.*"}
//! {"version":1,"reply":"changed","classes":812,"batches":9,…}
//! ```
//!
//! Unknown fields are ignored, so that later versions can add fields.

mod latency;
mod notes;
mod reply;
mod request;
mod traced;

use std::path::PathBuf;

pub use latency::Latency;
pub use notes::notes_on_inclusion;
pub use reply::{Changed, Reply, ReplyError, Status};
pub use request::{Request, RequestError, TraceOrder, ValueTexts, patterns};
pub use traced::{CallValues, Traced, TracedCall};

/// The version of requests and replies.
pub const VERSION: u64 = 1;

/// The maximum length of a line in bytes, without its line break.
pub const LONGEST_LINE: usize = 64 << 10;

/// Returns the private folder of a user with the sockets of the JVMs.
pub fn folder(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/loadhook-{user}"))
}

/// Returns the name of a JVM's socket in the [`folder`].
pub fn socket_name(process: u32) -> String {
    format!("{process}.sock")
}
