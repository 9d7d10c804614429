//! Merges the notes of several profiles.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::Profile;
use loadhook_text::clipped;
use loadhook_text::units::count;

/// The maximum width of the command in front of a note, in columns.
const COMMAND: usize = 40;

/// Merges the notes of several processes. A note of several processes appears once. If it begins with a number that
/// is followed by one of the words in [`COUNTED`], the numbers are added up. A note with a number of bytes, or about the
/// budget, gets the name of its process.
pub(crate) fn of_runs(profiles: &[&Profile]) -> Vec<String> {
    let owners = owners(profiles);
    let mut notes: Vec<(Option<u64>, String)> = Vec::new();
    let mut known: HashMap<(bool, String), usize> = HashMap::new();
    for (profile, owner) in profiles.iter().zip(owners) {
        for note in &profile.header.notes {
            let (number, text) = match counted(note) {
                Some((number, text)) => (Some(number), text.to_owned()),
                None if has_bytes(note) || note.starts_with(BUDGET) => {
                    (None, format!("{owner}: {note}"))
                }
                None => (None, note.clone()),
            };
            match known.entry((number.is_some(), text.clone())) {
                Entry::Vacant(place) => {
                    place.insert(notes.len());
                    notes.push((number, text));
                }
                Entry::Occupied(place) => {
                    let sum = &mut notes[*place.get()].0;
                    *sum = sum
                        .zip(number)
                        .map(|(sum, number)| sum.saturating_add(number));
                }
            }
        }
    }
    let told = |(number, text)| match number {
        Some(number) => format!("{} {text}", count(number)),
        None => text,
    };
    notes.into_iter().map(told).collect()
}

/// The beginning of the notes about the budget. They have numbers and times of one process.
const BUDGET: &str = "--budget ";

/// The words after numbers that are added up: the processes have different objects, samples and waits. Other numbers are not
/// added up. For example, each process leaves the same methods without probes, so a sum would count them repeatedly.
const COUNTED: [&str; 5] = [
    "allocations ",
    "objects ",
    "of the objects ",
    "samples ",
    "waits ",
];

/// Splits a note into the number at its beginning and the rest: `1,234 objects were not followed`.
fn counted(note: &str) -> Option<(u64, &str)> {
    let (number, text) = note.split_once(' ')?;
    let is_counted = COUNTED.iter().any(|what| text.starts_with(what));
    let number = number.replace(',', "").parse().ok()?;
    is_counted.then_some((number, text))
}

/// Returns whether a note contains a number of bytes, as [`bytes`](loadhook_text::bytes) writes it.
fn has_bytes(note: &str) -> bool {
    let words: Vec<&str> = note.split([' ', ')']).collect();
    words.windows(2).any(|pair| {
        pair[0].ends_with(|last: char| last.is_ascii_digit())
            && ["bytes", "KB", "MB", "GB"].contains(&pair[1])
    })
}

/// Returns the command of each profile, in their order. Equal commands get numbers.
fn owners(profiles: &[&Profile]) -> Vec<String> {
    let command = |profile: &&Profile| match profile.header.command.as_str() {
        "" => "profile".to_owned(),
        command => clipped(command, COMMAND),
    };
    let commands: Vec<String> = profiles.iter().map(command).collect();
    let mut met: HashMap<&str, usize> = HashMap::new();
    let named = commands.iter().map(|command| {
        let number = met.entry(command).or_default();
        *number += 1;
        match commands.iter().filter(|other| *other == command).count() {
            1 => command.to_owned(),
            _ => format!("{command} #{number}"),
        }
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    fn profile(command: &str, notes: &[&str]) -> Profile {
        Profile {
            header: Header {
                command: command.to_owned(),
                notes: notes.iter().map(|note| (*note).to_owned()).collect(),
                ..Header::default()
            },
            ..Profile::default()
        }
    }

    fn merged(profiles: &[Profile]) -> Vec<String> {
        let both = crate::merge(profiles).expect("the profiles can be merged");
        both.header.notes
    }

    #[test]
    fn numbers_add_up_and_what_is_the_same_is_said_once() {
        let plain = "virtual threads have no CPU clock, so their calls are counted but not timed";
        let one = [
            plain,
            "677 of the objects were made by the JVM itself",
            "a.A2.run()V: native",
            "7 more methods were not instrumented; they are not listed",
            "5 waits for locks are left out, because threads waited at too many different places",
        ];
        let other = [
            "1,677 of the objects were made by the JVM itself",
            "5 objects were not followed, since the table of objects was full",
            "a.A2.run()V: native",
            plain,
            "5 waits for locks are left out, because threads waited at too many different places",
            "7 more methods were not instrumented; they are not listed",
        ];
        let expected = [
            plain,
            "2,354 of the objects were made by the JVM itself",
            "a.A2.run()V: native",
            "7 more methods were not instrumented; they are not listed",
            "10 waits for locks are left out, because threads waited at too many different places",
            "5 objects were not followed, since the table of objects was full",
        ];
        let both = [profile("A", &one), profile("B", &other)];
        assert_eq!(merged(&both), expected);
    }

    #[test]
    fn bytes_are_those_of_a_process() {
        let growing = "growing: 1.7 MB (± 97.4 KB) more of int[] alive than at the first snapshot";
        let twice = [profile("Main x", &[growing]), profile("Main x", &[growing])];
        let expected = [1, 2].map(|number| format!("Main x #{number}: {growing}"));
        assert_eq!(merged(&twice), expected);
        let two = [profile("", &[growing]), profile("Main y", &[growing])];
        let expected = ["profile", "Main y"].map(|owner| format!("{owner}: {growing}"));
        assert_eq!(merged(&two), expected);
        assert_eq!(merged(&two[..1]), [growing]);
    }

    #[test]
    fn a_budget_is_that_of_a_process() {
        let note = "--budget 25 %: 4 of 7 methods are only counted by now";
        let two = [profile("Main x", &[note]), profile("Main y", &[note])];
        let expected = ["Main x", "Main y"].map(|owner| format!("{owner}: {note}"));
        assert_eq!(merged(&two), expected);
    }
}
