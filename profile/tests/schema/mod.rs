//! A decoder of the public pprof schema that shares no code with Loadhook's. It knows only the
//! field numbers of `profile.proto`.

#![allow(dead_code)]

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) sample_types: Vec<(String, String)>,
    pub(crate) samples: Vec<Sample>,
    /// Names of the functions by id, as tools show them.
    pub(crate) names: Vec<String>,
    pub(crate) time_nanos: i64,
    pub(crate) duration_nanos: i64,
    pub(crate) period_type: (String, String),
    pub(crate) comments: Vec<String>,
    pub(crate) default_sample_type: String,
    /// The file of the first mapping, which tools show as the program.
    pub(crate) program: String,
}

#[derive(Debug)]
pub(crate) struct Sample {
    /// System name, file and line of each frame, the innermost frame first.
    pub(crate) stack: Vec<(String, String, i64)>,
    pub(crate) values: Vec<i64>,
    pub(crate) labels: BTreeMap<String, Label>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Label {
    Text(String),
    Number(i64),
}

enum Raw<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in 0.. {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << (7 * shift);
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// Returns all fields of a message: the field's number, its value, and the range of its bytes.
fn fields(bytes: &[u8]) -> Vec<(u64, Raw<'_>, std::ops::Range<usize>)> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let tag = varint(bytes, &mut at);
        let raw = match tag & 7 {
            0 => Raw::Number(varint(bytes, &mut at)),
            2 => {
                let len = varint(bytes, &mut at) as usize;
                at += len;
                Raw::Bytes(&bytes[at - len..at])
            }
            other => panic!("unknown wire type {other}"),
        };
        all.push((tag >> 3, raw, start..at));
    }
    all
}

fn messages(bytes: &[u8], field: u64) -> impl Iterator<Item = &[u8]> {
    let all = fields(bytes).into_iter();
    all.filter(move |(number, ..)| *number == field)
        .map(move |(_, raw, _)| match raw {
            Raw::Bytes(bytes) => bytes,
            Raw::Number(_) => panic!("field {field} should have bytes, but is a number"),
        })
}

/// Returns the values of a repeated number field, in packed or unpacked form.
fn numbers(bytes: &[u8], field: u64) -> Vec<u64> {
    let mut all = Vec::new();
    for (number, raw, _) in fields(bytes) {
        match raw {
            _ if number != field => {}
            Raw::Number(value) => all.push(value),
            Raw::Bytes(packed) => {
                let mut at = 0;
                while at < packed.len() {
                    all.push(varint(packed, &mut at));
                }
            }
        }
    }
    all
}

fn number(bytes: &[u8], field: u64) -> u64 {
    numbers(bytes, field).pop().unwrap_or(0)
}

impl Profile {
    pub(crate) fn decode(bytes: &[u8]) -> Profile {
        let strings: Vec<&str> = messages(bytes, 6)
            .map(|text| std::str::from_utf8(text).expect("the text is UTF-8"))
            .collect();
        assert_eq!(strings[0], "", "string 0 of a profile must be empty");
        let text = |index: u64| strings[index as usize].to_owned();
        let value_type = |bytes: &[u8]| (text(number(bytes, 1)), text(number(bytes, 2)));
        let by_id = |field| -> BTreeMap<u64, &[u8]> {
            messages(bytes, field)
                .map(|message| (number(message, 1), message))
                .collect()
        };
        let [mappings, locations, functions] = [3, 4, 5].map(by_id);
        let frame = |id: u64| {
            let location = locations[&id];
            assert!(mappings.contains_key(&number(location, 2)));
            let line = messages(location, 4)
                .next()
                .expect("the location has a line");
            let function = functions[&number(line, 1)];
            // The file has the locations of methods first, and then those of lines.
            if id <= functions.len() as u64 {
                assert_eq!(number(function, 5), number(line, 2));
            }
            (
                text(number(function, 3)),
                text(number(function, 4)),
                number(line, 2) as i64,
            )
        };
        let label = |bytes: &[u8]| {
            let value = match number(bytes, 2) {
                0 => Label::Number(number(bytes, 3) as i64),
                index => Label::Text(text(index)),
            };
            (text(number(bytes, 1)), value)
        };
        let sample = |bytes: &[u8]| Sample {
            stack: numbers(bytes, 1).into_iter().map(frame).collect(),
            values: numbers(bytes, 2)
                .into_iter()
                .map(|value| value as i64)
                .collect(),
            labels: messages(bytes, 3).map(label).collect(),
        };
        Profile {
            sample_types: messages(bytes, 1).map(value_type).collect(),
            samples: messages(bytes, 2).map(sample).collect(),
            names: functions
                .values()
                .map(|function| text(number(function, 2)))
                .collect(),
            time_nanos: number(bytes, 9) as i64,
            duration_nanos: number(bytes, 10) as i64,
            period_type: messages(bytes, 11)
                .map(value_type)
                .last()
                .unwrap_or_default(),
            comments: numbers(bytes, 13).into_iter().map(text).collect(),
            default_sample_type: text(number(bytes, 14)),
            program: messages(bytes, 3)
                .map(|mapping| text(number(mapping, 5)))
                .next()
                .unwrap_or_default(),
        }
    }
}

/// Removes the fields of `Profile` that are not in the public schema.
pub(crate) fn drop_unknown(bytes: &mut Vec<u8>) {
    let kept = fields(bytes)
        .into_iter()
        .filter(|(number, ..)| *number <= 15);
    *bytes = kept.flat_map(|(.., range)| bytes[range].to_vec()).collect();
}
