//! Waits for locks in all formats, and in merged profiles.

mod common;
mod schema;

use common::{MS, allocations, small, text};
use loadhook_profile::format::pprof::{read, write};
use loadhook_profile::format::{Format, Options, page_data};
use loadhook_profile::{
    Allocations, Holder, LockWait, LocksBuilder, Measure, Profile, WaitKind, merge,
};

/// Returns the small profile with waits: for a monitor at two places, for a lock, and not contended.
fn locked() -> Profile {
    let mut locks = LocksBuilder::default();
    let server = [(0, Some(14)), (1, Some(44))];
    let add = locks.stack(server.into_iter().chain([(3, Some(19))]));
    let price = locks.stack(server.into_iter().chain([(4, Some(35))]));
    let wait = |kind, class: &str, frame, holder, count, ms| LockWait {
        kind,
        thread: 0,
        class: class.into(),
        frame,
        holder,
        count,
        ns: ms * MS,
    };
    let holder = |frame| {
        Some(Holder {
            thread: "worker-#".into(),
            frame,
        })
    };
    let cart = "com.example.shop.web.Cart";
    let fair = "java.util.concurrent.locks.ReentrantLock$FairSync";
    locks.add(wait(WaitKind::Monitor, cart, add, holder(price), 3, 40));
    locks.add(wait(WaitKind::Monitor, cart, add, None, 2, 30));
    locks.add(wait(WaitKind::Lock, fair, price, holder(None), 1, 20));
    locks.add(wait(WaitKind::Notification, cart, add, None, 7, 900));
    locks.add(wait(WaitKind::Park, "", price, None, 9, 1900));
    locks.add(wait(WaitKind::Monitor, cart, add, None, 2, 10));
    Profile {
        locks: Some(locks.finish()),
        ..small()
    }
}

/// Returns the profile of [`locked`] without its calls.
fn alone() -> Profile {
    let mut profile = locked();
    profile.header.timing = loadhook_profile::Timing::Count;
    profile
        .threads
        .iter_mut()
        .for_each(|thread| thread.nodes.clear());
    profile
}

fn written(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    write(profile, &mut file).expect("writing to memory cannot fail");
    file
}

/// Returns a written profile as readers of the public schema see it.
fn decoded(profile: &Profile) -> schema::Profile {
    let file = written(profile);
    let mut bytes = Vec::new();
    let mut gzip = flate2::read::GzDecoder::new(&file[..]);
    std::io::Read::read_to_end(&mut gzip, &mut bytes).expect("the bytes are gzip data");
    schema::Profile::decode(&bytes)
}

#[test]
fn pprof_has_contentions_and_delay() {
    for (profile, before) in [(locked(), 2), (alone(), 0)] {
        let file = written(&profile);
        assert_eq!(read(&file).expect("the profile can be read"), profile);
        let decoded = decoded(&profile);
        let types: Vec<_> = decoded.sample_types[before..].iter().collect();
        let expected = [("contentions", "count"), ("delay", "nanoseconds")];
        assert!(
            types
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str()))
                .eq(expected),
            "{types:?}"
        );
        let all = before + 2;
        assert!(
            decoded
                .samples
                .iter()
                .all(|sample| sample.values.len() == all)
        );
        let waits = decoded.samples.iter();
        let waits: Vec<_> = waits.filter(|sample| sample.values[before] > 0).collect();
        let values: Vec<_> = waits
            .iter()
            .map(|sample| &sample.values[before..])
            .collect();
        let ms = MS.cast_signed();
        assert_eq!(values, [[3, 40 * ms], [4, 40 * ms], [1, 20 * ms]]);
        let lines: Vec<i64> = waits[0].stack.iter().map(|(_, _, line)| *line).collect();
        assert_eq!(lines, [19, 44, 14]);
        let label = |text: &str| schema::Label::Text(text.to_owned());
        assert_eq!(waits[0].labels["lock"], label("com.example.shop.web.Cart"));
        assert_eq!(waits[0].labels["holder"], label("worker-#"));
    }
}

