//! Signed archives: finds signatures, and removes digests from manifests.

/// Returns whether an entry belongs to a signature (JAR specification, "Signed JAR
/// File").
pub(crate) fn is_signature(name: &str) -> bool {
    let Some(name) = strip_meta_inf(name) else {
        return false;
    };
    let name = name.to_ascii_uppercase();
    let is_file = !name.contains('/');
    is_file
        && (name.starts_with("SIG-")
            || [".SF", ".RSA", ".DSA", ".EC"]
                .iter()
                .any(|end| name.ends_with(end)))
}

/// Returns whether an entry is the manifest.
pub(crate) fn is_manifest(name: &str) -> bool {
    strip_meta_inf(name).is_some_and(|name| name.eq_ignore_ascii_case("MANIFEST.MF"))
}

fn strip_meta_inf(name: &str) -> Option<&str> {
    let (folder, rest) = name.split_at_checked("META-INF/".len())?;
    folder.eq_ignore_ascii_case("META-INF/").then_some(rest)
}

/// Removes the digests of entries from a manifest, and the sections that contained only digests.
/// All other bytes stay.
pub(crate) fn without_digests(manifest: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(manifest.len());
    for (at, section) in sections(manifest).into_iter().enumerate() {
        if at == 0 {
            out.extend_from_slice(section);
            continue;
        }
        let attributes = attributes(section);
        let is_kept = |attribute: &&[u8]| !is_digest(attribute);
        let kept: Vec<&[u8]> = attributes.iter().copied().filter(is_kept).collect();
        // True if the section has attributes other than its name. The empty line at its end is not an attribute.
        let says_more = kept.iter().any(|attribute| {
            attribute.iter().any(|byte| !byte.is_ascii_whitespace()) && key(attribute) != "name"
        });
        if says_more || kept.len() == attributes.len() {
            out.extend(kept.concat());
        }
    }
    out
}

/// Cuts a manifest into sections. The empty line after a section belongs to that section.
fn sections(manifest: &[u8]) -> Vec<&[u8]> {
    let mut sections = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut was_empty = false;
    for line in lines(manifest) {
        let is_empty = line.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        if was_empty && !is_empty {
            sections.push(&manifest[start..at]);
            start = at;
        }
        was_empty = is_empty;
        at += line.len();
    }
    sections.push(&manifest[start..]);
    sections
}

/// Cuts a section into attributes. A line that begins with a space continues an attribute.
fn attributes(section: &[u8]) -> Vec<&[u8]> {
    let mut attributes: Vec<&[u8]> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in lines(section) {
        if at != 0 && !line.starts_with(b" ") {
            attributes.push(&section[start..at]);
            start = at;
        }
        at += line.len();
    }
    attributes.push(&section[start..]);
    attributes
}

/// Cuts a manifest into lines, with their ends: LF, CR LF, or CR.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, byte) in text.iter().enumerate() {
        let ends = *byte == b'\n' || *byte == b'\r' && text.get(at + 1) != Some(&b'\n');
        if ends {
            lines.push(&text[start..=at]);
            start = at + 1;
        }
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

fn key(attribute: &[u8]) -> String {
    let key = attribute
        .split(|byte| *byte == b':')
        .next()
        .unwrap_or_default();
    String::from_utf8_lossy(key).to_ascii_lowercase()
}

fn is_digest(attribute: &[u8]) -> bool {
    let key = key(attribute);
    // SHA-256-Digest, also with a language: SHA-256-Digest-fr.
    key.ends_with("-digest") || key.contains("-digest-") || key == "magic"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_lie_in_meta_inf() {
        for name in [
            "META-INF/A.SF",
            "meta-inf/a.rsa",
            "META-INF/SIG-X",
            "META-INF/B.EC",
        ] {
            assert!(is_signature(name), "{name}");
        }
        for name in [
            "META-INF/sub/A.SF",
            "A.SF",
            "META-INF/MANIFEST.MF",
            "META-INF/x.sfx",
        ] {
            assert!(!is_signature(name), "{name}");
        }
        assert!(is_manifest("META-INF/Manifest.mf"));
        assert!(!is_manifest("META-INF/é"));
    }

    #[test]
    fn digests_go_and_all_else_stays() {
        let manifest = "Manifest-Version: 1.0\r\nMain-Class: a.B\r\n\r\n\
            Name: a/B.class\r\nSHA-256-Digest: eHh4\r\n eHh4\r\n\r\n\
            Name: a/\r\nSealed: true\r\nSHA1-Digest: eQ==\r\n\r\n";
        let expected = "Manifest-Version: 1.0\r\nMain-Class: a.B\r\n\r\n\
            Name: a/\r\nSealed: true\r\n\r\n";
        let stripped = without_digests(manifest.as_bytes());
        assert_eq!(String::from_utf8(stripped).unwrap(), expected);
        let plain = "Manifest-Version: 1.0\nX: y\n";
        assert_eq!(without_digests(plain.as_bytes()), plain.as_bytes());
        let unsigned = "A: b\n\nName: c\n\nName: d\nE: f\n\n";
        assert_eq!(without_digests(unsigned.as_bytes()), unsigned.as_bytes());
    }
}
