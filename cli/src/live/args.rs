//! Arguments that `loadhook top` and `loadhook serve` share.

use clap::Args;

use crate::attach::INCLUDE;
use crate::recording::ChoiceArgs;

/// Arguments of a command that shows a running program.
#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("include", |include| include.help(INCLUDE)),
    mut_arg("budget", |budget| budget.help(BUDGET).long_help(BUDGET)),
)]
pub(crate) struct LiveArgs {
    /// The process id of the JVM, as loadhook ps prints it
    pub(crate) pid: u32,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
}

/// The long help text of `--budget`. [`Live::begin`](super::Live::begin) sets no budget for samples.
const BUDGET: &str = "Processor time that Loadhook may take, in percent of what the program takes by itself, or the word \
    none. Above this limit, hot methods lose probes; if that is not enough, Loadhook leaves the process [default: 10 \
    with --timing adaptive, else none]";
