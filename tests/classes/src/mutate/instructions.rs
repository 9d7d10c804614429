//! The part of the instruction set that is needed to find instructions and to replace them.

use super::class::{i4, u2};

/// Lengths by opcode: 0 for `tableswitch`, `lookupswitch` and `wide`, whose length varies; 9 for
/// undefined opcodes.
const LENGTHS: &[u8; 256] = &lengths();

const fn lengths() -> [u8; 256] {
    let mut lengths = [1; 256];
    // Each row has the first and the last opcode, and the length.
    let ranges = [
        (0x10, 0x10, 2), // bipush
        (0x11, 0x11, 3), // sipush
        (0x12, 0x12, 2), // ldc
        (0x13, 0x14, 3), // ldc_w, ldc2_w
        (0x15, 0x19, 2), // loads
        (0x36, 0x3a, 2), // stores
        (0x84, 0x84, 3), // iinc
        (0x99, 0xa8, 3), // ifs, goto, jsr
        (0xa9, 0xa9, 2), // ret
        (0xaa, 0xab, 0), // switches
        (0xb2, 0xb8, 3), // fields, calls
        (0xb9, 0xba, 5), // invokeinterface, invokedynamic
        (0xbb, 0xbb, 3), // new
        (0xbc, 0xbc, 2), // newarray
        (0xbd, 0xbd, 3), // anewarray
        (0xc0, 0xc1, 3), // checkcast, instanceof
        (0xc4, 0xc4, 0), // wide
        (0xc5, 0xc5, 4), // multianewarray
        (0xc6, 0xc7, 3), // ifnull, ifnonnull
        (0xc8, 0xc9, 5), // goto_w, jsr_w
        (0xca, 0xff, 9),
    ];
    let mut i = 0;
    while i < ranges.len() {
        let (from, to, length) = ranges[i];
        let mut opcode = from;
        while opcode <= to {
            lengths[opcode] = length;
            opcode += 1;
        }
        i += 1;
    }
    lengths
}

/// Groups of opcodes of equal length that have the same effect on the types and depth of locals and
/// stack.
pub(super) const ALIKE: &[&[u8]] = &[
    &[0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08],
    &[0x09, 0x0a],
    &[0x0b, 0x0c, 0x0d],
    &[0x0e, 0x0f],
    &[0x1a, 0x1b, 0x1c, 0x1d, 0x03, 0x08],
    &[0x1e, 0x1f, 0x20, 0x21, 0x09],
    &[0x22, 0x23, 0x24, 0x25, 0x0c],
    &[0x26, 0x27, 0x28, 0x29, 0x0f],
    &[0x2a, 0x2b, 0x2c, 0x2d, 0x01],
    &[0x3b, 0x3c, 0x3d, 0x3e, 0x57],
    &[0x3f, 0x40, 0x41, 0x42, 0x58],
    &[0x47, 0x48, 0x49, 0x4a, 0x58],
    &[0x4b, 0x4c, 0x4d, 0x4e, 0x57, 0xc2, 0xc3],
    &[0x57, 0xc2, 0xc3],
    &[
        0x60, 0x64, 0x68, 0x6c, 0x70, 0x78, 0x7a, 0x7c, 0x7e, 0x80, 0x82, 0x57,
    ],
    &[0x61, 0x65, 0x69, 0x6d, 0x71, 0x7f, 0x81, 0x83, 0x58],
    &[0x62, 0x66, 0x6a, 0x6e, 0x72, 0x57],
    &[0x63, 0x67, 0x6b, 0x6f, 0x73, 0x58],
    &[0x79, 0x7b, 0x7d],
    &[0x74, 0x91, 0x92, 0x93, 0x00],
    &[0x75, 0x00],
    &[0x76, 0x00],
    &[0x77, 0x00],
    &[0x33, 0x34, 0x35, 0x2e],
    &[0x4f, 0x54, 0x55, 0x56],
    &[0x95, 0x96],
    &[0x97, 0x98],
    &[0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e],
    &[0x9f, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4],
    &[0xa5, 0xa6],
    &[0xc6, 0xc7],
    &[0x5f, 0x00],
    &[0xb0, 0xbf],
    &[0xac, 0xbf],
    &[0x15, 0x17, 0x19, 0x10],
    &[0x16, 0x18],
    &[0xb6, 0xb7],
];

