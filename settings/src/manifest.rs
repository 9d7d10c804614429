//! The manifest: a file in which the JVMs of one `loadhook run` list the
//! profiles that they wrote.
//!
//! Each entry is a file name and a zero byte, because a name can contain line
//! breaks. A `+` before the name marks a profile that the tracker of a rewritten
//! archive wrote in a JVM that also had the agent. Both count the same calls, so
//! such a profile must not be added to the agent's.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Marks the entry of a profile that a rewritten archive wrote.
const ARCHIVE_MARK: &[u8] = b"+";

/// The program part that wrote a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The agent.
    Agent,
    /// The tracker in a rewritten archive.
    RewrittenArchive,
}

/// The bytes of one entry, as they are appended to the manifest.
pub fn entry(writer: Writer, profile: &Path) -> Vec<u8> {
    let mark = match writer {
        Writer::Agent => &[],
        Writer::RewrittenArchive => ARCHIVE_MARK,
    };
    [mark, profile.as_os_str().as_bytes(), &[0]].concat()
}

/// The entries of a manifest, in the order in which they were written.
pub fn entries(manifest: &[u8]) -> impl Iterator<Item = (Writer, &Path)> {
    let names = manifest.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(|name| match name.strip_prefix(ARCHIVE_MARK) {
            Some(name) => (Writer::RewrittenArchive, path(name)),
            None => (Writer::Agent, path(name)),
        })
}

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let written = [
            (Writer::Agent, Path::new("/a\nb.pb.gz")),
            (Writer::RewrittenArchive, Path::new("/+.pb.gz")),
            (Writer::Agent, path(b"/\xff")),
        ];
        let bytes: Vec<u8> = written
            .iter()
            .flat_map(|(writer, profile)| entry(*writer, profile))
            .collect();
        assert_eq!(bytes, b"/a\nb.pb.gz\0+/+.pb.gz\0/\xff\0");
        assert_eq!(entries(&bytes).collect::<Vec<_>>(), written);
        assert_eq!(entries(b"").count(), 0);
    }
}