/// Tools show memory first, unless there are times or calls.
#[test]
fn allocations_come_before_locks() {
    let mut profile = alone();
    for live in [true, false] {
        profile.allocations = Some(Allocations {
            live,
            ..allocations()
        });
        let expected = if live { "inuse_space" } else { "alloc_space" };
        assert_eq!(decoded(&profile).default_sample_type, expected);
    }
    profile.allocations = None;
    assert_eq!(decoded(&profile).default_sample_type, "delay");
}

#[test]
fn the_tables_tell_who_waited_and_who_held() {
    insta::assert_snapshot!(
        "table",
        text(
            Format::Table,
            &alone(),
            &Options {
                width: 80,
                ..Options::default()
            }
        )
    );
}

#[test]
fn trees_end_in_the_classes_of_locks() {
    let options = Options {
        measure: Some(Measure::Contention),
        ..Options::default()
    };
    let collapsed = text(Format::Collapsed, &locked(), &options);
    let ends = [
        "Cart.add(String);com.example.shop.web.Cart 80000000",
        "ReentrantLock$FairSync 20000000",
    ];
    assert_eq!(collapsed.lines().count(), ends.len(), "{collapsed}");
    for end in ends {
        assert!(
            collapsed.lines().any(|line| line.ends_with(end)),
            "{collapsed}"
        );
    }
    let tree = text(Format::Tree, &locked(), &options);
    assert!(
        tree.contains("waits") && tree.contains("FairSync"),
        "{tree}"
    );
}

#[test]
fn json_has_all_kinds_of_waits() {
    let json = text(Format::Json, &locked(), &Options::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    let waits = json["locks"]["waits"].as_array().expect("a list");
    let facts = |wait: &serde_json::Value| {
        let fact = |name: &str| wait[name].to_string();
        format!("{} {} {}", fact("kind"), fact("contended"), fact("count"))
    };
    assert_eq!(
        waits.iter().map(facts).collect::<Vec<_>>(),
        [
            "\"park\" false 9",
            "\"wait\" false 7",
            "\"monitor\" true 3",
            "\"monitor\" true 4",
            "\"lock\" true 1"
        ]
    );
    assert_eq!(waits[2]["holder"]["thread"], "worker-#");
    assert_eq!(waits[2]["holder"]["stack"][0]["line"], 35);
    assert_eq!(waits[2]["stack"][0]["line"], 19);
    assert_eq!(waits[2]["delay_ns"], 40 * MS);
}

#[test]
fn the_page_has_a_table_of_locks() {
    let data = page_data(&locked(), &Options::default());
    let measures: Vec<_> = data.as_array().expect("a list").iter().collect();
    assert_eq!(measures.len(), 2);
    assert_eq!(measures[1]["measure"], "contention");
    let rows = measures[1]["locks"].as_array().expect("a list");
    let kinds: Vec<_> = rows.iter().map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["park", "wait", "monitor", "lock"]);
    let monitor = &rows[2];
    assert_eq!(
        (&monitor["count"], &monitor["ns"]),
        (&7.into(), &(80 * MS).into())
    );
    assert_eq!(monitor["at"]["line"], 19);
    assert_eq!(monitor["holders"][0]["thread"], "worker-#");
}

#[test]
fn runs_are_added_up() {
    let merged = merge(&[alone(), alone()]).expect("the profiles can be merged");
    let locks = merged.locks.expect("both have locks");
    let one = alone().locks.expect("it has locks");
    assert_eq!(locks.frames, one.frames);
    let numbers = |waits: &[LockWait], by: u64| -> Vec<(u64, u64)> {
        waits
            .iter()
            .map(|wait| (by * wait.count, by * wait.ns))
            .collect()
    };
    assert_eq!(numbers(&locks.waits, 1), numbers(&one.waits, 2));
}
