//! Tests that the tracker of rewritten archives, which reads its settings in Java, uses the words,
//! defaults and limits of the agent's options. Only the default of `timing` differs: this tracker
//! cannot take samples.

use std::fs;

use loadhook_settings::{Clock, DEFAULT_FILE, DEFAULT_NODES, MAX_NODES, Timing};

#[test]
fn the_offline_tracker_has_the_same_words() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tracker-java/offline/loadhook/Settings.java"
    );
    let java = fs::read_to_string(path).expect("the tracker's settings");
    // The tracker stores the position of a word in the list of the setting's words, so the order
    // matters.
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
        // The text includes the end of the list, so that a word which only Java has is noticed. The
        // agent has no options for the last two settings.
        format!(
            "WORDS = {{{}}};",
            list(&[
                "file",
                "timing",
                "clock",
                "max-nodes",
                "dump-on-exit",
                "append"
            ])
        ),
        list(&timings.map(Timing::as_str)),
        // If the setting is missing, the tracker takes the first of these words, which is the
        // default.
        "timing = choice(1, \"adaptive, exact or count\", \"adaptive\",".to_owned(),
        list(&clocks.map(Clock::as_str)),
        format!("\"{DEFAULT_FILE}\""),
        format!("return {DEFAULT_NODES};"),
        format!("= {MAX_NODES};"),
    ] {
        assert!(java.contains(&expected), "`{expected}` expected in {path}");
    }
}
