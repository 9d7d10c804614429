//! Reading back the pprof that we wrote.

use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use thiserror::Error;

use super::field::profile;
use super::{COMMENT, allocations};
use crate::format::protobuf::{
    Fields, Head, Malformed, Stream, StreamError, Value, unpack, varint,
};
use crate::model::{Header, Method, Node, Profile, ThreadKind, ThreadTree};

/// The most that our own fields and the strings may take, in bytes: some forty
/// million nodes. All else in a file is passed over.
const MOST: u64 = 1 << 30;

/// What a field takes besides its bytes, about.
const FIELD: u64 = 48;

/// A file that is no profile of ours.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing in the file.
    #[error("the file is empty; a profile is written when the JVM ends")]
    Empty,
    /// The gzip data ends too early.
    #[error("the file is cut off (its gzip data is not complete); copy it again, or profile again")]
    Cut,
    /// The gzip data is damaged.
    #[error("damaged gzip data; copy the file again, or profile again")]
    Gzip(#[source] io::Error),
    /// The profile takes more than 1 GiB.
    #[error("the profile takes more than 1 GiB unpacked; profile again with fewer --max-nodes")]
    TooLarge,
    /// The bytes are no protobuf.
    #[error("not a profile; loadhook report reads the .pb.gz files that loadhook run writes")]
    NotPprof,
    /// A pprof file with another origin, with its sample types.
    #[error("a pprof file, but not Loadhook's (it holds {0}); `go tool pprof` can show it")]
    Foreign(String),
    /// A profile of ours without our own fields.
    #[error(
        "another tool has rewritten this profile and dropped what Loadhook needs; use the original file"
    )]
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

impl From<StreamError> for ReadError {
    fn from(error: StreamError) -> ReadError {
        match error {
            StreamError::Read(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                ReadError::Cut
            }
            StreamError::Read(error) => ReadError::Gzip(error),
            StreamError::Malformed => ReadError::NotPprof,
        }
    }
}

/// Reads a profile written by [`write`](super::write()), gzipped or not.
///
/// # Errors
///
/// See [`ReadError`].
pub fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    read_within(bytes, MOST)
}

fn read_within(bytes: &[u8], most: u64) -> Result<Profile, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let parts = match bytes.starts_with(&[0x1f, 0x8b]) {
        true => Parts::gather(BufReader::new(MultiGzDecoder::new(bytes)), most)?,
        false => Parts::gather(bytes, most)?,
    };
    let header = parts.header()?;
    let Some(methods) = &parts.methods else {
        return Err(ReadError::Rewritten);
    };
    let methods = parts.strings.methods(methods)?;
    let threads = parts
        .threads
        .iter()
        .map(|thread| parts.strings.thread(thread, methods.len()));
    let threads: Vec<ThreadTree> = threads.collect::<Result<_, _>>()?;
    let read = |(frames, sites): (&Vec<u8>, &Vec<u8>)| {
        allocations::read(&parts.strings, frames, sites, methods.len(), &threads)
    };
    let allocations = parts.frames.as_ref().zip(parts.sites.as_ref());
    Ok(Profile {
        header,
        allocations: allocations.map(read).transpose()?,
        threads,
        methods,
    })
}

/// The fields of `Profile` that we look at.
#[derive(Default)]
struct Parts {
    sample_types: Vec<Vec<u8>>,
    comments: Vec<u64>,
    strings: Strings,
    header: Option<Vec<u8>>,
    methods: Option<Vec<u8>>,
    threads: Vec<Vec<u8>>,
    frames: Option<Vec<u8>>,
    sites: Option<Vec<u8>>,
}

impl Parts {
    /// Takes no more than about `most` bytes.
    fn gather(file: impl BufRead, most: u64) -> Result<Parts, ReadError> {
        let mut parts = Parts::default();
        let mut left = most;
        let mut spend = |len: u64| {
            left = left.checked_sub(len.saturating_add(FIELD))?;
            Some(())
        };
        let mut file = Stream::new(file);
        while let Some((field, head)) = file.head()? {
            let len = match head {
                Head::Number(comment) if field == profile::COMMENT => {
                    spend(0).ok_or(ReadError::TooLarge)?;
                    parts.comments.push(comment);
                    continue;
                }
                Head::Number(_) => continue,
                Head::Fixed(len) => {
                    file.skip(len)?;
                    continue;
                }
                Head::Bytes(len) => len,
            };
            let mut take = || {
                spend(len).ok_or(ReadError::TooLarge)?;
                Ok::<_, ReadError>(file.take(len)?)
            };
            match field {
                profile::SAMPLE_TYPE => parts.sample_types.push(take()?),
                profile::STRING_TABLE => {
                    let text = String::from_utf8(take()?).map_err(|_| ReadError::NotPprof)?;
                    parts.strings.0.push(text.into());
                }
                profile::COMMENT => parts.comments.extend(unpack(&take()?)?),
                profile::LOADHOOK_HEADER => parts.header = Some(take()?),
                profile::LOADHOOK_METHODS => parts.methods = Some(take()?),
                profile::LOADHOOK_THREAD => parts.threads.push(take()?),
                profile::LOADHOOK_FRAMES => parts.frames = Some(take()?),
                profile::LOADHOOK_SITES => parts.sites = Some(take()?),
                _ => file.skip(len)?,
            }
        }
        // Any profile has a sample type, and an empty string at 0.
        if parts.sample_types.is_empty() || parts.strings.0.is_empty() {
            return Err(ReadError::NotPprof);
        }
        Ok(parts)
    }

