//! Compares the screen, as text, with the text that is expected.

use loadhook_profile::analysis::picture::{
    Branch, Calls, MethodFigures, Picture, PlaceFigures, ThreadFigures,
};
use loadhook_profile::{ThreadKind, Waiting};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::super::model::History;
use super::*;

/// Makes the figures of a program with two methods and three threads, in an interval of one second.
fn model() -> Model {
    let figures = |method, calls, self_ns, mean_ns| MethodFigures {
        method,
        calls,
        calls_are_least: false,
        is_only_counted: false,
        self_ns: Some(self_ns),
        total_ns: Some(2.0 * self_ns),
        mean_ns,
        p99_ns: mean_ns.map(|ns| 2.0 * ns),
        p99_is_partial: false,
    };
    let thread = |name: &str, kind, running, parked_ns| ThreadFigures {
        name: name.to_owned(),
        kind,
        running_ns: Some(running),
        waiting: Waiting {
            parked_ns,
            ..Waiting::default()
        },
    };
    let branch = |method, depth, own, total| Branch {
        method,
        depth,
        count: 1,
        own,
        total,
    };
    let names = [
        "com.example.Shop.serve",
        "com.example.Warteschlange漢字.nächster",
    ];
    let picture = Picture {
        duration_ns: 1e9,
        is_sampled: true,
        has_latencies: false,
        whole: 1e9,
        samples: 1000,
        definitions: Vec::new(),
        names: names.map(str::to_owned).into(),
        methods: vec![
            figures(1, Some(1_234_567), 4.5e8, Some(365.0)),
            figures(0, None, 2.5e8, None),
        ],
        only_counted: 0,
        not_counted: 0,
        tree: vec![branch(0, 0, 2.5e8, 1e9), branch(1, 1, 4.5e8, 4.5e8)],
        calls: vec![Calls {
            caller: Some(0),
            callee: 1,
            count: 450,
            total_ns: Some(4.5e8),
        }],
        threads: vec![
            thread("main", ThreadKind::Platform, 7e8, 100_000_000),
            thread("worker-7", ThreadKind::Platform, 0.0, 1_000_000_000),
            thread("worker-#", ThreadKind::Ended, 0.0, 0),
        ],
        allocations: Some(vec![PlaceFigures {
            name: "byte[]  com.example.Shop.serve:12".to_owned(),
            method: Some(0),
            objects: 12.0,
            bytes: Some(5e6),
            live_bytes: None,
        }]),
    };
    let mut history = History::default();
    history.next(picture.clone(), String::new());
    let mut twice = picture;
    twice.methods[1].self_ns = Some(1.25e8);
    history.next(twice, "com.example.Shop --port 80".to_owned())
}

fn facts() -> Facts {
    Facts {
        pid: 4711,
        message: None,
        has_ended: false,
        has_figures: true,
        has_colours: false,
    }
}

/// Returns the screen after these keys, as text.
fn screen(keys: &str, size: (u16, u16), facts: &Facts) -> String {
    screen_of(&model(), keys, size, facts)
}

