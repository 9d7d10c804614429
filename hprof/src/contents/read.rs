//! Reads a file in either format.

use std::io::{self, BufReader, Read};

use super::check::warnings;
use super::error::ContentsError;
use super::model::{Contents, Format, Section};
use super::{binary, text};
use crate::error::{Error, ErrorKind};
use crate::text::{OLD_HEADER, OldCall};

/// The contents of a file as far as it could be read, and the fault that ended the reading.
#[derive(Debug)]
pub struct ReadContents {
    /// The part before the fault, or everything.
    pub contents: Contents,
    /// The fault, if the file has one.
    pub error: Option<ContentsError>,
}

/// The bytes by which the text format is distinguished from the binary one.
const TEXT: &[u8] = b"JAVA PROFILE 1.0.1, created ";

impl Contents {
    /// Reads a file in either format. A binary file may be compressed by gzip.
    pub fn read(mut source: impl Read) -> ReadContents {
        let mut head = Vec::new();
        let read = (&mut source).take(TEXT.len() as u64).read_to_end(&mut head);
        if let Err(error) = read {
            return ReadContents {
                contents: Contents::default(),
                error: Some(unreadable(error)),
            };
        }
        let is_text = head == TEXT;
        let is_old = head.starts_with(OLD_HEADER.as_bytes());
        let source = io::Cursor::new(head).chain(source);
        let (mut contents, error) = if is_text {
            text::read(source)
        } else if is_old {
            read_old(source)
        } else {
            binary::read(source)
        };
        contents.warnings = warnings(&contents);
        ReadContents { contents, error }
    }
}

fn read_old(source: impl Read) -> (Contents, Option<ContentsError>) {
    let mut rows = Vec::new();
    let error = OldCall::read(BufReader::new(source), &mut rows).err();
    let contents = Contents {
        format: Format::Old,
        sections: vec![Section::Old(rows)],
        ..Contents::default()
    };
    (contents, error.map(ContentsError::Text))
}

fn unreadable(error: io::Error) -> ContentsError {
    let kind = ErrorKind::Io(error);
    ContentsError::Binary(Error { kind, at: 0 })
}
