//! Messages of the agent on standard error, a line each. A message that could come again and again is printed by
//! [`once`], so that the agent does not fill the program's log.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Mutex;

use crate::locks::lock;

static PRINTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Different messages that [`once`] prints; further ones are dropped.
const MOST: usize = 20;

/// Prints a message unless it was printed before.
pub(crate) fn once(message: &str) {
    let mut printed = lock(&PRINTED);
    let printed = printed.get_or_insert_default();
    if printed.len() < MOST && printed.insert(message.to_owned()) {
        line(message);
    }
}

/// Prints a message.
pub(crate) fn line(message: &str) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr().lock(), "loadhook: {message}");
}
