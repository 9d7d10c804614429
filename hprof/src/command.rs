//! The commands of HPROF's socket protocol. The program that receives the agent's stream sends them to the agent.

use std::io::{self, Read};

/// The longest content of a command in bytes. HPROF's commands have at most 10.
const LONGEST: u32 = 64;

/// Tags of commands.
mod tag {
    pub(super) const COLLECT: u8 = 0x01;
    pub(super) const DUMP_HEAP: u8 = 0x02;
    pub(super) const ALLOC_SITES: u8 = 0x03;
    pub(super) const HEAP_SUMMARY: u8 = 0x04;
    pub(super) const EXIT: u8 = 0x05;
    pub(super) const DUMP_TRACES: u8 = 0x06;
    pub(super) const CPU_SAMPLES: u8 = 0x07;
    pub(super) const CONTROL: u8 = 0x08;
    pub(super) const END: u8 = 0xff;
}

/// The flag of [`Command::AllocSites`] that asks for a garbage collection before the sites are
/// sent.
pub const COLLECT_FIRST: u16 = 4;

/// A command to the agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Collect garbage.
    Collect,
    /// Send a heap dump.
    DumpHeap,
    /// Send the allocation sites.
    AllocSites {
        /// Bits: 1 for only the changes since the last record, 2 to order the sites by allocated bytes,
        /// [`COLLECT_FIRST`].
        flags: u16,
        /// The smallest share of all bytes, from 0 to 1, of a site that is sent.
        cutoff: f32,
    },
    /// Send the sizes of the heap.
    HeapSummary,
    /// End the program.
    Exit,
    /// Send the traces.
    DumpTraces,
    /// Send the samples.
    CpuSamples {
        /// The smallest share of all samples, from 0 to 1, of a trace that is sent.
        cutoff: f32,
    },
    /// Start (true) or stop (false) recording traces of allocations.
    AllocationTraces(bool),
    /// Start (true) or stop (false) sampling a thread. The thread is given by the identifier of its object; 0
    /// stands for all threads.
    Sampling(bool, u64),
    /// The sender sends no further command.
    End,
}

/// A command as it was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Received {
    /// A command of the protocol.
    Command(Command),
    /// A command whose tag is unknown, or whose content does not fit its tag. The next command can still be read.
    Unknown {
        /// The tag.
        tag: u8,
    },
    /// A command that is longer than any command of HPROF. The beginning of the next command is unknown, so
    /// reading must end.
    TooLong {
        /// Length of the command's content in bytes.
        length: u32,
    },
}

