//! Packing and unpacking: whole contents at a time, with a state a thread,
//! since making one takes longer than packing a small class; and what is too
//! large for memory piece by piece.

use std::cell::RefCell;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::content::copy;

/// What the JDK's own `jar` uses.
const LEVEL: i32 = 6;

thread_local! {
    static PACKER: RefCell<Compressor> =
        RefCell::new(Compressor::new(CompressionLvl::new(LEVEL).expect("a level there is")));
    static UNPACKER: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

pub(super) fn pack(content: &[u8]) -> Vec<u8> {
    PACKER.with_borrow_mut(|packer| {
        let mut packed = vec![0; packer.deflate_compress_bound(content.len())];
        let len = packer
            .deflate_compress(content, &mut packed)
            .expect("the bound holds");
        packed.truncate(len);
        packed
    })
}

/// The content, if it is of exactly `size` bytes.
pub(super) fn unpack(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    UNPACKER.with_borrow_mut(|unpacker| {
        let mut content = vec![0; size];
        let len = unpacker.deflate_decompress(packed, &mut content).ok()?;
        (len == size).then_some(content)
    })
}

/// Packs what is read from `from`.
pub(super) fn pack_all(from: impl Read, to: impl Write) -> io::Result<()> {
    let mut packer = DeflateEncoder::new(to, Compression::new(LEVEL as u32));
    copy(from, &mut packer)?;
    packer.finish()?.flush()
}

/// Reads what `packed` unpacks to, which may never end.
pub(super) fn unpacking(packed: impl Read) -> impl Read {
    DeflateDecoder::new_with_buf(packed, vec![0; 1 << 18])
}

pub(super) fn checksum(content: &[u8]) -> u32 {
    libdeflater::crc32(content)
}
