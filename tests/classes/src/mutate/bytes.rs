//! Mutations of the bytes of a class file, regardless of their meaning.

use super::random::Random;

pub(super) fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

pub(super) fn havoc(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(8) {
        let at = random.below(bytes.len());
        let value = random.u2().to_be_bytes();
        if let Some(place) = bytes.get_mut(at..at + 2) {
            place.copy_from_slice(&value);
        }
    }
}

pub(super) fn truncate(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = random.below(bytes.len());
    bytes.truncate(length);
}

pub(super) fn insert(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    for _ in 0..1 + random.below(4) {
        bytes.insert(at, random.u1());
    }
}

pub(super) fn remove(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(4)).min(bytes.len());
    bytes.drain(at..end);
}

/// Replaces the end of one file by the end of another.
pub(super) fn splice(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    bytes.truncate(random.below(bytes.len()));
    let from = match random.one_in(2) {
        true => bytes.len().min(other.len()),
        false => random.below(other.len()),
    };
    bytes.extend_from_slice(&other[from..]);
}
