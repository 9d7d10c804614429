//! The binary format in parts, as HPROF sent it to an address: first the settings, then each table
//! that a command requests.

use std::io::{self, Write};

use loadhook_hprof::{Header, Writer};

use super::binary::{self, Defined, StreamSettings};
use super::detail::Detail;
use super::monitors::MonitorTables;
use super::numbers::Numbers;
use super::tables::{Part, Tables, threads};
use crate::analysis::options::Options;
use crate::model::{Profile, ThreadKind};

/// Size of an identifier, in bytes.
const ID_SIZE: u32 = 8;

/// Begins a file or stream. `time_ms` is the time of its beginning, in milliseconds since 1970.
///
/// # Errors
///
/// Fails if `out` cannot be written.
pub fn begin_stream<W: Write>(
    time_ms: u64,
    settings: StreamSettings,
    out: W,
) -> io::Result<Writer<W>> {
    let id_size = ID_SIZE;
    let mut out = Writer::new(out, Header { id_size, time_ms })?;
    binary::settings(settings, &mut out)?;
    Ok(out)
}

/// Returns a writer that continues a stream which another writer began. `numbers` are the numbers
/// that are still free.
pub fn go_on_with_stream<W: Write>(numbers: &Numbers, out: W) -> Writer<W> {
    Writer::go_on(out, ID_SIZE).with_names_from(numbers.names)
}

/// Adds the tables of a part, with the threads and traces that they refer to. Takes the serial
/// numbers from `numbers`.
///
/// # Errors
///
/// Fails if `out` cannot be written.
pub fn add_part<W: Write>(
    profile: &Profile,
    monitors: Option<&MonitorTables>,
    detail: &Detail,
    options: &Options<'_>,
    part: Part,
    numbers: &mut Numbers,
    out: &mut Writer<W>,
) -> io::Result<()> {
    let tables = Tables::new(profile, monitors, detail, options, part, *numbers);
    let sites = tables.sites.as_ref();
    if part == Part::Summary {
        return sites.map_or(Ok(()), |sites| binary::summary(sites, out));
    }
    for (serial, thread) in threads(profile, options, numbers) {
        binary::thread(serial, &thread.name, out)?;
        if thread.kind == ThreadKind::Ended {
            out.end_thread(serial)?;
        }
    }
    let mut defined = Defined::new(*numbers);
    defined.traces(&tables.traces, out)?;
    if part != Part::Traces {
        if let Some(sites) = sites {
            if !detail.has_heap {
                binary::summary(sites, out)?;
            }
            defined.sites(sites, detail, out)?;
        }
        for costs in &tables.costs {
            defined.costs(costs, out)?;
        }
        if let Some(dump) = &tables.monitors {
            binary::monitors(dump, out)?;
        }
    }
    *numbers = defined.rest(profile.threads.len(), &tables.traces, out);
    Ok(())
}
