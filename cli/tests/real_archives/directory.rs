//! Compares an archive with its rewritten version, by a reader that shares no code with Loadhook.
//! All entries except changed classes must be equal to the byte.

use std::io::Read;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use flate2::Crc;
use flate2::read::DeflateDecoder;

/// An entry of an archive.
struct Entry {
    name: Vec<u8>,
    /// The range of the entry's record in the directory.
    record: Range<usize>,
    /// The range from the entry's header to the next entry's header.
    local: Range<usize>,
}

/// Numbers of entries in two archives, including those of nested archives.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The number of entries that are equal to the byte.
    pub(crate) untouched: u64,
    /// The number of classes that differ.
    pub(crate) changed: u64,
    /// The number of classes that were added.
    pub(crate) added: u64,
}

fn u2(bytes: &[u8], at: usize) -> Result<usize> {
    let field = bytes.get(at..at + 2).context("the bytes are cut short")?;
    Ok(usize::from(u16::from_le_bytes(field.try_into()?)))
}

fn u4(bytes: &[u8], at: usize) -> Result<usize> {
    let field = bytes.get(at..at + 4).context("the bytes are cut short")?;
    let value = u32::from_le_bytes(field.try_into()?);
    ensure!(
        value != u32::MAX,
        "the archive is a zip64 file, which this reader cannot read"
    );
    Ok(value as usize)
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry>> {
    let end = bytes.windows(4).rposition(|piece| piece == b"PK\x05\x06");
    let end = end.context("no end record")?;
    let (count, len, start) = (
        u2(bytes, end + 10)?,
        u4(bytes, end + 12)?,
        u4(bytes, end + 16)?,
    );
    ensure!(
        start + len == end,
        "there are bytes between the directory and the end record"
    );
    let mut entries = Vec::new();
    let mut at = start;
    for _ in 0..count {
        ensure!(
            bytes[at..].starts_with(b"PK\x01\x02"),
            "a record of the directory is missing at offset {at}"
        );
        let name = u2(bytes, at + 28)?;
        let next = at + 46 + name + u2(bytes, at + 30)? + u2(bytes, at + 32)?;
        let offset = u4(bytes, at + 42)?;
        entries.push(Entry {
            name: bytes[at + 46..at + 46 + name].to_vec(),
            record: at..next,
            local: offset..start,
        });
        at = next;
    }
    ensure!(
        at == end,
        "the directory does not end where the end record begins"
    );
    let mut starts: Vec<usize> = entries.iter().map(|entry| entry.local.start).collect();
    starts.sort_unstable();
    for entry in &mut entries {
        let next = starts.partition_point(|start| *start <= entry.local.start);
        entry.local.end = starts.get(next).copied().unwrap_or(start);
    }
    Ok(entries)
}

fn content(bytes: &[u8], entry: &Entry) -> Result<Vec<u8>> {
    let (record, local) = (&bytes[entry.record.clone()], &bytes[entry.local.clone()]);
    let data = 30 + u2(local, 26)? + u2(local, 28)?;
    let packed = local
        .get(data..data + u4(record, 20)?)
        .context("the bytes are cut short")?;
    let content = match u2(record, 10)? {
        0 => packed.to_vec(),
        8 => {
            let mut content = Vec::new();
            DeflateDecoder::new(packed).read_to_end(&mut content)?;
            content
        }
        other => bail!("unknown compression method {other}"),
    };
    let mut crc = Crc::new();
    crc.update(&content);
    ensure!(
        crc.sum().to_le_bytes() == record[16..20],
        "the content does not have the checksum that the directory states"
    );
    ensure!(
        content.len() == u4(record, 24)?,
        "the content does not have the length that the directory states"
    );
    Ok(content)
}

/// Returns the entry's record in the directory, with zeros in place of the fields that rewriting may
/// change: the offset and, unless `with_content`, sizes and checksum.
fn lasting(bytes: &[u8], entry: &Entry, with_content: bool) -> Vec<u8> {
    let mut record = bytes[entry.record.clone()].to_vec();
    record[42..46].fill(0);
    if !with_content {
        // The flag for a data descriptor, the checksum, and both sizes.
        record[8] &= !8;
        record[16..28].fill(0);
    }
    record
}

/// Compares an archive with its rewritten version.
pub(crate) fn compare(before: &[u8], after: &[u8]) -> Result<Compared> {
    let mut compared = Compared::default();
    let news = entries(after)?;
    let olds = entries(before)?;
    let mut news = news.iter().peekable();
    let is_signed = olds.iter().any(|old| {
        let name = String::from_utf8_lossy(&old.name).to_uppercase();
        is_signature(&name)
    });
    for old in &olds {
        let name = String::from_utf8_lossy(&old.name).into_owned();
        let Some(new) = news.next_if(|new| new.name == old.name) else {
            let may_go = is_signature(&name.to_uppercase()) || name == "META-INF/INDEX.LIST";
            ensure!(may_go, "{name} is missing in the rewritten archive");
            continue;
        };
        let same_records = |with| lasting(before, old, with) == lasting(after, new, with);
        if before[old.local.clone()] == after[new.local.clone()] && same_records(true) {
            compared.untouched += 1;
            continue;
        }
        ensure!(
            same_records(false),
            "{name}: its record in the directory changed"
        );
        let (was, is) = (
            content(before, old).with_context(|| name.clone())?,
            content(after, new).with_context(|| name.clone())?,
        );
        if name.ends_with(".class") {
            ensure!(
                was != is,
                "{name}: the class was packed anew, although it did not change"
            );
            compared.changed += 1;
        } else if name.ends_with(".jar") {
            let inside = compare(&was, &is).with_context(|| name.clone())?;
            compared.untouched += inside.untouched;
            compared.changed += inside.changed;
            compared.added += inside.added;
        } else {
            ensure!(
                is_signed && name == "META-INF/MANIFEST.MF",
                "{name}: the content changed, although it is neither class nor archive"
            );
        }
    }
    for new in news {
        let name = String::from_utf8_lossy(&new.name).into_owned();
        ensure!(
            name.contains("loadhook/"),
            "{name} was added, but does not belong to the tracker"
        );
        content(after, new).with_context(|| name.clone())?;
        compared.added += u64::from(name.ends_with(".class"));
    }
    Ok(compared)
}

fn is_signature(name: &str) -> bool {
    let file = name.strip_prefix("META-INF/");
    file.is_some_and(|file| {
        [".SF", ".RSA", ".DSA", ".EC"]
            .iter()
            .any(|end| file.ends_with(end))
    })
}
