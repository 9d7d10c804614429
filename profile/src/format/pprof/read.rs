//! Reads the pprof files that Loadhook wrote.

use std::io::{BufRead, BufReader};

use flate2::read::MultiGzDecoder;

use super::columns::{Message, Strings, narrow, parent};
use super::error::ReadError;
use super::fields::{self, COMMENT_PREFIX};
use super::protobuf::{Fields, Head, Stream, Value, unpack, varint};
use super::{allocations, locks};
use crate::model::{
    Header, InlinedMethod, JitCode, JitMethod, LatencyRange, LatencySums, Method, MethodCalls,
    Node, Profile, ThreadKind, ThreadTree, Waiting,
};

/// The maximum size of Loadhook's own fields and the strings, in bytes: about forty million nodes.
/// Other fields are skipped.
const MOST: u64 = 1 << 30;

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The approximate memory that a field takes besides its own bytes, in bytes.
const FIELD: u64 = 48;

/// Reads a profile written by [`write`](super::write()), gzipped or not.
///
/// # Errors
///
/// See [`ReadError`].
pub fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    read_within(bytes, MOST)
}

/// Returns whether a file that begins with `head` can be a profile: gzip data, or protobuf whose
/// first field belongs to pprof's schema or to Loadhook's own fields.
pub fn can_begin(head: &[u8]) -> bool {
    let first = || Stream::new(head).head().ok().flatten();
    let is_known = |field| {
        (fields::SAMPLE_TYPE..=fields::DEFAULT_SAMPLE_TYPE).contains(&field)
            || (fields::LOADHOOK_HEADER..=fields::LOADHOOK_LATENCIES).contains(&field)
    };
    head.starts_with(&GZIP) || first().is_some_and(|(field, _)| is_known(field))
}

fn read_within(bytes: &[u8], most: u64) -> Result<Profile, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let parts = if bytes.starts_with(&GZIP) {
        Parts::gather(BufReader::new(MultiGzDecoder::new(bytes)), most)?
    } else {
        Parts::gather(bytes, most)?
    };
    let header = parts.header()?;
    let Some(methods) = &parts.methods else {
        return Err(ReadError::Rewritten);
    };
    let methods = self::methods(&parts.strings, methods)?;
    let threads = parts
        .threads
        .iter()
        .map(|thread| self::thread(&parts.strings, thread, methods.len()));
    let threads: Vec<ThreadTree> = threads.collect::<Result<_, _>>()?;
    let read = |(frames, sites): (&Vec<u8>, &Vec<u8>)| {
        allocations::read(&parts.strings, frames, sites, methods.len(), &threads)
    };
    let method_calls = match &parts.method_calls {
        Some(counted) => self::method_calls(counted, methods.len())?,
        None => Vec::new(),
    };
    let damaged = |_| ReadError::Damaged("its sampling data is invalid");
    let sampling = parts.sampling.as_deref().map(serde_json::from_slice);
    let pauses = parts.gc_pauses.as_deref().map(serde_json::from_slice);
    let no_pauses = |_| ReadError::Damaged("its pauses of the garbage collector are invalid");
    let allocations = parts.frames.as_ref().zip(parts.sites.as_ref());
    let locks = parts.lock_frames.as_ref().zip(parts.lock_waits.as_ref());
    let read_locks = |(frames, waits): (&Vec<u8>, &Vec<u8>)| {
        locks::read(&parts.strings, frames, waits, methods.len(), &threads)
    };
    Ok(Profile {
        header,
        method_calls,
        sampling: sampling.transpose().map_err(damaged)?,
        allocations: allocations.map(read).transpose()?,
        locks: locks.map(read_locks).transpose()?,
        gc_pauses: pauses.transpose().map_err(no_pauses)?,
        jit: parts.jit(methods.len())?,
        latencies: match &parts.latencies {
            Some(ranges) => self::latencies(ranges, methods.len())?,
            None => Vec::new(),
        },
        threads,
        methods,
    })
}

