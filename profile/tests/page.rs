//! Tests of the HTML report in a real browser: its script runs without an error, and clicks, keys
//! and searches work.
//!
//! Needs `chromium` on the path (`apt-get install chromium`).

mod common;

use loadhook_profile::format::{Format, Options};
use loadhook_profile::{Profile, Timing};
use loadhook_testkit::browser::run;

fn page(profile: &Profile) -> String {
    let mut page = Vec::new();
    let written = Format::Html.write(profile, &Options::default(), &mut page);
    written.expect("writing to memory cannot fail");
    String::from_utf8(page).expect("the text is UTF-8")
}

#[test]
fn the_script_runs() {
    let result = run(
        &page(&common::paused()),
        "const text = (id) => document.getElementById(id).textContent; \
            show('gc'); \
            return [document.documentElement.dataset.ready, text('facts').includes(' · 2 threads and groups · '), text('command'), text('gc-facts'), text('gc-rows')].join('\\n')",
    );
    let expected = "true\ntrue\njava -jar shop.jar --greeting '</script><b>&amp;'\n\
        5 pauses of the garbage collector · 60.0 ms together, 2.56 % of 2.35 s elapsed · the longest 40.0 ms\n\
        2.13 %50.0 ms240.0 msG1 full collection pausesSystem.gc()";
    assert!(result.starts_with(expected), "{result}");
}

#[test]
fn percentiles_have_a_column_and_a_table() {
    let script = r#"
        show('methods');
        const press = (title) => [...document.querySelectorAll('#columns button')].find((b) => b.textContent.startsWith(title)).click();
        const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
        press('p99');
        const seen = [...document.querySelectorAll('#columns tr, #rows tr')].slice(0, 5).map(cells);
        document.querySelectorAll('#rows tr')[2].click();
        seen.push(...[...document.querySelectorAll('#details-figures table:last-child tr')].map(cells));
        seen.push(...[...document.querySelectorAll('#remarks li')].map((item) => item.textContent));
        chooseThread(0);
        seen.push([...document.querySelectorAll('#columns button')].some((b) => b.textContent.startsWith('p99')));
        return seen.join('\n');"#;
    let seen = run(&page(&common::measured()), script);
    for part in [
        "p99 ↓",
        "†",
        "† 8,000 of 9,000 calls",
        "p99.9 | ",
        "p99: 99 % of the calls take at most this long",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(seen.trim_end().ends_with("false"), "{seen}");
}

#[test]
fn nothing_comes_from_outside() {
    let page = page(&common::small());
    // The exported picture may refer to a pattern within itself, so this reference is allowed.
    let page = page.replace("url(#hatch)", "");
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    // Data with `</script>` must not end the script element. So only two script elements end.
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn methods_sort_filter_and_open() {
    let script = r#"
        const first = () => document.querySelector('#rows tr td:last-child').textContent;
        const press = (title) => [...document.querySelectorAll('#columns button')].find((b) => b.textContent.startsWith(title)).click();
        const seen = [];
        show('methods');
        seen.push(document.querySelectorAll('#rows tr').length, first());
        press('calls'); seen.push(first());
        press('calls'); seen.push(first());
        press('method'); seen.push(first());
        search('CART.'); seen.push(document.querySelectorAll('#rows tr').length, document.querySelector('mark').textContent);
        seen.push(document.getElementById('found').textContent);
        search('');
        press('total'); document.querySelectorAll('#rows tr')[0].click();
        const names = (id) => [...document.querySelectorAll(`#${id} tr td:last-child`)].map((cell) => cell.textContent).join(', ');
        seen.push(document.getElementById('details-name').textContent, names('callers'), names('callees'));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::small()), script));
}

#[test]
fn the_tree_unfolds() {
    let script = r#"
        const lines = () => [...document.querySelectorAll('#tree-rows tr')].map((row) =>
            '  '.repeat(row.level) + [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        show('tree');
        const before = lines();
        const expression = [...document.querySelectorAll('#tree-rows tr')].find((row) => row.textContent.includes('Expression'));
        expression.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        const open = lines();
        document.querySelector('#tree-rows tr').click();
        const folded = lines();
        const thread = document.getElementById('thread');
        thread.value = 1; thread.dispatchEvent(new Event('change'));
        return [before, open, folded, lines()].join('\n\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::small()), script));
}

#[test]
fn counts_need_no_times() {
    let mut profile = common::small();
    profile.header.timing = Timing::Count;
    let script = r#"
        show('methods');
        const row = () => [...document.querySelector('#rows tr').children].map((cell) => cell.textContent).join(' | ');
        const table = row();
        document.querySelector('#rows tr').click();
        show('tree');
        const tree = document.querySelector('#tree-rows tr').textContent;
        show('flame');
        return [table, tree, boxes.flat().length].join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&profile), script));
}

