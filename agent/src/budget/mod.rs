//! `--budget`: limits the cost of entry and exit probes to a part of the program's own processor time.

mod choice;
pub(crate) mod keeper;
