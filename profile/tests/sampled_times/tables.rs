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

/// Rows with large errors are hidden first, however much time they have. The line about them says how much.
#[test]
fn hidden_rows_tell_their_time() {
    let top = |top| {
        let options = Options {
            top: Some(top),
            ..wide(80)
        };
        text(Format::Table, &shop(), &options)
    };
    let few = top(2);
    let told = "\n      8 more methods with 427 ms of self time (28.7 %); --top 10 shows them\n";
    assert!(few.contains(told), "{few}");
    let most = top(8);
    assert!(most.contains("\n      2 more methods\n"), "{most}");
    let mut uncertain = shop();
    for node in uncertain
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.nodes)
    {
        node.variance *= 1e3;
    }
    let options = Options {
        top: Some(1),
        ..wide(80)
    };
    let text = text(Format::Table, &uncertain, &options);
    assert!(text.contains("; --top 10 shows them\n"), "{text}");
}

/// An attached agent changes classes before it watches. That time is not a part of the time of watching.
#[test]
fn the_time_of_attaching_is_told_apart() {
    let attached = |attaching_ns| {
        let mut profile = shop();
        profile.header.duration_ns = 4_000_000_000;
        profile.header.attaching_ns = attaching_ns;
        text(Format::Table, &profile, &wide(80))
    };
    let slow = attached(3_000_000_000);
    let head = "\n1.00 s watched · 3.00 s before to change classes · times from samples\n";
    assert!(slow.contains(head), "{slow}");
    assert!(
        slow.contains("\n1.49 s on a processor in 1.00 s elapsed"),
        "{slow}"
    );
    let fast = attached(10_000_000);
    assert!(fast.contains("\n3.99 s · times from samples · "), "{fast}");
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
