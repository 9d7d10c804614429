//! `loadhook heap --format html` in a real browser: its script runs without an
//! error and answers to clicks and words.

mod common;
#[path = "../../heap/tests/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{done, folder, loadhook};
use loadhook_tests::browser::run;
use support::{OBJECT, Writer};

const THREAD: u64 = 0x140;
const EVIL: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

/// As it is shown: `/` is what the VM writes for `.`.
fn evil() -> String {
    EVIL.replace('\u{202e}', "\\u{202e}").replace('/', ".")
}

/// A root that keeps a chain of arrays and two equal strings; names that would be
/// markup. Arrays lie far apart, lest their distances tell of large headers.
fn dump() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.strings();
    for (id, name) in [
        (40, "name"),
        (41, "java/lang/Thread"),
        (42, "park"),
        (43, "Thread.java"),
        (44, EVIL),
    ] {
        writer.text(id, name);
    }
    writer.load_class(40, THREAD, 41);
    writer.load_class(41, 0x150, 44);
    writer.class(THREAD, 0, &[(40, OBJECT)], &[]);
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
    fs::write(folder.path().join("a.hprof"), dump).expect("ours");
    let arguments = ["heap", "a.hprof", "--format", "html", "-o", "page.html"];
    let made = done(&mut loadhook(
        folder.path(),
        &[&arguments, options].concat(),
    ));
    assert_eq!((made.code, &*made.out), (Some(0), ""), "{}", made.err);
    let file = folder.path().join("page.html");
    let mode = fs::metadata(&file).expect("it was written").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    (fs::read_to_string(&file).expect("UTF-8"), made.err)
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
    // Data can end neither its element nor the page.
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
88.8 % | 1,080 | 3 | 1,080 | byte[]
4.6 % | 56 | 2 | 1,144 | java.lang.Object[]
3.9 % | 48 | 2 | 112 | java.lang.String
1.3 % | 16 | 1 | 16 | {evil}
1.3 % | 16 | 1 | 72 | java.lang.Thread
4.6 % | 56 | 2 | 1,144 | java.lang.Object[]
1.3 % | 16 | 1 | 16 | {evil}
3.9 % | 48 | 2 | 112 | java.lang.String
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
94.1 % | 1,144 | 32 | ▸java.lang.Object[] 0x2000
5.9 % | 72 | 16 | ▸java.lang.Thread 0x1200
0.0 % | 0 | 0 | class test.Pair 0x100
0.0 % | 0 | 0 | class java.lang.Object[] 0x110
0.0 % | 0 | 0 | class java.lang.String 0x130

94.1 % | 1,144 | 32 | ▾java.lang.Object[] 0x2000
  85.5 % | 1,040 | 24 | ▾java.lang.Object[] 0x2100
    83.6 % | 1,016 | 1,016 | byte[] 0x2200
  4.6 % | 56 | 24 | ▸java.lang.String 0x1020

5

83.6 % | 1,016 | 1,016 | byte[] 0x2200
2.6 % | 32 | 32 | byte[] 0x8000
2.6 % | 32 | 32 | byte[] 0x8200

3 found";
    assert_eq!(run(&page(&dump(), &[]).0, script), expected);
}

#[test]
fn duplicates_and_threads_are_there() {
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
    let expected = r#"56 bytes wasted by 2 strings of 1 values · 0 bytes wasted by 0 arrays of 0 values
4.6 % | 56 | 2 | 56 | "<b>worker</b>"
▸"<b>worker</b>" java.lang.Thread 0x1200
▾"<b>worker</b>" java.lang.Thread 0x1200
▾java.lang.Thread.park(Thread.java:7)
java.lang.Object[] 0x2000, 32 bytes
true"#;
    assert_eq!(run(&page(&dump(), &[]).0, script), expected);
}

#[test]
fn a_later_dump_adds_what_changed() {
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
    fs::write(folder.path().join("a.hprof"), dump()).expect("ours");
    fs::write(folder.path().join("b.hprof"), writer.finish()).expect("ours");
    let arguments = [
        "heap", "a.hprof", "--diff", "b.hprof", "--format", "html", "-o", "c.html",
    ];
    let made = done(&mut loadhook(folder.path(), &arguments));
    assert_eq!((made.code, &*made.err), (Some(0), ""));
    let both = fs::read_to_string(folder.path().join("c.html")).expect("UTF-8");
    let expected = format!(
        "false
6 of 6 classes changed till b.hprof: 2 objects · 2.0 KB · dumped 2001-09-09 01:46:40 UTC. \
+ is more there; bytes and instances are those there.
+936 | 2,016 | −2 | 1 | byte[]
+24 | 24 | +1 | 1 | test.Pair
−16 | 0 | −1 | 0 | {}
−16 | 0 | −1 | 0 | java.lang.Thread
−48 | 0 | −2 | 0 | java.lang.String
−56 | 0 | −2 | 0 | java.lang.Object[]
−56 | 0 | −2 | 0 | java.lang.Object[]",
        evil()
    );
    assert_eq!(run(&both, script), expected);
    let tab = "return document.getElementById('tab-changes').hidden";
    assert_eq!(run(&page(&dump(), &[]).0, tab), "true");
}

#[test]
fn a_part_of_a_dump_has_a_page_that_says_so() {
    let whole = dump();
    let (page, said) = page(&whole[..whole.len() - 60], &["--partial"]);
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    let script = "return document.getElementById('remarks').textContent";
    let remarks = run(&page, script);
    assert!(
        remarks.starts_with("the dump is cut off: it ends in ")
            && remarks.contains("GC roots and objects may be missing "),
        "{remarks}"
    );
}

/// More objects than a page gets, one of which keeps all others.
#[test]
fn what_is_left_out_is_said() {
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
    // Objects of 24 bytes, two classes, and the array above them.
    let expected = "10,003 smaller objects omitted (by retained size)
202
… 19,800 more
20000
smaller objects: 234.4 KB";
    assert_eq!(run(&page(&writer.finish(), &[]).0, script), expected);
}

#[test]
fn what_fits_no_page_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.hprof");
    fs::write(&path, dump()).expect("ours");
    fs::write(folder.path().join("b.hprof"), dump()).expect("ours");
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
            &["--all"],
            "error: a.hprof: --all, --via and --max-memory are for dumping a process; give a process id",
        ),
    ] {
        let refused = done(&mut loadhook(
            folder.path(),
            &[&["heap", "a.hprof"], options].concat(),
        ));
        assert_eq!((refused.code, &*refused.out), (Some(1), ""));
        assert!(refused.err.starts_with(said), "{}", refused.err);
    }
    assert_eq!(fs::read(&path).expect("it stayed"), dump());
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
    let table = fs::read_to_string(folder.path().join("table")).expect("it was written");
    assert!(table.contains("  java.lang.Object[]\n"), "{table}");
}
