//! Words of options that name formats, measures and orders.

use std::fmt;
use std::str::FromStr;

use super::output::Format;
use crate::analysis::measure::Measure;
use crate::analysis::options::Sort;

/// The error for a word that names none of the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    word: String,
    choices: Vec<&'static str>,
}

impl FromStr for Measure {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Measure, UnknownWord> {
        choose(word, &Measure::ALL, Measure::as_str)
    }
}

impl FromStr for Format {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Format, UnknownWord> {
        choose(word, &Format::ALL, Format::as_str)
    }
}

impl FromStr for Sort {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Sort, UnknownWord> {
        match word {
            "bytes" => Ok(Sort::SelfTime),
            "objects" => Ok(Sort::Calls),
            _ => choose(word, &Sort::ALL, Sort::as_str).map_err(|mut unknown| {
                unknown.choices.extend(["bytes", "objects"]);
                unknown
            }),
        }
    }
}

fn choose<T: Copy>(word: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T, UnknownWord> {
    let found = all.iter().find(|choice| as_str(**choice) == word);
    found.copied().ok_or_else(|| UnknownWord {
        word: word.to_owned(),
        choices: all.iter().map(|choice| as_str(*choice)).collect(),
    })
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices = self.choices.join(", ");
        write!(f, "unknown word `{}`; expected one of {choices}", self.word)
    }
}

impl std::error::Error for UnknownWord {}
