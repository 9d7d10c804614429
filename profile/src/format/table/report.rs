//! All tables of one profile, one below the other.

use std::io::{self, Write};

use super::{allocations, methods, not_instrumented};
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
    not_instrumented::write(&profile.header, options, out)
}

/// Writes the tables of the chosen measure, or of all measures of the profile.
fn tables(profile: &Profile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or(Measure::of(profile));
    let Some(allocations) = &profile.allocations else {
        return methods::write(profile, options, out);
    };
    let has_times = measure == Measure::Time;
    if has_times {
        methods::write(profile, options, out)?;
        if options.measure.is_some() {
            return Ok(());
        }
        writeln!(out)?;
    } else {
        methods::program(profile, options, out)?;
    }
    let measure = match options.measure {
        Some(measure) => measure,
        None if allocations.live => Measure::Live,
        None => Measure::Allocated,
    };
    allocations::write(profile, allocations, measure, options, out)?;
    if has_times {
        Ok(())
    } else {
        methods::remarks(&profile.header, Vec::new(), [false; 4], options, out)
    }
}
