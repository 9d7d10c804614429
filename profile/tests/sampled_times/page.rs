//! Tests of the page in a browser.

use loadhook_profile::Profile;
use loadhook_profile::format::{Format, Options, difference_page};
use loadhook_testkit::browser::run;

use crate::common::text;
use crate::comparisons::later;
use crate::shop::{counted, shop};

fn page(profile: &Profile) -> String {
    text(Format::Html, profile, &Options::default())
}

#[test]
fn the_page_has_calls_and_waiting() {
    let script = r#"
        const cells = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const text = (id) => document.getElementById(id).textContent;
        const flame = boxes.flat().map(({ node }) => describe(node).replaceAll('\n', ' / ')).slice(0, 4).join('\n');
        show('methods');
        const table = [cells('columns'), cells('rows')].join('\n');
        details(methods.name.findIndex((name) => name.includes('Cart.add')));
        const facts = [text('details-facts'), cells('details-figures'), cells('callers'), cells('callees')].join('\n');
        chooseThread(0);
        const alone = [cells('columns'), cells('rows')].join('\n');
        chooseThread(LAID_OVER);
        show('tree');
        return [text('facts'), text('remarks'), flame, table, facts, alone, cells('tree-columns'), cells('tree-rows')].join('\n\n');
    "#;
    insta::assert_snapshot!(run(&page(&shop()), script));
}

#[test]
fn the_page_of_counts_alone_has_a_table() {
    let script = r#"
        show('methods');
        const rows = [...document.querySelectorAll('#rows tr')].map((row) => [...row.children].map((cell) => cell.textContent).join(' | '));
        return [document.getElementById('facts').textContent, ...rows].join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&counted()), script));
}

#[test]
fn pages_compare_samples() {
    let mut out = Vec::new();
    let page = difference_page(&[shop()], &[later()], &Options::default())
        .expect("the profiles can be compared or merged");
    page.write(&mut out)
        .expect("writing to a vector cannot fail");
    let script = r#"
        show('methods');
        const row = [...document.querySelectorAll('#rows tr')].find((row) => row.textContent.includes('getNode'));
        return [...row.children].map((cell) => cell.textContent).join(' | ');
    "#;
    insta::assert_snapshot!(run(&String::from_utf8(out).expect("the text is UTF-8"), script), @"+300 ms | +100.0 % | 300 ms | 600 ms | 600 ms | +300 ms | +75 | 150 | java.util.HashMap.getNode");
}
