//! What the agent has to say goes to standard error, a line each, and each
//! thing once: nobody's log is to fill up because of us.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// More different messages than this are not worth anyone's time.
const MOST: usize = 20;

/// Says something once in the life of the VM.
pub(crate) fn once(message: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let said = said.get_or_insert_default();
    if said.len() < MOST && said.insert(message.to_owned()) {
        line(message);
    }
}

/// Says something.
pub(crate) fn line(message: &str) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr().lock(), "loadhook: {message}");
}
