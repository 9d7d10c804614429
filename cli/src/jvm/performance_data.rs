//! The performance data of a JVM: named values in a file that tools such as `jps` read, too.
//!
//! The file begins with a header of 32 bytes; its entries follow one after the other. Numbers are in
//! the byte order that the header states.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = &[0xca, 0xfe, 0xc0, 0xc0];

/// The bytes of the file. Only values that do not change after the JVM's start are read from them.
pub(crate) struct PerformanceData(Vec<u8>);

impl PerformanceData {
    /// Reads the performance data of a process. `own_pid` is its id in its own PID namespace, `user`
    /// its user, and `tmp` its `/tmp`. Not all JVMs write the file.
    pub(crate) fn find(tmp: &Path, own_pid: u32, user: u32) -> Option<PerformanceData> {
        files(tmp, own_pid).find_map(|path| read(&path, user))
    }

    /// Returns the text of the value `name`.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let count = self.number(0, 28)?;
        let mut at = self.number(0, 24)?;
        for _ in 0..count {
            let length = self.number(at, 0)?;
            let entry = at..at.checked_add(length)?;
            let bytes = self.0.get(entry)?;
            let name_at = self.number(at, 4)?;
            if up_to_nul(bytes.get(name_at..)?) == name.as_bytes() {
                let value = up_to_nul(bytes.get(self.number(at, 16)?..)?);
                return Some(String::from_utf8_lossy(value).into_owned());
            }
            // An entry without length would be read again and again.
            at = at.checked_add(length.max(1))?;
        }
        None
    }

    /// Returns whether the JVM accepts attach commands. The first of the JVM's capabilities says
    /// so.
    pub(super) fn accepts_commands(&self) -> bool {
        let capabilities = self.text("sun.rt.jvmCapabilities");
        capabilities.is_none_or(|capabilities| !capabilities.starts_with('0'))
    }

    /// Reads a number of 4 bytes, at an offset from the beginning of an entry.
    fn number(&self, entry: usize, offset: usize) -> Option<usize> {
        let at = entry.checked_add(offset)?;
        let bytes = self.0.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let is_little_endian = self.0.get(4) == Some(&1);
        let number = match is_little_endian {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        };
        usize::try_from(number).ok()
    }
}

/// Returns whether a JVM of `user` has a file of performance data, even if it cannot be read.
pub(crate) fn has_file(tmp: &Path, own_pid: u32, user: u32) -> bool {
    files(tmp, own_pid).any(|path| {
        let metadata = fs::symlink_metadata(path);
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.uid() == user)
    })
}

/// Returns the files that can hold the data: one in the folder of each user.
fn files(tmp: &Path, own_pid: u32) -> impl Iterator<Item = PathBuf> {
    let name = own_pid.to_string();
    let folders = fs::read_dir(tmp).into_iter().flatten().flatten();
    folders
        .filter(|folder| folder.file_name().as_bytes().starts_with(b"hsperfdata_"))
        .map(move |folder| folder.path().join(&name))
}

fn read(path: &Path, user: u32) -> Option<PerformanceData> {
    let mut options = File::options();
    // If the file is a pipe, opening it must not block.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = file.open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.uid() != user {
        return None;
    }
    let mut data = Vec::new();
    // The file has 32 KB by default.
    file.take(1 << 20).read_to_end(&mut data).ok()?;
    data.starts_with(MAGIC).then_some(PerformanceData(data))
}

fn up_to_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes performance data with one entry, in little-endian order.
    fn data(name: &str, value: &str) -> Vec<u8> {
        let mut data = MAGIC.to_vec();
        data.extend([1, 2, 0, 1]);
        data.extend([0; 16]);
        let length = 20 + name.len() + 1 + value.len() + 1;
        let numbers = [32, 1, length, 20, value.len() + 1, 0, 20 + name.len() + 1];
        for number in numbers {
            data.extend(u32::try_from(number).expect("a small number").to_le_bytes());
        }
        data.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        data
    }

    #[test]
    fn values_are_found_by_their_names() {
        let name = "java.property.java.version";
        let whole = data(name, "17.0.15");
        let text = |data: &[u8], name| PerformanceData(data.to_vec()).text(name);
        assert_eq!(text(&whole, name).as_deref(), Some("17.0.15"));
        assert_eq!(text(&whole, "java.property.java"), None);
        for end in 0..whole.len() {
            let cut = text(&whole[..end], name);
            assert_eq!(cut, None, "{end}");
        }
    }

    #[test]
    fn a_jvm_that_accepts_no_commands_is_found() {
        let accepts = |value| PerformanceData(data("sun.rt.jvmCapabilities", value));
        assert!(!accepts("01000").accepts_commands());
        assert!(accepts("11000").accepts_commands());
        assert!(accepts("").accepts_commands());
        assert!(PerformanceData(data("x", "0")).accepts_commands());
        assert!(PerformanceData(Vec::new()).accepts_commands());
    }
}
