//! The reasons why a file cannot be read as a profile of Loadhook.

use std::io;

use thiserror::Error;

use super::protobuf::{Malformed, StreamError};

/// The reason why a file is not a profile of Loadhook.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is empty.
    #[error("the file is empty; wait until the JVM has ended, or profile again")]
    Empty,
    /// The gzip data ends too early.
    #[error("the file is cut off (its gzip data is not complete); copy it again, or profile again")]
    Cut,
    /// The gzip data is damaged.
    #[error("damaged gzip data; copy the file again, or profile again")]
    Gzip(#[source] io::Error),
    /// The profile takes more than 1 GiB.
    #[error("the profile takes more than 1 GiB unpacked; profile again with a lower --max-nodes")]
    TooLarge,
    /// The bytes are no protobuf.
    #[error("not a profile; loadhook report reads the .pb.gz files that loadhook run writes")]
    NotPprof,
    /// A pprof file of another origin; the text lists its sample types.
    #[error("a pprof file, but not Loadhook's (it holds {0}); `go tool pprof` can show it")]
    Foreign(String),
    /// A profile of Loadhook without Loadhook's own fields.
    #[error(
        "another tool has rewritten this profile and dropped the fields that Loadhook needs; use the original file"
    )]
    Rewritten,
    /// Several profiles of Loadhook, one behind the other.
    #[error(
        "several profiles in one file; give each one as a file of its own, and add them by --merge"
    )]
    Several,
    /// A profile of Loadhook that contradicts itself.
    #[error("damaged profile: {0}; copy the file again, or profile again")]
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
