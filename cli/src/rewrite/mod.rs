//! `loadhook rewrite`: instruments classes on disk.

mod args;
mod command;
mod inputs;
mod java;
mod plan;
mod progress;
mod staged;
mod summary;
mod usage_error;
mod verify;

pub(crate) use args::RewriteArgs;
pub(crate) use command::run;
