//! Connections to the attach socket of the JVM, and to the socket of an agent.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// The result of an attempt to connect.
pub(crate) enum Connection {
    Made(UnixStream),
    /// Nobody listens on the socket.
    None,
    /// Somebody listens, but the queue of waiting clients is full.
    Full,
}

/// Connects without waiting.
pub(crate) fn connect_to(path: &Path) -> io::Result<Connection> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) => {
            let stream = UnixStream::from(socket);
            stream.set_nonblocking(false)?;
            Ok(Connection::Made(stream))
        }
        Err(Errno::AGAIN) => Ok(Connection::Full),
        // The socket was left by an earlier process with this id, or is not bound yet.
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(Connection::None),
        Err(error) => Err(error.into()),
    }
}
