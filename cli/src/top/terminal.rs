//! The terminal while the screen is shown. It is restored at every end of this process, except by SIGKILL.

use std::io::{self, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::SIGCONT;
use signal_hook::flag;

/// The terminal, until it is dropped. A panic restores it before its message is printed.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    /// True when the process goes on after a stop, during which the shell has used the terminal.
    goes_on: Arc<AtomicBool>,
}

impl Screen {
    pub(super) fn open() -> io::Result<Screen> {
        let goes_on = Arc::new(AtomicBool::new(false));
        flag::register(SIGCONT, goes_on.clone())?;
        match ratatui::try_init() {
            Ok(terminal) => Ok(Screen { terminal, goes_on }),
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

    /// Stops the process and those that belong to the same job of the shell, until the shell lets them go on. Where no
    /// shell can do so, the kernel ignores the signal.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()?;
        leave();
        kill_current_process_group(Signal::TSTP)?;
        self.enter()
    }

    /// Takes the terminal again if the process was stopped. Returns whether it was.
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

/// Gives the terminal back, as far as possible.
fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen);
}
