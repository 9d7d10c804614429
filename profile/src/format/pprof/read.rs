//! Reading back the pprof that we wrote.

use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use thiserror::Error;

use super::COMMENT;
use super::field::profile;
use crate::format::protobuf::{Fields, Malformed, Value, unpack};
use crate::model::{Header, Method, Node, Profile, ThreadKind, ThreadTree};

/// The most a file may hold when unpacked, in bytes: some ten million nodes.
const MOST: u64 = 4 << 30;

/// A file that is no profile of ours.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The gzip data is damaged.
    #[error("damaged gzip data")]
    Gzip(#[source] std::io::Error),
    /// The file unpacks to more than 4 GiB.
    #[error("the file unpacks to more than 4 GiB")]
    TooLarge,
    /// The bytes are no protobuf.
    #[error("not a pprof file")]
    NotPprof,
    /// A pprof file with another origin, with its sample types.
    #[error("a pprof file, but not Loadhook's (it holds {0}); `go tool pprof` can show it")]
    Foreign(String),
    /// A profile of ours without our own fields.
    #[error("another tool has rewritten this profile and dropped what Loadhook needs of it")]
    Rewritten,
    /// A profile of ours that contradicts itself.
    #[error("damaged profile: {0}")]
    Damaged(&'static str),
}

impl From<Malformed> for ReadError {
    fn from(_: Malformed) -> ReadError {
        ReadError::NotPprof
    }
}

/// Reads a profile written by [`write`](super::write()), gzipped or not.
///
/// # Errors
///
/// See [`ReadError`].
pub fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    let mut unpacked = Vec::new();
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut gzip = MultiGzDecoder::new(bytes).take(MOST + 1);
        gzip.read_to_end(&mut unpacked).map_err(ReadError::Gzip)?;
        if unpacked.len() as u64 > MOST {
            return Err(ReadError::TooLarge);
        }
        &unpacked
    } else {
        bytes
    };
    let parts = Parts::gather(bytes)?;
    let header = parts.header()?;
    let Some(methods) = parts.methods else {
        return Err(ReadError::Rewritten);
    };
    let methods = parts.strings.methods(methods)?;
    let threads = parts
        .threads
        .iter()
        .map(|thread| parts.strings.thread(thread, methods.len()));
    Ok(Profile {
        header,
        threads: threads.collect::<Result<_, _>>()?,
        methods,
    })
}

/// The fields of `Profile` that we look at.
#[derive(Default)]
struct Parts<'a> {
    sample_types: Vec<&'a [u8]>,
    comments: Vec<u64>,
    strings: Strings,
    header: Option<&'a [u8]>,
    methods: Option<&'a [u8]>,
    threads: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    fn gather(bytes: &'a [u8]) -> Result<Parts<'a>, ReadError> {
        let mut parts = Parts::default();
        for field in Fields::new(bytes) {
            match field? {
                (profile::SAMPLE_TYPE, Value::Bytes(value_type)) => {
                    parts.sample_types.push(value_type);
                }
                (profile::STRING_TABLE, Value::Bytes(text)) => {
                    let text = std::str::from_utf8(text).map_err(|_| ReadError::NotPprof)?;
                    parts.strings.0.push(text.into());
                }
                (profile::COMMENT, Value::Number(comment)) => parts.comments.push(comment),
                (profile::COMMENT, Value::Bytes(packed)) => parts.comments.extend(unpack(packed)?),
                (profile::LOADHOOK_HEADER, Value::Bytes(json)) => parts.header = Some(json),
                (profile::LOADHOOK_METHODS, Value::Bytes(methods)) => parts.methods = Some(methods),
                (profile::LOADHOOK_THREAD, Value::Bytes(thread)) => parts.threads.push(thread),
                _ => {}
            }
        }
        // Any profile has a sample type, and an empty string at 0.
        if parts.sample_types.is_empty() || parts.strings.0.is_empty() {
            return Err(ReadError::NotPprof);
        }
        Ok(parts)
    }

    fn header(&self) -> Result<Header, ReadError> {
        if let Some(json) = self.header {
            let damaged = |_| ReadError::Damaged("its header is no header");
            return serde_json::from_slice(json).map_err(damaged);
        }
        for comment in &self.comments {
            if self.strings.get(*comment)?.starts_with(COMMENT) {
                return Err(ReadError::Rewritten);
            }
        }
        let mut names = Vec::new();
        for sample_type in &self.sample_types {
            for field in Fields::new(sample_type) {
                if let (1, Value::Number(name)) = field? {
                    names.push(self.strings.get(name)?.to_string());
                }
            }
        }
        Err(ReadError::Foreign(names.join(", ")))
    }
}

