//! What `loadhook run` and `loadhook attach` share: the options of a recording, and how its profile is
//! shown.

mod args;
mod outcome;

pub(crate) use self::args::RecordingArgs;
pub(crate) use self::outcome::{name_others, show};