impl Command {
    /// Reads a command; returns `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// Fails if `input` cannot be read, or if it ends within a command.
    pub fn read(mut input: impl Read) -> io::Result<Option<Received>> {
        let mut tag = [0];
        loop {
            match input.read(&mut tag) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let [tag] = tag;
        if tag == tag::END {
            return Ok(Some(Received::Command(Command::End)));
        }
        let mut head = [0; 8];
        input.read_exact(&mut head)?;
        let [_, _, _, _, length @ ..] = head;
        let length = u32::from_be_bytes(length);
        if length > LONGEST {
            return Ok(Some(Received::TooLong { length }));
        }
        let mut content = vec![0; length as usize];
        input.read_exact(&mut content)?;
        let command = Command::parse(tag, &content);
        Ok(Some(
            command.map_or(Received::Unknown { tag }, Received::Command),
        ))
    }

    fn parse(tag: u8, content: &[u8]) -> Option<Command> {
        Some(match tag {
            tag::COLLECT => Command::Collect,
            tag::DUMP_HEAP => Command::DumpHeap,
            tag::ALLOC_SITES => Command::AllocSites {
                flags: crate::number(content.get(..2)?) as u16,
                cutoff: cutoff(content)?,
            },
            tag::HEAP_SUMMARY => Command::HeapSummary,
            tag::EXIT => Command::Exit,
            tag::DUMP_TRACES => Command::DumpTraces,
            tag::CPU_SAMPLES => Command::CpuSamples {
                cutoff: cutoff(content)?,
            },
            tag::CONTROL => {
                let (what, thread) = content.split_at_checked(2)?;
                let thread = if thread.len() <= 8 {
                    crate::number(thread)
                } else {
                    return None;
                };
                match crate::number(what) {
                    1 => Command::AllocationTraces(true),
                    2 => Command::AllocationTraces(false),
                    3 => Command::Sampling(true, thread),
                    4 => Command::Sampling(false, thread),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Returns the bytes of the command. `serial` is the command's number; HPROF does not use it in its answers.
    /// Identifiers have 8 bytes.
    #[must_use]
    pub fn bytes(&self, serial: u32) -> Vec<u8> {
        let (tag, content): (u8, Vec<u8>) = match self {
            Command::Collect => (tag::COLLECT, Vec::new()),
            Command::DumpHeap => (tag::DUMP_HEAP, Vec::new()),
            Command::AllocSites { flags, cutoff } => (
                tag::ALLOC_SITES,
                [&flags.to_be_bytes()[..], &cutoff.to_be_bytes()].concat(),
            ),
            Command::HeapSummary => (tag::HEAP_SUMMARY, Vec::new()),
            Command::Exit => (tag::EXIT, Vec::new()),
            Command::DumpTraces => (tag::DUMP_TRACES, Vec::new()),
            // The first two bytes are flags without a meaning.
            Command::CpuSamples { cutoff } => (
                tag::CPU_SAMPLES,
                [&[0, 0][..], &cutoff.to_be_bytes()].concat(),
            ),
            Command::AllocationTraces(is_on) => (tag::CONTROL, vec![0, if *is_on { 1 } else { 2 }]),
            Command::Sampling(is_on, thread) => (
                tag::CONTROL,
                [&[0, if *is_on { 3 } else { 4 }][..], &thread.to_be_bytes()].concat(),
            ),
            Command::End => return vec![tag::END],
        };
        let length = content.len() as u32;
        let mut bytes = vec![tag];
        bytes.extend(serial.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(content);
        bytes
    }
}

/// Returns the share at the end of a command's content; `None` if that number is not between 0 and 1.
fn cutoff(content: &[u8]) -> Option<f32> {
    let bytes = content.get(2..)?.try_into().ok()?;
    Some(f32::from_be_bytes(bytes)).filter(|share| (0.0..=1.0).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Command; 10] = [
        Command::Collect,
        Command::DumpHeap,
        Command::AllocSites {
            flags: COLLECT_FIRST,
            cutoff: 0.5,
        },
        Command::HeapSummary,
        Command::Exit,
        Command::DumpTraces,
        Command::CpuSamples { cutoff: 0.25 },
        Command::AllocationTraces(false),
        Command::Sampling(true, 77),
        Command::End,
    ];

    #[test]
    fn written_commands_are_read_again() {
        let bytes: Vec<u8> = ALL.iter().flat_map(|command| command.bytes(9)).collect();
        let mut rest = &bytes[..];
        for command in ALL {
            let read = Command::read(&mut rest).expect("the input is whole");
            assert_eq!(read, Some(Received::Command(command)));
        }
        assert!(matches!(Command::read(rest), Ok(None)));
        assert!(Command::read(&bytes[..5]).is_err(), "it is cut off");
    }

    #[test]
    fn garbage_is_no_command() {
        let read = |bytes: &[u8]| Command::read(bytes).expect("the input is whole");
        let unknown = |tag| Some(Received::Unknown { tag });
        for (bytes, expected) in [
            (&[0x47, 0, 0, 0, 1, 0, 0, 0, 0][..], unknown(0x47)),
            // In order: too short, a share above 1, an unknown tag.
            (&[3, 0, 0, 0, 1, 0, 0, 0, 1, 0], unknown(3)),
            (
                &[7, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0x7f, 0, 0, 0],
                unknown(7),
            ),
            (&[8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9], unknown(8)),
            (
                b"GET / HTTP/1.1",
                Some(Received::TooLong {
                    length: u32::from_be_bytes(*b" HTT"),
                }),
            ),
        ] {
            assert_eq!(read(bytes), expected, "{bytes:?}");
        }
    }
}
