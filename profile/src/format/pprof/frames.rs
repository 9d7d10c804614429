//! Calling contexts in pprof: the frames in columns of Loadhook's own, and the locations of their lines.

use std::io::Write;

use super::columns::{Message, narrow, parent};
use super::error::ReadError;
use super::fields;
use super::file::{File, distances};
use super::protobuf::Writer;
use crate::model::Frame;

/// Writes the columns of frames, the fields 3 to 6 of a message.
pub(super) fn write_frames(own: &mut Writer, frames: &[Frame]) {
    let frames = || frames.iter();
    let more = |number: Option<u32>| number.map_or(0, |number| u64::from(number) + 1);
    own.packed(3, distances(frames().map(|frame| frame.parent)));
    own.packed(4, frames().map(|frame| u64::from(frame.method)));
    own.packed(5, frames().map(|frame| more(frame.line)));
    own.packed(6, frames().map(|frame| more(frame.bci.map(u32::from))));
}

/// Reads the columns that [`write_frames`] has written. `methods` is the number of methods in the
/// profile.
pub(super) fn read_frames(
    message: &Message<'_, 6>,
    methods: usize,
) -> Result<Vec<Frame>, ReadError> {
    let frame = |(at, row): (usize, Result<[u64; 6], ReadError>)| {
        let [_, _, distance, method, line, bci] = row?;
        if method >= methods as u64 {
            return Err(ReadError::Damaged("a method is missing"));
        }
        let bci = bci.checked_sub(1).map(u16::try_from).transpose();
        Ok(Frame {
            parent: parent(at, distance)?,
            method: narrow(method)?,
            line: line.checked_sub(1).map(narrow).transpose()?,
            bci: bci.map_err(|_| ReadError::Damaged("a number that is too large"))?,
        })
    };
    message.rows(3).enumerate().map(frame).collect()
}

impl<W: Write> File<W> {
    /// Returns the location of a line of code, and writes it at its first use. The ids up to the
    /// number of methods belong to the methods themselves.
    pub(super) fn place(&mut self, frame: &Frame, methods: usize) -> u64 {
        let function = u64::from(frame.method) + 1;
        let Some(line) = frame.line else {
            return function;
        };
        let next = (methods + self.places.len()) as u64 + 1;
        *self.places.entry((frame.method, line)).or_insert_with(|| {
            self.writer.message(fields::LOCATION, |location| {
                location.number(1, next);
                location.number(2, 1); // mapping
                location.message(4, |lines| {
                    lines.number(1, function);
                    lines.number(2, u64::from(line));
                });
            });
            next
        })
    }
}
