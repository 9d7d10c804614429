//! Tests of `loadhook heap --format html` in a real browser: the scripts run without an error, and
//! react to clicks and search texts.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{done, folder, loadhook};
use loadhook_testkit::browser::{run, run_in};
use loadhook_testkit::dump::{THREAD, Writer};

const EVIL: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

/// Returns the name of the evil class as the page shows it: class files separate packages by `/`, the
/// page by `.`.
fn evil() -> String {
    EVIL.replace('\u{202e}', "\\u{202e}").replace('/', ".")
}

/// Makes a dump with a root that retains a chain of arrays and two equal strings. Some names contain
/// markup. Arrays lie far apart, because the reader infers the size of array headers from the
/// distances between arrays.
fn dump() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    writer.threads();
    for (id, name) in [(42, "park"), (43, "Thread.java"), (44, EVIL)] {
        writer.text(id, name);
    }
    writer.load_class(41, 0x150, 44);
    writer.class(0x150, 0, &[], &[]);
    writer.frame(0x51, 42, 43, 40, 7);
    writer.stack(2, 1, &[0x51]);
    writer.instance(0x1200, THREAD, &0x1000_u64.to_be_bytes());
    writer.root(0x08, 0x1200, &[1, 2]);
    writer.string(0x1000, 0x8000, 0);
    writer.string(0x1020, 0x8200, 0);
    writer.bytes(0x8000, b"<b>worker</b>");
    writer.bytes(0x8200, b"<b>worker</b>");
    writer.instance(0x1300, 0x150, &[]);
    writer.object_array(0x2000, &[0x2100, 0x1020, 0x1300]);
    writer.object_array(0x2100, &[0x2200]);
    writer.bytes(0x2200, &[7; 1000]);
    writer.root(0x03, 0x2000, &[1, 0]);
    writer.finish()
}

fn page(dump: &[u8], options: &[&str]) -> (String, String) {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), dump).expect("the test file can be written");
    let arguments = ["heap", "a.hprof", "--format", "html", "-o", "page.html"];
    let made = done(&mut loadhook(
        folder.path(),
        &[&arguments, options].concat(),
    ));
    assert_eq!((made.code, &*made.out), (Some(0), ""), "{}", made.err);
    let file = folder.path().join("page.html");
    let mode = fs::metadata(&file)
        .expect("the metadata can be read")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    (
        fs::read_to_string(&file).expect("the text is UTF-8"),
        made.err,
    )
}

