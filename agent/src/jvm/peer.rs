//! Finds the user at the other end of a Unix socket.
//!
//! `rustix` has a function for this, but it does not support the process id 0. The process id is 0 if the other process
//! is outside the container of this process.

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Returns the user id that the other process had as its effective user when it connected.
pub(crate) fn user_of(stream: &UnixStream) -> io::Result<u32> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and both pointers lead to values of the types that the option needs.
    let error = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut len,
        )
    };
    if error == 0 {
        Ok(peer.uid)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_of_this_process_is_its_own_user() {
        let (one, _other) = UnixStream::pair().expect("a pair of sockets");
        let user = user_of(&one).expect("a user");
        assert_eq!(user, rustix::process::geteuid().as_raw());
    }
}
