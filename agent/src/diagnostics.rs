//! Messages of the agent. They go into the answer of an attached agent, if there is one, otherwise to standard error. A
//! message that could be repeated without end is printed by [`once`], so that it does not fill the program's log.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Mutex;

use loadhook_settings::attach::AnswerLine;
use loadhook_text::terminal;

use crate::attach::answer;
use crate::locks::lock;

static PRINTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// The maximum number of different messages that [`once`] prints. Further messages are dropped.
const MOST: usize = 20;

/// Prints a message unless it was printed before.
pub(crate) fn once(message: &str) {
    let mut printed = lock(&PRINTED);
    let printed = printed.get_or_insert_default();
    if printed.len() < MOST && printed.insert(message.to_owned()) {
        line(message);
    }
}

/// Forgets which messages were printed. Called when a new agent begins.
pub(crate) fn begin_anew() {
    *lock(&PRINTED) = None;
}

/// Prints a message. It may have several lines; for example, the message about a wrong pattern has three.
pub(crate) fn line(message: &str) {
    if answer::write(&AnswerLine::Note(message.to_owned())) {
        return;
    }
    let message = terminal::message(&format!("loadhook: {message}"));
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}
