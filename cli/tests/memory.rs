//! Tests that `loadhook rewrite` takes memory only for the entries in work, not for the whole
//! archive. The tests make archives of a gigabyte, so only `.ci/run` runs them:
//!
//!     cargo test -p loadhook --test memory --release -- --ignored --nocapture

mod common;

use std::fs::{self, File};
use std::io::{BufWriter, Cursor, Seek, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use common::{folder, loadhook, most_memory};
use loadhook_testkit::corpus;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Maximum memory of the command, in MB.
const MOST: u64 = 500;

/// A class file, and the range of its bytes that holds the constant with the class's name: tag,
/// length and text.
struct Class {
    bytes: Vec<u8>,
    name: std::ops::Range<usize>,
}

impl Class {
    fn read(bytes: Vec<u8>) -> Option<Class> {
        let u2 = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let mut constants = vec![0];
        let mut at = 10;
        while constants.len() < u2(8) {
            constants.push(at);
            let (len, is_wide) = match bytes[at] {
                1 => (3 + u2(at + 1), false),
                5 | 6 => (9, true),
                7 | 8 | 16 | 19 | 20 => (3, false),
                15 => (4, false),
                _ => (5, false),
            };
            at += len;
            if is_wide {
                constants.push(0);
            }
        }
        let name = constants[u2(constants[u2(at + 2)] + 1)];
        let name = name..name + 3 + u2(name + 1);
        Some(Class { bytes, name })
    }

    /// Makes a copy of this class in another package. Returns its path and bytes.
    fn moved(&self, to: &str) -> (String, Vec<u8>) {
        let old = &self.bytes[self.name.start + 3..self.name.end];
        let name = format!("{to}/{}", String::from_utf8_lossy(old));
        let mut bytes = self.bytes[..self.name.start].to_vec();
        bytes.push(1);
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name.bytes());
        bytes.extend(&self.bytes[self.name.end..]);
        (format!("{name}.class"), bytes)
    }
}

fn classes() -> Result<Vec<Class>> {
    let root = corpus::jdk_classes(17)?.join("java.base");
    let files = corpus::files(&root, "class")?;
    let mut classes = Vec::new();
    for file in files
        .iter()
        .filter(|file| !file.ends_with("module-info.class"))
    {
        classes.extend(Class::read(fs::read(file)?));
    }
    ensure!(classes.len() > 5_000);
    Ok(classes)
}

/// Adds copies of the classes to an archive, in packages `p1`, `p2` and so on, until the copies
/// have this number of bytes.
fn fill(
    zip: &mut ZipWriter<impl Write + Seek>,
    classes: &[Class],
    bytes: u64,
    method: CompressionMethod,
) -> Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(method)
        .compression_level((method == CompressionMethod::Deflated).then_some(1));
    let mut written = 0;
    for copy in 1.. {
        for class in classes {
            let (path, moved) = class.moved(&format!("p{copy}"));
            zip.start_file(path, options)?;
            zip.write_all(&moved)?;
            written += moved.len() as u64;
            if written >= bytes {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Makes a jar of uncompressed classes.
fn flat(path: &Path, bytes: u64) -> Result<()> {
    let mut zip = ZipWriter::new(BufWriter::new(File::create(path)?));
    fill(&mut zip, &classes()?, bytes, CompressionMethod::Stored)?;
    zip.finish()?.flush()?;
    Ok(())
}

/// Makes a jar like those of Spring Boot, with nested jars that have `inner` bytes of classes each.
/// `method` says how the nested jars are compressed.
fn nested(path: &Path, jars: u32, inner: u64, method: CompressionMethod) -> Result<()> {
    let classes = classes()?;
    let mut jar = ZipWriter::new(Cursor::new(Vec::new()));
    fill(&mut jar, &classes, inner, CompressionMethod::Deflated)?;
    let jar = jar.finish()?.into_inner();
    let mut zip = ZipWriter::new(BufWriter::new(File::create(path)?));
    let options = SimpleFileOptions::default().compression_method(method);
    for number in 0..jars {
        zip.start_file(format!("BOOT-INF/lib/{number}.jar"), options)?;
        zip.write_all(&jar)?;
    }
    zip.finish()?.flush()?;
    Ok(())
}

/// Rewrites an archive, and returns the command's peak memory in MB.
fn peak(folder: &Path, archive: &str) -> Result<u64> {
    let mut command = loadhook(folder, &["rewrite", archive, "-o", "out.jar"]);
    let (_, peak) = most_memory(&mut command)?;
    let megabytes = fs::metadata(folder.join(archive))?.len() / 1_000_000;
    println!("{archive}: {megabytes} MB rewritten in {peak} MB of memory");
    Ok(peak)
}

#[test]
#[ignore = "makes archives of a gigabyte"]
fn memory_does_not_grow_with_the_archive() -> Result<()> {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let (stored, deflated) = (CompressionMethod::Stored, CompressionMethod::Deflated);
    flat(&path("flat.jar"), 1 << 30)?;
    ensure!(peak(folder.path(), "flat.jar")? < MOST);
    fs::remove_file(path("flat.jar"))?;
    nested(&path("boot.jar"), 40, 25 << 20, stored)?;
    ensure!(peak(folder.path(), "boot.jar")? < MOST);
    nested(&path("large.ear"), 2, 400 << 20, deflated)?;
    ensure!(peak(folder.path(), "large.ear")? < MOST);
    Ok(())
}
