//! The manifest: a file in which the JVMs of one `loadhook run` list the
//! profiles that they wrote.
//!
//! Each entry is a file name and a zero byte, because a name can contain line
//! breaks. A `+` before the name marks a profile that the tracker of a rewritten
//! archive wrote in a JVM that also had the agent. Both count the same calls, so
//! such a profile must not be added to the agent's. The name of an agent's
//! profile that itself begins with `+` is written as `./+name`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Marks the entry of a profile that a rewritten archive wrote.
const ARCHIVE_MARK: &[u8] = b"+";

/// The part of Loadhook that wrote a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The agent.
    Agent,
    /// The tracker in a rewritten archive.
    RewrittenArchive,
}

/// Returns the bytes of one entry, as they are appended to the manifest.
pub fn entry(writer: Writer, profile: &Path) -> Vec<u8> {
    let name = profile.as_os_str().as_bytes();
    let prefix: &[u8] = match writer {
        // Without `./`, the entry would look like an archive's.
        Writer::Agent if name.starts_with(ARCHIVE_MARK) => b"./",
        Writer::Agent => b"",
        Writer::RewrittenArchive => ARCHIVE_MARK,
    };
    [prefix, name, &[0]].concat()
}

/// Returns whether a manifest lists a profile under exactly this name, written by the agent or by
/// an archive.
pub fn is_listed(manifest: &[u8], profile: &Path) -> bool {
    let entries = [Writer::Agent, Writer::RewrittenArchive].map(|writer| entry(writer, profile));
    let mut listed = manifest.split(|byte| *byte == 0);
    listed.any(|name| {
        let is_it = |entry: &Vec<u8>| entry.strip_suffix(&[0]) == Some(name);
        entries.iter().any(is_it)
    })
}

/// Returns the entries of a manifest, in the order in which they were written.
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

    #[test]
    fn a_name_that_begins_with_the_mark_keeps_its_writer() {
        let plus = Path::new("+x");
        let ours = entry(Writer::Agent, plus);
        let of_archive = entry(Writer::RewrittenArchive, plus);
        assert_eq!((&*ours, &*of_archive), (&b"./+x\0"[..], &b"++x\0"[..]));
        let bytes = [ours.clone(), of_archive.clone()].concat();
        let read: Vec<_> = entries(&bytes).collect();
        assert_eq!(
            read,
            [
                (Writer::Agent, Path::new("./+x")),
                (Writer::RewrittenArchive, plus)
            ]
        );
        for manifest in [ours, of_archive] {
            assert!(is_listed(&manifest, plus));
            assert!(!is_listed(&manifest, Path::new("x")));
        }
    }

    #[test]
    fn only_the_exact_name_is_listed() {
        let manifest = entry(Writer::Agent, Path::new("/a/b"));
        assert!(is_listed(&manifest, Path::new("/a/b")));
        for other in ["/a//b", "/a/./b", "/a/b/", "/a"] {
            assert!(!is_listed(&manifest, Path::new(other)), "{other}");
        }
    }
}
