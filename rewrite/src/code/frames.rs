//! `StackMapTable` (JVMS §4.7.4) and its ancestor, CLDC's `StackMap`.
//!
//! This file reads frames. `frame_states.rs` turns them into type states, and
//! `frame_splice.rs` writes them at new offsets.

use crate::code::bci::Bci;
use crate::code::types::VerificationType as V;
use crate::constant_pool::ConstantPool;
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// `frame_type` values (JVMS §4.7.4).
pub(crate) mod form {
    /// The highest `same_frame`; its `frame_type` is also its delta.
    pub(crate) const SAME: u8 = 63;
    /// The lowest `same_locals_1_stack_item_frame`, whose delta is 0.
    pub(crate) const SAME_LOCALS_1_MIN: u8 = 64;
    /// The highest `same_locals_1_stack_item_frame`.
    pub(crate) const SAME_LOCALS_1: u8 = 127;
    pub(crate) const SAME_LOCALS_1_EXTENDED: u8 = 247;
    pub(crate) const CHOP_3: u8 = 248;
    pub(crate) const CHOP_1: u8 = 250;
    pub(crate) const SAME_EXTENDED: u8 = 251;
    pub(crate) const APPEND_1: u8 = 252;
    pub(crate) const APPEND_3: u8 = 254;
    pub(crate) const FULL: u8 = 255;
}

/// The two formats of frames, each an attribute of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFormat {
    /// `StackMapTable`: compressed frames, each at a delta from the previous frame (JVMS §4.7.4).
    StackMapTable,
    /// `StackMap` of CLDC 1.1: full frames at absolute offsets.
    StackMap,
}

/// One frame as the attribute stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame<'a> {
    /// The instruction that the frame describes.
    pub bci: Bci,
    /// `frame_type`; 255 in a `StackMap`, which has only full frames.
    pub frame_type: u8,
    /// The local variables that the frame lists: all of them in a full frame, only the added ones in an
    /// `append_frame`.
    pub locals: Vec<V<'a>>,
    /// The operand stack that the frame lists.
    pub stack: Vec<V<'a>>,
}

/// The frames of an attribute, in file order.
#[derive(Debug)]
pub struct Frames<'p, 'a> {
    pool: &'p ConstantPool<'a>,
    reader: Reader<'a>,
    format: FrameFormat,
    left: u16,
    offsets: FrameOffsets,
}

impl<'p, 'a> Frames<'p, 'a> {
    /// Reads the attribute content at the position of `reader`.
    ///
    /// # Errors
    /// When the count is cut off.
    pub fn new(
        pool: &'p ConstantPool<'a>,
        mut reader: Reader<'a>,
        format: FrameFormat,
    ) -> Result<Self> {
        let left = reader.u2()?;
        Ok(Frames {
            pool,
            reader,
            format,
            left,
            offsets: FrameOffsets::new(format),
        })
    }

    fn read_types(&mut self, count: u16) -> Result<Vec<V<'a>>> {
        (0..count)
            .map(|_| V::read(&mut self.reader, self.pool))
            .collect()
    }

    fn read(&mut self) -> Result<RawFrame<'a>> {
        let (frame_type, delta) = read_head(&mut self.reader, self.format)?;
        let bci = self.offsets.next(delta);
        let bci = bci.map_err(|kind| self.reader.error(kind))?;
        let (mut locals, mut stack) = (Vec::new(), Vec::new());
        match frame_type {
            ..=form::SAME | form::SAME_EXTENDED | form::CHOP_3..=form::CHOP_1 => {}
            form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1_EXTENDED => stack = self.read_types(1)?,
            form::APPEND_1..=form::APPEND_3 => {
                locals = self.read_types(u16::from(frame_type - form::SAME_EXTENDED))?;
            }
            form::FULL => {
                let count = self.reader.u2()?;
                locals = self.read_types(count)?;
                let count = self.reader.u2()?;
                stack = self.read_types(count)?;
            }
        }
        if self.left == 0 {
            self.reader.finish()?;
        }
        Ok(RawFrame {
            bci,
            frame_type,
            locals,
            stack,
        })
    }
}

impl<'a> Iterator for Frames<'_, 'a> {
    type Item = Result<RawFrame<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let frame = self.read();
        if frame.is_err() {
            self.left = 0;
        }
        Some(frame)
    }
}

/// Reads the type of the next frame, and its `offset_delta` or absolute offset.
#[inline]
pub(super) fn read_head(reader: &mut Reader<'_>, format: FrameFormat) -> Result<(u8, u16)> {
    let frame_type = match format {
        FrameFormat::StackMapTable => reader.u1()?,
        FrameFormat::StackMap => form::FULL,
    };
    let delta = match frame_type {
        ..=form::SAME => u16::from(frame_type),
        form::SAME_LOCALS_1_MIN..=form::SAME_LOCALS_1 => {
            u16::from(frame_type - form::SAME_LOCALS_1_MIN)
        }
        form::SAME_LOCALS_1_EXTENDED.. => reader.u2()?,
        reserved => return Err(reader.error(ErrorKind::BadFrameType(reserved))),
    };
    Ok((frame_type, delta))
}

/// Adds up the deltas of frames.
#[derive(Debug)]
pub(super) struct FrameOffsets {
    format: FrameFormat,
    /// The offset of the previous frame; -1 before the first frame, so that the first delta is an offset.
    previous: i32,
}

impl FrameOffsets {
    #[inline]
    pub(super) fn new(format: FrameFormat) -> Self {
        FrameOffsets {
            format,
            previous: -1,
        }
    }

    /// Returns the offset of the next frame, which has this delta.
    #[inline]
    pub(super) fn next(&mut self, delta: u16) -> Result<Bci, ErrorKind> {
        let offset = match self.format {
            FrameFormat::StackMapTable => self.previous + i32::from(delta) + 1,
            FrameFormat::StackMap => i32::from(delta),
        };
        self.previous = offset;
        Bci::try_from_target(i64::from(offset))
    }
}