/// The lists of callers and callees include the nodes that the page leaves out of its tree.
#[test]
fn callers_and_callees_are_those_of_the_chosen_threads() {
    let script = r#"
        const named = (name) => methods.name.findIndex((other) => other.includes(name));
        const lines = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const seen = (method) => {
            details(method);
            return [document.getElementById('details-facts').textContent, lines('details-figures'), lines('callers'), lines('callees')].join('\n');
        };
        const add = named('Cart.add(String)');
        const all = [seen(add), seen(named('Server.handle')), seen(named('Sum.evaluate'))];
        details(add);
        const thread = document.getElementById('thread');
        thread.value = 1; thread.dispatchEvent(new Event('change'));
        const shown = document.getElementById('details-facts').textContent;
        return [...all, seen(add), shown].join('\n\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::small()), script));

    let sums = "const calls = new Map(); \
        const { keys: [, callee], now } = edgesOf(data.threads[0]); \
        callee.forEach((method, at) => calls.set(method, (calls.get(method) ?? 0) + now.calls[at])); \
        return `${data.leftOut} ${methodRows().every(({ method, now }) => calls.get(method) === now.calls)}`";
    assert_eq!(run(&page(&common::large(400_000)), sums), "0 true");
}

/// If one thread is chosen, percentages refer to the time of that thread.
#[test]
fn all_views_show_the_chosen_thread() {
    let script = r#"
        const cells = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const thread = document.getElementById('thread');
        thread.value = 1; thread.dispatchEvent(new Event('change'));
        const flame = boxes.flat().map(({ node }) => describe(node).split('\n')[0]).join(', ');
        show('methods');
        const table = cells('rows');
        show('tree');
        return [flame, table, cells('tree-rows')].join('\n\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::small()), script));
}

#[test]
fn totals_that_are_bounds_are_marked() {
    let script = r#"
        const bounds = (id) => [...document.querySelectorAll(`#${id} tr`)].filter((row) => row.textContent.includes('≤'))
            .map((row) => [...row.children].map((cell) => cell.textContent).join(' | ')).join(', ');
        show('methods');
        details(methods.name.indexOf('X.b'));
        const facts = bounds('details-figures');
        return [bounds('rows'), facts, bounds('callers'), document.getElementById('remarks').textContent].join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::recursion_by_two_ways()), script));
}

/// Legend and notes share one line, and only warnings are coloured. `run --explain` adds a note for
/// each method that is not instrumented.
#[test]
fn notes_are_one_line_that_unfolds() {
    let mut profile = common::small();
    let script = r#"
        const notes = document.getElementById('notes');
        const room = () => Math.round(document.querySelector('main').getBoundingClientRect().height / innerHeight * 10);
        const line = document.getElementById('notes-title');
        const colour = (selector) => { const found = document.querySelector(selector); return found ? getComputedStyle(found).color : ''; };
        const isOneLine = line.getBoundingClientRect().height < 30;
        const [quiet, amber] = [colour('#facts') === colour('.counted'), colour('.warned') !== colour('#facts')];
        const closed = room(); notes.open = true; const open = room();
        return [isOneLine, quiet, amber && colour('.warned') === colour('#warnings li'), closed >= 6, open >= 4, line.textContent,
            document.querySelectorAll('#warnings li').length, document.querySelectorAll('#notes-list li').length].join(' ')
    "#;
    let start = "true true true true true 2 warnings: 77 calls are counted as (tree full): too many nodes (raise --max-nodes), too little heap (raise -Xmx), or calls a million deepLegend and 1 note";
    let said = run(&page(&profile), script);
    assert!(said.starts_with(start) && said.ends_with(" 2 1"), "{said}");
    profile.header.notes = (0..5_000)
        .map(|at| format!("com.example.shop.Generated{at}.<init>()V: trivial"))
        .collect();
    profile.header.unmatched = (0..100).map(|at| format!("com.exmaple{at}.**")).collect();
    let said = run(&page(&profile), script);
    assert!(
        said.starts_with("true true true true true 101 warnings: "),
        "{said}"
    );
    assert!(said.ends_with(" 101 5000"), "{said}");
    profile.header.unmatched.clear();
    profile.header.overflowed_calls = 0;
    let said = run(&page(&profile), script);
    assert!(
        said.starts_with("true true true true true Legend and 5,000 notes"),
        "{said}"
    );
}

