//! Prints the constant pool.

use std::fmt::{self, Write};

use crate::constant_pool::Constant;
use crate::modified_utf8::display;
use crate::text::constants::{content, resolved, tag_name};
use crate::text::printer::Printer;

impl Printer<'_, '_> {
    /// Prints the section of the constant pool.
    pub(super) fn constant_pool(&mut self) -> fmt::Result {
        let count = self.pool().count();
        self.line(format_args!("constant_pool_count {count}"))?;
        let width = count.saturating_sub(1).to_string().len() + 1;
        self.indented(|printer| {
            for index in printer.pool().indexes() {
                // The unusable half of a Long or Double is skipped.
                let Ok(constant) = printer.pool().get(index) else {
                    continue;
                };
                let number = format!("#{index}");
                write!(printer, "{number:>width$} = {:<18} ", tag_name(&constant))?;
                match (content(&constant), &constant) {
                    (None, Constant::Utf8(bytes)) => write!(printer, "{}", display(bytes))?,
                    (None, _) => write!(printer, "{}", resolved(printer.pool(), index))?,
                    (Some(content), _) => {
                        let comment = resolved(printer.pool(), index);
                        write!(printer, "{content:<12} // {comment}")?;
                    }
                }
                printer.end()?;
            }
            Ok(())
        })
    }
}