fn screen_of(model: &Model, keys: &str, size: (u16, u16), facts: &Facts) -> String {
    let mut session = Session::new();
    session.arrange(model);
    for char in keys.chars() {
        let code = if char == '\n' {
            KeyCode::Enter
        } else {
            KeyCode::Char(char)
        };
        session.key(KeyEvent::from(code), model);
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    draw(&mut buffer, &mut session, model, facts);
    let mut text = String::new();
    for y in 0..size.1 {
        let mut line = String::new();
        let mut x = 0;
        while x < size.0 {
            let symbol = buffer[(x, y)].symbol();
            line += symbol;
            // The cell behind a wide character is a part of it.
            x += width(symbol).max(1) as u16;
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[test]
fn timed_calls_have_a_percentile() {
    let mut model = model();
    model.picture.is_sampled = false;
    model.picture.has_latencies = true;
    let text = screen_of(&model, "", (80, 12), &facts());
    let expected = "
    calls/s ▼self %      mean      p99     last  method
  1,234,567    45.0    365 ns   730 ns       ██  com.…";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("          –    12.5         –        –       █▅  com.example.Shop.serve\n"),
        "{text}"
    );
    for figures in &mut model.picture.methods {
        figures.p99_is_partial = true;
    }
    let text = screen_of(&model, "", (80, 12), &facts());
    assert!(text.contains("    365 ns  †730 ns       ██"), "{text}");
}

#[test]
fn calls_of_methods_that_lost_their_probes_are_lower_bounds() {
    let mut model = model();
    model.picture.methods[0].calls_are_least = true;
    model.picture.methods[0].mean_ns = None;
    let text = screen_of(&model, "", (80, 12), &facts());
    let expected = "
    calls/s ▼self %  total %      mean     last  method
 ≥1,234,567    45.0     90.0         –       ██  com.";
    assert!(text.contains(expected), "{text}");
    // Methods that lost probes may have no calls in the interval, so they are told of in any case.
    model.picture.not_counted = 3;
    let text = screen_of(&model, "", (80, 24), &facts());
    assert!(text.contains("  calls/s ≥1,234,567  "), "{text}");
    let foot = |text: &str| text.lines().nth(22).map(str::to_owned);
    assert_eq!(
        foot(&text).as_deref(),
        Some("--budget: 3 methods no longer counted (≥, –)")
    );
    model.picture.methods[0].calls_are_least = false;
    model.picture.methods[0].is_only_counted = true;
    model.picture.only_counted = 12_345;
    let text = screen_of(&model, "", (80, 24), &facts());
    assert!(text.contains("\n ‡1,234,567    45.0 "), "{text}");
    assert_eq!(
        foot(&text).as_deref(),
        Some("--budget: 12,345 methods only counted (‡), 3 no longer counted (≥, –)")
    );
    let help = screen("?", (80, 24), &facts());
    let told = "  calls/s       counted calls; ‡ not timed, ≥ counting stopped, – not counted\n";
    assert!(help.contains(told), "{help}");
}

#[test]
fn each_table_fits_into_80_columns() {
    let expected = "\
loadhook top  process 4711  com.example.Shop --port 80
last 1.00 s  processors 0.70  calls/s 1,234,567  samples 1,000  threads 3
 1 Methods  2 Threads  3 Tree  4 Allocations
    calls/s ▼self %  total %      mean     last  method
  1,234,567    45.0     90.0    365 ns       ██  com.…Warteschlange漢字.nächster
          –    12.5     50.0         –       █▅  com.example.Shop.serve
";
    let text = screen("", (80, 12), &facts());
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("+ - count\n"), "{text}");
    let threads = "
  CPU %  waiting %      state  thread
   70.0       10.0    running  main
    0.0      100.0     parked  worker-7
    0.0        0.0          –  ended: worker-#
";
    let text = screen("2", (80, 12), &facts()).replace('▼', " ");
    assert!(text.contains(threads), "{text}");
    let tree = "
 total %  self %  call tree of all threads
   100.0    25.0  com.example.Shop.serve
    45.0    45.0   com.example.Warteschlange漢字.nächster
";
    let text = screen("3", (80, 12), &facts());
    assert!(text.contains(tree), "{text}");
    let allocations = "
  ▼bytes/s   objects/s      alive  type and place
    4.8 MB        12.0          –  byte[]  com.example.Shop.serve:12
";
    let text = screen("4", (80, 12), &facts());
    assert!(text.contains(allocations), "{text}");
    let callers = "
 total %       count  callers (←) and callees (→) of com.example.Warteschlange漢字.nächster
    45.0         450  ← com.example.Shop.serve
";
    let text = screen("\n", (120, 12), &facts());
    assert!(text.contains(callers), "{text}");
}

#[test]
fn an_empty_table_says_why() {
    let text = screen("/xyz", (80, 12), &facts());
    assert!(text.contains("filter: xyz_"), "{text}");
    assert!(
        text.contains("no name contains the filter (Esc clears it)"),
        "{text}"
    );
}

#[test]
fn the_end_of_the_process_is_shown() {
    let facts = Facts {
        message: Some("process 4711 has ended".to_owned()),
        has_ended: true,
        ..facts()
    };
    let text = screen("", (80, 8), &facts);
    assert!(text.ends_with("\nprocess 4711 has ended\n"), "{text}");
    assert!(text.contains("com.example.Shop.serve"), "{text}");
}

#[test]
fn any_size_can_be_drawn() {
    for keys in ["", "?", "3", "\n", "/x"] {
        for size in [
            (1, 1),
            (19, 6),
            (20, 6),
            (30, 7),
            (80, 24),
            (500, 3),
            (500, 200),
        ] {
            let text = screen(keys, size, &facts());
            assert_eq!(
                text.lines().count(),
                usize::from(size.1),
                "{keys:?} {size:?}"
            );
        }
    }
    assert_eq!(screen("", (19, 1), &facts()), "the terminal is to…\n");
    let help = screen("?", (80, 24), &facts());
    assert!(
        help.contains("  CPU %         100 is one processor\n"),
        "{help}"
    );
}

/// Even with so many methods, each key and each interval takes only milliseconds.
#[test]
fn a_hundred_thousand_methods_can_be_shown() {
    const METHODS: u32 = 100_000;
    let figures = |method| MethodFigures {
        method,
        calls: Some(u64::from(method)),
        calls_are_least: false,
        is_only_counted: false,
        self_ns: Some(0.0),
        total_ns: None,
        mean_ns: None,
        p99_ns: None,
        p99_is_partial: false,
    };
    let name = |method| format!("com.example.generated.Type{method}.call");
    let picture = Picture {
        duration_ns: 1e9,
        names: (0..METHODS).map(name).collect(),
        methods: (0..METHODS).map(figures).collect(),
        ..Picture::default()
    };
    let model = History::default().next(picture, String::new());
    let mut session = Session::new();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    for key in ['<', '/', '9', '9', '9'] {
        session.key(KeyEvent::from(KeyCode::Char(key)), &model);
        draw(&mut buffer, &mut session, &model, &facts());
    }
    let first = buffer.content().iter().skip(4 * 80).take(80);
    let first: String = first.map(|cell| cell.symbol()).collect();
    assert!(first.starts_with("     99,999 "), "{first}");
}
