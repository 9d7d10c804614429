//! Classes in files and archives.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
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
        return read_entry(jar, entry);
    }
    if Path::new(name).is_dir() {
        bail!("a folder; name a class file in it");
    }
    let bytes = bounded(File::open(name)?)?;
    // An entry comes first, or the end of the directory if there is none.
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        bail!("an archive; {}", classes_of(name)?);
    }
    Ok(bytes)
}

fn read_entry(jar: &str, entry: &str) -> Result<Vec<u8>> {
    let mut archive = open(jar)?;
    let Some(index) = archive.index_for_name(entry) else {
        match alike(&archive, entry) {
            Some(other) => bail!("no such entry in the archive; did you mean {jar}!{other}"),
            None => bail!("no such entry in the archive; {}", classes_of(jar)?),
        }
    };
    bounded(archive.by_index(index)?)
}

fn open(jar: &str) -> Result<ZipArchive<BufReader<File>>> {
    Ok(ZipArchive::new(BufReader::new(File::open(jar)?))?)
}

/// The names of the entries that can be read.
fn names<R: Read + Seek>(archive: &ZipArchive<R>) -> impl Iterator<Item = String> {
    let names = archive.file_names().flatten();
    names.map(|name| name.into_owned())
}

/// How to name a class of this archive: one that is in it, for an example.
fn classes_of(jar: &str) -> Result<String> {
    let archive = open(jar)?;
    let is_class = |name: &String| name.ends_with(".class") && !name.starts_with("META-INF/");
    Ok(match names(&archive).find(is_class) {
        Some(class) => format!("name one of its classes, for example {jar}!{class}"),
        None => "it holds no classes; unpack the archives in it first".to_owned(),
    })
}

/// The entry of the same class by its name in Java, `com.example.Main`, or by its name without the
/// package.
fn alike<R: Read + Seek>(archive: &ZipArchive<R>, entry: &str) -> Option<String> {
    let path = entry.strip_suffix(".class").unwrap_or(entry);
    let path = format!("{}.class", path.replace('.', "/"));
    if archive.index_for_name(&path).is_some() {
        return Some(path);
    }
    let class = path.rsplit('/').next();
    names(archive).find(|name| name.rsplit('/').next() == class)
}

/// No class of a real program comes near this.
const LARGEST: u64 = 64 << 20;

/// Reads to the end, but not for ever: archives may inflate to anything.
fn bounded(from: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        bail!("larger than {} MiB, so not a class file", LARGEST >> 20);
    }
    Ok(bytes)
}
