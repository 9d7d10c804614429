//! Waits for locks in pprof.

use std::io::{self, Write};
use std::iter::repeat_n;

use super::columns::{Message, Strings, narrow};
use super::error::ReadError;
use super::fields;
use super::file::{File, PIECE};
use super::frames::{read_frames, write_frames};
use crate::model::{Holder, LockWait, Locks, Profile, ThreadTree, WaitKind};

/// Names and units of the values; mutex profiles of Go use the same.
pub(super) const VALUES: [(&str, &str); 2] = [("contentions", "count"), ("delay", "nanoseconds")];

impl<W: Write> File<W> {
    /// Writes a sample for each contended wait, and all waits in columns. `others` is the number of values before
    /// [`VALUES`]; all of them are 0.
    pub(super) fn locks(
        &mut self,
        profile: &Profile,
        locks: &Locks,
        others: usize,
    ) -> io::Result<()> {
        let [lock, holder] = ["lock", "holder"].map(|key| self.strings.index(key));
        for wait in locks.contentions() {
            let path = locks.path(wait.frame);
            let path: Vec<u64> = path
                .map(|frame| self.place(frame, profile.methods.len()))
                .collect();
            let labels = self.thread_labels(&profile.threads[wait.thread as usize]);
            let mut names = vec![(lock, self.strings.index(&wait.class))];
            if let Some(held) = &wait.holder {
                names.push((holder, self.strings.index(&held.thread)));
            }
            self.writer.message(fields::SAMPLE, |sample| {
                sample.packed(1, path);
                sample.packed(2, repeat_n(0, others).chain([wait.count, wait.ns]));
                labels.write(sample);
                for (key, name) in names {
                    sample.message(3, |label| {
                        label.number(1, key);
                        label.number(2, name);
                    });
                }
            });
            self.flush(PIECE)?;
        }
        self.writer.message(fields::LOADHOOK_LOCK_FRAMES, |own| {
            write_frames(own, &locks.frames);
        });
        self.wait_columns(&locks.waits);
        Ok(())
    }

    fn wait_columns(&mut self, waits: &[LockWait]) {
        let waits = || waits.iter();
        let mut text = |text: &str| self.strings.index(text);
        let classes: Vec<u64> = waits().map(|wait| text(&wait.class)).collect();
        let holder = |wait: &LockWait| wait.holder.as_ref().map(|held| text(&held.thread) + 1);
        let holders: Vec<u64> = waits().map(holder).map(Option::unwrap_or_default).collect();
        let more = |frame: Option<u32>| frame.map_or(0, |frame| u64::from(frame) + 1);
        let held_at = |wait: &LockWait| wait.holder.as_ref().and_then(|held| held.frame);
        self.writer.message(fields::LOADHOOK_LOCK_WAITS, |own| {
            own.packed(1, waits().map(|wait| wait.kind as u64));
            own.packed(2, waits().map(|wait| u64::from(wait.thread)));
            own.packed(3, classes);
            own.packed(4, waits().map(|wait| more(wait.frame)));
            own.packed(5, holders);
            own.packed(6, waits().map(|wait| more(held_at(wait))));
            own.packed(7, waits().map(|wait| wait.count));
            own.packed(8, waits().map(|wait| wait.ns));
        });
    }
}

/// Reads the fields 1007 and 1008.
pub(super) fn read(
    strings: &Strings,
    frames: &[u8],
    waits: &[u8],
    methods: usize,
    threads: &[ThreadTree],
) -> Result<Locks, ReadError> {
    let frames = read_frames(&Message::read(frames)?, methods)?;
    let frame = |number: u64| {
        if number > frames.len() as u64 {
            return Err(ReadError::Damaged("a calling context is missing"));
        }
        number.checked_sub(1).map(narrow).transpose()
    };
    let wait = |row: Result<[u64; 8], ReadError>| {
        let [kind, thread, class, at, holder, held_at, count, ns] = row?;
        if thread >= threads.len() as u64 {
            return Err(ReadError::Damaged("a thread is missing"));
        }
        let kind = WaitKind::ALL.into_iter().find(|one| *one as u64 == kind);
        let held_at = frame(held_at)?;
        let holder = holder.checked_sub(1).map(|name| {
            Ok::<_, ReadError>(Holder {
                thread: strings.get(name)?,
                frame: held_at,
            })
        });
        Ok(LockWait {
            kind: kind.ok_or(ReadError::Damaged("an unknown kind of wait"))?,
            thread: narrow(thread)?,
            class: strings.get(class)?,
            frame: frame(at)?,
            holder: holder.transpose()?,
            count,
            ns,
        })
    };
    let message: Message<'_, 8> = Message::read(waits)?;
    let waits = message.rows(1).map(wait).collect::<Result<_, _>>()?;
    Ok(Locks { frames, waits })
}
