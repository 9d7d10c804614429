//! Tests of tables, trees and collapsed stacks.

use loadhook_profile::format::{Format, Options, write_waiting};
use loadhook_profile::{Method, Profile, Waiting};

use crate::common::text;
use crate::shop::{counted, shop, wide};

#[test]
fn table_of_samples() {
    insta::assert_snapshot!(text(Format::Table, &shop(), &wide(120)));
}

#[test]
fn table_of_samples_on_a_narrow_terminal() {
    insta::assert_snapshot!(text(Format::Table, &shop(), &wide(80)));
}

/// If the terminal is narrow, the table keeps calls, self time, total time and method.
#[test]
fn table_of_samples_on_a_very_narrow_terminal() {
    insta::assert_snapshot!(text(Format::Table, &shop(), &wide(60)));
}

/// Calls are known for all threads together, so a table of one thread has none.
#[test]
fn one_thread_has_no_calls() {
    let is_main = |name: &str| name == "main";
    let options = Options {
        thread: Some(&is_main),
        ..wide(120)
    };
    insta::assert_snapshot!(text(Format::Table, &shop(), &options));
}

/// `--focus` keeps the time of all stacks that contain a matching method, and the calls of matching
/// methods only.
#[test]
fn focused_methods_keep_their_calls() {
    let is_cart = |method: &Method| &*method.class == "com.example.shop.Cart";
    let options = Options {
        focus: Some(&is_cart),
        ..wide(120)
    };
    insta::assert_snapshot!(text(Format::Table, &shop(), &options));
}

#[test]
fn table_of_counts_alone() {
    insta::assert_snapshot!(text(Format::Table, &counted(), &wide(100)));
}

#[test]
fn tree_of_samples() {
    insta::assert_snapshot!(text(Format::Tree, &shop(), &wide(100)));
}

#[test]
fn places_of_waiting() {
    let mut out = Vec::new();
    write_waiting(&shop(), &wide(100), &mut out).expect("writing to a vector cannot fail");
    insta::assert_snapshot!(String::from_utf8(out).expect("the text is UTF-8"));
}

/// If no calls were counted, the program's own classes are recognised by their names.
#[test]
fn places_of_waiting_without_counts() {
    let table = |profile: &Profile| {
        let mut out = Vec::new();
        write_waiting(profile, &wide(100), &mut out).expect("writing to a vector cannot fail");
        String::from_utf8(out).expect("the text is UTF-8")
    };
    let mut uncounted = shop();
    uncounted.method_calls.clear();
    assert_eq!(table(&uncounted), table(&shop()));
    for node in uncounted.threads.iter_mut().flat_map(|t| &mut t.nodes) {
        node.waiting = Waiting::default();
    }
    assert!(table(&uncounted).ends_with("No waiting thread was sampled\n"));
    uncounted
        .sampling
        .as_mut()
        .expect("the profile has samples")
        .wall_interval_ns = 0;
    assert!(table(&uncounted).ends_with("run again with --clock wall\n"));
}

#[test]
fn collapsed_stacks_of_samples() {
    insta::assert_snapshot!(text(Format::Collapsed, &shop(), &Options::default()));
}
