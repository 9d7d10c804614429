//! Tests of methods that lost their counting probes while the program ran. Samples still meet them.

use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::analysis::picture::Picture;
use loadhook_profile::format::diff::methods::write as write_diff;
use loadhook_profile::format::{Format, Options, Sort};
use loadhook_profile::{Profile, since};
use loadhook_testkit::browser::run;
use serde_json::Value;

use crate::common::{MS, pair, text};
use crate::shop::{shop, wide};

/// Returns [`shop`], in which `Cart.add` was counted only until 1.2 s.
fn lowered() -> Profile {
    let mut profile = shop();
    profile.method_calls[2].until_ns = Some(1_200 * MS);
    profile
}

/// Returns the text with single spaces, so that the ends of lines do not matter.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn table_of_lower_bounds_on_a_narrow_terminal() {
    insta::assert_snapshot!(text(Format::Table, &lowered(), &wide(80)));
}

#[test]
fn samples_have_no_mean_without_all_calls() {
    let json = |profile: &Profile| -> Value {
        let text = text(Format::Json, profile, &Options::default());
        serde_json::from_str(&text).expect("the text is JSON")
    };
    let of = |json: &Value| {
        let methods = json["methods"].as_array().expect("the JSON has methods");
        let mut methods = methods.iter();
        let add = methods.find(|method| method["method"] == "add");
        add.expect("samples met the method").clone()
    };
    let [all, part] = [shop(), lowered()].map(|profile| of(&json(&profile)));
    assert!(
        all["mean_ns"].is_u64() && all.get("counted_until_ns").is_none(),
        "{all}"
    );
    assert_eq!(part["mean_ns"], Value::Null);
    assert_eq!(part["counted_until_ns"], 1_200 * MS);
    for field in ["calls", "timed_calls", "self_ns", "total_ns", "samples"] {
        assert_eq!(part[field], all[field], "{field}");
    }
    // A tree of samples has no calls, so it has nothing to mark.
    assert_eq!(
        text(Format::Tree, &lowered(), &wide(100)),
        text(Format::Tree, &shop(), &wide(100))
    );
}

/// If the counting has ended before the part between two profiles, the calls in this part are unknown, and not 0.
#[test]
fn parts_without_counts_have_no_number() {
    let add = |picture: &Picture| {
        let mut methods = picture.methods.iter();
        let found =
            methods.find(|figures| picture.names[figures.method as usize].ends_with("Cart.add"));
        let found = found.expect("samples met the method");
        (found.calls, found.calls_are_least, found.mean_ns.is_some())
    };
    let all = 98_765_432;
    assert_eq!(add(&Picture::of(&shop())), (Some(all), false, true));
    assert_eq!(add(&Picture::of(&lowered())), (Some(all), true, false));
    let part = |millis: u64, calls: u64| {
        let mut earlier = lowered();
        earlier.header.duration_ns = millis * MS;
        earlier.method_calls[2].calls = calls;
        // The samples of the part are those of the whole profile.
        let mut part = since(&earlier, &lowered());
        part.threads = lowered().threads;
        part
    };
    assert_eq!(
        add(&Picture::of(&part(1_000, all - 5))),
        (Some(5), true, false)
    );
    let later = part(1_500, all);
    assert_eq!(add(&Picture::of(&later)), (None, true, false));
    let table = text(Format::Table, &later, &wide(80));
    let line = table.lines().find(|line| line.ends_with("Cart.add"));
    assert!(line.is_some_and(|line| line.contains(" – ")), "{table}");
    let told = words(&table);
    assert!(
        told.contains("the first method before this profile began: "),
        "{table}"
    );
}

#[test]
fn differences_of_lower_bounds_are_unknown() {
    for sort in [Sort::Calls, Sort::Mean] {
        let options = Options { sort, ..wide(110) };
        let compared =
            compare(pair(&shop(), &lowered()), &options).expect("the profiles can be compared");
        let mut out = Vec::new();
        write_diff(&compared, &options, &mut out).expect("writing to memory cannot fail");
        let table = String::from_utf8(out).expect("the text is UTF-8");
        let line = table.lines().find(|line| line.ends_with("Cart.add"));
        let line: Vec<&str> = line
            .expect("the method is compared")
            .split_whitespace()
            .collect();
        assert_eq!(line[..3], ["98,765,432", "≥98,765,432", "–"], "{table}");
        if sort == Sort::Mean {
            assert_eq!(line[4..6], ["–", "–"], "{table}");
        }
        let told = "their times are complete, but they have no mean";
        assert!(words(&table).contains(told), "{table}");
    }
}

/// Samples need no probes, so they can be compared after the counting has ended.
#[test]
fn times_of_samples_are_no_bounds() {
    let compared = compare(pair(&shop(), &lowered()), &Options::default())
        .expect("the profiles can be compared");
    let mut changes = compared.changes.iter();
    let add = changes
        .find(|change| &*change.method.name == "add")
        .expect("samples met the method");
    assert_eq!(add.after[0].counted_until_ns, Some(1_200 * MS));
    assert!(!add.after[0].times_are_least && !add.judgement.is_bound);
}

#[test]
fn the_page_marks_lower_bounds_of_samples() {
    let script = r#"
        const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
        const text = (id) => document.getElementById(id).textContent;
        show('methods');
        details(methods.name.findIndex((name) => name.includes('Cart.add')));
        const row = [...document.querySelectorAll('#rows tr')].find((row) => row.textContent.includes('Cart.add'));
        return [cells(row), text('facts'), text('details-facts'), text('remarks')].join('\n');
    "#;
    let seen = run(&text(Format::Html, &lowered(), &Options::default()), script);
    for part in [
        " | ≥98,765,432 | – | ",
        "≥98,784,102 calls",
        "≥98,765,432 calls · not counted after 1.20 s",
        "Calls are exact but for ≥, ",
        "≥ before calls: lost its last probe while the program ran, the first method after 1.20 s: ",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}
