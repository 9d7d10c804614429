//! Prints the content of a pprof file as text that does not depend on the order of fields and
//! strings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use loadhook_profile::Header;
use loadhook_profile::format::pprof;

/// The value of a field.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message by their numbers. The values of a number are in the order of the file.
struct Message<'a>(BTreeMap<u64, Vec<Value<'a>>>);

impl<'a> Message<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Message<'a>> {
        let mut fields: BTreeMap<u64, Vec<Value<'a>>> = BTreeMap::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let tag = varint(&mut rest)?;
            let value = match tag & 7 {
                0 => Value::Number(varint(&mut rest)?),
                2 => {
                    let len = usize::try_from(varint(&mut rest)?)?;
                    let (taken, behind) =
                        rest.split_at_checked(len).context("the field is cut off")?;
                    rest = behind;
                    Value::Bytes(taken)
                }
                kind => bail!("unknown wire type {kind}"),
            };
            fields.entry(tag >> 3).or_default().push(value);
        }
        Ok(Message(fields))
    }

    fn bytes(&self, field: u64) -> impl Iterator<Item = &'a [u8]> {
        let values = self.0.get(&field).into_iter().flatten();
        values.filter_map(|value| match *value {
            Value::Bytes(bytes) => Some(bytes),
            Value::Number(_) => None,
        })
    }

    fn messages(&self, field: u64) -> Result<Vec<Message<'a>>> {
        self.bytes(field).map(Message::parse).collect()
    }

    /// Returns the value of a number field; 0 if the field is absent.
    fn number(&self, field: u64) -> u64 {
        match self.0.get(&field).and_then(|values| values.first()) {
            Some(Value::Number(number)) => *number,
            _ => 0,
        }
    }

    /// Returns the numbers in a packed field.
    fn packed(&self, field: u64) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for mut bytes in self.bytes(field) {
            while !bytes.is_empty() {
                numbers.push(varint(&mut bytes)?);
            }
        }
        Ok(numbers)
    }
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().context("the number is cut off")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    bail!("a number has more than ten bytes")
}

/// Prints an uncompressed pprof file, with one line for each sample, method, thread and node.
pub fn dump(file: &[u8]) -> Result<String> {
    let profile = Message::parse(file)?;
    let strings: Vec<&str> = profile
        .bytes(6)
        .map(std::str::from_utf8)
        .collect::<Result<_, _>>()?;
    let text = |index: u64| -> Result<String> {
        let text = strings.get(usize::try_from(index)?);
        Ok(format!(
            "{:?}",
            text.context("the string table has no such string")?
        ))
    };
    let mut out = String::new();
    for (name, field) in [("sample_type", 1), ("period_type", 11)] {
        for value_type in profile.messages(field)? {
            let [kind, unit] = [1, 2].map(|field| text(value_type.number(field)));
            writeln!(out, "{name} {} {}", kind?, unit?)?;
        }
    }
    for (name, field) in [("time_nanos", 9), ("duration_nanos", 10), ("period", 12)] {
        writeln!(out, "{name} {}", profile.number(field))?;
    }
    writeln!(out, "default_sample_type {}", text(profile.number(14))?)?;
    for comment in profile.packed(13)? {
        writeln!(out, "comment {}", text(comment)?)?;
    }
    for mapping in profile.messages(3)? {
        let has = [7, 8, 9].map(|field| mapping.number(field));
        let file = text(mapping.number(5))?;
        writeln!(out, "mapping {} {file} has {has:?}", mapping.number(1))?;
    }
    writeln!(out, "header {:?}", header(file)?)?;
    methods(&profile, &text, &mut out)?;
    for sample in profile.messages(2)? {
        let [locations, values] = [sample.packed(1)?, sample.packed(2)?];
        write!(out, "sample {locations:?} {values:?}")?;
        for label in sample.messages(3)? {
            let key = text(label.number(1))?;
            let [value, unit] = [text(label.number(2))?, text(label.number(4))?];
            write!(out, " {key}: {value} {} {unit}", label.number(3))?;
        }
        out.push('\n');
    }
    for thread in profile.messages(1002)? {
        let name = text(thread.number(1))?;
        let [id, kind, cpu] = [2, 3, 14].map(|field| thread.number(field));
        writeln!(out, "thread {name} id {id} kind {kind} cpu {cpu}")?;
        let columns: Vec<Vec<u64>> = (4..14)
            .map(|field| thread.packed(field))
            .collect::<Result<_>>()?;
        for row in 0..columns[0].len() {
            let row: Vec<u64> = columns.iter().map(|column| column[row]).collect();
            writeln!(out, "node {row:?}")?;
        }
    }
    Ok(out)
}

/// Returns the profile's header, read from Loadhook's own fields.
fn header(file: &[u8]) -> Result<Header> {
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(file)?;
    Ok(pprof::read(&zipped.finish()?[..])?.header)
}

fn methods(
    profile: &Message<'_>,
    text: &dyn Fn(u64) -> Result<String>,
    out: &mut String,
) -> Result<()> {
    for function in profile.messages(5)? {
        let [name, system_name, file] = [2, 3, 4].map(|field| text(function.number(field)));
        let [id, line] = [1, 5].map(|field| function.number(field));
        let [name, system_name, file] = [name?, system_name?, file?];
        writeln!(out, "function {id} {name} {system_name} {file} {line}")?;
    }
    for location in profile.messages(4)? {
        let [id, mapping] = [1, 2].map(|field| location.number(field));
        write!(out, "location {id} mapping {mapping}")?;
        for line in location.messages(4)? {
            let [function, line] = [1, 2].map(|field| line.number(field));
            write!(out, " function {function} line {line}")?;
        }
        out.push('\n');
    }
    for columns in profile.messages(1001)? {
        for (name, field) in [("loader", 1), ("class", 2), ("name", 3), ("descriptor", 4)] {
            let texts: Vec<String> = columns
                .packed(field)?
                .into_iter()
                .map(text)
                .collect::<Result<_>>()?;
            writeln!(out, "methods' {name} {}", texts.join(" "))?;
        }
        let files = columns.packed(5)?.into_iter();
        let files: Vec<String> = files
            .map(|file| match file {
                0 => Ok("none".to_owned()),
                file => text(file - 1),
            })
            .collect::<Result<_>>()?;
        writeln!(out, "methods' file {}", files.join(" "))?;
        for (name, field) in [("line", 6), ("loaders", 7)] {
            writeln!(out, "methods' {name} {:?}", columns.packed(field)?)?;
        }
    }
    Ok(())
}
