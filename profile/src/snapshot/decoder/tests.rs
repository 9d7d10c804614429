use proptest::prelude::*;

use super::*;

/// Returns a header, two threads, three nodes.
fn stream() -> Vec<i64> {
    let mut words = vec![1, 2, 0, 1, 1_700_000_000_000, 5_000, 4096, 2, 10, 20, 30];
    words.extend([2, -1, 2, 0]);
    words.extend([2, 17, 0, 9]);
    words.extend([0x776f_726b_6572_2d33_i64, 0x3100_0000_0000_0000]);
    words.extend([3, -1, 4, 10, 10, 900, 800, 700, 0, 0, 0]);
    words.extend([3, 0, -1, 7, 2, 70, 70, 0]);
    let [variance, ticked] = [2.5f64, 1.5].map(|variance| variance.to_bits().cast_signed());
    words.extend([variance, 40, ticked]);
    words.extend([3, 1, 4, 1, 1, 1, 1, 0, 0, 0, 0]);
    words.extend([5, 1_234]);
    words.extend([6, 4, 99]);
    words.extend([7, 4, 2, 1024 * 5 + 3, 1024 * 2 + 751]);
    words.push(4);
    words
}

fn decode(words: &[i64]) -> Result<Snapshot, SnapshotError> {
    let mut decoder = Decoder::default();
    decoder.push(words)?;
    decoder.finish()
}

#[test]
fn every_field_arrives() {
    let snapshot = decode(&stream()).expect("the stream is valid");
    let header = &snapshot.header;
    assert_eq!(header.timing, Timing::Adaptive);
    assert_eq!(header.clock, Clock::Cpu);
    assert_eq!(header.start_epoch_millis, 1_700_000_000_000);
    assert_eq!(header.duration_ns, 5_000);
    assert_eq!(header.tracker_bytes, 4096);
    assert_eq!(header.overflowed_calls, 2);
    let probe = ProbeCosts {
        inside_ps: 10,
        outside_ps: 20,
        clock_read_ps: 30,
    };
    assert_eq!(header.probe, probe);

    let [ended, worker] = &snapshot.threads[..] else {
        panic!("two threads expected");
    };
    assert_eq!((&*ended.name, ended.id), ("", None));
    assert_eq!(ended.kind, ThreadKind::Ended);
    assert_eq!((ended.cpu_ns, worker.cpu_ns), (None, Some(1_234)));
    assert_eq!((&*worker.name, worker.id), ("worker-31", Some(17)));
    assert_eq!(worker.kind, ThreadKind::Platform);
    assert_eq!(
        worker.nodes[0],
        Node {
            parent: None,
            method: 4,
            calls: 10,
            timed: 10,
            all_ns: 900,
            outermost_ns: 800,
            child_ns: 700,
            ..Node::default()
        }
    );
    assert_eq!(worker.nodes[1].method, OVERFLOW);
    assert_eq!(worker.nodes[1].variance, 2.5);
    assert_eq!(worker.nodes[1].ticked_ns, 40);
    assert_eq!(worker.nodes[1].ticked_variance, 1.5);
    assert_eq!(worker.nodes[2].parent, Some(1));
    let counted = MethodCalls {
        since_ns: None,
        until_ns: None,
        method: 4,
        calls: 99,
    };
    assert_eq!(snapshot.method_calls, [counted]);
    let range = |range, calls| LatencyRange {
        method: 4,
        range,
        calls,
    };
    assert_eq!(snapshot.latencies, [range(3, 5), range(751, 2)]);
}

#[test]
fn a_stream_cut_into_pieces_decodes_alike() {
    let words = stream();
    let whole = decode(&words).expect("the stream is valid");
    for size in 1..words.len() {
        let mut decoder = Decoder::default();
        for piece in words.chunks(size) {
            decoder.push(piece).expect("the stream is valid");
        }
        assert_eq!(
            decoder.finish().expect("the stream is valid"),
            whole,
            "the stream, fed in pieces of {size} words, must give the same snapshot"
        );
    }
}

#[test]
fn the_error_of_a_short_stream_names_the_position() {
    let words = stream();
    for len in 0..words.len() {
        let error = decode(&words[..len]).expect_err("the stream is cut off");
        assert_eq!(error.position, len as u64);
    }
}

#[test]
fn bad_words_are_placed() {
    // (position, value written there, position of the error)
    let cases = [
        (0, 2),         // no header
        (1, 1),         // version
        (2, 4),         // timing
        (3, -1),        // clock
        (5, -5),        // duration
        (11, 1),        // second header
        (11, 3),        // node before a thread
        (12, -2),       // thread id
        (13, 3),        // kind
        (14, -1),       // negative length
        (14, i64::MAX), // endless name
        (21, 9),        // tag
        (22, 0),        // a node as its own parent
        (23, -2),       // method
        (24, -1),       // calls
        (29, f64::NAN.to_bits().cast_signed()),
        (29, (-1.0f64).to_bits().cast_signed()),
        (30, -1), // ticks
        (33, 1),  // a later node as parent
        (11, 5),  // processor time before a thread
        (55, -1),
        (57, -1), // counted method
        (58, -1), // its calls
        (60, -1), // method of durations
        (61, -1), // number of ranges
        (61, 753),
        (62, -1),         // calls of a range
        (63, 1024 + 752), // an unknown range
    ];
    for (position, value) in cases {
        let mut words = stream();
        words[position] = value;
        let error = decode(&words).expect_err("the stream is invalid");
        assert_eq!((error.position, error.value), (position as u64, value));
        // Cut into single words, the stream causes the same error, again at every later call.
        let mut decoder = Decoder::default();
        let errors = words.iter().filter_map(|w| decoder.push(&[*w]).err());
        assert!(errors.take(3).all(|e| e == error));
        assert_eq!(decoder.finish().expect_err("the stream is invalid"), error);
    }
    let mut words = stream();
    words.push(4);
    let error = decode(&words).expect_err("words follow the end of the stream");
    assert_eq!(error.position, words.len() as u64 - 1);
    insta::assert_snapshot!(error, @"bad snapshot: a word after the end record at word 65 (value 4)");
}

proptest! {
    #[test]
    fn random_words_never_panic(words in proptest::collection::vec(any::<i64>(), 0..64)) {
        let _ = decode(&words);
    }

    /// The words are small numbers, because small numbers are far more often valid as tags, kinds and lengths.
    #[test]
    fn small_words_never_panic(words in proptest::collection::vec(-2i64..12, 0..200)) {
        let mut all = stream();
        all.pop();
        all.extend(words);
        let whole = decode(&all);
        let mut decoder = Decoder::default();
        for piece in all.chunks(7) {
            let _ = decoder.push(piece);
        }
        prop_assert_eq!(decoder.finish(), whole);
    }

    #[test]
    fn one_changed_word_never_panics(at in 0usize..64, value: i64) {
        let mut words = stream();
        words[at] = value;
        let _ = decode(&words);
    }
}
