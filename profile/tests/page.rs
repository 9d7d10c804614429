//! The HTML report in a real browser: its script runs without an error and
//! answers to clicks, keys and words.
//!
//! Needs `chromium` on the path (`apt-get install chromium`).

mod common;

use loadhook_profile::format::{Format, Options};
use loadhook_profile::{Profile, Timing};
use loadhook_tests::browser::run;

fn page(profile: &Profile) -> String {
    let mut page = Vec::new();
    let written = Format::Html.write(profile, &Options::default(), &mut page);
    written.expect("a vector takes all");
    String::from_utf8(page).expect("UTF-8")
}

#[test]
fn the_script_runs() {
    let result = run(
        &page(&common::small()),
        "const text = (id) => document.getElementById(id).textContent; \
            return [document.documentElement.dataset.ready, text('facts').includes(' · 2 threads and groups · '), text('command')].join(' ')",
    );
    assert_eq!(
        result,
        "true true java -jar shop.jar --greeting '</script><b>&amp;'"
    );
}

#[test]
fn nothing_comes_from_outside() {
    let page = page(&common::small());
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    // Data can end neither its element nor the page.
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
fn the_flame_graph_zooms_and_searches() {
    let script = r#"
        const seen = [boxes.length];
        const at = (box) => {
            const area = canvas.getBoundingClientRect();
            return { clientX: area.left + box.x + 2, clientY: area.top + box.y + 2, bubbles: true };
        };
        const named = (name) => boxes.find((box) => methods.name[tree.method[box.node]].includes(name));
        canvas.dispatchEvent(new MouseEvent('mousemove', at(named('Sum'))));
        seen.push(document.getElementById('tip').textContent.replaceAll('\n', ' | '));
        canvas.dispatchEvent(new MouseEvent('click', at(named('Sum'))));
        seen.push(document.getElementById('path').textContent);
        seen.push(named('Sum').width === named('Main').width, boxes.length);
        canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }));
        seen.push(document.getElementById('path').textContent);
        document.getElementById('reset').click();
        seen.push(zoomed, boxes.length);
        canvas.dispatchEvent(new MouseEvent('click', { ...at(named('HashMap')), ctrlKey: true }));
        seen.push(document.getElementById('details-name').textContent);
        search('price'); seen.push(document.getElementById('found').textContent);
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
        return [table, tree, boxes.length].join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&profile), script));
}

/// Bytes take the place of times; both are there where both were looked at.
#[test]
fn allocations_have_a_page() {
    let mut profile = common::small();
    profile.allocations = Some(common::sampled());
    let script = r#"
        const text = (id) => document.getElementById(id).textContent;
        const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
        show('methods');
        const head = cells(document.querySelector('#columns tr'));
        const first = cells(document.querySelector('#rows tr'));
        details(Math.max(0, methods.name.indexOf('int[]')));
        const callers = cells(document.querySelector('#callers tr'));
        const measure = document.getElementById('measure');
        show('flame');
        return [text('facts').split(' · ').slice(1).join(' · '), head, first, callers, measure.hidden, measure.options.length, describe(boxes[1].node)].join('\n');
    "#;
    let both = page(&profile);
    insta::assert_snapshot!(run(&both, script));
    let of_bytes = both.replace("location.hash.slice(1)", "'allocated'");
    insta::assert_snapshot!(run(&of_bytes, script));
    for thread in &mut profile.threads {
        thread.nodes.clear();
    }
    let alone = page(&profile);
    let options =
        "return [...document.getElementById('measure').options].map((o) => o.value).join(' ')";
    assert_eq!(run(&alone, options), "live allocated");
    let remarks = "return [...document.querySelectorAll('#remarks li')].map((line) => line.textContent).join('\\n')";
    let exact = page(&common::alone(common::allocations()));
    let said = run(&exact, remarks);
    assert!(
        said.contains("7 objects have unknown sizes: ") && !said.contains("no known time"),
        "{said}"
    );
    // Types are estimates; that methods make nothing themselves is certain.
    let script = r#"
        show('methods');
        const date = document.getElementById('facts').textContent.split(' · ')[0];
        const cells = (row) => [...row.children].map((cell) => cell.textContent).join(' | ');
        const named = (name) => [...document.querySelectorAll('#rows tr')].find((row) => row.lastChild.textContent.includes(name));
        const rows = ['int[]', 'Server.handle', 'Gone'].map((name) => cells(named(name)));
        return [data.measure, date, ...rows, describe(tree.method.findIndex((method) => methods.name[method].includes('handle')))].join('\n');
    "#;
    insta::assert_snapshot!(run(&alone, script));
}

