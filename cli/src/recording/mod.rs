//! Parts that `loadhook run` and `loadhook attach` share: the options of a recording, and the display of its profile.

mod args;
mod outcome;

pub(crate) use self::args::RecordingArgs;
pub(crate) use self::outcome::{name_others, show};
