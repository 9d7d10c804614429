//! Parts that the commands with an agent share: the options of a recording, and the display of its profile.

mod args;
mod choice;
mod outcome;

pub(crate) use self::args::RecordingArgs;
pub(crate) use self::choice::ChoiceArgs;
pub(crate) use self::outcome::{name_others, show};
