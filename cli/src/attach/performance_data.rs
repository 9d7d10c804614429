//! The performance data of a JVM, which state whether it accepts attach commands.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Reads the performance data of a process. `own_pid` is its id in its own PID namespace, `user`
/// its user, and `tmp` its `/tmp`. `jps` reads the same file; not all JVMs write it.
pub(super) fn performance_data(tmp: &Path, own_pid: u32, user: u32) -> Option<Vec<u8>> {
    let name = own_pid.to_string();
    let folders = fs::read_dir(tmp).ok()?.flatten();
    let mut files = folders
        .filter(|folder| folder.file_name().as_bytes().starts_with(b"hsperfdata_"))
        .map(|folder| folder.path().join(&name));
    files.find_map(|path| {
        let mut options = File::options();
        // If the file is a pipe, opening it must not block.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = options.read(true).custom_flags(flags.bits().cast_signed());
        let file = file.open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let is_its = metadata.is_file() && metadata.uid() == user;
        let mut data = Vec::new();
        // The file has 32 KB by default.
        let read = is_its.then(|| file.take(1 << 20).read_to_end(&mut data))?;
        read.is_ok().then_some(data)
    })
}

/// Returns whether the performance data state that the JVM accepts no attach commands. This is the
/// first of its capabilities.
pub(super) fn is_closed(data: &[u8]) -> bool {
    const NAME: &[u8] = b"sun.rt.jvmCapabilities\0";
    let found = data.windows(NAME.len()).position(|window| window == NAME);
    let value = found.and_then(|at| data.get(at + NAME.len()..));
    let first = value.and_then(|value| value.iter().find(|byte| **byte != 0));
    first == Some(&b'0')
}

#[cfg(test)]
mod tests {
    use super::is_closed;

    #[test]
    fn a_jvm_that_accepts_no_commands_is_found() {
        let data = |value: &str| format!("x\0sun.rt.jvmCapabilities\0\0\0{value}").into_bytes();
        assert!(is_closed(&data("01000")));
        assert!(!is_closed(&data("11000")));
        assert!(!is_closed(b"sun.rt.jvmCapabilities\0"));
        assert!(!is_closed(b""));
    }
}
