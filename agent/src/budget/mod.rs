//! `--budget`: limits what Loadhook takes of the processor to a part of the program's own processor time.

mod choice;
mod cost;
pub(crate) mod keeper;
pub(crate) mod log;
