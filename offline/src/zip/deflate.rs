//! Packs and unpacks. Small contents are handled as a whole. Each thread keeps its compressor,
//! because making a compressor takes longer than packing a small class. Contents that are too large
//! for memory are handled piece by piece.

use std::cell::RefCell;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::copy::copy;

/// The level that the JDK's `jar` uses.
const LEVEL: i32 = 6;

thread_local! {
    static PACKER: RefCell<Compressor> =
        RefCell::new(Compressor::new(CompressionLvl::new(LEVEL).expect("the level is valid")));
    static UNPACKER: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

pub(super) fn pack(content: &[u8]) -> Vec<u8> {
    PACKER.with_borrow_mut(|packer| {
        let mut packed = vec![0; packer.deflate_compress_bound(content.len())];
        let len = packer
            .deflate_compress(content, &mut packed)
            .expect("the buffer has the maximum size");
        packed.truncate(len);
        packed
    })
}

/// Unpacks `packed`; `None` if the result does not have exactly `size` bytes.
pub(super) fn unpack(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    UNPACKER.with_borrow_mut(|unpacker| {
        let mut content = vec![0; size];
        let len = unpacker.deflate_decompress(packed, &mut content).ok()?;
        (len == size).then_some(content)
    })
}

/// Packs the content of `from` into `to`.
pub(super) fn pack_all(from: impl Read, to: impl Write) -> io::Result<()> {
    let mut packer = DeflateEncoder::new(to, Compression::new(LEVEL as u32));
    copy(from, &mut packer)?;
    packer.finish()?.flush()
}

/// Returns a reader that unpacks `packed` while it is read. The content may be endless.
pub(super) fn unpacking(packed: impl Read) -> impl Read {
    DeflateDecoder::new_with_buf(packed, vec![0; 1 << 18])
}

pub(super) fn checksum(content: &[u8]) -> u32 {
    libdeflater::crc32(content)
}
