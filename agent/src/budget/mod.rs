//! `--budget`: limits the processor time of Loadhook to a percentage of the program's own processor time.

mod choice;
mod cost;
pub(crate) mod keeper;
pub(crate) mod log;
