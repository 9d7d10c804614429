//! Tests of sums and totals, also in recursions.

mod common;

use common::{large, node, pair, recursion_by_two_ways, small, text, tree_of};
use loadhook_profile::Profile;
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::write;
use loadhook_profile::format::{Format, Options, Sort};

#[test]
fn percentages_add_up() {
    let mut folded_recursion = small();
    folded_recursion.header.probe = Default::default();
    for profile in [small(), folded_recursion, large(5_000)] {
        let json = text(Format::Json, &profile, &Options::default());
        let json: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
        let sum = |list: &str, field: &str, chosen: &dyn Fn(&serde_json::Value) -> bool| {
            let list = json[list].as_array().expect("the value is an array");
            let numbers = list
                .iter()
                .filter(|row| chosen(row))
                // The field is null if nothing was timed, as for the calls of the full tree.
                .filter_map(|row| row[field].as_u64());
            numbers.sum::<u64>() as i64
        };
        let methods = sum("methods", "self_ns", &|_| true);
        let nodes = sum("tree", "self_ns", &|_| true);
        let roots = sum("tree", "total_ns", &|node| node["parent"].is_null());
        let rounding = json["tree"]
            .as_array()
            .expect("the value is an array")
            .len() as i64;
        assert!((methods - nodes).abs() <= rounding, "{methods} {nodes}");
        assert!((nodes - roots).abs() <= rounding, "{nodes} {roots}");
        for method in json["methods"].as_array().expect("the value is an array") {
            assert!(
                method["total_ns"].as_u64() >= method["self_ns"].as_u64(),
                "{method}"
            );
            assert!(
                method["total_ns"].as_u64() <= Some(roots as u64 + 1),
                "{method}"
            );
        }
    }
}

/// Returns the total time of a method of the class X in the JSON, and whether the JSON calls it a bound.
fn total(profile: &Profile, name: &str) -> (u64, bool) {
    let json = text(Format::Json, profile, &Options::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    let mut methods = json["methods"]
        .as_array()
        .expect("the value is an array")
        .iter();
    let method = methods.find(|method| method["method"] == name);
    let method = method.expect("the method was called");
    let bound = method["total_is_bound"]
        .as_bool()
        .expect("the field is a boolean");
    (
        method["total_ns"].as_u64().expect("the text is a number"),
        bound,
    )
}

/// Both a and c call b. The call of b from c runs inside a call of b from a. So the sum of both
/// total times is only an upper bound; it cannot exceed the total time of the whole recursion.
#[test]
fn totals_of_nodes_that_may_be_nested_are_bounds() {
    let profile = recursion_by_two_ways();
    // The true total time is 900.
    assert_eq!(total(&profile, "b"), (1_000, true));
    assert_eq!(total(&profile, "a"), (1_000, false));
    assert_eq!(total(&profile, "c"), (700, false));

    let table = text(Format::Table, &profile, &Options::default());
    let line = |name: &str| table.lines().find(|line| line.ends_with(name));
    assert!(
        line("X.b").is_some_and(|b| b.matches('≤').count() == 2),
        "{table}"
    );
    assert!(line("X.c").is_some_and(|c| !c.contains('≤')), "{table}");
    assert!(table.contains("\n≤ upper bound: "), "{table}");
    let options = Options {
        sort: Sort::Total,
        ..Options::default()
    };
    let changes =
        compare(pair(&profile, &profile), &options).expect("the profiles have the same clock");
    let bounds: Vec<_> = changes
        .changes
        .iter()
        .filter(|c| c.after[0].total_is_bound)
        .collect();
    assert!(bounds.len() == 1 && bounds[0].name == "X.b", "{changes:?}");
    let mut differences = Vec::new();
    write(&changes, &options, &mut differences).expect("writing to memory cannot fail");
    let differences = String::from_utf8(differences).expect("the text is UTF-8");
    assert_eq!(differences.matches("≤1,000 ").count(), 2, "{differences}");

    // a spends 600 itself and then calls b → a → c → b; the last b spends 400. Nothing lowers this
    // bound.
    let profile = tree_of(
        &["a", "b", "c"],
        vec![
            node(None, 0, 2, [1_400, 1_000, 800]),
            node(Some(0), 1, 1, [400, 400, 400]),
            node(Some(0), 2, 1, [400, 400, 400]),
            node(Some(2), 1, 1, [400, 400, 0]),
        ],
    );
    assert_eq!(total(&profile, "b"), (800, true));
}

/// a calls itself, b and c; c calls b. No call of b runs inside another call of b, so its total
/// time is exact.
#[test]
fn totals_of_nodes_that_cannot_be_nested_are_exact() {
    let profile = tree_of(
        &["a", "b", "c"],
        vec![
            node(None, 0, 2, [1_500, 1_000, 1_200]),
            node(Some(0), 1, 1, [300, 300, 0]),
            node(Some(0), 2, 1, [400, 400, 200]),
            node(Some(2), 1, 1, [200, 200, 0]),
        ],
    );
    assert_eq!(total(&profile, "b"), (500, false));
    assert_eq!(total(&profile, "c"), (400, false));
}
