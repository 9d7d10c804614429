//! Reads a class from a file or an archive, by the name that the user gives.
//!
//! Archives are read as `loadhook rewrite` and the JVM read them, so that the
//! class that is shown is the one that is rewritten and run.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use loadhook_offline::zip::{Archive, FileReader};

use crate::input;

/// Returns the bytes of the class that `name` names: a file, or `JAR!ENTRY`.
/// Errors begin with `name`.
pub(super) fn read_class(name: &str) -> Result<Vec<u8>> {
    read(name).with_context(|| name.to_owned())
}

fn read(name: &str) -> Result<Vec<u8>> {
    // A file's name may itself contain `!`.
    let jars = name.match_indices('!').map(|(at, _)| name.split_at(at));
    let mut jars = jars.filter(|(jar, _)| Path::new(jar).is_file());
    if !Path::new(name).exists()
        && let Some((jar, entry)) = jars.next()
    {
        // `!/` is Java's own spelling.
        let entry = entry.trim_start_matches('!').trim_start_matches('/');
        return read_entry(jar, entry);
    }
    let bytes = read_file(name)?;
    // An archive begins with an entry or, if it is empty, with its end record.
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        bail!("an archive; {}", classes_of(name, &open(name)?));
    }
    Ok(bytes)
}

fn read_entry(jar: &str, name: &str) -> Result<Vec<u8>> {
    let archive = open(jar)?;
    let Some(entry) = archive.find(name.as_bytes()) else {
        match alike(&archive, name) {
            Some(other) => bail!("no such entry in the archive; did you mean {jar}!{other}"),
            None => bail!(
                "no such entry in the archive; {}",
                classes_of(jar, &archive)
            ),
        }
    };
    Ok(archive.read(entry, LARGEST)?)
}

fn open(jar: &str) -> Result<Archive<FileReader>> {
    Ok(Archive::open_file(input::open(
        Path::new(jar),
        "an archive",
    )?)?)
}

/// Returns the names of the entries that are UTF-8.
fn names(archive: &Archive<FileReader>) -> impl Iterator<Item = &str> {
    let names = archive.entries().iter().map(|entry| archive.name(entry));
    names.filter_map(|name| std::str::from_utf8(name).ok())
}

/// Returns a sentence on how to name a class of this archive, with one of its classes as the
/// example.
fn classes_of(jar: &str, archive: &Archive<FileReader>) -> String {
    let is_class = |name: &&str| name.ends_with(".class") && !name.starts_with("META-INF/");
    match names(archive).find(is_class) {
        Some(class) => format!("name one of its classes, for example {jar}!{class}"),
        None => "it contains no classes; if there are archives in it, unpack them first".to_owned(),
    }
}

/// Finds the entry of a class by its name in Java, `com.example.Main`, with or without the package.
fn alike(archive: &Archive<FileReader>, name: &str) -> Option<String> {
    let path = name.strip_suffix(".class").unwrap_or(name);
    let path = format!("{}.class", path.replace('.', "/"));
    if archive.find(path.as_bytes()).is_some() {
        return Some(path);
    }
    let class = path.rsplit('/').next();
    let mut names = names(archive);
    names
        .find(|name| name.rsplit('/').next() == class)
        .map(str::to_owned)
}

/// Size limit of a class in bytes. Classes of real programs are much smaller.
const LARGEST: u64 = 64 << 20;

/// Reads a file up to the size limit, since a device may have no end.
fn read_file(name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let path = Path::new(name);
    let file = match name.split_once('!') {
        // The archive is missing.
        Some((jar, _)) if !path.exists() => input::open(Path::new(jar), "an archive"),
        _ => input::open(path, "a class file"),
    }?;
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        bail!("larger than {} MiB, so not a class file", LARGEST >> 20);
    }
    Ok(bytes)
}
