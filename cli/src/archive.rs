//! Classes in files and archives.

use std::fs::{self, File};
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
    Ok(fs::read(name)?)
}

fn read_entry(jar: &Path, entry: &str) -> Result<Vec<u8>> {
    let mut archive = ZipArchive::new(BufReader::new(File::open(jar)?))?;
    let Some(index) = archive.index_for_name(entry) else {
        bail!("no such entry in the archive");
    };
    let mut bytes = Vec::new();
    archive.by_index(index)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
