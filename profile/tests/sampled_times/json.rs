//! Tests of the JSON: calls, times with their errors, and waiting.

use loadhook_profile::format::{Format, Options};
use serde_json::Value;

use crate::common::{MS, small, text};
use crate::shop::{TICK, shop};

#[test]
fn json_of_samples() {
    let json: Value = serde_json::from_str(&text(Format::Json, &shop(), &Options::default()))
        .expect("the text is JSON");
    assert_eq!(json["version"], 2);
    assert_eq!(json["sampling"]["engine"], "async");
    assert_eq!(json["sampling"]["samples"], 363);
    let methods = json["methods"].as_array().expect("the JSON has methods");
    let of = |name: &str| {
        let found = methods.iter().find(|method| method["method"] == name);
        found.unwrap_or_else(|| panic!("{name} is missing in the JSON"))
    };
    let add = of("add");
    assert_eq!(add["calls"], 98_765_432u64);
    assert_eq!(add["self_ns"], 190 * TICK);
    assert_eq!(add["total_ns"], 265 * TICK);
    assert_eq!(add["samples"], 265);
    assert_eq!(add["waiting_ns"], 260 * MS);
    assert_eq!(add["mean_ns"], (265.0 * TICK as f64 / 98_765_432.0).round());
    assert_eq!(of("getNode")["calls"], Value::Null);
    assert_eq!(of("getNode")["mean_ns"], Value::Null);
    // This method was called, but no sample was taken in it.
    assert_eq!(of("load")["calls"], 3);
    assert_eq!(of("load")["mean_ns"], Value::Null);
    // This method only waited, so it has no row among the methods.
    assert!(methods.iter().all(|method| method["method"] != "park"));
    let nodes = json["tree"].as_array().expect("the JSON has nodes");
    let waiting = nodes.iter().filter_map(|node| node["waiting"].as_object());
    assert_eq!(waiting.clone().count(), 4);
    let parked: u64 = waiting
        .map(|waiting| waiting["parked_ns"].as_u64().expect("the text is a number"))
        .sum();
    assert_eq!(parked, 2_700 * MS);
    assert!(nodes.iter().all(|node| node["calls"] == Value::Null));
    // Profiles made by timing probes have none of these fields.
    let probed: Value = serde_json::from_str(&text(Format::Json, &small(), &Options::default()))
        .expect("the text is JSON");
    assert_eq!(probed.get("sampling"), None);
    assert_eq!(probed["methods"][0].get("samples"), None);
    assert_eq!(probed["tree"][0].get("waiting"), None);
}

/// The stated error of `n` samples is the square root of `n + 1` samples. So the error of few
/// samples is not stated too small.
#[test]
fn errors_are_honest_where_samples_are_few() {
    let json: Value = serde_json::from_str(&text(Format::Json, &shop(), &Options::default()))
        .expect("the text is JSON");
    let error = |name: &str| {
        let methods = json["methods"].as_array().expect("the JSON has methods");
        let method = methods
            .iter()
            .find(|m| m["method"] == name)
            .expect("samples met the method");
        method["self_error_ns"]
            .as_f64()
            .expect("the text is a number")
            / TICK as f64
    };
    for (name, samples) in [
        ("main", 1.0f64),
        ("handle", 3.0),
        ("inflate", 9.0),
        ("add", 190.0),
    ] {
        let expected = (samples + 1.0).sqrt();
        assert!(
            (error(name) - expected).abs() < 1e-3,
            "{name}: {}",
            error(name)
        );
    }
    // The collector's time was read from the clocks of its threads, so it has no error.
    let collector = json["methods"]
        .as_array()
        .expect("the JSON has methods")
        .iter()
        .find(|m| m["class"] == "[GC]");
    assert_eq!(collector.expect("the collector ran")["self_error_ns"], 0);
}
