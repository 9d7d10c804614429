//! JSON: calls, times with their errors, and waiting.

use loadhook_profile::format::{Format, Options};
use serde_json::Value;

use crate::common::{MS, small, text};
use crate::shop::{TICK, shop};

#[test]
fn json_of_samples() {
    let json: Value =
        serde_json::from_str(&text(Format::Json, &shop(), &Options::default())).expect("JSON");
    assert_eq!(json["version"], 2);
    assert_eq!(json["sampling"]["engine"], "async");
    assert_eq!(json["sampling"]["samples"], 363);
    let methods = json["methods"].as_array().expect("methods");
    let of = |name: &str| {
        let found = methods.iter().find(|method| method["method"] == name);
        found.unwrap_or_else(|| panic!("{name} is missing"))
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
    // It was called, but no sample met it.
    assert_eq!(of("load")["calls"], 3);
    assert_eq!(of("load")["mean_ns"], Value::Null);
    // It only waited.
    assert!(methods.iter().all(|method| method["method"] != "park"));
    let nodes = json["tree"].as_array().expect("nodes");
    let waiting = nodes.iter().filter_map(|node| node["waiting"].as_object());
    assert_eq!(waiting.clone().count(), 4);
    let parked: u64 = waiting
        .map(|waiting| waiting["parked_ns"].as_u64().expect("a number"))
        .sum();
    assert_eq!(parked, 2_700 * MS);
    assert!(nodes.iter().all(|node| node["calls"] == Value::Null));
    // Profiles of probes have none of these fields.
    let probed: Value =
        serde_json::from_str(&text(Format::Json, &small(), &Options::default())).expect("JSON");
    assert_eq!(probed.get("sampling"), None);
    assert_eq!(probed["methods"][0].get("samples"), None);
    assert_eq!(probed["tree"][0].get("waiting"), None);
}

/// One sample in ten takes the square root of ten, and of one more.
#[test]
fn errors_are_honest_where_samples_are_few() {
    let json: Value =
        serde_json::from_str(&text(Format::Json, &shop(), &Options::default())).expect("JSON");
    let error = |name: &str| {
        let methods = json["methods"].as_array().expect("methods");
        let method = methods.iter().find(|m| m["method"] == name).expect("met");
        method["self_error_ns"].as_f64().expect("a number") / TICK as f64
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
    // It was not sampled.
    let collector = json["methods"]
        .as_array()
        .expect("methods")
        .iter()
        .find(|m| m["class"] == "[GC]");
    assert_eq!(collector.expect("it ran")["self_error_ns"], 0);
}
