//! Tests of the page's flame graph in a real browser: mouse, touch, keyboard, callers, colours,
//! links, export, differences, narrow windows.
//!
//! Needs `chromium` on the path (`apt-get install chromium`).

mod common;

use std::slice::from_ref;

use loadhook_profile::format::{Format, Options, difference_page};
use loadhook_profile::{Method, Profile};
use loadhook_testkit::browser::{run, run_in};

fn page(profile: &Profile) -> String {
    common::text(Format::Html, profile, &Options::default())
}

fn differences(before: &[Profile], after: &[Profile]) -> String {
    let page =
        difference_page(before, after, &Options::default()).expect("the profiles can be compared");
    let mut text = Vec::new();
    page.write(&mut text)
        .expect("writing to memory cannot fail");
    String::from_utf8(text).expect("the text is UTF-8")
}

/// Functions that the scripts of these tests share: they find boxes by name, click, and press keys.
const HANDS: &str = r#"
    const all = () => boxes.flat();
    const named = (name) => all().find(({ node }) => fullName(graph.method[node]).includes(name));
    const at = (box) => {
        const area = document.getElementById('ground').getBoundingClientRect();
        return { clientX: area.left + box.x + 2, clientY: area.top + topOf(box.level) + 2, bubbles: true };
    };
    const click = (box) => stage.dispatchEvent(new MouseEvent('click', at(box)));
    const key = (key, on = canvas) => on.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    const text = (id) => document.getElementById(id).textContent;
    const names = (nodes) => nodes.map((node) => shortName(graph.method[node])).join(' › ');
    const way = () => names(pathTo(graph, zoomed));
    const cells = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) => [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
"#;

fn with_hands(page: &str, script: &str) -> String {
    run(page, &format!("{HANDS}{script}"))
}

#[test]
fn threads_have_lanes_that_a_click_chooses() {
    let script = r#"
        const seen = [boxes[0].map(({ node }) => fullName(graph.method[node])).join(', ')];
        const lanes = boxes[0].map(({ width }) => width);
        seen.push(boxes[1].every((box) => lanes[0] > box.x || box.x >= lanes[0] - 1));
        click(boxes[0][1]);
        seen.push(threadChosen, document.getElementById('thread').value, names(boxes[0].map(({ node }) => node)), location.hash);
        chooseThread(LAID_OVER);
        seen.push(names(boxes[0].map(({ node }) => node)));
        return seen.join('\n');
    "#;
    let seen = with_hands(&page(&common::small()), script);
    assert_eq!(
        seen,
        "thread main, thread pool-1 \"</script>\"; 木\ntrue\n1\n1\nMain.lambda$main$0;odd\n\
         #flame?thread=1\nMain.main › Main.lambda$main$0;odd"
    );
}

#[test]
fn a_click_opens_details_and_a_second_one_zooms() {
    let script = r#"
        const seen = [all().length];
        stage.dispatchEvent(new PointerEvent('pointermove', { ...at(named('Sum')), pointerType: 'mouse' }));
        seen.push(text('tip').replaceAll('\n', ' | '));
        const before = named('Sum');
        click(before);
        const graphIsNarrower = named('thread main').width < stage.parentElement.parentElement.clientWidth - 300;
        seen.push(text('details-name'), zoomed, graphIsNarrower, cells('details-figures'), cells('callers'), cells('callees'));
        // The details have narrowed the graph and may lie below the pointer. The second click still
        // counts for the node of the first.
        document.getElementById('details-name').dispatchEvent(new MouseEvent('click', { ...at(before), bubbles: true }));
        seen.push(way(), named('Sum').width === named('Main').width);
        key('Escape');
        seen.push(zoomed, all().length, document.getElementById('reset').disabled);
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(with_hands(&page(&common::small()), script));
}

#[test]
fn keys_walk_zoom_reset_and_search() {
    let script = r#"
        const seen = [];
        const step = (name) => { key(name); seen.push(`${name}: ${names(pathTo(graph, chosen))}`); };
        for (const name of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowUp']) step(name);
        key('Enter');
        seen.push(`zoomed: ${way()}`);
        key(' ');
        seen.push(`details: ${text('details-name')}`, document.getElementById('said').textContent.split('\n')[0]);
        key('Escape');
        seen.push(`whole: ${zoomed === -1}`);
        flip(true);
        step('ArrowUp'); step('ArrowUp'); step('ArrowDown');
        key('/', document.body);
        seen.push(document.activeElement.id);
        search('price'); seen.push(text('found'));
        key('Escape', document.getElementById('search'));
        seen.push(`${sought}|${document.activeElement.id}`);
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(with_hands(&page(&common::small()), script));
}

#[test]
fn the_root_can_be_at_the_foot() {
    let script = r#"
        const y = (name) => topOf(named(name).level);
        const top = [y('Main.main') < y('Server.handle'), location.hash];
        document.getElementById('flip').click();
        return [...top, y('Main.main') > y('Server.handle'), y('thread main') + ROW === height, location.hash,
            document.getElementById('flip').textContent].join(' ');
    "#;
    assert_eq!(
        with_hands(&page(&common::small()), script),
        "true  true true #flame?root=foot Root at top"
    );
}

/// The graph of the callers of all methods divides up the self times. The graph of the callers of
/// one method divides up the total time of that method.
#[test]
fn callers_are_a_graph() {
    let script = r#"
        const line = ({ node, level }) => `${'  '.repeat(level)}${fullName(graph.method[node])} ${amount(graph.below[node])}`;
        const drawn = () => { const lines = []; const walk = (node, level) => { for (const one of graph.calleesOf(node)) { lines.push(line({ node: one, level })); walk(one, level + 1); } }; walk(-1, 0); return lines.join('\n'); };
        chooseThread(0);
        const direction = document.getElementById('direction');
        direction.value = 'callers'; direction.dispatchEvent(new Event('change'));
        const every = [drawn(), Math.abs(graph.whole - tree.whole) < 1, location.hash];
        const tip = describe(graph.calleesOf(graph.calleesOf(-1)[0])[0]);
        details(methods.name.findIndex((name) => name.includes('Cart.add(String)')));
        chooseThread(SIDE_BY_SIDE);
        document.getElementById('callers-graph').click();
        const one = [drawn(), direction.selectedOptions[0].textContent, describe(graph.calleesOf(-1)[0])];
        show('tree');
        const rows = cells('tree-rows');
        direction.value = 'callees'; direction.dispatchEvent(new Event('change'));
        return [...every, tip, ...one, rows, graph === tree].join('\n\n');
    "#;
    insta::assert_snapshot!(with_hands(&page(&common::small()), script));
}

#[test]
fn packages_have_hues_and_classes_shades() {
    let mut profile = common::small();
    profile.methods.push(Method::new("libc.so.6", "__poll", ""));
    let native = profile.methods.len() as u32 - 1;
    profile.threads[0]
        .nodes
        .push(common::node(Some(0), native, 1, [common::MS; 3]));
    let script = r#"
        const of = (name) => methods.name.findIndex((other) => other.includes(name));
        const hue = (colour) => colour.match(/\d+/)[0];
        const [main, plugin, cart, server] = ['shop.Main.main', 'Plugin.<init> @app', 'Cart.add(String)', 'Server.handle'].map((name) => colour(of(name)));
        const kinds = ['shop.Main.main', 'HashMap', 'poll', 'tree full'].map((name) => kindOf(of(name)));
        return [
            hue(main) === hue(plugin), hue(cart) === hue(server), hue(main) !== hue(cart), cart !== server,
            kinds.join(' '), new Set(['Main.main', 'HashMap', 'poll', 'tree full'].map((name) => hue(colour(of(name))))).size,
            legend().map(({ text }) => text).join(', '), shortName(of('poll')),
        ].join('\n');
    "#;
    insta::assert_snapshot!(with_hands(&page(&profile), script));
}

#[test]
fn boxes_that_are_mostly_error_are_hatched() {
    let mut profile = common::small();
    // HashMap.get takes 300 ms. The standard error of that time is 180 ms, which is 60 %.
    profile.threads[0].nodes[3].variance = (180.0 * common::MS as f64).powi(2);
    let script = r#"
        const hatched = all().filter(({ node }) => look(node).hatched).map(({ node }) => shortName(graph.method[node]));
        show('methods');
        const faint = [...document.querySelectorAll('#rows tr')].filter((row) => row.querySelector('.unsure')).map((row) => row.lastChild.textContent);
        return [hatched, faint, describe(tree.method.findIndex((method) => fullName(method).includes('HashMap')))].join('\n');
    "#;
    insta::assert_snapshot!(with_hands(&page(&profile), script));
}

#[test]
fn the_address_holds_the_state_of_the_page() {
    let script = r#"
        const first = location.hash;
        const steps = [];
        const step = (does) => { does(); steps.push(location.hash); };
        step(() => chooseThread(0));
        step(() => zoom(named('Server.handle').node));
        step(() => { search('cart'); remember(true); });
        step(() => show('methods'));
        step(() => document.querySelectorAll('#columns button')[3].click());
        step(() => document.querySelectorAll('#columns button')[3].click());
        step(() => show('tree'));
        step(() => showCallers(-1));
        // `go` opens an address within the page, as the browser's back button does.
        const go = (hash) => { location.hash = hash; dispatchEvent(new HashChangeEvent('hashchange')); };
        go(steps[2]);
        const back = [view, threadChosen, way(), sought, text('found')].join(' ');
        go(steps[5]);
        const sorted = [view, order.column.title, order.down, document.querySelector('#columns [aria-sort=ascending]')?.textContent].join(' ');
        go(steps[7]);
        const callers = [view, graph.isCallers, ofMethod].join(' ');
        go('nonsense?thread=77&zoom=zz.zz&callers=x&sort=none');
        return [first, ...steps, back, sorted, callers, [view, threadChosen, zoomed, order.column.title].join(' ')].join('\n');
    "#;
    insta::assert_snapshot!(with_hands(&page(&common::small()), script));
}

#[test]
fn the_sorted_column_has_an_arrow_from_the_start() {
    let heads = "show('methods'); return [...document.querySelectorAll('#columns th')].map((head) => head.textContent).join('|')";
    assert_eq!(
        run(&page(&common::small()), heads),
        "self %|self ↓|±|total|calls|mean|method"
    );
    let options = Options {
        sort: loadhook_profile::format::Sort::Name,
        ..Options::default()
    };
    let by_name = common::text(Format::Html, &common::small(), &options);
    assert_eq!(
        run(&by_name, heads),
        "self %|self|±|total|calls|mean|method ↑"
    );
    let tree =
        "show('tree'); return document.querySelector('#tree-columns [aria-sort]').textContent";
    assert_eq!(run(&page(&common::small()), tree), "total % ↓");
}

#[test]
fn the_shown_graph_can_be_exported() {
    let profile = common::small();
    let script = r#"
        const svg = new DOMParser().parseFromString(svgText(), 'image/svg+xml');
        const png = pngCanvas();
        const whole = collapsedText();
        zoom(named('Cart.add(String, int)').node);
        const links = [];
        HTMLAnchorElement.prototype.click = function () { links.push(this.download); };
        document.getElementById('collapsed-download').click();
        document.getElementById('svg-download').click();
        return [svg.documentElement.namespaceURI.endsWith('/svg'), svg.querySelectorAll('g').length === all().length || svg.querySelectorAll('g').length,
            svg.querySelector('title').textContent.split('\n')[0], png.toDataURL().length > 2000, links.join(' '), text('exported'), collapsedText(), whole].join('\n');
    "#;
    let told = with_hands(&page(&profile), script);
    let (head, _) = told.split_at(told.find("com.example").expect("the page exports stacks"));
    insta::assert_snapshot!(head);
    // The page's export must be equal to the output of `loadhook report --format collapsed`.
    let expected = common::text(Format::Collapsed, &profile, &Options::default());
    let mut expected: Vec<&str> = expected.lines().collect();
    expected.sort_unstable();
    let told = run(&page(&profile), "return collapsedText()");
    let mut told: Vec<&str> = told.lines().collect();
    told.sort_unstable();
    assert_eq!(told, expected);
}

/// The browser's window is 500 pixels wide, and the page inside of it 400.
#[test]
fn narrow_windows_show_names() {
    let script = r#"
        document.body.style.width = '400px';
        draw();
        const context = canvas.getContext('2d');
        context.font = FONT;
        const long = methods.name.findIndex((name) => name.includes('DiscountTableLookup'));
        const forms = [600, 160, 60, 18].map((width) => fitted(context, long, width));
        show('tree');
        unfold(document.querySelectorAll('#tree-rows tr')[3]);
        const seen = () => [...document.querySelectorAll('#tree-rows td:last-child, #rows td:last-child')].every((cell) => {
            const { left, right } = cell.getBoundingClientRect();
            return cell.hidden || cell.offsetParent === null || (left >= 0 && right <= 501 && right - left > 150);
        });
        const tree = seen();
        document.getElementById('tree-view').scrollLeft = 500;
        const scrolled = seen();
        show('methods');
        const isWhole = document.documentElement.scrollWidth <= innerWidth;
        details(long);
        const { top, bottom } = document.getElementById('details').getBoundingClientRect();
        return [...forms, tree, scrolled, seen(), isWhole, top > 300 && bottom <= innerHeight + 1, document.getElementById('details-name').textContent].join('\n');
    "#;
    let seen = run_in(
        &page(&common::small()),
        &format!("{HANDS}{script}"),
        [500, 800],
    );
    insta::assert_snapshot!(seen);
}

/// In a comparison, the width of a box is its weight in the later profile, and its colour the
/// change.
#[test]
fn differences_have_a_graph() {
    let before = common::small();
    let mut after = common::small();
    let main = &mut after.threads[0].nodes;
    // The discount's table takes four times as long as before, and the maps half as long.
    for (node, more) in [(6, 300), (5, 300), (4, 300), (1, 300), (0, 300)] {
        let node = &mut main[node];
        node.all_ns += more * common::MS;
        node.outermost_ns += more * common::MS;
        node.child_ns += if node.method == 6 {
            0
        } else {
            more * common::MS
        };
    }
    for (node, less) in [(3, 150), (2, 150), (1, 150), (0, 150)] {
        let node = &mut main[node];
        node.all_ns -= less * common::MS;
        node.outermost_ns -= less * common::MS;
        node.child_ns -= if node.method == 7 {
            0
        } else {
            less * common::MS
        };
    }
    // One method is missing in the later profile.
    after.threads[0].nodes.remove(8);
    let script = r#"
        const kind = (name) => { const change = changeOf(graph, named(name).node); return `${name} ${change.toFixed(2)} ${nodeColour(graph, named(name).node).match(/\d+/)[0]}`; };
        const seen = ['DiscountTableLookup', 'HashMap', 'Cart.add(String)'].map(kind);
        seen.push(Math.abs(named('Discount').width / named('thread main').width - graph.below[named('Discount').node] / graph.below[named('thread main').node]) < 1e-6);
        seen.push(legend().map(({ text }) => text).join(', '), describe(named('Discount').node));
        click(named('Discount'));
        seen.push(cells('details-figures'), cells('callers'));
        show('methods');
        seen.push(cells('columns'), cells('rows'), text('facts'), text('warnings'), text('remarks'));
        return seen.join('\n');
    "#;
    let one = with_hands(&differences(from_ref(&before), from_ref(&after)), script);
    insta::assert_snapshot!(one);
    // With several runs of each side, the page shows their mean. If the same runs are given twice,
    // only the words differ.
    let twice = [before.clone(), before];
    let other = with_hands(&differences(&twice, &[after.clone(), after]), script);
    let numbers = |text: &str| text.lines().take(10).collect::<Vec<_>>().join("\n");
    assert_eq!(numbers(&other), numbers(&one));
    assert!(
        other.contains("2 runs, compared with 2 runs before"),
        "{other}"
    );
    assert!(!other.contains("only one run"), "{other}");
}

/// The tables of a difference have more columns than fit beside the details.
#[test]
fn names_stay_in_view_beside_the_details() {
    let script = r#"
        show('methods');
        details(0);
        const name = document.querySelector('#rows td:last-child').getBoundingClientRect();
        const beside = document.getElementById('details').getBoundingClientRect();
        const view = document.getElementById('methods-view');
        return [view.scrollWidth > view.clientWidth, name.width > 150, name.right <= beside.left + 1].join(' ');
    "#;
    let runs = [common::small()];
    assert_eq!(
        with_hands(&differences(&runs, &runs), script),
        "true true true"
    );
}
