//! Classes in files and archives.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use zip::ZipArchive;

/// The bytes of the class that `name` names: a file, or `JAR!ENTRY`. Errors
/// begin with `name`.
pub(crate) fn read_class(name: &str) -> Result<Vec<u8>> {
    read(name).with_context(|| name.to_owned())
}

fn read(name: &str) -> Result<Vec<u8>> {
    // A file's name may hold a `!` of its own.
    let jars = name.match_indices('!').map(|(at, _)| name.split_at(at));
    let mut jars = jars.filter(|(jar, _)| Path::new(jar).is_file());
    if !Path::new(name).exists()
        && let Some((jar, entry)) = jars.next()
    {
        // `!/` is Java's own spelling.
        let entry = entry.trim_start_matches('!').trim_start_matches('/');
        return read_entry(Path::new(jar), entry);
    }
    bounded(File::open(name)?)
}

fn read_entry(jar: &Path, entry: &str) -> Result<Vec<u8>> {
    let mut archive = ZipArchive::new(BufReader::new(File::open(jar)?))?;
    let Some(index) = archive.index_for_name(entry) else {
        bail!("no such entry in the archive");
    };
    bounded(archive.by_index(index)?)
}

/// No class of a real program comes near this.
const LARGEST: u64 = 64 << 20;

/// Reads to the end, but not for ever: archives may inflate to anything.
fn bounded(from: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        bail!("more than {LARGEST} bytes: no class file");
    }
    Ok(bytes)
}
