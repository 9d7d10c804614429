//! Tests of allocations in the HTML report, in a real browser: by site, by type and by method.
//!
//! Needs `chromium` on the path (`apt-get install chromium`).

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Random, allocations, alone, sampled};
use loadhook_profile::format::{Format, Options, Sort};
use loadhook_profile::{Allocations, Amount, Frame, Method, Profile, Seen, Site, ThreadTree};
use loadhook_testkit::browser::run;
use serde_json::{Value, json};

/// Functions that the scripts of these tests share.
const HELPERS: &str = r#"
    const text = (id) => document.getElementById(id).textContent;
    const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
    const places = { sites: 'sites-', types: 'types-', methods: '' };
    const head = (table) => cells(document.querySelector(`#${places[table]}columns tr`));
    const lines = (table) => [...document.querySelectorAll(`#${places[table]}rows tr`)].map(cells).join('\n');
    const press = (table, title) => [...document.querySelectorAll(`#${places[table]}columns button`)]
        .find((button) => button.textContent.startsWith(title)).click();
    const table = (name) => { show(name); return [head(name), lines(name)].join('\n'); };
"#;

fn page(profile: &Profile, options: &Options<'_>) -> String {
    let mut page = Vec::new();
    let written = Format::Html.write(profile, options, &mut page);
    written.expect("writing to memory cannot fail");
    String::from_utf8(page).expect("the text is UTF-8")
}

/// Returns the result of a script that runs in a profile's page. `hash` is the part of the page's
/// address after `#`.
fn see(profile: &Profile, hash: &str, script: &str) -> String {
    let page = page(profile, &Options::default());
    let page = page.replace("location.hash.slice(1)", &format!("'{hash}'"));
    run(&page, &format!("{HELPERS}{script}"))
}

/// Returns a profile with sampled allocations. At one place, some objects have a known size and others an unknown
/// one.
fn partly_unsized() -> Profile {
    let mut sampled = sampled();
    let mut known = sampled.sites[1].clone();
    for amount in [&mut known.allocated, &mut known.live] {
        amount.bytes = Some(amount.objects * 100.0);
    }
    sampled.sites.push(known);
    alone(sampled)
}

const TABLES: &str = "return [text('facts').split(' · ').slice(1).join(' · '), \
    ...['sites', 'types', 'methods'].map(table), text('remarks')].join('\\n\\n')";

#[test]
fn sites_types_and_methods_of_the_living() {
    insta::assert_snapshot!(see(&partly_unsized(), "live", TABLES));
}

#[test]
fn sites_types_and_methods_of_all_allocations() {
    insta::assert_snapshot!(see(&partly_unsized(), "allocated", TABLES));
    // If live objects were not followed, the table has no columns for them; if nothing was sampled,
    // it has no errors.
    insta::assert_snapshot!(see(&alone(allocations()), "", TABLES));
}

#[test]
fn tables_sort_search_and_follow_the_thread() {
    let script = r#"
        show('sites');
        const seen = [];
        const first = () => document.querySelector('#sites-rows tr td:last-child').textContent;
        const arrow = () => document.querySelector('#sites-columns th[aria-sort]:not(:first-child)').textContent;
        press('sites', 'age'); seen.push(arrow(), linkOfState());
        press('sites', 'allocated objects'); seen.push(arrow() + ' ' + first());
        press('sites', 'allocated objects'); seen.push(arrow() + ' ' + first());
        press('sites', 'type'); seen.push(arrow() + ' ' + first());
        press('sites', 'allocated at'); seen.push(arrow() + ' ' + first());
        search('HANDLE:40'); seen.push(lines('sites'), text('found'));
        search('int['); seen.push(lines('sites'), text('found'));
        show('methods'); seen.push(lines('methods'), text('found'));
        show('types'); seen.push(lines('types'), text('found'), document.querySelector('#types-rows mark').textContent);
        search('');
        const thread = document.getElementById('thread');
        thread.value = 1; thread.dispatchEvent(new Event('change'));
        seen.push(thread.disabled, table('sites'), table('types'), table('methods'));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(see(&partly_unsized(), "live", script));
    let arrow = "return document.querySelector('#sites-columns th[aria-sort] button').textContent";
    let linked = see(&partly_unsized(), "live/sites?sort=age.up", arrow);
    assert_eq!(linked, "age ↑");
}

