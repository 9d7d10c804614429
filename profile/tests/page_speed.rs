//! Test that a page of a million nodes opens.
//!
//! Needs `chromium` on the path (`apt-get install chromium`).

mod common;

use loadhook_profile::format::{Format, Options};
use loadhook_testkit::browser::run;

/// Measures from opening the page to the first picture. An idle machine needs less than 3 s. Only faults that make it
/// take minutes are found, because the machine may be busy.
#[test]
fn a_million_nodes_open() {
    let page = common::text(Format::Html, &common::large(1_000_000), &Options::default());
    let script = "const [mark] = performance.getEntriesByName('flame graph drawn'); \
        return `${nodesOf(data.threads[0]).now.calls.length} ${data.leftOut} ${Math.round(mark.startTime)}`";
    let told = run(&page, script);
    let words: Vec<&str> = told.split(' ').collect();
    let [nodes, left_out, millis] = words[..] else {
        panic!("{told}")
    };
    println!(
        "{:.1} MB, first picture after {millis} ms",
        page.len() as f64 / 1e6
    );
    assert_eq!([nodes, left_out], ["1000000", "0"]);
    let millis: f64 = millis.parse().expect("the text is a number");
    assert!(
        millis < 60_000.0,
        "the page should be ready within a minute, but took {millis} ms"
    );
}
