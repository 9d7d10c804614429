//! Tests of classes that several loaders have loaded. Formats for people show the number of
//! loaders; names that identify methods in comparisons do not contain it.

mod common;

use common::{allocations, small, text};
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::pprof::write;
use loadhook_profile::format::{Format, Options};
use loadhook_profile::{Profile, merge};

const MANY: &str = " in 227,380 loaders";

fn copied(loaders: u32) -> Profile {
    let mut profile = small();
    profile.allocations = Some(allocations());
    for method in &mut profile.methods {
        method.loaders = loaders;
    }
    profile
}

#[test]
fn tables_show_the_number_of_loaders() {
    let [one, many] = [1, 227_380].map(copied);
    let wide = Options {
        width: 200,
        ..Options::default()
    };
    for format in [Format::Table, Format::Tree] {
        let [one, many] = [&one, &many].map(|profile| text(format, profile, &wide));
        assert!(many.contains(MANY) && !one.contains(" loaders"), "{many}");
    }
    let sites = Options {
        measure: Some(loadhook_profile::Measure::Allocated),
        ..wide
    };
    let places = text(Format::Table, &many, &sites);
    assert!(places.contains(&format!("{MANY}\n")), "{places}");
    assert!(text(Format::Html, &many, &wide).contains("227380"));
    let json = text(Format::Json, &many, &wide);
    assert!(json.contains("\"loaders\":227380") || json.contains("\"loaders\": 227380"));
}

/// The number of loaders differs between the runs, and the methods are still recognised.
#[test]
fn names_to_be_compared_are_the_same() {
    let [one, many] = [1, 227_380].map(copied);
    for format in [Format::Collapsed, Format::Speedscope, Format::Chrome] {
        let [one, many] = [&one, &many].map(|profile| text(format, profile, &Options::default()));
        assert_eq!(one, many);
    }
    let mut file = Vec::new();
    write(&many, &mut file).expect("writing to memory cannot fail");
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&file[..]), &mut plain)
        .expect("the bytes are gzip data");
    assert!(!String::from_utf8_lossy(&plain).contains(" loaders"));
    let sides = [&one, &many].map(std::slice::from_ref);
    let changes = compare(sides, &Options::default())
        .expect("the profiles can be merged")
        .changes;
    assert!(
        changes
            .iter()
            .all(|change| change.before[0].calls == change.after[0].calls)
    );
}

/// Two runs never have the same loaders. So the merged profile has the larger of the two numbers,
/// not their sum.
#[test]
fn merged_profiles_have_the_most_loaders() {
    let [few, many] = [3, 5].map(copied);
    for runs in [[few.clone(), many.clone()], [many, few]] {
        let merged = merge(&runs).expect("the profiles can be merged");
        assert!(merged.methods.iter().all(|method| method.loaders == 5));
    }
}
