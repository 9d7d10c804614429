//! Prints a class as text, in the form of `loadhook inspect` and of the golden files.
//!
//! The text follows the order of the class file. It has no times or paths, so that equal classes have equal
//! texts. Bytecode offsets are absolute, and the words are those of the Java Virtual Machine Specification. For
//! an unreadable part there is a line that begins with `error:`; the text then continues after that part.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bytes = [
//! #     0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61, 0, 3, 1, 0, 1, b'C', 7, 0, 1,
//! #     0x02, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
//! # ];
//! let class = loadhook_rewrite::ClassFile::parse(&bytes)?;
//! let mut text = String::new();
//! loadhook_rewrite::text::print(&class, None, &mut text)?;
//! assert!(text.starts_with("class file version 61.0\n"));
//! # Ok(())
//! # }
//! ```

mod annotations;
mod attributes;
mod class;
mod code;
mod constants;
mod flags;
mod pool;
mod printer;

use std::fmt::{self, Write};

use crate::class::ClassFile;
use printer::{Indexes, Printer};

pub use crate::modified_utf8::{Display, display, fnv_1a};
pub use class::names_method;
pub use printer::Line;

/// Writes the text of `class` to `out`. If `method` is given, writes only the methods with that name, see
/// [`names_method`].
///
/// # Errors
/// When writing to `out` fails. An unreadable part of the class is no error.
pub fn print(class: &ClassFile<'_>, method: Option<&str>, out: &mut impl Write) -> fmt::Result {
    let mut output = |line: &Line| {
        out.write_str(&line.text)?;
        out.write_char('\n')
    };
    Printer::new(class, Indexes::Shown, &mut output).class(method)
}

/// Returns the text of `class` for comparison with the text of another class. It has no constant pool and no
/// indexes, only the values of constants. Bytecode offsets are marked, because one added instruction changes all
/// offsets after it.
pub fn comparable(class: &ClassFile<'_>, method: Option<&str>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut output = |line: &Line| {
        lines.push(line.clone());
        Ok(())
    };
    // Writing to this output never fails.
    let _ = Printer::new(class, Indexes::Hidden, &mut output).class(method);
    lines
}

#[cfg(test)]
mod tests;
