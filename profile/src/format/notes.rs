//! Notes, remarks, and the way in which a profile was measured, in formats for people.

use std::io::{self, Write};

use loadhook_text::printable;
use loadhook_text::width::folded;

use crate::model::{Header, Timing};

/// The maximum number of notes that are shown without `--explain`.
pub(super) const FEW_NOTES: usize = 10;

/// Returns the way in which calls were counted and timed: `wall clock, exact timing`.
pub(super) fn measured(header: &Header) -> String {
    match header.timing {
        Timing::Count => "calls counted, not timed".to_owned(),
        Timing::Sampled => "times from samples".to_owned(),
        timing => format!(
            "{} clock, {} timing",
            header.clock.as_str(),
            timing.as_str()
        ),
    }
}

/// Writes sentences, folded to a width. Each sentence begins on a new line.
pub(super) fn write_sentences<S: AsRef<str>>(
    sentences: impl IntoIterator<Item = S>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut sentences = sentences.into_iter();
    sentences
        .try_for_each(|sentence| writeln!(out, "{}", folded(&printable(sentence.as_ref()), width)))
}
