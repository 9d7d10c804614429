//! Orders to the agent while the program runs, through a Unix socket: the agent's side of `loadhook ctl`.

mod choice;
mod client;
mod orders;
pub(crate) mod pause;
mod server;
mod socket;
pub(crate) mod state;
pub(crate) mod thread;
mod trace;