#[test]
fn large_and_empty_profiles_open() {
    let walk = "for (const name of ['methods', 'tree', 'flame']) show(name); details(0); search('codec'); \
        return `${document.documentElement.dataset.ready} ${nodesOf(data.threads[0]).now.calls.length} ${data.leftOut}`";
    assert_eq!(run(&page(&common::large(100_000)), walk), "true 100000 0");
    // A page with no instrumented method does not mention the tracker's memory.
    let ready = "const text = (id) => document.getElementById(id).textContent; \
        return [document.documentElement.dataset.ready, text('remarks'), text('facts').includes('tracker')].join(' ')";
    let empty = run(&page(&Profile::default()), ready);
    assert_eq!(empty, "true No instrumented method was called false");
}

/// Under the CPU clock, calls of virtual threads are not timed. The page shows dashes for their
/// times, not zeros.
#[test]
fn untimed_calls_have_dashes() {
    let mut profile = common::small();
    for node in &mut profile.threads[1].nodes {
        *node = loadhook_profile::Node {
            timed: 0,
            ..common::node(node.parent, node.method, node.calls, [0, 0, 0])
        };
    }
    let script = r#"
        const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
        const named = (rows, name) => cells([...document.querySelectorAll(rows)].find((row) => row.textContent.includes(name)));
        chooseThread(LAID_OVER);
        const seen = [];
        show('methods');
        seen.push(named('#rows tr', 'lambda$main$0'), named('#rows tr', 'Server.handle'));
        details(methods.name.findIndex((name) => name.includes('lambda$main$0')));
        seen.push(...[...document.querySelectorAll('#details-figures tr')].map(cells));
        seen.push(cells(document.querySelector('#callees tr')));
        show('tree');
        seen.push(named('#tree-rows tr', 'lambda$main$0'));
        show('flame');
        chooseThread(1);
        seen.push(document.getElementById('path').textContent, boxes.flat().length);
        seen.push(describe(0));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&profile), script));
}

/// When the program ended, one thread had returned from the method and another was still in it.
#[test]
fn means_are_of_timed_calls() {
    let mut profile = common::tree_of(
        &["serve", "busy"],
        vec![
            common::node(None, 0, 1, [20, 20, 15]),
            common::node(Some(0), 1, 1, [15, 15, 0]),
        ],
    );
    profile.header.timing = Timing::Exact;
    let mut daemon = profile.threads[0].clone();
    daemon.name = "daemon".into();
    daemon.nodes = vec![
        loadhook_profile::Node {
            timed: 0,
            ..common::node(None, 0, 1, [0, 0, 0])
        },
        common::node(Some(0), 1, 1, [800, 800, 0]),
    ];
    profile.threads.push(daemon);
    // A third thread has called the method three times: it returned twice, after 10 each, and has
    // not returned from the third call.
    let mut worker = profile.threads[0].clone();
    worker.name = "worker".into();
    worker.nodes.truncate(1);
    worker.nodes[0] = loadhook_profile::Node {
        timed: 2,
        ..common::node(None, 0, 3, [20, 20, 0])
    };
    profile.threads.push(worker);
    profile.header.clock = loadhook_profile::Clock::Cpu;
    profile.header.unmatched = vec!["Y".to_owned(), "X::none".to_owned()];
    let script = r#"
        const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
        const named = (rows, name) => cells([...document.querySelectorAll(rows)].find((row) => row.textContent.includes(name)));
        chooseThread(LAID_OVER);
        const seen = [describe(tree.method.indexOf(0)).replaceAll('\n', ' | ')];
        show('methods');
        seen.push(named('#rows tr', 'serve'), document.getElementById('remarks').textContent);
        show('tree');
        seen.push(named('#tree-rows tr', 'serve'));
        details(0);
        seen.push(...[...document.querySelectorAll('#details-figures tr')].map(cells), cells(document.querySelector('#callers tr')));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&profile), script));
}
