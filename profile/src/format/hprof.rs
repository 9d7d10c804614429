//! HPROF's text format: allocation sites with the traces that lead to them.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use crate::analysis::allocation_places::chosen_sites;
use crate::analysis::options::Options;
use crate::model::Profile;
use crate::model::{Allocations, Amount, Frame, Seen, Site};
use loadhook_text::date::asctime;
use loadhook_text::printable;

/// The text for an unknown number.
const UNKNOWN: &str = "-";

/// Writes `TRACE` and `SITES`, the largest first: by live bytes if objects were followed, otherwise
/// by allocated bytes. Numbers that are too long push the columns to their right.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let none = Allocations::default();
    let allocations = profile.allocations.as_ref().unwrap_or(&none);
    let weight = |site: &Site| {
        bytes(if allocations.live {
            site.live
        } else {
            site.allocated
        })
    };
    let mut sites: Vec<&Site> = chosen_sites(profile, allocations, options).collect();
    sites.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let whole: f64 = sites.iter().map(|site| weight(site)).sum();
    sites.truncate(options.top.unwrap_or(usize::MAX));
    // The number of each trace; the key is the thread and the innermost frame.
    let mut traces: HashMap<(u32, Option<u32>), usize> = HashMap::new();
    let header = &profile.header;
    let ran = i64::try_from(header.duration_ns / 1_000_000_000).unwrap_or(0);
    let date = asctime((header.start_epoch_millis / 1000).saturating_add(ran));

    writeln!(out, "JAVA PROFILE 1.0.1, created {date}\n")?;
    match allocations.seen {
        Seen::Exact => writeln!(out, "All allocations of the instrumented classes.\n")?,
        Seen::All => writeln!(out, "All allocations.\n")?,
        Seen::Sampled { interval } => {
            let bytes = if interval == 1 { "byte" } else { "bytes" };
            writeln!(out, "Estimates from one sample in {interval} {bytes}.\n")?;
        }
    }
    let threads: BTreeSet<u32> = sites.iter().map(|site| site.thread).collect();
    for thread in threads {
        let name = printable(&profile.threads[thread as usize].name).replace('"', "\\\"");
        writeln!(out, "THREAD START (id = {}, name=\"{name}\")", thread + 1)?;
    }
    for site in &sites {
        let next = traces.len() + 1;
        let mut is_new = false;
        let trace = *traces.entry((site.thread, site.frame)).or_insert_with(|| {
            is_new = true;
            next
        });
        if is_new {
            writeln!(out, "TRACE {trace}: (thread={})", site.thread + 1)?;
            for frame in allocations.path(site) {
                writeln!(out, "\t{}", place(profile, frame))?;
            }
            if site.frame.is_none() {
                writeln!(out, "\t<empty>")?;
            }
            writeln!(out)?;
        }
    }
    let order = if allocations.live {
        "live"
    } else {
        "allocated"
    };
    writeln!(out, "SITES BEGIN (ordered by {order} bytes) {date}")?;
    writeln!(
        out,
        "        percent        live       alloc'ed    stack class"
    )?;
    writeln!(
        out,
        "rank  self  accum   bytes objs   bytes   objs trace name"
    )?;
    let percent = |part: f64| {
        if whole > 0.0 {
            format!("{:.2}%", 100.0 * part / whole)
        } else {
            UNKNOWN.to_owned()
        }
    };
    let mut accumulated = 0.0;
    for (rank, site) in (1..).zip(sites) {
        accumulated += weight(site);
        let [live_bytes, live_objects] = if allocations.live {
            numbers(site.live)
        } else {
            [UNKNOWN, UNKNOWN].map(str::to_owned)
        };
        let [all_bytes, all_objects] = numbers(site.allocated);
        let (own, sum) = (percent(weight(site)), percent(accumulated));
        let trace = traces[&(site.thread, site.frame)];
        let class = class(&site.type_name);
        writeln!(
            out,
            "{rank:>4} {own:>5} {sum:>6} {live_bytes:>7} {live_objects:>4} {all_bytes:>7} {all_objects:>6} {trace:>5} {class}"
        )?;
    }
    writeln!(out, "SITES END")
}

fn bytes(amount: Amount) -> f64 {
    amount.bytes.unwrap_or(0.0)
}

fn numbers(amount: Amount) -> [String; 2] {
    let whole = |number: f64| format!("{:.0}", number.round());
    let bytes = amount.bytes.map_or_else(|| UNKNOWN.to_owned(), whole);
    [bytes, whole(amount.objects)]
}

/// A line of code as HPROF writes it: `java/util/Hashtable.put(Hashtable.java:405)`.
fn place(profile: &Profile, frame: &Frame) -> String {
    let method = &profile.methods[frame.method as usize];
    let source = match (&method.file, frame.line) {
        (None, _) => "Unknown Source".to_owned(),
        (Some(file), None) => format!("{file}:Unknown line"),
        (Some(file), Some(line)) => format!("{file}:{line}"),
    };
    let class = method.class.replace('.', "/");
    printable(&format!("{class}.{}({source})", method.name)).into_owned()
}

/// A class as HPROF writes it: `char []`, `java/util/Hashtable$Entry`.
fn class(type_name: &str) -> String {
    let dimensions = type_name.find('[').unwrap_or(type_name.len());
    let (name, dimensions) = type_name.split_at(dimensions);
    let space = if dimensions.is_empty() { "" } else { " " };
    let name = name.replace('.', "/");
    printable(&format!("{name}{space}{dimensions}")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn types_are_written_as_in_the_manual() {
        for (java, hprof) in [
            ("char[]", "char []"),
            ("java.util.Hashtable$Entry", "java/util/Hashtable$Entry"),
            ("java.lang.String[][]", "java/lang/String [][]"),
        ] {
            assert_eq!(class(java), hprof);
        }
    }
}