#[derive(Default)]
struct Strings(Vec<Arc<str>>);

impl Strings {
    fn get(&self, index: u64) -> Result<Arc<str>, ReadError> {
        let index = usize::try_from(index).ok();
        let text = index.and_then(|index| self.0.get(index));
        text.cloned()
            .ok_or(ReadError::Damaged("a string is missing"))
    }

    fn methods(&self, bytes: &[u8]) -> Result<Vec<Method>, ReadError> {
        let columns: Message<6> = Message::read(bytes)?;
        let method = |[loader, class, name, descriptor, file, line]: [u64; 6]| {
            Ok(Method {
                loader: self.get(loader)?,
                class: self.get(class)?,
                name: self.get(name)?,
                descriptor: self.get(descriptor)?,
                file: file.checked_sub(1).map(|file| self.get(file)).transpose()?,
                line: line.checked_sub(1).map(narrow).transpose()?,
            })
        };
        columns.rows(1)?.map(method).collect()
    }

    fn thread(&self, bytes: &[u8], methods: usize) -> Result<ThreadTree, ReadError> {
        let message: Message<11> = Message::read(bytes)?;
        let [name, id, kind, ..] = message.numbers;
        let node = |(at, row): (usize, [u64; 11])| {
            let [
                _,
                _,
                _,
                distance,
                method,
                calls,
                timed,
                all_ns,
                outermost_ns,
                child_ns,
                variance,
            ] = row;
            let parent = match distance {
                0 => None,
                distance => Some(
                    (at as u64)
                        .checked_sub(distance)
                        .ok_or(ReadError::Damaged("a caller comes after its callee"))?,
                ),
            };
            let variance = f64::from_bits(variance);
            if method >= methods as u64 {
                return Err(ReadError::Damaged("a method is missing"));
            }
            if !(variance.is_finite() && variance >= 0.0) {
                return Err(ReadError::Damaged("a variance is none"));
            }
            Ok(Node {
                parent: parent.map(narrow).transpose()?,
                method: narrow(method)?,
                calls,
                timed,
                all_ns,
                outermost_ns,
                child_ns,
                variance,
            })
        };
        Ok(ThreadTree {
            name: self.get(name)?,
            id: id.checked_sub(1),
            kind: match kind {
                0 => ThreadKind::Platform,
                1 => ThreadKind::Virtual,
                2 => ThreadKind::Ended,
                _ => return Err(ReadError::Damaged("an unknown kind of thread")),
            },
            nodes: message
                .rows(4)?
                .enumerate()
                .map(node)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// One of our own messages, whose fields 1 to `N` are numbers or columns.
struct Message<const N: usize> {
    numbers: [u64; N],
    columns: [Vec<u64>; N],
}

impl<const N: usize> Message<N> {
    fn read(bytes: &[u8]) -> Result<Message<N>, ReadError> {
        let mut message = Message {
            numbers: [0; N],
            columns: [const { Vec::new() }; N],
        };
        for field in Fields::new(bytes) {
            let (field, value) = field?;
            let at = field as usize;
            if !(1..=N).contains(&at) {
                continue;
            }
            match value {
                Value::Number(number) => message.numbers[at - 1] = number,
                Value::Bytes(packed) => message.columns[at - 1] = unpack(packed)?,
                Value::Fixed => return Err(ReadError::Damaged("an unknown column")),
            }
        }
        Ok(message)
    }

    /// The rows of the columns from field `first` on; 0 stands in the fields before.
    fn rows(&self, first: usize) -> Result<impl Iterator<Item = [u64; N]>, ReadError> {
        let columns = &self.columns[first - 1..];
        let rows = columns.first().map_or(0, Vec::len);
        if columns.iter().any(|column| column.len() != rows) {
            return Err(ReadError::Damaged("columns of different lengths"));
        }
        let row = move |at: usize| {
            let mut row = [0; N];
            for (value, column) in row[first - 1..].iter_mut().zip(columns) {
                *value = column[at];
            }
            row
        };
        Ok((0..rows).map(row))
    }
}

fn narrow(value: u64) -> Result<u32, ReadError> {
    u32::try_from(value).map_err(|_| ReadError::Damaged("too large a number"))
}
