//! The terminal while the screen is shown. It is restored at every end of this process, except by SIGKILL.

use std::io::{self, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyEvent;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::SIGCONT;
use signal_hook::flag;

use super::keys::Keys;

/// The terminal, until this value is dropped. A panic restores the terminal before the panic's message is printed.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    keys: Keys,
    /// The size of the terminal when it was last asked for.
    size: Size,
    /// True when the process goes on after a stop, during which the shell has used the terminal.
    goes_on: Arc<AtomicBool>,
}

impl Screen {
    pub(super) fn open() -> io::Result<Screen> {
        let goes_on = Arc::new(AtomicBool::new(false));
        flag::register(SIGCONT, goes_on.clone())?;
        match ratatui::try_init() {
            Ok(terminal) => Ok(Screen {
                terminal,
                keys: Keys::default(),
                size: Size::default(),
                goes_on,
            }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.terminal
            .draw(|frame| draw(frame.buffer_mut()))
            .map(drop)
    }

    /// Waits for a key, but not longer than `longest`. Fails if the terminal is gone.
    pub(super) fn key(&mut self, longest: Duration) -> io::Result<Option<KeyEvent>> {
        // Several keys may have been read at once, so those come before the wait.
        if let Some(key) = self.keys.next(false) {
            return Ok(Some(key));
        }
        let has_input = wait_for_input(longest)?;
        if has_input {
            let mut bytes = [0; 1024];
            match read(stdin(), &mut bytes) {
                Ok(length) => self.keys.add(bytes.get(..length).unwrap_or_default()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.keys.next(!has_input))
    }

    /// Returns whether the terminal has another size than at the last call.
    pub(super) fn is_resized(&mut self) -> io::Result<bool> {
        let before = std::mem::replace(&mut self.size, self.terminal.size()?);
        Ok(before != self.size)
    }

    /// Stops all processes of this shell job, until the shell continues them. If no shell can continue them (an
    /// orphaned process group), the kernel ignores the signal.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()?;
        leave();
        kill_current_process_group(Signal::TSTP)?;
        self.enter()
    }

    /// Takes the terminal again if the process was stopped. Returns whether the process was stopped.
    pub(super) fn resume(&mut self) -> io::Result<bool> {
        let was_stopped = self.goes_on.swap(false, Ordering::SeqCst);
        if was_stopped {
            leave();
            self.enter()?;
        }
        Ok(was_stopped)
    }

    fn enter(&mut self) -> io::Result<()> {
        self.goes_on.store(false, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal itself may be gone.
        let _ = self.terminal.show_cursor();
        leave();
    }
}

/// Waits for input from the terminal, but not longer than `longest`; a signal ends the wait. Returns whether there is
/// input. Fails if the terminal is gone.
fn wait_for_input(longest: Duration) -> io::Result<bool> {
    let stdin = stdin();
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    let longest = Timespec::try_from(longest).map_err(io::Error::other)?;
    match poll(&mut waited, Some(&longest)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if waited[0].revents().intersects(gone) {
        return Err(io::Error::other("the terminal is gone"));
    }
    Ok(waited[0].revents().contains(PollFlags::IN))
}

/// Gives the terminal back to the shell. Failures are ignored.
fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen);
}
