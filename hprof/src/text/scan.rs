//! A cursor over one line of text.

use std::str::FromStr;

/// The rest of a line. Methods return `None` if the line does not continue as they expect. The rest then begins
/// where they failed.
pub(crate) struct Scan<'l> {
    rest: &'l str,
    length: usize,
}

impl<'l> Scan<'l> {
    pub(crate) fn new(line: &'l str) -> Scan<'l> {
        Scan {
            rest: line,
            length: line.len(),
        }
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn at(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Skips `text`.
    pub(crate) fn literal(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    pub(crate) fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Reads the text before the first `end`, and skips `end`.
    pub(crate) fn until(&mut self, end: &str) -> Option<&'l str> {
        let (text, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(text)
    }

    /// Reads the text before the last `end`, and skips `end`. So a name may contain `end`.
    pub(crate) fn until_last(&mut self, end: &str) -> Option<&'l str> {
        let (text, rest) = self.rest.rsplit_once(end)?;
        self.rest = rest;
        Some(text)
    }

    /// Reads the whole rest.
    pub(crate) fn rest(&mut self) -> &'l str {
        std::mem::take(&mut self.rest)
    }

    /// Reads the next characters up to a space, comma or bracket.
    fn word(&mut self) -> &'l str {
        let ends = |char: char| char.is_whitespace() || matches!(char, ',' | ')' | '%');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Reads a decimal number.
    pub(crate) fn number<T: FromStr>(&mut self) -> Option<T> {
        let before = self.rest;
        let number = self.word().parse().ok();
        if number.is_none() {
            self.rest = before;
        }
        number
    }

    /// Reads a hexadecimal number without prefix, which is how identifiers of objects are written.
    pub(crate) fn id(&mut self) -> Option<u64> {
        let before = self.rest;
        let id = hexadecimal(self.word());
        if id.is_none() {
            self.rest = before;
        }
        id
    }

    /// Reads a percentage. HPROF wrote it with a decimal comma if the user's language has one.
    pub(crate) fn percent(&mut self) -> Option<f64> {
        let before = self.rest;
        let percent = self.until("%").map(|text| text.replace(',', "."));
        let percent = percent.and_then(|text| text.parse().ok());
        if percent.is_none() {
            self.rest = before;
        }
        percent
    }

    /// Reads the first columns of a table: the row's place, its percentage, and the percentage of all rows up to
    /// it.
    pub(crate) fn rank(&mut self) -> Option<(u32, f64, f64)> {
        self.spaces();
        let rank = self.number()?;
        self.spaces();
        let own = self.percent()?;
        self.spaces();
        Some((rank, own, self.percent()?))
    }

    /// Reads the serial number of a thread after the word `thread`, or 0 for an unknown thread.
    pub(crate) fn thread(&mut self) -> Option<u32> {
        match self.literal("<unknown thread>") {
            Some(()) => Some(0),
            None => {
                self.literal("thread ")?;
                self.number()
            }
        }
    }

    /// Returns `Some` only at the end of the line.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }
}

/// Returns the number with these hexadecimal digits.
pub(crate) fn hexadecimal(digits: &str) -> Option<u64> {
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digits {
        u64::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}
