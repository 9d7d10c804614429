//! `loadhook report`: shows, merges and compares profiles.

mod args;
mod checks;
mod command;
mod focus;
mod paths;
mod read;
mod threads;

pub(crate) use args::ReportArgs;
pub(crate) use command::{COLUMNS, run};
pub(crate) use paths::{shown, word};
pub(crate) use read::read;