/// Returns sequences of opcodes that may replace an instruction. They are filled up with `nop`s,
/// and leave the stack at the same depth.
pub(super) fn shorter(opcode: u8) -> &'static [&'static [u8]] {
    match opcode {
        0x10..=0x13 => &[&[0x03], &[0x08], &[0x02], &[0x1a], &[0x01]],
        0x14 => &[&[0x09], &[0x0e], &[0x0a]],
        0x84 | 0xc0 | 0xa7 => &[&[]],
        0x99..=0x9e | 0xc6 | 0xc7 => &[&[0x57]],
        0x9f..=0xa6 => &[&[0x58], &[0x57, 0x57]],
        0xb2 => &[&[0x01], &[0x03], &[0x09], &[0x0b], &[0x0e]],
        0xb3 => &[&[0x57], &[0x58]],
        0xb4 => &[&[0x57, 0x03], &[0x57, 0x01], &[0x57, 0x09], &[]],
        0xb5 => &[&[0x58], &[0x57, 0x58]],
        0xb6..=0xb9 => &[
            &[],
            &[0x57],
            &[0x58],
            &[0x57, 0x03],
            &[0x57, 0x01],
            &[0x58, 0x01],
            &[0x57, 0x57],
        ],
        0xba => &[&[0x01], &[0x57, 0x01], &[0x58, 0x01], &[]],
        0xbc | 0xbd => &[&[0x57, 0x01]],
        0xc1 => &[&[0x57, 0x04], &[0x57, 0x03]],
        _ => &[],
    }
}

/// Returns the offsets of the instructions of `code`; `None` if it has undefined opcodes or ends
/// inside an instruction.
#[must_use]
pub fn starts(code: &[u8]) -> Option<Vec<usize>> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < code.len() {
        starts.push(at);
        at += length(code, at)?;
    }
    (at == code.len()).then_some(starts)
}

/// Returns the length of the instruction at `at`.
fn length(code: &[u8], at: usize) -> Option<usize> {
    let opcode = *code.get(at)?;
    let operands = (at + 4) & !3;
    Some(match LENGTHS[usize::from(opcode)] {
        9 => return None,
        0 if opcode == 0xc4 => match code.get(at + 1)? {
            0x84 => 6,
            0x15..=0x19 | 0x36..=0x3a | 0xa9 => 4,
            _ => return None,
        },
        0 => {
            let words = match opcode {
                0xaa => {
                    3 + i64::from(i4(code, operands + 8)?) - i64::from(i4(code, operands + 4)?) + 1
                }
                _ => 2 + 2 * i64::from(i4(code, operands + 4)?),
            };
            let least = if opcode == 0xaa { 4 } else { 2 };
            let words = usize::try_from(words)
                .ok()
                .filter(|it| (least..=16_384).contains(it))?;
            operands + 4 * words - at
        }
        length => usize::from(length),
    })
}

/// Returns whether the instruction jumps by a 16-bit offset.
pub(super) fn is_branch2(opcode: u8) -> bool {
    matches!(opcode, 0x99..=0xa8 | 0xc6 | 0xc7)
}

/// Returns whether another instruction than the following one may be executed next.
pub(super) fn ends_block(opcode: u8) -> bool {
    is_branch2(opcode) || matches!(opcode, 0xa9..=0xb1 | 0xbf | 0xc8 | 0xc9)
}

/// Returns the positions of the 32-bit jump offsets of the switch at `at`.
pub(super) fn switch_offsets(code: &[u8], at: usize) -> Vec<usize> {
    let operands = (at + 4) & !3;
    let length = length(code, at).unwrap_or(0);
    let (first, step) = match code.get(at) {
        Some(0xaa) => (operands + 12, 4),
        Some(0xab) => (operands + 12, 8),
        _ => return Vec::new(),
    };
    let cases = (first..at + length).step_by(step);
    [operands]
        .into_iter()
        .chain(cases)
        .filter(|it| it + 4 <= at + length)
        .collect()
}

/// Returns the offsets of all jump targets.
#[must_use]
pub fn targets(code: &[u8]) -> Vec<usize> {
    let mut targets = Vec::new();
    for at in starts(code).unwrap_or_default() {
        let mut push = |offset: i64| targets.extend(usize::try_from(at as i64 + offset));
        match code[at] {
            opcode if is_branch2(opcode) => push(i64::from(u2(code, at + 1).unwrap_or(0) as i16)),
            0xc8 | 0xc9 => push(i64::from(i4(code, at + 1).unwrap_or(0))),
            _ => {
                for place in switch_offsets(code, at) {
                    push(i64::from(i4(code, place).unwrap_or(0)));
                }
            }
        }
    }
    targets
}