#[test]
fn the_sort_option_sets_the_initial_order() {
    let script =
        "show('sites'); return [head('sites'), lines('sites').split('\\n')[0]].join('\\n')";
    let first = |sort| {
        let options = Options {
            sort,
            ..Options::default()
        };
        let page = page(&alone(sampled()), &options);
        run(&page, &format!("{HELPERS}{script}"))
    };
    let lines: Vec<_> = [Sort::SelfTime, Sort::Calls, Sort::Name].map(first).into();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn methods_and_types_have_details() {
    let script = r#"
        const list = (id) => [...document.querySelectorAll(`#${id} tr`)].map(cells).join('\n');
        const seen = (name) => {
            details(methods.name.findIndex((other) => other.includes(name)));
            const hidden = (id) => document.getElementById(`${id}-part`).hidden;
            return [name, text('details-facts'), ...[...document.querySelectorAll('#details-figures tr')].map(cells), `callers (${hidden('callers')}):`, list('callers'),
                `callees (${hidden('callees')}):`, list('callees'), `${text('made-title')}:`, list('made')].join('\n');
        };
        return ['Main.main', 'Server.handle', 'int[]', 'byte[]'].map(seen).join('\n\n');
    "#;
    insta::assert_snapshot!(see(&partly_unsized(), "allocated", script));
}

/// In flame graph and tree, types are leaves, drawn in another way than methods. A method's own
/// allocations are the sum of its types.
#[test]
fn types_differ_from_methods() {
    let script = r#"
        chooseThread(LAID_OVER);
        const type = colour(methods.name.indexOf('byte[]')).split(' ')[0];
        const seen = [...graph.method].map((method, node) =>
            `${colour(method).startsWith(type)} ${describe(node).replaceAll('\n', ' | ')}`);
        seen.push(legend().map(({ text }) => text).join(', '));
        show('tree');
        return [...seen, ...[...document.querySelectorAll('#tree-rows tr')].map(cells)].join('\n');
    "#;
    insta::assert_snapshot!(see(&alone(allocations()), "", script));
}

/// A profile like those of `--alloc exact` without `--alloc-context`.
#[test]
fn without_callers_there_are_no_totals() {
    let mut flat = allocations();
    for frame in &mut flat.frames {
        frame.parent = None;
    }
    let script = "show('methods'); details(1); \
        return [head('methods'), lines('methods'), text('warnings')].join('\\n')";
    insta::assert_snapshot!(see(&alone(flat), "", script));
}

/// If the profile has times, the page first shows the times; their table has no allocation sites.
#[test]
fn times_and_bytes_are_chosen() {
    let mut profile = common::small();
    profile.allocations = Some(sampled());
    let script = "show('methods'); const measure = document.getElementById('measure'); \
        return [measure.hidden, [...measure.options].map((one) => one.value), \
            document.getElementById('tab-sites') === null, \
            head('methods'), lines('methods').split('\\n')[0]].join('\\n')";
    insta::assert_snapshot!(see(&profile, "", script));
    let script =
        "return [data.measure, view, document.getElementById('search').ariaLabel].join(' ')";
    assert_eq!(
        see(&profile, "live/types", script),
        "live types Search methods and types"
    );
}

/// Returns a profile with generated stacks and sites: recursion, several threads, and unknown sizes.
fn random(threads: u32, sites: u32) -> Profile {
    let mut random = Random(7);
    let mut made = Allocations {
        seen: Seen::Exact,
        live: true,
        ..Allocations::default()
    };
    for at in 0..400u32 {
        made.frames.push(Frame {
            parent: (at > 3).then(|| random.below(at)),
            method: random.below(30),
            line: Some(random.below(3) + 1),
            bci: None,
        });
    }
    for _ in 0..sites {
        let objects = f64::from(random.below(50) + 1);
        let amount = |objects: f64, is_known: bool| Amount {
            objects,
            bytes: is_known.then_some(objects * 24.0),
            ..Amount::default()
        };
        let is_known = random.below(20) > 0;
        made.sites.push(Site {
            thread: random.below(threads),
            frame: (random.below(20) > 0).then(|| random.below(400)),
            type_name: format!("some.Type{}", random.below(12)).into(),
            allocated: amount(objects, is_known),
            live: amount(f64::from(random.below(3)), is_known),
            live_age: f64::from(random.below(5)),
        });
    }
    let thread = |at: u32| ThreadTree {
        cpu_ns: None,
        name: format!("thread {at}").into(),
        id: Some(u64::from(at)),
        kind: Default::default(),
        nodes: Vec::new(),
    };
    Profile {
        methods: (0..30)
            .map(|at| Method::new("Some", &format!("method{at}"), "()V"))
            .collect(),
        threads: (0..threads).map(thread).collect(),
        allocations: Some(made),
        ..Profile::default()
    }
}

/// Bytes and objects of each method, without and with its callees. The number -1 stands for "no
/// method".
fn by_method(profile: &Profile, thread: Option<u32>) -> Value {
    let allocations = profile
        .allocations
        .as_ref()
        .expect("the profile has allocations");
    let mut sums: BTreeMap<i64, [f64; 4]> = BTreeMap::new();
    let sites = allocations.sites.iter();
    for site in sites.filter(|site| thread.is_none_or(|thread| site.thread == thread)) {
        let mut stack = Vec::new();
        let mut frame = site.frame;
        while let Some(at) = frame {
            let Frame { parent, method, .. } = allocations.frames[at as usize];
            stack.push(i64::from(method));
            frame = parent;
        }
        if stack.is_empty() {
            stack.push(-1);
        }
        let amount = [site.allocated.bytes.unwrap_or(0.0), site.allocated.objects];
        for (sum, part) in sums.entry(stack[0]).or_default().iter_mut().zip(amount) {
            *sum += part;
        }
        for method in BTreeSet::from_iter(stack) {
            let sums = sums.entry(method).or_default().iter_mut().skip(2);
            sums.zip(amount).for_each(|(sum, part)| *sum += part);
        }
    }
    json!(sums.into_iter().collect::<Vec<_>>())
}

/// A script that computes the sums of `by_method` from the data of the page.
const BY_METHOD: &str = r#"
    const sums = (thread) => addedUp('methods', thread)
        .map(({ method, self, total }) => [method, [self, total].flatMap(({ allocated }) => [allocated.bytes ?? 0, allocated.objects])])
        .sort(([a], [b]) => a - b);
"#;

#[test]
fn recursion_counts_once_in_every_thread() {
    let profile = random(3, 2_000);
    let script = format!("{BY_METHOD} return JSON.stringify([-1, 0, 1, 2].map(sums))");
    let seen: Value =
        serde_json::from_str(&see(&profile, "allocated", &script)).expect("the text is JSON");
    let threads = [None, Some(0), Some(1), Some(2)];
    let expected: Vec<_> = threads.map(|thread| by_method(&profile, thread)).into();
    // The sums are whole numbers, so decimal places are removed before comparing.
    let text = |value: &Value| value.to_string().replace(".0", "");
    assert_eq!(text(&seen), text(&json!(expected)));
    // The tables of sites, of types and of methods must have the same sum.
    let script = "const sum = (table) => addedUp(table, 1).reduce((sum, row) => sum + row.self.live.objects, 0); \
        return [sum('sites') > 0, sum('sites') === sum('types'), sum('types') === sum('methods')].join(' ')";
    assert_eq!(see(&profile, "live", script), "true true true");
}

/// The page of a program with many threads stays small: threads with few allocations are only part
/// of the sums.
#[test]
fn rows_of_many_threads_are_merged() {
    let profile = random(400, 300_000);
    let page = page(&profile, &Options::default());
    assert!(page.len() < 30_000_000, "{}", page.len());
    let script = format!(
        "{HELPERS}{BY_METHOD} const all = JSON.stringify(sums(-1)); \
        chooseThread([...data.threads.keys()].find((thread) => !allocations.sites.thread.includes(thread))); show('sites'); \
        return [allocations.together > 0, lines('sites'), all].join('\\n')"
    );
    let seen = run(
        &page.replace("location.hash.slice(1)", "'allocated'"),
        &script,
    );
    let mut seen = seen.lines();
    assert_eq!(seen.next(), Some("true"));
    let said = seen.next().expect("the script returns two lines");
    assert!(
        said.starts_with("This thread allocated too little to have a table of its own"),
        "{said}"
    );
    let all: Value = serde_json::from_str(seen.next().expect("the script returns two lines"))
        .expect("the text is JSON");
    let text = |value: &Value| value.to_string().replace(".0", "");
    assert_eq!(text(&all), text(&by_method(&profile, None)));
}

/// The search finds methods and types.
#[test]
fn a_focus_holds_for_all_views() {
    let focus = |method: &Method| &*method.class == "java.lang.String";
    let options = Options {
        focus: Some(&focus),
        ..Options::default()
    };
    let page = page(&alone(allocations()), &options);
    let script = "return [tree.whole, table('sites'), table('methods')].join('\\n')";
    insta::assert_snapshot!(run(&page, &format!("{HELPERS}{script}")));
}

#[test]
fn a_program_that_allocates_nothing_has_a_page() {
    let profile = alone(Allocations::default());
    assert_eq!(
        see(
            &profile,
            "",
            "return [lines('sites'), table('sites')].join()"
        ),
        ",bytes % | bytes ↓ | objects | type | allocated at\nNothing was allocated here."
    );
}