#[test]
fn nothing_comes_from_outside() {
    let (page, _) = page(&dump(), &[]);
    for word in ["http:", "https:", "src=x", "@import", "url("] {
        let found = page.find(word).map(|at| &page[at.saturating_sub(60)..at]);
        assert!(
            found.is_none_or(|before| before.contains("\\u003cimg")),
            "{word}"
        );
    }
    // Markup in the data must end neither the script element nor the page. So the page has only two
    // end tags of scripts.
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn classes_sort_and_filter() {
    let script = r#"
        const rows = () => [...document.querySelectorAll('#class-rows tr')].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const press = (title) => [...document.querySelectorAll('#class-columns button')].find((b) => b.textContent.startsWith(title)).click();
        const seen = [document.documentElement.dataset.ready, document.getElementById('facts').textContent, rows()];
        press('retained'); seen.push(rows().split('\n')[0]);
        press('class'); seen.push(rows().split('\n')[0]);
        search('STRING'); seen.push(rows(), document.querySelector('mark').textContent, document.getElementById('found').textContent);
        return seen.join('\n');
    "#;
    let evil = evil();
    let expected = format!(
        "true
9 objects · 1.2 KB · dumped 2001-09-09 01:46:40 UTC · ids of 8 bytes
88.8 % | 1.1 KB | 3 | 1.1 KB | byte[]
4.6 % | 56 bytes | 2 | 1.1 KB | java.lang.Object[]
3.9 % | 48 bytes | 2 | 112 bytes | java.lang.String
1.3 % | 16 bytes | 1 | 16 bytes | {evil}
1.3 % | 16 bytes | 1 | 72 bytes | java.lang.Thread
4.6 % | 56 bytes | 2 | 1.1 KB | java.lang.Object[]
1.3 % | 16 bytes | 1 | 16 bytes | {evil}
3.9 % | 48 bytes | 2 | 112 bytes | java.lang.String
String
1 found"
    );
    assert_eq!(run(&page(&dump(), &[]).0, script), expected);
}

#[test]
fn the_tree_of_objects_opens() {
    let script = r#"
        const rows = () => [...document.querySelectorAll('#object-rows tr')];
        const lines = () => rows().map((row) =>
            '  '.repeat(row.level) + [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        show('objects');
        const seen = [lines()];
        rows()[0].click();
        rows()[1].dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        seen.push(lines().split('\n').slice(0, 4).join('\n'));
        rows()[0].click();
        seen.push(rows().length);
        search('byte[]'); seen.push(lines(), document.getElementById('found').textContent);
        return seen.join('\n\n');
    "#;
    let expected = "\
94.1 % | 1.1 KB | 32 bytes | ▸java.lang.Object[] 0x2000
5.9 % | 72 bytes | 16 bytes | ▸java.lang.Thread 0x1200
0.0 % | 0 bytes | 0 bytes | class test.Pair 0x100
0.0 % | 0 bytes | 0 bytes | class java.lang.Object[] 0x110
0.0 % | 0 bytes | 0 bytes | class java.lang.String 0x130

94.1 % | 1.1 KB | 32 bytes | ▾java.lang.Object[] 0x2000
  85.5 % | 1.0 KB | 24 bytes | ▾java.lang.Object[] 0x2100
    83.6 % | 1,016 bytes | 1,016 bytes | byte[] 0x2200
  4.6 % | 56 bytes | 24 bytes | ▸java.lang.String 0x1020

5

83.6 % | 1,016 bytes | 1,016 bytes | byte[] 0x2200
2.6 % | 32 bytes | 32 bytes | byte[] 0x8000
2.6 % | 32 bytes | 32 bytes | byte[] 0x8200

3 found";
    assert_eq!(run(&page(&dump(), &[]).0, script), expected);
}

/// A script that returns the lines of the details panel: its headings, paragraphs, rows and list
/// items.
const DETAILS: &str = r#"
    const details = () => [...document.querySelectorAll('#details-content :is(h2, h3, p, tr, li)')].map((part) =>
        part.tagName === 'TR' ? [...part.children].map((cell) => cell.textContent).join(' | ') : part.textContent).join('\n');
    const open = (what) => { location.hash = what; route(); return details(); };
"#;

#[test]
fn a_class_has_its_instances_and_an_object_its_fields() {
    let script = DETAILS.to_owned()
        + r#"
        const seen = [document.getElementById('details').hidden];
        const link = [...document.querySelectorAll('#class-rows a')].find((a) => a.textContent === 'java.lang.String');
        seen.push(open(link.hash), document.getElementById('details').hidden);
        const [first] = document.querySelectorAll('#details-content a');
        seen.push(first.hash, open(first.hash), open('#objects/0x1200'), open('#objects/0x2200'));
        seen.push(document.getElementById('objects').hidden, open('#objects/0x9999'), document.getElementById('details').hidden);
        return seen.join('\n');
    "#;
    let expected = r#"true
java.lang.String
2 instances · 48 bytes · retaining 112 bytes (9.2 %)
Instances that retain most
retained | bytes | object
56 bytes | 24 bytes | java.lang.String 0x1000 "<b>worker</b>"
56 bytes | 24 bytes | java.lang.String 0x1020 "<b>worker</b>"
false
#classes/0x1000
java.lang.String 0x1000
24 bytes, retains 56 bytes (4.6 %) · all instances of its class
"<b>worker</b>" · length 13
Fields
name | type | value
value | byte[] | byte[] 0x8000 {60, 98, 62, 119, 111, 114, 107, 101, 114, 60, 47, 98, 62}
coder | byte | 0
Referred to by 1 object
name of java.lang.Thread 0x1200
Path to the root
↑ name of java.lang.Thread 0x1200
root: thread "<b>worker</b>" 0x1200
java.lang.Thread 0x1200
16 bytes, retains 72 bytes (5.9 %) · all instances of its class
Fields
name | type | value
name | java.lang.String | java.lang.String 0x1000 "<b>worker</b>"
Referred to by 0 objects
Path to the root
root: thread "<b>worker</b>" 0x1200
byte[] 0x2200
1,016 bytes, retains 1,016 bytes (83.6 %) · all instances of its class
{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,…} · length 1,000
Referred to by 1 object
[0] of java.lang.Object[] 0x2100
Path to the root
↑ [0] of java.lang.Object[] 0x2100
↑ [0] of java.lang.Object[] 0x2000
root: variable of thread "<b>worker</b>" 0x1200 in java.lang.Thread.park(Thread.java:7)
false

true"#;
    assert_eq!(run(&page(&dump(), &[]).0, &script), expected);
}

/// The dump has a chain that leads to an array with objects of two classes, and many roots of one
/// class.
#[test]
fn suspects_are_shown_with_their_accumulation_point() {
    let mut writer = Writer::new();
    writer.pair(0x1000, 0x2000, 0);
    writer.root(0x03, 0x1000, &[1, 0]);
    let arrays: Vec<u64> = (0..10).map(|at| 0x10_0000 + 0x1000 * at).collect();
    writer.object_array(0x2000, &[&arrays[..], &[0x3000]].concat());
    for id in &arrays {
        writer.bytes(*id, &[1; 984]);
    }
    writer.pair(0x3000, 0, 0);
    // Each of 100 pairs is referred to by two arrays, so neither array dominates it: only roots do.
    let pairs: Vec<u64> = (0..100).map(|at| 0x20_0000 + 0x20 * at).collect();
    writer.object_array(0x4000, &pairs);
    writer.object_array(0x5000, &pairs);
    for id in &pairs {
        writer.pair(*id, 0, 0);
    }
    writer.root(0x01, 0x4000, &[0, 0]);
    writer.root(0x01, 0x5000, &[0, 0]);
    let script = r#"
        show('suspects');
        const shown = [...document.querySelectorAll('#suspect-rows :is(p, h3, li)')].map((part) => part.textContent);
        return shown.join('\n');
    "#;
    let shown = run(&page(&writer.finish(), &[]).0, script);
    let expected = "\
test.Pair 0x1000 retains 9.9 KB (75.8 %). Nearly all of this memory is retained by java.lang.Object[] 0x2000, \
which retains 9.9 KB. Directly below this object, 10 objects of byte[] retain 9.8 KB.
Dominated by the accumulation point
10 objects of byte[] · retain 9.8 KB · the largest byte[] 0x100000
1 object of test.Pair · retains 24 bytes · test.Pair 0x3000
100 objects of test.Pair together retain 2.3 KB (18.0 %); each of them alone retains less than 10 %. \
Nearly all paths to them go through java.lang.Object[] 0x4000.
The largest of them
";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(
        shown.contains("\ntest.Pair 0x200000 · retains 24 bytes"),
        "{shown}"
    );
}

/// On a narrow screen nothing exceeds the width. A name that does not fit is cut at its beginning;
/// the details panel shows all of it.
#[test]
fn a_narrow_screen_shows_names_and_numbers() {
    let long = format!(
        "some/{}/Last",
        "very/long/package/".repeat(6).trim_end_matches('/')
    );
    let mut writer = Writer::new();
    writer.text(70, &long);
    writer.load_class(70, 0x300, 70);
    writer.class(0x300, 0, &[], &[]);
    writer.instance(0x1000, 0x300, &[]);
    writer.root(0x03, 0x1000, &[1, 0]);
    let script = DETAILS.to_owned()
        + r#"
        // Headless browsers have a minimum width of 500 pixels, so the page's body is made
        // narrower.
        document.body.style.width = '400px';
        const width = document.body.clientWidth;
        const seen = [innerWidth, width];
        for (const name of ['classes', 'objects']) {
            show(name);
            const cells = [...document.querySelectorAll(`#${name} td`)];
            seen.push(cells.every((cell) => cell.getBoundingClientRect().right <= width + 1));
            const cell = cells.find((cell) => cell.textContent.includes('very.long'));
            const box = cell.getBoundingClientRect();
            const text = cell.querySelector('bdi').getBoundingClientRect();
            // The end of the name is inside the box, its beginning outside.
            seen.push(box.left >= 0 && text.right <= box.right + 1, text.left < box.left);
        }
        seen.push(open('#objects/0x1000').split('\n')[0]);
        const panel = document.getElementById('details');
        seen.push(panel.scrollWidth <= width, document.body.scrollWidth <= width);
        return seen.join('\n');
    "#;
    let shown = run_in(&page(&writer.finish(), &[]).0, &script, [500, 800]);
    let name = long.replace('/', ".");
    let expected = format!("500\n400\n{}{name} 0x1000\ntrue\ntrue", "true\n".repeat(6));
    assert_eq!(shown, expected);
}

#[test]
fn duplicates_and_threads_are_shown() {
    let script = r#"
        const cells = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        show('duplicates');
        const seen = [document.getElementById('sums').textContent, cells('duplicate-rows')];
        show('threads');
        const rows = () => [...document.querySelectorAll('#thread-rows tr')];
        seen.push(cells('thread-rows'));
        rows()[0].click();
        rows()[1].click();
        seen.push(cells('thread-rows'), document.querySelector('img') === null);
        return seen.join('\n');
    "#;
    let expected = r#"56 bytes wasted by duplicates: 2 strings have 1 distinct value · 0 bytes wasted by duplicates: 0 arrays have 0 distinct values
4.6 % | 56 bytes | 2 | 56 bytes | "<b>worker</b>"
▸"<b>worker</b>" java.lang.Thread 0x1200
▾"<b>worker</b>" java.lang.Thread 0x1200
▾java.lang.Thread.park(Thread.java:7)
java.lang.Object[] 0x2000, 32 bytes
true"#;
    assert_eq!(run(&page(&dump(), &[]).0, script), expected);
}

#[test]
fn a_later_dump_adds_the_changes() {
    let script = r#"
        const seen = [document.getElementById('tab-changes').hidden];
        show('changes');
        seen.push(document.getElementById('later').textContent);
        const rows = () => [...document.querySelectorAll('#change-rows tr')].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        seen.push(rows());
        [...document.querySelectorAll('#change-columns button')][0].click();
        [...document.querySelectorAll('#change-columns button')][0].click();
        seen.push(rows().split('\n')[0]);
        return seen.join('\n');
    "#;
    let folder = folder();
    let mut writer = Writer::new();
    writer.strings();
    writer.bytes(0x2000, &[1; 2000]);
    writer.pair(0x1000, 0, 0);
    fs::write(folder.path().join("a.hprof"), dump()).expect("the test file can be written");
    fs::write(folder.path().join("b.hprof"), writer.finish())
        .expect("the test file can be written");
    let arguments = [
        "heap", "a.hprof", "--diff", "b.hprof", "--format", "html", "-o", "c.html",
    ];
    let made = done(&mut loadhook(folder.path(), &arguments));
    assert_eq!((made.code, &*made.err), (Some(0), ""));
    let both = fs::read_to_string(folder.path().join("c.html")).expect("the text is UTF-8");
    let expected = format!(
        "false
6 of 6 classes have changed in b.hprof: 2 objects · 2.0 KB · dumped 2001-09-09 01:46:40 UTC. \
Bytes and instances are those of b.hprof; a + means that b.hprof has more.
+936 bytes | 2.0 KB | −2 | 1 | byte[]
+24 bytes | 24 bytes | +1 | 1 | test.Pair
−16 bytes | 0 bytes | −1 | 0 | {}
−16 bytes | 0 bytes | −1 | 0 | java.lang.Thread
−48 bytes | 0 bytes | −2 | 0 | java.lang.String
−56 bytes | 0 bytes | −2 | 0 | java.lang.Object[]
−56 bytes | 0 bytes | −2 | 0 | java.lang.Object[]",
        evil()
    );
    assert_eq!(run(&both, script), expected);
    let tab = "return document.getElementById('tab-changes').hidden";
    assert_eq!(run(&page(&dump(), &[]).0, tab), "true");
}

#[test]
fn the_page_of_a_partial_dump_has_warnings() {
    let whole = dump();
    let (page, said) = page(&whole[..whole.len() - 60], &["--partial"]);
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    let script = "return document.getElementById('warnings').textContent";
    let warnings = run(&page, script);
    assert!(
        warnings.starts_with("the dump is cut off: it ends in ")
            && warnings.contains("GC roots and objects may be missing "),
        "{warnings}"
    );
}

#[test]
fn only_warnings_are_coloured() {
    let colours = "
        const colour = (id) => getComputedStyle(document.getElementById(id)).color;
        const [warnings, remarks, facts] = ['warnings', 'remarks', 'facts'].map(colour);
        return [warnings === remarks, remarks === facts, document.getElementById('notes').hidden,
            document.getElementById('notes').open].join(' ');";
    assert_eq!(run(&page(&dump(), &[]).0, colours), "false true true false");
}

/// A dump with more objects than a page shows. One of them retains all others.
#[test]
fn the_numbers_of_omitted_rows_are_shown() {
    let mut writer = Writer::new();
    let ids: Vec<u64> = (0..30_000).map(|at| 0x10_0000 + 32 * at).collect();
    writer.object_array(0x2000, &ids);
    for id in &ids {
        writer.pair(*id, 0, 0);
    }
    writer.root(0x03, 0x2000, &[1, 0]);
    let script = r#"
        show('objects');
        const rows = () => [...document.querySelectorAll('#object-rows tr')];
        rows()[0].click();
        rows().at(-1).click();
        const more = rows().at(-1).textContent;
        const all = keptBy(objects.id.indexOf('0x2000'));
        return [document.getElementById('remarks').textContent, rows().length, more, all.length, all.at(-1)].join('\n');
    "#;
    // The 10,003 rows omitted are objects of 24 bytes, two classes, and the array that refers to
    // the objects.
    let expected = "10,003 smaller objects omitted (by retained size)
202
… 19,800 more
20000
smaller objects: 234 KB";
    assert_eq!(run(&page(&writer.finish(), &[]).0, script), expected);
}

#[test]
fn options_that_do_not_fit_a_page_are_refused() {
    let folder = folder();
    let path = folder.path().join("a.hprof");
    fs::write(&path, dump()).expect("the test file can be written");
    fs::write(folder.path().join("b.hprof"), dump()).expect("the test file can be written");
    for (options, said) in [
        (
            &["--format", "html", "--threads"][..],
            "error: --format html shows all views of a dump; ",
        ),
        (
            &["-o", "./a.hprof"],
            "error: ./a.hprof: the output would replace the dump; give -o another name",
        ),
        (
            &["--max-memory", "1k"],
            "error: a.hprof: --via and --max-memory are for dumping a process; give a process id",
        ),
    ] {
        let refused = done(&mut loadhook(
            folder.path(),
            &[&["heap", "a.hprof"], options].concat(),
        ));
        assert_eq!((refused.code, &*refused.out), (Some(1), ""));
        assert!(refused.err.starts_with(said), "{}", refused.err);
    }
    assert_eq!(fs::read(&path).expect("the dump is unchanged"), dump());
    let process = done(&mut loadhook(
        folder.path(),
        &["heap", "1", "-o", "new", "--threads"],
    ));
    assert!(
        process.err.starts_with("error: 1 is a process id, and "),
        "{}",
        process.err
    );
    let table = done(&mut loadhook(
        folder.path(),
        &["heap", "a.hprof", "-o", "table"],
    ));
    assert_eq!((table.code, &*table.out), (Some(0), ""), "{}", table.err);
    let table = fs::read_to_string(folder.path().join("table")).expect("the test file can be read");
    assert!(table.contains("  java.lang.Object[]\n"), "{table}");
}