    fn header(&self) -> Result<Header, ReadError> {
        if let Some(json) = &self.header {
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
pub(super) struct Strings(Vec<Arc<str>>);

impl Strings {
    pub(super) fn get(&self, index: u64) -> Result<Arc<str>, ReadError> {
        let index = usize::try_from(index).ok();
        let text = index.and_then(|index| self.0.get(index));
        text.cloned()
            .ok_or(ReadError::Damaged("a string is missing"))
    }

    fn methods(&self, bytes: &[u8]) -> Result<Vec<Method>, ReadError> {
        let mut columns: Message<'_, 7> = Message::read(bytes)?;
        // Left out where each class was in one loader.
        let mut loaders = std::mem::take(&mut columns.columns[6]);
        let has_loaders = !loaders.is_empty();
        let columns = Message {
            numbers: [0; 6],
            columns: *columns.columns.first_chunk().expect("six of seven"),
        };
        let method = |row: Result<[u64; 6], ReadError>| {
            let [loader, class, name, descriptor, file, line] = row?;
            let loaders = match has_loaders {
                true => narrow(varint(&mut loaders)?)?,
                false => 1,
            };
            Ok(Method {
                loader: self.get(loader)?,
                class: self.get(class)?,
                name: self.get(name)?,
                descriptor: self.get(descriptor)?,
                file: file.checked_sub(1).map(|file| self.get(file)).transpose()?,
                line: line.checked_sub(1).map(narrow).transpose()?,
                loaders,
            })
        };
        columns.rows(1).map(method).collect()
    }

    fn thread(&self, bytes: &[u8], methods: usize) -> Result<ThreadTree, ReadError> {
        let message: Message<'_, 11> = Message::read(bytes)?;
        let [name, id, kind, ..] = message.numbers;
        // Behind the columns, whose rows end where they do.
        let with_cpu: Message<'_, 14> = Message::read(bytes)?;
        let [.., cpu] = with_cpu.numbers;
        // Older files have none.
        let with_ticks: Message<'_, 13> = Message::read(bytes)?;
        let mut ticks = with_ticks.rows(12).peekable();
        let has_ticks = ticks.peek().is_some();
        let node = |(at, row): (usize, Result<[u64; 11], ReadError>)| {
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
            ] = row?;
            let variance = f64::from_bits(variance);
            let (ticked_ns, ticked_variance) = match ticks.next().transpose()? {
                Some([.., ticked_ns, bits]) => (ticked_ns, f64::from_bits(bits)),
                None if has_ticks => return Err(ReadError::Damaged("ticks are missing")),
                None => (0, 0.0),
            };
            if method >= methods as u64 {
                return Err(ReadError::Damaged("a method is missing"));
            }
            let is_variance = |variance: f64| variance.is_finite() && variance >= 0.0;
            if !is_variance(variance) || !is_variance(ticked_variance) {
                return Err(ReadError::Damaged("a variance is none"));
            }
            Ok(Node {
                parent: parent(at, distance)?,
                method: narrow(method)?,
                calls,
                timed,
                all_ns,
                outermost_ns,
                child_ns,
                variance,
                ticked_ns,
                ticked_variance,
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
            cpu_ns: cpu.checked_sub(1),
            nodes: message
                .rows(4)
                .enumerate()
                .map(node)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// One of our own messages, whose fields 1 to `N` are numbers or columns.
pub(super) struct Message<'a, const N: usize> {
    pub(super) numbers: [u64; N],
    /// Packed.
    columns: [&'a [u8]; N],
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

    /// The rows of the columns from field `first` on, up to the first fault; 0
    /// stands in the fields before.
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

/// The parent of the node at this index, that far before it; 0 is none.
pub(super) fn parent(at: usize, distance: u64) -> Result<Option<u32>, ReadError> {
    let parent = match distance {
        0 => return Ok(None),
        distance => (at as u64).checked_sub(distance),
    };
    let parent = parent.ok_or(ReadError::Damaged("a caller comes after its callee"))?;
    narrow(parent).map(Some)
}

pub(super) fn narrow(value: u64) -> Result<u32, ReadError> {
    u32::try_from(value).map_err(|_| ReadError::Damaged("too large a number"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::format::protobuf::Writer;

    /// A small profile, and behind it a field of so many bytes.
    fn file(field: u32, len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        super::super::write(&Profile::default(), &mut bytes).expect("a vector takes all");
        let mut more = Writer::default();
        more.text(field, &vec![b'x'; len]);
        // Files of several parts are one.
        let mut gzip = GzEncoder::new(bytes, Compression::fast());
        gzip.write_all(&more.bytes).expect("a vector takes all");
        gzip.finish().expect("a vector takes all")
    }

    #[test]
    fn what_is_not_ours_takes_no_room() {
        const MOST: u64 = 10_000;
        for foreign in [profile::SAMPLE, profile::MAPPING, 999, 5000] {
            let read = read_within(&file(foreign, 1_000_000), MOST);
            assert_eq!(read.expect("ours"), Profile::default(), "{foreign}");
        }
        for ours in [profile::STRING_TABLE, profile::LOADHOOK_THREAD] {
            let read = read_within(&file(ours, 1_000_000), MOST);
            assert!(matches!(read, Err(ReadError::TooLarge)), "{ours}: {read:?}");
        }
        // Nor may very many that are empty.
        let mut bytes = Writer::default();
        for _ in 0..1_000 {
            bytes.text(profile::STRING_TABLE, b"");
        }
        let read = read_within(&bytes.bytes, MOST);
        assert!(matches!(read, Err(ReadError::TooLarge)), "{read:?}");
    }
}
