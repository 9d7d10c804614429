//! Arguments that `loadhook top` and `loadhook serve` share.

use clap::Args;

use crate::attach::{BUDGET, INCLUDE};
use crate::recording::ChoiceArgs;

/// Arguments of a command that shows a running program.
#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("include", |include| include.help(INCLUDE)),
    mut_arg("budget", |budget| budget.help(BUDGET)),
)]
pub(crate) struct LiveArgs {
    /// The process id of the JVM, as loadhook ps prints it
    pub(crate) pid: u32,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
}
