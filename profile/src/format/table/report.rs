//! All tables of one profile, one below the other.

use std::io::{self, Write};

use super::{allocations, gc_pauses, jit, locks, methods, not_instrumented};
use crate::analysis::measure::Measure;
use crate::analysis::options::Options;
use crate::model::Profile;

/// Writes the tables, and then the methods that were not instrumented.
pub(crate) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    tables(profile, options, out)?;
    gc_pauses::write(profile, options, out)?;
    jit::write(profile, options, out)?;
    not_instrumented::write(&profile.header, options, out)
}

/// Writes the tables of the chosen measure, or of all measures of the profile.
fn tables(profile: &Profile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let is_shown = |measure: Measure| match options.measure {
        Some(chosen) => measure == chosen,
        None => measure.is_in(profile),
    };
    let has_times = is_shown(Measure::Time);
    let has_allocations = is_shown(Measure::Allocated) || is_shown(Measure::Live);
    if has_times {
        methods::write(profile, options, out)?;
    } else {
        methods::program(profile, options, out)?;
    }
    if has_allocations && let Some(allocations) = &profile.allocations {
        if has_times {
            writeln!(out)?;
        }
        let measure = match options.measure {
            Some(measure) => measure,
            None if allocations.live => Measure::Live,
            None => Measure::Allocated,
        };
        allocations::write(profile, allocations, measure, options, out)?;
    }
    if is_shown(Measure::Contention)
        && let Some(found) = &profile.locks
    {
        if has_times || has_allocations {
            writeln!(out)?;
        }
        locks::write(profile, found, options, out)?;
    }
    if has_times {
        Ok(())
    } else {
        methods::remarks(&profile.header, Vec::new(), [false; 5], options, out)
    }
}
