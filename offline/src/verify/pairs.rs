//! Pairs the entries of an output with the entries of its input.

use rawzip::ReaderAt;

use crate::zip::{Archive, Content, Entry, ZipError};

/// An entry of the output, and the entry of the input from which it was made.
pub(super) struct Pair<'a> {
    pub(super) before: Option<&'a Entry>,
    pub(super) after: &'a Entry,
}

/// Pairs the entries of output and input, and finds the removed entries. Old entries keep their order; new
/// entries come last.
pub(super) fn pairs<'a, R: ReaderAt, S: ReaderAt>(
    before: &'a Archive<R>,
    after: &'a Archive<S>,
) -> (Vec<Pair<'a>>, Vec<&'a Entry>) {
    let mut olds = before.entries().iter();
    let (mut pairs, mut gone) = (Vec::new(), Vec::new());
    for entry in after.entries() {
        let name = after.name(entry);
        let skipped = olds.clone().position(|old| before.name(old) == name);
        gone.extend(olds.by_ref().take(skipped.unwrap_or(0)));
        pairs.push(Pair {
            before: skipped.and_then(|_| olds.next()),
            after: entry,
        });
    }
    gone.extend(olds);
    (pairs, gone)
}

/// Returns the name of an entry as text.
pub(super) fn text<R: ReaderAt>(archive: &Archive<R>, entry: &Entry) -> String {
    String::from_utf8_lossy(archive.name(entry)).into_owned()
}

/// Opens a nested archive. It may be larger than memory.
pub(super) fn opened<'a, R: ReaderAt + Sync>(
    archive: &'a Archive<R>,
    entry: &Entry,
    most: u64,
) -> Result<Archive<Content<'a>>, ZipError> {
    let content = archive.content(entry, most)?;
    Archive::open(content, entry.size())
}
