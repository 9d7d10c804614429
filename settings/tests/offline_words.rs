//! The tracker of rewritten archives reads its settings in Java. Where they mean the
//! same as the agent's options, words, defaults and limits are the same.

use std::fs;

use loadhook_settings::{Clock, DEFAULT_FILE, DEFAULT_NODES, MAX_NODES, Timing};

#[test]
fn the_offline_tracker_has_the_same_words() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tracker-java/offline/loadhook/Settings.java"
    );
    let java = fs::read_to_string(path).expect("the tracker's settings");
    // The position of a word among those of a setting is the tracker's number.
    let timings = [Timing::Adaptive, Timing::Exact, Timing::Count];
    let clocks = [Clock::Wall, Clock::Cpu];
    for (at, timing) in timings.into_iter().enumerate() {
        assert_eq!(timing as usize, at);
    }
    for (at, clock) in clocks.into_iter().enumerate() {
        assert_eq!(clock as usize, at);
    }
    let list = |words: &[&str]| {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        quoted.join(", ")
    };
    for expected in [
        list(&["file", "timing", "clock", "max-nodes"]),
        list(&timings.map(Timing::as_str)),
        list(&clocks.map(Clock::as_str)),
        format!("\"{DEFAULT_FILE}\""),
        format!("return {DEFAULT_NODES};"),
        format!("= {MAX_NODES};"),
    ] {
        assert!(java.contains(&expected), "{expected} is not in {path}");
    }
}
