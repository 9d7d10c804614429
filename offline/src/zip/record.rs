//! The records of a zip file (APPNOTE.TXT, 4.3).

/// Facts about an entry that its local record and its directory record both state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
}

pub(super) const LOCAL: [u8; 4] = *b"PK\x03\x04";
pub(super) const LOCAL_LEN: usize = 30;
pub(super) const DIRECTORY: [u8; 4] = *b"PK\x01\x02";
pub(super) const DIRECTORY_LEN: usize = 46;

/// The extra field for numbers that do not fit into 32 bits.
const ZIP64: u16 = 1;
/// Version that readers need for zip64.
pub(super) const VERSION_ZIP64: u16 = 45;
const ENCRYPTED: u16 = 1;
pub(super) const HAS_DESCRIPTOR: u16 = 1 << 3;
/// Flag of a name that is UTF-8.
pub(super) const UTF8: u16 = 1 << 11;

pub(super) const MAX32: u64 = u32::MAX as u64;

pub(super) fn u2(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u4(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(
        bytes[at..at + 4]
            .try_into()
            .expect("the slice has four bytes"),
    )
}

pub(super) fn u8(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(
        bytes[at..at + 8]
            .try_into()
            .expect("the slice has eight bytes"),
    )
}

pub(super) fn put2(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

pub(super) fn put4(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(super) fn put8(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Returns the 32-bit field for a number: the number itself, or a marker if the number has to be in the zip64
/// field.
pub(super) fn short(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The values in a record of the directory.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) facts: Facts,
    pub(super) is_encrypted: bool,
    /// Offset of the local record.
    pub(super) offset: u64,
}

/// Reads a directory's record, whose lengths the caller has checked.
pub(super) fn written(record: &[u8]) -> Written {
    let name = usize::from(u2(record, 28));
    let extra = DIRECTORY_LEN + name..DIRECTORY_LEN + name + usize::from(u2(record, 30));
    let field = fields(&record[extra]).find(|field| u2(field, 0) == ZIP64);
    let mut long = field.unwrap_or_default().get(4..).unwrap_or_default();
    // The zip64 field has the values in this order, but only those that do not fit into 32 bits.
    let [size, compressed, offset] = [24, 20, 42].map(|at| {
        let short = u64::from(u4(record, at));
        match long.split_at_checked(8) {
            Some((value, rest)) if short == MAX32 => {
                long = rest;
                u8(value, 0)
            }
            _ => short,
        }
    });
    Written {
        facts: Facts {
            method: u2(record, 10),
            crc: u4(record, 16),
            compressed,
            size,
        },
        is_encrypted: u2(record, 8) & ENCRYPTED != 0,
        offset,
    }
}

/// Makes the local record for new data from `old` (header, name, extra fields). No descriptor
/// follows the record, because the sizes are known.
pub(super) fn local(old: &[u8], facts: Facts) -> Vec<u8> {
    let name = usize::from(u2(old, 26));
    let large = facts.size > MAX32 || facts.compressed > MAX32;
    let mut extra = without_zip64(&old[LOCAL_LEN + name..]);
    if large {
        // In a local record, the zip64 field must have both sizes.
        prepend(&mut extra, &[facts.size, facts.compressed]);
    }
    let mut record = old[..LOCAL_LEN + name].to_vec();
    put2(&mut record, 6, u2(old, 6) & !HAS_DESCRIPTOR);
    put2(&mut record, 8, facts.method);
    put4(&mut record, 14, facts.crc);
    put4(
        &mut record,
        18,
        if large {
            u32::MAX
        } else {
            short(facts.compressed)
        },
    );
    put4(
        &mut record,
        22,
        if large { u32::MAX } else { short(facts.size) },
    );
    put2(&mut record, 28, extra.len() as u16);
    if large {
        put2(&mut record, 4, u2(old, 4).max(VERSION_ZIP64));
    }
    record.extend(extra);
    record
}

/// Makes the directory's record for another offset and, if `is_new`, for new data
/// with other facts.
pub(super) fn directory(old: &[u8], facts: Facts, is_new: bool, offset: u64) -> Vec<u8> {
    let name = usize::from(u2(old, 28));
    let extra = usize::from(u2(old, 30));
    let comment = &old[DIRECTORY_LEN + name + extra..];
    let old_extra = &old[DIRECTORY_LEN + name..DIRECTORY_LEN + name + extra];

    let fits = u64::from(u4(old, 42)) < MAX32;
    if !is_new && fits && offset < MAX32 {
        let mut record = old.to_vec();
        put4(&mut record, 42, short(offset));
        return record;
    }
    let large: Vec<u64> = [facts.size, facts.compressed, offset]
        .into_iter()
        .filter(|value| *value >= MAX32)
        .collect();
    let mut extra = without_zip64(old_extra);
    if !large.is_empty() {
        prepend(&mut extra, &large);
    }
    let mut record = old[..DIRECTORY_LEN + name].to_vec();
    if is_new {
        put2(&mut record, 8, u2(old, 8) & !HAS_DESCRIPTOR);
        put2(&mut record, 10, facts.method);
        put4(&mut record, 16, facts.crc);
    }
    put4(&mut record, 20, short(facts.compressed));
    put4(&mut record, 24, short(facts.size));
    put2(&mut record, 30, extra.len() as u16);
    // The record gets disk number 0, the only disk.
    put2(&mut record, 34, 0);
    put4(&mut record, 42, short(offset));
    if !large.is_empty() {
        put2(&mut record, 6, u2(old, 6).max(VERSION_ZIP64));
    }
    record.extend(extra);
    record.extend(comment);
    record
}

/// Makes the local record of an added entry. Its time is always 1980, the earliest in the format,
/// so that equal input gives equal output.
pub(super) fn fresh_local(name: &[u8]) -> Vec<u8> {
    let mut record = vec![0; LOCAL_LEN];
    record[..4].copy_from_slice(&LOCAL);
    put2(&mut record, 4, 20);
    put2(&mut record, 6, UTF8);
    put2(&mut record, 12, 1 << 5 | 1);
    put2(&mut record, 26, name.len() as u16);
    record.extend(name);
    record
}

/// Makes the directory's record of an added entry; see [`fresh_local`].
pub(super) fn fresh_directory(name: &[u8]) -> Vec<u8> {
    let mut record = vec![0; DIRECTORY_LEN];
    record[..4].copy_from_slice(&DIRECTORY);
    put2(&mut record, 4, 20);
    put2(&mut record, 6, 20);
    put2(&mut record, 8, UTF8);
    put2(&mut record, 14, 1 << 5 | 1);
    put2(&mut record, 28, name.len() as u16);
    record.extend(name);
    record
}

/// Returns the metadata that must survive repacking: time, attributes, name, extra fields and
/// comment. The bytes are only for comparison. `fixed` is the length of the record's fixed part,
/// which distinguishes local and directory records.
pub(super) fn comparable_metadata(record: &[u8], fixed: usize) -> Vec<u8> {
    let is_local = fixed == LOCAL_LEN;
    // Offsets of the flags, and of the lengths of name and extra fields.
    let (flags, name_len) = if is_local { (6, 26) } else { (8, 28) };
    let name = fixed + usize::from(u2(record, name_len));
    let extra = name + usize::from(u2(record, name_len + 2));
    let mut out = Vec::from((u2(record, flags) & !HAS_DESCRIPTOR).to_le_bytes());
    out.extend(&record[flags + 4..flags + 8]);
    if !is_local {
        out.extend(&record[5..6]);
        out.extend(&record[36..42]);
    }
    out.extend(&record[name_len..name_len + 2]);
    out.extend(&record[fixed..name]);
    out.extend(without_zip64(&record[name..extra]));
    out.extend(&record[extra..]);
    out
}

/// Removes the zip64 field from extra fields. Bytes that are not a field stay.
fn without_zip64(extra: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(extra.len());
    let mut fields_end = 0;
    for field in fields(extra) {
        fields_end += field.len();
        if u2(field, 0) != ZIP64 {
            kept.extend(field);
        }
    }
    kept.extend(&extra[fields_end..]);
    kept
}

/// Returns the complete extra fields, each with its head.
fn fields(mut extra: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let head = extra.get(..4)?;
        let (field, rest) = extra.split_at_checked(4 + usize::from(u2(head, 2)))?;
        extra = rest;
        Some(field)
    })
}

fn prepend(extra: &mut Vec<u8>, values: &[u64]) {
    let mut field = Vec::from(ZIP64.to_le_bytes());
    field.extend((8 * values.len() as u16).to_le_bytes());
    field.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    extra.splice(0..0, field);
}
