//! Tests of the page's threads that only waited, in a real browser.

mod common;

use std::slice::from_ref;

use common::{server, text};
use loadhook_profile::format::{Format, Options, difference_page};
use loadhook_testkit::browser::run;

/// Functions that the scripts of these tests share.
const HANDS: &str = r#"
    const text = (id) => (document.getElementById(id).hidden ? '(hidden)' : document.getElementById(id).innerText.trim());
    const lanes = () => (boxes[0] ?? []).map(({ node }) => fullName(graph.method[node])).join(', ');
    const state = () => [lanes(), text('sums'), text('waited'), location.hash, percent(tree.whole)].join('\n');
    const rows = () => methodRows().map(({ now }) => now.total).reduce((a, b) => Math.max(a, b));
"#;

#[test]
fn threads_that_only_waited_are_folded() {
    let script = r#"
        const seen = [state(), amount(rows())];
        seen.push([...document.querySelectorAll('#thread optgroup option')].map((option) => option.text).join(', '));
        document.getElementById('show-waited').click();
        seen.push(state(), amount(rows()));
        // The browser's back button opens the previous address.
        location.hash = '#flame'; dispatchEvent(new HashChangeEvent('hashchange'));
        seen.push(lanes());
        location.hash = '#methods?waiting=shown'; dispatchEvent(new HashChangeEvent('hashchange'));
        seen.push(text('waited'), methodRows().length);
        chooseThread(data.threads.findIndex(({ name }) => name === 'idle-1'));
        seen.push(text('sums'), text('waited'), percent(tree.whole));
        return seen.join('\n');
    "#;
    let page = text(Format::Html, &server(), &Options::default());
    insta::assert_snapshot!(run(&page, &format!("{HANDS}{script}")));
}

#[test]
fn threads_that_the_user_names_are_not_folded() {
    let named = |name: &str| name.starts_with("idle");
    let options = Options {
        thread: Some(&named),
        ..Options::default()
    };
    let page = text(Format::Html, &server(), &options);
    let script = "return [lanes(), text('waited')].join(' | ')";
    assert_eq!(
        run(&page, &format!("{HANDS}{script}")),
        "thread idle-1, thread idle-2 | (hidden)"
    );
}

#[test]
fn threads_that_only_waited_are_not_compared() {
    let server = server();
    let page = difference_page(from_ref(&server), from_ref(&server), &Options::default());
    let page = page.expect("the profiles can be compared");
    let mut text = Vec::new();
    page.write(&mut text)
        .expect("writing to memory cannot fail");
    let text = String::from_utf8(text).expect("the text is UTF-8");
    let script =
        "return [data.threads.length, boxes[0].length, text('sums'), text('waited')].join(' | ')";
    assert_eq!(
        run(&text, &format!("{HANDS}{script}")),
        "5 | 3 | (hidden) | Only waited (4.00 s), not counted: idle-1, idle-2 Show"
    );
}
