//! The messages of Loadhook's own fields: packed columns of numbers, and strings by their indexes.

use std::sync::Arc;

use super::error::ReadError;
use super::protobuf::{Fields, Value, varint};

/// The string table.
#[derive(Default)]
pub(super) struct Strings(Vec<Arc<str>>);

impl Strings {
    pub(super) fn push(&mut self, text: String) {
        self.0.push(text.into());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, index: u64) -> Result<Arc<str>, ReadError> {
        let index = usize::try_from(index).ok();
        let text = index.and_then(|index| self.0.get(index));
        text.cloned()
            .ok_or(ReadError::Damaged("a string is missing"))
    }
}

/// A message in one of Loadhook's own fields; the message's fields 1 to `N` are numbers or columns.
pub(super) struct Message<'a, const N: usize> {
    pub(super) numbers: [u64; N],
    /// The columns as packed numbers.
    pub(super) columns: [&'a [u8]; N],
}

impl<'a, const N: usize> Message<'a, N> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Message<'a, N>, ReadError> {
        let mut message = Message {
            numbers: [0; N],
            columns: [&[]; N],
        };
        for field in Fields::new(bytes) {
            let (field, value) = field?;
            let at = field as usize;
            if !(1..=N).contains(&at) {
                continue;
            }
            match value {
                Value::Number(number) => message.numbers[at - 1] = number,
                Value::Bytes(packed) => message.columns[at - 1] = packed,
                Value::Fixed => return Err(ReadError::Damaged("an unknown column")),
            }
        }
        Ok(message)
    }

    /// Returns the rows of the columns from field `first` on. The caller must stop at the first
    /// error. Fields before `first` have the value 0.
    pub(super) fn rows(&self, first: usize) -> impl Iterator<Item = Result<[u64; N], ReadError>> {
        let mut columns = self.columns;
        std::iter::from_fn(move || {
            let columns = &mut columns[first - 1..];
            let ended = columns.iter().filter(|column| column.is_empty()).count();
            if ended == columns.len() {
                return None;
            }
            if ended > 0 {
                return Some(Err(ReadError::Damaged("columns of different lengths")));
            }
            let mut row = [0; N];
            for (value, column) in row[first - 1..].iter_mut().zip(columns) {
                match varint(column) {
                    Ok(number) => *value = number,
                    Err(malformed) => return Some(Err(malformed.into())),
                }
            }
            Some(Ok(row))
        })
    }
}

/// Returns the parent of the node `at`: the node that comes `distance` nodes before it. A root has the distance
/// 0.
pub(super) fn parent(at: usize, distance: u64) -> Result<Option<u32>, ReadError> {
    let parent = match distance {
        0 => return Ok(None),
        distance => (at as u64).checked_sub(distance),
    };
    let parent = parent.ok_or(ReadError::Damaged("a caller comes after its callee"))?;
    narrow(parent).map(Some)
}

pub(super) fn narrow(value: u64) -> Result<u32, ReadError> {
    u32::try_from(value).map_err(|_| ReadError::Damaged("a number that is too large"))
}
