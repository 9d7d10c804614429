//! Data descriptors: checksum and sizes that follow an entry's data. Writers use them if they know
//! checksum and sizes only after the data (APPNOTE.TXT, 4.3.9).

use super::record::Facts;

const SIGNATURE: [u8; 4] = *b"PK\x07\x08";
/// Length of a descriptor with signature and zip64 sizes.
pub(super) const LONGEST: usize = 24;

/// Returns the length of the data descriptor at the beginning of `behind`, the bytes after an entry's data; 0 if
/// there is no descriptor. A descriptor's signature is optional, and no field tells whether its sizes have 32 or
/// 64 bits. So each possible form is compared with the directory's values.
pub(super) fn len(behind: &[u8], facts: Facts) -> usize {
    let short = [facts.compressed, facts.size].map(|size| (size as u32).to_le_bytes());
    let long = [facts.compressed, facts.size].map(u64::to_le_bytes);
    let crc = facts.crc.to_le_bytes();
    let forms = [
        [&SIGNATURE[..], &crc, &long.concat()].concat(),
        [&SIGNATURE[..], &crc, &short.concat()].concat(),
        [&crc[..], &long.concat()].concat(),
        [&crc[..], &short.concat()].concat(),
    ];
    let found = forms.iter().find(|form| behind.starts_with(form));
    found.map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_distinguished_from_other_bytes() {
        let facts = Facts {
            method: 8,
            crc: 0x0102_0304,
            compressed: 5,
            size: 6,
        };
        let crc: &[u8] = &[4, 3, 2, 1];
        let (short, long) = ([5, 0, 0, 0, 6, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 0]);
        let long = [&long[..], &[6, 0, 0, 0, 0, 0, 0, 0]].concat();
        for (form, expected) in [
            (vec![crc, &short], 12),
            (vec![b"PK\x07\x08", crc, &short], 16),
            (vec![crc, &long], 20),
            (vec![b"PK\x07\x08", crc, &long], 24),
            (vec![b"PK\x07\x08", &short], 0),
            (vec![b"PK\x03\x04"], 0),
            (vec![], 0),
        ] {
            let with_gap = [&form.concat()[..], b"gap"].concat();
            assert_eq!(len(&with_gap, facts), expected, "{with_gap:?}");
        }
    }
}
