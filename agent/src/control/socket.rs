//! The control socket's file in a private folder.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use loadhook_settings::control::socket_name;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;

/// The number of attempts to make the socket. An attempt fails if another JVM removes the folder, because that JVM's
/// socket was the last one in it.
const ATTEMPTS: usize = 5;

/// The file of the socket. Dropping this removes the file.
pub(super) struct SocketFile {
    folder: PathBuf,
    path: PathBuf,
    /// Device and inode number of the file. If they differ, another process has put its own file in this place.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            // If this fails, the next process with this id removes the file.
            let _ = fs::remove_file(&self.path);
        }
        // This fails if the folder still has sockets of other JVMs, and then the folder stays.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Makes the socket of this process in a private folder.
pub(super) fn bind(folder: &Path, process: u32) -> io::Result<(UnixListener, SocketFile)> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for _ in 0..ATTEMPTS {
        result = try_bind(folder, process);
        match &result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => break,
        }
    }
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
}

fn try_bind(folder: &Path, process: u32) -> io::Result<(UnixListener, SocketFile)> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    // Every user can make a folder or link of this name in `/tmp`.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o777 != 0o700 {
        return Err(io::Error::other(
            "not a folder that only the user of this process can enter; ask the owner of the folder or root to remove it, end loadhook attach, then attach again",
        ));
    }
    let path = folder.join(socket_name(process));
    remove_left(&path)?;
    let listener = UnixListener::bind(&path)?;
    let file = SocketFile {
        folder: folder.to_owned(),
        identity: identity(&path)?,
        path: path.clone(),
    };
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok((listener, file))
}

/// Removes the socket of an earlier process that had the same process id. Fails if another process takes orders at this
/// socket.
fn remove_left(path: &Path) -> io::Result<()> {
    // The connection attempt must not wait, because the queue of the other process may be full.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::AGAIN) => Err(io::Error::other(
            "another JVM with this process id takes orders here; give each container its own /tmp",
        )),
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::CONNREFUSED) => match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
        Err(error) => Err(error.into()),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_is_private_and_goes_away() {
        let tmp = tempfile::tempdir().expect("a folder");
        let folder = tmp.path().join("own");
        let first = bind(&folder, 7).expect("a socket");
        let second = bind(&folder, 8).expect("a socket");
        let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
        let path = folder.join("7.sock");
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        UnixStream::connect(&path).expect("a connection");
        drop(first);
        assert!(!path.exists() && folder.join("8.sock").exists());
        let error = bind(&folder, 8).err().expect("an error").to_string();
        assert!(
            error.contains("another JVM with this process id"),
            "{error}"
        );
        // This file is like the one that a killed process leaves.
        let (listener, left) = second;
        drop(listener);
        let third = bind(&folder, 8).expect("a socket in place of the one that was left");
        drop(left);
        let path = folder.join("8.sock");
        UnixStream::connect(&path).expect("the file of another socket stays");
        drop(third);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let tmp = tempfile::tempdir().expect("a folder");
        let folder = tmp.path().join("open");
        fs::create_dir(&folder).expect("a folder");
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("permissions");
        let link = tmp.path().join("link");
        let private = tmp.path().join("private");
        DirBuilder::new()
            .mode(0o700)
            .create(&private)
            .expect("a folder");
        symlink(&private, &link).expect("a link");
        for path in [&folder, &link] {
            let error = bind(path, 7).err().expect("an error").to_string();
            assert!(
                error.contains("can enter; ask the owner of the folder or root"),
                "{error}"
            );
        }
    }
}
