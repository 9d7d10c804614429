//! The options of a recording, and the display of its profile, for all commands that load an agent.

mod args;
mod choice;
mod outcome;

pub(crate) use self::args::RecordingArgs;
pub(crate) use self::choice::ChoiceArgs;
pub(crate) use self::outcome::{name_others, show};