/// The fields of `Profile` that the reader uses.
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
    sampling: Option<Vec<u8>>,
    method_calls: Option<Vec<u8>>,
    lock_frames: Option<Vec<u8>>,
    lock_waits: Option<Vec<u8>>,
    gc_pauses: Option<Vec<u8>>,
    compiled: Option<Vec<u8>>,
    inlined: Option<Vec<u8>>,
    latencies: Option<Vec<u8>>,
}

impl Parts {
    /// Reads the fields, and fails if they take more than about `most` bytes.
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
                Head::Number(comment) if field == fields::COMMENT => {
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
                fields::SAMPLE_TYPE => parts.sample_types.push(take()?),
                fields::STRING_TABLE => {
                    let text = String::from_utf8(take()?).map_err(|_| ReadError::NotPprof)?;
                    parts.strings.push(text);
                }
                fields::COMMENT => parts.comments.extend(unpack(&take()?)?),
                // pprof's schema lets files be appended to each other, but sums need care.
                fields::LOADHOOK_HEADER if parts.header.is_some() => {
                    return Err(ReadError::Several);
                }
                fields::LOADHOOK_HEADER => parts.header = Some(take()?),
                fields::LOADHOOK_METHODS => parts.methods = Some(take()?),
                fields::LOADHOOK_THREAD => parts.threads.push(take()?),
                fields::LOADHOOK_FRAMES => parts.frames = Some(take()?),
                fields::LOADHOOK_SITES => parts.sites = Some(take()?),
                fields::LOADHOOK_SAMPLING => parts.sampling = Some(take()?),
                fields::LOADHOOK_METHOD_CALLS => parts.method_calls = Some(take()?),
                fields::LOADHOOK_LOCK_FRAMES => parts.lock_frames = Some(take()?),
                fields::LOADHOOK_LOCK_WAITS => parts.lock_waits = Some(take()?),
                fields::LOADHOOK_GC_PAUSES => parts.gc_pauses = Some(take()?),
                fields::LOADHOOK_COMPILED => parts.compiled = Some(take()?),
                fields::LOADHOOK_INLINED => parts.inlined = Some(take()?),
                fields::LOADHOOK_LATENCIES => parts.latencies = Some(take()?),
                _ => file.skip(len)?,
            }
        }
        // Every profile has at least one sample type, and the empty string at
        // index 0.
        if parts.sample_types.is_empty() || parts.strings.is_empty() {
            return Err(ReadError::NotPprof);
        }
        Ok(parts)
    }

    fn header(&self) -> Result<Header, ReadError> {
        if let Some(json) = &self.header {
            let damaged = |_| ReadError::Damaged("its header is invalid");
            return serde_json::from_slice(json).map_err(damaged);
        }
        for comment in &self.comments {
            if self.strings.get(*comment)?.starts_with(COMMENT_PREFIX) {
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

impl Parts {
    /// Reads the work of the JIT compiler. `methods` is the number of methods in the profile.
    fn jit(&self, methods: usize) -> Result<Option<JitCode>, ReadError> {
        let (Some(compiled), Some(inlined)) = (&self.compiled, &self.inlined) else {
            return Ok(None);
        };
        let method = |index: u64| {
            let index = narrow(index)?;
            if index as usize >= methods {
                return Err(ReadError::Damaged("a method is missing"));
            }
            Ok(index)
        };
        let compiled: Message<'_, 5> = Message::read(compiled)?;
        let compiled = compiled.rows(1).map(|row| {
            let [of, compilations, discarded, code_bytes, size] = row?;
            Ok(JitMethod {
                method: method(of)?,
                compilations,
                discarded,
                code_bytes,
                size,
            })
        });
        let inlined: Message<'_, 4> = Message::read(inlined)?;
        let inlined = inlined.rows(1).map(|row| {
            let [into, of, depth, calls] = row?;
            Ok(InlinedMethod {
                into: method(into)?,
                method: method(of)?,
                depth: narrow(depth)?,
                calls,
            })
        });
        Ok(Some(JitCode {
            methods: compiled.collect::<Result<_, ReadError>>()?,
            inlined: inlined.collect::<Result<_, ReadError>>()?,
        }))
    }
}

fn methods(strings: &Strings, bytes: &[u8]) -> Result<Vec<Method>, ReadError> {
    let mut columns: Message<'_, 7> = Message::read(bytes)?;
    // The column is absent if each class was in one loader.
    let mut loaders = std::mem::take(&mut columns.columns[6]);
    let has_loaders = !loaders.is_empty();
    let columns = Message {
        numbers: [0; 6],
        columns: *columns
            .columns
            .first_chunk()
            .expect("there are seven columns"),
    };
    let method = |row: Result<[u64; 6], ReadError>| {
        let [loader, class, name, descriptor, file, line] = row?;
        let loaders = if has_loaders {
            narrow(varint(&mut loaders)?)?
        } else {
            1
        };
        Ok(Method {
            loader: strings.get(loader)?,
            class: strings.get(class)?,
            name: strings.get(name)?,
            descriptor: strings.get(descriptor)?,
            file: file
                .checked_sub(1)
                .map(|file| strings.get(file))
                .transpose()?,
            line: line.checked_sub(1).map(narrow).transpose()?,
            loaders,
            is_native: false,
        })
    };
    columns.rows(1).map(method).collect()
}

/// Reads the calls that were counted without their callers. `methods` is the
/// number of methods in the profile.
fn method_calls(bytes: &[u8], methods: usize) -> Result<Vec<MethodCalls>, ReadError> {
    let message: Message<'_, 2> = Message::read(bytes)?;
    // These columns are written only if a method lost probes while the program ran.
    let with_since: Message<'_, 3> = Message::read(bytes)?;
    let with_until: Message<'_, 4> = Message::read(bytes)?;
    let mut since = with_since.rows(3);
    let mut until = with_until.rows(4);
    let mut is_counted = vec![false; methods];
    let counted = |row: Result<[u64; 2], ReadError>| {
        let [method, calls] = row?;
        let method = narrow(method)?;
        match is_counted.get_mut(method as usize) {
            Some(known) if !*known => *known = true,
            Some(_) => return Err(ReadError::Damaged("a method is counted twice")),
            None => return Err(ReadError::Damaged("a method is missing")),
        }
        let since = since.next().transpose()?;
        let until = until.next().transpose()?;
        Ok(MethodCalls {
            method,
            calls,
            since_ns: since.and_then(|[.., since]| since.checked_sub(1)),
            until_ns: until.and_then(|[.., until]| until.checked_sub(1)),
        })
    };
    message.rows(1).map(counted).collect()
}

/// Reads ranges of durations. `methods` is the number of methods in the profile.
fn latencies(bytes: &[u8], methods: usize) -> Result<Vec<LatencyRange>, ReadError> {
    let message: Message<'_, 3> = Message::read(bytes)?;
    let mut sums = LatencySums::default();
    for row in message.rows(1) {
        let [method, range, calls] = row?;
        if method >= methods as u64 {
            return Err(ReadError::Damaged("a method is missing"));
        }
        let method = narrow(method)?;
        let range = u16::try_from(range).ok();
        let range = range.filter(|range| *range < LatencyRange::COUNT);
        let range = range.ok_or(ReadError::Damaged("an unknown range of durations"))?;
        sums.add(LatencyRange {
            method,
            range,
            calls,
        });
    }
    Ok(sums.finish())
}

fn thread(strings: &Strings, bytes: &[u8], methods: usize) -> Result<ThreadTree, ReadError> {
    let message: Message<'_, 11> = Message::read(bytes)?;
    let [name, id, kind, ..] = message.numbers;
    // Columns that older files lack are read apart: `rows` fails if columns have different lengths.
    let with_cpu: Message<'_, 14> = Message::read(bytes)?;
    let [.., cpu] = with_cpu.numbers;
    // Older files have no ticks.
    let with_ticks: Message<'_, 13> = Message::read(bytes)?;
    let mut ticks = with_ticks.rows(12).peekable();
    let has_ticks = ticks.peek().is_some();
    // Only sampled profiles have waiting times.
    let with_waiting: Message<'_, 19> = Message::read(bytes)?;
    let mut waiting = with_waiting.rows(15).peekable();
    let has_waiting = waiting.peek().is_some();
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
        let waiting = match waiting.next().transpose()? {
            Some([.., monitor, parked, sleeping, io, other]) => {
                Waiting::of_parts([monitor, parked, sleeping, io, other])
            }
            None if has_waiting => return Err(ReadError::Damaged("waiting times are missing")),
            None => Waiting::default(),
        };
        if method >= methods as u64 {
            return Err(ReadError::Damaged("a method is missing"));
        }
        let is_variance = |variance: f64| variance.is_finite() && variance >= 0.0;
        if !is_variance(variance) || !is_variance(ticked_variance) {
            return Err(ReadError::Damaged("a variance is invalid"));
        }
        Ok(Node {
            parent: parent(at, distance)?,
            method: narrow(method)?,
            line: None,
            calls,
            timed,
            all_ns,
            outermost_ns,
            child_ns,
            variance,
            ticked_ns,
            ticked_variance,
            waiting,
        })
    };
    Ok(ThreadTree {
        name: strings.get(name)?,
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::format::pprof::protobuf::Writer;

    /// Returns a small profile, followed by a field of `len` bytes.
    fn file(field: u32, len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        super::super::write(&Profile::default(), &mut bytes)
            .expect("writing to memory cannot fail");
        let mut more = Writer::default();
        more.text(field, &vec![b'x'; len]);
        // A gzip file may have several parts, which are read as one.
        let mut gzip = GzEncoder::new(bytes, Compression::fast());
        gzip.write_all(&more.bytes)
            .expect("writing to memory cannot fail");
        gzip.finish().expect("writing to memory cannot fail")
    }

    #[test]
    fn the_first_bytes_show_whether_a_file_can_be_a_profile() {
        let packed = file(fields::SAMPLE, 1);
        let mut plain = Vec::new();
        let mut gzip = MultiGzDecoder::new(&packed[..]);
        gzip.read_to_end(&mut plain)
            .expect("the file is compressed");
        for profile in [&packed, &plain] {
            assert!(can_begin(&profile[..16]), "{profile:?}");
        }
        for other in [&b""[..], &[0; 16], b"{\"a\": 1}", b"<!doctype html>"] {
            assert!(!can_begin(other), "{other:?}");
        }
    }

    #[test]
    fn packed_zeros_are_no_profile() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&[0; 1000])
            .expect("writing to memory cannot fail");
        let mut bytes = gzip.finish().expect("writing to memory cannot fail");
        // The damage is after the zeros. The reader stops long before it.
        bytes.truncate(bytes.len() - 4);
        let read = read_within(&bytes, 1_000);
        assert!(matches!(read, Err(ReadError::NotPprof)), "{read:?}");
    }

    #[test]
    fn foreign_fields_take_no_room() {
        const MOST: u64 = 10_000;
        for foreign in [fields::SAMPLE, fields::MAPPING, 999, 5000] {
            let read = read_within(&file(foreign, 1_000_000), MOST);
            assert_eq!(
                read.expect("the profile can be read"),
                Profile::default(),
                "{foreign}"
            );
        }
        for ours in [fields::STRING_TABLE, fields::LOADHOOK_THREAD] {
            let read = read_within(&file(ours, 1_000_000), MOST);
            assert!(matches!(read, Err(ReadError::TooLarge)), "{ours}: {read:?}");
        }
        // Very many empty fields are refused, too.
        let mut bytes = Writer::default();
        for _ in 0..1_000 {
            bytes.text(fields::STRING_TABLE, b"");
        }
        let read = read_within(&bytes.bytes, MOST);
        assert!(matches!(read, Err(ReadError::TooLarge)), "{read:?}");
    }
}
