//! The address of `net=`: the connection over which HPROF's binary stream leaves the process (`connection.rs`), and the
//! commands that come back (`commands.rs`).

pub(crate) mod commands;
mod connection;

pub(crate) use self::connection::{Connection, NotSent};
