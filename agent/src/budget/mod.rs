//! `--budget`: keeps what entry and exit probes cost within a part of the program's own processor time.

mod choice;
pub(crate) mod keeper;