/// The chosen thread and what the page leaves out do not change them.
#[test]
fn callers_and_callees_are_those_of_all_threads() {
    let script = r#"
        const named = (name) => methods.name.findIndex((other) => other.includes(name));
        const lines = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const seen = (method) => {
            details(method);
            return [document.getElementById('details-facts').textContent, lines('callers'), lines('callees')].join('\n');
        };
        const add = named('Cart.add(String)');
        const all = seen(add);
        const thread = document.getElementById('thread');
        thread.value = 1; thread.dispatchEvent(new Event('change'));
        return [all, all === seen(add), seen(named('Server.handle')), seen(named('Sum.evaluate'))].join('\n\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::small()), script));

    let sums = "const calls = new Map(); \
        edges.callee.forEach((method, at) => calls.set(method, (calls.get(method) ?? 0) + edges.calls[at])); \
        return `${data.leftOut} ${rows.method.every((method, at) => calls.get(method) === rows.calls[at])}`";
    assert_eq!(run(&page(&common::large(400_000)), sums), "200000 true");
}

#[test]
fn totals_that_are_bounds_are_marked() {
    let script = r#"
        const bounds = (id) => [...document.querySelectorAll(`#${id} tr`)].filter((row) => row.textContent.includes('≤'))
            .map((row) => [...row.children].map((cell) => cell.textContent).join(' | ')).join(', ');
        show('methods');
        details(methods.name.indexOf('X.b'));
        const facts = document.getElementById('details-facts').textContent;
        return [bounds('rows'), facts, bounds('callers'), document.getElementById('remarks').textContent].join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&common::recursion_by_two_ways()), script));
}

/// As `run --explain` makes them: one for each method left alone.
#[test]
fn many_notes_leave_room_for_the_rest() {
    let mut profile = common::small();
    let script = "const notes = document.getElementById('notes'); \
        const room = () => Math.round(document.querySelector('main').getBoundingClientRect().height / innerHeight * 10); \
        const closed = room(); notes.open = true; const open = room(); \
        return [notes.hidden, document.getElementById('notes-title').textContent, \
            document.querySelectorAll('#remarks li').length, document.querySelectorAll('#notes-list li').length, \
            closed >= 6, open >= 4].join(' ')";
    assert_eq!(run(&page(&profile), script), "true 1 notes 5 0 true true");
    profile.header.notes = (0..5_000)
        .map(|at| format!("com.example.shop.Generated{at}.<init>()V: trivial"))
        .collect();
    profile.header.unmatched = (0..100).map(|at| format!("com.exmaple{at}.**")).collect();
    assert_eq!(
        run(&page(&profile), script),
        "false 5,000 notes 103 5000 true true"
    );
}

#[test]
fn large_and_empty_profiles_open() {
    let walk = "for (const name of ['methods', 'tree', 'flame']) show(name); details(0); search('codec'); \
        return `${document.documentElement.dataset.ready} ${data.threads[0].method.length} ${data.leftOut}`";
    assert_eq!(run(&page(&common::large(100_000)), walk), "true 100000 0");
    let cut = "true 200000 200000";
    let mut large = common::large(400_000);
    assert_eq!(run(&page(&large), walk), cut);
    // Nodes without time are as many as there is room for, too.
    for node in large.threads.iter_mut().flat_map(|t| &mut t.nodes).skip(3) {
        (node.all_ns, node.outermost_ns, node.child_ns) = (0, 0, 0);
    }
    assert_eq!(run(&page(&large), walk), cut);
    // Where nothing was instrumented there is no tracker.
    let ready = "const text = (id) => document.getElementById(id).textContent; \
        return [document.documentElement.dataset.ready, text('remarks'), text('facts').includes('tracker')].join(' ')";
    let empty = run(&page(&Profile::default()), ready);
    assert_eq!(empty, "true No instrumented method was called false");
}

/// Virtual threads by the CPU clock: no zeros where nothing was timed.
#[test]
fn what_was_not_timed_has_dashes() {
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
        const seen = [];
        show('methods');
        seen.push(named('#rows tr', 'lambda$main$0'), named('#rows tr', 'Server.handle'));
        details(methods.name.findIndex((name) => name.includes('lambda$main$0')));
        seen.push(document.getElementById('details-facts').textContent);
        seen.push(cells(document.querySelector('#callees tr')));
        show('tree');
        seen.push(named('#tree-rows tr', 'lambda$main$0'));
        show('flame');
        chooseThread(1);
        seen.push(document.getElementById('path').textContent, boxes.length);
        seen.push(describe(0));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&profile), script));
}

/// The program's end came while another thread was in the method.
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
    // And a third one left it twice, after 10 each, and came again.
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
        const seen = [describe(tree.method.indexOf(0)).replaceAll('\n', ' | ')];
        show('methods');
        seen.push(named('#rows tr', 'serve'), document.getElementById('remarks').textContent);
        show('tree');
        seen.push(named('#tree-rows tr', 'serve'));
        details(0);
        seen.push(document.getElementById('details-facts').textContent, cells(document.querySelector('#callers tr')));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&profile), script));
}
