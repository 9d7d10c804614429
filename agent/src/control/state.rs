//! The state of the control socket. The control thread shares it with the threads that open and close the socket.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use loadhook_settings::control::folder;
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::geteuid;

use super::socket::{SocketFile, bind};
use crate::locks::{lock, wait};

/// A socket that was opened.
pub(super) struct Opened {
    pub(super) listener: UnixListener,
    /// A descriptor that becomes readable when the socket is closed.
    pub(super) closed: Arc<OwnedFd>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    opened: Option<Opened>,
    /// The same descriptor as [`Opened::closed`].
    closed: Option<Arc<OwnedFd>>,
    file: Option<SocketFile>,
}

/// Opens and closes the control socket.
#[derive(Default)]
pub(crate) struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

impl Control {
    /// Opens the socket. The control thread then takes orders.
    pub(crate) fn open(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Ok(());
        }
        let closed = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (listener, file) = bind(&folder(geteuid().as_raw()), std::process::id())?;
        state.closed = Some(closed.clone());
        state.file = Some(file);
        state.opened = Some(Opened { listener, closed });
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Closes the socket for ever, and removes its file. An order that is being carried out is still finished.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.opened = None;
        state.file = None;
        if let Some(closed) = &state.closed {
            // The write fails only if the counter of the descriptor overflows, which a single write cannot cause.
            let _ = rustix::io::write(closed, &1_u64.to_ne_bytes());
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the socket is opened. Returns `None` if it is closed instead.
    pub(super) fn wait_until_open(&self) -> Option<Opened> {
        let mut state = lock(&self.state);
        while !state.is_closed && state.opened.is_none() {
            state = wait(&self.changed, state, Duration::MAX);
        }
        state.opened.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_closed_early_is_never_opened() {
        let control = Control::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| control.wait_until_open().is_none());
            control.close();
            assert!(waits.join().expect("the thread did not panic"));
        });
        control.open().expect("no error");
        assert!(control.wait_until_open().is_none());
    }
}
