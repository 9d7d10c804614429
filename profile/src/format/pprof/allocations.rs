//! Allocations in pprof.

use std::io::{self, Write};
use std::iter::repeat_n;

use super::columns::{Message, Strings, narrow};
use super::error::ReadError;
use super::fields;
use super::file::{File, PIECE};
use super::frames::{read_frames, write_frames};
use crate::model::{Allocations, Amount, Profile, Seen, Site, ThreadTree};

/// The value in the column of bytes that stands for unknown bytes. As a floating-point number it is
/// a NaN, so it cannot be a number of bytes.
const UNKNOWN: u64 = u64::MAX;

/// The flag that live objects were followed.
const LIVE: u64 = 1;
/// The flag for [`Seen::All`].
const ALL: u64 = 2;

/// Returns the sample types of allocations: names and units.
pub(super) fn values(
    allocations: &Allocations,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ];
    all.into_iter().take(if allocations.live { 4 } else { 2 })
}

impl<W: Write> File<W> {
    /// Writes a sample for each site. Before the site's values, a sample has `before` zeros, and after them `after`
    /// zeros: the values of the other sample types.
    pub(super) fn sites(
        &mut self,
        profile: &Profile,
        allocations: &Allocations,
        before: usize,
        after: usize,
    ) -> io::Result<()> {
        let type_key = self.strings.index("type");
        for site in &allocations.sites {
            let path = std::iter::successors(site.frame, |frame| {
                allocations.frames[*frame as usize].parent
            });
            let path: Vec<u64> = path
                .map(|frame| self.place(&allocations.frames[frame as usize], profile.methods.len()))
                .collect();
            let thread = &profile.threads[site.thread as usize];
            let labels = self.thread_labels(thread);
            let type_name = self.strings.index(&site.type_name);
            self.writer.message(fields::SAMPLE, |sample| {
                sample.packed(1, path);
                let amounts = [site.allocated, site.live];
                let known = amounts.iter().take(if allocations.live { 2 } else { 1 });
                let known = known.flat_map(|amount| [amount.objects, amount.bytes.unwrap_or(0.0)]);
                let known = known.map(|value| value.round() as u64);
                let values = repeat_n(0, before).chain(known);
                sample.packed(2, values.chain(repeat_n(0, after)));
                labels.write(sample);
                sample.message(3, |label| {
                    label.number(1, type_key);
                    label.number(2, type_name);
                });
            });
            self.flush(PIECE)?;
        }
        self.frames(allocations);
        self.site_columns(allocations);
        Ok(())
    }

    fn frames(&mut self, allocations: &Allocations) {
        let interval = match allocations.seen {
            Seen::Exact | Seen::All => 0,
            Seen::Sampled { interval } => interval,
        };
        let flags = [
            (LIVE, allocations.live),
            (ALL, allocations.seen == Seen::All),
        ];
        let flags = flags.map(|(bit, holds)| bit * u64::from(holds));
        self.writer.message(fields::LOADHOOK_FRAMES, |own| {
            own.number(1, interval);
            own.number(2, flags.iter().sum());
            write_frames(own, &allocations.frames);
        });
    }

    fn site_columns(&mut self, allocations: &Allocations) {
        let sites = || allocations.sites.iter();
        let types: Vec<u64> = sites()
            .map(|site| self.strings.index(&site.type_name))
            .collect();
        self.writer.message(fields::LOADHOOK_SITES, |own| {
            own.packed(1, sites().map(|site| u64::from(site.thread)));
            own.packed(
                2,
                sites().map(|site| site.frame.map_or(0, |frame| u64::from(frame) + 1)),
            );
            own.packed(3, types);
            let amounts: [fn(&Site) -> Amount; 2] = [|site| site.allocated, |site| site.live];
            for (first, amount) in [4, 8].into_iter().zip(amounts) {
                own.packed(first, sites().map(|site| amount(site).objects.to_bits()));
                own.packed(
                    first + 1,
                    sites().map(|site| amount(site).bytes.map_or(UNKNOWN, f64::to_bits)),
                );
                own.packed(
                    first + 2,
                    sites().map(|site| amount(site).objects_variance.to_bits()),
                );
                own.packed(
                    first + 3,
                    sites().map(|site| amount(site).bytes_variance.to_bits()),
                );
            }
            own.packed(12, sites().map(|site| site.live_age.to_bits()));
        });
    }
}

/// Reads the fields 1003 and 1004.
pub(super) fn read(
    strings: &Strings,
    frames: &[u8],
    sites: &[u8],
    methods: usize,
    threads: &[ThreadTree],
) -> Result<Allocations, ReadError> {
    let message: Message<'_, 6> = Message::read(frames)?;
    let [interval, flags, ..] = message.numbers;
    let frames = read_frames(&message, methods)?;
    let message: Message<'_, 12> = Message::read(sites)?;
    let site = |row: Result<[u64; 12], ReadError>| {
        let row = row?;
        if row[0] >= threads.len() as u64 || row[1] > frames.len() as u64 {
            return Err(ReadError::Damaged(
                "a site's thread or calling context is missing",
            ));
        }
        Ok(Site {
            thread: narrow(row[0])?,
            frame: row[1].checked_sub(1).map(narrow).transpose()?,
            type_name: strings.get(row[2])?,
            allocated: amount(&row[3..7])?,
            live: amount(&row[7..11])?,
            live_age: number(row[11])?,
        })
    };
    Ok(Allocations {
        seen: match interval {
            0 if flags & ALL != 0 => Seen::All,
            0 => Seen::Exact,
            interval => Seen::Sampled { interval },
        },
        live: flags & LIVE != 0,
        sites: message.rows(1).map(site).collect::<Result<_, _>>()?,
        frames,
    })
}

fn amount(bits: &[u64]) -> Result<Amount, ReadError> {
    Ok(Amount {
        objects: number(bits[0])?,
        bytes: (bits[1] != UNKNOWN).then(|| number(bits[1])).transpose()?,
        objects_variance: number(bits[2])?,
        bytes_variance: number(bits[3])?,
    })
}

fn number(bits: u64) -> Result<f64, ReadError> {
    let number = f64::from_bits(bits);
    if number.is_finite() && number >= 0.0 {
        Ok(number)
    } else {
        Err(ReadError::Damaged("a number of an allocation is invalid"))
    }
}
